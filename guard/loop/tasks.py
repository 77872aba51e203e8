"""Tasks: the list items with a box of a Markdown plan, with the headings that they stand below."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b

OPTIONAL = ("Optional", "Future", "Future Enhancements", "Nice to Have")
_TASK = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[([ xX])\][ \t]+(\S.*)")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*")
_FENCE = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}(?=[^`]*\Z)|~{3,})")
_MARKS = re.compile(r"`+|<!--")
_MARKUP = "*_`~:"
ABOVE, NUMBER = " › ", "⟨{}⟩"  # in an identity: between headings, and around the ordinal among equals
_TAKEN = str.maketrans("›⟨⟩", ">()")
LONGEST = 400  # characters of a text in an identity; a digest stands for the rest


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
    found = " ".join(text.translate(_TAKEN).split())
    if len(found) <= LONGEST:
        return found
    digest = blake2b(found.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{found[:LONGEST].rstrip()}… {digest}"


def _plain(text: str) -> str:
    return " ".join(text.split()).strip(_MARKUP + " ").casefold()


def _items(text: str) -> Iterator[tuple[int, str] | re.Match[str]]:
    """Headings (level and text) and tasks, in order."""
    before = ""
    for line in _visible(re.split(r"\r\n|\n|\r", text.removeprefix("\ufeff"))):
        if found := _HEADING.fullmatch(line):
            yield len(found[1]), _unclosed(found[2] or "")
        elif before and (found := _UNDERLINE.fullmatch(line)):
            yield 1 if found[1][0] == "=" else 2, before.strip()
        elif found := _TASK.fullmatch(line):
            yield found
        is_text = bool(line.strip()) and not any(kind.match(line) for kind in (_ITEM, _HEADING, _UNDERLINE))
        before = line if is_text and not line.startswith(("    ", "\t", "|", ">")) else ""


def _unclosed(text: str) -> str:
    """A heading's text without the #s that close it."""
    text = text.rstrip(" \t")
    bare = text.rstrip("#")
    return bare.rstrip(" \t") if not bare or bare[-1] in " \t" else text


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
    if not commented and "<!--" not in line:
        return line, False
    kept: list[str] = []
    at = 0
    marks = list(_MARKS.finditer(line))
    spans: dict[str, list[int]] = {}
    for found in marks:
        spans.setdefault(found[0], []).append(found.start())
    index = 0
    while True:
        if commented:
            end = line.find("-->", at)
            if end < 0:
                return "".join(kept), True
            at, commented = end + 3, False
        begins = at
        while index < len(marks) and (marks[index].start() < at or marks[index][0] != "<!--"):
            at = max(at, _span_end(marks[index], spans, at))
            index += 1
        if index == len(marks):
            return "".join([*kept, line[begins:]]), False
        start = marks[index].start()
        kept.append(line[begins:start])
        at, commented, index = start + 4, True, index + 1


def _span_end(mark: re.Match[str], spans: dict[str, list[int]], at: int) -> int:
    """Where the code span ends that a row of backticks begins; `at` where it begins none."""
    if mark.start() < at or mark[0] == "<!--":
        return at
    rows = spans[mark[0]]
    after = bisect_right(rows, mark.start())
    return rows[after] + len(mark[0]) if after < len(rows) else mark.end()
