"""Lines of an output that comes in pieces, in bounded memory."""

from __future__ import annotations

import codecs
import re
from collections import deque
from collections.abc import Iterator

LONGEST_LINE = 32 << 20  # bytes of a line that is read as one; what is longer is no event
KEPT = 4 << 20  # bytes of an output that are kept as text, from its end
_FILLED = re.compile(rb"[^\s][^\n]*")


# How an output of another encoding begins: with its mark, or with an ASCII letter in every other byte.
_MARKS = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_WIDE = (
    (re.compile(rb"(?:[\t\n\r -~]\0){2}", re.DOTALL), "utf-16-le"),
    (re.compile(rb"(?:\0[\t\n\r -~]){2}", re.DOTALL), "utf-16-be"),
)
_ENOUGH = 4  # bytes that tell


class Recoder:
    """Makes UTF-8 of an output in UTF-16; every other one stays as it is."""

    def __init__(self) -> None:
        self._start: bytes | None = b""
        self._decoder: codecs.IncrementalDecoder | None = None

    def feed(self, data: bytes) -> bytes:
        """The next piece; what cannot be told yet comes with a later one."""
        if self._start is None:
            return data if self._decoder is None else self._recoded(self._decoder.decode(data))
        data = self._start + data
        if len(data) < _ENOUGH and not data.endswith(b"\n"):
            self._start = data
            return b""
        self._start = None
        mark, encoding = self._encoding(data)
        if encoding:
            self._decoder = codecs.getincrementaldecoder(encoding)("replace")
            return self._recoded(self._decoder.decode(data[len(mark) :]))
        return data

    def end(self) -> bytes:
        """What is left."""
        rest, self._start = self._start or b"", None
        return rest if self._decoder is None else self._recoded(self._decoder.decode(b"", True))

    @staticmethod
    def _encoding(data: bytes) -> tuple[bytes, str]:
        marked = next((pair for pair in _MARKS if data.startswith(pair[0])), None)
        return marked or next(((b"", name) for pattern, name in _WIDE if pattern.match(data)), (b"", ""))

    @staticmethod
    def _recoded(text: str) -> bytes:
        return text.encode("utf-8", "replace")


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
