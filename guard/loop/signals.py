"""Signals that ask a run to end: noted when they come, and looked at where the run can act on them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# End the run after its iteration: the supervisor is gone; it, or a person, wants that.
ORPHANED, DRAINING = signal.SIGUSR1, signal.SIGUSR2


class Signals:
    """What has come. `wake` is a descriptor that becomes readable with each."""

    def __init__(self) -> None:
        self._came: list[str] = []
        self.wake, self._writer = os.pipe()
        for fd in (self.wake, self._writer):
            os.set_blocking(fd, False)
            os.set_inheritable(fd, False)

    def note(self, number: int, frame: FrameType | None) -> None:
        """The handler."""
        self._came.append(signal.Signals(number).name)

    def take(self) -> list[str]:
        """The names of those that have come since the last time."""
        came, self._came = self._came, []
        return came

    @contextmanager
    def caught(self) -> Iterator[Signals]:
        """Notes signals as long as this lasts. What was ignored before (nohup) stays ignored."""
        before = {number: signal.getsignal(number) for number in (*ENDING, ORPHANED, DRAINING)}
        wake = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, self.note)
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(wake)
            for fd in (self.wake, self._writer):
                with suppress(OSError):
                    os.close(fd)
