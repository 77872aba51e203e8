"""`guard loop pause`, `resume`, `mode`, `stop`, `steer` and `reset`: what is said to loops from outside of a run."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import click

from guard import person
from guard.commands.loop_places import Place
from guard.commands.output import say
from guard.errors import GuardError
from guard.loop import authority, clock, control, delivery, gate, lock, orders, store
from guard.loop.control import Answer, Request
from guard.loop.state import CLOSED, OPEN, State
from guard.shown import visible

REFUSED = 1
AT_MOST = 64 * 1024  # bytes of a text from standard input


@dataclass(frozen=True)
class Row:
    """What became of a request: the loop, the answer, and the exit status that goes with it."""

    loop: str
    answer: Answer
    code: int = 0


def send(places: Sequence[Place], request: Request, as_json: bool = False) -> int:
    """Sends a request to loops, and says what became of it. One that cannot be reached keeps no other from it."""
    rows = [_sent(place, request) for place in places]
    if not rows:
        raise GuardError("there is no loop", "--all", "none has run yet")
    if as_json:
        found = [{"v": 1, "loop": row.loop, "verb": request.verb, **asdict(row.answer), "exit": row.code} for row in rows]
        click.echo(json.dumps(found if len(found) != 1 else found[0]))
    for row in () if as_json else rows:
        if row.code:
            click.echo(f"guard: {row.loop}: {visible(row.answer.said)}", err=True)
        else:
            say(f"{row.loop}: {visible(row.answer.said)}")
    return max(row.code for row in rows)


def _sent(place: Place, request: Request) -> Row:
    def busy() -> None:
        click.echo(f"guard: {place.name}: its runner is busy; waiting for it", err=True)

    try:
        answer = delivery.deliver(place.directory, place.top, request, busy)
    except GuardError as error:
        return Row(place.name, Answer(False, str(error)), error.code)
    return Row(place.name, answer, 0 if answer.done else REFUSED)


def trimmed(reason: str | None) -> str:
    """A reason on one line, as long as the journal keeps it."""
    return " ".join((reason or "").split())[: control.LONGEST_REASON]


def stop(places: Sequence[Place], now: bool, reason: str, everything: bool, as_json: bool) -> int:
    """Asks runs to end; of all loops, those that are at work."""
    if everything:
        places = [place for place in places if lock.owner(place.directory) is not None]
        if not places:
            raise GuardError("nothing runs", code=REFUSED)
    return send(places, Request(control.STOP, trimmed(reason), now=now), as_json)


def steer(places: Sequence[Place], text: str, keep: bool, clear: bool, as_json: bool) -> int:
    """Has the agent told something, or what it was to be told forgotten."""
    if text == "-":
        text = sys.stdin.buffer.read(AT_MOST).decode("utf-8", "replace")
    text = "".join(character for character in text.strip() if character.isprintable() or character in "\n\t")
    if clear == bool(text):
        raise GuardError("there is a text, or --clear", "TEXT", "give one of them")
    if len(text) > orders.LONGEST_STEER:
        raise GuardError(f"it has {len(text)} characters", "TEXT", f"say it in at most {orders.LONGEST_STEER}")
    return send(places, Request(control.STEER, value=text, keep=keep), as_json)


def resume(places: Sequence[Place], once: bool, reason: str, as_json: bool) -> int:
    """Lifts what holds loops; of a breaker that opened because protected files were harmed, a person says so with letters."""
    for place in places:
        state = _peeked(place)
        grave = state is not None and state.breaker.state == OPEN and _grave(state)
        if state is not None and grave and person.present().kind == authority.PERSON:
            person.confirm(f"{place.name}: {standing(state)}. A probe will be let through once the cooldown is over.")
    return send(places, Request(control.RESUME, trimmed(reason), once=once), as_json)


def _peeked(place: Place) -> State | None:
    try:
        return store.peek(place.directory)
    except GuardError:
        return None  # what is wrong with it is said when it is written to


def _grave(state: State) -> bool:
    breaker = state.breaker
    return breaker.recovery == "explicit" and orders.gravest(breaker.cause, breaker.also) != authority.TRIP


def reset(place: Place, reason: str | None, to_closed: bool, yes: bool) -> int:
    """Lets an open breaker probe, or closes it; lifts a hold."""
    why = trimmed(reason)
    if not why:
        raise GuardError("it needs a reason, which the journal keeps", "--reason", 'say why: --reason "..."')
    state = store.peek(place.directory)
    if state is None:
        raise GuardError("nothing has run here", visible(place.top or place.name), "guard loop -- AGENT...", REFUSED)
    request = Request(control.RESET, why, closed=to_closed)
    try:
        who = person.require(f"guard loop reset {place.name}")
    except GuardError:
        return send([place], request)
    if not yes and orders.of(state, request, authority.Asker(authority.PERSON, who.kind), 0).bodies:
        after = "All counters go to 0." if to_closed else "One iteration will be let through."
        person.confirm(f"{place.name}: {standing(state)}. {after}")
    return send([place], request)


def standing(state: State) -> str:
    """What holds a loop."""
    breaker, hold = state.breaker, state.hold
    held = f"paused ({visible(hold.reason)})" if hold is not None else ""
    opened = f"the breaker is {breaker.state} ({breaker.cause})" if breaker.state != CLOSED else ""
    return "; ".join(filter(None, (opened, held)))


def close_gate(state_dir: str, reason: str, now: bool, lasts_s: int, as_json: bool) -> int:
    """Closes the machine's gate."""
    t = clock.current().now()
    who = _at_the_gate(state_dir, authority.CLOSE)
    found = gate.close(state_dir, trimmed(reason), who, t, now, t + lasts_s * 1000 if lasts_s else None)
    said = "iterations at work end first" if found.state == gate.DRAINING else "no loop starts an iteration"
    return _gate_said(state_dir, f"the machine's gate is {found.state} ({found.reason}): {said}", as_json)


def open_gate(state_dir: str, reason: str, as_json: bool) -> int:
    """Opens the machine's gate. What holds a single loop still holds it."""
    who = _at_the_gate(state_dir, authority.OPEN)
    if gate.reopen(state_dir, trimmed(reason), who, clock.current().now()) is None:
        raise GuardError("the machine's gate is open", code=REFUSED)
    return _gate_said(state_dir, "the machine's gate is open; loops that are held stay so", as_json)


def _gate_said(state_dir: str, text: str, as_json: bool) -> int:
    if as_json:
        click.echo(json.dumps(gate.view(state_dir, clock.current().now())))
    else:
        say(visible(text))
    return 0


def _at_the_gate(state_dir: str, verb: str) -> str:
    """The name of whoever stands there. Raises GuardError for everybody who may not, and has it noted."""
    asker = authority.here(os.environ.get(authority.MARK, ""))
    if authority.may(verb, asker):
        return asker.name
    try:
        gate.refuse(state_dir, verb, asker.name, clock.current().now())
    finally:
        raise GuardError(orders.REFUSED, code=REFUSED)
