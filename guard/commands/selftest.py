"""`guard selftest`: a canary through every layer that is installed, and which of them held."""

from __future__ import annotations

import json
import os

import click

from guard import health, observing
from guard.errors import STATE, GuardError
from guard.health import Place, canary
from guard.health.canary import ABSENT, BROKEN, FAILING, HELD, OPEN, Trial
from guard.shown import decodable

COLOURS = {HELD: "green", OPEN: "red", BROKEN: "red", ABSENT: "bright_black"}


def run(cwd: str | None, as_json: bool) -> int:
    """Prints one line for each trial; 1 where a layer that is installed did not hold."""
    if cwd is not None and not os.path.isdir(cwd):
        raise GuardError("no such directory", f"--cwd {cwd}")
    found = []
    try:
        at = health.place(cwd, os.environ)
        if not as_json:
            _tell_observing(at)
        for trial in canary.trials(at):
            found.append(trial)
            if not as_json:
                _tell(trial)
    except OSError as error:
        todo = "set TMPDIR to a directory that can be written"
        raise GuardError(f"there is no place for the canary ({error.strerror})", error.filename or "", todo, STATE) from error
    bad = [trial for trial in found if trial.state in FAILING]
    if as_json:
        print(json.dumps(_fields(found, bool(bad))))
    elif bad:
        _say("\n" + click.style(f"{len(bad)} of {len(found)} did not hold.", fg="red") + " What is wrong:  guard doctor")
    else:
        _say(f"\nAll {sum(trial.state == HELD for trial in found)} that are installed held.")
    return int(bool(bad))


def _tell(trial: Trial) -> None:
    note = f"  ({trial.note})" if trial.note else ""
    _say(f"{click.style(f'{trial.state:14s}', fg=COLOURS[trial.state])}{trial.layer:9s}{trial.name}{note}")


def _tell_observing(at: Place) -> None:
    """Says beforehand why nothing will be refused."""
    if at.policy is not None and observing.until([at.policy], at.environ):
        _say("guard only observes, by its user's own configuration: nothing is refused.\n")


def _fields(found: list[Trial], bad: bool) -> dict[str, object]:
    rows = [{"layer": each.layer, "name": each.name, "state": each.state, "note": decodable(each.note)} for each in found]
    return {"v": 1, "code": "open" if bad else "held", "trials": rows}


def _say(text: str) -> None:
    click.echo(click.unstyle(text) if os.environ.get("NO_COLOR") else text)
