"""Mailbox: the folder in which requests to a run lie, and who holds a file in it, by the kernel's word."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import struct
import sys
import time
from contextlib import suppress
from functools import partial

from guard.errors import STATE, GuardError

FOLDER = "control"
ANSWER = ".answer"
# How the kernel wants to be asked who has a lock: the form of `struct flock`, and where the process stands in it.
_FLOCK = {"linux": ("@hhqqi4x", 4), "darwin": ("@qqihh", 2)}


def holder(fd: int) -> int:
    """The process that has locked a file, as the kernel says; 0 where there is none, or it cannot be told."""
    form, at = _FLOCK.get(sys.platform, ("", 0))
    if not form:
        return 0
    fields = (fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0) if at == 4 else (0, 0, 0, fcntl.F_WRLCK, os.SEEK_SET)
    try:
        found = struct.unpack(form, fcntl.fcntl(fd, fcntl.F_GETLK, struct.pack(form, *fields)))
    except (OSError, struct.error):
        return 0
    kind = found[0] if at == 4 else found[3]
    return max(0, int(found[at])) if kind != fcntl.F_UNLCK else 0


def claimed(name: str) -> str:
    """What a file is called once it was taken."""
    return f".{name}.taken"


class Folder:
    """The control folder, seen through a descriptor: no link leads out of it."""

    def __init__(self, directory: str, make: bool = False) -> None:
        self.path = f"{directory}/{FOLDER}"
        self._make = make
        self._fd = -1

    def __enter__(self) -> Folder:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            if self._make:
                self._in_place()
            self._fd = os.open(self.path, flags)
        except OSError as error:
            if self._make:
                raise self._unwritable(error) from error
        return self

    def __exit__(self, *error: object) -> None:
        if self._fd >= 0:
            os.close(self._fd)

    def _in_place(self) -> None:
        """Makes the folder; a file or a link in its place goes, whatever it leads to stays."""
        try:
            os.mkdir(self.path, 0o700)
        except FileExistsError:
            if not stat.S_ISDIR(os.lstat(self.path).st_mode):
                os.unlink(self.path)
                os.mkdir(self.path, 0o700)

    def names(self, everything: bool = False) -> list[str]:
        """What lies in it, in order; with `everything` also what is not finished, and answers."""
        try:
            found = os.listdir(self._fd) if self._fd >= 0 else []
        except OSError:
            return []
        return sorted(name for name in found if everything or not (name.startswith(".") or name.endswith(ANSWER)))

    def open(self, name: str) -> int:
        """A descriptor of a file. Raises OSError for a link."""
        if self._fd < 0:
            raise FileNotFoundError(name)
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._fd)

    def is_directory(self, name: str) -> bool:
        """Is it one?"""
        try:
            return stat.S_ISDIR(os.stat(name, dir_fd=self._fd, follow_symlinks=False).st_mode)
        except OSError:
            return False

    def put(self, name: str, data: bytes) -> int:
        """Writes a file whole; gives a descriptor whose lock says who wrote it. Raises GuardError."""
        temporary, fd = f".{name}", -1
        try:
            opener = partial(os.open, mode=0o600, dir_fd=self._fd)
            fd = opener(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC)
            if os.write(fd, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(fd)
            with suppress(OSError):  # a file system without locks: then nobody is known to ask
                fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.rename(temporary, name, src_dir_fd=self._fd, dst_dir_fd=self._fd)
        except OSError as error:
            if fd >= 0:
                os.close(fd)
            self.remove(temporary)
            raise self._unwritable(error) from error
        return fd

    def claim(self, name: str) -> bool:
        """Takes a file out of reach of whoever would withdraw it; False where it is gone already."""
        try:
            os.rename(name, claimed(name), src_dir_fd=self._fd, dst_dir_fd=self._fd)
        except (OSError, ValueError):
            return False
        return True

    def sender(self, name: str) -> int:
        """The process that holds a file, 0 for none."""
        try:
            fd = self.open(name)
        except (OSError, ValueError):
            return 0
        try:
            return holder(fd)
        finally:
            os.close(fd)

    def age_s(self, name: str) -> float:
        """How long ago a file was written, in seconds."""
        try:
            return time.time() - os.stat(name, dir_fd=self._fd, follow_symlinks=False).st_mtime
        except OSError:
            return 0.0

    def remove(self, name: str) -> bool:
        """Takes a file away; False where it was not there."""
        try:
            os.unlink(name, dir_fd=self._fd)
        except (OSError, ValueError, TypeError):
            return False
        return True

    def _unwritable(self, error: OSError) -> GuardError:
        todo = "make room or make it writable, or end the runner with SIGTERM"
        return GuardError(f"the request cannot be written ({error.strerror})", self.path, todo, STATE)
