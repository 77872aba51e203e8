"""Budget: what the spending of a day leaves to a loop. Spending makes loops slower and cheaper before it stops them."""

from __future__ import annotations

from typing import NamedTuple

from guard.fleet.ledger import CHEAPEST, CRITICAL, ORDINARY, RESERVE

DEGRADED, SPENT = 80, 100  # percent of what ordinary calls share
PART = 5  # a fifth of the total is the reserve, if a loop is critical
ECONOMY, WAIT = 1, 0


class Room(NamedTuple):
    """The level at which a loop may work, WAIT for not at all; the pool that pays; the percentage spent; why."""

    level: int
    pool: str
    percent: int
    why: str = ""


def room(total: int, ordinary: int, reserve: int, critical: bool, role: str, level: int) -> Room:
    """What is left of a total for a loop with this role and level. More spending never gives a higher level.

    `ordinary` and `reserve` are what each pool has paid, in the total's unit; `critical`: some loop is.
    """
    share = total * (PART - 1 if critical else PART)  # of what ordinary calls have, times PART
    percent = 100 * PART * ordinary // share
    if percent < DEGRADED:
        return Room(level, ORDINARY, percent)
    if percent < SPENT:
        return Room(ECONOMY, ORDINARY, percent, f"{percent} % of the day's budget is spent")
    if role == CHEAPEST:
        return Room(ECONOMY, ORDINARY, percent, "the day's budget is spent: only the cheapest loop goes on")
    if role == CRITICAL and PART * reserve < total:
        return Room(ECONOMY, RESERVE, percent, "the day's budget is spent: critical loops go on from the reserve")
    return Room(WAIT, ORDINARY, percent, "the day's budget is spent")
