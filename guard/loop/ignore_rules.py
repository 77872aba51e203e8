"""The patterns of .gitignore files, for trees without git and for settings: which of them names a path itself."""

from __future__ import annotations

import re
from collections.abc import Iterable

_PATTERN = re.compile(r"\\(.)|(\*+)|(\?)|\[(!|\^)?(\]?(?:\\.|\[:\w+:\]|[^\]\\])*)\]|(.)", re.DOTALL)
_CLASS = re.compile(r"\\(.)|\[:(\w+):\]|(.)", re.DOTALL)
_NAMED = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "blank": " \\t", "digit": "0-9", "lower": "a-z", "space": "\\s", "upper": "A-Z",
    "xdigit": "0-9A-Fa-f", "punct": "!-/:-@\\[-`{-~", "cntrl": "\\x00-\\x1f\\x7f", "graph": "!-~", "print": " -~",
}  # fmt: skip
_BLANKS = re.compile(r"(?<!\\) +\Z")


class Rules:
    """The patterns of one file or setting, as git reads them. What git cannot understand matches nothing."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._patterns = [found for line in lines if (found := _pattern(line.rstrip("\n").removesuffix("\r")))]

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def verdict(self, path: str, directory: bool = False) -> bool | None:
        """Is a path, relative to the file's directory, ignored? None where no pattern names it. The last one decides."""
        name = path.rpartition("/")[2]
        for include, only_directories, whole, expression in reversed(self._patterns):
            if (directory or not only_directories) and expression.fullmatch(path if whole else name):
                return include
        return None

    def ignores(self, path: str) -> bool:
        """Is a file ignored, or any directory above it?"""
        parts = path.split("/")
        above = ("/".join(parts[:count]) for count in range(1, len(parts)))
        return any(self.verdict(directory, True) for directory in above) or bool(self.verdict(path))


def _pattern(line: str) -> tuple[bool, bool, bool, re.Pattern[str]] | None:
    """Whether it includes, names directories only, is compared with the whole path; and the expression."""
    text = _BLANKS.sub("", line)
    if not text or text.startswith("#"):
        return None
    include = not text.startswith("!")
    body = text.removeprefix("!")
    only_directories = body.endswith("/")
    body = body.removesuffix("/")
    whole = "/" in body
    body = body.removeprefix("/")
    if not body:
        return None
    try:
        return include, only_directories, whole, re.compile(_expression(body), re.DOTALL)
    except re.error:
        return None


def _expression(body: str) -> str:
    parts = body.split("/")
    found = ""
    for at, part in enumerate(parts):
        last = at == len(parts) - 1
        if part == "**":
            found += ".+" if last and at else "(?:.*/)?" if not last else "[^/]*"
        else:
            found += "".join(map(_piece, _PATTERN.finditer(part))) + ("" if last else "/")
    return found


def _piece(found: re.Match[str]) -> str:
    escaped, stars, mark, negated, inner, plain = found.groups()
    if stars:
        return "[^/]*"
    if mark:
        return "[^/]"
    if inner is not None:
        return f"[^/{_inner(inner)}]" if negated else f"(?!/)[{_inner(inner)}]"
    if plain in ("[", "\\"):
        return "(?!)"  # a bracket that is never closed, and a backslash at the end
    return re.escape(escaped or plain)


def _inner(text: str) -> str:
    """The inside of a bracket expression."""
    found = ""
    for escaped, named, plain in _CLASS.findall(text):
        found += _NAMED.get(named, "") if named else plain if plain == "-" else re.escape(escaped or plain)
    return found
