"""What a person should know of: conditions that are told once while they last, and the risk of stagnation."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

from guard.loop import completion, detectors, limits
from guard.loop.events import Alert
from guard.loop.outcome import Seen
from guard.loop.record import replace
from guard.loop.settings import Config
from guard.loop.state import HISTORY, Iteration, Memory, State, Trends

INFO, WARNING, CRITICAL = "info", "warning", "critical"
LOW, MEDIUM, HIGH = "LOW", "MEDIUM", "HIGH"
ROW = 3  # iterations in a row after which most conditions are told
LONG_TASK = 20  # iterations with the same task above which there is an alert
HINT = 10  # hundredths of risk that a hint in the text adds


@dataclass(frozen=True)
class Look:
    """What a condition looks at: the state with this iteration in it, the memory before it, the iteration."""

    state: State
    before: Memory
    iteration: Iteration
    seen: Seen
    t: int


@dataclass(frozen=True)
class Condition:
    """One row: when it holds, and the text that tells it."""

    kind: str
    severity: str
    holds: Callable[[Look], bool]
    text: Callable[[Look], str]


def _trends(look: Look) -> Trends:
    return look.state.trends


def _falls(values: tuple[int, ...]) -> bool:
    return len(values) > ROW and all(after < before for before, after in itertools.pairwise(values))


def _rises(values: tuple[int, ...]) -> bool:
    return _falls(tuple(-value for value in values))


def _shares_tests(look: Look) -> bool:
    run = look.state.run
    share = look.state.config.test_share
    return run is not None and run.counted >= completion.SHARE_FROM and 100 * run.test_focused >= share * run.counted


TABLE: tuple[Condition, ...] = (
    Condition(
        "same_task",
        WARNING,
        lambda look: bool(look.iteration.task) and look.iteration.attempt > LONG_TASK,
        lambda look: f"{look.iteration.attempt} iterations on the same task: {look.iteration.task}",
    ),
    Condition(
        "nothing_completed",
        INFO,
        lambda look: look.state.config.plan and _trends(look).idle_tasks >= ROW,
        lambda look: f"no task completed in {_trends(look).idle_tasks} iterations",
    ),
    Condition(
        "no_file",
        WARNING,
        lambda look: _trends(look).idle_files >= ROW,
        lambda look: f"no file changed meaningfully in {_trends(look).idle_files} iterations",
    ),
    Condition(
        "pass_rate",
        WARNING,
        lambda look: _falls(_trends(look).rates),
        lambda look: "the share of passing tests fell: " + ", ".join(f"{rate // 10} %" for rate in _trends(look).rates),
    ),
    Condition(
        "errors",
        WARNING,
        lambda look: _rises(_trends(look).errors),
        lambda look: "error lines became more: " + ", ".join(map(str, _trends(look).errors)),
    ),
    Condition(
        "output",
        WARNING,
        lambda look: look.seen.good and detectors.decline(look.before, look.seen) >= look.state.config.output_decline,
        lambda look: f"the reply is {detectors.decline(look.before, look.seen)} % shorter than those before",
    ),
    Condition(
        "calls_left",
        WARNING,
        lambda look: limits.scarce(look.state, look.t),
        lambda look: f"{limits.left(look.state, look.t)} of {look.state.config.calls_per_hour} calls left this hour",
    ),
    Condition(
        "score",
        WARNING,
        lambda look: _trends(look).negatives >= ROW or detectors.is_negative(look.state.memory.window),
        lambda look: "progress scores: " + ", ".join(f"{points:+d}" for points in _trends(look).history[-ROW:]),
    ),
    Condition(
        "test_share",
        INFO,
        _shares_tests,
        lambda look: f"{look.state.config.test_share} % of the iterations or more only worked on tests",
    ),
)


def followed(trends: Trends, seen: Seen, points: int) -> Trends:
    """The trends with an iteration that is not void."""
    files, tests = seen.measured.files, seen.measured.tests
    ran = tests.passed + tests.failed if tests else 0
    rates = (*trends.rates, 1000 * tests.passed // ran)[-ROW - 1 :] if tests and ran else trends.rates
    return replace(
        trends,
        idle_tasks=0 if seen.completed else trends.idle_tasks + 1,
        idle_files=0 if files.meaningful else trends.idle_files + 1,
        rates=rates,
        errors=(*trends.errors, len(seen.reply.errors))[-ROW - 1 :],
        negatives=trends.negatives + 1 if points < 0 else 0,
        history=(*trends.history, points)[-HISTORY:],
    )


def told(look: Look) -> tuple[Trends, tuple[Alert, ...]]:
    """The trends with the episodes that go on, and the alerts of those that have begun."""
    holding = [row for row in TABLE if row.holds(look)]
    others = tuple(kind for kind in look.state.trends.active if kind not in {row.kind for row in TABLE})
    new = tuple(Alert(row.kind, row.severity, row.text(look)) for row in holding if row.kind not in look.state.trends.active)
    return replace(look.state.trends, active=(*others, *(row.kind for row in holding))), new


def risk(memory: Memory, seen: Seen, config: Config) -> str:
    """LOW, MEDIUM or HIGH: the largest share of a threshold that a detector has counted, and hints of the text."""
    hundredths = HINT if seen.reply.hints else 0
    low = medium = True
    for row in detectors.TABLE:
        count, threshold = memory.count(row.cause), row.threshold(config, seen)
        share = 100 * count + hundredths * threshold
        low, medium = low and 3 * share < 100 * threshold, medium and 3 * share < 200 * threshold
    return LOW if low else MEDIUM if medium else HIGH
