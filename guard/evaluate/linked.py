"""Linked actions: what follows where an evaluation goes badly. A table, off unless `[loop.linked]` has a threshold.

Pure: what is known goes in, what has to be done comes out. Everything here only makes a loop stricter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields

CONFIRM, ECONOMY = 2, 1  # the levels that are gone down to
FEWEST = 10  # commits below which a share of them says nothing
DAY_MS = 86_400_000
APART_MS = (6 * DAY_MS, 15 * DAY_MS)  # how far audits of two successive weeks are apart


@dataclass(frozen=True)
class Thresholds:
    """`[loop.linked]`: shares of 100, a mean of scores; None for off."""

    reverts: int | None = None
    baseline: int | None = None
    audit: float | None = None
    classification: int | None = None

    def __bool__(self) -> bool:
        return any(getattr(self, each.name) is not None for each in fields(self))


@dataclass(frozen=True)
class Known:
    """What evaluations have found so far. Times are UTC milliseconds.

    `commits` of the last week, and those of them that were taken back within a day; the last saved baseline: when, and its
    percentage; every audit: when, and its mean; how far the kinds of work of this week and of the one four weeks ago are apart
    (of 1), None with too few of them, and a name for the week.
    """

    level: int = 3
    commits: int = 0
    reverted: Sequence[str] = ()
    baseline: tuple[int, float] | None = None
    audits: Sequence[tuple[int, float]] = ()
    apart: float | None = None
    week: str = ""


@dataclass(frozen=True)
class Action:
    """What has to be done: go down to `level`, or `pause`, or only warn. `evidence`: the same one leads to it once."""

    rule: str
    reason: str
    evidence: str
    level: int | None = None
    pause: bool = False

    @property
    def name(self) -> str:
        """What it is called in the journal."""
        return "pause" if self.pause else f"level {self.level}" if self.level is not None else "alert"


def strictest(found: Sequence[Thresholds]) -> Thresholds:
    """The strictest of each that any of them has."""

    def chosen(name: str, choose: Callable[..., float]) -> float | None:
        given = [getattr(one, name) for one in found if getattr(one, name) is not None]
        return choose(given) if given else None

    lowest = {name: chosen(name, min) for name in ("reverts", "classification")}
    highest = {name: chosen(name, max) for name in ("baseline", "audit")}
    return Thresholds(**lowest, **highest)  # type: ignore[arg-type]


def actions(wanted: Thresholds, known: Known) -> list[Action]:
    """What has to be done, in the order of the table."""
    return [action for rule in _RULES for action in rule(wanted, known)]


def _reverts(wanted: Thresholds, known: Known) -> Iterator[Action]:
    """Too much of a week's work was taken back: a person confirms each change."""
    if wanted.reverts is None or known.commits < FEWEST:
        return
    share = 100 * len(known.reverted) / known.commits
    if share > wanted.reverts:
        reason = f"{len(known.reverted)} of {known.commits} commits of a week were taken back: more than {wanted.reverts} %"
        yield Action("reverts", reason, " ".join(sorted(one[:12] for one in known.reverted)), CONFIRM)


def _baseline(wanted: Thresholds, known: Known) -> Iterator[Action]:
    """Known cases fail: nothing goes on until a person has looked."""
    if wanted.baseline is None or known.baseline is None:
        return
    t, score = known.baseline
    if score < wanted.baseline:
        reason = f"the baseline is at {score:.1f} %, below {wanted.baseline} %: investigate"
        yield Action("baseline", reason, str(t), pause=True)


def _audit(wanted: Thresholds, known: Known) -> Iterator[Action]:
    """People found the work poor two weeks running: a level less, until they have looked at all of it."""
    if wanted.audit is None or not known.audits:
        return
    last = known.audits[-1][0]
    before = [t for t, _ in known.audits if APART_MS[0] <= last - t <= APART_MS[1]]
    means = [mean for t, mean in known.audits if before and t >= before[-1]]
    if means and all(mean < wanted.audit for mean in means):
        told = " and ".join(f"{mean:.2f}" for mean in (means[0], means[-1]))
        reason = f"audits of two weeks have means of {told}, below {wanted.audit:g}: audit everything (guard eval audit)"
        yield Action("audit", reason, str(last), max(ECONOMY, known.level - 1))


def _classification(wanted: Thresholds, known: Known) -> Iterator[Action]:
    """The work is of other kinds than it was: something has changed, and somebody should find out what."""
    if wanted.classification is not None and known.apart is not None and 100 * known.apart > wanted.classification:
        reason = (
            f"the kinds of work are {100 * known.apart:.0f} % apart from four weeks ago, more than "
            f"{wanted.classification} %: find what it is due to (guard eval drift, guard eval replay)"
        )
        yield Action("classification", reason, known.week)


_RULES: tuple[Callable[[Thresholds, Known], Iterator[Action]], ...] = (_reverts, _baseline, _audit, _classification)
