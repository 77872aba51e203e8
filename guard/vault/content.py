"""Reading files that others may be writing, replacing or have made into something else; never more than a piece in memory."""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PIECE = 1 << 20  # bytes read at once
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Unreadable(Exception):
    """A file that cannot be read, or is no regular file any more."""


def opened(path: str) -> int:
    """A descriptor of a regular file. Raises Unreadable for anything else, and never waits on a FIFO."""
    try:
        fd = os.open(path, _FLAGS)
    except (OSError, ValueError) as error:
        raise Unreadable(getattr(error, "strerror", "") or str(error)) from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise Unreadable(os.strerror(errno.EINVAL))
    return fd


def pieces(fd: int) -> Iterator[bytes]:
    """The content of an open file from its beginning. Raises Unreadable."""
    at = 0
    while True:
        try:
            piece = os.pread(fd, PIECE, at)
        except OSError as error:
            raise Unreadable(error.strerror or "it cannot be read") from error
        if not piece:
            return
        yield piece
        at += len(piece)


def read(path: str) -> Iterator[bytes]:
    """The content of a regular file in pieces. Raises Unreadable."""
    fd = opened(path)
    try:
        yield from pieces(fd)
    finally:
        os.close(fd)


def digest(path: str) -> bytes | None:
    """The digest of a regular file, None where it cannot be read."""
    try:
        return digest_of(read(path))
    except Unreadable:
        return None


def digest_of(content: Iterable[bytes]) -> bytes:
    """The digest by which the vault knows a content."""
    import hashlib  # OpenSSL's, which is the fastest for much data

    state = hashlib.sha256()
    for piece in content:
        state.update(piece)
    return state.digest()
