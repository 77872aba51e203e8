"""Drift is found where several measures worsen together, and hardly ever where nothing has changed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from random import Random

import pytest

from guard.evaluate import drift
from guard.evaluate.drift import Item, Row

SEEDS = int(os.environ.get("GUARD_DRIFT_SEEDS", "12"))  # 200 by hand
ROUNDS = 10_000 if SEEDS >= 200 else 1_000
EIGHT = tuple(Row(f"rate {number}", drift.RATE, -1, 5) for number in range(8))


def period(random: Random, size: int, rates: Sequence[float]) -> list[Item]:
    return [Item("case", {f"rate {at}": float(random.random() < rate) for at, rate in enumerate(rates)}) for _ in range(size)]


def found(seed: int, worse: int) -> bool:
    random = Random(seed)
    before, after = period(random, 60, [0.9] * 8), period(random, 60, [0.75] * worse + [0.9] * (8 - worse))
    return drift.compare(before, after, seed, EIGHT, ROUNDS).drift


def test_what_is_planted_is_found_and_nothing_else() -> None:
    planted = sum(found(seed, 6) for seed in range(SEEDS)) / SEEDS
    false = sum(found(seed, 0) for seed in range(SEEDS)) / SEEDS
    assert planted >= 0.9, planted
    assert false <= 0.07 + (SEEDS < 200) * 0.1, false


def test_one_measure_alone_is_noise() -> None:
    before, after = period(Random(1), 60, [0.95] * 8), period(Random(1), 60, [0.2] + [0.95] * 7)
    answer = drift.compare(before, after, rows=EIGHT, rounds=500)
    assert answer.findings[0].verdict == drift.SIGNIFICANT
    assert [one.verdict for one in answer.findings[1:]] == [drift.STABLE] * 7
    assert not answer.drift


def test_too_few_items_conclude_nothing() -> None:
    answer = drift.compare(period(Random(1), 19, [1.0] * 8), period(Random(2), 60, [0.0] * 8), rows=EIGHT)
    assert {one.verdict for one in answer.findings} == {drift.TOO_FEW}
    assert (answer.probability, answer.drift, answer.items) == (None, False, (19, 60))
    assert drift.compare([], []).probability is None


ATTEMPTS, TOKENS, RATE, KINDS = (
    next(row for row in drift.ROWS if row.name == name)
    for name in ("attempts per completed task", "tokens per completed task", "reverted rate", "outcomes")
)


def items(row: Row, values: Sequence[float | str]) -> list[Item]:
    if row.kind == drift.DISTRIBUTION:
        return [Item("x", kinds={row.name: str(value)}) for value in values]
    return [Item("x", {row.name: float(value)}) for value in values]


@pytest.mark.parametrize(
    ("row", "before", "after", "shift", "verdict"),
    [
        (ATTEMPTS, [1] * 30, [1.4] * 30, 0.4, drift.STABLE),
        (ATTEMPTS, [1] * 30, [1.5] * 30, 0.5, drift.SIGNIFICANT),
        (ATTEMPTS, [1.5] * 30, [1] * 30, -0.5, drift.STABLE),
        (ATTEMPTS, [1] * 19 + [2], [1] * 10 + [2] * 10, 0.45, drift.SIGNIFICANT),
        (TOKENS, [100] * 30, [125] * 30, 0.25, drift.STABLE),
        (TOKENS, [100] * 30, [126] * 30, 0.26, drift.SIGNIFICANT),
        (TOKENS, [0] * 30, [1] * 30, float("inf"), drift.SIGNIFICANT),
        (RATE, [0] * 20, [0] * 19 + [1], 5, drift.STABLE),
        (RATE, [0] * 20, [0] * 18 + [1, 1], 10, drift.SLIGHT),
        (RATE, [0] * 20, [1] * 20, 100, drift.SIGNIFICANT),
        (KINDS, ["ok"] * 30, ["ok"] * 24 + ["failed"] * 6, 0.2, drift.STABLE),
        (KINDS, ["ok"] * 30, ["ok"] * 20 + ["failed"] * 10, 1 / 3, drift.SIGNIFICANT),
    ],
)
def test_floors(row: Row, before: list[float], after: list[float], shift: float, verdict: str) -> None:
    [one] = drift.compare(items(row, before), items(row, after), rows=[row], rounds=50).findings
    assert one.shift == pytest.approx(shift)
    assert one.verdict == verdict


def test_the_same_seed_gives_the_same_answer() -> None:
    before, after = period(Random(1), 60, [0.9] * 8), period(Random(3), 60, [0.89] * 8)
    answers = [drift.compare(before, after, seed, EIGHT, 300) for seed in (7, 7, 8)]
    assert answers[0] == answers[1]
    assert answers[0].probability != answers[2].probability


def test_only_items_of_one_sort_are_exchanged() -> None:
    """Cases that were all good before and after stay on their side, whatever iterations do."""
    row, other = EIGHT[:2]
    before = [*period(Random(1), 40, [0.5])] + [Item("other", {other.name: 1.0}) for _ in range(5)]
    after = [*period(Random(2), 40, [0.5])] + [Item("other", {other.name: 1.0}) for _ in range(55)]
    chosen = next(iter(drift._exchanges([*before, *after], len(before), 1, Random(1))))
    sorts = [[*before, *after][at].sort for at in chosen]
    assert (sorts.count("case"), sorts.count("other")) == (40, 55)
    assert drift.compare(before, after, rows=[row, other], rounds=50).findings[1].p is None
