"""Calls and tokens of a rolling hour, waits for the client's own limit, retries of calls, and the limits of a run."""

from __future__ import annotations

import zlib

from guard.loop.events import CallEnded
from guard.loop.facts import UsageLimit
from guard.loop.outcome import is_failed
from guard.loop.record import replace
from guard.loop.state import Reservation, Run, State

HOUR_MS = 3_600_000
WARNING = 80  # percent of the calls from which on each counts twice
SCARCE = 20  # percent of the calls left below which there is an alert
RETRIES_S = (5, 20, 60)  # waits before a call is repeated within its iteration
TRANSPORT = ("408", "425", "429", "overloaded", "server_error", "refused", "reset", "EAGAIN", "ENOMEM", "ETXTBSY")
SHORT_WAIT_S = 300  # for a limit that should be over
LONG_WAIT_S = 3600  # for one that does not say when it ends
SHORT_WAITS = 12  # in a row, with which a run ends
FAR_S = 8 * 86400  # a reset time further off is not believed
SPREAD_S = 60  # loops that wait for the same moment go on within this time
ECONOMY_S = 600  # between two calls at level 1
ECONOMY = 1


def kept(window: tuple[Reservation, ...], t: int) -> tuple[Reservation, ...]:
    """The reservations that count at a time: those of the last hour, and those that lie in the future."""
    return tuple(one for one in window if one.t > t - HOUR_MS)


def used(state: State, t: int) -> int:
    """How many calls count at a time."""
    return sum(one.t > t - HOUR_MS for one in state.window)


def tokens_used(state: State, t: int) -> int:
    """How many tokens count at a time."""
    return sum(one.tokens for one in state.window if one.t > t - HOUR_MS)


def tokens_out(state: State, t: int) -> bool:
    """Are the tokens of the hour used up?"""
    return 0 < state.config.tokens_per_hour <= tokens_used(state, t)


def left(state: State, t: int) -> int:
    """How many calls may still be started."""
    return max(0, state.config.calls_per_hour - used(state, t))


def warned(state: State, t: int) -> bool:
    """Do so many calls count that the rest should go to the most valuable work?"""
    return 100 * used(state, t) >= WARNING * state.config.calls_per_hour


def scarce(state: State, t: int) -> bool:
    """Are fewer than a fifth of the calls left?"""
    return 100 * left(state, t) < SCARCE * state.config.calls_per_hour


def free_at(state: State, t: int) -> int | None:
    """When a call may start by calls and tokens of the hour: None for now, else UTC milliseconds."""
    window = sorted(kept(state.window, t), key=lambda one: one.t)
    config, times = state.config, []
    if len(window) >= config.calls_per_hour:
        times.append(window[len(window) - config.calls_per_hour].t + HOUR_MS)
    total = sum(one.tokens for one in window)
    if config.tokens_per_hour and total >= config.tokens_per_hour:
        for one in window:
            total -= one.tokens
            if total < config.tokens_per_hour:
                times.append(one.t + HOUR_MS)
                break
    if state.level == ECONOMY and state.window and state.window[-1].t <= t < state.window[-1].t + ECONOMY_S * 1000:
        times.append(state.window[-1].t + ECONOMY_S * 1000)
    # A clock that was set back leaves reservations in the future: they end with the hour after them.
    return max(times, default=None)


def is_transport(ended: CallEnded) -> bool:
    """Did a call fail on its way, not by what the agent did?"""
    status = ended.api_status
    passing = status in TRANSPORT or (len(status) == 3 and status.startswith("5") and status.isdigit())
    return passing and is_failed(ended) and ended.ended == "self" and ended.limit is None


def retry_after(state: State, ended: CallEnded, t: int) -> int | None:
    """After how many seconds a call is repeated within its iteration, if the tree is unchanged; None for not at all."""
    iteration, run = state.iteration, state.run
    if iteration is None or run is None or run.asked is not None or iteration.calls > len(RETRIES_S):
        return None
    if not is_transport(ended) or state.level == ECONOMY or warned(state, t) or free_at(state, t) is not None:
        return None
    return RETRIES_S[iteration.calls - 1]


def waited_for(state: State, limit: UsageLimit, t: int) -> State:
    """The state that knows until when the client's limit is used up."""
    ahead_s = None if limit.resets_at is None else (limit.resets_at - t) / 1000
    if ahead_s is not None and 0 < ahead_s <= FAR_S and limit.resets_at is not None:
        spread = zlib.crc32(f"{state.loop} {state.calls}".encode()) % SPREAD_S
        return replace(state, usage_until=limit.resets_at + spread * 1000, usage_kind=limit.kind, usage_waits=0, limited=True)
    unknown = ahead_s is None or ahead_s > FAR_S
    if unknown and not state.limited:
        return replace(state, usage_until=t + LONG_WAIT_S * 1000, usage_kind=limit.kind, usage_waits=0, limited=True)
    until = t + SHORT_WAIT_S * 1000
    return replace(state, usage_until=until, usage_kind=limit.kind, usage_waits=state.usage_waits + 1, limited=True)


def run_ends_at(state: State) -> int | None:
    """When the run's time is over, in UTC milliseconds."""
    return None if state.run is None else state.run.started + state.config.runtime_s * 1000


def run_over(state: State, t: int) -> str:
    """Which limit of the run is reached: iterations, runtime or cost; "" for none."""
    run, config = state.run, state.config
    if run is None:
        return ""
    if run.counted >= config.iterations:
        return "iterations"
    if t >= run.started + config.runtime_s * 1000:
        return "runtime"
    return "cost" if _spent(run, config.cost_usd) else ""


def _spent(run: Run, cap: float | None) -> bool:
    return cap is not None and run.cost_usd >= cap
