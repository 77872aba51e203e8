"""`guard shims`: installs, removes and shows the shims."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator

import click

from guard import project, search_path, shims
from guard.commands.place import register
from guard.errors import GuardError

GUARDED = ("GUARD_EXEC", "GUARD_LOOP")  # set for whatever runs guarded
USE = {"default": 'PATH="$(guard shims path):$PATH"', "wide": 'eval "$(guard env)"'}  # how a shell gets a set


def install(kind: str) -> int:
    """Installs or renews a set of shims and says how to use it."""
    with contextlib.suppress(OSError):
        register(project.state_dir(os.environ), os.environ)
    directory = shims.ensure(kind, os.environ)
    click.echo(f"{len(shims.SETS[kind])} shims stand in {os.fsencode(directory).decode(errors='replace')}")
    click.echo(f"They guard whoever has this directory first on PATH. For this shell:  {USE[kind]}")
    return 0


def uninstall(purge: bool) -> int:
    """Removes the shims, leaving scripts that run the real tools unless `purge`."""
    if any(os.environ.get(name) for name in GUARDED):
        raise GuardError("what runs guarded cannot take the guard away", "guard shims uninstall", code=1)
    done = [directory for home in dict.fromkeys(shims.homes(os.environ)) for directory in shims.uninstall(home, purge)]
    for directory in done:
        click.echo(f"{directory}: {'removed' if purge else 'the real tools run now; --purge removes the directory'}")
    if not done:
        click.echo("No shims are installed.")
    return 0


def path(wide: bool) -> int:
    """Prints the directory of the set that is installed; of both, the wide one only where it is asked for."""
    found = _found("wide") if wide else _found("default") or _found("wide")
    if found is None:
        raise GuardError("these shims are not installed", todo=f"guard shims install{' --wide' * wide}", code=1)
    click.echo(os.fsencode(found))
    return 0


def show(as_json: bool) -> int:
    """Lists the shims that are installed; status 1 where one of them does not guard."""
    rows = [(kind, directory, list(found)) for kind, directory, found in _installed()]
    if as_json:
        listed = [
            {"set": kind, "path": directory, "shims": [each._asdict() for each in found]} for kind, directory, found in rows
        ]
        click.echo(json.dumps({"v": 1, "sets": listed}))
    else:
        for kind, directory, found in rows:
            click.echo(f"{directory}  ({kind}{', on PATH' if directory in os.environ.get('PATH', '').split(':') else ''})")
            for each in found:
                click.echo(f"  {each.name:10s}{each.state:10s}{each.real or 'no such tool'}")
        if not rows:
            click.echo("No shims are installed:  guard shims install")
    return int(any(each.state != "guards" for _, _, found in rows for each in found))


def _installed() -> Iterator[tuple[str, str, list[shims.Shim]]]:
    for home in dict.fromkeys(shims.homes(os.environ)):
        for kind in shims.SETS:
            if os.path.lexists(f"{shims.directory(home, kind)}/{search_path.MARKER}"):
                yield kind, shims.directory(home, kind), shims.status(kind, home, os.environ)


def _found(kind: str) -> str | None:
    return next((directory for found, directory, _ in _installed() if found == kind), None)
