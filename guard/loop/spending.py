"""Spending: what one call took, where a client counts on through all the calls of a session."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from guard.loop.facts import Tokens
from guard.loop.reading import Reading
from guard.loop.state import Spent

USAGE = "usage.json"  # where a client is to tell its tokens that does not print them
LARGEST = 1 << 20  # bytes of it
DIGITS = 9  # of an amount of money behind the point; what is smaller comes from the arithmetic
_KINDS = ("input", "output", "cache_read", "cache_write")


def spent(reading: Reading, before: Spent) -> tuple[Tokens, float]:
    """What a call took: of a session that is known, the difference. Sums that went down began anew."""
    if not reading.session or reading.session != before.session:
        return reading.tokens, reading.cost_usd
    cost = round(reading.cost_usd - before.cost_usd, DIGITS)
    tokens = _since(reading.tokens, before.tokens) if reading.goes_on else reading.tokens
    return tokens, cost if cost >= 0 else reading.cost_usd


def _since(now: Tokens, before: Tokens) -> Tokens:
    pairs = [(getattr(now, kind), getattr(before, kind)) for kind in _KINDS]
    if any(new < old for new, old in pairs):
        return now
    return Tokens(*(new - old for new, old in pairs))


class Meter:
    """The file `usage` for the client's tokens: in `place`, where the client cannot write into the loop's directory."""

    def __init__(self, directory: str, place: str = "") -> None:
        self.usage = f"{place or directory}/{USAGE}"
        if place:
            with suppress(OSError):
                os.makedirs(place, mode=0o700, exist_ok=True)

    def told(self) -> bytes:
        """What the client has written into its file of tokens, which is gone afterwards; nothing where it has not."""
        try:
            descriptor = os.open(self.usage, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return b""
        with open(descriptor, "rb") as file:
            data = file.read(LARGEST) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
        with suppress(OSError):
            os.unlink(self.usage)
        return data
