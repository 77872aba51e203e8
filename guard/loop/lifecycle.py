"""The states of a run: what each is shown as, how long it may last, and what its end forces."""

from __future__ import annotations

from dataclasses import dataclass

from guard.loop.state import State

START, CHECK, SNAPSHOT, EXECUTE = "START", "CHECK", "SNAPSHOT", "EXECUTE"
MEASURE, VERIFY, DECIDE, END = "MEASURE", "VERIFY", "DECIDE", "END"
WAIT_CALLS, WAIT_USAGE, WAIT_BUDGET, WAIT_GATE = "WAIT_CALLS", "WAIT_USAGE", "WAIT_BUDGET", "WAIT_GATE"
HELD, COOLDOWN = "HELD", "COOLDOWN"

HUMAN_S, PERSON_S = 30 * 60, 24 * 3600  # how long an answer, and how long a person who paused, is waited for
GRACE_S = 15  # after a call's time-out, until its last process is dead
VERIFY_GRACE_S = 15


@dataclass(frozen=True)
class Phase:
    """A row: the status shown, seconds that the state may last (0: the entry says), and the state or exit that follows."""

    status: str
    lasts_s: int
    forced: str  # a state, or END
    exit: int = 0
    waits: bool = False


TABLE: dict[str, Phase] = {
    START: Phase("starting", 60, END, 70),
    CHECK: Phase("running", 10, END, 70),
    WAIT_CALLS: Phase("waiting", 0, CHECK, waits=True),
    WAIT_USAGE: Phase("waiting", 0, CHECK, waits=True),
    WAIT_BUDGET: Phase("waiting", 0, CHECK, waits=True),
    WAIT_GATE: Phase("waiting", PERSON_S, END, 3, waits=True),
    HELD: Phase("paused", 0, END, 3, waits=True),
    COOLDOWN: Phase("circuit_open", 0, CHECK, waits=True),
    SNAPSHOT: Phase("running", 300, END, 74),
    EXECUTE: Phase("running", 0, MEASURE),
    MEASURE: Phase("running", 300, DECIDE),
    VERIFY: Phase("running", 0, DECIDE),
    DECIDE: Phase("running", 10, END, 70),
    END: Phase("", 0, END),
}
# How long after the moment that a wait is for it must have ended.
OVERDUE_S = {WAIT_CALLS: 5, WAIT_USAGE: 60, WAIT_BUDGET: 5, COOLDOWN: 5}


def deadline(name: str, t: int, lasts_s: int = 0) -> int:
    """When a state that is entered now must have ended, in UTC milliseconds."""
    return t + (lasts_s or TABLE[name].lasts_s) * 1000


def execute_s(state: State) -> int:
    """How long a call may last until its last process is dead, in seconds."""
    return state.config.timeout_s + GRACE_S


def status(state: State) -> str:
    """The status as it is shown: the run's end, else that of the state it is in."""
    run = state.run
    if run is None:
        return "paused" if state.hold else "ready"
    if run.ended:
        return run.status
    found = TABLE[state.lifecycle].status if state.lifecycle in TABLE else "starting"
    failed = state.last is not None and state.last.run == run.id and state.last.outcome in ("failed", "timeout", "lost")
    return "failed" if found == "running" and failed and state.lifecycle in (CHECK, SNAPSHOT, DECIDE) else found
