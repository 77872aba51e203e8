"""Conditions of the scripting languages: whether one surely holds, surely does not, or cannot be told."""

from __future__ import annotations

from guard.tools.patterns import PatternError, perl
from guard.tools.script_tokens import Token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from guard.tools.script_reader import Reader

MUTATING = frozenset("push pop shift unshift splice add delete clear set append concat insert chomp chop".split())
EQUAL = {("=", "=", "="): True, ("=", "="): True, ("!", "=", "="): False, ("!", "="): False}
EQUAL_WORDS = {"eq": True, "ne": False}
ENVIRONMENTS = ("process.env", "$ENV", "ENV")
LONGEST = 4_096  # letters of a text that an expression is tried on


class Unsure(Exception):
    """What an expression gives cannot be told."""


class Condition:
    """The tokens of a condition, read with given texts for some of the program's variables."""

    def __init__(self, reader: Reader, given: Mapping[str, str]) -> None:
        self.reader = reader
        self.tokens = reader.tokens
        self.given = given

    def holds(self, start: int, end: int, depth: int = 0) -> bool | None:
        """True, False, or None where it cannot be told."""
        self.reader.process.here.view.budget.spend()
        while start < end and self.tokens[start] == Token("mark", "(") and self.reader.closing(start) == end - 1:
            start, end = start + 1, end - 1
        if start >= end or depth > 20:
            return None
        for marks, word, decides in ((("|", "|"), "or", True), (("&", "&"), "and", False)):
            parts = list(self._split(start, end, marks, word))
            if len(parts) > 1:
                found = [self.holds(first, last, depth + 1) for first, last in parts]
                return decides if decides in found else None if None in found else not decides
        if self.tokens[start] == Token("mark", "!") or self.tokens[start] == Token("name", "not"):
            inner = self.holds(start + 1, end, depth + 1) if self._whole(start + 1, end) else None
            return None if inner is None else not inner
        try:
            return self._atom(start, end)
        except (Unsure, PatternError):
            return None

    def _whole(self, start: int, end: int) -> bool:
        """True when no operator stands outside brackets, so that what is negated is all of it."""
        return all(self.tokens[at].value not in "=<>?" for at in self._top(start, end) if self.tokens[at].kind == "mark")

    def _top(self, start: int, end: int) -> Iterator[int]:
        at = start
        while at < end:
            yield at
            opens = self.tokens[at].kind == "mark" and self.tokens[at].value in "([{"
            at = max(self.reader.closing(at), at) + 1 if opens else at + 1

    def _split(self, start: int, end: int, marks: tuple[str, ...], word: str) -> Iterator[tuple[int, int]]:
        first = start
        for at in self._top(start, end):
            if at < first:
                continue
            length = self._here(at, end, marks) or int(self.tokens[at] == Token("name", word))
            if length:
                yield first, at
                first = at + length
        yield first, end

    def _here(self, at: int, end: int, marks: tuple[str, ...]) -> int:
        found = all(at + i < end and self.tokens[at + i] == Token("mark", mark) for i, mark in enumerate(marks))
        return len(marks) if found else 0

    def _atom(self, start: int, end: int) -> bool:
        for at in self._top(start, end):
            token = self.tokens[at]
            if token.kind == "name" and token.value in EQUAL_WORDS:
                return self._equal(start, at, at + 1, end) is EQUAL_WORDS[token.value]
            if token.kind != "mark" or token.value not in "=!<>":
                continue
            for marks, same in EQUAL.items():
                if length := self._here(at, end, marks):
                    return self._equal(start, at, at + length, end) is same
            if self._here(at, end, ("=", "~")) or self._here(at, end, ("!", "~")):
                return self._matches(self.text(start, at), at + 2, end) is (token.value == "=")
            raise Unsure
        if end - start == 1 and self.tokens[start].kind == "regex" and self.reader.language.name == "perl":
            return self._matches(self._named("_"), start, end)
        return _true(self.value(start, end), self.reader.language.name)

    def _equal(self, start: int, middle: int, after: int, end: int) -> bool:
        one, other = self.value(start, middle), self.value(after, end)
        if not isinstance(one, (str, type(None))) or not isinstance(other, (str, type(None))):
            raise Unsure
        if None in (one, other) and self.reader.language.name != "node":
            raise Unsure
        return one == other

    def _matches(self, text: Any, start: int, end: int) -> bool:
        if end - start != 1 or self.tokens[start].kind != "regex" or not isinstance(text, str) or len(text) > LONGEST:
            raise Unsure
        token = self.tokens[start]
        flags = str(token.pieces[0])
        if set(flags) - set("gimsxu") or any(mark in token.value for mark in ("$(", "@", "\\K", "\\Q", "\\z", "\\p", "[[")):
            raise Unsure
        if any(letter == "$" and token.value[at + 1 : at + 2] not in ("", ")", "|") for at, letter in enumerate(token.value)):
            raise Unsure
        kept = "".join(sorted(set(flags) & set("imsx")))
        regex = perl(
            (f"(?{kept})" if kept else "")
            + token.value.replace("\\/", "/").replace("(?<", "(?P<").replace("(?P<=", "(?<=").replace("(?P<!", "(?<!")
        )
        if not regex.affordable(len(text)):
            raise Unsure
        return regex.search.search(text) is not None

    def text(self, start: int, end: int) -> str:
        """The value of an expression that is a text."""
        found = self.value(start, end)
        if not isinstance(found, str):
            raise Unsure
        return found

    def value(self, start: int, end: int) -> Any:
        """A text, True, False, None (undefined), or a list of texts."""
        token = self.tokens[start] if start < end else Token("end", "")
        at = start + 1
        if token.kind == "text" and all(isinstance(piece, str) for piece in token.pieces):
            found: Any = "".join(map(str, token.pieces))
        elif token.kind == "words":
            found = token.value.split()
        elif token == Token("mark", "["):
            found, at = self._items(start), self.reader.closing(start) + 1
        elif token == Token("name", "new") and self.tokens[start + 1 : start + 3] == [Token("name", "Set"), Token("mark", "(")]:
            close = self.reader.closing(start + 2)
            found, at = self.value(start + 3, close), close + 1
        elif token.kind == "regex" and self._here(start + 1, end, (".",)) and self.tokens[start + 2].value == "test":
            close = self.reader.closing(start + 3)
            return self._last(close + 1, end, self._matches(self.text(start + 4, close), start, start + 1))
        elif token.kind == "name":
            found, at = self._name(start, end)
        else:
            raise Unsure
        while at < end:
            found, at = self._member(found, at, end)
        return found

    def _last(self, at: int, end: int, found: Any) -> Any:
        if at != end:
            raise Unsure
        return found

    def _items(self, start: int) -> list[str]:
        close = self.reader.closing(start)
        parts = [(first, last) for first, last in self._split(start + 1, close, (",",), "") if first < last]
        return [self.text(first, last) for first, last in parts]

    def _name(self, start: int, end: int) -> tuple[Any, int]:
        names = self.tokens[start].value
        at = start + 1
        while (
            self._here(at, end, (".",)) and at + 1 < end and self.tokens[at + 1].kind == "name" and names in ("process", "path")
        ):
            names += "." + self.tokens[at + 1].value
            at += 2
        if names in ENVIRONMENTS and at < end:
            return self._environment(at, end)
        if names == "process.argv":
            return self._list(self.reader.variables["argv"].texts), at
        if names in ("path.extname", "path.basename", "basename") and self._here(at, end, ("(",)):
            close = self.reader.closing(at)
            last = self.text(at + 1, close).rstrip("/").rpartition("/")[2]
            dot = last.rfind(".")
            return (last if "extname" not in names else last[dot:] if dot > 0 else ""), close + 1
        if names in ("true", "false"):
            return names == "true", at
        if names in ("null", "undefined", "nil"):
            return None, at
        return self._named(names), at

    def _environment(self, at: int, end: int) -> tuple[Any, int]:
        if self.tokens[at].value not in (".", "[", "{"):
            raise Unsure
        dotted = self.tokens[at].value == "."
        close = at + 1 if dotted else self.reader.closing(at)
        plain = dotted or (close == at + 2 and self.tokens[at + 1].kind == "name")
        name = self.tokens[at + 1].value if plain else self.text(at + 1, close)
        if any(
            token.kind == "name" and token.value in ("env", "dotenv", "ENV", "$ENV", "%ENV") and self._bound(i)
            for i, token in enumerate(self.tokens)
        ):
            raise Unsure
        value = self.reader.process.env.get(name)
        if value is not None and not isinstance(value, str):
            raise Unsure
        return value, close + 1

    def _bound(self, at: int) -> bool:
        """True when something of the environment is assigned here, or all of it may be."""
        if self.tokens[at].value == "dotenv":
            return True
        after = self.tokens[at + 1 : at + 6]
        marks = [i for i, token in enumerate(after) if token == Token("mark", "=")]
        first = marks[0] if marks else -1
        return (
            first >= 0
            and first + 1 < len(after)
            and after[first + 1].value not in ("=", "~", ">")
            and after[first - 1].value not in ("=", "!")
        )

    def _named(self, name: str) -> Any:
        plain = name.lstrip("$@%")
        if plain in self.given:
            return self.given[plain]
        value = self.reader.variables.get(plain)
        if value is None or not value.exact or not stable(self.reader, plain):
            raise Unsure
        texts = self._list(value.texts)
        if value.whole:
            return texts
        if len(texts) != 1:
            raise Unsure
        return texts[0]

    def _list(self, texts: list[Any]) -> list[str]:
        if not all(isinstance(text, str) for text in texts):
            raise Unsure
        return [str(text) for text in texts]

    def _member(self, value: Any, at: int, end: int) -> tuple[Any, int]:
        """A method of a text or list, or an item of a list."""
        if self._here(at, end, ("[",)) and isinstance(value, list):
            close = self.reader.closing(at)
            index = self.tokens[at + 1]
            if close != at + 2 or index.kind != "number" or not index.value.isdigit():
                raise Unsure
            return (value[int(index.value)] if int(index.value) < len(value) else None), close + 1
        at += self._here(at, end, ("?", ".")) or self._here(at, end, (".",))
        name = self.tokens[at].value if at < end else ""
        if name == "name" and isinstance(value, str) and not self._here(at + 1, end, ("(",)):
            return value, at + 1
        close = self.reader.closing(at + 1) if self._here(at + 1, end, ("(",)) else at
        if isinstance(value, str) and name in ("match", "match?") and close > at:
            return self._matches(value, at + 2, close), close + 1
        given = self.text(at + 2, close) if close > at + 2 else None
        return _method(value, name, given), close + 1


def _method(value: Any, name: str, given: str | None) -> Any:
    if isinstance(value, list) and name in ("includes", "has", "include?", "contains") and given is not None:
        return given in value
    if not isinstance(value, str):
        raise Unsure
    if given is not None:
        if name in ("endsWith", "end_with?"):
            return value.endswith(given)
        if name in ("startsWith", "start_with?"):
            return value.startswith(given)
        if name in ("includes", "include?"):
            return given in value
    elif name in ("toString", "to_s", "trim", "strip"):
        return value.strip() if name in ("trim", "strip") else value
    elif name in ("toLowerCase", "downcase") and value.isascii():
        return value.lower()
    raise Unsure


def _true(value: Any, language: str) -> bool:
    if isinstance(value, list):
        return language == "node" or bool(value)
    if language in ("ruby", "lua"):
        return value not in (None, False)
    return bool(value) and (language == "node" or value != "0")


def stable(reader: Reader, name: str) -> bool:
    """True when a variable is bound once only, and nothing changes what it holds."""
    found = reader.stable.get(name)
    if found is None:
        found = reader.stable[name] = _bindings(reader, name) <= 1
    return found


def _bindings(reader: Reader, name: str) -> int:
    count = 0
    tokens = reader.tokens
    for at, token in enumerate(tokens):
        if token.kind == "change" and reader.language.name == "perl":
            return 2
        if token.kind != "name" or token.value.lstrip("$@%") not in (name, *MUTATING):
            continue
        before = tokens[at - 1] if at else Token("end", "")
        after = [each.value if each.kind == "mark" else "" for each in tokens[at + 1 : at + 4]] + ["", "", ""]
        if token.value in MUTATING:
            count += 2 * _mutates(reader, at, name)
        elif after[0] == "=" and after[1] not in ("=", "~", ">"):
            count += 1
        elif (
            (after[0] == after[1] and after[0] in ("+", "-"))
            or (after[0] and after[0] in "+-*/.|&?%x" and "=" in after[1:3] and after[0] != "=")
            or (before.value in ("+", "-") and tokens[at - 2].value == before.value)
        ):
            count += 2
        elif before.value in ("{", ",", "[") and _spread(tokens, at):
            count += 1
        elif after[0] == "[" and reader.language.name != "perl" and _put(reader, at + 1):
            count += 2
    return count


def _mutates(reader: Reader, at: int, name: str) -> bool:
    """True when the method or function at a place may change the variable."""
    tokens = reader.tokens
    if at > 1 and tokens[at - 1] == Token("mark", "."):
        return tokens[at - 2].value.lstrip("$@%") == name
    near = [token.value.lstrip("$@%") for token in tokens[at + 1 : at + 4] if token.kind == "name"]
    return name in near or (name == "_" and reader.language.name == "perl" and tokens[at].value in ("chomp", "chop"))


def _spread(tokens: list[Token], at: int) -> bool:
    """True inside of {a, b} = ... and [a, b] = ..."""
    place = at
    while place < len(tokens) and tokens[place].value not in ("}", "]", ";"):
        place += 1
    following = [token.value for token in tokens[place + 1 : place + 3]]
    return following[:1] == ["="] and following[1:2] != ["="]


def _put(reader: Reader, at: int) -> bool:
    close = reader.closing(at)
    following = [token.value for token in reader.tokens[close + 1 : close + 3]]
    return following[:1] == ["="] and following[1:2] not in (["="], [">"])
