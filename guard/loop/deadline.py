"""Deadline: work that would outlast the state of the run that it belongs to is broken off wherever it is.

A tree without end, or a file system that hangs, gives nobody an occasion to look at the time: so a timer of the process does,
and `Overdue` is raised in the middle of the work. What the kernel does not let a signal into, the supervisor's watchdog ends.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from guard.loop.clock import Clock

LOOK_S = 0.2  # between two looks at the time


class Overdue(BaseException):
    """The deadline has passed. It is no `Exception`: whatever goes on after those does not go on after this."""


@contextmanager
def kept(ends: int | None, clock: Clock) -> Iterator[None]:
    """Breaks off what runs in it after a moment (UTC milliseconds, None: never). Raises Overdue; at once where it has passed."""
    if ends is None:
        yield
        return
    if clock.now() > ends:
        raise Overdue
    if threading.current_thread() is not threading.main_thread():  # a signal would not reach it
        yield
        return
    armed = True

    def look(number: int, frame: FrameType | None) -> None:
        if armed and clock.now() > ends:
            raise Overdue

    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, LOOK_S, LOOK_S)
    try:
        try:
            yield
        finally:
            armed = False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
