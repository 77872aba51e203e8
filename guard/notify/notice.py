"""Notices: what is told, made from the events of a loop by a table."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from guard.loop import lifecycle, texts
from guard.loop.events import (
    Alert,
    Body,
    BreakerChanged,
    Entered,
    Event,
    HoldChanged,
    LevelChanged,
    Measured,
    Recovered,
    RunEnded,
)
from guard.loop.moments import moment
from guard.loop.state import OPEN
from guard.shown import visible

VERSION = 1
INFO, WARNING, CRITICAL = "info", "warning", "critical"
# What people may ask to be told of.
CODES = {
    "trip": "the breaker of a loop opened",
    "restore": "protected files were lost, and restored or not",
    "pause": "a loop was paused",
    "person": "a loop waits for a person",
    "rebuild": "a loop's state was put together again",
    "budget": "a loop works with less, or waits, because of the day's budget",
    "completion": "a loop is done",
    "limit": "a limit ended a run",
    "hang": "a runner hung or died, and was started again or given up",
    "error": "a run ended because of an error",
}


@dataclass(frozen=True)
class Notice:
    """One thing to tell. `todo` is the command that answers it; `t` is UTC milliseconds; `count`: how often it happened."""

    code: str
    severity: str
    title: str
    text: str
    t: int
    loop: str = ""
    root: str = ""
    run: str = ""
    iteration: int | None = None
    reason: str = ""
    todo: str = ""
    count: int = 1

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes two of them the same."""
        return self.loop, self.code, self.reason

    def to_json(self) -> dict[str, Any]:
        """The notice for programs."""
        values = asdict(self)
        values["time"] = moment(values.pop("t"))
        return {"v": VERSION, "id": f"{self.loop}/{self.code}/{self.t}", **values}


def of(event: Event, loop: str, root: str) -> Notice | None:
    """The notice that an event of a loop gives rise to; None for most."""
    make = _TABLE.get(type(event.body))
    found = make(event.body) if make is not None else None
    if found is None:
        return None
    code, severity, what, text, reason, todo = found
    name = visible(os.path.basename(root) or loop)
    title = f"{name}: {what}"
    todo = f"{todo} -C {root}" if todo and root else todo
    return Notice(code, severity, title, visible(text), event.t, loop, root, event.run, event.n, visible(reason), visible(todo))


_Found = tuple[str, str, str, str, str, str] | None


def _breaker(body: BreakerChanged) -> _Found:
    if body.after != OPEN or body.before == OPEN:
        return None
    text = f"{texts.HALTED}. {body.last_error}".rstrip() if body.last_error else texts.HALTED
    todo = "guard loop status"
    return "trip", CRITICAL, f"stopped by its breaker ({body.cause})", text, body.cause, todo


def _hold(body: HoldChanged) -> _Found:
    if not body.after:
        return None
    if body.kind == "user":
        return "pause", INFO, f"paused by {body.actor}", body.reason, body.reason, "guard loop resume"
    return (
        "person",
        WARNING,
        f"waits for a person ({body.reason})",
        f"asked for by {body.actor}",
        body.reason,
        "guard loop status",
    )


def _measured(body: Measured) -> _Found:
    harmed = body.protected.violations
    if not harmed:
        return None
    lost = [one.path for one in harmed if not one.restored]
    what = f"{len(harmed)} protected file{'s' * (len(harmed) > 1)} lost, " + ("not all restored" if lost else "all restored")
    text = ", ".join(one.path for one in harmed[:10]) + (", ..." if len(harmed) > 10 else "")
    return "restore", CRITICAL, what, text, "not restored" if lost else "restored", "guard loop log"


def _recovered(body: Recovered) -> _Found:
    if body.source == "checkpoint":
        return None
    text = f"from {body.source}, {body.lost_events} events lost ({body.file})"
    return "rebuild", WARNING, "its state was put together again", text, body.source, "guard loop status"


def _level(body: LevelChanged) -> _Found:
    if body.kind != "budget" and not body.reason.startswith("budget"):
        return None
    return "budget", WARNING, f"goes on at level {body.after}", body.reason, body.reason, "guard loop status"


def _entered(body: Entered) -> _Found:
    if body.state != lifecycle.WAIT_BUDGET:
        return None
    return "budget", WARNING, "waits: the day's budget is used up", body.why, "budget", "guard loop status"


def _alert(body: Alert) -> _Found:
    if body.kind in ("hang", "restart", "gave_up"):
        return "hang", CRITICAL, body.kind.replace("_", " "), body.detail, body.kind, "guard loop status"
    return None


_ENDS = {
    "complete": ("completion", INFO, "done"),
    "error": ("error", CRITICAL, "ended by an error"),
    "limit": ("limit", WARNING, "ended by a limit"),
    "paused": ("person", WARNING, "ended: a person is needed"),
}


def _ended(body: RunEnded) -> _Found:
    if body.status not in _ENDS:
        return None
    code, severity, what = _ENDS[body.status]
    text = f"{body.iterations} iterations, {body.calls} calls, {body.changed_files} files changed"
    text += f", ${body.cost_usd:.2f}" if body.cost_usd else ""
    return code, severity, f"{what} ({body.reason})", text, body.reason, "guard loop log"


_TABLE: dict[type[Body], Callable[[Any], _Found]] = {
    BreakerChanged: _breaker,
    HoldChanged: _hold,
    Measured: _measured,
    Recovered: _recovered,
    LevelChanged: _level,
    Entered: _entered,
    Alert: _alert,
    RunEnded: _ended,
}
