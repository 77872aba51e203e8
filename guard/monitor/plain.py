"""The plain view: a line whenever something has changed, for logs, dumb terminals and screen readers."""

from __future__ import annotations

from collections.abc import Iterator

from guard.monitor.gather import NEW, Machine, View
from guard.monitor.rows import calls, reason, sparkline
from guard.shown import visible

SHOWN = 20  # scores that a line shows


class Plain:
    """Remembers what it has said."""

    def __init__(self) -> None:
        self._said: dict[str, str] = {}

    def lines(self, machine: Machine) -> Iterator[str]:
        """What is new since the last time."""
        told = {"": _gate(machine), **{view.loop: line(view, machine.t) for view in machine.loops}}
        if not machine.loops:
            told["-"] = NEW
        for name, text in told.items():
            if text and self._said.get(name) != text:
                yield text
        self._said = told


def line(view: View, t: int) -> str:
    """One loop in one line."""
    scores = sparkline((view.at("score", "history") or [])[-SHOWN:])
    parts = [
        visible(view.name if view.name == view.loop else f"{view.name} ({view.loop})"),
        view.status,
        reason(view, t),
        f"iteration {view.at('iteration')}" if view.values else "",
        f"Calls: {calls(view)}" if view.values else "",
        f"score {scores}" if scores else "",
        f"waits for you: {view.person} -C {visible(view.root)}" if view.person else "",
    ]
    return "  ".join(part for part in parts if part)


def _gate(machine: Machine) -> str:
    state = machine.gate.get("state")
    if state == "running":
        return ""
    why = visible(str(machine.gate.get("reason")))
    return f"gate {state}: {why}; no loop starts an iteration until: guard loop resume --system"
