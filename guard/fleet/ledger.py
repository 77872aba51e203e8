"""Ledger: the calls of all loops that share it, when they were reserved and what they spent. Its stores are sqlite and redis."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
KEPT = 100_000  # calls: no limit of an hour is larger, so that the newest of them decide at any time, also after clock moves
MILLIONTHS = 1_000_000  # of a US dollar, in which amounts are kept: their sums are exact
NORMAL, CHEAPEST, CRITICAL = "normal", "cheapest", "critical"
ORDINARY, RESERVE = "ordinary", "reserve"


class Away(Exception):
    """The ledger does not answer now. Its text says why; no secret is in it."""


class Lost(Exception):
    """The ledger has forgotten calls that it had confirmed."""


class Entry(NamedTuple):
    """A call: when it was reserved (UTC milliseconds), its tokens, millionths of a US dollar, and the pool that pays."""

    id: str
    loop: str
    t: int
    tokens: int = 0
    cost: int = 0
    pool: str = ORDINARY


class Ask(NamedTuple):
    """A call that wants to start. `limit` of all loops in an hour; `before`: a call of this loop that the ledger has to know."""

    id: str
    loop: str
    limit: int
    pool: str = ORDINARY
    before: str = ""


class Answer(NamedTuple):
    """May it start? The ledger's time, how many calls counted before it, when the next may start, how many loops there are."""

    ok: bool
    t: int
    used: int
    free_at: int | None
    loops: int


class Standing(NamedTuple):
    """What was spent since a moment, as (tokens, millionths): out of each pool, and by the loop that asks."""

    t: int
    ordinary: tuple[int, int]
    reserve: tuple[int, int]
    own: tuple[int, int]
    critical: bool
    loops: int


class Ledger(Protocol):
    """What a store of the ledger does. Every method raises Away; those that write raise GuardError where nothing can be kept."""

    def now(self) -> int:
        """The time by which all loops of the ledger count, UTC milliseconds."""
        ...

    def reserve(self, ask: Ask) -> Answer:
        """Reserves a call if fewer than its limit count. It is kept for good before this returns. Raises Lost."""
        ...

    def put(self, entries: Iterable[Entry]) -> None:
        """Keeps what calls spent, and calls that the ledger does not know. Doing it twice changes nothing."""
        ...

    def standing(self, loop: str, role: str, since: int) -> Standing:
        """What was spent since a moment. The loop is one of the ledger's for a day from now on."""
        ...

    def count(self) -> int:
        """How many calls count now."""
        ...

    def close(self) -> None:
        """Ends the use of it."""
        ...


def free_at(times: list[int], limit: int) -> int | None:
    """When a call may start by the times of those that count, in any order; None for now."""
    return None if len(times) < limit else sorted(times)[len(times) - limit] + HOUR_MS
