"""Packs: files that hold contents by their digest. A pack is written once, by one process, and never changed.

A version line; for each content a header and the content, compressed where that helps; an index; a trailer that finds it.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from guard.vault.content import PIECE
from guard.vault.manifest import Damaged, TooNew

VERSION = 1
_MAGIC = b"guard pack "
_HEADER = struct.Struct("<32sQQB")  # digest, bytes stored, bytes of the content, 1 where compressed
_ROW = struct.Struct("<32sQQQB")  # the same with the offset of the content behind the digest
_TRAILER = struct.Struct("<QQ32s")  # offset of the index, rows, digest of the index
_BUFFER = 4 << 20  # bytes collected before they are written
_LEVEL = 1  # of compression: copies are made while somebody waits


class Place(NamedTuple):
    """Where a content stands in a pack."""

    offset: int
    stored: int
    size: int
    compressed: bool


class Writer:
    """Writes a pack to an open file that is empty. Nothing is in it for readers before finish()."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._buffer = bytearray(_MAGIC + b"%d\n" % VERSION)
        self._written = 0
        self.places: dict[bytes, Place] = {}

    def add(self, content: bytes) -> bytes:
        """Takes a content that is at hand, once; gives its digest."""
        digest = hashlib.sha256(content).digest()
        if digest not in self.places:
            small = zlib.compress(content, _LEVEL)
            compressed = len(small) < len(content)
            self._put(digest, small if compressed else content, len(content), compressed)
        return digest

    def add_stream(self, content: Iterable[bytes]) -> bytes:
        """Takes a content that comes in pieces; gives its digest. What was there already is left out again."""
        self._flush()
        start = self._written
        try:
            digest, size = self._stream(content)
        except BaseException:
            self._back_to(start)
            raise
        if digest in self.places:
            self._back_to(start)
            return digest
        stored = self._written - start - _HEADER.size
        os.pwrite(self._fd, _HEADER.pack(digest, stored, size, 1), start)
        self.places[digest] = Place(start + _HEADER.size, stored, size, True)
        return digest

    def _stream(self, content: Iterable[bytes]) -> tuple[bytes, int]:
        state, packer, size = hashlib.sha256(), zlib.compressobj(_LEVEL), 0
        self._buffer += bytes(_HEADER.size)
        for piece in content:
            state.update(piece)
            size += len(piece)
            self._buffer += packer.compress(piece)
            if len(self._buffer) > _BUFFER:
                self._flush()
        self._buffer += packer.flush()
        self._flush()
        return state.digest(), size

    def _back_to(self, offset: int) -> None:
        self._buffer.clear()
        self._written = offset
        os.ftruncate(self._fd, offset)

    def copy(self, digest: bytes, place: Place, stored: Iterable[bytes]) -> None:
        """Takes a content from another pack as it is stored there."""
        if digest in self.places:
            return
        self._buffer += _HEADER.pack(digest, place.stored, place.size, place.compressed)
        self.places[digest] = place._replace(offset=self._written + len(self._buffer))
        for piece in stored:
            self._buffer += piece
            if len(self._buffer) > _BUFFER:
                self._flush()

    def finish(self) -> None:
        """Writes the index and makes everything durable."""
        index = b"".join(_ROW.pack(digest, *place) for digest, place in self.places.items())
        at = self._written + len(self._buffer)
        self._buffer += index + _TRAILER.pack(at, len(self.places), hashlib.sha256(index).digest())
        self._flush()
        os.fsync(self._fd)

    def _put(self, digest: bytes, stored: bytes, size: int, compressed: bool) -> None:
        at = self._written + len(self._buffer) + _HEADER.size
        self._buffer += _HEADER.pack(digest, len(stored), size, compressed)
        self._buffer += stored
        self.places[digest] = Place(at, len(stored), size, compressed)
        if len(self._buffer) > _BUFFER:
            self._flush()

    def _flush(self) -> None:
        view = memoryview(self._buffer)
        done = 0
        while done < len(view):
            done += os.pwrite(self._fd, view[done:], self._written + done)
        view.release()
        self._written += done
        self._buffer.clear()


class Pack:
    """A finished pack, open for reading."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            self.size = os.fstat(self._fd).st_size
            self.places = self._index()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Gives the descriptor back."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        self.close() if hasattr(self, "_fd") else None

    def _index(self) -> dict[bytes, Place]:
        first, _, _ = os.pread(self._fd, 64, 0).partition(b"\n")
        if not first.startswith(_MAGIC) or not first[len(_MAGIC) :].isdigit():
            raise Damaged(f"{self.path} is no pack")
        if int(first[len(_MAGIC) :]) > VERSION:
            raise TooNew(f"{self.path} is of version {int(first[len(_MAGIC) :])}")
        end = self.size - _TRAILER.size
        try:
            at, count, digest = _TRAILER.unpack(os.pread(self._fd, _TRAILER.size, max(0, end)))
            if at + count * _ROW.size != end:
                raise Damaged(f"{self.path} is torn")
            index = os.pread(self._fd, count * _ROW.size, at)
        except (struct.error, OverflowError, MemoryError) as error:
            raise Damaged(f"{self.path} is torn") from error
        if hashlib.sha256(index).digest() != digest:
            raise Damaged(f"the index of {self.path} is altered")
        return {digest: Place(at, stored, size, bool(flag)) for digest, at, stored, size, flag in _ROW.iter_unpack(index)}

    def stored(self, digest: bytes) -> Iterator[bytes]:
        """A content as it is stored, in pieces."""
        place = self.places[digest]
        at, end = place.offset, place.offset + place.stored
        while at < end:
            piece = os.pread(self._fd, min(PIECE, end - at), at)
            if not piece:
                raise Damaged(f"{self.path} is torn")
            yield piece
            at += len(piece)

    def read(self, digest: bytes) -> Iterator[bytes]:
        """A content in pieces. Raises Damaged, at the latest behind the last piece, where it is not what the digest says."""
        state = hashlib.sha256()
        try:
            for piece in self._content(digest):
                state.update(piece)
                yield piece
        except (zlib.error, OSError) as error:
            raise Damaged(f"{self.path} is damaged") from error
        if state.digest() != digest:
            raise Damaged(f"{self.path} is damaged")

    def _content(self, digest: bytes) -> Iterator[bytes]:
        if not self.places[digest].compressed:
            yield from self.stored(digest)
            return
        opener = zlib.decompressobj()
        for piece in self.stored(digest):
            yield opener.decompress(piece, PIECE)
            while opener.unconsumed_tail:
                yield opener.decompress(opener.unconsumed_tail, PIECE)
        yield opener.flush()
