"""The vault: are there copies, how old are they, and can they be read?"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from guard.findings import ABSENT, FINE, NOTE, Finding
from guard.health.place import Place
from guard.shown import visible
from guard.vault.store import Vault

OLD = 7 * 86400.0  # seconds; the guarded ways take a snapshot themselves, so an old one only says that none was used


def findings(at: Place) -> Iterator[Finding]:
    """What can be said of the vault of the nearest project."""
    if at.root is None or at.state is None:
        return
    vault = Vault(at.state, at.root)
    if not os.path.isdir(vault.directory):
        yield _none(at.root)
        return
    newest = vault.newest()
    vault.packs()  # so that damage in them shows
    for name, why in sorted(vault.damaged.items()):
        what = f"{visible(name)} cannot be read ({visible(why)})"
        yield Finding("vault-damaged", what, "what only it holds cannot be restored", "guard vault check --mend")
    if newest is None:
        yield _none(at.root)
        return
    age = time.time() - newest.head.time
    count = len(vault.names())
    what = f"{count:,} snapshot{'s' * (count != 1)}, the last one taken {ago(age)}"
    severity = NOTE if age > OLD else FINE
    yield Finding("vault-old" if age > OLD else "vault-fine", what, "", "guard snapshot" if age > OLD else "", severity)


def _none(root: str) -> Finding:
    why = "what is lost before the first one cannot be restored; guard exec and the agents' hooks take one"
    return Finding("vault-empty", f"there is no snapshot of {visible(root)}", why, "guard snapshot", ABSENT)


def ago(seconds: float) -> str:
    """A span of time as people say it."""
    if seconds < 0:
        return "in the future"
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            number = int(seconds // size)
            return f"{number} {unit}{'s' * (number > 1)} ago"
    return "just now"
