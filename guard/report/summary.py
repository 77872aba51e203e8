"""Summary: a report as titles, tiles, tables and figures, whatever it is written in."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from guard.loop import durations
from guard.loop.moments import moment
from guard.report import measures as of
from guard.report import quality, tables
from guard.report.measures import Measure, Record
from guard.report.section import Section
from guard.shown import visible

NAMED = 12  # rows of a table of counts
WHOLE = 10_000  # from which on no decimals are shown


@dataclass(frozen=True)
class Figure:
    """Numbers over iterations. `marks` are places where something stopped the loop."""

    title: str
    values: tuple[float, ...]
    marks: tuple[int, ...] = ()


@dataclass(frozen=True)
class Summary:
    """A report."""

    title: str
    period: str
    tiles: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]
    figures: tuple[Figure, ...]
    notes: tuple[str, ...] = ()
    measures: tuple[Measure, ...] = ()
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    linked: tuple[tuple[int, str, str], ...] = ()


def summary(record: Record, title: str) -> Summary:
    """The report on a record."""
    found, everything = record.iterations, (*of.measures(record), *quality.measures(record))
    lost, back = of.harm(record)
    tokens, cost = sum(one.tokens for one in found), sum(one.cost_usd for one in found)
    trips = of.trips(record)
    tiles = [
        ("iterations", f"{len(found):,}"),
        ("tasks done", f"{sum(len(one.completed) for one in found):,}"),
        ("trips", f"{trips.total():,}"),
        ("refusals", f"{of.refusals(record).total():,}"),
        ("files restored", f"{back:,} of {lost:,}"),
        ("tokens", _short(tokens)),
        *([("cost", f"${cost:,.2f}")] if cost else []),
    ]
    counts = {
        "outcomes": of.outcomes(found),
        "exit reasons": of.exits(record.runs),
        "trips": trips,
        "alerts": of.alerts(record),
        "refusals": of.refusals(record),
        "overrides": of.overrides(record),
    }
    unread = sum(one.unread for one in record.histories)
    notes = [f"{unread} lines of the journals could not be read, and are not in these numbers."] if unread else []
    return Summary(
        title=visible(title),
        period=_period(record),
        tiles=tuple(tiles),
        sections=(
            _objectives(everything),
            *(each for each in (tables.linked(record), tables.loops(record)) if each is not None),
            _numbers(everything),
            tables.watches(record),
            *(tables.counted(name, each, NAMED) for name, each in counts.items()),
        ),
        figures=_figures(record),
        notes=tuple(notes),
        measures=everything,
        counts={name: dict(each) for name, each in counts.items()},
        linked=record.linked,
    )


def shown(measure: Measure) -> str:
    """The value of a measure as people read it."""
    if measure.value is None:
        return "-"
    if measure.unit == "s":
        return durations.shown(measure.value)
    number = (
        f"{measure.value:,.0f}" if measure.value == round(measure.value) or measure.value >= WHOLE else f"{measure.value:,.1f}"
    )
    return f"{number} {measure.unit}".rstrip()


def values(summary: Summary) -> dict[str, Any]:
    """The report for programs."""
    return {
        "v": 1,
        "title": summary.title,
        "period": summary.period,
        "notes": list(summary.notes),
        "measures": [{key: getattr(one, key) for key in one.__dataclass_fields__} for one in summary.measures],
        "counts": summary.counts,
        "linked": [{"t": moment(t), "action": action, "reason": reason} for t, action, reason in summary.linked],
        "figures": [{"title": one.title, "values": list(one.values), "marks": list(one.marks)} for one in summary.figures],
    }


def _objectives(everything: tuple[Measure, ...]) -> Section:
    rows = []
    for one in everything:
        if one.target:
            verdict = "no data" if one.met is None else "met" if one.met else "missed"
            rows.append((one.name, one.target, shown(one), verdict, one.evidence, one.mends))
    columns = ("objective", "target", "value", "", "evidence", "to strengthen")
    return Section("Objectives", columns, tuple(rows), (2,), "A missed objective names the mechanism to strengthen.")


def _numbers(everything: tuple[Measure, ...]) -> Section:
    rows = tuple((one.name, shown(one), one.kind, one.evidence) for one in everything if not one.target)
    note = (
        "Automatic numbers come from the journal alone, half automatic ones need feedback, human ones are marks that people gave."
    )
    return Section("Numbers", ("measure", "value", "kind", "evidence"), rows, (1,), note)


def _figures(record: Record) -> tuple[Figure, ...]:
    found = sorted(record.iterations, key=lambda one: one.began)
    tripped = tuple(at for at, one in enumerate(found) if one.decision == "trip")
    tests = [one for one in found if one.tests is not None]
    return (
        Figure("Score of each iteration (dashed: the breaker opened)", tuple(float(one.score) for one in found), tripped),
        Figure("Lines of the agent's answer", tuple(float(one.reply.lines) for one in found), tripped),
        Figure("Tests that passed", tuple(float(one.tests.passed) for one in tests if one.tests)),
        Figure("Calls of the hour before each iteration", tuple(float(one.used) for one in found)),
        Figure("Thousand tokens of each iteration", tuple(round(one.tokens / 1000, 1) for one in found), tripped),
        Figure("Minutes of each iteration", tuple(round(one.duration_s / 60, 2) for one in found)),
    )


def _short(number: int) -> str:
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / size:.1f} {letter}"
    return str(number)


def _period(record: Record) -> str:
    many = "s" * (len(record.histories) != 1)
    return f"{_moment(record.since)} to {_moment(record.until)}, {len(record.histories)} loop{many}"


def _moment(t: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(t / 1000))
