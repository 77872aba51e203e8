"""`guard loop report`: what loops did in a period, from their journals."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace

import click

from guard.commands.log import moment
from guard.commands.loop_places import Place, several
from guard.errors import STATE, GuardError
from guard.evaluate import book
from guard.report import history
from guard.report.measures import Record
from guard.report.summary import Summary, summary, values
from guard.shown import visible
from guard.supervise import notebook

SLO, ALERTS = "slo", "alerts"


def run(
    trees: tuple[str, ...],
    directory: str | None,
    everything: bool,
    since: str,
    until: str | None,
    form: str,
    output: str | None,
    fail_on: str,
) -> int:
    """Prints a report, or writes it to a file; 1 where what it is to fail on is there."""
    asked = {one.strip() for one in fail_on.split(",")} - {""}
    if asked - {SLO, ALERTS}:
        raise GuardError(
            f"{visible(', '.join(sorted(asked - {SLO, ALERTS})))!r} is not known", "--fail-on", f"it is {SLO} or {ALERTS}"
        )
    now = time.time()
    start, end = int(1000 * moment(since, now)), int(1000 * (moment(until, now) if until else now))
    if start >= end:
        raise GuardError("the period ends before it begins", "--since, --until", "the earlier moment comes first")
    places = several(trees, directory, everything)
    record = _record(places, start, end)
    found = summary(record, _title(places))
    text = _written(found, form)
    if output is None:
        click.echo(text, nl=False)
    else:
        _save(output, text)
    missed = [one for one in found.measures if one.met is False]
    return int((SLO in asked and bool(missed)) or (ALERTS in asked and bool(found.counts["alerts"])))


def _record(places: list[Place], start: int, end: int) -> Record:
    histories, supervised, marks, causes, linked = [], [], [], [], []
    came_back: list[tuple[str, str]] = []
    for place in places:
        try:
            histories.append(history.read(place.directory).within(start, end))
            supervised += [one for one in notebook.read(place.directory) if start <= one.t < end]
        except OSError as error:
            raise GuardError(
                f"its journal cannot be read ({error.strerror})", place.directory, "make it readable", STATE
            ) from error
        came_back += [(one.kind, one.reference) for t, one in book.read(place.directory, book.Feedback) if start <= t < end]
        audits = [one for t, one in book.read(place.directory, book.Audited) if start <= t < end]
        marks += [(one.mean, len(one.items)) for one in audits]
        causes += [(float(one.root_cause), len(one.items)) for one in audits]
        actions = [(t, one) for t, one in book.read(place.directory, book.LinkedAction) if start <= t < end]
        linked += [(t, one.action, one.reason) for t, one in actions]
    found = Record(tuple(histories), tuple(supervised), tuple(came_back), tuple(marks), tuple(causes))
    return replace(found, linked=tuple(sorted(linked)), since=start, until=end)


def _title(places: list[Place]) -> str:
    names = ", ".join(os.path.basename(place.top) or place.name for place in places[:3])
    return f"Report on {visible(names)}{', ...' if len(places) > 3 else ''}"


def _written(found: Summary, form: str) -> str:
    if form == "json":
        return json.dumps(values(found)) + "\n"
    if form == "html":
        from guard.report import page

        return page.html(found)
    from guard.report import plain

    return plain.markdown(found) if form == "md" else plain.text(found)


def _save(path: str, text: str) -> None:
    temporary = f"{path}.tmp-{os.getpid()}"
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.rename(temporary, path)
    except OSError as error:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise GuardError(
            f"it cannot be written ({error.strerror})", path, "name a file in a directory that is there", STATE
        ) from error
