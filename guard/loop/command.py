"""What the machine asks of the runner."""

from __future__ import annotations

from dataclasses import dataclass

from guard.loop.events import Body


@dataclass(frozen=True)
class Write:
    """Append this conclusion to the journal, before anything else."""

    body: Body


@dataclass(frozen=True)
class Enter:
    """Go into this state. It is left by itself at `until` (UTC milliseconds), and by force at `deadline`."""

    state: str
    deadline: int
    why: str = ""
    until: int | None = None


@dataclass(frozen=True)
class Call:
    """Make a snapshot, reserve a call, and start the agent."""

    probe: bool
    level: int


@dataclass(frozen=True)
class Do:
    """`measure` the iteration; or `retry` its call after so many seconds if the tree is unchanged, else measure."""

    what: str
    after_s: int = 0


@dataclass(frozen=True)
class End:
    """The run is over."""

    status: str
    exit: int
    reason: str


Command = Write | Enter | Call | Do | End
