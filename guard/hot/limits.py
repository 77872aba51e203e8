"""Limits on a whole process: a judgement ends in time and within its memory, whatever it is at."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # signal itself makes enumerations first, which takes longer than all of this
import resource

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS = 0.88  # until the refusal, counted from here; the start of the interpreter comes on top
GRACE = 0.04  # seconds of processor time on top, until the kernel ends the process
MEMORY = 1 << 29  # bytes

_before: list[tuple[int, int]] = []  # the limits to return to


def impose(refuse: Callable[[], None], seconds: float = SECONDS) -> None:
    """From now on `refuse`, which has to end the process, is called when time is up.

    A single long step of the interpreter holds up its signal handlers. The kernel does not wait for it, and the status of a
    process that a signal has ended is no allowance.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if soft == resource.RLIM_INFINITY or soft > MEMORY:
        _before.append((soft, hard))
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, hard))
    _signal.signal(_signal.SIGALRM, lambda number, frame: refuse())
    _signal.setitimer(_signal.ITIMER_REAL, seconds)
    _signal.signal(_signal.SIGPROF, _signal.SIG_DFL)
    _signal.setitimer(_signal.ITIMER_PROF, seconds + GRACE)


def lift() -> None:
    """Takes the limits off again, for a caller that goes on."""
    _signal.setitimer(_signal.ITIMER_REAL, 0)
    _signal.setitimer(_signal.ITIMER_PROF, 0)
    if _before:
        resource.setrlimit(resource.RLIMIT_DATA, _before.pop())
