"""The decision log: one JSON line a decision, with a checksum, appended by many processes at once."""

from __future__ import annotations

import errno
import os
import stat
import zlib

from guard.encoding import decode, encode
from guard.json_text import dumps
from guard.redact import named, redactor, suspicious

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

__all__ = ["append", "collect", "decode", "encode", "find", "read"]

NAME = "decisions.jsonl"
SPOOL = "spool"  # as in project.py, which need not be loaded for a log
FULL = 5 << 20  # bytes at which the file becomes NAME.1
LINE_LIMIT = 256 << 10  # bytes of one event; what is longer is cut down to its request and decision
_COLLECTED = 10_000  # events that are taken in at once
_CLOSED = (errno.EROFS, errno.EACCES, errno.EPERM)  # what a state directory says that may not be written
_LONG = ("effects", "unknowns", "trace", "output", "reasons", "victims")
_COMMAND_LIMIT = 16 << 10  # characters of the command that are kept of such an event
_HEAD = '{"crc":"'


def append(event: dict[str, Any], state_dir: str | None) -> bool:
    """Writes one event, secrets taken out. False where it could not be kept: no directory, read-only, disk full."""
    if not state_dir:
        return False
    try:
        line = _line(event)
        return _written(line, state_dir)
    except OSError as error:
        return error.errno in _CLOSED and _spooled(line, f"{state_dir}/{SPOOL}")
    except (ValueError, TypeError, RecursionError, MemoryError):
        return False


def collect(state_dir: str) -> int:
    """Takes in what commands in a sandbox have left in the spool; gives how many events.

    Whoever ran in there may have written anything: what is no decision, or has the id of one that is there, is left out, and
    the rest is marked as not to be relied on.
    """
    spool, taken = f"{state_dir}/{SPOOL}", f"{state_dir}/{SPOOL}/{NAME}.{os.getpid()}"
    try:
        os.rename(f"{spool}/{NAME}", taken)
    except OSError:
        return 0
    known = {event.get("id") for event in read(state_dir)}
    count = 0
    for event in _events(taken):
        if count < _COLLECTED and event.get("id") not in known and _is_decision(event):
            count += append({**event, "untrusted": True}, state_dir)
    try:
        os.unlink(taken)
    except OSError:
        pass
    return count


def _is_decision(event: dict[str, Any]) -> bool:
    try:
        decode(event)
    except ValueError:
        return False
    return True


def _spooled(line: bytes, spool: str) -> bool:
    try:
        return os.path.isdir(spool) and _written(line, spool)
    except (OSError, ValueError):
        return False


def _written(line: bytes, directory: str) -> bool:
    """Adds a line to the log in a directory. Raises OSError."""
    os.makedirs(directory, 0o700, exist_ok=True)
    path = f"{directory}/{NAME}"
    fd = _open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    try:
        size = os.fstat(fd).st_size
        if size and os.pread(fd, 1, size - 1) != b"\n":
            line = b"\n" + line
        written = os.write(fd, line) == len(line)
    finally:
        os.close(fd)
    if size > FULL:
        _rotate(path)
    return written


def read(state_dir: str | None) -> Iterator[dict[str, Any]]:
    """The events that are whole, oldest first. Torn and damaged lines are left out."""
    for name in (f"{NAME}.1", NAME) if state_dir else ():
        yield from _events(f"{state_dir}/{name}")


def find(state_dir: str | None, name: str) -> dict[str, Any] | None:
    """The newest event with this id, or whose id alone begins so; None where there is none or more than one kind."""
    found: dict[str, dict[str, Any]] = {}
    for event in read(state_dir):
        own = event.get("id")
        if name and isinstance(own, str) and own.startswith(name):
            found[own] = event
    if name in found:
        return found[name]
    return next(iter(found.values())) if len(found) == 1 else None


def newest(state_dir: str | None) -> dict[str, Any] | None:
    """The event that was written last; None where there is none, or it is damaged."""
    if not state_dir:
        return None
    try:
        fd = _open(f"{state_dir}/{NAME}", os.O_RDONLY)
    except (OSError, ValueError):
        return None
    with os.fdopen(fd, "rb") as file:
        try:
            file.seek(max(0, os.fstat(fd).st_size - LINE_LIMIT - 1))
            lines = file.read().splitlines(keepends=True)
        except OSError:
            return None
    return _event(lines[-1]) if lines else None


def _events(path: str) -> Iterator[dict[str, Any]]:
    try:
        fd = _open(path, os.O_RDONLY)
    except (OSError, ValueError):
        return
    with os.fdopen(fd, "rb") as file:
        try:
            for line in file:
                event = _event(line)
                if event is not None:
                    yield event
        except OSError:
            return


def _open(path: str, flags: int) -> int:
    fd = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(f"{path} is no regular file")
    return fd


def _line(event: dict[str, Any]) -> bytes:
    body = dumps(event)
    if len(body) > LINE_LIMIT:
        event = {key: value for key, value in event.items() if key not in _LONG}
        event |= {"command": str(event.get("command", ""))[:_COMMAND_LIMIT], "cut": True}
        body = dumps(event)
    known = named(os.environ)
    if suspicious(body) or any(dumps(value)[1:-1] in body for value in known):
        body = dumps(_clean(event, redactor(known)))
    rest = "," + body[1:] if body != "{}" else "}"
    return f'{_HEAD}{zlib.crc32(body.encode()):08x}"{rest}\n'.encode()


def _event(line: bytes) -> dict[str, Any] | None:
    import json

    try:
        text = line.decode("ascii").rstrip("\n")
        rest = text[len(_HEAD) + 9 :]
        body = "{" + rest[1:] if rest.startswith(",") else "{}"
        if not text.startswith(_HEAD) or int(text[len(_HEAD) : len(_HEAD) + 8], 16) != zlib.crc32(body.encode()):
            return None
        event = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


def _rotate(path: str) -> None:
    """Makes room: one process moves the full file aside, the others find it small again."""
    import fcntl

    lock = _open(f"{path}.lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.stat(path).st_size > FULL:
            os.rename(path, f"{path}.1")
    except BlockingIOError:
        pass
    finally:
        os.close(lock)


def _clean(value: Any, redact: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {key: _clean(inner, redact) for key, inner in value.items()}
    return [_clean(inner, redact) for inner in value] if isinstance(value, list | tuple) else value
