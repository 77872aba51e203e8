"""The judgement of an iteration: facts in, the decision and everything that follows from it out."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from guard.loop import alerts, completion, detectors, gatekeeper, lifecycle, limits, outcome, score
from guard.loop import breaker as circuit
from guard.loop.command import Command, End, Enter, Write
from guard.loop.detectors import HOLD, Detector
from guard.loop.events import Alert, Body, HoldChanged, Judged, Measured, ModeChanged, RunEnded, StartPlan
from guard.loop.facts import Directive, Plan
from guard.loop.outcome import INTERRUPTED, LIMITED, Seen
from guard.loop.record import replace
from guard.loop.state import (
    CLOSED,
    HALF_OPEN,
    MANUAL,
    OPEN,
    PAUSED,
    RESCUE_WAIT,
    Breaker,
    Hold,
    Iteration,
    Last,
    Memory,
    Run,
    State,
    Trends,
)

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


def judge(state: State, measured: Measured | None, t: int) -> tuple[State, list[Command]]:
    """The state after the iteration that is under way has been judged, and what to do."""
    iteration = state.iteration
    assert iteration is not None
    seen = outcome.see(state, iteration, measured)
    parts = score.parts(seen, detectors.streak(state.memory, seen))
    points = sum(parts.values())
    before = state.memory
    after = _counted(state, seen, points)
    matched = _matched(after, seen)
    decision = _decide(Case(after, iteration, seen, points, matched, t))
    decision = dataclasses.replace(decision, recovered=is_monitored(state))
    told, alerted = _alerted(decision.state, before, iteration, seen, t)
    last = _last(decision, after.memory, iteration, seen, parts, matched, t)
    state = replace(decision.state, trends=told, last=last, iteration=None, parted=False)
    bodies: list[Body] = [_judged(last, after.memory.window), *decision.bodies, *alerted]
    commands: list[Command] = [Write(body) for body in bodies]
    return state, commands + ([decision.command] if decision.command is not None else [])


def baseline(state: State, measured: Measured, t: int) -> tuple[State, list[Command]]:
    """The state with what was found before the first iteration, or between two."""
    run = state.run
    if run is not None:
        known = {*run.seen_open, *(measured.plan.opened if measured.plan else ())}
        run = replace(run, plan=measured.plan or run.plan, seen_open=tuple(sorted(known)))
        run = replace(run, verified=measured.tests.ok if measured.tests else run.verified)
        state = replace(state, run=run)
    if not measured.protected.violations or state.hold is not None:
        return state, []
    before = state.breaker
    state = replace(state, breaker=_harmed(before, state, t, measured.protected.violations[0].path))
    return state, [Write(circuit.changed(before, state.breaker)), gatekeeper.refused(state, t)]


def ending(state: State, end: End, t: int, head: str = "") -> RunEnded:
    """The event that ends the run."""
    run = state.run or Run("", t, "", 0, "")
    return RunEnded(
        status=end.status,
        exit=end.exit,
        reason=end.reason,
        iterations=run.counted,
        calls=run.calls,
        duration_s=max(0, t - run.started) / 1000,
        tokens=run.tokens,
        cost_usd=run.cost_usd,
        changed_files=run.changed,
        head=head,
    )


def is_monitored(state: State) -> bool:
    """Is one iteration without progress left until the breaker opens?"""
    count = state.memory.count("no_progress")
    return state.breaker.state == CLOSED and count > 0 and count >= state.config.no_progress - 1


def planned(run: Run, plan: StartPlan) -> Run:
    """The run with the plan as it was found."""
    seen_open = tuple(dict.fromkeys((*run.seen_open, *plan.open)))
    return replace(run, plan=Plan(plan.required, len(plan.open)), seen_open=seen_open)


def _counted(state: State, seen: Seen, points: int) -> State:
    """The state with the iteration in its memory. Void ones change nothing that counts."""
    run = state.run
    if seen.void:
        return state
    if run is not None:
        run = completion.remembered(run, seen)
        changed = run.changed + seen.measured.files.meaningful
        run = replace(run, counted=run.counted + 1, changed=changed)
    memory = detectors.remember(state.memory, seen, points)
    trends = alerts.followed(state.trends, seen, points)
    task = state.iteration.task if state.iteration else ""
    attempts = gatekeeper.attempt(state, task)
    state = replace(state, run=run, memory=memory, trends=trends, task=task, attempts=attempts)
    return replace(state, limited=False, usage_waits=0, usage_until=None)


def _matched(state: State, seen: Seen) -> tuple[Detector, ...]:
    if seen.void:
        return (INTEGRITY,) if seen.measured.protected.violations else ()
    return detectors.matches(state.memory, seen, state.config)


def _decide(case: Case) -> Decision:
    """The first that applies, in the order of precedence."""
    seen, state = case.seen, case.state
    if seen.measured.protected.violations:
        return _trip(case)
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
        breaker = _harmed(before, case.state, case.t, _error(case)) if INTEGRITY in case.matched else before
    else:
        count = case.state.memory.count(case.matched[0].cause)
        breaker = circuit.trip(before, case.matched, base_s, case.t, _error(case), count)
    return _opened("trip", case, before, breaker)


def _opened(name: str, case: Case, before: Breaker, breaker: Breaker) -> Decision:
    state = replace(case.state, breaker=breaker)
    alert = Alert("trip", "critical", f"{breaker.cause}: the breaker is open")
    return Decision(name, breaker.cause, state, (circuit.changed(before, breaker), alert), gatekeeper.refused(state, case.t))


def _harmed(before: Breaker, state: State, t: int, error: str) -> Breaker:
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
    if not (case.seen.good and case.score > 0):
        base_s = case.state.config.cooldown_s
        return _opened("probe_failed", case, before, circuit.reopened(before, case.matched, base_s, case.t, _error(case)))
    state = replace(circuit.forgotten(case.state), breaker=circuit.closed(before))
    return Decision("probe_ok", before.cause, state, (circuit.changed(before, state.breaker),), _next(case))


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
    return Decision("hold", hold.reason, state, (change,), gatekeeper.held(state, case.t))


def _go_on(case: Case) -> Decision:
    """Nothing has tripped: what the agent asks for, what a person asked for, the limits of the run, the next iteration."""
    state, asked = case.state, case.state.run.asked if case.state.run else None
    directives = [one for one in case.seen.reply.directives if not one.error]
    invalid: tuple[Body, ...] = tuple(
        Alert("directive", "warning", f"{one.verb}: {one.error}") for one in case.seen.reply.directives if one.error
    )
    if asked is not None:
        end = gatekeeper.ended_by(state)
        return Decision("stop", end.reason, _worked(case), invalid, end)
    if directives:
        found = _directed(case, directives[0])
        return Decision(found.name, found.reason, found.state, (*found.bodies, *invalid), found.command)
    if state.level == CONFIRMED and case.seen.measured.files.meaningful:
        return _paused(case, state, Hold(PAUSED, "user", gatekeeper.CONFIRM, "guard", case.t))
    over = limits.run_over(state, case.t)
    if over:
        return Decision("limit", over, _worked(case), invalid, End("limit", 2, over))
    return Decision("continue", _why(case), _worked(case), invalid, _next(case))


def _directed(case: Case, directive: Directive) -> Decision:
    """What the agent asked for its own loop."""
    if directive.verb == "mode":
        change = ModeChanged(case.state.mode, MANUAL, "agent", directive.reason, "agent")
        state = replace(_worked(case), mode=MANUAL, permits=0)
        return Decision("continue", "mode", state, (change,), _next(case))
    value = RESCUE_WAIT if directive.verb == "rescue" else PAUSED
    kind = "rescue" if directive.verb == "rescue" else "agent"
    return _paused(case, case.state, Hold(value, kind, directive.reason or "agent_pause", "agent", case.t))


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


def _alerted(state: State, before: Memory, iteration: Iteration, seen: Seen, t: int) -> tuple[Trends, tuple[Alert, ...]]:
    found: tuple[Alert, ...] = ()
    files = seen.measured.files
    if files.external and not state.parted:
        found += (Alert("external_change", "warning", "changed between iterations: " + ", ".join(files.external[:10])),)
    if seen.reply.format == "raw":
        found += (Alert("review_output", "warning", f"the reply of iteration {iteration.n} could not be read as promised"),)
    if seen.void:
        return state.trends, found
    trends, told = alerts.told(alerts.Look(state, before, iteration, seen, t))
    return trends, found + told


def _last(
    decision: Decision,
    memory: Memory,
    iteration: Iteration,
    seen: Seen,
    parts: dict[str, int],
    matched: tuple[Detector, ...],
    t: int,
) -> Last:
    state, facts = decision.state, seen.measured
    return Last(
        n=iteration.n,
        run=iteration.run,
        outcome=seen.outcome,
        progress=seen.progress,
        held=seen.held,
        claim=seen.claim,
        explicit=seen.explicit,
        refused=seen.against if seen.claim and not seen.accepted else (),
        score=sum(parts.values()),
        parts=parts,
        counters=dict(memory.counts),
        thresholds=detectors.thresholds(state.config, seen),
        matched=tuple(row.cause for row in matched),
        risk=alerts.risk(memory, seen, state.config),
        confidence=completion.confidence(seen),
        vote=seen.vote.total,
        signals=seen.vote.points,
        decision=decision.name,
        reason=decision.reason,
        completed=len(seen.completed),
        paths=facts.files.paths,
        tests=facts.tests,
        errors=facts.reply.errors,
        lines=facts.reply.lines,
        refusals=facts.protected.refusals,
        violations=facts.protected.violations,
        gaps=facts.reply.gaps,
        calls=iteration.calls,
        calls_left=limits.left(state, t),
        duration_s=iteration.duration_s,
        tokens=iteration.tokens,
        cost_usd=iteration.cost_usd,
        fingerprints=seen.errors,
        values=seen.vote.values,
        breaker=state.breaker.state,
        task=iteration.task,
        recovered=seen.progress and decision.recovered,
    )


def _judged(last: Last, window: tuple[int, ...]) -> Judged:
    return Judged(
        outcome=last.outcome,
        progress=last.progress,
        held=last.held,
        score=last.score,
        parts=last.parts,
        counters=last.counters,
        window=window,
        risk=last.risk,
        confidence=last.confidence,
        vote=last.vote,
        matched=last.matched,
        decision=last.decision,
        reason=last.reason,
    )
