"""What happened to a file's content: how much of the old text survives in the new, and what kind of change that is."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

TOUCHED = "touched"  # the same content
EMPTIED = "emptied"  # nothing but blanks is left of something
REPLACED = "replaced"  # less than half of the old survives
EDITED = "edited"  # at least half of the old survives

HALF = 0.5
_BLANKS = b" \t\r\n\v\f\0"
_BLOCK = 64  # bytes compared as one in a binary file
_GRAM = 8  # bytes compared as one in longer changed passages
_FINE_LIMIT = 1024  # bytes on either side up to which changed passages are compared byte by byte, which is quadratic
_REST_LIMIT = 64 * 1024  # bytes on either side up to which changed passages are compared at all


def blank(content: bytes) -> bool:
    """True when there is no byte but white space and NUL."""
    return not content.translate(None, _BLANKS)


def kind_of_change(old: bytes, new: bytes) -> str:
    """TOUCHED, EMPTIED, REPLACED or EDITED: what it means for a file of content `old` to hold `new`."""
    if old == new:
        return TOUCHED
    if blank(old):
        return EDITED
    if blank(new):
        return EMPTIED
    return REPLACED if survival(old, new) < HALF else EDITED


def survival(old: bytes, new: bytes) -> float:
    """The share (0 to 1) of the old content's non-blank bytes that is still there in the new.

    Text counts by identical lines, wherever they stand, and by the likeness of what is left; binary content by blocks.
    """
    if blank(old):
        return 1.0
    if b"\0" in old or b"\0" in new:
        gone, _ = _difference(_blocks(old), _blocks(new))
        return 1 - sum(map(len, gone)) / len(old)
    lines = _lines(old)
    gone, added = _difference(lines, _lines(new))
    total = sum(map(len, lines))
    lost = sum(map(len, gone))
    return 1 - lost / total * (1 - _likeness(b"\n".join(gone), b"\n".join(added)))


def _lines(content: bytes) -> list[bytes]:
    return [line for line in (raw.strip() for raw in content.split(b"\n")) if line]


def _blocks(content: bytes) -> list[bytes]:
    return [content[at : at + _BLOCK] for at in range(0, len(content), _BLOCK)]


def _grams(content: bytes) -> list[bytes]:
    return [content[at : at + _GRAM] for at in range(max(1, len(content) - _GRAM + 1))]


def _count(items: Iterable[bytes]) -> dict[bytes, int]:
    found: dict[bytes, int] = {}
    for item in items:
        found[item] = found.get(item, 0) + 1
    return found


def _difference(old: list[bytes], new: list[bytes]) -> tuple[list[bytes], list[bytes]]:
    """What only the old and what only the new has, in order, each item as often as it is too many."""
    return _without(old, _count(new)), _without(new, _count(old))


def _without(items: list[bytes], others: dict[bytes, int]) -> list[bytes]:
    rest = []
    for item in items:
        left = others.get(item, 0)
        if left:
            others[item] = left - 1
        else:
            rest.append(item)
    return rest


def _likeness(gone: bytes, added: bytes) -> float:
    """How much of the old passages stands in the new ones, 0 to 1."""
    longer = max(len(gone), len(added))
    if not gone or not added or longer > _REST_LIMIT:
        return 0.0
    if longer <= _FINE_LIMIT:
        from difflib import SequenceMatcher

        return SequenceMatcher(None, gone, added, autojunk=False).ratio()
    grams = _grams(gone)
    return 1 - len(_without(grams, _count(_grams(added)))) / len(grams)
