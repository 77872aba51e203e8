"""Sketch: what is remembered of a file or link, so that a later content can be compared without the earlier one.

A sketch is bytes: the type, how it is compared, the digest of the content, the digest of its normal form, and a checksum of each
line of a text. A fingerprint of a tree is its paths, each with the first three.
"""

from __future__ import annotations

import os
import re
import stat
import zlib
from array import array
from hashlib import blake2b

from guard.loop.similarity import TIME, UUID
from guard.vault.content import Unreadable, opened, pieces

LARGEST = 1 << 20  # bytes of a text that is compared as one
FILE, EXECUTABLE, LINK, UNREADABLE = b"f", b"x", b"l", b"u"
_TEXT, _BYTES = b"t", b"b"
_SIZE = 16  # bytes of a digest
_DIGEST = slice(2, 2 + _SIZE)
_VALUE = slice(2 + _SIZE, 2 + 2 * _SIZE)
_LINES = 2 + 2 * _SIZE
BLANK = bytes(_SIZE)  # the value of what has no content but white space
_WHITE = bytes(range(9, 14)) + bytes(range(28, 33))  # what str.split takes for white space, among ASCII
_ZEROS = bytes.maketrans(b"123456789", b"000000000")
_HEX_ZEROS = bytes.maketrans(b"123456789abcdefABCDEF", b"0" * 21)
_TIMES = re.compile(TIME.encode(), re.IGNORECASE)
_UUIDS = re.compile(UUID.encode(), re.IGNORECASE)
_LCS_LIMIT = 20_000 * 20_000  # pairs of lines up to which changed passages are compared line by line


def sketch(path: str, found: os.stat_result, before: bytes | None = None) -> bytes | None:
    """The sketch of what stands at a path, which lstat has `found` there; None for what is neither file nor link.

    `before` is its last sketch. A file that may not be read any more has the same content for all that is known.
    """
    if stat.S_ISLNK(found.st_mode):
        return _link(path)
    if not stat.S_ISREG(found.st_mode):
        return None
    kind = EXECUTABLE if found.st_mode & 0o111 else FILE
    try:
        fd = opened(path)
    except Unreadable:
        return None if not os.path.lexists(path) else _unreadable(found, before)
    try:
        return kind + _content(fd)
    except Unreadable:
        return _unreadable(found, before)
    finally:
        os.close(fd)


def _link(path: str) -> bytes | None:
    try:
        digest = _digest(LINK + os.fsencode(os.readlink(path)))
    except OSError:
        return None
    return LINK + _BYTES + digest + digest


def _unreadable(found: os.stat_result, before: bytes | None) -> bytes:
    if before is not None:
        return UNREADABLE + before[1:]
    digest = _digest(b"%d" % found.st_size)
    return UNREADABLE + _BYTES + digest + digest


def _content(fd: int) -> bytes:
    """The sketch of an open file, without its type."""
    size = os.fstat(fd).st_size
    if size > LARGEST:
        return _whole(fd)
    data = b"".join(pieces(fd))
    if len(data) > LARGEST:  # it grows
        return _whole(fd)
    return of_bytes(data)


def _whole(fd: int) -> bytes:
    state = blake2b(digest_size=_SIZE)
    for piece in pieces(fd):
        state.update(piece)
    digest = state.digest()
    return _BYTES + digest + digest


def of_bytes(data: bytes) -> bytes:
    """The sketch of a content, without its type."""
    digest = _digest(data)
    if b"\0" in data:
        return _BYTES + digest + digest
    normal = normal_form(data)
    lines = array("I", map(zlib.crc32, data.splitlines())).tobytes()
    return _TEXT + digest + (_digest(normal) if normal else BLANK) + lines


def normal_form(text: bytes) -> bytes:
    """A text without white space, each time in it and each UUID replaced by a sign."""
    zeros = text.translate(_ZEROS)
    if b"00:00" in zeros or b"0000-00-00" in zeros:
        text = _TIMES.sub(b"#", text)
    if b"-0000-0000-0000-" in text.translate(_HEX_ZEROS):
        text = _UUIDS.sub(b"#", text)
    if text.isascii():
        return text.translate(None, _WHITE)
    return "".join(text.decode("utf-8", "surrogateescape").split()).encode("utf-8", "surrogateescape")


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=_SIZE).digest()


def identity(known: bytes | None) -> bytes:
    """Type, executable bit and content: what a fingerprint has of a path; empty where nothing is."""
    return b"" if known is None else known[:1] + known[_DIGEST]


def content(known: bytes) -> bytes:
    """The digest of the content, and whether it is a link's."""
    return known[:1].replace(EXECUTABLE, FILE) + known[_DIGEST]


def value(known: bytes | None) -> bytes:
    """What a change must alter to be meaningful: empty for nothing and for what is empty."""
    if known is None or known[_VALUE] == BLANK:
        return b""
    return (LINK if known[:1] == LINK else FILE) + known[_VALUE]


def changed_lines(old: bytes | None, new: bytes | None) -> int:
    """How many lines were added and removed, at least 1; 1 for what is no text."""
    if any(known is not None and known[1:2] != _TEXT for known in (old, new)):
        return 1
    before, after = (list(array("I", known[_LINES:])) if known else [] for known in (old, new))
    return max(1, len(before) + len(after) - 2 * _common(before, after))


def _common(one: list[int], other: list[int]) -> int:
    """The length of the longest common subsequence, by rows of bits (Hyyrö, 2004)."""
    start = _prefix(one, other)
    one, other = one[start:], other[start:]
    end = _prefix(one[::-1], other[::-1])
    one, other = one[: len(one) - end], other[: len(other) - end]
    if len(one) * len(other) > _LCS_LIMIT:
        return start + end + _shared(one, other)
    places: dict[int, int] = {}
    for at, line in enumerate(one):
        places[line] = places.get(line, 0) | 1 << at
    mask = (1 << len(one)) - 1
    row = mask
    for line in other:
        hits = row & places.get(line, 0)
        row = (row + hits | row - hits) & mask
    return start + end + len(one) - row.bit_count()


def _prefix(one: list[int], other: list[int]) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _shared(one: list[int], other: list[int]) -> int:
    """How many lines both have, wherever they stand."""
    from collections import Counter

    return (Counter(one) & Counter(other)).total()
