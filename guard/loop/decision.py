"""The decision at the end of an iteration: the first that applies, in the order of precedence, and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass

from guard.loop import breaker as circuit
from guard.loop import detectors, gatekeeper, lifecycle, limits
from guard.loop.command import Command, End, Enter
from guard.loop.detectors import HOLD, Detector
from guard.loop.events import Alert, Body, HoldChanged, ModeChanged
from guard.loop.facts import Directive
from guard.loop.outcome import INTERRUPTED, LIMITED, Seen
from guard.loop.record import replace
from guard.loop.state import CLOSED, HALF_OPEN, MANUAL, OPEN, PAUSED, RESCUE_WAIT, Breaker, Hold, Iteration, State

INTEGRITY = detectors.TABLE[0]
CONFIRMED = 2  # the level at which a person confirms each change


@dataclass(frozen=True)
class Case:
    """All that the decision looks at: the state with the iteration in its memory, and the iteration."""

    state: State
    iteration: Iteration
    seen: Seen
    score: int
    matched: tuple[Detector, ...]
    t: int


@dataclass(frozen=True)
class Decision:
    """What is decided, why, the state that follows, the conclusions to write, and what to do."""

    name: str
    reason: str
    state: State
    bodies: tuple[Body, ...] = ()
    command: Command | None = None
    recovered: bool = False


def decide(case: Case) -> Decision:
    """The first that applies, in the order of precedence."""
    seen, state = case.seen, case.state
    if seen.measured.protected.violations:
        return _trip(case)
    if seen.outcome == INTERRUPTED and (state.run is None or state.run.asked is None):  # for a pause, not for an end
        return Decision("continue", INTERRUPTED, _given_back(state), command=_next(case))
    if seen.outcome == INTERRUPTED:
        end = gatekeeper.ended_by(state)
        return Decision("stop", end.reason, _given_back(state), command=end)
    if state.breaker.state == OPEN:  # state was lost meanwhile
        return Decision("trip", state.breaker.cause, state, command=gatekeeper.refused(state, case.t))
    if seen.accepted:
        return _complete(case)
    if seen.outcome == LIMITED:
        return _limited(case)
    if state.breaker.state == HALF_OPEN:
        return _probed(case)
    if case.matched:
        return _hold(case) if case.matched[0].recovery == HOLD else _trip(case)
    return _go_on(case)


def _trip(case: Case) -> Decision:
    """Opens the breaker, or opens it again."""
    before, base_s = case.state.breaker, case.state.config.cooldown_s
    if before.state == HALF_OPEN:
        breaker = circuit.reopened(before, case.matched, base_s, case.t, _error(case))
    elif before.state == OPEN:  # the journal says that a call ran all the same
        breaker = harmed(before, case.state, case.t, _error(case)) if INTEGRITY in case.matched else before
    else:
        count = case.state.memory.count(case.matched[0].cause)
        breaker = circuit.trip(before, case.matched, base_s, case.t, _error(case), count)
    return _opened("trip", case, before, breaker)


def _opened(name: str, case: Case, before: Breaker, breaker: Breaker) -> Decision:
    state = replace(case.state, breaker=breaker)
    alert = Alert("trip", "critical", f"{breaker.cause}: the breaker is open")
    return Decision(name, breaker.cause, state, (circuit.changed(before, breaker), alert), gatekeeper.refused(state, case.t))


def harmed(before: Breaker, state: State, t: int, error: str) -> Breaker:
    """The breaker after harm to a protected file, whatever it was before."""
    base_s = state.config.cooldown_s
    if before.state == CLOSED:
        return circuit.trip(before, (INTEGRITY,), base_s, t, error, 1)
    if before.state == HALF_OPEN:
        return circuit.reopened(before, (INTEGRITY,), base_s, t, error)
    also = tuple(dict.fromkeys((before.cause, *before.also)))
    return replace(before, cause=INTEGRITY.cause, also=also, recovery=INTEGRITY.recovery, exit=INTEGRITY.exit, last_error=error)


def _probed(case: Case) -> Decision:
    """The probe is over: it closes the breaker or opens it again."""
    before = case.state.breaker
    if not (case.seen.good and case.score > 0) or case.seen.held:
        base_s = case.state.config.cooldown_s
        return _opened("probe_failed", case, before, circuit.reopened(before, case.matched, base_s, case.t, _error(case)))
    state = replace(circuit.forgotten(case.state), breaker=circuit.closed(before))
    bodies = (circuit.changed(before, state.breaker),)
    if not _is_confirmed(case):
        return Decision("probe_ok", before.cause, state, bodies, _next(case))
    paused = _paused(case, state, _confirm(case))
    return Decision("probe_ok", before.cause, paused.state, bodies + paused.bodies, paused.command)


def _complete(case: Case) -> Decision:
    before = case.state.breaker
    state = case.state
    bodies: tuple[Body, ...] = ()
    if before.state == HALF_OPEN:
        state = replace(circuit.forgotten(state), breaker=circuit.closed(before))
        bodies = (circuit.changed(before, state.breaker),)
    else:
        state = replace(state, breaker=circuit.worked(before, case.score))
    return Decision("complete", case.seen.accepted, state, bodies, End("complete", 0, case.seen.accepted))


def _limited(case: Case) -> Decision:
    ended = case.iteration.ended
    assert ended is not None
    assert ended.limit is not None
    state = limits.waited_for(_given_back(case.state), ended.limit, case.t)
    state = replace(state, permits=int(state.mode == MANUAL))  # whoever let the iteration through meant one that works
    return Decision("limit", f"usage_limit: {ended.limit.kind}", state, command=gatekeeper.usage(state, case.t))


def _given_back(state: State) -> State:
    """The state whose probe may be used again."""
    return replace(state, breaker=replace(state.breaker, probe_used=False)) if state.breaker.state == HALF_OPEN else state


def _hold(case: Case) -> Decision:
    return _paused(case, case.state, Hold(PAUSED, "rescue", case.matched[0].cause, "guard", case.t))


def _paused(case: Case, state: State, hold: Hold) -> Decision:
    before = state.hold.value if state.hold else ""
    state = replace(state, hold=gatekeeper.higher(state.hold, hold), breaker=circuit.worked(state.breaker, case.score))
    change = HoldChanged(before, hold.value, hold.kind, hold.reason, hold.actor, hold.until)
    stands = state.hold if state.hold is not None else hold
    placed = (change,) if stands == hold else ()  # one that ranks higher stays, and is no news
    return Decision("hold", stands.reason, state, placed, gatekeeper.held(state, case.t))


def _go_on(case: Case) -> Decision:
    """Nothing has tripped: what the agent asks for, what a person asked for, the limits of the run, the next iteration."""
    asked = case.state.run.asked if case.state.run else None
    directives = [one for one in case.seen.reply.directives if not one.error]
    if asked is not None:
        end = gatekeeper.ended_by(case.state)
        return Decision("stop", end.reason, _worked(case), command=end)
    if directives:
        return _directed(case, directives[0])
    if _is_confirmed(case):
        return _paused(case, case.state, _confirm(case))
    over = limits.run_over(case.state, case.t)
    if over:
        return Decision("limit", over, _worked(case), command=End("limit", 2, over))
    return Decision("continue", _why(case), _worked(case), command=_next(case))


def _directed(case: Case, directive: Directive) -> Decision:
    """What the agent asked for its own loop."""
    if directive.verb == "mode":
        change = ModeChanged(case.state.mode, MANUAL, "agent", directive.reason, "agent")
        state = replace(_worked(case), mode=MANUAL, permits=0)
        if _is_confirmed(case):
            paused = _paused(case, replace(case.state, mode=MANUAL, permits=0), _confirm(case))
            return Decision("hold", paused.reason, paused.state, (change, *paused.bodies), paused.command)
        return Decision("continue", "mode", state, (change,), _next(case))
    value = RESCUE_WAIT if directive.verb == "rescue" else PAUSED
    kind = "rescue" if directive.verb == "rescue" else "agent"
    hold = Hold(value, kind, directive.reason or "agent_pause", "agent", case.t)
    if _is_confirmed(case) and gatekeeper.replaces(hold, _confirm(case)):  # an agent's word does not stand for a person's
        hold = _confirm(case)
    return _paused(case, case.state, hold)


def _is_confirmed(case: Case) -> bool:
    """Has a person to confirm what changed? The economy of a budget takes nobody's say."""
    return CONFIRMED in (case.state.level, case.state.config.level) and case.seen.measured.files.meaningful > 0


def _confirm(case: Case) -> Hold:
    return Hold(PAUSED, "user", gatekeeper.CONFIRM, gatekeeper.GUARD, case.t)


def _worked(case: Case) -> State:
    return replace(case.state, breaker=circuit.worked(case.state.breaker, case.score))


def _next(case: Case) -> Command:
    return Enter(lifecycle.CHECK, lifecycle.deadline(lifecycle.CHECK, case.t))


def _why(case: Case) -> str:
    if case.seen.claim:
        return "claim refused: " + ", ".join(case.seen.against)
    return f"held: {case.seen.held}" if case.seen.held else "progress" if case.seen.progress else "no progress"


def _error(case: Case) -> str:
    violations = case.seen.measured.protected.violations
    if violations:
        return f"{violations[0].kind}: {violations[0].path}"
    return case.seen.reply.errors[0] if case.seen.reply.errors else ""
