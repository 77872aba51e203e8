"""Brace expansion of a word's raw text, by bash's own rules."""

from __future__ import annotations

from guard import expressions as re
from guard.shell.nodes import TooMany
from guard.shell.scanner import Scanner, Unparsable

COUNT_LIMIT = 10_000  # words
SIZE_LIMIT = 1 << 20  # characters of all of them
DEPTH_LIMIT = 50
TEXT_LIMIT = 1 << 16  # characters of the word
WORK_LIMIT = 1 << 19  # characters looked at for braces that nothing closes

_NUMBER = r"[-+]?[0-9]{1,18}"
_RANGE = re.compile(rf"(?:({_NUMBER})\.\.({_NUMBER})|([A-Za-z])\.\.([A-Za-z]))(?:\.\.({_NUMBER}))?\Z")
_PADDED = re.compile(r"[-+]?0[0-9]")
_SPECIAL = re.compile(r"""[^\\'"`$<>{},.]+""")
_AWKWARD = {"\\": "''", "`": "\\`"}  # what {Z..a} passes through


def expand(text: str, depth: int = 0) -> list[str]:
    """The words that brace expansion makes of a raw word, quotes and all else still in them. Raises TooMany."""
    if depth > DEPTH_LIMIT or len(text) > TEXT_LIMIT:
        raise TooMany
    heads = [""]
    text = _joined(text)
    while text:
        opened, closed = _pair(text)
        if closed < 0:
            break
        inner = text[opened + 1 : closed]
        middle = _alternatives(inner, depth) if _has_comma(inner) else _sequence(inner)
        if middle is None:
            if closed + 1 == len(text):
                break
            middle = [text[opened : closed + 1]]
        heads = _product(_product(heads, [text[:opened]]), middle)
        text = text[closed + 1 :]
    return _product(heads, [text])


def _joined(text: str) -> str:
    """The text with its lines joined, as a scanner's is when it comes to the end."""
    scanner = Scanner(text)
    i = 0
    try:
        while "\\\n" in scanner.text and i < len(scanner.text):
            i = scanner.piece(i, quoted=False)
    except Unparsable:
        return text
    return scanner.text


def _pair(text: str) -> tuple[int, int]:
    """The first brace that begins an expansion, and the one that ends it; (0, -1) without."""
    opened = _find(text, 0, "{")
    attempts = 0
    while opened >= 0:
        closed = _find(text, opened + 1, "}")
        if closed >= 0:
            return opened, closed
        attempts += 1
        if attempts * len(text) > WORK_LIMIT:
            raise TooMany
        opened = _find(text, opened + 1, "{")
    return 0, -1


def _has_comma(inner: str) -> bool:
    return re.search(r"(?<!\\)(?:\\\\)*,", inner) is not None


def _alternatives(inner: str, depth: int) -> list[str]:
    found: list[str] = []
    start = 0
    while True:
        end = _find(inner, start, ",")
        found += expand(inner[start : end if end >= 0 else len(inner)], depth + 1)
        if len(found) > COUNT_LIMIT:
            raise TooMany
        if end < 0:
            return found
        start = end + 1


def _find(text: str, i: int, wanted: str) -> int:
    """Where the wanted brace or comma stands, outside of quotes and inner braces; -1 without.

    A closing brace counts only where a comma or ".." stands between it and `i`.
    """
    scanner = Scanner(text)
    level = parted = 0
    try:
        while i < len(text):
            if match := _SPECIAL.match(text, i):
                i = match.end()
                continue
            character = text[i]
            if character == wanted and not level and (parted or wanted != "}") and not _idle(text, i):
                return i
            if text.startswith("${", i):
                level += 1
                i += 2
                continue
            level += (character == "{") - (character == "}" and level > 0)
            if not level and (character == "," or (text.startswith("..", i) and not text.startswith("}", i + 2))):
                parted += 1
            substituted = character in "<>" and text.startswith("(", i + 1)
            i = scanner.command(i + 2) if substituted else scanner.piece(i, quoted=False)
    except (Unparsable, IndexError):  # a line that is joined only here makes the text shorter
        return -1
    return -1


def _idle(text: str, i: int) -> bool:
    """Whether a brace stands alone between blanks: it expands nothing then."""
    return text[i] == "{" and (not i or text[i - 1] in " \t\n") and text[i + 1 : i + 2] in ("", " ", "\t", "\n", "}")


def _product(heads: list[str], tails: list[str]) -> list[str]:
    count = len(heads) * len(tails)
    if count > COUNT_LIMIT or count * (len(heads[0]) + len(tails[0])) > SIZE_LIMIT:
        raise TooMany
    return [head + tail for head in heads for tail in tails]


def _sequence(inner: str) -> list[str] | None:
    """What {1..3}, {a..e} and {1..9..2} stand for; None where it is no sequence."""
    match = _RANGE.match(inner)
    if match is None:
        return None
    low, high, first, last, increment = match.groups()
    start, end = (int(low), int(high)) if low else (ord(first), ord(last))
    step = abs(int(increment or 1)) or 1
    if abs(end - start) // step >= COUNT_LIMIT:
        raise TooMany
    values = range(start, end + 1, step) if start <= end else range(start, end - 1, -step)
    if not low:
        return [_AWKWARD.get(chr(value), chr(value)) for value in values]
    width = max(len(low), len(high)) if _PADDED.match(low) or _PADDED.match(high) else 0
    return [f"{value:0{width}d}" for value in values]
