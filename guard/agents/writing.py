"""Files and directories written so that nobody sees half of them."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable


def prune(directories: Iterable[str]) -> None:
    """Removes directories that were made for a file, deepest first, as far as they are empty."""
    for directory in sorted(directories, key=len, reverse=True):
        with contextlib.suppress(OSError):
            os.rmdir(directory)


def put(path: str, data: bytes, mode: int | None = None) -> None:
    """Makes a file have this content, by rename, on the disk; `mode` None keeps that of what stands there. Raises OSError."""
    temporary = f"{os.path.dirname(path)}/.guard.{os.getpid()}.{os.urandom(4).hex()}"
    try:
        old = os.stat(path)
    except FileNotFoundError:
        old = None
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        with os.fdopen(fd, "wb") as file:
            if mode is not None:
                os.fchmod(fd, mode)
            elif old is not None:
                with contextlib.suppress(OSError):
                    os.fchown(fd, old.st_uid, old.st_gid)
                os.fchmod(fd, stat.S_IMODE(old.st_mode))
            file.write(data)
            file.flush()
            os.fsync(fd)
        os.rename(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    with contextlib.suppress(OSError):
        _sync(os.path.dirname(path))


def make(directory: str, mode: int | None = None) -> list[str]:
    """Makes a directory with all above it; gives those that were not there. Raises OSError."""
    missing = []
    while not os.path.isdir(directory):
        missing.append(directory)
        directory = os.path.dirname(directory)
    made: list[str] = []
    try:
        for each in reversed(missing):
            os.mkdir(each)
            made.append(each)
            if mode is not None:
                os.chmod(each, mode)
    except BaseException:
        prune(made)
        raise
    return made


def _sync(directory: str) -> None:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
