"""The evaluation's journal of a loop: <loop>/evaluation/journal.jsonl."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, TypeVar

from guard.errors import BUSY, STATE, GuardError
from guard.loop import notebook
from guard.loop.events import Body
from guard.loop.facts import Count, Seconds
from guard.loop.lock import Lock
from guard.loop.notebook import Notebook

FOLDER = "evaluation"
PATIENCE_S = 5.0  # for another evaluation that writes
Kind = TypeVar("Kind", bound=Body)


class Baseline(Body, frozen=True):
    """A command was given the cases of a file. `failed`: ids; `digest`: of the cases, so that only equal ones are compared."""

    name: ClassVar[str] = "baseline"
    command: str
    cases: str
    digest: str
    passed: Count
    total: Count
    failed: tuple[str, ...] = ()
    duration_s: Seconds = 0


class Replayed(Body, frozen=True):
    """Two commands were given the same cases. `points`: how much better the second one is, with its 95 % interval."""

    name: ClassVar[str] = "replayed"
    before: str
    after: str
    digest: str
    passed_before: Count
    passed_after: Count
    total: Count
    points: float
    low: float
    high: float
    config_digest: str = ""


class Audited(Body, frozen=True):
    """A person gave marks. `items` with a score each; shares are of 100."""

    name: ClassVar[str] = "audited"
    items: dict[str, Count]
    mean: float
    root_cause: Count
    minimal: Count
    beyond: Count
    actor: str = ""


class Feedback(Body, frozen=True):
    """Something came back against earlier work. `against`: the dimensions that it counts against."""

    name: ClassVar[str] = "feedback"
    kind: str
    reference: str
    against: tuple[str, ...]
    detail: str = ""
    actor: str = ""


class LinkedAction(Body, frozen=True):
    """An evaluation led to something. `said`: what the loop answered; `evidence`: the same one leads to it once."""

    name: ClassVar[str] = "linked_action"
    rule: str
    action: str
    reason: str
    evidence: str
    said: str = ""


KINDS: dict[str, type[Body]] = {kind.name: kind for kind in (Baseline, Replayed, Audited, Feedback, LinkedAction)}


def read(directory: str, kind: type[Kind]) -> list[tuple[int, Kind]]:
    """What was recorded of one kind for a loop, oldest first: when (UTC milliseconds), and what. Damaged lines are left out."""
    try:
        events = notebook.read(f"{directory}/{FOLDER}", KINDS)
        return [(event.t, event.body) for event in events if isinstance(event.body, kind)]
    except OSError as error:
        raise GuardError(
            f"the evaluation's journal cannot be read ({error.strerror})", directory, "make it readable", STATE
        ) from error


def add(directory: str, *bodies: Body) -> None:
    """Records things. Raises GuardError where that cannot be done; what came before stays."""
    folder = f"{directory}/{FOLDER}"
    with _alone(folder):
        book = Notebook(folder, KINDS)
        for body in bodies:
            book.add(body, int(time.time() * 1000))
        if book.failed:
            raise GuardError(f"it cannot be recorded ({book.failed})", folder, "make room, or make it writable", STATE)


@contextmanager
def _alone(folder: str) -> Iterator[None]:
    """Waits until no other evaluation writes."""
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
    except OSError as error:
        raise GuardError(f"it cannot be recorded ({error.strerror})", folder, "make it writable", STATE) from error
    lock, until = Lock(folder), time.monotonic() + PATIENCE_S
    while True:
        try:
            lock.take()
            break
        except GuardError as error:
            if error.code != BUSY or time.monotonic() > until:
                raise
            time.sleep(0.05)
    try:
        yield
    finally:
        lock.release()
