"""Time as the loop sees it: that of the machine, unless a program of the tests has put another in its place (guard.testing)."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Where time comes from. `kind` is what the journal says of it, `step_s` how long a wait sleeps before it looks around."""

    kind: str
    step_s: float

    def now(self) -> int:
        """UTC milliseconds since 1970."""
        ...

    def elapsed(self) -> float:
        """Seconds since some moment, for durations: nobody can set them back."""
        ...

    def sleep(self, seconds: float) -> None:
        """Lets time pass. It may return earlier."""
        ...


class Machine:
    """The machine's own clocks."""

    kind = "real"
    step_s = 1.0

    def now(self) -> int:
        """UTC milliseconds since 1970."""
        return time.time_ns() // 1_000_000

    def elapsed(self) -> float:
        """Seconds of the clock that only goes forward."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Sleeps."""
        time.sleep(max(0.0, seconds))


_current: Clock = Machine()


def current() -> Clock:
    """The clock in force in this process."""
    return _current


def install(clock: Clock) -> None:
    """Puts another clock in force in this process. No option, variable or file does that."""
    global _current
    _current = clock
