"""What the spending of a day leaves to a loop, and when a day begins and ends."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.fleet import day
from guard.fleet.budget import room
from guard.fleet.ledger import CHEAPEST, CRITICAL, NORMAL, ORDINARY, RESERVE

HOUR = 3_600_000
ROLES = (NORMAL, CHEAPEST, CRITICAL)


@pytest.mark.parametrize(
    ("ordinary", "critical", "level"),
    [
        (0, False, 3),
        (799, False, 3),  # just below 80 % of 1,000
        (800, False, 1),
        (999, False, 1),
        (1000, False, 0),
        (639, True, 3),  # just below 80 % of the 800 that a reserve leaves
        (640, True, 1),
        (799, True, 1),
        (800, True, 0),
    ],
)
def test_an_ordinary_loop_degrades_at_80_and_waits_at_100_percent(ordinary: int, critical: bool, level: int) -> None:
    assert room(1000, ordinary, 0, critical, NORMAL, 3).level == level


@pytest.mark.parametrize(
    ("role", "reserve", "found"),
    [
        (CHEAPEST, 0, (1, ORDINARY)),
        (CHEAPEST, 200, (1, ORDINARY)),
        (CRITICAL, 0, (1, RESERVE)),
        (CRITICAL, 199, (1, RESERVE)),  # a fifth of 1,000
        (CRITICAL, 200, (0, ORDINARY)),
        (NORMAL, 0, (0, ORDINARY)),
    ],
)
def test_a_spent_budget_leaves_the_cheapest_and_the_reserve(role: str, reserve: int, found: tuple[int, str]) -> None:
    assert room(1000, 800, reserve, True, role, 3)[:2] == found


def test_the_reserve_is_for_critical_loops_only_once_the_rest_is_spent() -> None:
    assert room(1000, 799, 0, True, CRITICAL, 3).pool == ORDINARY


def test_level_2_is_kept_below_80_percent() -> None:
    assert room(1000, 799, 0, False, NORMAL, 2).level == 2
    assert room(1000, 800, 0, False, NORMAL, 2).level == 1


SPENT = st.integers(0, 3000)


@given(st.integers(1, 2000), SPENT, SPENT, st.integers(0, 500), st.booleans(), st.sampled_from(ROLES), st.integers(1, 3))
def test_more_spending_never_gives_more(
    total: int, ordinary: int, reserve: int, more: int, critical: bool, role: str, level: int
) -> None:
    now = room(total, ordinary, reserve, critical, role, level)
    assert now.level <= level
    assert room(total, ordinary + more, reserve, critical, role, level).level <= now.level
    assert room(total, ordinary, reserve + more, critical, role, level).level <= now.level


@pytest.fixture
def zone(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = request.param
    time.tzset()
    yield
    os.environ.pop("TZ") if before is None else os.environ.update(TZ=before)
    time.tzset()


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1000


@pytest.mark.parametrize(
    ("zone", "noon", "start", "hours"),
    [
        ("UTC", "2026-12-01T12:00", "2026-12-01T00:00", 24),
        ("Europe/Berlin", "2026-03-29T10:00", "2026-03-28T23:00", 23),
        ("Europe/Berlin", "2026-10-25T11:00", "2026-10-24T22:00", 25),
        ("Africa/Cairo", "2026-04-24T09:00", "2026-04-23T22:00", 23),  # midnight itself is left out
        ("America/Havana", "2026-11-01T17:00", "2026-11-01T04:00", 25),  # there are two midnights: the first one counts
    ],
    indirect=["zone"],
)
def test_a_day_ends_at_local_midnight_also_where_clocks_change(zone: None, noon: str, start: str, hours: int) -> None:
    t = at(noon)
    assert (day.start(t), day.end(t)) == (at(start), at(start) + hours * HOUR)
    assert day.start(day.end(t) - 1) == at(start)
    assert day.start(day.end(t)) == day.end(t)
