"""`guard loop log`: the journal as lines, with what guard refused in the tree meanwhile."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import click

from guard import log, project
from guard.commands.log import moment
from guard.commands.loop_places import Place
from guard.errors import GuardError
from guard.loop import derived, entries, journal, machine, moments
from guard.loop.events import KINDS, Base, CallEnded, Event, Judged
from guard.loop.journal import Good
from guard.loop.names import OUTPUTS
from guard.loop.protection import refuses
from guard.loop.record import parse
from guard.loop.state import State
from guard.paths import below
from guard.shown import short, visible

FOLLOW_S = 0.5
LAST, ALL = "last", "all"


@dataclass(frozen=True)
class Wanted:
    """What is to be shown, as the options say it."""

    number: int | None = None
    follow: bool = False
    reverse: bool = False
    since: str | None = None
    until: str | None = None
    run: str = LAST
    iteration: str | None = None
    kinds: str | None = None
    form: str = "text"


@dataclass(frozen=True)
class Line:
    """A line to show: when (UTC milliseconds), and the text."""

    t: int
    text: str


def run(place: Place, wanted: Wanted) -> int:
    """Prints it, newest last."""
    found = lines(place, wanted)
    if wanted.number is not None:
        found = found[max(0, len(found) - wanted.number) :]
    if wanted.reverse:
        found.reverse()
    if not found and not wanted.follow:
        click.echo("guard: nothing is on record there", err=True)
        return 0
    text = "".join(f"{line.text}\n" for line in found)
    if sys.stdout.isatty() and not wanted.follow:
        click.echo_via_pager(text)
        return 0
    click.echo(text, nl=False)
    return _followed(place, wanted, found) if wanted.follow else 0


def _followed(place: Place, wanted: Wanted, shown: list[Line]) -> int:
    seen = {(line.t, line.text) for line in shown} | {(line.t, line.text) for line in lines(place, wanted)}
    while True:
        time.sleep(FOLLOW_S)
        for line in lines(place, wanted):
            if (line.t, line.text) not in seen:
                seen.add((line.t, line.text))
                click.echo(line.text)


def lines(place: Place, wanted: Wanted) -> list[Line]:
    """The lines that are wanted, oldest first."""
    choose = _chooser(wanted)
    found: list[Line] = []
    replayed = list(replay(place.directory))
    last = next((event.run for _, event, _ in reversed(replayed) if event.run), "")
    start = end = None
    for before, event, after in replayed:
        if wanted.run != ALL and event.run != (last if wanted.run == LAST else wanted.run):
            continue
        start, end = start if start is not None else event.t, event.t
        if choose(event):
            found += [Line(event.t, text) for text in _texts(before, event, after, wanted.form)]
    if start is not None and end is not None and wanted.form == "text" and not wanted.kinds and not wanted.iteration:
        found += [line for line in _refusals(place, start, end) if _in_time(line.t, wanted)]
    return sorted(found, key=lambda line: line.t)


def replay(directory: str) -> Iterator[tuple[State, Event, State]]:
    """Each event of a journal with the state before and after it."""
    state: State | None = None
    for path in journal.files(directory):
        for line in journal.read(path):
            if not isinstance(line, Good):
                continue
            event = line.event
            if isinstance(event.body, Base) and (state is None or state.seq != event.seq - 1):
                state = parse(State, event.body.state)
            before = state or State("")
            state = machine.step(before, event)[0]
            yield before, event, state


def _texts(before: State, event: Event, after: State, form: str) -> Iterator[str]:
    if form == "jsonl":
        yield entries.line(event, "")[0]
    elif form == "md":
        if isinstance(event.body, Judged) and after.last is not None:
            yield derived.iteration(after.last, event.t).rstrip("\n") + "\n"
    else:
        for name, text in derived.lines(before, event, after):
            if name == derived.LOG:
                yield visible(text.rstrip("\n"))


def _refusals(place: Place, start: int, end: int) -> Iterator[Line]:
    """What guard refused in the tree while the run lasted."""
    for event in log.read(project.state_dir(os.environ)):
        at = event.get("time")
        if not isinstance(at, int | float) or not start <= at * 1000 <= end or not refuses(event):
            continue
        if place.top and below(str(event.get("cwd", "")), place.top):
            t = int(at * 1000)
            what = f"refused {event.get('id', '')}: {short(str(event.get('command', '')), 100)}"
            yield Line(t, f"[{moments.second(t)}] [WARN] {what}")


def _chooser(wanted: Wanted) -> Callable[[Event], bool]:
    kinds = {name.strip() for name in (wanted.kinds or "").split(",") if name.strip()}
    for name in kinds - KINDS.keys():
        raise GuardError(f"there is no event {visible(name)!r}", "--type", f"take some of {', '.join(KINDS)}")
    first, last = _numbers(wanted.iteration)

    def choose(event: Event) -> bool:
        if kinds and event.body.name not in kinds:
            return False
        if wanted.iteration and (event.n is None or not first <= event.n <= last):
            return False
        return _in_time(event.t, wanted)

    return choose


def _in_time(t: int, wanted: Wanted) -> bool:
    now = time.time()
    if wanted.since and t < moment(wanted.since, now) * 1000:
        return False
    return not wanted.until or t <= moment(wanted.until, now) * 1000


def _numbers(text: str | None) -> tuple[int, int]:
    if text is None:
        return 0, 0
    found = re.fullmatch(r"(\d{1,9})(?:\.\.(\d{1,9})?)?", text)
    if found is None:
        raise GuardError(f"{text!r} is no iteration", "--iteration", "give a number, or N..M")
    first = int(found[1])
    return first, int(found[2]) if found[2] else (10**9 if ".." in text else first)


def outputs(place: Place, wanted: Wanted) -> int:
    """Prints what the agent put out in the iterations that are wanted; the last one without a choice."""
    choose = _chooser(wanted)
    ended = [event for _, event, _ in replay(place.directory) if isinstance(event.body, CallEnded) and choose(event)]
    chosen = [event.body.output for event in ended if isinstance(event.body, CallEnded)]
    for name in chosen if wanted.iteration else chosen[-1:]:
        path = f"{place.directory}/{name}"
        if not re.fullmatch(rf"{OUTPUTS}/[\d-]+\.log", name):
            continue
        try:
            with open(path, "rb") as file:
                while data := file.read(1 << 16):
                    sys.stdout.buffer.write(data)
        except OSError as error:
            raise GuardError(f"the output is not there any more ({error.strerror})", path) from error
    return 0
