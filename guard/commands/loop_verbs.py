"""`guard loop status`, `stop` and `reset`: what people look at and say from outside of a run."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click

from guard import actor, person
from guard.ancestry import surroundings
from guard.commands.loop import top_of
from guard.commands.loop_report import state_lines
from guard.commands.output import say
from guard.errors import STATE, GuardError
from guard.loop import breaker as circuit
from guard.loop import clock, control, limits, lock, store, whereabouts
from guard.loop import status as shown_as
from guard.loop.detectors import by_cause
from guard.loop.events import ControlRefused
from guard.loop.record import replace
from guard.loop.state import CLOSED, OPEN, State
from guard.loop.store import LOOPS, Store
from guard.shown import visible

REFUSED, NOTHING = 1, 1
WAITING_S = 15.0  # for a runner to take a request


@dataclass(frozen=True)
class Place:
    """One loop: its tree ("" where only the state is known), and its directory in the state."""

    top: str
    directory: str

    @property
    def name(self) -> str:
        """The loop's id."""
        return os.path.basename(self.directory)


def named(tree: str | None, directory: str | None, everything: bool = False) -> list[Place]:
    """The loops that are meant. Raises GuardError where there is no such thing."""
    state = whereabouts.known(os.environ, top_of(directory or "."))
    if everything:
        return [Place(_root(f"{state}/{LOOPS}/{name}"), f"{state}/{LOOPS}/{name}") for name in known(state)]
    if tree is not None and "/" not in tree and tree in known(state):
        return [Place(_root(f"{state}/{LOOPS}/{tree}"), f"{state}/{LOOPS}/{tree}")]
    given = os.path.join(directory or "", tree or "") or "."
    if not os.path.isdir(given):
        raise GuardError("there is no such loop, and no such directory", visible(given), "see guard loop status --all")
    top = top_of(given)
    return [Place(top, store.place(whereabouts.known(os.environ, top), top))]


def known(state: str) -> list[str]:
    """The ids of the loops that have a state."""
    try:
        return sorted(entry.name for entry in os.scandir(f"{state}/{LOOPS}") if entry.is_dir())
    except OSError:
        return []


def _root(directory: str) -> str:
    try:
        found = store.peek(directory)
    except GuardError:
        return ""
    return found.root if found is not None else ""


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
        row = by_cause(hold.reason)
        return 3 if row is None else row.exit
    if breaker.state == OPEN and not circuit.may_probe(breaker, t):
        return breaker.exit
    if state.usage_until is not None and t < state.usage_until:
        return 2
    return 2 if limits.free_at(state, t) is not None else 0


def values(state: State) -> dict[str, Any]:
    """status.json as it would be written now; `crashed` where its process is gone."""
    found = shown_as.status(at_now(state))
    return found | {"status": "crashed"} if crashed(state) else found


def status(places: Sequence[Place], with_exit: bool, as_json: bool) -> int:
    """Shows loops."""
    code = 0
    rows = []
    for place in places:
        state = store.peek(place.directory)
        if state is None:
            rows.append({"v": shown_as.VERSION, "loop": place.name, "root": place.top, "run": None, "status": "ready"})
            if not as_json:
                say(f"{place.name}  nothing has run here yet:  guard loop -- AGENT...")
            continue
        code = max(code, exit_code(state, clock.current().now()))
        rows.append(values(state))
        for line in () if as_json else state_lines(at_now(state), crashed(state)):
            say(line)
    if as_json:
        click.echo(json.dumps(rows if len(rows) != 1 else rows[0]))
    return code if with_exit else 0


def stop(places: Sequence[Place], now: bool, reason: str) -> int:
    """Asks runs to end."""
    code = NOTHING
    for place in places:
        state = store.peek(place.directory)
        if lock.owner(place.directory) is None or state is None or state.run is None or state.run.ended:
            if len(places) == 1:
                click.echo(f"guard: nothing runs in {visible(place.top or place.name)}", err=True)
            continue
        _only_others(place, "stop")
        control.send(place.directory, control.Request(control.STOP, _actor(), reason or "stop", state.run.id, now))
        say(f"{place.name}: asked to end {'now' if now else 'after this iteration'}.")
        code = 0
    return code


def _actor() -> str:
    found = person.present()
    return found.name or found.kind


def _only_others(place: Place, verb: str) -> None:
    """Raises GuardError for whoever runs inside of a call, and has that recorded."""
    inside = actor.mark(os.environ)
    own = os.environ.get("GUARD_LOOP") or (inside is not None and inside.name == "guard")
    if own or any(actor.agent(process.names) == "guard" for process in surroundings().line[1:]):
        _refuse(place, verb)


def _refuse(place: Place, verb: str) -> None:
    try:
        _record_refusal(place, verb)
    finally:
        raise GuardError(person.AGENTS, code=REFUSED)


def _record_refusal(place: Place, verb: str) -> None:
    """Has the journal note that somebody asked for what they may not have."""
    who = _actor()
    if lock.owner(place.directory) is not None:
        control.send(place.directory, control.Request(control.REFUSED, who, verb))
        return
    with _opened(place.top) as kept:
        kept.record(ControlRefused(verb, who, "only a person may"), clock.current().now())


def _opened(top: str) -> Store:
    now = clock.current()
    return Store.open(whereabouts.writable(os.environ, top), top, now.now(), now.kind)


def reset(place: Place, reason: str | None, to_closed: bool, yes: bool) -> int:
    """Lets an open breaker probe, or closes it; lifts a hold."""
    why = " ".join((reason or "").split())[:500]
    if not why:
        raise GuardError("it needs a reason, which the journal keeps", "--reason", 'say why: --reason "..."')
    state = store.peek(place.directory)
    if state is None:
        raise GuardError("nothing has run here", visible(place.top or place.name), "guard loop -- AGENT...", NOTHING)
    try:
        who = person.require(f"guard loop reset {place.name}")
    except GuardError:
        _refuse(place, "reset")
    bodies = control.reset(state, to_closed, who.name or who.kind, why)
    if not bodies:
        say("The breaker is closed and nothing is held; there is nothing to reset.")
        return NOTHING
    if not yes:
        person.confirm(
            f"{place.name}: {_named(state)}. {'All counters go to 0.' if to_closed else 'One iteration will be let through.'}"
        )
    if lock.owner(place.directory) is not None:
        return _sent(place, to_closed, who.name or who.kind, why)
    with _opened(place.top or state.root) as kept:
        for body in control.reset(kept.state, to_closed, who.name or who.kind, why):
            kept.record(body, clock.current().now())
        say(_done(kept.state))
    return 0


def _named(state: State) -> str:
    breaker, hold = state.breaker, state.hold
    held = f"paused ({visible(hold.reason)})" if hold is not None else ""
    opened = f"the breaker is {breaker.state} ({breaker.cause})" if breaker.state != CLOSED else ""
    return "; ".join(filter(None, (opened, held)))


def _done(state: State) -> str:
    if state.breaker.state == CLOSED:
        return "Circuit breaker reset to CLOSED state"
    return f"Circuit breaker: {state.breaker.state}. The next run may make one call, the probe."


def _sent(place: Place, to_closed: bool, who: str, why: str) -> int:
    """Has the runner that is at work do it; it can while it waits."""
    control.send(place.directory, control.Request(control.RESET, who, why, closed=to_closed))
    until = time.monotonic() + WAITING_S
    while time.monotonic() < until:
        state = store.peek(place.directory)
        if state is not None and state.breaker.state != OPEN and state.hold is None:
            say(_done(state))
            return 0
        time.sleep(0.1)
    raise GuardError("its runner did not take the request", visible(place.name), "stop it first: guard loop stop", STATE)
