"""How alike two texts are, and the fingerprint of an error line."""

from __future__ import annotations

import re
from collections import Counter

PERCENT = 90  # messages and prompts that share so much are similar, and errors whose words do are the same
LENGTH = 500  # characters of a fingerprint
PROMPT = 20_000  # characters of a prompt that are compared

_ANSI = r"\x1b\[[0-9;?]{0,40}[ -/]{0,4}[@-~]"
_TIME = r"\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:z|[+-]\d\d:?\d\d)?)?|\b\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\b"
_UUID = r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
_HEX = r"\b0x[0-9a-f]+\b|\b(?=[a-f]*\d)[0-9a-f]{7,}\b"
_NUMBER = r"\d+(?:\.\d+)?"
TIME, UUID = _TIME, _UUID  # what changes in a content though it says the same
_ANSI_CODES = re.compile(_ANSI)
_CHANGING = re.compile(f"{_TIME}|{_UUID}|{_HEX}|{_NUMBER}")
_FLEETING = re.compile(rf"{_TIME}|{_UUID}|\b[0-9a-f]{{7,}}\b")


def fingerprint(line: str) -> str:
    """An error line without what changes from one time to the next: paths, times, numbers, identities, blanks."""
    words = _ANSI_CODES.sub("", line[: 8 * LENGTH]).lower().split()
    text = " ".join(word.rpartition("/")[2] or word for word in words)
    return " ".join(_CHANGING.sub("#", text).split())[:LENGTH]


def same_error(one: str, other: str) -> bool:
    """Do two fingerprints mean the same error: are they equal, or do their words share 90 % of their union?"""
    if one == other:
        return True
    words, others = set(one.split()), set(other.split())
    return 100 * len(words & others) >= PERCENT * len(words | others)


def normalised(text: str) -> str:
    """A text without what changes though it says the same: colours, times, identities, long hexadecimal numbers, blanks."""
    return " ".join(_FLEETING.sub("", _ANSI_CODES.sub("", text).lower()).split())


def similar(one: str, other: str, percent: int = PERCENT) -> bool:
    """Is twice their longest common subsequence at least so much of both lengths together?"""
    if one == other:
        return True
    total = len(one) + len(other)
    needed = -(-percent * total // 200)  # characters that the subsequence must have
    if min(len(one), len(other)) < needed or sum((Counter(one) & Counter(other)).values()) < needed:
        return False
    return _common(one, other, needed)


def _common(one: str, other: str, needed: int) -> bool:
    """Has the longest common subsequence `needed` characters? (One row of bits a character: Hyyrö, 2004.)"""
    at = 0
    while at < min(len(one), len(other)) and one[at] == other[at]:
        at += 1
    one, other, needed = one[at:], other[at:], needed - at
    end = 0
    while end < min(len(one), len(other)) and one[-1 - end] == other[-1 - end]:
        end += 1
    one, other, needed = one[: len(one) - end], other[: len(other) - end], needed - end
    if needed <= 0:
        return True
    places: dict[str, int] = {}
    for index, character in enumerate(one):
        places[character] = places.get(character, 0) | 1 << index
    mask = (1 << len(one)) - 1
    row = mask
    for index, character in enumerate(other):
        hits = row & places.get(character, 0)
        row = (row + hits | row - hits) & mask
        if not index % 64 and len(one) - row.bit_count() + len(other) - index - 1 < needed:
            return False
    return len(one) - row.bit_count() >= needed


def same_approach(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Do two sets of changes share at least half of their union?"""
    pairs, others = set(one), set(other)
    return 2 * len(pairs & others) >= len(pairs | others)
