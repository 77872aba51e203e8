"""Handlers: what each kind of event changes in the state, and what follows from it. Pure functions, one a kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from guard.loop import breaker as circuit
from guard.loop import gatekeeper, judge, lifecycle, limits
from guard.loop.command import Command, Do, Write
from guard.loop.events import (
    Alert,
    Asked,
    Base,
    BreakerChanged,
    Budgeted,
    CallEnded,
    CallReserved,
    ControlRefused,
    Entered,
    Event,
    FleetChanged,
    HoldChanged,
    Judged,
    LevelChanged,
    Measured,
    ModeChanged,
    Recovered,
    RunEnded,
    RunStarted,
    Steered,
)
from guard.loop.facts import Protected
from guard.loop.moments import moment
from guard.loop.outcome import VOID
from guard.loop.record import replace
from guard.loop.state import CLOSED, HALF_OPEN, KEPT_ALERTS, OPEN, Iteration, Reservation, Run, Spent, State
from guard.loop.state import Asked as AskedFor


def applied(state: State, event: Event) -> tuple[State, list[Command]]:
    """The state after a fact, or after a conclusion that nothing waits for."""
    return _HANDLERS[event.body.name](state, event, event.body)


def _base(state: State, event: Event, body: Base) -> tuple[State, list[Command]]:
    return replace(state, loop=state.loop or body.loop, clock=body.clock), []


def _run_started(state: State, event: Event, body: RunStarted) -> tuple[State, list[Command]]:
    state, commands = _cut_off(state, event)
    before = state.run
    goes_on = body.resumed and before is not None and before.id == event.run
    if goes_on and before is not None:
        run = replace(before, pid=body.pid, pid_start=body.pid_start, supervised=body.supervised, asked=None, ended=False)
        run = replace(run, exit=None, status="", reason="")
    else:
        run = Run(event.run, event.t, body.agent, body.pid, body.pid_start, body.supervised, body.head)
    if body.plan is not None:
        run = judge.planned(run, body.plan)
    state = replace(
        state,
        root=body.root,
        label=body.label or state.label,
        config=body.config,
        run=run,
        lifecycle=lifecycle.START,
        entered=event.t,
        iteration=None,
        parted=True,
    )
    state = replace(state, deadline=lifecycle.deadline(lifecycle.START, event.t), why="", **_allowed(state, event.t))
    loosened = (
        [Write(Alert("loosened", "warning", "looser than by default: " + ", ".join(body.loosened)))] if body.loosened else []
    )
    return state, [*commands, *loosened]


def _allowed(state: State, t: int) -> dict[str, Any]:
    """Budget and level with which a run begins: what the budget of the day has left holds on."""
    config, budget = state.config, state.budget
    if budget is None or t >= budget.until or budget.unit != config.budget_unit:
        return {"budget": None, "level": config.level}
    return {"budget": budget, "level": min(budget.allowed, config.level) or limits.ECONOMY}


def _cut_off(state: State, event: Event) -> tuple[State, list[Command]]:
    """An iteration that the last runner did not finish is judged without facts."""
    if state.iteration is None:
        return state, []
    state, commands = judge.judge(state, None, event.t)
    return state, [command for command in commands if isinstance(command, Write)]


def _entered(state: State, event: Event, body: Entered) -> tuple[State, list[Command]]:
    state = replace(state, lifecycle=body.state, entered=event.t, deadline=body.deadline, why=body.why)
    if body.state == lifecycle.CHECK:
        state = replace(state, gate="paused" if body.why == gatekeeper.CLOSED else "running")
        return gatekeeper.check(state, event.t)
    return replace(state, parted=state.parted or body.state == lifecycle.WAIT_GATE), []


def _call_reserved(state: State, event: Event, body: CallReserved) -> tuple[State, list[Command]]:
    reservation = Reservation(event.t, body.call)
    commands: list[Command] = []
    if state.breaker.state == OPEN or limits.used(state, event.t) >= state.config.calls_per_hour:
        commands = [Write(Alert("not_allowed", "critical", f"call {body.call} was reserved though none was allowed"))]
    state = replace(state, calls=max(state.calls, body.call), window=(*limits.kept(state.window, event.t), reservation))
    under_way = state.iteration
    if under_way is not None and under_way.run == event.run and under_way.n == event.n:
        told = (*under_way.steers, *state.steers)
        under_way = replace(under_way, calls=under_way.calls + 1, ended=None, steers=told)
        return replace(state, iteration=under_way, steers=()), commands
    n = event.n if event.n is not None else (state.run.n + 1 if state.run else 1)
    iteration = Iteration(n, event.run, event.t, body.task, body.attempt, body.probe, body.prompt_similar, steers=state.steers)
    probing = state.breaker.state == HALF_OPEN
    state = replace(
        state,
        iteration=iteration,
        breaker=replace(state.breaker, probe_used=True) if probing else state.breaker,
        run=replace(state.run, n=n) if state.run else None,
        permits=max(0, state.permits - 1),
        steers=(),
    )
    return state, commands


def _call_ended(state: State, event: Event, body: CallEnded) -> tuple[State, list[Command]]:
    if state.iteration is None:
        return state, [Write(Alert("protocol", "critical", f"call {body.call} ended, and none was under way"))]
    iteration = replace(
        state.iteration,
        ended=body,
        duration_s=state.iteration.duration_s + body.duration_s,
        tokens=state.iteration.tokens + body.tokens.counted,
        cost_usd=state.iteration.cost_usd + body.cost_usd,
    )
    window = tuple(replace(one, tokens=body.tokens.counted) if one.call == body.call else one for one in state.window)
    state = replace(state, iteration=iteration, window=window, session=body.session or state.session)
    state = replace(state, spent=_counted_on(state.spent, body))
    if state.run is not None:
        run = state.run
        run = replace(
            run, calls=run.calls + 1, duration_s=run.duration_s + body.duration_s, cost_usd=run.cost_usd + body.cost_usd
        )
        state = replace(state, run=replace(run, tokens=run.tokens + body.tokens.counted))
    delay = limits.retry_after(state, body, event.t)
    return state, [Do("measure") if delay is None else Do("retry", delay)]


def _counted_on(before: Spent, body: CallEnded) -> Spent:
    """How far the session has come with a call: calls are recorded with what they took themselves."""
    if not body.session:
        return before
    if body.session != before.session:
        before = Spent(body.session)
    return Spent(body.session, before.cost_usd + body.cost_usd, before.tokens.plus(body.tokens))


def _measured(state: State, event: Event, body: Measured) -> tuple[State, list[Command]]:
    state = _guarded(state, body.protected)
    if event.n is None or state.iteration is None:
        return judge.baseline(state, body, event.t)
    return judge.judge(state, body, event.t)


def _guarded(state: State, found: Protected) -> State:
    run = state.run
    if run is None or not (found.files or found.violations or found.refusals):
        return state
    known = run.guarded
    counted = replace(
        known,
        files=found.files or known.files,
        lost=known.lost + len(found.violations),
        restored=known.restored + sum(one.restored for one in found.violations),
        refused=known.refused + sum(one.count for one in found.refusals),
    )
    return replace(state, run=replace(run, guarded=counted))


def _judged(state: State, event: Event, body: Judged) -> tuple[State, list[Command]]:
    """A judgement whose facts cannot be read any more: what it counted holds."""
    memory = replace(state.memory, counts=dict(body.counters), window=body.window)
    run, counted = state.run, body.outcome not in VOID
    if run is not None:
        run = replace(run, counted=run.counted + counted, n=max(run.n, event.n or 0))
    return replace(state, memory=memory, run=run, iteration=None), []


def _breaker(state: State, event: Event, body: BreakerChanged) -> tuple[State, list[Command]]:
    """A transition that somebody asked for, or that comes from lost state."""
    if body.cause == circuit.STATE_LOST and body.after == OPEN:
        lost = circuit.lost(state.breaker, state.config.cooldown_s, event.t)
        return replace(state, breaker=replace(lost, last_error=body.reason)), []
    if not body.actor:  # a conclusion of an older version, say: it only ever makes stricter
        stricter = body.after == OPEN and state.breaker.state != OPEN
        return opened_as_recorded(state, event, body) if stricter else state, []
    if state.breaker.state == OPEN and body.after == OPEN:
        return replace(state, breaker=circuit.resumed(state.breaker)), []
    if body.after == CLOSED:
        return replace(circuit.forgotten(state), breaker=circuit.reset(state.breaker, True), session=""), []
    if state.breaker.state == OPEN and body.after == HALF_OPEN:
        run = replace(state.run, claimed=False, done=()) if state.run else None
        return replace(state, breaker=circuit.reset(state.breaker, False), session="", run=run), []
    return state, []


def opened_as_recorded(state: State, event: Event, body: BreakerChanged) -> State:
    """Takes over that the breaker opened, as the journal says, where it is not concluded now."""
    opened = circuit.lost(state.breaker, state.config.cooldown_s, event.t)
    cooldown_s = max(body.cooldown_s, state.config.cooldown_s)
    return replace(
        state, breaker=replace(opened, cause=body.cause or opened.cause, also=body.also, cooldown_s=cooldown_s, opens=body.opens)
    )


def _hold(state: State, event: Event, body: HoldChanged) -> tuple[State, list[Command]]:
    if not body.after and not body.before:  # one iteration of a manual loop is let through
        return replace(state, permits=1, parted=True), []
    if not body.after:
        return replace(gatekeeper.lifted(state), parted=True), []
    hold = gatekeeper.placed(body, event.t)
    return replace(state, hold=gatekeeper.higher(state.hold, hold), parted=True), []


def _mode(state: State, event: Event, body: ModeChanged) -> tuple[State, list[Command]]:
    return replace(state, mode=body.after, permits=0), []


def _level(state: State, event: Event, body: LevelChanged) -> tuple[State, list[Command]]:
    if body.kind == "linked":  # no budget lifts what an evaluation has led to
        config = replace(state.config, level=min(state.config.level, body.after))
        return replace(state, level=min(state.level, body.after), config=config), []
    return replace(state, level=body.after), []


def _budget(state: State, event: Event, body: Budgeted) -> tuple[State, list[Command]]:
    return replace(state, budget=body), []


def _fleet(state: State, event: Event, body: FleetChanged) -> tuple[State, list[Command]]:
    return replace(state, fleet=body), []


def _steered(state: State, event: Event, body: Steered) -> tuple[State, list[Command]]:
    if not body.text:
        return replace(state, steers=(), kept_steers=()), []
    if body.keep:
        return replace(state, kept_steers=(*state.kept_steers, body.text)), []
    return replace(state, steers=(*state.steers, body.text)), []


def _asked(state: State, event: Event, body: Asked) -> tuple[State, list[Command]]:
    if state.run is None or state.run.ended:
        return state, []
    asked = state.run.asked
    if asked is not None and asked.verb == "kill" and body.verb != "kill":
        return state, []
    return replace(state, run=replace(state.run, asked=AskedFor(body.verb, body.actor, body.why))), []


def _control_refused(state: State, event: Event, body: ControlRefused) -> tuple[State, list[Command]]:
    return replace(state, refused=state.refused + body.count), []


def _alert(state: State, event: Event, body: Alert) -> tuple[State, list[Command]]:
    return kept_alert(state, event, body), []


def kept_alert(state: State, event: Event, body: Alert) -> State:
    """The state that shows an alert."""
    shown = {"kind": body.kind, "severity": body.severity, "detail": body.detail, "t": moment(event.t)}
    return replace(state, alerts=(*state.alerts, shown)[-KEPT_ALERTS:])


def _recovered(state: State, event: Event, body: Recovered) -> tuple[State, list[Command]]:
    return state, []


def _run_ended(state: State, event: Event, body: RunEnded) -> tuple[State, list[Command]]:
    state = replace(state, lifecycle=lifecycle.END, entered=event.t, deadline=None, why=body.reason)
    if state.run is None:
        return state, []
    run = replace(state.run, ended=True, exit=body.exit, status=body.status, reason=body.reason, head=body.head)
    return replace(state, run=run, iteration=None), []


_HANDLERS: dict[str, Callable[[State, Event, Any], tuple[State, list[Command]]]] = {
    "base": _base,
    "run_started": _run_started,
    "entered": _entered,
    "call_reserved": _call_reserved,
    "call_ended": _call_ended,
    "measured": _measured,
    "judged": _judged,
    "breaker": _breaker,
    "hold": _hold,
    "mode": _mode,
    "level": _level,
    "budget": _budget,
    "fleet": _fleet,
    "steered": _steered,
    "asked": _asked,
    "control_refused": _control_refused,
    "alert": _alert,
    "recovered": _recovered,
    "run_ended": _run_ended,
}
