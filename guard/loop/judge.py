"""The judgement of an iteration: facts in, the decision and everything that follows from it out."""

from __future__ import annotations

import dataclasses

from guard.loop import alerts, completion, detectors, gatekeeper, judged, outcome, score
from guard.loop import breaker as circuit
from guard.loop.command import Command, End, Write
from guard.loop.decision import INTEGRITY, Case, decide, harmed
from guard.loop.detectors import Detector
from guard.loop.events import Alert, Body, ControlRefused, Measured, RunEnded, StartPlan
from guard.loop.facts import Plan
from guard.loop.outcome import Seen
from guard.loop.record import replace
from guard.loop.state import CLOSED, TRIED, TRIED_PATHS, Iteration, Memory, Run, State, Trends


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
    decision = decide(Case(after, iteration, seen, points, matched, t))
    decision = dataclasses.replace(decision, recovered=is_monitored(state))
    told, alerted = _alerted(decision.state, before, iteration, seen, t)
    kept = judged.last(decision, after.memory, iteration, seen, parts, matched, t)
    state = replace(decision.state, trends=told, last=kept, iteration=None, parted=False)
    refused = _refused(seen)
    state = replace(state, refused=state.refused + len(refused))
    if seen.void:  # what a person said to it is still to be heard
        state = replace(state, steers=(*iteration.steers, *state.steers))
    bodies: list[Body] = [judged.conclusion(kept, after.memory.window), *decision.bodies, *alerted, *refused]
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
    state = replace(state, breaker=harmed(before, state, t, measured.protected.violations[0].path))
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
        return state if run is None else replace(state, run=completion.glimpsed(run, seen))
    if run is not None:
        run = completion.remembered(state, run, seen)
        changed = run.changed + seen.measured.files.meaningful
        run = replace(run, counted=run.counted + 1, changed=changed)
    memory = detectors.remember(state.memory, seen, points)
    trends = alerts.followed(state.trends, seen, points)
    task = state.iteration.task if state.iteration else ""
    attempts = gatekeeper.attempt(state, task)
    tried = (*(state.tried if attempts > 1 else ()), seen.measured.files.paths[:TRIED_PATHS])[-TRIED:]
    state = replace(state, run=run, memory=memory, trends=trends, task=task, attempts=attempts, tried=tried)
    return replace(state, limited=False, usage_waits=0, usage_until=None)


def _refused(seen: Seen) -> tuple[ControlRefused, ...]:
    """What the agent asked for in a well-formed directive and may not have."""
    wanted = [one for one in seen.reply.directives if one.error and one.reason]
    return tuple(ControlRefused(one.verb, "agent", one.error) for one in wanted)


def _matched(state: State, seen: Seen) -> tuple[Detector, ...]:
    if seen.void:
        return (INTEGRITY,) if seen.measured.protected.violations else ()
    return detectors.matches(state.memory, seen, state.config)


def _alerted(state: State, before: Memory, iteration: Iteration, seen: Seen, t: int) -> tuple[Trends, tuple[Alert, ...]]:
    found: tuple[Alert, ...] = ()
    files = seen.measured.files
    if files.external and not state.parted:
        found += (Alert("external_change", "warning", "changed between iterations: " + ", ".join(files.external[:10])),)
    wrong = [one for one in seen.reply.directives if one.error]
    found += tuple(Alert("directive", "warning", f"{one.verb}: {one.error}, so it has no effect") for one in wrong)
    if seen.reply.format == "raw":
        found += (Alert("review_output", "warning", f"the reply of iteration {iteration.n} could not be read as promised"),)
    if seen.void:
        return state.trends, found
    trends, told = alerts.told(alerts.Look(state, before, iteration, seen, t))
    return trends, found + told
