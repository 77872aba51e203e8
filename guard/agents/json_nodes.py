"""JSON text as nodes that know where they stand. Comments and trailing commas are understood where the caller says that the
reader of the file does."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

DEEPEST = 100  # levels of nesting that are followed

OBJECT, ARRAY, SCALAR = "object", "array", "scalar"
Path = tuple[str | int, ...]

BLANK = re.compile(r"[ \t\r\n]*")
COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*"')
_WORD = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![0-9A-Za-z_.+-])|(?:true|false|null)(?![0-9A-Za-z_])")


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
            self._at = BLANK.match(self._text, self._at).end()  # type: ignore[union-attr]
            comment = COMMENT.match(self._text, self._at)
            if comment is None:
                return
            if not self._comments:
                raise self._error("a comment is not allowed here")
            self._at = comment.end()

    def _error(self, what: str) -> NotJson:
        return NotJson(what, self._text, self._at)
