"""Lines of an output that comes in pieces, in bounded memory."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator

LONGEST_LINE = 32 << 20  # bytes of a line that is read as one; what is longer is no event
KEPT = 4 << 20  # bytes of an output that are kept as text, from its end
_FILLED = re.compile(rb"[^\s][^\n]*")


class Lines:
    """Cuts pieces into lines. The end of one may still come."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._size = 0
        self._skipping = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The lines that end in this piece, without their ends."""
        first, *others = data.split(b"\n")
        self._keep(first)
        for line in others:
            if not self._skipping:
                yield b"".join(self._rest)
            self._rest, self._size, self._skipping = [line], len(line), False

    def end(self) -> bytes:
        """What stands behind the last line's end."""
        return b"" if self._skipping else b"".join(self._rest)

    def _keep(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > LONGEST_LINE:
            self._rest, self._skipping = [], True
        elif data and not self._skipping:
            self._rest.append(data)


class Tail:
    """The end of an output, and how many non-empty lines stood in front of it."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._pieces: deque[bytes] = deque()
        self._size = 0
        self._gone = 0  # non-empty lines that were let go, the last one perhaps in part
        self._counted = False  # that line is one of them
        self.whole = True  # nothing was let go

    def feed(self, data: bytes) -> None:
        """Takes in the next piece."""
        for at in range(0, len(data), self._kept):
            self._pieces.append(data[at : at + self._kept])
        self._size += len(data)
        while self._pieces and self._size - len(self._pieces[0]) >= self._kept:
            piece = self._pieces.popleft()
            self._size -= len(piece)
            self._let_go(piece)

    def _let_go(self, piece: bytes) -> None:
        self.whole = False
        first, feed, rest = piece.partition(b"\n")
        self._count(first)
        if feed:
            middle, _, last = rest.rpartition(b"\n")
            self._gone += sum(1 for _ in _FILLED.finditer(middle))
            self._counted = False
            self._count(last)

    def _count(self, part: bytes) -> None:
        """Counts a line when its first part with anything in it goes."""
        if not self._counted and part.strip():
            self._gone, self._counted = self._gone + 1, True

    def text(self) -> tuple[bytes, int]:
        """What is kept, from the beginning of a line where something was let go, and the non-empty lines in front of it."""
        found = b"".join(self._pieces)
        if self.whole:
            return found, 0
        first, feed, rest = found.partition(b"\n")
        if feed:
            return rest, self._gone + (not self._counted and bool(first.strip()))
        return found, self._gone - self._counted
