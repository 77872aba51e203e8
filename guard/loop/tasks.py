"""Tasks: the list items with a box of a Markdown plan, with the headings that they stand below."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

OPTIONAL = ("Optional", "Future", "Future Enhancements", "Nice to Have")
_TASK = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[([ xX])\][ \t]+(\S.*)")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*")
_FENCE = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}(?=[^`]*\Z)|~{3,})")
_COMMENT = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)|<!--")
_MARKUP = "*_`~:"
ABOVE, NUMBER = " › ", "⟨{}⟩"  # in an identity: between headings, and around the ordinal among equals
_TAKEN = str.maketrans("›⟨⟩", ">()")


@dataclass(frozen=True)
class Task:
    """One task. Its identity is its heading path, its text, and its ordinal among equals."""

    identity: str
    ticked: bool
    optional: bool


def tasks(text: str, optional: Iterable[str] = OPTIONAL) -> tuple[Task, ...]:
    """The tasks of a plan in order. Fenced code and HTML comments have none."""
    names = {_plain(name) for name in optional}
    headings: list[tuple[int, str]] = []
    counts: dict[str, int] = {}
    found = []
    for item in _items(text):
        if isinstance(item, tuple):
            headings = [heading for heading in headings if heading[0] < item[0]]
            headings.append(item)
            continue
        path = ABOVE.join([*(_clean(name) for _, name in headings), _clean(item[2])])
        counts[path] = counts.get(path, 0) + 1
        identity = path if counts[path] == 1 else f"{path} {NUMBER.format(counts[path])}"
        found.append(Task(identity, item[1] != " ", any(_plain(name) in names for _, name in headings)))
    return tuple(found)


def _clean(text: str) -> str:
    return " ".join(text.translate(_TAKEN).split())


def _plain(text: str) -> str:
    return " ".join(text.split()).strip(_MARKUP + " ").casefold()


def _items(text: str) -> Iterator[tuple[int, str] | re.Match[str]]:
    """Headings (level and text) and tasks, in order."""
    before = ""
    for line in _visible(re.split(r"\r\n|\n|\r", text.removeprefix("\ufeff"))):
        if found := _HEADING.fullmatch(line):
            yield len(found[1]), found[2] or ""
        elif before and (found := _UNDERLINE.fullmatch(line)):
            yield 1 if found[1][0] == "=" else 2, before.strip()
        elif found := _TASK.fullmatch(line):
            yield found
        is_text = bool(line.strip()) and not any(kind.match(line) for kind in (_ITEM, _HEADING, _UNDERLINE))
        before = line if is_text and not line.startswith(("    ", "\t", "|", ">")) else ""


def _visible(lines: Iterable[str]) -> Iterator[str]:
    """The lines outside of fenced code and comments; what stands inside is an empty line."""
    fence, commented = "", False
    for line in lines:
        if fence:
            mark = line.strip()
            if set(mark) == {fence[0]} and len(mark) >= len(fence):
                fence = ""
            yield ""
            continue
        rest, commented = _uncommented(line, commented)
        if found := _FENCE.match(rest):
            fence = found[1]
            yield ""
        else:
            yield rest


def _uncommented(line: str, commented: bool) -> tuple[str, bool]:
    """What is left of a line without comments, and whether one goes on in the next. Code spans hold none."""
    kept, at = "", 0
    while True:
        if commented:
            end = line.find("-->", at)
            if end < 0:
                return kept, True
            at, commented = end + 3, False
        start = next((found.start() for found in _COMMENT.finditer(line, at) if found[0] == "<!--"), None)
        if start is None:
            return kept + line[at:], False
        kept, at, commented = kept + line[at:start], start + 4, True
