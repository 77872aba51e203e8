"""Whereabouts: the state directory of a tree's loop. One that is there already counts, though it cannot be written any more:
with another one in its place an open breaker would be forgotten."""

from __future__ import annotations

import os
from collections.abc import Mapping

from guard import project
from guard.errors import FAULT, STATE, GuardError
from guard.loop.identity import LOOPS, identity

VARIABLE = "GUARD_STATE_DIR"
TODO = f"make it writable; or set {VARIABLE} to another one, where the loop begins anew"


def known(environ: Mapping[str, str], top: str) -> str:
    """The state directory in which a tree's loop is, or would be, whether or not it can be written. Raises GuardError."""
    chosen = project.state_dir(environ)
    given = environ.get(VARIABLE, "").rstrip("/")
    if given.startswith("/") and given != chosen and os.path.lexists(given):
        return given
    name = identity(top)
    for each in dict.fromkeys(project.own_dirs(environ)):
        if each != chosen and os.path.isdir(f"{each}/{LOOPS}/{name}") and not os.access(f"{each}/{LOOPS}/{name}", os.W_OK):
            return each
    if chosen is None:
        todo = f"set {VARIABLE}, XDG_STATE_HOME or HOME to one that can be written"
        raise GuardError("there is no directory to keep state in", todo=todo, code=FAULT)
    return chosen


def writable(environ: Mapping[str, str], top: str) -> str:
    """The same, for whoever is to write there. Raises GuardError where that cannot be."""
    found = known(environ, top)
    if os.path.isdir(found) and not os.access(found, os.W_OK | os.X_OK):
        raise GuardError("guard's state cannot be written", found, TODO, STATE)
    return found
