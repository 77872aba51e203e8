"""Durations as people write them: 90s, 15m, 2h, 1d."""

from __future__ import annotations

import re

from guard.errors import GuardError

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_FORM = re.compile(r"(\d{1,9})([smhd])")


def seconds(text: str, where: str) -> int:
    """The seconds of a duration. Raises GuardError for a text that is none; a number without a unit is none."""
    found = _FORM.fullmatch(text.strip())
    if found is None:
        raise GuardError(f"{text!r} is no duration", where, "give a number and a unit, such as 90s, 15m, 2h or 1d")
    return int(found[1]) * UNITS[found[2]]


def shown(total_s: float) -> str:
    """A duration for people."""
    whole = round(total_s)
    if whole < 90:
        return f"{whole} s"
    if whole < 2 * 3600:
        return f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min" if whole < 48 * 3600 else f"{whole // 86400} days"
