"""`guard loop status`: how loops stand, for people and programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from guard.commands.loop_places import Place
from guard.commands.loop_report import state_lines
from guard.commands.output import say
from guard.loop import breaker as circuit
from guard.loop import clock, gate, gatekeeper, limits, lock, store
from guard.loop import status as shown_as
from guard.loop.record import replace
from guard.loop.state import OPEN, State
from guard.shown import visible

WAITING = 3  # the exit status of a run for which nobody opens the gate


def crashed(state: State) -> bool:
    """Does it say that a run is at work whose process is gone?"""
    run = state.run
    return run is not None and not run.ended and not lock.alive(run.pid, run.pid_start)


def at_now(state: State) -> State:
    """The state as it is looked at now: what has to do with time counts from now."""
    return replace(state, t=max(state.t, clock.current().now()))


def exit_code(state: State, t: int) -> int:
    """The status that a run would exit with now without any call; 0 where it would make one, or has nothing to do."""
    breaker, hold = state.breaker, state.hold
    if hold is not None and (hold.until is None or t < hold.until):
        row = gatekeeper.cause(hold)
        return gatekeeper.PERSON if row is None else row.exit
    if breaker.state == OPEN and not circuit.may_probe(breaker, t):
        return breaker.exit
    if state.usage_until is not None and t < state.usage_until:
        return 2
    if state.budget is not None and not state.budget.allowed and t < state.budget.until:
        return 2
    return 2 if limits.free_at(state, t) is not None else 0


def values(state: State) -> dict[str, Any]:
    """status.json as it would be written now; `crashed` where its process is gone."""
    found = shown_as.status(at_now(state))
    return found | {"status": "crashed"} if crashed(state) else found


def status(places: Sequence[Place], with_exit: bool, as_json: bool) -> int:
    """Shows loops, and the machine's gate beside them."""
    code = 0
    rows = []
    for place in places:
        machine = gate.shown(place.state_dir, clock.current().now())
        state = store.peek(place.directory)
        if machine.state != gate.RUNNING:
            code = max(code, WAITING)
        if state is None:
            ready = {"v": shown_as.VERSION, "loop": place.name, "root": place.top, "run": None, "status": "ready"}
            rows.append(ready | {"gate": machine.state})
            if not as_json:
                say(f"{place.name}  nothing has run here yet:  guard loop -- AGENT...")
                _gate(machine)
            continue
        code = max(code, exit_code(state, clock.current().now()))
        rows.append(values(state) | {"gate": machine.state})
        for line in () if as_json else state_lines(at_now(state), crashed(state)):
            say(line)
        if not as_json:
            _gate(machine)
    if as_json:
        click.echo(json.dumps(rows if len(rows) != 1 else rows[0]))
    return code if with_exit else 0


def _gate(machine: gate.Gate) -> None:
    if machine.state != gate.RUNNING:
        say(f"  gate       {machine.state}: {visible(machine.reason)}" + (f" ({machine.damaged})" if machine.damaged else ""))
        say("  No loop starts an iteration until: guard loop resume --system")
