"""Looking: which entries of a manifest may have changed, told from what lstat says alone."""

from __future__ import annotations

import gc
import marshal
import os
from _operator import attrgetter  # `operator` itself takes a third of a millisecond to load

from guard.change import Entry
from guard.vault.manifest import STAMPS, Manifest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from guard.vault.manifest import Column

    Found = tuple[Entry, os.stat_result | None]  # an entry, and what stands there now

FEW = 500  # entries up to which comparing them one by one is quicker than loading `array`
MANY = 3000  # entries from which on a second process looks at half of them: nearly all the time goes into lstat
_stamp = attrgetter("st_mode", "st_size", "st_mtime_ns", "st_ctime_ns", "st_dev", "st_ino")  # change.stamp(), faster
_CTIME = 3  # which of them
_NOTHING = (0,) * len(STAMPS)  # what stands nowhere, or where nobody may look


def different(manifest: Manifest, hidden: list[Entry]) -> Iterator[Found]:
    """The entries that do not look as they did, and those that could have been written to without looking different.

    What stands in a directory that may not be searched goes to `hidden`.
    """
    for at in _odd(manifest):
        try:
            yield manifest.entry(at), os.lstat(manifest.paths[at])
        except PermissionError:
            hidden.append(manifest.entry(at))
        except (OSError, ValueError):
            yield manifest.entry(at), None


def _odd(manifest: Manifest) -> list[int]:
    """The positions of these entries."""
    count = len(manifest)
    if count < MANY or _processors() < 2:
        return _compared(manifest, 0, count)
    half = count // 2
    reader, writer = os.pipe()
    try:
        helper = _helper(manifest, half, reader, writer)
        found = _compared(manifest, 0, half)
        answer = _received(reader) if helper else b""
    finally:
        os.close(reader)
    if helper:
        _wait(helper)
    try:
        return found + list(marshal.loads(answer))
    except (EOFError, ValueError, TypeError):
        return found + _compared(manifest, half, count)


def _helper(manifest: Manifest, start: int, reader: int, writer: int) -> int:
    """Starts a process that looks at the entries from a position on; gives its number, 0 where there can be none."""
    try:
        process = os.fork()
    except OSError:
        os.close(writer)
        return 0
    if process:
        os.close(writer)
        return process
    try:
        os.close(reader)
        answer = memoryview(marshal.dumps(_compared(manifest, start, len(manifest))))
        while answer:
            answer = answer[os.write(writer, answer) :]
    finally:
        os._exit(0)


def _received(reader: int) -> bytes:
    answer = b""
    while piece := os.read(reader, 1 << 16):
        answer += piece
    return answer


def _wait(process: int) -> None:
    try:
        os.waitpid(process, 0)
    except ChildProcessError:  # the signal of its end is ignored here
        pass


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        return os.cpu_count() or 1


def _compared(manifest: Manifest, start: int, end: int) -> list[int]:
    """The positions in a range. Whole columns are compared; what is in them is looked at only where they differ."""
    odd: set[int] = set()
    columns = list(zip(*_stamps(manifest.paths[start:end]), strict=True)) or [()] * len(STAMPS)
    for column, whole, (_, code) in zip(columns, manifest.columns, STAMPS, strict=False):
        old = whole[start:end]
        if not _same(code, column, old):
            odd.update(at for at, (one, other) in enumerate(zip(column, old, strict=True), start) if one != other)
    before = manifest.head.before
    times = manifest.columns[_CTIME][start:end]
    if times and max(times) >= before:
        odd.update(at for at, when in enumerate(times, start) if when >= before)
    return sorted(odd)


def _same(code: str, new: tuple[int, ...], old: Column) -> bool:
    if len(new) < FEW:
        return new == tuple(old)
    from array import array

    try:
        return array(code, new) == old
    except OverflowError:
        return False


def _stamps(paths: list[str]) -> list[tuple[int, ...]]:
    """What lstat says of each path."""
    found: list[tuple[int, ...]] = []
    lstat, stamp, add = os.lstat, _stamp, found.append
    collecting = gc.isenabled()
    gc.disable()  # tuples of numbers make no cycles, and looking for some takes a tenth of the time
    for path in paths:
        try:
            add(stamp(lstat(path)))
        except (OSError, ValueError):
            add(_NOTHING)
    if collecting:
        gc.enable()
    return found
