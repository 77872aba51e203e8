"""Watch: whether a runner is in time, by its heartbeats. No clock, no files, no processes.

Time that counts against a runner is time that it had: what the machine slept, or this process was stopped itself, does not.
What a state without a wait may take was fixed when it was entered, whatever is done to the machine's clock afterwards; a wait is
for a moment, so the clock decides, and the runner gets the grace to act on it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from guard.loop import lifecycle
from guard.loop.heartbeat import Beat

GRACE_S = 5.0  # beyond a deadline
STALE_S = 300.0  # without a heartbeat, in states that have one every second
LOOK_MOST_S = 5.0  # that one look may add; more has passed only when nobody ran
LONGEST_S = 86400.0  # that is believed of a state without a wait
END_S = 60.0  # for a run to end
_STEADY = (lifecycle.EXECUTE, lifecycle.VERIFY, *(name for name, phase in lifecycle.TABLE.items() if phase.waits))


@dataclass(frozen=True)
class Overdue:
    """A runner that hangs: the last heartbeat's state, time and deadline (UTC milliseconds; 0 and None for none), and how many
    seconds it is late."""

    state: str
    beat: int
    deadline: int | None
    overdue_s: float


class Watch:
    """Watches one runner. `old` is the heartbeat that an earlier one has left behind; `most_s` see LOOK_MOST_S."""

    def __init__(self, elapsed: float, old: Beat | None = None, most_s: float = LOOK_MOST_S) -> None:
        self._looked, self._most_s, self._old = elapsed, most_s, old
        self._awake = 0.0  # seconds of the watch in which the runner could run
        self._ends = float(lifecycle.TABLE[lifecycle.START].lasts_s)
        self._heard = 0.0
        self._passed: float | None = None  # when the moment of a wait was first seen to be over
        self.beat: Beat | None = None

    def look(self, beat: Beat | None, now: int, elapsed: float) -> Overdue | None:
        """Says whether the runner hangs, by the last heartbeat that can be read, the time, and the clock that only goes forward.

        None where it is in time. A heartbeat that is missing or cannot be read says nothing new.
        """
        self._awake += min(max(0.0, elapsed - self._looked), self._most_s)
        self._looked = elapsed
        if beat is not None and beat not in (self._old, self.beat):
            self._take(beat, now)
        late = max(self._late(now), self._silent())
        if late <= GRACE_S:
            return None
        found = self.beat or Beat(0, lifecycle.START, None)
        return Overdue(found.state, found.at, found.deadline, round(late, 3))

    def _take(self, beat: Beat, now: int) -> None:
        if self.beat is None or (beat.state, beat.deadline) != (self.beat.state, self.beat.deadline):
            self._ends = self._awake + _lasts_s(beat, now)
            self._passed = None
        self.beat, self._heard = beat, self._awake

    def _late(self, now: int) -> float:
        """Seconds beyond the deadline; negative before it."""
        if self.beat is None or self.beat.deadline is None or not _waits(self.beat.state):
            return self._awake - self._ends
        if now <= self.beat.deadline:
            self._passed = None
            return -math.inf
        self._passed = self._awake if self._passed is None else self._passed
        return self._awake - self._passed

    def _silent(self) -> float:
        """Seconds beyond the longest silence of a state that has heartbeats all the while."""
        steady = self.beat is not None and self.beat.state in _STEADY
        return self._awake - self._heard - STALE_S if steady else -math.inf


def _waits(state: str) -> bool:
    return state in lifecycle.TABLE and lifecycle.TABLE[state].waits


def _lasts_s(beat: Beat, now: int) -> float:
    """How many seconds a state still has. A heartbeat from the future is one from before the clock was set back."""
    if beat.deadline is None:
        return END_S
    since = beat.at if beat.at > now else now
    return min(max(0.0, (beat.deadline - since) / 1000), LONGEST_S)
