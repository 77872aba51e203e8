"""Error lines: which lines of a text report an error."""

from __future__ import annotations

import re
from collections.abc import Iterable

LONGEST = 500  # characters of a line that are kept
_START = re.compile(
    r"[ \t]*(?:[^\s:]{1,255}:\d{1,9}:(?:\d{1,9}:)?[ \t]*)?"
    r"(?:(?i:error|fatal|panic|exception)\b|[A-Za-z_][\w.]{0,200}(?:Error|Exception)\b|FAILED\b)"
    r"|E {3}"
)
_COLOURS = re.compile(r"\x1b\[[0-9;?]{0,40}[ -/]{0,4}[@-~]")


def uncoloured(text: str) -> str:
    """A text without the codes of a terminal's colours."""
    return _COLOURS.sub("", text) if "\x1b" in text else text


def is_error(line: str) -> bool:
    """Does a line begin as error reports do, perhaps behind a place (file:line:)?"""
    return _START.match(line) is not None


def error_lines(lines: Iterable[str]) -> list[str]:
    """Those that do, without blanks around them, cut to LONGEST characters."""
    return [line.strip()[:LONGEST] for line in map(uncoloured, lines) if is_error(line)]
