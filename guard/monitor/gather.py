"""Gathering: how loops stand, from the files that their runners write. Nothing here takes a lock or writes.

Whatever is half-written, damaged or gone makes a view that says so; it never ends the looking. What has not changed since the
last look is not read again, and of what grows only the end is read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from guard.loop import gate, heartbeat, lock
from guard.loop.identity import LOOPS
from guard.loop.names import METRICS, OUTPUTS, STATUS

CRASHED, READY, UNREADABLE = "crashed", "ready", "unreadable"
AT_WORK = ("starting", "running", "waiting", "paused", "failed", "circuit_open")
LARGEST = 4 << 20  # bytes of a status.json that is read
TAIL = 64 << 10  # bytes of an end that is read
PARTS = ("breaker", "calls", "cost", "counters", "exit", "last", "pause", "plan", "protected", "score", "tokens")
POINTS = 60  # iterations of a history that are shown
NEW = "Waiting for the loop to start..."


@dataclass(frozen=True)
class View:
    """One loop as it is now.

    `status` is that of status.json, or crashed (its runner is gone), ready (nothing has run), unreadable (`trouble` says why).
    `values` are those of status.json, {} where there are none; `beat` is the last heartbeat, UTC milliseconds.
    """

    loop: str
    directory: str
    root: str
    status: str
    values: Mapping[str, Any] = field(default_factory=dict)
    beat: int | None = None
    overdue: bool = False
    trouble: str = ""

    @property
    def name(self) -> str:
        """What people call it: its tree's last part."""
        return os.path.basename(self.root) or self.loop

    @property
    def live(self) -> bool:
        """Is a runner at work?"""
        return self.status in AT_WORK and bool(self.values) and self.values.get("exit") is None

    def at(self, *keys: str) -> Any:
        """A value of status.json; None where it is not there."""
        found: Any = self.values
        for key in keys:
            found = found.get(key) if isinstance(found, Mapping) else None
        return found

    @property
    def person(self) -> str:
        """The command with which a person answers what this loop waits for; "" where it waits for nobody."""
        breaker, pause = self.at("breaker") or {}, self.at("pause")
        if breaker.get("state") == "OPEN" and breaker.get("recovery") == "explicit":
            return 'guard loop reset --reason "..."'
        if pause and pause.get("class") in ("user", "agent", "rescue"):
            return "guard loop resume"
        return "guard loop log" if self.status == CRASHED else ""

    def to_json(self) -> dict[str, Any]:
        """The view for programs."""
        return {**asdict(self), "name": self.name, "live": self.live, "person": self.person}


@dataclass(frozen=True)
class Machine:
    """All loops of a state directory, and its gate."""

    loops: tuple[View, ...]
    gate: Mapping[str, Any]
    t: int

    def to_json(self) -> dict[str, Any]:
        """The machine for programs."""
        return {"v": 1, "t": self.t, "gate": dict(self.gate), "loops": [view.to_json() for view in self.loops]}


class Gathering:
    """Looks again and again, and reads only what has changed."""

    def __init__(self, state_dir: str) -> None:
        self.state_dir = state_dir
        self._known: dict[str, tuple[tuple[int, int, int], Mapping[str, Any] | str]] = {}

    def look(self, t: int, names: Iterable[str] | None = None) -> Machine:
        """How everything stands at a time (UTC milliseconds); of loops only those with these ids, if they are given."""
        found = self.names() if names is None else list(names)
        views = tuple(self.view(name, t) for name in found)
        return Machine(tuple(sorted(views, key=_order)), gate.view(self.state_dir, t), t)

    def names(self) -> list[str]:
        """The ids of the loops that have a state."""
        try:
            with os.scandir(f"{self.state_dir}/{LOOPS}") as entries:
                return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
        except OSError:
            return []

    def view(self, name: str, t: int) -> View:
        """One loop. An id that has no state is a loop that never ran."""
        directory = f"{self.state_dir}/{LOOPS}/{name}"
        values = self._status(f"{directory}/{STATUS}")
        if isinstance(values, str):
            return View(name, directory, "", UNREADABLE if values else READY, trouble=values)
        beat = heartbeat.read(directory)
        status = str(values.get("status", ""))
        if status in AT_WORK and values.get("exit") is None and values.get("run") and lock.owner(directory) is None:
            status = CRASHED
        late = (
            beat is not None and beat.deadline is not None and t > beat.deadline and status != CRASHED and not values.get("exit")
        )
        return View(name, directory, str(values.get("root", "")), status, values, beat.at if beat else None, late)

    def _status(self, path: str) -> Mapping[str, Any] | str:
        """The values of a status.json, or what is wrong with it; "" where there is none."""
        try:
            found = os.stat(path, follow_symlinks=False)
            mark = (found.st_mtime_ns, found.st_size, found.st_ino)
            known = self._known.get(path)
            if known is None or known[0] != mark:
                known = self._known[path] = (mark, _parsed(path))
            return known[1]
        except FileNotFoundError:
            self._known.pop(path, None)
            return ""
        except OSError as error:
            return f"status.json cannot be read ({error.strerror})"


def history(view: View, points: int = POINTS) -> list[dict[str, Any]]:
    """The last iterations of a loop, oldest first, as metrics.jsonl has them. Lines that cannot be read are left out."""
    rows = []
    for line in tail(f"{view.directory}/{METRICS}", points * 700).splitlines()[-points:]:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            rows.append(row)
    return rows


def output(view: View, size: int = TAIL) -> str:
    """The end of what the agent has put out in its newest call; "" where there is nothing."""
    folder = f"{view.directory}/{OUTPUTS}"
    try:
        with os.scandir(folder) as entries:
            files = [(entry.stat(follow_symlinks=False).st_mtime_ns, entry.path) for entry in entries if entry.is_file()]
    except OSError:
        return ""
    return tail(max(files)[1], size) if files else ""


def tail(path: str, size: int) -> str:
    """The last whole lines of a file within so many bytes; "" where it cannot be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(fd, "rb") as file:
            length = os.fstat(file.fileno()).st_size
            file.seek(max(0, length - size))
            data = file.read(size)
    except OSError:
        return ""
    if length > size:
        data = data.partition(b"\n")[2] or data
    return data.decode("utf-8", "replace")


def _parsed(path: str) -> Mapping[str, Any] | str:
    with open(path, "rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        return "status.json is too large"
    try:
        values = json.loads(data)
    except (ValueError, RecursionError):
        return "status.json is damaged"
    return values if isinstance(values, dict) and _fits(values) else "status.json is damaged"


def _fits(values: Mapping[str, Any]) -> bool:
    """Do the parts have the form that status.json gives them?"""
    alerts = values.get("alerts") or []
    parts = all(isinstance(values.get(part) or {}, dict) for part in PARTS)
    return parts and isinstance(alerts, list) and all(isinstance(alert, dict) for alert in alerts)


def _order(view: View) -> tuple[bool, bool, str]:
    """Those that wait for a person first, then those at work, by name."""
    return (not view.person, not view.live, view.loop)
