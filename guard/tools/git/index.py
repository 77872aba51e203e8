"""The index file, read without git: what it has staged, and the sizes and times by which git knows a file as unchanged."""

from __future__ import annotations

from guard.tools.git.questions import Item

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from guard.record import NamedTuple

LIMIT = 32 << 20  # bytes
_FIXED = 62  # bytes of an entry in front of its name, where ids have 20
_UNREADABLE = (b"link", b"sdir")  # extensions with which the entries are not all there


class Entry(NamedTuple):
    """One path of the index. `seen` is what the file's status was when git last looked, None where that says nothing:
    time of change of content and of status in ns, size, inode, owner and group.

    `stage` is not 0 for a path that a merge has left in conflict; `absent` marks one that a sparse checkout leaves out.
    """

    item: Item
    seen: tuple[int, ...] | None = None
    stage: int = 0
    absent: bool = False
    intent: bool = False  # git add -N: nothing is staged yet


def read(data: bytes) -> dict[str, Entry] | None:
    """The entries of an index file of version 2, 3 or 4 by path; None where it cannot be read (another format, a split index)."""
    if data[:4] != b"DIRC" or len(data) < 32:
        return None
    version, count = int.from_bytes(data[4:8], "big"), int.from_bytes(data[8:12], "big")
    if version not in (2, 3, 4):
        return None
    found: dict[str, Entry] = {}
    at = 12
    name = b""
    try:
        for _ in range(count):
            at, name, entry = _entry(data, at, name, version)
            found[name.decode("utf-8", "surrogateescape")] = entry
        while at < len(data) - 20:
            if data[at : at + 4] in _UNREADABLE:
                return None
            at += 8 + int.from_bytes(data[at + 4 : at + 8], "big")
    except (ValueError, IndexError):
        return None
    return found


def _entry(data: bytes, start: int, before: bytes, version: int) -> tuple[int, bytes, Entry]:
    number = int.from_bytes
    mtime = number(data[start + 8 : start + 12], "big") * 10**9 + number(data[start + 12 : start + 16], "big")
    ctime = number(data[start : start + 4], "big") * 10**9 + number(data[start + 4 : start + 8], "big")
    inode, user, group = (number(data[start + at : start + at + 4], "big") for at in (20, 28, 32))
    mode = number(data[start + 24 : start + 28], "big")
    size = number(data[start + 36 : start + 40], "big")
    blob = data[start + 40 : start + 60].hex()
    flags = number(data[start + 60 : start + 62], "big")
    at = start + _FIXED
    extended = 0
    if flags & 0x4000 and version > 2:
        extended = number(data[at : at + 2], "big")
        at += 2
    if version == 4:
        cut, at = _varint(data, at)
        end = data.index(b"\0", at)
        name = before[: len(before) - cut] + data[at:end]
        at = end + 1
    else:
        end = data.index(b"\0", at)
        name = data[at:end]
        at = start + (end - start + 8) // 8 * 8
    stage = flags >> 12 & 3
    return (
        at,
        name,
        Entry(
            Item(f"{mode:06o}", blob),
            (mtime, size, ctime, inode, user, group),
            stage,
            bool(extended & 0x4000),
            bool(extended & 0x2000),
        ),
    )


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = (value + 1) << 7 | data[at] & 0x7F
    return value, at + 1
