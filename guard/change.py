"""What happened to a file: one function for every layer, and how much of an old text survives in a new one."""

from __future__ import annotations

import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import stat_result
    from typing import NamedTuple, Protocol

    class Evidence(Protocol):
        """What `change` may have to find out; each question is asked only where the answer decides."""

        def foreign(self, path: str) -> bool:
            """Does what stands there come from a mount, so that this process cannot judge it?"""
            ...

        def left(self, old: Entry) -> bool:
            """Did the old content leave the tree by switching branches or stashing, and is still held there?"""
            ...

        def link(self, path: str) -> str:
            """Where a symbolic link leads."""
            ...

        def digest(self, path: str) -> bytes | None:
            """The digest of a file as it is now; None where it cannot be read."""
            ...

        def content(self, old: Entry, path: str) -> str:
            """EMPTIED, REPLACED or EDITED: what it means for the old file to hold what stands there now."""
            ...

        def reverted(self, old: Entry, path: str) -> bool:
            """Is the new content a committed or staged one, and was the old one in no ref?"""
            ...

else:
    from guard.record import NamedTuple

UNCHANGED = "unchanged"  # not even written to
NOT_JUDGED = "not-judged"  # a mount covers it, so what it was cannot be seen from here
MISSING = "missing"  # nothing is there
LEFT = "left-with-branch"  # it left the tree, a branch or stash still holds it
MOVED = "moved"  # it is to be had at another protected path
RETYPED = "retyped"  # something of another type stands there
RELINKED = "relinked"  # the link leads elsewhere
REVERTED = "reverted"  # thrown back to a committed content, what it held is in no ref
CREATED = "created"  # it was not there before
TOUCHED = "touched"  # the same content
EMPTIED = "emptied"  # nothing but blanks is left of something
REPLACED = "replaced"  # less than half of the old survives
EDITED = "edited"  # at least half of the old survives

HALF = 0.5
FILE, DIRECTORY, LINK, FIFO, SOCKET, DEVICE = "file", "directory", "link", "fifo", "socket", "device"
_BLANKS = b" \t\r\n\v\f\0"
_BLOCK = 64  # bytes compared as one in a binary file
_GRAM = 8  # bytes compared as one in longer changed passages
_FINE_LIMIT = 1024  # bytes on either side up to which changed passages are compared byte by byte, which is quadratic
_REST_LIMIT = 64 * 1024  # bytes on either side up to which changed passages are compared at all


class Entry(NamedTuple):
    """A path as a manifest has it. Times are nanoseconds; `digest` is empty for what has no content or could not be read.

    `rewrite` says that the file may be rewritten as a whole.
    """

    path: str
    level: str
    kind: str
    mode: int
    size: int
    mtime: int
    ctime: int
    device: int
    inode: int
    user: int
    group: int
    digest: bytes = b""
    link: str = ""
    rewrite: bool = False


def kind_of(mode: int) -> str:
    """FILE, DIRECTORY, LINK, FIFO, SOCKET or DEVICE, from a mode as lstat gives it."""
    return _KINDS.get(stat.S_IFMT(mode), DEVICE)


_KINDS = {stat.S_IFREG: FILE, stat.S_IFDIR: DIRECTORY, stat.S_IFLNK: LINK, stat.S_IFIFO: FIFO, stat.S_IFSOCK: SOCKET}


def stamp(found: stat_result) -> tuple[int, ...]:
    """What tells without reading whether a file was written to: every writing changes one of these."""
    return found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_dev, found.st_ino


def change(old: Entry, new: stat_result | None, before: int, evidence: Evidence) -> str:
    """What happened to a protected path since `old` was recorded. The first that holds counts.

    `new` is what lstat says now, None for nothing there. `before` is the time (ns) before which a file must have been
    written last for its times to tell a later writing; clocks of file systems are coarse.
    """
    path = old.path
    if new is not None and stamp(new) == old[3:9] and old.ctime < before:
        return UNCHANGED
    if evidence.foreign(path):
        return NOT_JUDGED
    kind = _kind(old, new, evidence)
    return LEFT if kind in _MAY_HAVE_LEFT and evidence.left(old) else kind


_MAY_HAVE_LEFT = (MISSING, RETYPED, RELINKED, EMPTIED, REVERTED, REPLACED)


def _kind(old: Entry, new: stat_result | None, evidence: Evidence) -> str:
    if new is None:
        return MISSING
    if kind_of(new.st_mode) != old.kind:
        return RETYPED
    if old.kind == LINK:
        return TOUCHED if evidence.link(old.path) == old.link else RELINKED
    return _content(old, new, evidence) if old.kind == FILE else TOUCHED


def _content(old: Entry, new: stat_result, evidence: Evidence) -> str:
    """The part of `change` for regular files. What cannot be read counts as replaced, unless only its mode has changed."""
    digest = evidence.digest(old.path)
    if digest is None or not old.digest:
        same = (new.st_size, new.st_mtime_ns, new.st_dev, new.st_ino) == (old.size, old.mtime, old.device, old.inode)
        return TOUCHED if same else REPLACED
    if digest == old.digest:
        return TOUCHED
    kind = evidence.content(old, old.path)
    return REVERTED if kind != EMPTIED and evidence.reverted(old, old.path) else kind


def blank(content: bytes) -> bool:
    """True when there is no byte but white space and NUL."""
    return not content.translate(None, _BLANKS)


def kind_of_change(old: bytes, new: bytes) -> str:
    """TOUCHED, EMPTIED, REPLACED or EDITED: what it means for a file of content `old` to hold `new`."""
    if old == new:
        return TOUCHED
    if blank(old):
        return EDITED
    if blank(new):
        return EMPTIED
    return REPLACED if survival(old, new) < HALF else EDITED


def survival(old: bytes, new: bytes) -> float:
    """The share (0 to 1) of the old content's non-blank bytes that is still there in the new.

    Text counts by identical lines, wherever they stand, and by the likeness of what is left; binary content by blocks.
    """
    if blank(old):
        return 1.0
    if b"\0" in old or b"\0" in new:
        gone, _ = _difference(_blocks(old), _blocks(new))
        return 1 - sum(map(len, gone)) / len(old)
    lines = _lines(old)
    gone, added = _difference(lines, _lines(new))
    total = sum(map(len, lines))
    lost = sum(map(len, gone))
    return 1 - lost / total * (1 - _likeness(b"\n".join(gone), b"\n".join(added)))


def _lines(content: bytes) -> list[bytes]:
    return [line for line in (raw.strip() for raw in content.split(b"\n")) if line]


def _blocks(content: bytes) -> list[bytes]:
    return [content[at : at + _BLOCK] for at in range(0, len(content), _BLOCK)]


def _grams(content: bytes) -> list[bytes]:
    return [content[at : at + _GRAM] for at in range(max(1, len(content) - _GRAM + 1))]


def _count(items: Iterable[bytes]) -> dict[bytes, int]:
    found: dict[bytes, int] = {}
    for item in items:
        found[item] = found.get(item, 0) + 1
    return found


def _difference(old: list[bytes], new: list[bytes]) -> tuple[list[bytes], list[bytes]]:
    """What only the old and what only the new has, in order, each item as often as it is too many."""
    return _without(old, _count(new)), _without(new, _count(old))


def _without(items: list[bytes], others: dict[bytes, int]) -> list[bytes]:
    rest = []
    for item in items:
        left = others.get(item, 0)
        if left:
            others[item] = left - 1
        else:
            rest.append(item)
    return rest


def _likeness(gone: bytes, added: bytes) -> float:
    """How much of the old passages stands in the new ones, 0 to 1."""
    longer = max(len(gone), len(added))
    if not gone or not added or longer > _REST_LIMIT:
        return 0.0
    if longer <= _FINE_LIMIT:
        from difflib import SequenceMatcher

        return SequenceMatcher(None, gone, added, autojunk=False).ratio()
    grams = _grams(gone)
    return 1 - len(_without(grams, _count(_grams(added)))) / len(grams)
