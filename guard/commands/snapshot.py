"""`guard snapshot`: takes copies of the protected files."""

from __future__ import annotations

import json

import click

from guard.commands import integrity
from guard.commands.output import say
from guard.shown import decodable
from guard.vault.snapshot import snapshot

SHOWN = 10  # files that could not be read


def run(cwd: str | None, as_json: bool) -> int:
    """Takes a snapshot of the project's protected files and names it."""
    at = integrity.here(cwd)
    with integrity.progress("copying") as report:
        taken = snapshot(at.root, at.policy, at.vault, progress=report)
    files = sum(entry.kind == "file" and bool(entry.level) for entry in taken.manifest)
    if as_json:
        unreadable = [decodable(path) for path in taken.unreadable]
        counts = {"files": files, "copied": taken.copied, "fresh": taken.fresh, "unreadable": unreadable}
        print(json.dumps({"v": 1, "id": taken.name, "root": decodable(at.root), **counts}))
        return 0
    if taken.fresh:
        say(("snapshot ", "bold"), (taken.name, "bold"), f": {files} protected files, {taken.copied} contents new")
    else:
        say("Nothing has changed since ", (taken.name, "bold"), f": {files} protected files")
    for path in taken.unreadable[:SHOWN]:
        click.echo(f"guard: {at.shown(path)} cannot be read, so there is no copy of it", err=True)
    if len(taken.unreadable) > SHOWN:
        click.echo(f"guard: and {len(taken.unreadable) - SHOWN} more", err=True)
    return 0
