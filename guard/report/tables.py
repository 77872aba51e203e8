"""Tables of a report besides its objectives: what is watched in every iteration, loop by loop, what evaluations led to."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from guard.loop import alerts as watched
from guard.report import measures as of
from guard.report.history import Iteration
from guard.report.measures import Record
from guard.report.section import Section
from guard.shown import visible

SCARCE = 20  # percent of the calls of an hour


@dataclass(frozen=True)
class Watch:
    """A number that every iteration is watched by: how it stood in the period, and when it alerts."""

    name: str
    value: Callable[[Sequence[Iteration]], str]
    alert: str  # as people read it
    kind: str  # of the alert


def _longest(found: Sequence[Iteration], idle: Callable[[Iteration], bool]) -> int:
    """The longest row of iterations of which something holds."""
    return max((sum(1 for _ in group) for holds, group in itertools.groupby(found, idle) if holds), default=0)


def _rate(found: Sequence[Iteration]) -> str:
    ran = [(one.tests.passed, one.tests.passed + one.tests.failed) for one in found if one.tests is not None]
    shares = [100 * passed / whole for passed, whole in ran if whole]
    return f"{shares[-1]:.0f} % at the end, {min(shares):.0f} % at worst" if shares else "-"


def _errors(found: Sequence[Iteration]) -> str:
    lines = [len(one.reply.errors) for one in found]
    return f"{fmean(lines):.1f} lines on average, {max(lines)} at most"


def _work(count: Callable[[Iteration], int]) -> Callable[[Sequence[Iteration]], str]:
    """How much of something there was, and the longest row of iterations without any."""

    def told(found: Sequence[Iteration]) -> str:
        return f"{sum(map(count, found)):,}; {_longest(found, lambda one: not count(one))} iterations in a row without"

    return told


def _score(found: Sequence[Iteration]) -> str:
    return f"{fmean(one.score for one in found):+.1f} on average; {_longest(found, lambda one: one.score < 0)} in a row below 0"


def _left(found: Sequence[Iteration]) -> str:
    left = [(one.limit - one.used, one.limit) for one in found if one.limit]
    fewest = min(left, key=lambda one: one[0] / one[1], default=None)
    return f"{fewest[0]} of {fewest[1]} at the fewest" if fewest is not None else "-"


WATCHES: tuple[Watch, ...] = (
    Watch(
        "iterations on one task",
        lambda found: f"{max(one.attempt for one in found)} at most",
        f"more than {watched.LONG_TASK}",
        "same_task",
    ),
    Watch("tasks completed", _work(lambda one: len(one.completed)), f"none in {watched.ROW}", "nothing_completed"),
    Watch("files modified", _work(lambda one: one.files.meaningful), f"none in {watched.ROW}", "no_file"),
    Watch("test pass rate", _rate, f"falls {watched.ROW} times in a row", "pass_rate"),
    Watch("error frequency", _errors, f"rises {watched.ROW} times in a row", "errors"),
    Watch("output volume", lambda found: f"{median(one.reply.lines for one in found):g} lines, median", "70 % less", "output"),
    Watch("API calls left", _left, f"less than {SCARCE} %", "calls_left"),
    Watch("progress score", _score, f"below 0 {watched.ROW} times in a row", "score"),
)


def watches(record: Record) -> Section:
    """What is watched in every iteration, with the alerts that it gave."""
    counts, found = of.alerts(record), sorted(record.iterations, key=lambda one: one.began)
    rows = [(one.name, one.value(found), one.alert, f"{counts[one.kind]:,}") for one in WATCHES] if found else []
    return Section("Watched in every iteration", ("metric", "in this period", "alerts when", "alerts"), tuple(rows), (3,))


def loops(record: Record) -> Section | None:
    """Each loop by itself; None where there is only one."""
    if len(record.histories) < 2:
        return None
    rows = []
    for each in record.histories:
        alone = Record((each,), since=record.since, until=record.until)
        found = alone.iterations
        good = of.per(sum(one.good for one in found), len(found))
        last = max(each.runs, key=lambda one: one.began, default=None)
        row = [
            f"{len(found):,}",
            f"{good:.0f} %" if good is not None else "-",
            f"{sum(len(one.completed) for one in found):,}",
            f"{of.trips(alone).total():,}",
            f"{of.refusals(alone).total():,}",
            f"{sum(one.tokens for one in found):,}",
        ]
        rows.append((visible(each.loop), *row, (last.status or "at work") if last is not None else "-"))
    columns = ("loop", "iterations", "success", "tasks done", "trips", "refusals", "tokens", "last run")
    return Section("Loop by loop", columns, tuple(rows), (1, 2, 3, 4, 5, 6))


def linked(record: Record) -> Section | None:
    """What evaluations led to; None for nothing."""
    if not record.linked:
        return None
    rows = tuple(
        (time.strftime("%Y-%m-%d %H:%M", time.localtime(t / 1000)), action, visible(reason))
        for t, action, reason in record.linked
    )
    return Section("Linked actions", ("when", "action", "because"), rows, note="What evaluations led to by [loop.linked].")


def counted(name: str, counts: Counter[str], most: int) -> Section:
    """How often each of some things was."""
    whole = counts.total()
    rows = tuple((visible(key), f"{count:,}", f"{100 * count / whole:.0f} %") for key, count in counts.most_common(most))
    more = len(counts) - most
    return Section(name.capitalize(), (name, "count", "share"), rows, (1, 2), f"and {more} more" if more > 0 else "", short=True)
