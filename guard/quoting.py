"""Quoting of texts for the shells that guard writes for."""

from __future__ import annotations


def posix(text: str) -> str:
    """The text as one word of bash, zsh, dash, ksh or any other shell of that family."""
    return "'" + text.replace("'", "'\\''") + "'"


def fish(text: str) -> str:
    """The text as one word of fish, where a backslash counts inside quotes, too."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
