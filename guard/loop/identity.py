"""Identity: which tree a loop belongs to, what the loop is called, and where its state lies."""

from __future__ import annotations

import hashlib
import os
import re

from guard.errors import FAULT, GuardError

LOOPS = "loops"


def identity(root: str) -> str:
    """The id of the loop of a tree: its directory's name and the beginning of a digest of its real path."""
    real = os.path.realpath(root)
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", os.path.basename(real))[:60] or "root"
    return f"{plain}-{hashlib.sha256(os.fsencode(real)).hexdigest()[:8]}"


def place(state_dir: str | None, root: str) -> str:
    """The directory of the loop of a tree. Raises GuardError where there is no state directory."""
    if state_dir is None:
        todo = "set GUARD_STATE_DIR, XDG_STATE_HOME or HOME to one that can be written"
        raise GuardError("there is no directory to keep state in", todo=todo, code=FAULT)
    return f"{state_dir}/{LOOPS}/{identity(root)}"


def top_of(directory: str) -> str:
    """The tree around a directory: the top of its git work tree, else itself."""
    real = os.path.realpath(directory)
    above = real
    while True:
        if os.path.lexists(f"{above}/.git"):
            return above
        if above == "/":
            return real
        above = os.path.dirname(above)
