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
_CODES = re.compile(r"\x1b(?:\[[0-9;?]{0,40}[ -/]{0,4}[@-~]|\][^\x07\x1b]{0,1000}(?:\x07|\x1b\\)|[()][0-9A-Z])")
_TO_START = re.compile(r"\x1b\[1?G")


def uncoloured(text: str) -> str:
    """A text without the codes of a terminal's colours."""
    return _CODES.sub("", text) if "\x1b" in text else text


def shown(line: str) -> str:
    """What a terminal shows of a line in the end: without colours, and of what was written over only the last."""
    if "\x1b" in line:
        line = _CODES.sub("", _TO_START.sub("\r", line))
    if "\r" in line:
        line = next((part for part in reversed(line.split("\r")) if part.strip()), "")
    return line.rstrip()


def is_error(line: str) -> bool:
    """Does a line begin as error reports do, perhaps behind a place (file:line:)?"""
    return _START.match(line) is not None


def error_lines(lines: Iterable[str]) -> list[str]:
    """Those that do, without blanks around them, cut to LONGEST characters."""
    return [line.strip()[:LONGEST] for line in map(shown, lines) if is_error(line)]
