"""`guard service install --eval`: has the service manager look at a loop's work from time to time."""

from __future__ import annotations

import os
import sys

import click

from guard import person
from guard.commands.output import say
from guard.commands.service import GUARD, REFUSED, _checked, _name, _tell
from guard.errors import STATE, GuardError
from guard.loop import whereabouts
from guard.loop.identity import top_of
from guard.service import schedule
from guard.service.job import job
from guard.service.manager import content, manager, removed, written
from guard.service.schedule import SPANS, Schedule
from guard.shown import visible

SUFFIX = "-eval"
REPORTS = "reports"  # the folder in the state directory


def install(every: str, name: str, directory: str | None, kind: str | None, dry_run: bool) -> int:
    """Writes the files by which feedback is looked for, drift is judged, and a report is written. Raises GuardError."""
    chosen, top = manager(os.environ, kind), top_of(directory or os.getcwd())
    reports = f"{whereabouts.writable(os.environ, top)}/{REPORTS}"
    made = _schedule(every, _checked(f"{_name(name, directory)}{SUFFIX}"), top, reports)
    found = schedule.files(chosen, made)
    if dry_run:
        for path, text in found.items():
            say(("would write ", "dim"), visible(path))
            click.echo(text, nl=False)
        return 0
    if person.present().name:
        raise GuardError(person.AGENTS, code=REFUSED)
    _folders(reports, chosen.log)
    for path, text in found.items():
        say(visible(path), (": written" if written(path, text) else ": as it was", "dim"))
    _tell(schedule.starts(chosen, made.name))
    say(f"The report is written {every} to {visible(reports)}/{made.name}.html")
    return 0


def _folders(*paths: str) -> None:
    for path in filter(None, paths):
        try:
            os.makedirs(path, 0o700, exist_ok=True)
        except OSError as error:
            raise GuardError(f"it cannot be made ({error.strerror})", path, "make its directory writable", STATE) from error


def _schedule(every: str, name: str, top: str, reports: str) -> Schedule:
    output = ("-o", f"{reports}/{name}.html")
    commands = (
        ("eval", "feedback", "--scan"),
        ("eval", "drift"),
        ("loop", "report", "--since", SPANS[every], "--format", "html", *output),
    )
    return Schedule(every, tuple(job(name, (sys.executable, *GUARD, *words), top, os.environ) for words in commands))


def uninstall(name: str, directory: str | None, kind: str | None) -> int:
    """Ends it and removes its files. What is not there is no error; reports stay."""
    chosen = manager(os.environ, kind)
    found = _checked(f"{_name(name, directory)}{SUFFIX}")
    paths = [path for path in schedule.paths(chosen, found) if content(path) is not None]
    if not paths:
        say(f"There is no service {visible(chosen.path(found))}.")
        return 0
    person.require(f"guard service uninstall --eval {found}")
    _tell(schedule.ends(chosen, found))
    for path in paths:
        removed(path)
        say(f"{visible(path)}: removed")
    _tell(chosen.forgets())
    return 0
