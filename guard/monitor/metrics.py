"""Metrics: all loops as numbers for Prometheus. What only grows is added up over metrics.jsonl, so that it survives restarts."""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from guard.loop.names import METRICS
from guard.monitor.gather import AT_WORK, CRASHED, READY, UNREADABLE, Gathering, Machine, View

if TYPE_CHECKING:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

CHUNK = 1 << 20  # bytes that are read at once
STATUSES = (*AT_WORK, "complete", "limit", "stopped", "interrupted", "integrity", "error", CRASHED, READY, UNREADABLE)
BREAKERS = ("CLOSED", "HALF_OPEN", "OPEN")
GATES = ("running", "draining", "paused")
OUTCOMES = ("ok", "partial", "failed", "timeout", "lost")
# Name, help, and where it stands in status.json.
GAUGES = (
    ("iteration", "Iteration of the present run.", ("iteration",)),
    ("calls_used", "Calls in the last hour.", ("calls", "used")),
    ("calls_limit", "Calls that any hour may have.", ("calls", "limit")),
    ("calls_left", "Calls that are left now.", ("calls", "left")),
    ("tokens_hour", "Tokens in the last hour.", ("tokens", "hour")),
    ("score", "Progress score of the last iteration.", ("score", "last")),
    ("plan_required", "Tasks that the plan requires.", ("plan", "required")),
    ("plan_open", "Required tasks that are still open.", ("plan", "open")),
    ("protected_files", "Files that are protected.", ("protected", "files")),
    ("protected_lost", "Protected files that were lost in the present run.", ("protected", "lost")),
    ("protected_restored", "Protected files that were brought back in the present run.", ("protected", "restored")),
    ("refused", "Commands that were refused in the present run.", ("protected", "refused")),
)
# Name, help, and the key of metrics.jsonl that is added up.
TOTALS = (
    ("calls", "Calls of agents.", "calls"),
    ("tokens", "Tokens that were spent.", "tokens"),
    ("cost_usd", "Cost as the clients count it, US dollars.", "cost_usd"),
    ("seconds", "Time that iterations took, seconds.", "duration_s"),
    ("output_lines", "Lines that agents have put out.", "lines"),
    ("tasks_completed", "Tasks that were completed.", "completed"),
    ("errors", "Errors in the output of agents.", "errors"),
)


class Totals:
    """The sums over one metrics.jsonl, of which only what is new is read. What cannot be read as a line is left out."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._at: tuple[int, int] = (0, 0)  # file and offset
        self.sums: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()

    def follow(self) -> None:
        """Takes in what has been added. A file that was replaced or cut is begun anew."""
        try:
            fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return
        with os.fdopen(fd, "rb") as file:
            found = os.fstat(fd)
            if found.st_ino != self._at[0] or found.st_size < self._at[1]:
                self._at = (found.st_ino, 0)
                self.sums.clear()
                self.outcomes.clear()
            try:
                file.seek(self._at[1])
                for line in iter(lambda: file.readline(CHUNK), b""):
                    if not line.endswith(b"\n") and len(line) < CHUNK:
                        break  # it is being written
                    self._at = (found.st_ino, self._at[1] + len(line))
                    self._add(line)
            except OSError:
                return

    def _add(self, line: bytes) -> None:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            return
        if not isinstance(row, dict):
            return
        self.outcomes[row["outcome"] if row.get("outcome") in OUTCOMES else "other"] += 1
        for _, _, key in TOTALS:
            value = _number(row.get(key))
            if value is not None and value > 0:
                self.sums[key] += value  # type: ignore[assignment]


class Collected:
    """All loops of a state directory, as Prometheus reads them."""

    def __init__(self, gathering: Gathering) -> None:
        self._gathering = gathering
        self._totals: dict[str, Totals] = {}
        self._machine: Machine | None = None
        self._lock = threading.Lock()

    def text(self, t: int) -> tuple[bytes, str]:
        """The numbers at a time (UTC milliseconds), and their content type."""
        from prometheus_client import CollectorRegistry, generate_latest
        from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

        with self._lock:
            self._machine = self._gathering.look(t)
            registry = CollectorRegistry(auto_describe=False)
            registry.register(self)
            return generate_latest(registry), CONTENT_TYPE_PLAIN_0_0_4

    def describe(self) -> list[Any]:
        """Nothing: what there is shows when it is collected."""
        return []

    def collect(self) -> Iterable[GaugeMetricFamily | CounterMetricFamily]:
        """The families of numbers."""
        from prometheus_client.core import GaugeMetricFamily

        machine = self._machine
        if machine is None:
            return
        yield _choice("guard_gate_state", "The machine's gate.", GATES, [([], str(machine.gate.get("state")))], ())
        views = machine.loops
        yield GaugeMetricFamily("guard_loops", "Loops that have a state.", value=len(views))
        yield _choice("guard_loop_status", "How a loop stands.", STATUSES, [([v.loop], v.status) for v in views], ("loop",))
        found = [([v.loop], str(v.at("breaker", "state"))) for v in views if v.at("breaker", "state")]
        yield _choice("guard_loop_breaker_state", "The circuit breaker.", BREAKERS, found, ("loop",))
        flags = (
            ("up", "Is a runner at work?", lambda view: view.live),
            ("overdue", "Has its main flow passed its deadline?", lambda view: view.overdue),
            ("waits_for_person", "Does it wait for a person?", lambda view: bool(view.person)),
            ("paused", "Is it paused?", lambda view: bool(view.at("pause"))),
        )
        for name, told, flag in flags:
            family = GaugeMetricFamily(f"guard_loop_{name}", told, labels=("loop",))
            for view in views:
                family.add_metric([view.loop], float(flag(view)))
            yield family
        for name, told, keys in GAUGES:
            yield _gauge(name, told, views, keys)
        beats = GaugeMetricFamily("guard_loop_heartbeat_seconds", "The last sign of life, seconds since 1970.", labels=("loop",))
        for view in views:
            if view.beat is not None:
                beats.add_metric([view.loop], view.beat / 1000)
        yield beats
        yield from self._counters(views)

    def _counters(self, views: Iterable[View]) -> Iterable[CounterMetricFamily]:
        from prometheus_client.core import CounterMetricFamily

        present = {view.loop: self._followed(view) for view in views}
        iterations = CounterMetricFamily("guard_loop_iterations", "Iterations that were judged.", labels=("loop", "outcome"))
        for loop, totals in present.items():
            for outcome, count in sorted(totals.outcomes.items()):
                iterations.add_metric([loop, outcome], count)
        yield iterations
        for name, told, key in TOTALS:
            family = CounterMetricFamily(f"guard_loop_{name}", told, labels=("loop",))
            for loop, totals in present.items():
                family.add_metric([loop], totals.sums[key])
            yield family
        self._totals = present

    def _followed(self, view: View) -> Totals:
        found = self._totals.get(view.loop) or Totals(f"{view.directory}/{METRICS}")
        found.follow()
        return found


def _gauge(name: str, told: str, views: Iterable[View], keys: tuple[str, ...]) -> GaugeMetricFamily:
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily(f"guard_loop_{name}", told, labels=("loop",))
    for view in views:
        value = _number(view.at(*keys))
        if value is not None:
            family.add_metric([view.loop], value)
    return family


def _choice(
    name: str, told: str, choices: tuple[str, ...], found: Iterable[tuple[list[str], str]], labels: tuple[str, ...]
) -> GaugeMetricFamily:
    """One of several: 1 for the one that it is, 0 for the others; what is none of them stands for itself."""
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily(name, told, labels=(*labels, "state"))
    for values, state in found:
        for choice in dict.fromkeys((*choices, state)):
            family.add_metric([*values, choice], float(choice == state))
    return family


def _number(value: Any) -> int | float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
