"""JSON text edited in place: whatever is not touched keeps its bytes, with comments, order, indentation and line ends.

A document is parsed into nodes that know where they stand; an edit gives a new text. Comments and trailing commas are
understood where the caller says that the reader of the file does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

DEEPEST = 100  # levels of nesting that are followed
INDENT = "  "  # where a document does not show its own

OBJECT, ARRAY, SCALAR = "object", "array", "scalar"
Path = tuple[str | int, ...]

_BLANK = re.compile(r"[ \t\r\n]*")
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*"')
_WORD = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![0-9A-Za-z_.+-])|(?:true|false|null)(?![0-9A-Za-z_])")
_REST_OF_LINE = re.compile(r"(?:[ \t]|/\*[^\r\n]*?\*/)*(?://[^\r\n]*)?")


class NotJson(ValueError):
    """The text is not JSON: what is wrong, and the line (from 1) and column where."""

    def __init__(self, what: str, text: str, at: int) -> None:
        super().__init__(what)
        self.what = what
        self.line = text.count("\n", 0, at) + 1
        self.column = at - (text.rfind("\n", 0, at) + 1) + 1


@dataclass(frozen=True)
class Node:
    """A value and where it stands: text[start:end]. `members` are those of an object in their order, `items` of an array."""

    kind: str
    start: int
    end: int
    value: Any
    members: tuple[Member, ...] = ()
    items: tuple[Node, ...] = ()

    def get(self, key: str) -> Node | None:
        """The value that readers see under a key: that of its last member."""
        return next((member.node for member in reversed(self.members) if member.key == key), None)

    def find(self, *path: str | int) -> Node | None:
        """The node below that keys and indexes lead to."""
        found: Node | None = self
        for step in path:
            if found is None:
                return None
            found = found.get(step) if isinstance(step, str) else next(iter(found.items[step : step + 1]), None)
        return found


@dataclass(frozen=True)
class Member:
    """One key of an object with its value; `start` is where the key stands."""

    key: str
    start: int
    node: Node


def parse(text: str, comments: bool = False) -> Node:
    """The document; `comments` allows them, and trailing commas. Raises NotJson with the place of what is wrong."""
    return _Parser(text, comments).document()


def line_of(text: str, node: Node) -> int:
    """The line, from 1, on which a node begins."""
    return text.count("\n", 0, node.start) + 1


class _Parser:
    def __init__(self, text: str, comments: bool) -> None:
        self._text = text
        self._comments = comments
        self._at = 0

    def document(self) -> Node:
        self._blank()
        if self._at == len(self._text):
            raise self._error("the file is empty")
        node = self._value(0)
        self._blank()
        if self._at < len(self._text):
            raise self._error("there is something behind the end of the document")
        return node

    def _value(self, depth: int) -> Node:
        if depth > DEEPEST:
            raise self._error(f"nested deeper than {DEEPEST} levels")
        start = self._text[self._at : self._at + 1]
        if start == "{":
            return self._object(depth)
        if start == "[":
            return self._array(depth)
        at = self._at
        match = (_STRING if start == '"' else _WORD).match(self._text, at)
        if match is None:
            raise self._error(
                "a text that does not end, or with a character that has to be escaped" if start == '"' else "no value"
            )
        self._at = match.end()
        try:
            return Node(SCALAR, at, self._at, json.loads(match[0]))
        except ValueError as error:  # digits without end
            raise self._error(str(error)) from error

    def _object(self, depth: int) -> Node:
        start = self._at
        members: list[Member] = []
        while self._more("}", bool(members)):
            at = self._at
            match = _STRING.match(self._text, at)
            if match is None:
                raise self._error("a key in double quotes has to stand here")
            self._at = match.end()
            self._blank()
            if self._text[self._at : self._at + 1] != ":":
                raise self._error('":" is missing behind a key')
            self._at += 1
            self._blank()
            members.append(Member(json.loads(match[0]), at, self._value(depth + 1)))
        return Node(OBJECT, start, self._at, {member.key: member.node.value for member in members}, members=tuple(members))

    def _array(self, depth: int) -> Node:
        start = self._at
        items: list[Node] = []
        while self._more("]", bool(items)):
            items.append(self._value(depth + 1))
        return Node(ARRAY, start, self._at, [item.value for item in items], items=tuple(items))

    def _more(self, closing: str, behind: bool) -> bool:
        """Moves to the next element; False behind the closing bracket."""
        if not behind:
            self._at += 1
            self._blank()
            return not self._closed(closing)
        self._blank()
        if self._closed(closing):
            return False
        if self._text[self._at : self._at + 1] != ",":
            raise self._error(f'"," or "{closing}" is missing')
        self._at += 1
        self._blank()
        if not self._text.startswith(closing, self._at):
            return True
        if not self._comments:
            raise self._error("a comma in front of the closing bracket is not allowed here")
        return not self._closed(closing)

    def _closed(self, closing: str) -> bool:
        found = self._text.startswith(closing, self._at)
        self._at += found
        return found

    def _blank(self) -> None:
        """Passes blanks and comments."""
        while True:
            self._at = _BLANK.match(self._text, self._at).end()  # type: ignore[union-attr]
            comment = _COMMENT.match(self._text, self._at)
            if comment is None:
                return
            if not self._comments:
                raise self._error("a comment is not allowed here")
            self._at = comment.end()

    def _error(self, what: str) -> NotJson:
        return NotJson(what, self._text, self._at)


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
    inner = _BLANK.match(text, start + 1).end()  # type: ignore[union-attr]
    return text[: start + 1] + text[inner:] if text[inner] in "}]" else text


def _children(container: Node) -> list[tuple[int, int]]:
    if container.kind == OBJECT:
        return [(member.start, member.node.end) for member in container.members]
    return [(item.start, item.end) for item in container.items]


def _comma(text: str, start: int, end: int) -> int | None:
    """Where the comma between two elements stands, outside of comments."""
    at = start
    while at < end:
        comment = _COMMENT.match(text, at)
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
