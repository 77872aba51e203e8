"""Delivery: a request gets to its loop. Its runner takes it; where none is at work, this process writes it down itself."""

from __future__ import annotations

import os
from collections.abc import Callable

from guard.errors import BUSY, STATE, GuardError
from guard.loop import authority, clock, control, lock, orders, store
from guard.loop.control import Answer, Request
from guard.loop.identity import place
from guard.loop.store import Store

TRIES = 5  # a runner may start or end in the middle
BEGINNING = (control.PAUSE, control.MODE, control.STEER)  # what a loop that has never run takes note of


def deliver(directory: str, root: str, request: Request, busy: Callable[[], None] = lambda: None) -> Answer:
    """What became of a request to the loop of a tree. `busy` is called where its runner lets one wait.

    Raises GuardError where the state cannot be read or written, or its runner does not answer.
    """
    for _ in range(TRIES):
        if lock.owner(directory) is not None:
            answer = control.ask(directory, request, lambda: lock.owner(directory) is None, busy)
            if answer is not None:
                return answer
        elif request.verb not in BEGINNING and store.peek(directory) is None:
            return Answer(False, "nothing has run there")
        else:
            try:
                return _written(directory, root, request)
            except GuardError as error:
                if error.code != BUSY:
                    raise
    raise GuardError("its runners come and go", directory, "try again", STATE)


def _written(directory: str, root: str, request: Request) -> Answer:
    """Writes it into the journal under the loop's lock."""
    state_dir = os.path.dirname(os.path.dirname(directory))
    if not root or place(state_dir, root) != directory:
        raise GuardError("the tree that it belongs to is not known", directory, "name its directory instead")
    time = clock.current()
    with Store.open(state_dir, root, time.now(), time.kind) as kept:
        order = orders.of(kept.state, request, authority.here(kept.state.loop), time.now())
        for body in order.bodies:
            kept.record(body, time.now())
    return order.answer
