"""Controls: the five of the page, apart by level; when each makes sense, and what it does.

system     pause, resume: the machine's gate
loop       pause, resume (lets one iteration of a manual loop through), manual (and auto, back again)

An order has the authority of the process that serves the page: that of the person at whose terminal it runs in the foreground.
The runner of a loop makes sure of that itself, with the kernel's help; it believes nothing that this page says.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from guard.errors import GuardError
from guard.loop import authority, clock, control, delivery, gate, orders, store
from guard.loop.authority import Asker
from guard.loop.control import Request
from guard.loop.state import OPEN
from guard.monitor.gather import View
from guard.shown import visible

PAUSE, RESUME, MANUAL, AUTO, ONCE = "pause", "resume", "manual", "auto", "once"
SYSTEM = (PAUSE, RESUME)
LOOP = (PAUSE, RESUME, MANUAL, AUTO, ONCE)
REASON = "web"  # where none is given
NO_PERSON = (
    "view only: guard monitor does not run in the foreground of a person's terminal; "
    "start it there, or use guard loop pause, resume and mode at one"
)


@dataclass(frozen=True)
class Outcome:
    """What became of an order: was it done, and what is said of it."""

    done: bool
    said: str


def here() -> Asker:
    """Who this server acts for."""
    return authority.here(os.environ.get(authority.MARK, ""))


def attended() -> bool:
    """Does a person stand behind this server? Otherwise nothing can be ordered."""
    return here().kind == authority.PERSON


def system(state: object) -> dict[str, bool]:
    """Which of the machine's controls make sense with a gate in this state."""
    return {PAUSE: state == gate.RUNNING, RESUME: state != gate.RUNNING}


def loop(view: View) -> dict[str, bool]:
    """Which of a loop's controls make sense as it stands."""
    if not view.values or not view.root:
        return dict.fromkeys(LOOP, False)
    kind = (view.at("pause") or {}).get("class")
    breaker = view.at("breaker") or {}
    held = kind in (authority.USER, authority.AGENT, authority.RESCUED)
    waits = breaker.get("state") == OPEN and breaker.get("recovery") == "explicit"
    mode = view.at("mode")
    return {
        PAUSE: kind not in (authority.USER, authority.RESCUED),
        RESUME: held or waits,
        MANUAL: mode != MANUAL,
        AUTO: mode == MANUAL,
        ONCE: mode == MANUAL and view.live and not (held or waits),
    }


def grave(view: View) -> str:
    """What has to be confirmed by letters before a loop is resumed: the harm after which its breaker opened; "" for none."""
    try:
        state = store.peek(view.directory)
    except GuardError:
        return ""  # what is wrong with it is said when it is written to
    if state is None or state.breaker.state != OPEN or state.breaker.recovery != "explicit":
        return ""
    cause = orders.gravest(state.breaker.cause, state.breaker.also)
    return "" if cause == authority.TRIP else visible(state.breaker.cause)


def order_system(state_dir: str, verb: str, reason: str) -> Outcome:
    """Closes or opens the machine's gate. Raises GuardError."""
    t, asker = clock.current().now(), here()
    wanted = authority.CLOSE if verb == PAUSE else authority.OPEN
    if not authority.may(wanted, asker):
        gate.refuse(state_dir, wanted, asker.name, t)
        return Outcome(False, NO_PERSON)
    if verb == RESUME:
        opened = gate.reopen(state_dir, _trimmed(reason), asker.name, t)
        return Outcome(
            opened is not None, "the gate is open; loops that are held stay so" if opened else "the gate is open already"
        )
    found = gate.close(state_dir, _trimmed(reason), asker.name, t)
    said = "iterations at work end first" if found.state == gate.DRAINING else "no loop starts an iteration"
    return Outcome(True, f"the gate is {found.state}: {said}")


def order_loop(view: View, verb: str, reason: str) -> Outcome:
    """Sends an order to a loop. Raises GuardError."""
    if not attended():
        return Outcome(False, NO_PERSON)
    answer = delivery.deliver(view.directory, view.root, _request(verb, _trimmed(reason)))
    return Outcome(answer.done, visible(answer.said))


def _request(verb: str, reason: str) -> Request:
    if verb == PAUSE:
        return Request(control.PAUSE, reason)
    if verb in (MANUAL, AUTO):
        return Request(control.MODE, reason, value=verb)
    return Request(control.RESUME, reason, once=verb == ONCE)


def _trimmed(reason: str) -> str:
    return " ".join(reason.split())[: control.LONGEST_REASON] or REASON
