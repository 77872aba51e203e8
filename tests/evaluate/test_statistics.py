"""The statistical tests give what scipy gives, and hold what they promise."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guard.evaluate import statistics

CLOSE = 1e-9
COUNTS = st.integers(0, 60)
ROWS = st.integers(2, 7).flatmap(lambda kinds: st.tuples(*[st.lists(COUNTS, min_size=kinds, max_size=kinds)] * 2))
VALUES = st.one_of(st.integers(1, 6), st.floats(0, 1, allow_subnormal=False))
SAMPLES = st.lists(VALUES, min_size=1, max_size=30)

scipy = pytest.importorskip("scipy.stats")


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_fisher(a: int, b: int, c: int, d: int) -> None:
    if a + b and c + d:
        assert statistics.fisher(a, b, c, d) == pytest.approx(scipy.fisher_exact([[a, b], [c, d]])[1], abs=CLOSE)


@given(SAMPLES, SAMPLES)
@settings(max_examples=200)
def test_mann_whitney(xs: list[float], ys: list[float]) -> None:
    expected = scipy.mannwhitneyu(xs, ys).pvalue
    assert statistics.mann_whitney(xs, ys) == pytest.approx(1.0 if math.isnan(expected) else expected, abs=CLOSE)


@given(ROWS)
def test_chi_square(rows: tuple[list[int], list[int]]) -> None:
    columns = [pair for pair in zip(*rows, strict=True) if sum(pair)]
    if len(columns) > 1 and all(map(sum, rows)):
        expected = scipy.chi2_contingency(list(zip(*columns, strict=True)))[1]
        assert statistics.chi_square(*rows) == pytest.approx(expected, abs=CLOSE)
    else:
        assert statistics.chi_square(*rows) == 1.0


@given(st.floats(0.5, 60), st.floats(0, 200))
def test_the_tail_of_the_gamma_distribution(shape: float, x: float) -> None:
    assert statistics.upper_gamma(shape, x) == pytest.approx(scipy.chi2.sf(2 * x, 2 * shape), abs=CLOSE)


@given(COUNTS, COUNTS)
def test_wilson(hits: int, misses: int) -> None:
    if hits + misses:
        expected = scipy.binomtest(hits, hits + misses).proportion_ci(method="wilson")
        assert statistics.wilson(hits, hits + misses) == pytest.approx((expected.low, expected.high), abs=CLOSE)


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_the_interval_of_a_difference_holds_it_and_turns_with_its_sides(a: int, b: int, c: int, d: int) -> None:
    if a + b and c + d:
        found, turned = statistics.difference(a, a + b, c, c + d), statistics.difference(c, c + d, a, a + b)
        assert found.low - CLOSE <= c / (c + d) - a / (a + b) <= found.high + CLOSE
        assert found == pytest.approx((-turned.high, -turned.low))
        assert -1 - CLOSE <= found.low <= found.high <= 1 + CLOSE


def test_the_interval_of_a_difference_as_published() -> None:
    """Newcombe 1998, method 10: 56 of 70 against 48 of 80 differ by 0.2, from 0.0524 to 0.3339."""
    assert statistics.difference(48, 80, 56, 70) == pytest.approx((0.0524, 0.3339), abs=5e-5)


@given(st.lists(st.floats(0, 1), max_size=9))
def test_holm(probabilities: list[float]) -> None:
    corrected = statistics.holm(probabilities)
    assert all(own <= one <= min(1.0, own * len(probabilities)) for own, one in zip(probabilities, corrected, strict=True))
    ordered = [one for _, one in sorted(zip(probabilities, corrected, strict=True))]
    assert ordered == sorted(ordered)
    for at, smallest in enumerate(sorted(probabilities)):
        if (len(probabilities) - at) * smallest > 0.05:  # the first that fails stops all later ones
            assert sum(one <= 0.05 for one in corrected) == at
            break


def test_distributions() -> None:
    assert statistics.total_variation(Counter(a=3, b=1), Counter(a=30, b=10)) == 0
    assert statistics.total_variation(Counter(a=1), Counter(b=7)) == 1
    assert statistics.total_variation(Counter(a=1, b=1), Counter(a=1)) == 0.5
    assert statistics.total_variation(Counter(), Counter(a=1)) == 0
