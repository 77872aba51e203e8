"""Figures: what the page shows, as values for its scripts. All texts are without control characters."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from guard.loop.names import METRICS
from guard.monitor import rows
from guard.monitor.gather import UNREADABLE, Machine, View, history, output
from guard.monitor.web import controls
from guard.shown import visible

POINTS = 60  # iterations of a plot
OUTPUT = 16 << 10  # bytes of output that the page shows
SCORES = 24
_COLOURS = re.compile(r"\x1b\[[0-9;:?]*[ -/]*[@-~]")  # and other orders to a terminal
PLOTTED = ("n", "score", "lines", "passed", "failed", "skipped", "calls", "calls_left", "state", "duration_s", "outcome")


def gate(machine: Machine) -> dict[str, Any]:
    """The machine's gate."""
    found = {key: visible(str(value)) if value is not None else None for key, value in machine.gate.items()}
    return {**found, "controls": controls.system(machine.gate.get("state"))}


def summary(view: View, t: int) -> dict[str, Any]:
    """One loop among others."""
    return _readable(_summary, view, t)


def detail(view: View, t: int) -> dict[str, Any]:
    """One loop alone, without its plots and its output."""
    return _readable(_detail, view, t)


def _readable(made: Callable[[View, int], dict[str, Any]], view: View, t: int) -> dict[str, Any]:
    """What is made of a view; where its values have another form than they should, of one that says so."""
    try:
        return made(view, t)
    except (AttributeError, KeyError, TypeError, ValueError):
        return made(View(view.loop, view.directory, view.root, UNREADABLE, trouble="status.json has another form"), t)


def _summary(view: View, t: int) -> dict[str, Any]:
    return {
        "loop": view.loop,
        "name": visible(str(view.at("name") or view.name)),
        "root": visible(view.root),
        "status": visible(view.status),
        "meaning": rows.meaning(view.status),
        "why": _why(view, t),
        "iteration": _number(view.at("iteration")),
        "calls": rows.calls(view),
        "scores": [value for value in (view.at("score", "history") or []) if isinstance(value, int | float)][-SCORES:],
        "person": f"{view.person} -C {visible(view.root)}" if view.person else "",
        "late": view.overdue,
    }


def _detail(view: View, t: int) -> dict[str, Any]:
    return {
        **_summary(view, t),
        "rows": [list(row) for row in rows.detail(view, t)],
        "controls": controls.loop(view),
        "mode": visible(str(view.at("mode") or "")),
    }


def plots(view: View) -> list[dict[str, Any]]:
    """Its last iterations, oldest first: whole numbers, or None where nothing was counted."""
    return [_point(row) for row in history(view, POINTS)]


def _point(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: visible(str(row.get(key))) if key in ("state", "outcome") else _number(row.get(key)) for key in PLOTTED}


def _why(view: View, t: int) -> str:
    """The reason as words: a state of the runner is none yet."""
    found = rows.reason(view, t)
    return found.lower().replace("_", " ") if found == view.at("state") else found


def _number(value: Any) -> int | float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def said(view: View) -> str:
    """The end of what its agent puts out."""
    return "\n".join(visible(line.expandtabs()) for line in _COLOURS.sub("", output(view, OUTPUT)).splitlines())


def mark(view: View) -> tuple[int, int]:
    """Changes whenever there are new points to plot."""
    try:
        found = os.stat(f"{view.directory}/{METRICS}", follow_symlinks=False)
        return found.st_mtime_ns, found.st_size
    except OSError:
        return 0, 0
