"""Work in a forked process that is killed, has little room, or is another user."""

from __future__ import annotations

import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any

from guard.vault import place

CALLS = (
    "open",
    "write",
    "pwrite",
    "ftruncate",
    "rename",
    "link",
    "symlink",
    "unlink",
    "rmdir",
    "mkdir",
    "mkfifo",
    "fsync",
    "chmod",
    "utime",
)


def forked(work: Callable[[], object]) -> int:
    """The exit status of the work in a process of its own: 0, 1 after an exception, -9 when it was killed."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc(file=sys.stderr)
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed_before(call: int, work: Callable[[], object]) -> bool:
    """Does the work with SIGKILL before its system call of this number that changes something; False where it ended earlier."""
    left = call

    def counting(original: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*values: Any, **named: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return original(*values, **named)

        return counted

    def run() -> None:
        for name in CALLS:
            setattr(os, name, counting(getattr(os, name)))
        place._renamed = counting(place._renamed)
        work()

    status = forked(run)
    assert status in (0, -signal.SIGKILL)
    return status != 0


def with_files_of_at_most(size: int, work: Callable[[], object]) -> int:
    """As forked(), and no file can be written beyond this size, as on a full disk."""

    def run() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        work()

    return forked(run)


def as_nobody(work: Callable[[], object]) -> int:
    """As forked(), as a user without rights; where the tests are run by one already, as that one."""

    def run() -> None:
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        work()

    return forked(run)
