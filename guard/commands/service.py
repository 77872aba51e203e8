"""`guard service`: has the user's service manager keep a supervised loop at work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence

import click

from guard import person
from guard.commands.output import say
from guard.errors import GuardError
from guard.loop.identity import identity, top_of
from guard.quoting import posix
from guard.service.job import Job, job
from guard.service.manager import SYSTEMD, Command, Manager, content, manager, removed, told, written
from guard.shown import visible

GUARD = ("-P", "-m", "guard")
REFUSED, ABSENT = 1, 1


def install(
    given: Sequence[str], run: Sequence[str], name: str, directory: str | None, kind: str | None, now: bool, dry_run: bool
) -> int:
    """Writes the service that runs `guard supervise` with what was `given`, and has it start with the user's session.

    `run`: those of the words that are a run's. Raises GuardError; then nothing was written.
    """
    chosen = manager(os.environ, kind)
    made = _job(given, name, directory)
    path, text = chosen.path(made.name), chosen.text(made)
    if dry_run:
        say(("would write ", "dim"), visible(path))
        click.echo(text, nl=False)
        return 0
    if person.present().name:
        raise GuardError(person.AGENTS, code=REFUSED)
    code = _rehearsed(run)
    if code:
        return code
    if chosen.log:
        os.makedirs(chosen.log, 0o700, exist_ok=True)
    say(visible(path), (": written" if written(path, text) else ": as it was", "dim"))
    _tell(chosen.starts(made.name, now))
    if not now:
        say(f"It starts with your next session; now:  guard service install --now ...  or  {_by_hand(chosen, made.name)}")
    return 0


def _by_hand(chosen: Manager, name: str) -> str:
    if chosen.kind == SYSTEMD:
        return f"systemctl --user start {os.path.basename(chosen.path(name))}"
    return " ".join(chosen.starts(name, True)[0])


def _job(given: Sequence[str], name: str, directory: str | None) -> Job:
    argv = (sys.executable, *GUARD, "supervise", *given)
    return job(_name(name, directory), argv, os.getcwd(), os.environ)


def _name(name: str, directory: str | None) -> str:
    """The name of the service: the one that was given, else the loop's id."""
    return name or identity(top_of(directory or os.getcwd()))


def _rehearsed(run: Sequence[str]) -> int:
    """Has a run look at everything that it needs, without starting; its exit status. What is wrong it says itself."""
    argv = [sys.executable, *GUARD, "run", "--dry-run", *run]
    return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False).returncode


def _tell(commands: Sequence[Command]) -> None:
    """Gives the service manager commands; where it cannot be reached, says them."""
    for command in commands:
        wrong = told(command, os.environ)
        if wrong is not None:
            say(f"not done: {' '.join(map(posix, command))}", (f" ({visible(wrong.splitlines()[-1])})", "dim"))


def uninstall(name: str, directory: str | None, kind: str | None) -> int:
    """Ends a service and removes it. One that is not there is no error."""
    chosen = manager(os.environ, kind)
    found = _checked(_name(name, directory))
    path = chosen.path(found)
    if content(path) is None:
        say(f"There is no service {visible(path)}.")
        return 0
    person.require(f"guard service uninstall {found}")
    _tell(chosen.ends(found))
    removed(path)
    _tell(chosen.forgets())
    say(f"{visible(path)}: removed")
    return 0


def _checked(name: str) -> str:
    return job(name, (), "/", {}).name


def status(name: str, directory: str | None, kind: str | None, as_json: bool) -> int:
    """Says whether a service is installed and at work; 1 where it is not."""
    chosen = manager(os.environ, kind)
    found = _checked(_name(name, directory))
    path = chosen.path(found)
    installed = content(path) is not None
    wrong = told(chosen.asks(found), os.environ) if installed else "not installed"
    if as_json:
        values = {"v": 1, "name": found, "path": path, "manager": chosen.kind, "installed": installed, "active": wrong is None}
        click.echo(json.dumps(values))
    else:
        state = "at work" if wrong is None else visible(wrong.splitlines()[-1])
        say(f"{found}  {state}  {visible(path) if installed else ''}".rstrip())
    return 0 if wrong is None else ABSENT
