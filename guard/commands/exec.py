"""`guard exec`: runs one command with the shims first on its PATH."""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

from guard import child, project, search_path, shims
from guard.commands.place import register
from guard.errors import FAULT, GuardError

FAILED = 125  # guard itself failed: the command did not run
MARK = "GUARD_EXEC"  # whoever runs in there is no person at a terminal


def run(argv: Sequence[str]) -> int:
    """Runs the command and gives its exit status, or ends by the signal that ended it."""
    child.reserve_streams()
    try:
        environ = prepare(_environment())
    except GuardError:
        raise
    except Exception as error:
        click.echo(f"guard: failed ({error!r}). This is guard's own fault. Nothing was run.", err=True)
        return FAILED
    try:
        return child.end_like(child.run(argv, environ))
    except child.CannotRun as error:
        click.echo(f"guard: {error}", err=True)
        return error.status


def prepare(environ: dict[str, str]) -> dict[str, str]:
    """Registers the project of the current directory and sets up the shims; gives the environment of a guarded command."""
    state = project.state_dir(environ)
    if state is None:
        raise GuardError(
            "there is no directory to keep its state in, so a guarded command cannot run",
            todo="set GUARD_STATE_DIR, XDG_STATE_HOME or HOME to one that can be written",
            code=FAULT,
        )
    try:
        found = register(state, environ)
    except OSError as error:
        raise GuardError(f"its state cannot be written ({error.strerror})", state, code=FAULT) from error
    if not found and MARK not in environ:
        click.echo("guard: nothing is protected here: no guard.toml, [tool.guard] or .git here or above", err=True)
    directory = shims.ensure("wide", environ)
    return {**search_path.guarded(environ, directory), MARK: "1"}


def _environment() -> dict[str, str]:
    """The environment as guard's caller gave it: Python sets LC_CTYPE for itself where the locale says nothing."""
    environ = dict(os.environ)
    if "LC_CTYPE" in environ and not _given("LC_CTYPE", environ):
        del environ["LC_CTYPE"]
    return environ


def _given(name: str, environ: dict[str, str]) -> bool:
    """Was a variable in the environment before Python started?"""
    try:
        with open("/proc/self/environ", "rb") as file:
            return any(entry.startswith(os.fsencode(name) + b"=") for entry in file.read().split(b"\0"))
    except OSError:
        return environ[name] not in ("C.UTF-8", "C.utf8", "UTF-8") or bool(environ.get("LC_ALL"))
