"""The lock of one loop: one writer at a time, known by its process id and start time."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress

from guard.errors import BUSY, STATE, GuardError

NAME = "lock"
TRIES, LOOK_S = 5, 0.01  # whoever only looks (`owner`) has it for a moment, too


def started(pid: int) -> str:
    """When a process started, as the kernel counts; "" where there is no such process, or it cannot be told."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[19].decode()
    except (OSError, IndexError):
        return ""


def ended(pid: int) -> bool:
    """Has a process ended, and only waits for somebody to ask how?"""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except (OSError, IndexError):
        return False


def alive(pid: int, start: str) -> bool:
    """Does the process that had this id and start time still run?"""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    now = started(pid)
    return (not start or not now or now == start) and not ended(pid)


class Lock:
    """The right to write a loop's journal, from `take` until `release` or the end of the process."""

    def __init__(self, directory: str) -> None:
        self.path = f"{directory}/{NAME}"
        self._fd: int | None = None

    def take(self) -> None:
        """Takes the lock. Raises GuardError: BUSY where another process has it, STATE where it cannot be written."""
        while self._fd is None:
            fd = self._open()
            try:
                self._hold(fd)
                if _is_at(fd, self.path):
                    self._fd, fd = fd, -1
            finally:
                if fd >= 0:
                    os.close(fd)

    def _open(self) -> int:
        try:
            return os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            todo = "make its directory writable, or set GUARD_STATE_DIR to one that is"
            raise GuardError(f"the lock cannot be written ({error.strerror})", self.path, todo, STATE) from error

    def _hold(self, fd: int) -> None:
        try:
            for again in reversed(range(TRIES)):
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if not again:
                        raise _busy(self.path, _owner(fd)[0]) from None
                    time.sleep(LOOK_S)
        except OSError:  # a file system without locks: the process id has to do
            pid, start = _owner(fd)
            if pid and pid != os.getpid() and alive(pid, start):
                raise _busy(self.path, pid) from None
        text = f"{os.getpid()} {started(os.getpid())}\n".encode()
        try:
            os.pwrite(fd, text, 0)
            os.ftruncate(fd, len(text))
        except OSError as error:
            raise GuardError(f"the lock cannot be written ({error.strerror})", self.path, "make room there", STATE) from error

    def again(self) -> None:
        """Puts the lock back where its file is gone or another one, under the same process."""
        if self._fd is not None and not _is_at(self._fd, self.path):
            old, self._fd = self._fd, None
            try:
                self.take()
            finally:
                os.close(old)

    def release(self) -> None:
        """Gives the lock back. The file stays."""
        if self._fd is not None:
            with suppress(OSError):
                os.close(self._fd)
            self._fd = None


def owner(directory: str) -> tuple[int, str] | None:
    """The process id and start time of whoever holds the lock; None where nobody does."""
    try:
        fd = os.open(f"{directory}/{NAME}", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _owner(fd)
    except OSError:
        pid, start = _owner(fd)
        return (pid, start) if pid and alive(pid, start) else None
    finally:
        os.close(fd)
    return None


def _owner(fd: int) -> tuple[int, str]:
    try:
        words = os.pread(fd, 100, 0).decode("ascii").split()
        return int(words[0]), words[1] if len(words) > 1 else ""
    except (OSError, ValueError, IndexError):
        return 0, ""


def _is_at(fd: int, path: str) -> bool:
    try:
        there = os.stat(path, follow_symlinks=False)
    except OSError:
        return False
    own = os.fstat(fd)
    return (own.st_dev, own.st_ino) == (there.st_dev, there.st_ino)


def _busy(path: str, pid: int) -> GuardError:
    who = f"process {pid}" if pid else "another process"
    return GuardError(f"{who} runs this loop", path, "wait for it, or end it with: guard loop stop", BUSY)
