"""Measures: numbers about loops, each computed from what was recorded, with what it rests on.

Shares are of 100, times are seconds. A measure that nothing was recorded for has no value, rather than a good one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from guard.loop.events import Event
from guard.report.history import History, Iteration, Run
from guard.supervise.notebook import Down, Hang, Restarted

AUTOMATIC, HALF, HUMAN = "automatic", "half", "human"
FOUND_S = 300.0  # within which a hang has to be found


@dataclass(frozen=True)
class Record:
    """All that is known of some loops in a period."""

    histories: tuple[History, ...]
    supervised: tuple[Event, ...] = ()
    feedback: tuple[tuple[str, str], ...] = ()  # what came back: its kind, and the commit, run or review that it is about
    marks: tuple[tuple[float, int], ...] = ()  # audits: mean and number of items
    root_causes: tuple[tuple[float, int], ...] = ()  # audits: percentage of items whose cause was mended, and their number
    linked: tuple[tuple[int, str, str], ...] = ()  # what evaluations led to: when, what, and why
    since: int = 0
    until: int = 0

    @cached_property
    def iterations(self) -> list[Iteration]:
        """Every iteration that counts."""
        return [one for each in self.histories for one in each.iterations if one.outcome and not one.void]

    @property
    def runs(self) -> list[Run]:
        """Every run that touches the period."""
        return [one for each in self.histories for one in each.runs]

    @property
    def against(self) -> Counter[str]:
        """How often each kind of feedback came."""
        return Counter(kind for kind, _ in self.feedback)

    def happened(self, *kinds: str) -> list[dict[str, Any]]:
        """The fields of all events of some kinds."""
        return [one.fields for each in self.histories for one in each.of(*kinds)]


@dataclass(frozen=True)
class Measure:
    """One number. `target` is told as text, "" for none; `met` is None where there is no target or no value.

    `kind` says whether it is computed alone, from feedback that people give, or by people. `mends` is the mechanism to
    strengthen where the target is missed.
    """

    name: str
    value: float | None
    unit: str
    evidence: str
    kind: str = AUTOMATIC
    target: str = ""
    met: bool | None = None
    mends: str = ""


def per(part: float, whole: float, times: float = 100) -> float | None:
    """A share; None of nothing."""
    return times * part / whole if whole else None


def counted(record: Record, number: float) -> float | None:
    """A number that is good when it is 0; None where nothing ran that could have made it larger."""
    return float(number) if number or record.iterations or record.runs else None


def whole(value: object, otherwise: int = 0) -> int:
    """A count as a journal has it; what is none counts as `otherwise`."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else otherwise


def trips(record: Record) -> Counter[str]:
    """How often the breaker opened, by cause."""
    opened = (one for one in record.happened("breaker") if one.get("to") == "OPEN" and one.get("from") != "OPEN")
    return Counter(str(one.get("cause")) for one in opened)


def refusals(record: Record) -> Counter[str]:
    """How often guard refused harm, by path."""
    found: Counter[str] = Counter()
    for one in record.iterations:
        for refusal in one.protected.refusals:
            found[refusal.path] += refusal.count
    return found


def harm(record: Record) -> tuple[int, int]:
    """How many protected files were harmed, and how many of them came back."""
    found = [each for one in record.iterations for each in one.protected.violations]
    between = [each for fields in record.happened("measured") for each in fields.get("violations", [])]
    back = sum(each.restored for each in found) + sum(bool(each.get("restored")) for each in between)
    return len(found) + len(between), back


def overrides(record: Record) -> Counter[str]:
    """What people lifted: breakers that were reset or resumed, holds that were lifted."""
    found: Counter[str] = Counter()
    for one in record.happened("breaker"):
        if one.get("actor") and one.get("from") != "CLOSED":
            found["breaker"] += 1
    found["hold"] = sum(bool(one.get("from")) and not one.get("to") for one in record.happened("hold"))
    return +found


def alerts(record: Record) -> Counter[str]:
    """How often each alert came."""
    return Counter(str(one.get("kind")) for one in record.happened("alert"))


def waste(record: Record) -> int:
    """Tokens of calls that were reserved after an iteration that tripped, and before the breaker was half open. Target 0."""
    total = 0
    for each in record.histories:
        changes = sorted((one.t, str(one.fields.get("to"))) for one in each.of("breaker"))
        state, at = "CLOSED", 0
        for one in sorted(each.iterations, key=lambda one: one.began):
            while at < len(changes) and changes[at][0] < one.began:
                state, at = changes[at][1], at + 1
            total += one.tokens * (state == "OPEN" and not one.probe)
    return total


def availability(record: Record) -> tuple[float, float, list[float]]:
    """Seconds that supervised runs were wanted, seconds that they were down, and each interval of these."""
    wanted = sum(
        max(0, min(one.ended or one.last, record.until) - max(one.began, record.since)) for one in record.runs if one.supervised
    )
    down: list[float] = []
    since: int | None = None
    for event in record.supervised:
        if isinstance(event.body, Down):
            since = event.body.at or event.t
        elif isinstance(event.body, Restarted) and since is not None:
            down.append(max(0, event.t - since) / 1000)
            since = None
    return wanted / 1000, sum(down), down


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def measures(record: Record) -> list[Measure]:
    """Every measure, in the order of a report."""
    return [make(record) for make in _ALL]


def judged(
    name: str,
    value: float | None,
    unit: str,
    evidence: str,
    target: str,
    good: Callable[[float], bool],
    mends: str,
    kind: str = AUTOMATIC,
) -> Measure:
    """A measure with a target: `good` says whether a value meets it, `mends` what to strengthen where it does not."""
    met = None if value is None else good(value)
    return Measure(name, value, unit, evidence, kind, target, met, mends if met is False else "")


def _success(record: Record) -> Measure:
    found = record.iterations
    value = per(sum(one.good for one in found), len(found))
    text = f"{sum(one.good for one in found)} ok or partial of {len(found)} iterations"
    return judged("loop success rate", value, "%", text, "> 95 %", lambda v: v > 95, "the agent's command and its limits")


def _time(record: Record) -> Measure:
    found = record.iterations
    value = _mean([one.duration_s for one in found])
    return judged(
        "mean loop time",
        value,
        "s",
        f"calls of {len(found)} iterations",
        "< 5 min",
        lambda v: v < 300,
        "smaller tasks in the plan",
    )


def _compliance(record: Record) -> Measure:
    calls = sum(one.calls for each in record.histories for one in each.iterations)
    over = sum(one.over for each in record.histories for one in each.iterations)
    value = per(calls - over, calls)
    return judged(
        "limit compliance",
        value,
        "%",
        f"{over} of {calls} calls above the limit",
        "100 %",
        lambda v: v == 100,
        "the ledger of calls",
    )


def _waste(record: Record) -> Measure:
    return judged(
        "waste after a trip",
        counted(record, waste(record)),
        "tokens",
        "calls between a trip and its probe",
        "0",
        lambda v: v == 0,
        "the check before each call",
    )


def _first_fix(record: Record) -> Measure:
    done = [(one.attempt if task == one.task else 1) for one in record.iterations for task in one.completed]
    text = f"{sum(one == 1 for one in done)} of {len(done)} tasks at the first attempt"
    return Measure("first-fix rate", per(sum(one == 1 for one in done), len(done)), "%", text)


def _regression(record: Record) -> Measure:
    commits = sum(len(one.files.commits) for one in record.iterations)
    text = f"{record.against['reverted']} of {commits} commits taken back within a day"
    return Measure("regression rate", per(record.against["reverted"], commits), "%", text, HALF)


def _per_task(record: Record) -> Measure:
    tokens, done = sum(one.tokens for one in record.iterations), sum(len(one.completed) for one in record.iterations)
    return Measure("tokens per completed task", per(tokens, done, 1), "tokens", f"{tokens:,} tokens, {done} tasks")


def _blocked(record: Record) -> Measure:
    count = sum(refusals(record).values())
    text = f"{count} refusals in {len(record.iterations)} iterations"
    return Measure("refusals per 100 iterations", per(count, len(record.iterations)), "", text)


def _beyond(record: Record) -> Measure:
    refused = sum(whole(one.get("count"), 1) for one in record.happened("control_refused"))
    gaps = sum(len(one.reply.gaps) for one in record.iterations)
    text = f"{refused} refused control commands, {gaps} tool calls beyond the allow list"
    return judged(
        "attempts beyond authority",
        counted(record, refused + gaps),
        "",
        text,
        "0",
        lambda v: v == 0,
        "the allow list, and the prompt",
    )


def _trips(record: Record) -> Measure:
    count = trips(record).total()
    return Measure("trips per 100 iterations", per(count, len(record.iterations)), "", f"{count} trips")


def _restored(record: Record) -> Measure:
    lost, back = harm(record)
    return judged(
        "protected files restored",
        per(back, lost),
        "%",
        f"{back} of {lost} harmed files",
        "100 %",
        lambda v: v == 100,
        "guard snapshot, and the sandbox",
    )


def _availability(record: Record) -> Measure:
    wanted, down, intervals = availability(record)
    value = per(wanted - down, wanted) if wanted else None
    text = f"down {down:.0f} s of {wanted:.0f} s in {len(intervals)} intervals"
    return judged("availability", value, "%", text, "> 99 %", lambda v: v > 99, "guard supervise, and its restart delay")


def _mttr(record: Record) -> Measure:
    _, _, intervals = availability(record)
    return judged(
        "mean time to recovery",
        _mean(intervals),
        "s",
        f"{len(intervals)} restarts",
        "< 5 min",
        lambda v: v < 300,
        "the watchdog's deadlines",
    )


def _state_loss(record: Record) -> Measure:
    found = record.happened("recovered")
    lost = sum(whole(one.get("lost_events")) for one in found)
    return judged(
        "state loss",
        counted(record, lost),
        "events",
        f"{len(found)} recoveries",
        "0",
        lambda v: v == 0,
        "checkpoints and backups; the disk",
    )


def _hangs(record: Record) -> Measure:
    found = [event.body.overdue_s for event in record.supervised if isinstance(event.body, Hang)]
    value = per(sum(one <= FOUND_S for one in found), len(found))
    return judged("hangs found within 5 min", value, "%", f"{len(found)} hangs", "> 95 %", lambda v: v > 95, "guard supervise")


def _budget(record: Record) -> Measure:
    over = len(
        {one.t // 86_400_000 for each in record.histories for one in each.of("alert") if one.fields.get("kind") == "over_budget"}
    )
    return judged("days over budget", counted(record, over), "days", "alerts over_budget", "0", lambda v: v == 0, "[loop.budget]")


def _audits(record: Record) -> Measure:
    items = sum(count for _, count in record.marks)
    value = sum(mean * count for mean, count in record.marks) / items if items else None
    return Measure("audit score", value, "of 5", f"{items} items in {len(record.marks)} audits", HUMAN)


_ALL: tuple[Callable[[Record], Measure], ...] = (
    *(_success, _time, _compliance, _waste, _trips),
    *(_first_fix, _regression, _per_task),
    *(_blocked, _beyond, _restored),
    *(_availability, _mttr, _state_loss, _hangs, _budget),
    _audits,
)


def outcomes(iterations: Iterable[Iteration]) -> Counter[str]:
    """How iterations ended."""
    return Counter(one.outcome for one in iterations)


def exits(runs: Iterable[Run]) -> Counter[str]:
    """Why runs ended."""
    return Counter(f"{one.status}: {one.reason}" if one.reason != one.status else one.status for one in runs if one.ended)
