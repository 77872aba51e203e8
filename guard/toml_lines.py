"""Where things stand in a TOML text: tomllib says what a value is, not on which line."""

from __future__ import annotations

import re
import tomllib
from contextlib import suppress

Path = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY = re.compile(r"""[ \t]*("(?:\\.|[^"\\\n])*"|'[^'\n]*'|[A-Za-z0-9_-]+)[ \t]*""")
_STRING = re.compile(r'''"""(?:\\.|[^\\])*?"""(?:"{0,2})|\'\'\'.*?\'\'\'(?:'{0,2})|"(?:\\.|[^"\\\n])*"|'[^'\n]*\'''', re.DOTALL)
_BARE = re.compile(r"[^,\]}\n#]+")


def lines(text: str) -> dict[Path, int]:
    """The line (from 1) of every table, key and array element of a valid TOML text, by its path of keys and indexes."""
    scanner = _Scanner(text)
    with suppress(RecursionError, ValueError, IndexError):  # a line number is a help: what was found until here serves
        scanner.run()
    return scanner.found


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.found: dict[Path, int] = {}
        self._counts: dict[Path, int] = {}
        self._line, self._counted = 1, 0

    def run(self) -> None:
        table: Path = ()
        while self._blank() < len(self.text):
            if self.text.startswith("[", self.at):
                table = self._header()
            else:
                self._pair(table)

    def _header(self) -> Path:
        brackets = 2 if self.text.startswith("[[", self.at) else 1
        line = self._here()
        self.at += brackets
        names = self._keys()
        self.at += brackets
        path: Path = ()
        for depth, key in enumerate(names, 1):
            path = (*path, key)
            self.found.setdefault(path, line)
            if brackets == 2 and depth == len(names):
                self._counts[path] = self._counts.get(path, -1) + 1
            if path in self._counts:
                path = (*path, self._counts[path])
                self.found.setdefault(path, line)
        return path

    def _keys(self) -> tuple[str, ...]:
        names = []
        while True:
            match = _KEY.match(self.text, self.at)
            if match is None:
                raise ValueError("no key")
            self.at = match.end()
            names.append(_plain(match[1]))
            if not self.text.startswith(".", self.at):
                break
            self.at += 1
        return tuple(names)

    def _pair(self, table: Path) -> None:
        line = self._here()
        path = table
        for key in self._keys():
            path = (*path, key)
            self.found.setdefault(path, line)
        self.at += 1
        self._value(path)

    def _value(self, path: Path) -> None:
        self._blank()
        start = self.text[self.at]
        if start in "\"'":
            match = _STRING.match(self.text, self.at)
            if match is None:
                raise ValueError("no string")
            self.at = match.end()
        elif start == "[":
            self._array(path)
        elif start == "{":
            self._inline(path)
        else:
            match = _BARE.match(self.text, self.at)
            if match is None:
                raise ValueError("no value")
            self.at = match.end()

    def _array(self, path: Path) -> None:
        self.at += 1
        index = 0
        while self.text[self._blank()] != "]":
            self.found[*path, index] = self._here()
            self._value((*path, index))
            index += 1
            if self.text[self._blank()] == ",":
                self.at += 1
        self.at += 1

    def _inline(self, path: Path) -> None:
        self.at += 1
        while self.text[self._blank()] != "}":
            self._pair(path)
            if self.text[self._blank()] == ",":
                self.at += 1
        self.at += 1

    def _blank(self) -> int:
        """Passes blanks, newlines and comments."""
        self.at = _BLANK.match(self.text, self.at).end()  # type: ignore[union-attr]
        return self.at

    def _here(self) -> int:
        self._line += self.text.count("\n", self._counted, self.at)
        self._counted = self.at
        return self._line


def _plain(key: str) -> str:
    return str(tomllib.loads(f"key = {key}")["key"]) if key[0] in "\"'" else key
