"""The machine: `step(state, event)` gives the next state and what to do now. No clock, no files, no processes.

A fact changes the state at once, with every conclusion that follows from it. The conclusions are handed out as `Write`
commands and wait in `state.pending` until they come back as events: then they are only compared. So a replay that ends between
a fact and its conclusions loses nothing, and one that concludes otherwise says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from guard.loop import breaker as circuit
from guard.loop import gatekeeper, judge, lifecycle, limits
from guard.loop.command import Command, Do, Write
from guard.loop.events import (
    KINDS,
    Alert,
    Asked,
    Base,
    Body,
    BreakerChanged,
    CallEnded,
    CallReserved,
    ControlRefused,
    Entered,
    Event,
    HoldChanged,
    Judged,
    LevelChanged,
    Measured,
    ModeChanged,
    Recovered,
    RunEnded,
    RunStarted,
    Steered,
    moment,
    redacted,
)
from guard.loop.outcome import VOID
from guard.loop.record import dump, parse, replace
from guard.loop.state import CLOSED, HALF_OPEN, KEPT_ALERTS, OPEN, Hold, Iteration, Reservation, Run, State
from guard.loop.state import Asked as AskedFor

ONCE = "once"  # the reason of a resume that lets one iteration of a manual loop through
CONCLUSIONS = ("judged", "breaker", "alert", "hold", "mode")


def step(state: State, event: Event) -> tuple[State, list[Command]]:
    """The state after an event, and what to do: first the conclusions to write, then at most one other command."""
    state = replace(state, seq=event.seq, t=max(state.t, event.t))
    if state.pending and event.body.name in CONCLUSIONS:
        return _confirmed(state, event)
    commands: list[Command] = []
    if state.pending:
        expected = json.loads(state.pending[0])["ev"]
        state, commands = replace(state, pending=()), [_differs(expected, event.body.name)]
    state, more = _applied(state, event)
    return _waiting(state, commands + more)


def unwritten(state: State) -> list[Command]:
    """The conclusions that were drawn and not recorded yet, after a replay."""
    found: list[Command] = []
    for text in state.pending:
        values = json.loads(text)
        kind = KINDS[values.pop("ev")]
        found.append(Write(parse(kind, values)))
    return found


def _applied(state: State, event: Event) -> tuple[State, list[Command]]:
    return _HANDLERS[event.body.name](state, event, event.body)


def _waiting(state: State, commands: list[Command]) -> tuple[State, list[Command]]:
    """The state that waits for its conclusions to be recorded, and the commands with secrets taken out."""
    clean = [Write(redacted(command.body)) if isinstance(command, Write) else command for command in commands]
    written = tuple(_marked(command.body) for command in clean if isinstance(command, Write))
    return replace(state, pending=state.pending + written), clean


def _marked(body: Body) -> str:
    return json.dumps({"ev": body.name} | dump(body))


def _confirmed(state: State, event: Event) -> tuple[State, list[Command]]:
    """A conclusion has been recorded. What was recorded and is stricter than what is concluded now, holds."""
    marked = _marked(event.body)
    if marked in state.pending:
        at = state.pending.index(marked)
        skipped = [_differs(json.loads(text)["ev"], event.body.name) for text in state.pending[:at]]
        state = replace(state, pending=state.pending[at + 1 :])
        state = _kept(state, event, event.body) if isinstance(event.body, Alert) else state
        return _waiting(state, [*skipped])
    kinds = [json.loads(text)["ev"] for text in state.pending]
    if isinstance(event.body, Alert) or event.body.name not in kinds:  # a fact that came in between
        return _waiting(*_applied(state, event))
    at = kinds.index(event.body.name)
    state = replace(state, pending=state.pending[:at] + state.pending[at + 1 :])
    if isinstance(event.body, BreakerChanged) and event.body.after == OPEN and state.breaker.state != OPEN:
        state = _open_as_recorded(state, event, event.body)
    return _waiting(state, [_differs(kinds[at], event.body.name)])


def _differs(expected: str, found: str) -> Write:
    what = "another" if expected == found else f"{found} for a"
    return Write(Alert("replay_differs", "critical", f"the journal has {what} {expected} than is concluded now"))


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
        run = Run(event.run, event.t, body.agent, body.pid, body.pid_start, body.supervised)
    if body.plan is not None:
        run = judge.planned(run, body.plan)
    state = replace(
        state,
        root=body.root,
        config=body.config,
        run=run,
        lifecycle=lifecycle.START,
        entered=event.t,
        iteration=None,
        parted=True,
    )
    state = replace(state, deadline=lifecycle.deadline(lifecycle.START, event.t), why="")
    loosened = (
        [Write(Alert("loosened", "warning", "looser than by default: " + ", ".join(body.loosened)))] if body.loosened else []
    )
    return state, [*commands, *loosened]


def _cut_off(state: State, event: Event) -> tuple[State, list[Command]]:
    """An iteration that the last runner did not finish is judged without facts."""
    if state.iteration is None:
        return state, []
    state, commands = judge.judge(state, None, event.t)
    return state, [command for command in commands if isinstance(command, Write)]


def _entered(state: State, event: Event, body: Entered) -> tuple[State, list[Command]]:
    state = replace(state, lifecycle=body.state, entered=event.t, deadline=body.deadline, why=body.why)
    if body.state == lifecycle.CHECK:
        return gatekeeper.check(state, event.t)
    return state, []


def _call_reserved(state: State, event: Event, body: CallReserved) -> tuple[State, list[Command]]:
    reservation = Reservation(event.t, body.call)
    commands: list[Command] = []
    if state.breaker.state == OPEN or limits.used(state, event.t) >= state.config.calls_per_hour:
        commands = [Write(Alert("not_allowed", "critical", f"call {body.call} was reserved though none was allowed"))]
    state = replace(state, calls=max(state.calls, body.call), window=(*limits.kept(state.window, event.t), reservation))
    under_way = state.iteration
    if under_way is not None and under_way.run == event.run and under_way.n == event.n:
        return replace(state, iteration=replace(under_way, calls=under_way.calls + 1, ended=None)), commands
    n = event.n if event.n is not None else (state.run.n + 1 if state.run else 1)
    iteration = Iteration(n, event.run, event.t, body.task, body.attempt, body.probe, body.prompt_similar)
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
    if state.run is not None:
        run = state.run
        run = replace(
            run, calls=run.calls + 1, duration_s=run.duration_s + body.duration_s, cost_usd=run.cost_usd + body.cost_usd
        )
        state = replace(state, run=replace(run, tokens=run.tokens + body.tokens.counted))
    delay = limits.retry_after(state, body, event.t)
    return state, [Do("measure") if delay is None else Do("retry", delay)]


def _measured(state: State, event: Event, body: Measured) -> tuple[State, list[Command]]:
    if event.n is None or state.iteration is None:
        return judge.baseline(state, body, event.t)
    return judge.judge(state, body, event.t)


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
        return _open_as_recorded(state, event, body) if stricter else state, []
    if state.breaker.state == OPEN and body.after == OPEN:
        return replace(state, breaker=circuit.resumed(state.breaker)), []
    if body.after == CLOSED:
        return replace(circuit.forgotten(state), breaker=circuit.reset(state.breaker, True), session=""), []
    if state.breaker.state == OPEN and body.after == HALF_OPEN:
        run = replace(state.run, claimed=False, done=()) if state.run else None
        return replace(state, breaker=circuit.reset(state.breaker, False), session="", run=run), []
    return state, []


def _open_as_recorded(state: State, event: Event, body: BreakerChanged) -> State:
    """Takes over that the breaker opened, as the journal says, where it is not concluded now."""
    opened = circuit.lost(state.breaker, state.config.cooldown_s, event.t)
    cooldown_s = max(body.cooldown_s, state.config.cooldown_s)
    return replace(
        state, breaker=replace(opened, cause=body.cause or opened.cause, also=body.also, cooldown_s=cooldown_s, opens=body.opens)
    )


def _hold(state: State, event: Event, body: HoldChanged) -> tuple[State, list[Command]]:
    if not body.after:
        if body.reason == ONCE:
            state = replace(state, permits=state.permits + 1)
        return replace(gatekeeper.lifted(state), parted=True), []
    hold = Hold(body.after, body.kind, body.reason, body.actor, event.t, body.until)
    return replace(state, hold=gatekeeper.higher(state.hold, hold), parted=True), []


def _mode(state: State, event: Event, body: ModeChanged) -> tuple[State, list[Command]]:
    return replace(state, mode=body.after, permits=0), []


def _level(state: State, event: Event, body: LevelChanged) -> tuple[State, list[Command]]:
    return replace(state, level=body.after), []


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
    return replace(state, refused=state.refused + 1), []


def _alert(state: State, event: Event, body: Alert) -> tuple[State, list[Command]]:
    return _kept(state, event, body), []


def _kept(state: State, event: Event, body: Alert) -> State:
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
    "steered": _steered,
    "asked": _asked,
    "control_refused": _control_refused,
    "alert": _alert,
    "recovered": _recovered,
    "run_ended": _run_ended,
}
