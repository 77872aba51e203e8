"""Storms: the same notice of the same loop goes out at most once in ten minutes; what came meanwhile is told once, after them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from guard.notify.notice import Notice

QUIET_MS = 600_000
MOST = 1000  # keys that are remembered
Key = tuple[str, str, str]


@dataclass(frozen=True)
class Silence:
    """One kind of notice that went out. `held`: the last one that was held back since, with how many there were."""

    since: int
    held: Notice | None = None


@dataclass
class Calm:
    """What went out, and what is held back. Times are UTC milliseconds."""

    silences: dict[Key, Silence] = field(default_factory=dict)

    def admit(self, notice: Notice) -> Notice | None:
        """The notice, if it goes out now; None where it is held back."""
        known = self.silences.get(notice.key)
        if known is None or not 0 <= notice.t - known.since < QUIET_MS:
            before = known.held.count if known is not None and known.held is not None else 0
            self.silences[notice.key] = Silence(notice.t)
            self._forget()
            return replace(notice, count=notice.count + before)
        count = notice.count + (known.held.count if known.held is not None else 0)
        self.silences[notice.key] = Silence(known.since, replace(notice, count=count))
        return None

    def due(self, t: int) -> Iterable[Notice]:
        """The digests whose ten minutes are over: each is given once, and its own ten minutes begin."""
        for key, one in list(self.silences.items()):
            if t - one.since >= QUIET_MS or t < one.since:
                if one.held is not None:
                    self.silences[key] = Silence(t)
                    yield one.held
                else:
                    del self.silences[key]

    def next_due(self) -> int | None:
        """When the next digest goes out; None where nothing is held back."""
        return min((one.since + QUIET_MS for one in self.silences.values() if one.held is not None), default=None)

    def _forget(self) -> None:
        idle = [key for key, one in self.silences.items() if one.held is None]
        for key in idle[: max(0, len(self.silences) - MOST)]:
            del self.silences[key]
