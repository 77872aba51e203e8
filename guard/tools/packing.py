"""Packing: the archive that tar or zip would write, small ones only, so that unpacking it in the same command is understood."""

from __future__ import annotations

import time

from guard.overlay import DIRECTORY, FILE, SYMLINK
from guard.paths import child

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import NamedTuple

    from guard.overlay import View
else:
    from guard.record import NamedTuple

ENTRIES = 500
SIZE = 1 << 20  # bytes of all contents
_BLOCK = 512


class Packed(NamedTuple):
    """One entry: `data` is its content, or where a link points."""

    name: str
    kind: str
    data: bytes
    mode: int
    time: int


class TooMuchError(Exception):
    """More than is worth while, or something that cannot be read."""


class Packer:
    """Gathers entries from a tree.

    `chosen` says which names go in; `links`: symbolic links are kept; `own` is the archive, which does not go into itself.
    """

    def __init__(self, view: View, chosen: Callable[[str], bool], links: bool, own: str | None = None) -> None:
        self.view = view
        self.chosen = chosen
        self.links = links
        self.own = own
        self.entries: list[Packed] = []
        self._size = 0

    def add(self, path: str, shown: str, recursive: bool) -> bool:
        """What stands at a physical path, under a name; False where nothing stands there. Raises TooMuchError."""
        kind = self.view.kind(path)
        if kind == SYMLINK and not self.links:
            path = self.view.through(path)
            kind = self.view.kind(path)
            if kind == DIRECTORY:
                raise TooMuchError
        if kind is None:
            return False
        if path == self.own or not self.chosen(shown):
            return True
        if kind == DIRECTORY:
            self._keep(path, shown.rstrip("/") + "/", kind, b"")
            for name in (self.view.listdir(path) or ()) if recursive else ():
                self.add(child(path, name), f"{shown.rstrip('/')}/{name}", recursive)
            return True
        data = (self.view.readlink(path) or "").encode("utf-8", "surrogateescape") if kind == SYMLINK else self.view.read(path)
        if data is None or kind not in (FILE, SYMLINK):
            raise TooMuchError
        self._keep(path, shown, kind, data)
        return True

    def _keep(self, path: str, shown: str, kind: str, data: bytes) -> None:
        found = self.view.lstat(path)
        self._size += len(data)
        if len(self.entries) >= ENTRIES or self._size > SIZE or self.view.budget.left < 0.3:
            raise TooMuchError
        mode = found.st_mode & 0o7777 if found is not None else 0o755 if kind == DIRECTORY else 0o644
        self.entries.append(Packed(shown, kind, data, mode, int(found.st_mtime if found is not None else time.time())))


def tar_bytes(entries: list[Packed]) -> bytes:
    """A tar archive of the entries, in GNU's format."""
    whole = b"".join(part for entry in entries for part in _tar_entry(entry)) + bytes(2 * _BLOCK)
    return whole + bytes(-len(whole) % (20 * _BLOCK))


def _tar_entry(entry: Packed) -> Iterator[bytes]:
    name = entry.name.encode("utf-8", "surrogateescape")
    link = entry.data if entry.kind == SYMLINK else b""
    for flag, long in ((b"K", link), (b"L", name)):
        if len(long) > 100:
            yield _tar_head(b"././@LongLink", flag, len(long) + 1, 0, 0, b"") + _blocks(long + b"\0")
    data = entry.data if entry.kind == FILE else b""
    flag = {FILE: b"0", DIRECTORY: b"5", SYMLINK: b"2"}[entry.kind]
    yield _tar_head(name[:100], flag, len(data), entry.mode, entry.time, link[:100]) + _blocks(data)


def _tar_head(name: bytes, flag: bytes, size: int, mode: int, moment: int, link: bytes) -> bytes:
    numbers = b"%07o\0%07o\0%07o\0%011o\0%011o\0" % (mode, 0, 0, size, max(moment, 0))
    before, after = name.ljust(100, b"\0") + numbers, flag + link.ljust(100, b"\0") + b"ustar  \0"
    total = sum(before) + sum(after) + 8 * 32
    return (before + b"%06o\0 " % total + after).ljust(_BLOCK, b"\0")


def _blocks(data: bytes) -> bytes:
    return data + bytes(-len(data) % _BLOCK)


def zip_bytes(entries: list[Packed]) -> bytes:
    """A zip archive of the entries, not compressed; names that are no UTF-8 raise UnicodeEncodeError."""
    from zlib import crc32

    body, index = b"", b""
    for entry in entries:
        name = entry.name.encode()
        kind = {FILE: 0o100000, DIRECTORY: 0o040000, SYMLINK: 0o120000}[entry.kind]
        moment = time.localtime(max(entry.time, 315619200))
        date = (moment.tm_year - 1980) << 9 | moment.tm_mon << 5 | moment.tm_mday
        clock = moment.tm_hour << 11 | moment.tm_min << 5 | moment.tm_sec // 2
        extra = b"UT" + _little(5, 2) + b"\1" + _little(max(entry.time, 0) & 0xFFFFFFFF, 4)
        common = b"".join(
            _little(value, size)
            for value, size in (
                (20, 2), (0x800, 2), (0, 2), (clock, 2), (date, 2), (crc32(entry.data), 4), (len(entry.data), 4),
                (len(entry.data), 4), (len(name), 2), (len(extra), 2),
            )
        )  # fmt: skip
        attributes = _little((kind | entry.mode) << 16 | (0x10 if entry.kind == DIRECTORY else 0), 4)
        index += b"PK\1\2" + _little(0x31E, 2) + common + bytes(6) + attributes + _little(len(body), 4) + name + extra
        body += b"PK\3\4" + common + name + extra + entry.data
    count = _little(len(entries), 2)
    return body + index + b"PK\5\6" + bytes(4) + count + count + _little(len(index), 4) + _little(len(body), 4) + bytes(2)


def _little(value: int, size: int) -> bytes:
    return value.to_bytes(size, "little")
