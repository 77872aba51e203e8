"""Orders: what a request means to a loop as it stands. Pure: state, request and asker in, events and answer out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from guard.loop import authority, control, gatekeeper
from guard.loop import breaker as circuit
from guard.loop.authority import Asker
from guard.loop.control import Answer, Request
from guard.loop.events import Alert, Asked, Body, ControlRefused, HoldChanged, LevelChanged, ModeChanged, Steered
from guard.loop.moments import moment
from guard.loop.state import EXPLICIT, HALF_OPEN, MANUAL, OPEN, PAUSED, State

KEPT_STEERS = 20  # texts that are kept for every prompt
LONGEST_STEER = 8000  # characters
KILL, STOP = "kill", "stop"
REFUSED = "refused. Only a person may do that, at a terminal of their own. Nothing was changed. If it has to be, ask the user."
USER, AGENT = "user", "agent"  # the classes of a pause
MODES = ("auto", MANUAL)
LINKED = "linked"  # what an evaluation has led to: the kind of the alert, and of the change of level
LEVELS = ("1", "2")  # those that a curb can leave


@dataclass(frozen=True)
class Order:
    """What follows from a request: the events to write, the answer, and whether the call under way is to end now."""

    bodies: tuple[Body, ...]
    answer: Answer
    interrupts: bool = False


def of(state: State, request: Request, asker: Asker, t: int) -> Order:
    """What a request leads to at a time. Whatever the asker may not have is refused, which is an event as well."""
    return _VERBS[request.verb](state, request, asker, t)


def _nothing(said: str) -> Order:
    return Order((), Answer(False, said))


def _refused(verb: str, asker: Asker, why: str = "only a person may") -> Order:
    return Order((ControlRefused(verb, asker.name, why),), Answer(False, REFUSED))


def _pause(state: State, request: Request, asker: Asker, t: int) -> Order:
    """A hold of the asker's class. It replaces only one that ranks lower, or ends earlier."""
    if not authority.may(authority.PAUSE, asker):
        return _refused("pause", asker)
    if request.now and not authority.may(authority.INTERRUPT, asker):
        return _refused("pause --now", asker)
    kind = USER if asker.kind == authority.PERSON else AGENT
    until = t + request.lasts_s * 1000 if request.lasts_s else None
    reason = request.reason or f"{kind}_pause"
    standing, change = state.hold, HoldChanged("", PAUSED, kind, reason, asker.name, until)
    if standing is not None:
        if not gatekeeper.replaces(standing, gatekeeper.placed(change, t)):
            said = f"it is held already ({standing.kind}: {standing.reason})"
            equal = (standing.value, standing.kind) == (PAUSED, kind)
            more = "" if equal else "; that ranks higher than a pause, which is not noted"
            return Order((), Answer(equal, said + more), request.now)
        change = HoldChanged(standing.value, PAUSED, kind, reason, asker.name, until)
    lasts = f" until {moment(until)}" if until is not None else ""
    return Order((change,), Answer(True, f"paused ({reason}){lasts}"), request.now)


def _resume(state: State, request: Request, asker: Asker, t: int) -> Order:
    """Lifts the hold, lets an open breaker that waits for a person probe after its cooldown, lets an iteration through."""
    parts = [part for part in (_lift(state, request, asker), _recover(state, request, asker)) if part is not None]
    if request.once:
        parts.append(_once(state, request, asker))
    if not parts:
        return _nothing(_stands(state))
    done = all(part.answer.done for part in parts)
    said = "; ".join(dict.fromkeys(part.answer.said for part in parts))
    return Order(tuple(body for part in parts for body in part.bodies), Answer(done, said))


def _lift(state: State, request: Request, asker: Asker) -> Order | None:
    hold = state.hold
    if hold is None:
        return None
    if not authority.may(authority.RESUME, asker, hold.kind):
        return _refused("resume", asker, f"a hold of class {hold.kind} is lifted by a person")
    change = HoldChanged(hold.value, "", hold.kind, request.reason or "resumed", asker.name)
    return Order((change,), Answer(True, f"resumed; it was held ({hold.kind}: {hold.reason})"))


def _recover(state: State, request: Request, asker: Asker) -> Order | None:
    before = state.breaker
    if before.state != OPEN or before.recovery != EXPLICIT:
        return None
    if not authority.may(authority.RESUME, asker, gravest(before.cause, before.also)):
        return _refused("resume", asker, f"after {before.cause} a person has to")
    change = circuit.changed(before, circuit.resumed(before), actor=asker.name, reason=request.reason or "resumed")
    at = moment(circuit.ends_at(before))
    return Order((change,), Answer(True, f"the breaker lets one iteration through as a probe from {at} on"))


def gravest(cause: str, also: tuple[str, ...]) -> str:
    """What an open breaker is to those who would resume it: the gravest of its causes."""
    return next((each for each in circuit.GRAVE if each in (cause, *also)), authority.TRIP)


def _once(state: State, request: Request, asker: Asker) -> Order:
    if state.mode != MANUAL:
        return _nothing(f"its mode is {state.mode}: no iteration waits to be let through")
    if not authority.may(authority.ONCE, asker):
        return _refused("resume --once", asker)
    return Order((HoldChanged("", "", USER, request.reason or "once", asker.name),), Answer(True, "one iteration is let through"))


def _stands(state: State) -> str:
    """Why there is nothing to resume."""
    breaker = state.breaker
    if breaker.state == OPEN:
        at = moment(circuit.ends_at(breaker))
        return f"nothing is held; the breaker is open ({breaker.cause}) and probes by itself at {at}"
    if state.mode == MANUAL:
        return "nothing is held; its mode is manual: guard loop resume --once lets one iteration through"
    return "nothing is held"


def _mode(state: State, request: Request, asker: Asker, t: int) -> Order:
    if request.value not in MODES:
        return _nothing(f"there is no mode {request.value!r}")
    verb = authority.MANUAL if request.value == MANUAL else authority.AUTO
    if not authority.may(verb, asker):
        return _refused(f"mode {request.value}", asker)
    held = f"; it is still held ({state.hold.kind}: {state.hold.reason}): guard loop resume" if state.hold is not None else ""
    if state.mode == request.value:
        return Order((), Answer(True, f"its mode is {state.mode} already{held}"))
    kind = USER if asker.kind == authority.PERSON else AGENT
    change = ModeChanged(state.mode, request.value, kind, request.reason, asker.name)
    return Order((change,), Answer(True, f"mode {request.value}{held}"))


def _stop(state: State, request: Request, asker: Asker, t: int) -> Order:
    if not authority.may(authority.STOP, asker):
        return _refused("stop", asker)
    run = state.run
    if run is None or run.ended or (request.run and request.run != run.id):
        return _nothing("nothing runs there")
    verb = KILL if request.now else STOP
    said = f"asked to end {'now' if request.now else 'after this iteration'}"
    return Order((Asked(verb, asker.name, request.reason or STOP),), Answer(True, said))


def _steer(state: State, request: Request, asker: Asker, t: int) -> Order:
    if not authority.may(authority.STEER, asker):
        return _refused("steer", asker)
    if not request.value:
        waits = bool(state.steers or state.kept_steers)
        said = "what it was to be told is forgotten" if waits else "there is nothing that it was to be told"
        return Order((Steered("", asker.name),) if waits else (), Answer(waits, said))
    told = len(state.kept_steers if request.keep else state.steers)
    if len(request.value) > LONGEST_STEER:
        return _nothing("it is too long")
    if told >= KEPT_STEERS:
        return _nothing(f"it is told {told} things already: guard loop steer --clear")
    when = "in every prompt" if request.keep else "in the next prompt"
    return Order((Steered(request.value, asker.name, request.keep),), Answer(True, f"the agent is told {when}"))


def _reset(state: State, request: Request, asker: Asker, t: int) -> Order:
    """Lets an open breaker probe at once, or closes it; lifts a hold."""
    if not authority.may(authority.RESET, asker):
        return _refused("reset", asker)
    found: list[Body] = []
    if state.hold is not None:
        found.append(HoldChanged(state.hold.value, "", state.hold.kind, request.reason, asker.name))
    before, after = state.breaker, None
    if before.state == OPEN or (before.state == HALF_OPEN and request.closed):
        after = circuit.reset(before, request.closed)
        found.append(circuit.changed(before, after, actor=asker.name, reason=request.reason))
    if not found:
        return _nothing("the breaker is closed and nothing is held; there is nothing to reset")
    if after is None:
        return Order(tuple(found), Answer(True, "resumed"))
    closed = "Circuit breaker reset to CLOSED state"
    said = closed if request.closed else f"Circuit breaker: {after.state}. One iteration may run, the probe."
    return Order(tuple(found), Answer(True, said))


def _curb(state: State, request: Request, asker: Asker, t: int) -> Order:
    """A warning and, with a level, no higher one from now on. Nothing is ever raised by it."""
    if not authority.may(authority.CURB, asker):
        return _refused("curb", asker)
    if request.value not in ("", *LEVELS):
        return _nothing(f"there is no level {request.value!r} to go down to")
    warning = Alert(LINKED, "warning", request.reason or LINKED)
    if not request.value:
        return Order((warning,), Answer(True, "noted"))
    after = int(request.value)
    if state.level <= after and state.config.level <= after:
        return Order((warning,), Answer(True, f"noted; its level is {state.level} already"))
    change = LevelChanged(state.level, after, LINKED, request.reason or LINKED, asker.name)
    return Order((warning, change), Answer(True, f"level {min(state.level, after)}"))


_VERBS: dict[str, Callable[[State, Request, Asker, int], Order]] = {
    control.PAUSE: _pause,
    control.RESUME: _resume,
    control.MODE: _mode,
    control.STOP: _stop,
    control.STEER: _steer,
    control.RESET: _reset,
    control.CURB: _curb,
}
