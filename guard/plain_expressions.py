r"""Plain regular expressions, compiled here: what globs and fixed texts become, with no group, set or alternative in it.

They are made while a command is judged, so they cannot be shipped, and `re` need not be imported for them. An item is a
character, an escaped sign, `.` or `[^/]`, with `*`, `+` or `?` behind it, or one of these made lazy; beside items there are
`^ $ \A \Z`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# The instructions of the engine that such an expression takes. Their numbers are shipped with the compiled expressions.
INSTRUCTIONS = tuple("LITERAL NOT_LITERAL ANY ANY_ALL AT REPEAT_ONE MIN_REPEAT_ONE SUCCESS".split())
POSITIONS = {"^": "AT_BEGINNING", "$": "AT_END", "\\A": "AT_BEGINNING_STRING", "\\Z": "AT_END_STRING"}
SIGNS = frozenset("()[]{}|*+?\\")
_COUNTS = {"*": (0, None), "+": (1, None), "?": (0, 1)}


class _Other(Exception):
    """The expression is not a plain one."""


def code(pattern: str, dotall: bool, numbers: Mapping[str, int], unbounded: int) -> list[int] | None:
    """The engine's code for a pattern, None where it is not plain. `unbounded` is the count that stands for no limit."""
    out: list[int] = []
    try:
        for item, count, lazy in _items(pattern):
            one = _compiled(item, dotall, numbers)
            if count:
                least, most = _COUNTS[count]
                repeat = numbers["MIN_REPEAT_ONE" if lazy else "REPEAT_ONE"]
                out += [repeat, len(one) + 4, least, unbounded if most is None else most, *one, numbers["SUCCESS"]]
            else:
                out += one
    except _Other:
        return None
    return [*out, numbers["SUCCESS"]]


def _items(pattern: str) -> Iterator[tuple[str, str, bool]]:
    """Each item or position, its count, and whether that is lazy."""
    at = 0
    while at < len(pattern):
        length = 4 if pattern.startswith("[^/]", at) else 2 if pattern[at] == "\\" else 1
        item = pattern[at : at + length]
        at += length
        count = pattern[at : at + 1] if pattern[at : at + 1] in ("*", "+", "?") else ""
        lazy = count != "" and pattern[at + 1 : at + 2] == "?"
        at += len(count) + lazy
        if item in SIGNS or (count and item in POSITIONS):
            raise _Other
        yield item, count, lazy


def _compiled(item: str, dotall: bool, numbers: Mapping[str, int]) -> list[int]:
    if item in POSITIONS:
        return [numbers["AT"], numbers[POSITIONS[item]]]
    if item == "[^/]":
        return [numbers["NOT_LITERAL"], ord("/")]
    if item == ".":
        return [numbers["ANY_ALL" if dotall else "ANY"]]
    sign = item[-1]
    if len(item) == 2 and sign.isascii() and sign.isalnum():
        raise _Other
    return [numbers["LITERAL"], ord(sign)]
