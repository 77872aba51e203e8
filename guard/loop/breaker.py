"""The breaker's transitions. There are no others."""

from __future__ import annotations

from guard.loop.detectors import HOLD, Detector, by_cause
from guard.loop.events import BreakerChanged
from guard.loop.record import replace
from guard.loop.settings import LONGEST_COOLDOWN_S, WATCHED
from guard.loop.state import AUTO, CLOSED, EXPLICIT, HALF_OPEN, OPEN, Breaker, Memory, State

STATE_LOST = "state_lost"
ESCALATES = 4  # the strategy that is: ask the user
ESCALATED_EXIT = 3
GRAVE = ("integrity", STATE_LOST)  # causes whose exit status stays, and that no other AI lifts


def trip(breaker: Breaker, matched: tuple[Detector, ...], base_s: int, t: int, last_error: str = "", count: int = 0) -> Breaker:
    """CLOSED to OPEN. The first row names the cause; recovery is explicit if any row demands it."""
    first, watched = matched[0], breaker.watch > 0
    explicit = watched or any(row.recovery == EXPLICIT for row in matched)
    return replace(
        breaker,
        state=OPEN,
        cause=first.cause,
        also=tuple(row.cause for row in matched[1:]),
        recovery=EXPLICIT if explicit else AUTO,
        exit=ESCALATED_EXIT if watched and first.cause not in GRAVE else first.exit,
        opened_at=t,
        cooldown_s=cooldown(base_s, breaker.doublings),
        opens=breaker.opens + 1,
        strategy=ESCALATES if watched else 1,
        escalated=watched,
        watch=0,
        probe_used=False,
        last_error=last_error,
        count=count,
    )


def lost(breaker: Breaker, base_s: int, t: int) -> Breaker:
    """OPEN because the state cannot be read or rebuilt, whatever it was."""
    row = Detector(STATE_LOST, lambda before, after, seen: 0, lambda config, seen: 1, EXPLICIT, 1)
    return trip(replace(breaker, watch=0), (row,), base_s, t)


def cooldown(base_s: int, doublings: int) -> int:
    """How long a breaker stays open: the base, doubled for each probe that failed, at most a day."""
    return min(LONGEST_COOLDOWN_S, base_s << min(doublings, 32))


def ends_at(breaker: Breaker) -> int:
    """When the cooldown is over, in UTC milliseconds."""
    return breaker.opened_at + breaker.cooldown_s * 1000


def may_probe(breaker: Breaker, t: int) -> bool:
    """Is an open breaker ready for its probe?"""
    return breaker.state == OPEN and breaker.recovery == AUTO and t >= ends_at(breaker)


def probing(breaker: Breaker) -> Breaker:
    """OPEN to HALF_OPEN: one probe is allowed."""
    return replace(breaker, state=HALF_OPEN, probe_used=False)


def closed(breaker: Breaker) -> Breaker:
    """HALF_OPEN to CLOSED. The next iterations are watched: until they have gone well, the cooldown's level stays, and the cause
    with its strategy, which their prompts name."""
    return Breaker(
        cause=breaker.cause, opens=breaker.opens, doublings=breaker.doublings, strategy=breaker.strategy, watch=WATCHED
    )


def reopened(breaker: Breaker, matched: tuple[Detector, ...], base_s: int, t: int, last_error: str = "") -> Breaker:
    """HALF_OPEN to OPEN: the probe failed. The cause stays, unless the probe matched one that demands explicit recovery."""
    demanding = [row for row in matched if row.recovery == EXPLICIT]
    doublings = breaker.doublings + 1
    strategy = min(ESCALATES, breaker.strategy + 1)
    escalated = strategy == ESCALATES
    cause = demanding[0].cause if demanding else breaker.cause
    exit_ = demanding[0].exit if demanding else breaker.exit
    standing = () if cause == breaker.cause else (breaker.cause,)
    others = tuple(row.cause for row in matched if row.cause != cause)
    return replace(
        breaker,
        state=OPEN,
        cause=cause,
        also=tuple(dict.fromkeys((*standing, *breaker.also, *others))),
        recovery=EXPLICIT if escalated or demanding or breaker.recovery == EXPLICIT else AUTO,
        exit=ESCALATED_EXIT if escalated and cause not in GRAVE else exit_,
        opened_at=t,
        cooldown_s=cooldown(base_s, doublings),
        doublings=doublings,
        strategy=strategy,
        escalated=escalated,
        probe_used=False,
        last_error=last_error or breaker.last_error,
    )


def worked(breaker: Breaker, score: int) -> Breaker:
    """CLOSED after an iteration: one with a score above 0 is one less to watch; after the last everything starts over."""
    if breaker.state != CLOSED or not breaker.watch or score <= 0:
        return breaker
    watch = breaker.watch - 1
    return replace(breaker, watch=watch) if watch else Breaker(opens=breaker.opens)


def resumed(breaker: Breaker) -> Breaker:
    """OPEN to OPEN by a person or another AI: recovery is auto; the rest of the cooldown still runs."""
    row = by_cause(breaker.cause)
    exit_ = row.exit if row is not None and row.recovery != HOLD else breaker.exit
    return replace(breaker, recovery=AUTO, escalated=False, exit=exit_)


def reset(breaker: Breaker, to_closed: bool) -> Breaker:
    """By a person, with a reason: to HALF_OPEN with the cooldown's level kept, or to CLOSED with everything at 0.

    What demands a person goes on to do so: a probe that fails has not shown that the cause is gone.
    """
    if to_closed:
        return Breaker(opens=breaker.opens, watch=WATCHED)
    return replace(breaker, state=HALF_OPEN, escalated=False, probe_used=False)


def forgotten(state: State) -> State:
    """The state with counters and windows at 0."""
    return replace(state, memory=Memory())


def changed(before: Breaker, after: Breaker, actor: str = "", reason: str = "") -> BreakerChanged:
    """The event that records a transition."""
    return BreakerChanged(
        before=before.state,
        after=after.state,
        cause=after.cause or before.cause,
        also=after.also,
        recovery=after.recovery,
        cooldown_s=after.cooldown_s,
        opens=after.opens,
        strategy=after.strategy,
        escalated=after.escalated,
        watch=after.watch,
        last_error=after.last_error,
        count=after.count,
        actor=actor,
        reason=reason,
    )
