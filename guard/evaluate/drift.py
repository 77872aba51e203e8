"""Drift: is the work of one period worse than that of another, beyond what chance gives?

One measure alone is noise, several that worsen together are a signal. So each row has a floor below which nothing is said, and
the conclusion looks at all rows at once: how often random exchanges of items between the periods give as large a sum of
worsenings.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from statistics import fmean, pstdev

from guard.evaluate import statistics

FEWEST = 20  # items a side below which nothing is concluded
ROUNDS = 10_000  # random exchanges
CHANCE = 0.05  # probability below which something is not taken for chance
TOGETHER = 2  # rows beyond their floors that it takes at least
STABLE, SLIGHT, SIGNIFICANT, TOO_FEW = "stable", "slight", "significant", "too few"
RATE, AMOUNT, DISTRIBUTION = "rate", "amount", "distribution"


@dataclass(frozen=True)
class Row:
    """One measure. `worse`: 1 where more of it is worse, -1 where less is.

    `floor` is in points of 100 for a rate, in parts of the earlier mean for an amount (`absolute`: in its own unit), and in
    parts of 1 for how far two distributions are apart.
    """

    name: str
    kind: str
    worse: int
    floor: float
    absolute: bool = False


ROWS = (
    Row("baseline pass rate", RATE, -1, 5),
    Row("first-fix rate", RATE, -1, 5),
    Row("attempts per completed task", AMOUNT, 1, 0.4, absolute=True),
    Row("tokens per completed task", AMOUNT, 1, 0.25),
    Row("duration", AMOUNT, 1, 0.25),
    Row("reverted rate", RATE, 1, 5),
    Row("trips per 100 iterations", RATE, 1, 5),
    Row("refusals per 100 iterations", RATE, 1, 5),
    Row("outcomes", DISTRIBUTION, 1, 0.20),
    Row("work types", DISTRIBUTION, 1, 0.20),
)


@dataclass(frozen=True)
class Item:
    """One thing that was done: an iteration, a commit, a case. Only items of one sort are exchanged with each other.

    `values` has a number for each row that it counts in (0 or 1 for a rate), `kinds` a word for each distribution.
    """

    sort: str
    values: Mapping[str, float] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Finding:
    """What a row came to. `before` and `after` are shares, means, or None for a distribution; `shift` as its floor is meant.

    A positive shift is for the worse. `p` is corrected for the number of rows, None where there are too few items.
    """

    row: Row
    before: float | None
    after: float | None
    shift: float
    p: float | None
    verdict: str


@dataclass(frozen=True)
class Drift:
    """The comparison of two periods. `probability`: how often chance gives as large a sum of worsenings, None for too few."""

    findings: tuple[Finding, ...]
    items: tuple[int, int]
    probability: float | None
    drift: bool


def compare(
    before: Sequence[Item], after: Sequence[Item], seed: int = 0, rows: Sequence[Row] = ROWS, rounds: int = ROUNDS
) -> Drift:
    """Compares two periods. The same items and seed give the same answer."""
    measured = [_measured(row, before, after) for row in rows]
    enough = [one for one in measured if one.p is not None]
    corrected = iter(statistics.holm([one.p for one in enough if one.p is not None]))
    findings = tuple(one if one.p is None else _judged(one, next(corrected)) for one in measured)
    sizes = (len(before), len(after))
    if not enough or min(sizes) < FEWEST:
        return Drift(findings, sizes, None, False)
    beyond = sum(one.verdict in (SLIGHT, SIGNIFICANT) for one in findings)
    probability = _chance(before, after, [one.row for one in enough], rounds, Random(seed))
    return Drift(findings, sizes, probability, beyond >= TOGETHER and probability < CHANCE)


def _judged(one: Finding, p: float) -> Finding:
    slight = one.shift > one.row.floor
    verdict = STABLE if not slight else SIGNIFICANT if p < CHANCE else SLIGHT
    return Finding(one.row, one.before, one.after, one.shift, p, verdict)


def _measured(row: Row, before: Sequence[Item], after: Sequence[Item]) -> Finding:
    """A row without its verdict, `p` not yet corrected."""
    if row.kind == DISTRIBUTION:
        first, second = (Counter(item.kinds[row.name] for item in side if row.name in item.kinds) for side in (before, after))
        few = min(first.total(), second.total()) < FEWEST
        kinds = sorted(first.keys() | second.keys())
        p = None if few else statistics.chi_square([first[kind] for kind in kinds], [second[kind] for kind in kinds])
        return Finding(row, None, None, statistics.total_variation(first, second), p, TOO_FEW)
    xs, ys = ([item.values[row.name] for item in side if row.name in item.values] for side in (before, after))
    one, two = (fmean(values) if values else None for values in (xs, ys))
    shift = 0.0 if one is None or two is None else _shift(row, one, two)
    return Finding(row, one, two, shift, None if min(len(xs), len(ys)) < FEWEST else _p(row, xs, ys), TOO_FEW)


def _shift(row: Row, before: float, after: float) -> float:
    more = row.worse * (after - before)
    if row.kind == RATE:
        return 100 * more
    if row.absolute:
        return more
    return more / before if before else math.copysign(math.inf, more) if more else 0.0


def _p(row: Row, xs: Sequence[float], ys: Sequence[float]) -> float:
    if row.kind == RATE:
        hits, others = sum(map(bool, xs)), sum(map(bool, ys))
        return statistics.fisher(hits, len(xs) - hits, others, len(ys) - others)
    return statistics.mann_whitney(xs, ys)


def _chance(before: Sequence[Item], after: Sequence[Item], rows: Sequence[Row], rounds: int, random: Random) -> float:
    """The share of random exchanges whose standardised worsenings add up to at least those of the periods as they are."""
    items, start = [*before, *after], len(before)
    scores = _scores(items, start, rows)
    columns = [[item.kinds.get(row.name, "") for item in items] for row in rows if row.kind == DISTRIBUTION]
    wholes = [Counter(kind for kind in column if kind) for column in columns]

    def measures(chosen: Sequence[int]) -> tuple[float, ...]:
        apart = []
        for column, whole in zip(columns, wholes, strict=True):
            second = Counter([column[at] for at in chosen if column[at]])
            apart.append(statistics.total_variation(whole - second, second))
        return sum([scores[at] for at in chosen]), *apart

    observed = measures(range(start, len(items)))
    found = [measures(chosen) for chosen in _exchanges(items, start, rounds, random)]
    means = [(0.0, 1.0), *((fmean(values), pstdev(values) or 1.0) for values in list(zip(*found, strict=True))[1:])]

    def total(values: Sequence[float]) -> float:
        return sum((value - mean) / spread for value, (mean, spread) in zip(values, means, strict=True))

    level = total(observed) - 1e-9
    return sum(total(values) >= level for values in found) / rounds


def _scores(items: Sequence[Item], start: int, rows: Sequence[Row]) -> list[float]:
    """What each item adds to the sum of the rows' standardised worsenings where it lies in the later period.

    Amounts count by their ranks, so that one of them cannot outweigh all others.
    """
    scores = [0.0] * len(items)
    for row in rows:
        present = [at for at, item in enumerate(items) if row.name in item.values]
        if row.kind == DISTRIBUTION or not present:
            continue
        values = [items[at].values[row.name] for at in present]
        if row.kind == AMOUNT:
            values = statistics.ranks(values)[0]
        mean, spread = fmean(values), pstdev(values)
        later = sum(at >= start for at in present)
        earlier = len(present) - later
        if not spread or not later or not earlier:
            continue
        scale = row.worse * math.sqrt(1 / earlier + 1 / later) / spread
        for at, value in zip(present, values, strict=True):
            scores[at] += scale * (value - mean)
    return scores


def _exchanges(items: Sequence[Item], start: int, rounds: int, random: Random) -> Iterator[list[int]]:
    """Which items lie in the later period after each random exchange: as many of each sort as before."""
    sorts: dict[str, list[int]] = {}
    for at, item in enumerate(items):
        sorts.setdefault(item.sort, []).append(at)
    sizes = [(group, sum(at >= start for at in group)) for group in sorts.values()]
    for _ in range(rounds):
        yield [at for group, size in sizes for at in random.sample(group, size)]
