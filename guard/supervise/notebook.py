"""Notebook: the journal of a supervisor, in the form of a loop's: <loop>/supervisor/journal.jsonl.

What cannot be written is kept and written later: a full disk stops no supervision.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from guard.loop import notebook
from guard.loop.events import Alert, Body, Event
from guard.loop.facts import Count, Seconds

FOLDER = "supervisor"


class Down(Body, frozen=True):
    """No runner is at work any more. `at`: its last heartbeat, UTC milliseconds. `why`: signal N, exit N, hang, or found."""

    name: ClassVar[str] = "down"
    at: int
    why: str


class Hang(Body, frozen=True):
    """A runner was late and has been killed. `beat` and `deadline`: UTC milliseconds. `killed`: process ids; `left`: of them,
    those that could not be ended."""

    name: ClassVar[str] = "hang"
    state: str
    beat: int
    deadline: int | None
    overdue_s: Seconds
    killed: tuple[int, ...]
    left: tuple[int, ...] = ()


class Restarted(Body, frozen=True):
    """A runner was started again, so long after its predecessor was seen dead or late."""

    name: ClassVar[str] = "restarted"
    after_s: Seconds
    pid: Count


KINDS: dict[str, type[Body]] = {kind.name: kind for kind in (Down, Hang, Restarted, Alert)}


def read(directory: str) -> Iterator[Event]:
    """The events of a loop's supervisors, oldest first. Lines that are no events are passed over; raises OSError."""
    return notebook.read(f"{directory}/{FOLDER}", KINDS)


class Notebook(notebook.Notebook):
    """The journal that is written by whoever has the supervisor's lock. `restarts`: when runners were started again, UTC ms."""

    def __init__(self, directory: str) -> None:
        self.restarts: list[int] = []
        super().__init__(f"{directory}/{FOLDER}", KINDS)

    def know(self, event: Event) -> None:
        """Hears of an event that was written before this process."""
        if isinstance(event.body, Restarted):
            self.restarts.append(event.t)
