"""Manifest: what the protected files were at a moment, as columns, and the form in which it is kept."""

from __future__ import annotations

import os
import sys

from guard.change import DEVICE, DIRECTORY, FIFO, FILE, LINK, SOCKET, Entry
from guard.json_text import dumps, loads
from guard.matching import KEEP, LOCK, PRESENT
from guard.vault.digest import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any, NamedTuple

    Column = array[int] | memoryview[int]
else:
    from guard.record import NamedTuple

VERSION = 1
DIGEST = 32  # bytes
NO_DIGEST = bytes(DIGEST)
_MAGIC = b"guard manifest "
_KINDS = (FILE, DIRECTORY, LINK, FIFO, SOCKET, DEVICE)
_LEVELS = ("", PRESENT, KEEP, LOCK)
_REWRITE = 8  # added to the level's number
# The columns of numbers in the order of Entry's fields mode to group, with the types in which they are kept.
_COLUMNS = (
    ("mode", "I"),
    ("size", "q"),
    ("mtime", "q"),
    ("ctime", "q"),
    ("device", "Q"),
    ("inode", "Q"),
    ("user", "I"),
    ("group", "I"),
)
STAMPS = _COLUMNS[:6]  # what change.stamp() is made of


class Damaged(Exception):
    """What was read is torn or altered."""


class TooNew(Exception):
    """What was read was written by a later version of guard."""


class GitState(NamedTuple):
    """Where the repository stood: the branch (full name, "" when detached), its commit, all commits that refs hold, the stash."""

    head: str = ""
    commit: str = ""
    held: tuple[str, ...] = ()
    stash: str = ""


class Head(NamedTuple):
    """What a manifest says besides its entries. `before`: files last written earlier than this (ns) show later writings."""

    name: str
    root: str
    time: float
    before: int
    reason: str = "snapshot"
    policy: str = ""
    git: GitState = GitState()


class Manifest:
    """The entries of one snapshot, held as columns. Paths are absolute."""

    def __init__(
        self,
        head: Head,
        paths: list[str],
        kinds: bytes,
        levels: bytes,
        columns: list[Column],
        digests: bytes,
        links: list[str],
    ) -> None:
        self.head = head
        self.paths = paths
        self._kinds = kinds
        self._levels = levels
        self.columns = columns  # of numbers, in the order of _COLUMNS
        self._digests = digests
        self._links = links
        self._places: dict[str, int] | None = None

    def __len__(self) -> int:
        return len(self.paths)

    @classmethod
    def of(cls, head: Head, entries: Iterable[Entry]) -> Manifest:
        """The manifest of these entries."""
        rows = list(entries)
        columns: list[Column] = [_column(code, [getattr(entry, name) for entry in rows]) for name, code in _COLUMNS]
        kinds = bytes(_KINDS.index(entry.kind) for entry in rows)
        levels = bytes(_LEVELS.index(entry.level) + _REWRITE * entry.rewrite for entry in rows)
        digests = b"".join(entry.digest or NO_DIGEST for entry in rows)
        return cls(head, [entry.path for entry in rows], kinds, levels, columns, digests, [entry.link for entry in rows])

    def entry(self, at: int) -> Entry:
        """The entry at a position."""
        digest = self._digests[at * DIGEST : (at + 1) * DIGEST]
        mode, size, mtime, ctime, device, inode, user, group = (column[at] for column in self.columns)
        level, kind = self._levels[at], _KINDS[self._kinds[at]]
        content = b"" if digest == NO_DIGEST else digest
        rewrite = level >= _REWRITE
        return Entry(
            self.paths[at], _LEVELS[level % _REWRITE], kind, mode, size, mtime, ctime, device, inode, user, group,
            content, self._links[at], rewrite,
        )  # fmt: skip

    def __iter__(self) -> Iterator[Entry]:
        return map(self.entry, range(len(self)))

    def find(self, path: str) -> Entry | None:
        """The entry of a path."""
        if self._places is None:
            self._places = {path: at for at, path in enumerate(self.paths)}
        at = self._places.get(path)
        return None if at is None else self.entry(at)

    def digests(self) -> set[bytes]:
        """The digests of all contents."""
        found = {self._digests[at : at + DIGEST] for at in range(0, len(self._digests), DIGEST)}
        return found - {NO_DIGEST}

    def lacks(self) -> bool:
        """Is there a protected file of which there is no copy?"""
        file = _KINDS.index(FILE)
        return any(
            kind == file and level and self._digests[at * DIGEST : (at + 1) * DIGEST] == NO_DIGEST
            for at, (kind, level) in enumerate(zip(self._kinds, self._levels, strict=True))
        )

    def same(self, other: Manifest) -> bool:
        """Do both hold the same entries, under the same policy and state of the repository?"""
        return self._all() == other._all()

    def _all(self) -> tuple[object, ...]:
        columns = self._kinds, self._levels, self.columns, self._digests
        return self.paths, *columns, self._links, self.head.git, self.head.policy

    def dump(self) -> bytes:
        """The manifest as bytes: a version line, a line of JSON, the columns, a checksum."""
        root = self.head.root
        inside = root if root == "/" else root + "/"
        names = b"\0".join(os.fsencode(path.removeprefix(inside) if path != root else ".") for path in self.paths)
        links = b"\0".join(os.fsencode(link) for link in self._links)
        parts = [names, links, self._kinds, self._levels, *map(_little, self.columns), self._digests]
        about = {**_fields(self.head), "count": len(self), "sizes": [len(part) for part in parts]}
        body = _MAGIC + b"%d\n" % VERSION + dumps(about).encode() + b"\n" + b"".join(parts)
        return body + sha256(body).digest()

    @classmethod
    def load(cls, data: bytes) -> Manifest:
        """The manifest from bytes. Raises Damaged or TooNew."""
        first, _, rest = data.partition(b"\n")
        _check(first, data)
        try:
            line, _, body = rest[:-DIGEST].partition(b"\n")
            about = loads(line.decode())
            parts = list(_cut(body, about["sizes"]))
            head = _head(about)
            count = about["count"]
            paths = _paths(parts[0], count, head.root)
            columns = [_numbers(code, part) for (_, code), part in zip(_COLUMNS, parts[4:-1], strict=True)]
            return cls(head, paths, parts[2], parts[3], columns, parts[-1], _names(parts[1], count))
        except (ValueError, KeyError, IndexError, TypeError, RecursionError) as error:
            raise Damaged("the manifest cannot be read") from error


def _check(first: bytes, data: bytes) -> None:
    if not first.startswith(_MAGIC) or not first[len(_MAGIC) :].isdigit():
        raise Damaged("this is no manifest")
    if int(first[len(_MAGIC) :]) > VERSION:
        raise TooNew(f"version {int(first[len(_MAGIC) :])}")
    if sha256(data[:-DIGEST]).digest() != data[-DIGEST:]:
        raise Damaged("the manifest is torn or altered")


def _fields(head: Head) -> dict[str, Any]:
    state = {**head.git._asdict(), "held": list(head.git.held)}
    return {**head._asdict(), "root": os.fsencode(head.root).hex(), "git": state}


def _head(about: Mapping[str, Any]) -> Head:
    git = about["git"]
    state = GitState(git["head"], git["commit"], tuple(git["held"]), git["stash"])
    root = os.fsdecode(bytes.fromhex(about["root"]))
    return Head(about["name"], root, about["time"], about["before"], about["reason"], about["policy"], state)


def _cut(body: bytes, sizes: list[int]) -> Iterator[bytes]:
    at = 0
    for size in sizes:
        yield body[at : at + size]
        at += size


def _names(joined: bytes, count: int) -> list[str]:
    return os.fsdecode(joined).split("\0") if count else []


def _paths(joined: bytes, count: int, root: str) -> list[str]:
    names = _names(joined, count)
    inside = root if root == "/" else root + "/"
    if joined.startswith(b"/") or b"\0/" in joined:
        paths = [name if name.startswith("/") else inside + name for name in names]
    else:
        paths = [inside + name for name in names]
    if "." in names:
        paths[names.index(".")] = root
    return paths


def _little(column: Column) -> bytes:
    if sys.byteorder == "big":
        swapped = _column(column.typecode if not isinstance(column, memoryview) else column.format, column)
        swapped.byteswap()
        return swapped.tobytes()
    return column.tobytes()


def _column(code: str, numbers: Iterable[int] = ()) -> array[int]:
    from array import array  # takes a millisecond to load, and most who only look need none

    return array(code, numbers)


def _numbers(code: str, data: bytes) -> Column:
    if sys.byteorder == "little":
        return memoryview(data).cast(code)  # type: ignore[call-overload, no-any-return]
    column = _column(code)
    column.frombytes(data)
    column.byteswap()
    return column
