"""Periods: the iterations, finished tasks, commits and baseline cases of some time, as items that can be compared."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from guard.evaluate.drift import Item
from guard.report.history import History, Iteration

WEEK_MS = 7 * 86_400_000


def items(history: History, reverted: Collection[str] = (), cases: Iterable[bool] = ()) -> list[Item]:
    """What a part of a history holds. `reverted`: commits that were taken back within a day; `cases`: what baselines said."""
    tripped = {(one.run, one.n) for one in history.of("breaker") if one.fields.get("to") == "OPEN" and one.n is not None}
    found = [_iteration(one, (one.run, one.n) in tripped) for one in history.iterations if not one.void and one.outcome]
    found += _tasks(history.iterations)
    found += [
        Item("commit", {"reverted rate": float(commit in reverted)}) for one in history.iterations for commit in one.files.commits
    ]
    return [*found, *(Item("case", {"baseline pass rate": float(passed)}) for passed in cases)]


def _iteration(one: Iteration, tripped: bool) -> Item:
    values = {
        "duration": one.duration_s,
        "trips per 100 iterations": float(tripped),
        "refusals per 100 iterations": float(bool(one.protected.refusals)),
    }
    return Item("iteration", values, {"outcomes": one.outcome, "work types": one.work})


def _tasks(iterations: Iterable[Iteration]) -> Iterator[Item]:
    """An item a finished task, with the tokens of all iterations since the last one that finished one in the same run."""
    spent: dict[str, int] = {}
    done: set[tuple[str, str]] = set()
    for one in iterations:
        spent[one.run] = spent.get(one.run, 0) + one.tokens
        fresh = [task for task in one.completed if (one.run, task) not in done]
        done |= {(one.run, task) for task in fresh}
        for task in fresh:
            attempts = one.attempt if task == one.task else 1
            values = {"first-fix rate": float(attempts == 1), "attempts per completed task": float(attempts)}
            yield Item("task", values | {"tokens per completed task": spent[one.run] / len(fresh)})
        if fresh:
            spent[one.run] = 0
