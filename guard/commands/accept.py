"""`guard allow --config`: a person accepts the changed [tool.guard] table of a pyproject.toml."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence

from guard import acceptance, config, person
from guard.commands import standing
from guard.commands.output import say
from guard.errors import GuardError
from guard.paths import physical
from guard.root import PENDING
from guard.shown import visible
from guard.vault.snapshot import world


def run(names: Sequence[str]) -> int:
    """Shows what has changed since it was accepted last, and accepts it."""
    if names:
        raise GuardError("--config takes no id and no path", todo="call it in the project: guard allow --config")
    person.require("guard allow --config")
    where = standing.here()
    waiting = [
        value for root in where.at.policy.roots if root.path == where.at.root for key, value in root.settings if key == PENDING
    ]
    if where.at.policy.broken:
        raise GuardError(where.at.policy.broken, todo="mend it first")
    if not waiting:
        say("There is nothing to accept: every table is as it was accepted.")
        return 0
    for path in waiting:
        _accept(physical(world(), path), where)
    return 0


def _accept(path: str, where: standing.Standing) -> None:
    text = _text(path)
    config.parse(path, text)
    before = acceptance.accepted(path, where.state, where.sudo)
    say((where.at.shown(path), "bold"), "" if before is None else ", since it was accepted last:")
    old, new = (_table_lines(each) for each in (before or b"", text))
    for line in list(difflib.unified_diff(old, new, lineterm="", n=1))[2:]:
        style = "allow" if line.startswith("+") else "deny" if line.startswith("-") else "dim"
        say(("  " + visible(line), style))
    taken = standing.copied(where.at)
    person.confirm(f"A copy of every protected file is in snapshot {taken.name}.")
    if _text(path) != text:
        raise GuardError("somebody has changed it meanwhile", visible(path), "look at it, and try again")
    acceptance.accept(text, path, where.state, where.sudo)
    standing.record("config-accepted", ["allow", "--config"], where.at.root, what=path)
    say("Accepted. What holds now:  guard list")


def _table_lines(text: bytes) -> list[str]:
    """The lines of a file that belong to [tool.guard], as far as its headers tell."""
    found, inside = [], False
    for line in text.decode("utf-8", "replace").splitlines():
        bare = line.strip().replace(" ", "").replace('"', "").replace("'", "")
        if bare.startswith("["):
            inside = bare.lstrip("[").startswith(("tool.guard]", "tool.guard."))
        if inside or bare.startswith("tool.guard") or (bare.startswith("guard") and "=" in bare):
            found.append(line)
    return found


def _text(path: str) -> bytes:
    if not os.path.lexists(path):
        return b""
    try:
        with open(path, "rb") as file:
            return file.read(acceptance.SIZE_LIMIT)
    except OSError as error:
        raise GuardError(f"it cannot be read ({error.strerror})", visible(path)) from error
