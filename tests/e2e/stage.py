"""A scripted model for loops: what it says depends on which call of the loop asks, which the loop's journal tells."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from tests.e2e.server import Dialect, Json, Script, Turn, _due, _has_tools

Scene = tuple[Turn, ...]
PATIENCE_S = 60.0


@dataclass
class Stage(Script):
    """One scene a call of the loop. A scene is over like any script; in a session that goes on, what was there before counts not.

    `journals` gives the loop's journals, whose reservations say which call it is. `missing` are the calls that had no scene.
    A call in `held` gets no answer until its event is set.
    """

    scenes: Sequence[Scene] = ()
    journals: Callable[[], Sequence[Path]] = lambda: ()
    asked: dict[int, int] = field(default_factory=dict)
    missing: list[int] = field(default_factory=list)
    before: dict[int, int] = field(default_factory=dict)
    held: dict[int, Event] = field(default_factory=dict)

    def next(self, body: Json, dialect: Dialect) -> Turn:
        """The turn that is due in the scene of the call that is under way."""
        if not _has_tools(body) or self.prompt not in json.dumps(body, ensure_ascii=False):
            return super().next(body, dialect)
        call, results = self.call(), dialect.results(body)
        self.requests.append(body)
        self.results = results
        self.asked[call] = self.asked.get(call, 0) + 1
        if call in self.held:
            self.held[call].wait(PATIENCE_S)
        start = self.before.setdefault(call, len(results))
        if not 0 < call <= len(self.scenes):
            self.missing.append(call)
            return Turn("There is no scene for this call.")
        return _due(self.scenes[call - 1], len(results) - start)

    def call(self) -> int:
        """How many calls the loop has reserved."""
        lines = (line for path in self.journals() for line in path.read_text().splitlines())
        return sum('"ev":"call_reserved"' in line.replace('": "', '":"') for line in lines)
