"""Placing: puts what was restored where it belongs, atomically, and never over something that nobody has kept.

Everything is made complete under another name first. Where nothing stands, link() puts it there, which refuses when
something has come back; where something stands that was kept before, the two are exchanged in one step.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from contextlib import suppress

from guard.change import DIRECTORY, FIFO, FILE, LINK, Entry
from guard.paths import child, name, parent
from guard.vault.names import token

TEMPORARY = ".guard-restore-"
_NO_REPLACE, _EXCHANGE = 1, 2  # flags of renameat2
_DARWIN = {_NO_REPLACE: 4, _EXCHANGE: 2}  # the same for renamex_np
_AT_FDCWD = -100


class InTheWay(Exception):
    """Something stands there that was not kept before."""


def make(entry: Entry, content: Iterable[bytes]) -> str:
    """Makes what the entry describes under a temporary name in the same directory; gives the path. Raises OSError."""
    path = child(parent(entry.path), f"{TEMPORARY}{os.getpid()}-{token(4)}")
    try:
        if entry.kind == LINK:
            os.symlink(entry.link, path)
        elif entry.kind == DIRECTORY:
            os.mkdir(path, 0o700)
        elif entry.kind == FIFO:
            os.mkfifo(path, 0o600)
        elif entry.kind == FILE:
            _write(path, content)
        else:
            raise OSError(errno.EOPNOTSUPP, f"a {entry.kind} cannot be restored")
        dress(path, entry)
    except BaseException:
        discard(path)
        raise
    return path


def _write(path: str, content: Iterable[bytes]) -> None:
    """Writes a file durably; long runs of zeros become holes."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        size = 0
        for piece in content:
            view = memoryview(piece)
            size += len(view)
            if len(view) >= 4096 and view == bytes(len(view)):
                os.lseek(fd, len(view), os.SEEK_CUR)
                continue
            while view:
                view = view[os.write(fd, view) :]
        os.ftruncate(fd, size)
        os.fsync(fd)
    finally:
        os.close(fd)


def dress(path: str, entry: Entry) -> list[str]:
    """Gives owner, permissions and times back as far as this process may; says what it could not.

    Without the owner of before, what runs with the owner's rights does not come back.
    """
    missed = []
    mode = stat.S_IMODE(entry.mode)
    now = os.lstat(path)
    if (now.st_uid, now.st_gid) != (entry.user, entry.group):
        try:
            os.chown(path, entry.user, entry.group, follow_symlinks=False)
        except OSError:
            with suppress(OSError):
                os.chown(path, -1, entry.group, follow_symlinks=False)
            mode &= ~(stat.S_ISUID | stat.S_ISGID)
            missed.append("owner")
    if entry.kind != LINK:
        os.chmod(path, mode)
    if entry.kind != DIRECTORY:
        with suppress(OSError):
            os.utime(path, ns=(entry.mtime, entry.mtime), follow_symlinks=False)
    return missed


def appear(made: str, path: str) -> None:
    """Puts what was made, a directory excepted, where nothing stands. Raises InTheWay where something has come."""
    try:
        if os.path.islink(made):
            os.symlink(os.readlink(made), path)
        else:
            _link(made, path)
    except FileExistsError:
        raise InTheWay(path) from None
    finally:
        discard(made)


def _link(made: str, path: str) -> None:
    try:
        os.link(made, path, follow_symlinks=False)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS):
            raise
        if not _renamed(made, path, _NO_REPLACE):  # a file system without hard links
            raise


def exchange(made: str, path: str) -> str:
    """Puts what was made in place of what stands there; gives the path that the latter has then.

    One step where the system can do that, else two, between which nothing stands there.
    """
    if _renamed(made, path, _EXCHANGE):
        return made
    aside = f"{made}-old"
    os.rename(path, aside)
    if os.path.lexists(path):
        raise InTheWay(path)
    os.rename(made, path)
    return aside


def _renamed(one: str, other: str, flag: int) -> bool:
    """Renames with a flag; False where the system or the file system cannot do that."""
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    first, second = os.fsencode(one), os.fsencode(other)
    if hasattr(library, "renameat2"):
        status = library.renameat2(_AT_FDCWD, first, _AT_FDCWD, second, flag)
    elif hasattr(library, "renamex_np"):
        status = library.renamex_np(first, second, _DARWIN[flag])
    else:
        return False
    if status and ctypes.get_errno() not in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), other)
    return not status


def discard(path: str) -> None:
    """Removes something of our own making."""
    with suppress(OSError):
        found = os.lstat(path)
        os.rmdir(path) if stat.S_ISDIR(found.st_mode) else os.unlink(path)


def ours(path: str) -> bool:
    """Is it what a restoration that was killed has left?"""
    if not name(path).startswith(TEMPORARY):
        return False
    process = name(path)[len(TEMPORARY) :].partition("-")[0]
    if not process.isdigit():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False
