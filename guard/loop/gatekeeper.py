"""What stands before a call: control, gate, hold, breaker, completion, limits, in this order."""

from __future__ import annotations

import math

from guard.loop import breaker as circuit
from guard.loop import completion, lifecycle, limits
from guard.loop.command import Call, Command, Do, End, Enter, Write
from guard.loop.detectors import HOLD, Detector, by_cause
from guard.loop.events import Alert, CallReserved, HoldChanged
from guard.loop.record import replace
from guard.loop.state import AUTO, HALF_OPEN, MANUAL, OPEN, PAUSED, RESCUE_WAIT, Hold, State

CLOSED = "gate_closed"  # why a run enters CHECK although the machine's gate is closed
SKIPPED = "skipped_system_paused"  # why it waits then
SIGNALS = {"SIGHUP": 129, "SIGINT": 130, "SIGTERM": 143}
STOPPED = 130
PERSON = 3  # the exit status that says: a person is needed
CONFIRM = "confirm"
GUARD = "guard"  # the actor of what guard does by itself
RANKS = {"agent": 1, "user": 2, "rescue": 3}
Answer = tuple[State, list[Command]]


def check(state: State, t: int) -> Answer:
    """Decides whether a call may start at a time, and what to do instead."""
    if state.run is None:
        return state, []
    if state.run.asked is not None:
        return state, [ended_by(state)]
    if state.why == CLOSED:
        return state, [Enter(lifecycle.WAIT_GATE, lifecycle.deadline(lifecycle.WAIT_GATE, t), SKIPPED)]
    state, commands = _past_hold(state, t)
    if state.hold is not None or (state.mode == MANUAL and not state.permits):
        state, more = _waited_for(state, t)
        return state, [*commands, *more]
    state, more = _past_breaker(state, t)
    last = refused(state, t) if state.breaker.state == OPEN else _past_limits(state, t)
    return state, [*commands, *more, last]


def _waited_for(state: State, t: int) -> Answer:
    """The wait for a person; where it has been long enough, what that forces."""
    command, hold = held(state, t), standing(state, t)
    if not isinstance(command, End) or hold.value == RESCUE_WAIT or not held_s(state, hold):
        return state, [command]
    change = _unanswered(state, t)
    return replace(state, hold=placed(change, t)), [Write(change), End("paused", PERSON, hold.reason)]


def _past_hold(state: State, t: int) -> Answer:
    """The state after a look at the hold: one that was for a time is lifted when that is over."""
    hold = state.hold
    if hold is None or hold.until is None or t < hold.until:
        return state, []
    return replace(lifted(state), parted=True), [Write(HoldChanged(hold.value, "", hold.kind, "its time is over", "guard"))]


def _past_breaker(state: State, t: int) -> Answer:
    """The state after a look at the breaker: the clock that was set back, the cooldown that is over."""
    commands: list[Command] = []
    breaker = state.breaker
    if breaker.state == OPEN and breaker.opened_at > t:
        breaker = replace(breaker, opened_at=t)
        commands.append(Write(Alert("clock", "warning", "the breaker opened in the future: the clock was set back")))
    if circuit.may_probe(breaker, t):
        before, breaker = breaker, circuit.probing(breaker)
        commands.append(Write(circuit.changed(before, breaker)))
    return replace(state, breaker=breaker), commands


def _past_limits(state: State, t: int) -> Command:
    if completion.standing(state):
        return End("complete", 0, "plan_complete")
    over = limits.run_over(state, t)
    if over:
        return End("limit", 2, over)
    if state.usage_until is not None and t < state.usage_until:
        return usage(state, t)
    budget = state.budget
    if budget is not None and not budget.allowed and t < budget.until:
        return _wait(state, lifecycle.WAIT_BUDGET, budget.until, budget.why)
    if state.usage_waits >= limits.SHORT_WAITS:
        return End("limit", 2, "usage_limit")
    free = limits.free_at(state, t)
    if free is not None:
        return _wait(state, lifecycle.WAIT_CALLS, free, _scarce(state, t))
    return Call(state.breaker.state == HALF_OPEN, state.level)


def _scarce(state: State, t: int) -> str:
    """What a wait for calls and tokens is for."""
    if limits.left(state, t) == 0:
        return "calls"
    return "tokens" if limits.tokens_out(state, t) else "economy"


def shared(state: State, until: int) -> Command:
    """The wait for a call that the loops that share a ledger leave, or the end where the run's time is over before that."""
    if state.iteration is not None:  # its call is repeated
        return Do("measure")
    return _wait(state, lifecycle.WAIT_CALLS, until, "fleet")


def usage(state: State, t: int) -> Command:
    """The wait for the client's own limit, or the end where the run should not wait."""
    if state.config.on_limit == "exit":
        return End("limit", 2, "usage_limit")
    return _wait(state, lifecycle.WAIT_USAGE, state.usage_until or t, state.usage_kind)


def _wait(state: State, name: str, until: int, why: str) -> Command:
    """The wait until a moment; the end at once where that is beyond the run's time."""
    end = limits.run_ends_at(state)
    if end is not None and until > end:
        return End("limit", 2, "runtime")
    return Enter(name, until + lifecycle.OVERDUE_S[name] * 1000, why, until)


def refused(state: State, t: int) -> Command:
    """An open breaker: the end with its cause's exit status, or the wait for the cooldown."""
    breaker = state.breaker
    status = "integrity" if breaker.cause == "integrity" else "circuit_open"
    end = limits.run_ends_at(state)
    until = circuit.ends_at(breaker)
    if not state.config.wait or breaker.recovery != AUTO or (end is not None and until > end):
        return End(status, breaker.exit, breaker.cause)
    return Enter(lifecycle.COOLDOWN, until + lifecycle.OVERDUE_S[lifecycle.COOLDOWN] * 1000, breaker.cause, until)


def held(state: State, t: int) -> Command:
    """A hold, or a manual loop: the wait for a person, or the end where nobody is waited for."""
    hold = standing(state, t)
    lasts_s = held_s(state, hold)
    if not lasts_s or hold.value == RESCUE_WAIT:
        return End("paused", _held_exit(hold), hold.reason)
    since = t if state.hold is None or state.run is None else max(hold.at, state.run.started)
    end = limits.run_ends_at(state)
    deadline = since + lasts_s * 1000 if end is None else min(since + lasts_s * 1000, end)
    if deadline <= t:
        return End("paused", 3, hold.reason)
    return Enter(lifecycle.HELD, deadline, hold.reason, hold.until)


def standing(state: State, t: int) -> Hold:
    """The hold, or what a manual loop is held by before each iteration."""
    return state.hold or Hold(PAUSED, "user", MANUAL, "", t)


def placed(change: HoldChanged, t: int) -> Hold:
    """The hold that a change at a time places."""
    return Hold(change.after, change.kind, change.reason, change.actor, t, change.until)


def cause(hold: Hold) -> Detector | None:
    """The row of the detector that placed the hold; None where somebody has, whatever reason they gave."""
    row = by_cause(hold.reason) if (hold.kind, hold.actor) == ("rescue", GUARD) else None
    return row if row is not None and row.recovery == HOLD else None


def _held_exit(hold: Hold) -> int:
    row = cause(hold)
    return PERSON if row is None else row.exit


def held_s(state: State, hold: Hold) -> int:
    """How long a hold is waited for, in seconds."""
    if hold.kind == "user":
        return lifecycle.PERSON_S
    if hold.kind == "agent":
        return lifecycle.HUMAN_S
    return lifecycle.HUMAN_S if state.config.wait else 0


def ended_by(state: State) -> End:
    """The end that somebody asked for."""
    asked = state.run.asked if state.run else None
    if asked is not None and asked.verb == "kill":
        return End("interrupted", SIGNALS.get(asked.why, STOPPED), asked.why or "interrupted")
    return End("stopped", STOPPED, asked.verb if asked else "stop")


def higher(standing: Hold | None, hold: Hold) -> Hold:
    """The hold that stands: a later one replaces it only if it ranks higher (rescue_wait > rescue > user > agent)."""
    return hold if standing is None or replaces(standing, hold) else standing


def replaces(standing: Hold, hold: Hold) -> bool:
    """Does a later hold replace the one that stands? Of two that rank equal, the one that lasts longer stands."""
    return _rank(hold) > _rank(standing)


def _rank(hold: Hold) -> tuple[int, float]:
    lasts = math.inf if hold.until is None else hold.until
    return len(RANKS) + 1 if hold.value == RESCUE_WAIT else RANKS.get(hold.kind, 0), lasts


def lifted(state: State) -> State:
    """The state without its hold; the counter that caused it is 0, and no other."""
    hold = state.hold
    if hold is None:
        return state
    row = cause(hold)
    if row is not None:
        counts = {**state.memory.counts, row.cause: 0}
        state = replace(state, memory=replace(state.memory, counts=counts))
    return replace(state, hold=None)


def forced(state: State, t: int) -> list[Command]:
    """What passing the deadline of the present state forces; nothing while it has not passed."""
    if state.deadline is None or t <= state.deadline or state.lifecycle not in lifecycle.TABLE:
        return []
    phase = lifecycle.TABLE[state.lifecycle]
    if state.lifecycle == lifecycle.HELD:
        change = _unanswered(state, t)
        return [Write(change), End("paused", PERSON, change.reason)]
    if phase.forced == lifecycle.END:
        status = "paused" if phase.exit == 3 else "error"
        return [End(status, phase.exit, f"{state.lifecycle.lower()}_overdue")]
    return [Enter(phase.forced, lifecycle.deadline(phase.forced, t), f"{state.lifecycle.lower()}_overdue")]


def _unanswered(state: State, t: int) -> HoldChanged:
    """Nobody answered in time: the hold waits for rescue."""
    before = standing(state, t)
    return HoldChanged(state.hold.value if state.hold else "", RESCUE_WAIT, before.kind, before.reason, GUARD)


def reservation(state: State, t: int, made: CallReserved) -> CallReserved | Command:
    """The reservation with what the machine knows of it; another command where no call may start any more."""
    if state.iteration is not None:  # its call is repeated
        if state.breaker.state == OPEN or limits.free_at(state, t) is not None:
            return Do("measure")
    else:
        commands = check(replace(state, why=""), t)[1]
        if not commands or not isinstance(commands[-1], Call):
            return commands[-1] if commands else End("error", 70, "no_run")
    probe = state.breaker.state == HALF_OPEN
    limit = state.config.calls_per_hour
    return replace(made, call=state.calls + 1, used=limits.used(state, t), limit=limit, probe=probe, level=state.level)


def attempt(state: State, task: str) -> int:
    """How many iterations in a row, with the next one, are on this task."""
    return state.attempts + 1 if task and task == state.task else 1
