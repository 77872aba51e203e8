"""The status block of a final text, and flat JSON in its place: keys in capitals, values in lower case."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from guard.loop.reading.said import text_of

NAME = "RALPH_STATUS"
_BEGIN, _END, _INDENTED = f"---{NAME}---", f"---END_{NAME}---", f"{NAME}:"
_KEY = re.compile(r"[ \t]*[*_`]{0,3}([A-Z][A-Z_]{1,40})[*_`]{0,3}[ \t]*:[*_`]{0,3}(?:[ \t]+(.*)|[ \t]*)")
_COMMENT = re.compile(r"(?:\A|\s)#.*")
_AROUND = " \t*_`\"'"
_LONGEST = 1000  # characters of a value that are read
_NUMBER = re.compile(r"\d{1,9}")
# What each key may say; None: a number, (): any text.
KEYS: dict[str, tuple[str, ...] | None] = {
    "STATUS": ("in_progress", "complete", "blocked"),
    "EXIT_SIGNAL": ("true", "false"),
    "WORK_TYPE": ("implementation", "testing", "test_only", "documentation", "refactoring", "debugging"),
    "TESTS_STATUS": ("passing", "failing", "not_run"),
    "TASKS_COMPLETED_THIS_LOOP": None,
    "FILES_MODIFIED": None,
    "RECOMMENDATION": (),
}
_FLAT = {"status", "exit_signal", "work_type", "tests_status", "tasks_completed_this_loop", "files_modified", "recommendation"}
_PROSE = ("summary", "message", "result", "text")


def split(text: str) -> tuple[dict[str, str], str]:
    """The keys of the last complete status block, and the text without any block."""
    block: dict[str, str] = {}
    rest: list[str] = []
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        end = _end(lines, at)
        if end is None:
            rest.append(lines[at])
            at += 1
            continue
        keys = read(lines[at + 1 : end])
        if end < len(lines) and _line(lines[end]) == _END:
            block, end = keys, end + 1
        elif _line(lines[at]) == _INDENTED and keys:
            block = keys
        at = end
    return block, "\n".join(rest)


def _end(lines: list[str], at: int) -> int | None:
    """Where the block ends that begins here; None where none does. One that is cut off ends with the text."""
    mark = _line(lines[at])
    if mark == _INDENTED:
        end = at + 1
        while end < len(lines) and lines[end][:1] in (" ", "\t") and lines[end].strip():
            end += 1
        return end if end > at + 1 else None
    if mark != _BEGIN:
        return None
    for end in range(at + 1, len(lines)):
        if _line(lines[end]) in (_BEGIN, _END):
            return end
    return min(len(lines), at + 1 + _keys_from(lines, at + 1))


def _keys_from(lines: list[str], at: int) -> int:
    """How many lines from here on look like keys of a block."""
    count = 0
    while at + count < len(lines) and _KEY.fullmatch(lines[at + count].rstrip("\r")):
        count += 1
    return count


def _line(line: str) -> str:
    return line.rstrip(" \t\r")


def read(lines: Iterable[str]) -> dict[str, str]:
    """The keys in these lines that have a value of their list; the last one of each counts."""
    found: dict[str, str] = {}
    for line in lines:
        if match := _KEY.fullmatch(line.rstrip("\r")):
            found |= _valid(match[1], match[2] or "")
    return found


def _valid(key: str, raw: str) -> dict[str, str]:
    if key not in KEYS:
        return {}
    value = _COMMENT.sub("", raw[:_LONGEST]).strip(_AROUND).lower()
    allowed = KEYS[key]
    if allowed is None:
        return {key: value} if _NUMBER.fullmatch(value) else {}
    if not allowed:
        return {key: value} if value else {}
    return {key: value} if value in allowed else {}


def flat(text: str) -> tuple[dict[str, str], str]:
    """The keys of a text that is one JSON object with fields of a status block, and its prose; ({}, text) for any other text."""
    body = text.strip()
    fenced = re.fullmatch(r"```(?:json)?[ \t]*\r?\n(.*)\n```", body, re.DOTALL)
    body = fenced[1].strip() if fenced else body
    if not (body.startswith("{") and body.endswith("}")):
        return {}, text
    try:
        values = json.loads(body)
    except (ValueError, RecursionError):
        return {}, text
    found: dict[str, str] = {}
    for name, value in values.items():
        if name in _FLAT and isinstance(value, str | bool | int):
            found |= _valid(name.upper(), text_of(str(value)))
    prose = [text_of(value) for name, value in values.items() if name in _PROSE and isinstance(value, str)]
    return (found, "\n".join(prose)) if found else ({}, text)


def split_any(text: str) -> tuple[dict[str, str], str]:
    """The keys of a text, and what is left of it: those of its status block, else those of flat JSON. A block within the prose of
    flat JSON counts more than the fields beside it."""
    keys, rest = split(text)
    if keys:
        return keys, rest
    fields, prose = flat(rest)
    if not fields:
        return {}, rest
    keys, rest = split(prose)
    return keys or fields, rest
