"""Statistics: the few tests that comparisons of two periods need, with the numbers that scipy gives.

All probabilities are two-sided and between 0 and 1. Every function is pure.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

EXACT = 8  # items of the smaller side up to which the distribution of ranks is counted out, as scipy does
_STEPS = 10_000  # of a series or a continued fraction, which ends long before
_TINY = 1e-300
_PRECISION = 1e-16
Z95 = 1.959963984540054  # the normal distribution's quantile for 95 %


class Interval(NamedTuple):
    """A range of values, both ends included."""

    low: float
    high: float


def fisher(a: int, b: int, c: int, d: int) -> float:
    """Fisher's exact test of a table [[a, b], [c, d]] of counts: how likely one at least as unlikely is by chance."""
    first, second, column = a + b, c + d, a + c
    weights = [
        math.comb(first, k) * math.comb(second, column - k) for k in range(max(0, column - second), min(first, column) + 1)
    ]
    observed = math.comb(first, a) * math.comb(second, c)
    return sum(one for one in weights if one <= observed) / sum(weights)


def mann_whitney(xs: Sequence[float], ys: Sequence[float]) -> float:
    """The Mann-Whitney U test: exact for few items without equals, else by the normal distribution, corrected for both."""
    if not xs or not ys:
        return 1.0
    ordered, ties = ranks([*xs, *ys])
    n, m = len(xs), len(ys)
    u = sum(ordered[:n]) - n * (n + 1) / 2
    larger = max(u, n * m - u)
    if not any(size > 1 for size in ties) and min(n, m) <= EXACT:
        return min(1.0, 2 * _tail(math.ceil(larger), n, m))
    total = n + m
    loss = sum(size**3 - size for size in ties) / (total * (total - 1))
    spread = math.sqrt(n * m / 12 * (total + 1 - loss))
    if not spread:
        return 1.0
    z = (larger - n * m / 2 - 0.5) / spread
    return min(1.0, math.erfc(z / math.sqrt(2)))


def ranks(values: Sequence[float]) -> tuple[list[float], list[int]]:
    """The rank of each value, equals sharing the mean of theirs, and the sizes of the groups of equals."""
    order = sorted(range(len(values)), key=values.__getitem__)
    found, sizes = [0.0] * len(values), []
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for at in order[start:end]:
            found[at] = (start + 1 + end) / 2
        sizes.append(end - start)
        start = end
    return found, sizes


def _tail(u: int, n: int, m: int) -> float:
    """How likely U is at least `u` where nothing distinguishes n items from m others: the share of all orders that give it."""
    counts = [1] + [0] * (n * m)
    for size in range(1, n + 1):  # the Gaussian binomial coefficient, factor by factor
        for at in range(n * m, m + size - 1, -1):
            counts[at] -= counts[at - m - size]
        for at in range(size, n * m + 1):
            counts[at] += counts[at - size]
    return sum(counts[u:]) / math.comb(n + m, n)


def chi_square(first: Sequence[int], second: Sequence[int]) -> float:
    """The test of two rows of counts over the same kinds, with Yates' correction where there are two kinds.

    Kinds that neither row has are left out; with fewer than two kinds, or an empty row, nothing can differ: 1.
    """
    columns = [(a, b) for a, b in zip(first, second, strict=True) if a + b]
    total = sum(a + b for a, b in columns)
    rows = (sum(a for a, _ in columns), sum(b for _, b in columns))
    if len(columns) < 2 or not all(rows):
        return 1.0
    value = 0.0
    for column in columns:
        for count, row in zip(column, rows, strict=True):
            expected = row * sum(column) / total
            off = abs(count - expected)
            value += (off - min(0.5, off) if len(columns) == 2 else off) ** 2 / expected
    return upper_gamma((len(columns) - 1) / 2, value / 2)


def upper_gamma(shape: float, x: float) -> float:
    """The regularised upper incomplete gamma function Q: the tail of a chi-square distribution of 2·shape degrees beyond 2·x."""
    if x <= 0:
        return 1.0
    factor = math.exp(shape * math.log(x) - x - math.lgamma(shape))
    if x < shape + 1:
        return max(0.0, 1 - factor * _series(shape, x))
    return min(1.0, factor * _fraction(shape, x))


def _series(shape: float, x: float) -> float:
    term = total = 1 / shape
    for k in range(1, _STEPS):
        term *= x / (shape + k)
        total += term
        if term < total * _PRECISION:
            break
    return total


def _fraction(shape: float, x: float) -> float:
    """Lentz's evaluation of the continued fraction."""
    b = x + 1 - shape
    c, d = 1 / _TINY, 1 / b
    value = d
    for k in range(1, _STEPS):
        a = -k * (k - shape)
        b += 2
        d = 1 / (a * d + b or _TINY)
        c = b + a / c or _TINY
        value *= c * d
        if abs(c * d - 1) < _PRECISION * 4:
            break
    return value


def holm(probabilities: Sequence[float]) -> list[float]:
    """Probabilities corrected for their number by Holm's method, in the order given."""
    order = sorted(range(len(probabilities)), key=probabilities.__getitem__)
    corrected, least = [0.0] * len(probabilities), 0.0
    for rank, at in enumerate(order):
        least = max(least, min(1.0, (len(order) - rank) * probabilities[at]))
        corrected[at] = least
    return corrected


def wilson(hits: int, total: int, z: float = Z95) -> Interval:
    """Wilson's interval for a share, 95 % unless another quantile is given; everything where nothing was counted."""
    if not total:
        return Interval(0.0, 1.0)
    share = hits / total
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total)) / (1 + z * z / total)
    return Interval(0.0 if not hits else middle - half, 1.0 if hits == total else middle + half)


def difference(hits: int, total: int, other_hits: int, other_total: int) -> Interval:
    """Newcombe's 95 % interval for how much the second share is above the first, as part of 1."""
    if not total or not other_total:
        return Interval(-1.0, 1.0)
    first, second = hits / total, other_hits / other_total
    one, two = wilson(hits, total), wilson(other_hits, other_total)
    low = second - first - math.hypot(second - two.low, one.high - first)
    high = second - first + math.hypot(two.high - second, first - one.low)
    return Interval(low, high)


def total_variation(first: Counter[str], second: Counter[str]) -> float:
    """How far two distributions over kinds are apart: 0 for the same, 1 for nothing in common."""
    one, two = first.total(), second.total()
    if not one or not two:
        return 0.0
    return sum(abs(first[kind] / one - second[kind] / two) for kind in first.keys() | second.keys()) / 2
