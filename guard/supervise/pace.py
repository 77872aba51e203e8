"""Pace: how long to wait before a runner is started again, and when to give up."""

from __future__ import annotations

from collections.abc import Iterable

LONGEST_S = 300.0
SETTLED_S = 60.0  # of life after which the delay is the first one again
WINDOW_MS = 3_600_000
DELAY_S, MOST = 5, 10


class Pace:
    """Delays of one supervisor: the first one, then twice as long each, up to 5 minutes. `before`: when restarts have been."""

    def __init__(self, first_s: float = DELAY_S, most: int = MOST, before: Iterable[int] = ()) -> None:
        self._first_s, self._most, self._restarts = first_s, most, list(before)
        self._last_s: float | None = None

    def after(self, lived_s: float, t: int) -> float | None:
        """Seconds to wait after a runner that lived so long; None where there have been as many restarts in the last hour as
        there may be. `t` is UTC milliseconds; restarts that seem to lie in the future count."""
        self._restarts = [each for each in self._restarts if each > t - WINDOW_MS]
        if len(self._restarts) >= self._most:
            return None
        anew = self._last_s is None or lived_s >= SETTLED_S
        self._last_s = self._first_s if anew else min(2 * (self._last_s or 0), max(self._first_s, LONGEST_S))
        return self._last_s

    def restarted(self, t: int) -> None:
        """Notes a restart."""
        self._restarts.append(t)
