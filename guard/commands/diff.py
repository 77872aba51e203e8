"""`guard diff`: what changed in the protected files since a snapshot, line by line."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from difflib import unified_diff

import click

from guard.change import CREATED, FILE, LINK, MISSING, MOVED, NOT_JUDGED
from guard.commands import integrity
from guard.commands.integrity import Project
from guard.paths import below
from guard.shown import visible
from guard.vault import content
from guard.vault.manifest import Damaged
from guard.vault.verify import Change, verify

LARGE = 1 << 20  # bytes; of larger files only the sizes are shown
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def run(paths: Sequence[str], source: str | None, cwd: str | None) -> int:
    """Prints a unified diff of every change to the named paths, or to all."""
    at = integrity.here(cwd)
    manifest = at.manifest(source)
    named = [os.path.normpath(os.path.join(at.here, path)) for path in paths]
    for change in verify(manifest, at.vault, at.policy, unprotected=bool(source)):
        if not named or any(below(change.path, path) for path in named):
            for line in _lines(change, at):
                click.secho(line, fg=_COLOURS.get(line[:1]))
    return 0


def _lines(change: Change, at: Project) -> Iterator[str]:
    shown = at.shown(change.path)
    yield f"{change.kind} {shown}" + (f" -> {at.shown(change.to)}" if change.to else "")
    if change.mode is not None:
        yield f"  permissions {change.old.mode & 0o7777:o} -> {change.mode:o}"
    if change.kind in (MOVED, NOT_JUDGED):
        return
    old = [] if change.kind == CREATED else _text(change, at)
    new = [] if change.kind == MISSING else _now(change)
    if old is None or new is None:
        yield "  (no lines to compare)"
        return
    names = ("/dev/null" if change.kind == CREATED else f"snapshot/{shown}", "/dev/null" if change.kind == MISSING else shown)
    for line in unified_diff(old, new, *names, lineterm=""):
        yield visible(line)


def _text(change: Change, at: Project) -> list[str] | None:
    """The lines of before; None for what has none, is too large, or is not to be had."""
    old = change.old
    if old.kind == LINK:
        return [f"link to {old.link}"]
    if old.kind != FILE or not old.digest or old.size > LARGE:
        return None
    try:
        return _split(b"".join(at.vault.read(old.digest)))
    except Damaged:
        return None


def _now(change: Change) -> list[str] | None:
    try:
        if os.path.islink(change.path):
            return [f"link to {os.readlink(change.path)}"]
        if os.lstat(change.path).st_size > LARGE:
            return None
        return _split(b"".join(content.read(change.path)))
    except (OSError, content.Unreadable):
        return None


def _split(data: bytes) -> list[str] | None:
    return None if b"\0" in data else data.decode("utf-8", "surrogateescape").splitlines()
