"""`guard eval`: whether a loop's work is good, and whether it gets worse."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict
from statistics import fmean
from typing import Any

import click
import msgspec

from guard import person
from guard.commands.log import moment
from guard.commands.loop_places import Place, named
from guard.commands.output import say
from guard.commands.place import world
from guard.errors import USAGE, GuardError
from guard.evaluate import audit, book, cases, drift, feedback, linking, statistics, trial
from guard.evaluate.cases import Case
from guard.evaluate.period import WEEK_MS, items
from guard.evaluate.trial import Result, Trial
from guard.report import history
from guard.report.history import History
from guard.shown import visible

TOLD = 10  # failed cases that are named
WORSE = 1  # the exit status where a checked condition does not hold
WEEKS_AGO = 4  # what a week is compared with


def baseline(
    path: str, command: str, fail_under: float | None, save: bool, timeout_s: float, as_json: bool, directory: str | None
) -> int:
    """Runs a command over cases; 1 where fewer points than asked for are reached."""
    listed = cases.load(path)
    place, digest = _place(directory), _digest(listed)
    before = [one for _, one in book.read(place.directory, book.Baseline) if one.digest == digest and one.command == command]
    found = trial.run(command, listed, os.environ, os.getcwd(), timeout_s, _progress(as_json))
    trend = [round(100 * one.passed / one.total, 1) for one in before]
    if save:
        failed = tuple(one.case for one in found.results if not one.passed)
        spent = sum(one.duration_s for one in found.results)
        body = book.Baseline(command, os.path.realpath(path), digest, found.passed, len(listed), failed, round(spent, 3))
        book.add(place.directory, body)
    if as_json:
        _print(
            {"score": round(found.score, 1), "passed": found.passed, "total": len(listed), "trend": trend, "cases": _cases(found)}
        )
    else:
        say(("score  ", "dim"), f"{found.score:.1f} % ({found.passed} of {len(listed)} cases)")
        if trend:
            say(
                ("trend  ", "dim"),
                " -> ".join(f"{one:g}" for one in [*trend[-6:], round(found.score, 1)]) + _against(trend[-1], found.score),
            )
    if save:
        _linked(place, as_json)
    return WORSE if fail_under is not None and found.score < fail_under else 0


def replay(before: str, after: str, path: str, runs: int, timeout_s: float, as_json: bool, directory: str | None) -> int:
    """Gives two commands the same cases; 1 where the second is worse beyond what chance gives."""
    listed = cases.load(path)
    told = _progress(True)
    first, second = (
        [trial.run(one, listed, os.environ, os.getcwd(), timeout_s, told) for _ in range(runs)] for one in (before, after)
    )
    passed, better, total = sum(one.passed for one in first), sum(one.passed for one in second), runs * len(listed)
    interval = statistics.difference(passed, total, better, total)
    points = 100 * (better - passed) / total
    place = _place(directory)
    body = book.Replayed(
        before,
        after,
        _digest(listed),
        passed,
        better,
        total,
        round(points, 2),
        round(100 * interval.low, 2),
        round(100 * interval.high, 2),
    )
    book.add(place.directory, body)
    lost, won = _changed(first, second), _changed(second, first)
    if as_json:
        _print(msgspec.to_builtins(body) | {"worse": lost, "better": won})
    else:
        say(("A      ", "dim"), f"{100 * passed / total:.1f} % ({passed} of {total})  {visible(before)}")
        say(("B      ", "dim"), f"{100 * better / total:.1f} % ({better} of {total})  {visible(after)}")
        say(("B - A  ", "dim"), f"{points:+.1f} points, 95 % interval {body.low:+.1f} to {body.high:+.1f}")
        for heading, names in (("worse  ", lost), ("better ", won)):
            if names:
                say((heading, "dim"), visible(", ".join(names[:TOLD])) + (", ..." if len(names) > TOLD else ""))
    return WORSE if interval.high < 0 else 0


def audited(size: int, seed: int | None, fill: str | None, output: str | None, as_json: bool, directory: str | None) -> int:
    """Prints a sheet to fill in, or reads one that was filled in."""
    place = _place(directory)
    if fill is None:
        drawn = seed if seed is not None else time.time_ns() % 1_000_000
        chosen = audit.sample(_history(place).iterations, size, drawn)
        if not chosen:
            raise GuardError("no iteration has changed anything yet", visible(place.name), "run the loop first", USAGE)
        sheet = audit.sheet(chosen)
        if output is not None:
            _write(output, sheet)
        else:
            click.echo(sheet, nl=False)
        click.echo(f"guard: {len(chosen)} items (seed {drawn}); fill in the sheet, then: guard eval audit --fill FILE", err=True)
        return 0
    found = audit.read(fill)
    before = [one.mean for _, one in book.read(place.directory, book.Audited)]
    count = len(found.marks)
    root, minimal, beyond = (
        round(100 * sum(flags) / count)
        for flags in ([m.root_cause for m in found.marks], [m.minimal for m in found.marks], [m.beyond for m in found.marks])
    )
    scores = {mark.item: mark.score for mark in found.marks}
    book.add(place.directory, book.Audited(scores, round(found.mean, 3), root, minimal, beyond, _who()))
    last = before[-1] if before else None
    if as_json:
        _print({"items": count, "mean": found.mean, "last": last, "investigate": list(found.investigate)})
        _linked(place, as_json)
        return 0
    say(
        ("mean   ", "dim"),
        f"{found.mean:.2f} of {audit.BEST} over {count} items" + (f" (the last one: {last:.2f})" if last is not None else ""),
    )
    say(("shares ", "dim"), f"root cause {root} %, minimal {minimal} %, beyond authority {beyond} %")
    for item in found.investigate:
        say(("look   ", "dim"), f"{visible(item)}: investigate")
    _linked(place, as_json)
    return 0


def fed_back(scan: bool, kind: str | None, reference: str | None, as_json: bool, directory: str | None) -> int:
    """Records what came back against earlier work, or shows what did."""
    place = _place(directory)
    recorded = [one for _, one in book.read(place.directory, book.Feedback)]
    new: list[feedback.Found] = []
    if scan:
        past = _history(place)
        found = [*feedback.reverted(past.root or place.top, past.iterations), *feedback.same_failures(past.iterations)]
        new = feedback.fresh(found, [(one.kind, one.reference) for one in recorded])
    if kind is not None:
        if not reference:
            raise GuardError("it is not said what it is about", "--ref", "name a commit, an issue or a run: --ref REF", USAGE)
        new.append(feedback.Found(kind, reference, ""))
    bodies = [book.Feedback(one.kind, one.reference, feedback.DEDUCTS[one.kind], one.detail, _who()) for one in new]
    if bodies:
        book.add(place.directory, *bodies)
    marks = feedback.marks(one.kind for one in [*recorded, *bodies])
    if as_json:
        _print({"new": [asdict(one) for one in new], "against": marks, "total": len(recorded) + len(new)})
        _linked(place, as_json)
        return 0
    for one in new:
        say(("new    ", "dim"), f"{one.kind.replace('_', ' ')}: {visible(one.reference)} {visible(one.detail)}".rstrip())
    say(("against", "dim"), " " + ", ".join(f"{name} {count}" for name, count in marks.items()))
    _linked(place, as_json)
    return 0


def drifted(base: str | None, period: str | None, seed: int, as_code: bool, as_json: bool, directory: str | None) -> int:
    """Compares a period with an earlier one; with `as_code` 1 on drift."""
    place, now = _place(directory), time.time()
    since, until = _span(period, now, 0)
    base_since, base_until = _span(base, now, WEEKS_AGO)
    past = _history(place)
    reverts = {one.reference for _, one in book.read(place.directory, book.Feedback) if one.kind == feedback.REVERTED}
    reverts |= {one.reference for one in feedback.reverted(past.root or place.top, past.iterations)}
    sides = [
        items(past.within(start, end), reverts, _passes(place, start, end))
        for start, end in ((base_since, base_until), (since, until))
    ]
    found = drift.compare(sides[0], sides[1], seed)
    if as_json:
        _print(
            {
                "drift": found.drift,
                "probability": found.probability,
                "items": list(found.items),
                "rows": [_row(f) for f in found.findings],
            }
        )
    else:
        _show_drift(found)
    _linked(place, as_json)
    return WORSE if as_code and found.drift else 0


def _show_drift(found: drift.Drift) -> None:
    say(("items  ", "dim"), f"{found.items[0]} in the baseline, {found.items[1]} now")
    for one in found.findings:
        row = _row(one)
        value = f"{row['before']} -> {row['after']}" if one.row.kind != drift.DISTRIBUTION else f"{100 * one.shift:.0f} % apart"
        say(f"  {one.row.name:28} {value:24} {one.verdict}" + (f" (p {one.p:.3f})" if one.p is not None else ""))
    if found.probability is None:
        say(f"Too few items for a conclusion: it takes at least {drift.FEWEST} a side.")
    elif found.drift:
        say(f"Drift: chance alone gives as much in {100 * found.probability:.1f} % of cases. Look at what has changed since,")
        say("audit a sample (guard eval audit), and replay cases with the older configuration (guard eval replay).")
    else:
        say(
            f"No drift: chance alone gives as much in {100 * found.probability:.0f} % of cases, or fewer than two rows are worse."
        )


def _row(one: drift.Finding) -> dict[str, Any]:
    def shown(value: float | None) -> float | str:
        if value is None:
            return "-"
        return round(100 * value, 1) if one.row.kind == drift.RATE else round(value, 2)

    values = {"name": one.row.name, "before": shown(one.before), "after": shown(one.after)}
    shift = one.shift if abs(one.shift) != float("inf") else None
    return {**values, "shift": shift, "p": one.p, "verdict": one.verdict}


def _passes(place: Place, start: int, end: int) -> list[bool]:
    """What the baselines of a period said, case by case."""
    found = [one for t, one in book.read(place.directory, book.Baseline) if start <= t < end]
    return [passed for one in found for passed in [True] * one.passed + [False] * (one.total - one.passed)]


def _span(text: str | None, now: float, weeks: int) -> tuple[int, int]:
    """A period FROM..TO in UTC milliseconds; without it the last week, or the one so many weeks before."""
    if text is None:
        end = int(now * 1000) - weeks * WEEK_MS
        return end - WEEK_MS, end
    first, dots, last = text.partition("..")
    if not dots:
        raise GuardError(
            f"{visible(text)!r} is no period", "--baseline, --period", "write it as 2026-11-01..2026-11-08 or 5w..4w", USAGE
        )
    start, end = (int(1000 * moment(each, now)) if each else int(now * 1000) for each in (first, last))
    if start >= end:
        raise GuardError(
            f"{visible(text)!r} ends before it begins", "--baseline, --period", "the earlier moment comes first", USAGE
        )
    return start, end


def _place(directory: str | None) -> Place:
    [place] = named(None, directory)
    return place


def _history(place: Place) -> History:
    try:
        return history.read(place.directory)
    except OSError as error:
        raise GuardError(f"its journal cannot be read ({error.strerror})", place.directory, "make it readable") from error


def _digest(listed: Sequence[Case]) -> str:
    """What makes two sets of cases the same."""
    text = json.dumps([[one.id, one.input, dict(one.expected)] for one in listed], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _progress(quiet: bool) -> Any:
    def told(result: Result) -> None:
        if not quiet and not result.passed:
            say(("failed ", "dim"), f"{visible(result.case)}: {visible(result.reason)}")

    return told


def _cases(found: Trial) -> list[dict[str, Any]]:
    return [asdict(one) for one in found.results]


def _changed(first: Sequence[Trial], second: Sequence[Trial]) -> list[str]:
    """The cases that pass less often in the second."""
    names = [one.case for one in first[0].results]
    rates = [[fmean(run.results[at].passed for run in side) for at in range(len(names))] for side in (first, second)]
    return [name for name, before, after in zip(names, *rates, strict=True) if after < before]


def _against(before: float, now: float) -> str:
    return f"  ({now - before:+.1f} points against the last one)"


def _who() -> str:
    return person.present().kind


def _write(path: str, text: str) -> None:
    try:
        with open(path, "x", encoding="utf-8", newline="") as file:
            file.write(text)
    except FileExistsError as error:
        raise GuardError("it is there already", path, "name a new file") from error
    except OSError as error:
        raise GuardError(f"it cannot be written ({error.strerror})", path, "name another file") from error


def _linked(place: Place, as_json: bool) -> None:
    """Has done what follows from what was recorded, and says so: on standard error, where the answer is JSON."""
    for one in linking.here(place.directory, place.top, world()):
        text = visible(f"{one.action.name}: {one.action.reason}" + (f" ({one.said})" if one.said else ""))
        if as_json:
            click.echo(f"guard: linked: {text}", err=True)
        else:
            say(("linked ", "dim"), text)


def _print(values: dict[str, Any]) -> None:
    click.echo(json.dumps({"v": 1, **values}))
