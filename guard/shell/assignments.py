"""Assignments, from the raw text of their words."""

from __future__ import annotations

from guard import expressions as re
from guard.shell import words
from guard.shell.nodes import Assignment, Word
from guard.shell.scanner import ARRAY_NAME, SYNTAX, Scanner, Unparsable

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[)?(\+?=)?")


def array(raw: str) -> Assignment | None:
    """The assignment that an argument of the form name=(..) stands for; None for any other."""
    name, opened, _ = raw.partition("=(")
    return assignment(raw) if opened and ARRAY_NAME.match(name + "=") else None


def assignment(raw: str) -> Assignment:
    """The assignment that a word of the form name=.., name+=.., name[..]=.. stands for."""
    match = _ASSIGNMENT.match(raw)
    if match is None:
        raise Unparsable(SYNTAX)
    name, bracket, _ = match.groups()
    end = match.end(1)
    subscript = None
    if bracket:
        scanner = Scanner(raw)
        end = scanner.bracket(match.end(2))
        subscript = raw[match.end(2) : end - 1]
    append = raw.startswith("+", end)
    value = raw[end + 1 + append :]
    if value.startswith("(") and not bracket:
        return Assignment(name, None, append, subscript, _items(value))
    return Assignment(name, words.word(value, assignment=True), append, subscript)


def _items(value: str) -> tuple[Word | tuple[str, Word], ...]:
    """The items of an array, `value` being "(..)"."""
    scanner = Scanner(value)
    items: list[Word | tuple[str, Word]] = []
    start = scanner.array_item(1)
    while not scanner.text.startswith(")", start):
        end = scanner.word(start, subscripts=True)
        items.append(_item(scanner.text[start:end]))
        start = scanner.array_item(end)
    return tuple(items)


def _item(raw: str) -> Word | tuple[str, Word]:
    if raw.startswith("["):
        end = Scanner(raw).bracket(1)
        if raw.startswith(("=", "+="), end):
            value = raw[end:].partition("=")[2]
            return raw[1 : end - 1], words.word(value, assignment=True)
    return words.word(raw)
