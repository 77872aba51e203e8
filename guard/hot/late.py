"""A refusal for want of time, written to the log by a process of its own: whoever refuses need not wait for a disk."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.decision import Request

SECONDS = 2.0  # for writing, then it is given up


def record(request: Request, state: str | None) -> None:
    """Has the refusal of a request recorded; returns at once. Nothing of it is heard where that fails."""
    try:
        if os.fork():
            return
    except OSError:
        return
    try:
        _signal.signal(_signal.SIGALRM, _signal.SIG_DFL)
        _signal.setitimer(_signal.ITIMER_REAL, SECONDS)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):  # the client waits for whoever holds them
            os.dup2(nothing, stream)
        _write(request, state)
    finally:
        os._exit(0)


def _write(request: Request, state: str | None) -> None:
    import time

    from guard import log
    from guard.decision import Decision
    from guard.effects import Analysis, Unknown
    from guard.verdict import DENY, Reason, Verdict

    code = "out-of-time"
    unread = Analysis(unknowns=(Unknown(code, request.command),))
    log.append(log.encode(Decision(request, unread, Verdict(DENY, (Reason(code, DENY),)), time.time())), state)
