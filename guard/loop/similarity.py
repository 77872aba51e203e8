"""How alike two texts are, and the fingerprint of an error line."""

from __future__ import annotations

import re

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
    needed = -(-percent * (len(one) + len(other)) // 200)  # characters that the subsequence must have
    if min(len(one), len(other)) < needed:
        return False
    from rapidfuzz.distance import LCSseq  # late: it is needed for texts only that are neither equal nor of unequal lengths

    return LCSseq.similarity(one, other, score_cutoff=needed) >= needed


def same_approach(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Do two sets of changes share at least half of their union?"""
    pairs, others = set(one), set(other)
    return 2 * len(pairs & others) >= len(pairs | others)
