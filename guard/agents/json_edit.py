"""JSON text edited in place: whatever is not touched keeps its bytes, with comments, order, indentation and line ends."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from guard.agents.json_nodes import ARRAY, BLANK, COMMENT, OBJECT, Node, Path, parse

INDENT = "  "  # where a document does not show its own

_REST_OF_LINE = re.compile(r"(?:[ \t]|/\*[^\r\n]*?\*/)*(?://[^\r\n]*)?")


def insert(text: str, path: Path, value: Any, comments: bool = False) -> str:
    """The text with a member or an item more: the path leads to a new key of an object, or (last step an index) behind the end
    of an array. The container has to be there. Raises NotJson; ValueError where there is no such container."""
    document = parse(text, comments)
    container = document.find(*path[:-1])
    key = path[-1]
    wanted = OBJECT if isinstance(key, str) else ARRAY
    if container is None or container.kind != wanted:
        raise ValueError(f"there is no {wanted} at {path[:-1]}")
    style = _Style(text, document)
    label = f"{json.dumps(key, ensure_ascii=False)}: " if isinstance(key, str) else ""
    children = _children(container)
    if not children:
        return style.filled(container, label, value)
    return style.appended(container, children, label, value, comments)


def remove(text: str, path: Path, comments: bool = False) -> str:
    """The text without the member or item that the path leads to; comments that do not stand inside it stay."""
    document = parse(text, comments)
    container = document.find(*path[:-1])
    if container is None:
        raise ValueError(f"there is nothing at {path}")
    spans = _children(container)
    step = path[-1]
    named = [n for n, member in enumerate(container.members) if member.key == step]
    at = named[-1] if isinstance(step, str) else step
    start, end = spans[at]
    behind = _comma(text, end, spans[at + 1][0] if at + 1 < len(spans) else container.end - 1)
    if behind is not None:  # up to the next element, or the bracket: "x, y" becomes "y"
        text = text[:behind] + text[behind + 1 :]
    elif at:
        before = _comma(text, spans[at - 1][1], start)
        if before is not None:
            text = text[:before] + text[before + 1 :]
            start, end = start - 1, end - 1
    while start and text[start - 1] in " \t":
        start -= 1
    if text[start - 1 : start] == "\n" and (not text[end:].lstrip(" \t") or text[end:].lstrip(" \t")[0] in "\r\n"):
        start -= 2 if text[start - 2 : start] == "\r\n" else 1
    elif text[start - 1 : start] in "{[":
        end += len(text[end:]) - len(text[end:].lstrip(" \t"))
    text = text[:start] + text[end:]
    if len(spans) == 1:
        text = _collapsed(text, container.start)
    return text


def _collapsed(text: str, start: int) -> str:
    """An emptied container without the blanks in it; comments stay."""
    inner = BLANK.match(text, start + 1).end()  # type: ignore[union-attr]
    return text[: start + 1] + text[inner:] if text[inner] in "}]" else text


def _children(container: Node) -> list[tuple[int, int]]:
    if container.kind == OBJECT:
        return [(member.start, member.node.end) for member in container.members]
    return [(item.start, item.end) for item in container.items]


def _comma(text: str, start: int, end: int) -> int | None:
    """Where the comma between two elements stands, outside of comments."""
    at = start
    while at < end:
        comment = COMMENT.match(text, at)
        if comment is not None:
            at = comment.end()
        elif text[at] == ",":
            return at
        else:
            at += 1
    return None


class _Style:
    """How a document is laid out: its indentation and its line ends."""

    def __init__(self, text: str, document: Node) -> None:
        self._text = text
        self._newline = "\r\n" if "\r\n" in text else "\n"
        self._unit = _unit(text, document)
        self._lines = _spread(text, document) or not _children(document)

    def filled(self, container: Node, label: str, value: Any) -> str:
        """An empty container with its first element; comments in it stay in front."""
        text = self._text
        inside = text[container.start + 1 : container.end - 1].rstrip()
        outer = self._indent(container)
        if not self._lines and "//" not in inside:
            return text[: container.start + 1] + inside + label + self._written(value, outer, False) + text[container.end - 1 :]
        inner = outer + self._unit
        element = f"{self._newline}{inner}{label}{self._written(value, inner, True)}{self._newline}{outer}"
        return text[: container.start + 1] + inside + element + text[container.end - 1 :]

    def appended(self, container: Node, children: Sequence[tuple[int, int]], label: str, value: Any, comments: bool) -> str:
        """A container with one element more behind the last one, laid out like it."""
        text = self._text
        end = children[-1][1]
        comma = _comma(text, end, container.end - 1) if comments else None
        if comma is None:
            text = text[:end] + "," + text[end:]
        place = (comma if comma is not None else end) + 1
        if _alone(self._text, children[-1][0]):
            place = _REST_OF_LINE.match(text, place).end()  # type: ignore[union-attr]
            indent = self._leading(children[-1][0])
            return f"{text[:place]}{self._newline}{indent}{label}{self._written(value, indent, True)}{text[place:]}"
        blank = "" if not self._spaced(children) else " "
        return f"{text[:place]}{blank}{label}{self._written(value, '', False)}{text[place:]}"

    def _written(self, value: Any, indent: str, lines: bool) -> str:
        if not lines:
            return json.dumps(value, ensure_ascii=False)
        return json.dumps(value, ensure_ascii=False, indent=self._unit).replace("\n", self._newline + indent)

    def _indent(self, container: Node) -> str:
        """The indentation of the line that a container begins on."""
        return self._leading(container.start)

    def _leading(self, at: int) -> str:
        begin = self._text.rfind("\n", 0, at) + 1
        return self._text[begin : begin + len(self._text[begin:at]) - len(self._text[begin:at].lstrip(" \t"))]

    def _spaced(self, children: Sequence[tuple[int, int]]) -> bool:
        """Does a blank stand behind the commas of a line?"""
        return len(children) < 2 or self._text[children[-1][0] - 1] != ","


def _unit(text: str, document: Node) -> str:
    """What the document indents by: what the first element on a line of its own has more than its container's line."""
    todo = [document]
    while todo:
        node = todo.pop(0)
        for start, _ in _children(node):
            if _alone(text, start):
                begin, own = _line(text, start), _line(text, node.start)
                if begin.startswith(own) and len(begin) > len(own):
                    return begin[len(own) :]
        todo += [member.node for member in node.members] + list(node.items)
    return INDENT


def _line(text: str, at: int) -> str:
    """The blanks at the beginning of the line of a place."""
    begin = text.rfind("\n", 0, at) + 1
    return re.match(r"[ \t]*", text[begin:at])[0]  # type: ignore[index]


def _alone(text: str, at: int) -> bool:
    """Is it the first thing on its line?"""
    begin = text.rfind("\n", 0, at) + 1
    return begin > 0 and not text[begin:at].strip(" \t")


def _spread(text: str, document: Node) -> bool:
    """Do the elements of the document stand on lines of their own?"""
    return any(_alone(text, start) for start, _ in _children(document))
