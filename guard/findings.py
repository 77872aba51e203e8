"""Finding: one thing that was looked at, how it stands, why that matters, and the command that mends it."""

from __future__ import annotations

from dataclasses import dataclass

FINE = "fine"  # it works
NOTE = "note"  # worth knowing; it holds all the same
ABSENT = "absent"  # not installed: a choice, no fault
OFF = "off"  # installed, and does not hold

SEVERITIES = (FINE, NOTE, ABSENT, OFF)


@dataclass(frozen=True)
class Finding:
    """`code` is stable ("hook-missing"), `what` one sentence, `why` what follows from it, `repair` a command or "";
    `severity` one of SEVERITIES."""

    code: str
    what: str
    why: str = ""
    repair: str = ""
    severity: str = OFF
