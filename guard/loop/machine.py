"""The machine: `step(state, event)` gives the next state and what to do now. No clock, no files, no processes.

A fact changes the state at once, with every conclusion that follows from it. The conclusions are handed out as `Write`
commands and wait in `state.pending` until they come back as events: then they are only compared. So a replay that ends between
a fact and its conclusions loses nothing, and one that concludes otherwise says so.
"""

from __future__ import annotations

import json

from guard.loop import handlers
from guard.loop.command import Command, Write
from guard.loop.events import KINDS, Alert, Body, BreakerChanged, Event
from guard.loop.record import dump, parse, replace
from guard.loop.state import OPEN, State
from guard.loop.withheld import redacted

CONCLUSIONS = ("judged", "breaker", "alert", "hold", "mode", "control_refused")


def step(state: State, event: Event) -> tuple[State, list[Command]]:
    """The state after an event, and what to do: first the conclusions to write, then at most one other command."""
    state = replace(state, seq=event.seq, t=max(state.t, event.t))
    if state.pending and event.body.name in CONCLUSIONS:
        return _confirmed(state, event)
    commands: list[Command] = []
    if state.pending:
        expected = json.loads(state.pending[0])["ev"]
        state, commands = replace(state, pending=()), [_differs(expected, event.body.name)]
    state, more = handlers.applied(state, event)
    return _waiting(state, commands + more)


def unwritten(state: State) -> list[Command]:
    """The conclusions that were drawn and not recorded yet, after a replay."""
    found: list[Command] = []
    for text in state.pending:
        values = json.loads(text)
        kind = KINDS[values.pop("ev")]
        found.append(Write(parse(kind, values)))
    return found


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
        state = handlers.kept_alert(state, event, event.body) if isinstance(event.body, Alert) else state
        return _waiting(state, [*skipped])
    kinds = [json.loads(text)["ev"] for text in state.pending]
    if isinstance(event.body, Alert) or event.body.name not in kinds:  # a fact that came in between
        return _waiting(*handlers.applied(state, event))
    at = kinds.index(event.body.name)
    state = replace(state, pending=state.pending[:at] + state.pending[at + 1 :])
    if isinstance(event.body, BreakerChanged) and event.body.after == OPEN and state.breaker.state != OPEN:
        state = handlers.opened_as_recorded(state, event, event.body)
    return _waiting(state, [_differs(kinds[at], event.body.name)])


def _differs(expected: str, found: str) -> Write:
    what = "another" if expected == found else f"{found} for a"
    return Write(Alert("replay_differs", "critical", f"the journal has {what} {expected} than is concluded now"))
