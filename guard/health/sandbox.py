"""The sandbox: found out by starting one."""

from __future__ import annotations

from collections.abc import Iterator

from guard import sandbox
from guard.findings import ABSENT, FINE, Finding
from guard.health.place import Place


def findings(at: Place) -> Iterator[Finding]:
    """Whether there is a sandbox here."""
    why = sandbox.available(at.environ)
    if why is None:
        yield Finding("sandbox-fine", "a sandbox works here: guard exec --sandbox", severity=FINE)
    else:
        what = f"there is no sandbox here: {why}"
        yield Finding("sandbox-none", what, "guard exec --sandbox needs one; the other layers hold", severity=ABSENT)
