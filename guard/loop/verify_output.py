"""Output of a verify command: read as it comes, in bounded memory, for tests, errors, reports, and its last lines."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from guard.loop import test_reports
from guard.loop.error_lines import error_lines, is_error, shown
from guard.loop.facts import TAIL
from guard.loop.similarity import fingerprint
from guard.loop.test_output import Results

FINGERPRINTS = 500  # errors that are remembered of a command
_LINE = 1 << 16  # bytes of a line that are read; the rest of it is passed over
_SHOWN = 1000  # characters of a line that are kept
_KNOWN = 2000  # error lines that are remembered as they stand there
_DIGITS = str.maketrans("123456789", "000000000")


@dataclass
class Output:
    """What a command writes, read line by line."""

    results: Results = field(default_factory=Results)
    reports: test_reports.Named = field(default_factory=test_reports.Named)
    errors: dict[str, None] = field(default_factory=dict)
    known: set[str] = field(default_factory=set)  # error lines, as they stood there
    tail: deque[str] = field(default_factory=lambda: deque(maxlen=TAIL))
    rest: bytes = b""
    long: bool = False  # the rest of a line that is too long is passed over

    def feed(self, data: bytes) -> None:
        """Reads the next piece."""
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._end_of_line(line)
        if self.long:
            self._more(rest)
            return
        self.rest += rest
        if len(self.rest) > _LINE:
            self._cut()

    def end(self) -> None:
        """Reads what no line feed ended."""
        if self.rest:
            self._line(self.rest)
        self.rest = b""
        self.results.end()

    def _end_of_line(self, line: bytes) -> None:
        if self.long:
            self._more(line)
        else:
            whole = _last(self.rest + line.removesuffix(b"\r"))
            self._line(whole)
            self._more(whole[_LINE:])
        self.rest, self.long = b"", False

    def _cut(self) -> None:
        """A line without end."""
        self.rest = _last(self.rest)
        if len(self.rest) > _LINE:
            self._line(self.rest)
            self._more(self.rest[_LINE:])
            self.rest, self.long = b"", True

    def _more(self, data: bytes) -> None:
        if data:
            self.results.piece(data.decode("utf-8", "replace"))

    def _line(self, raw: bytes) -> None:
        line = raw[:_LINE].decode("utf-8", "replace").rstrip("\r")
        self.results.line(line)
        self.reports.look(line)
        text = shown(line)
        if text.strip():
            self.tail.append(text[:_SHOWN])
        if len(self.errors) < FINGERPRINTS and is_error(text):
            self._error(text)

    def _error(self, text: str) -> None:
        """Notes an error line. Those that differ in digits alone have one fingerprint, which takes long to make."""
        key = text.translate(_DIGITS)
        if key not in self.known:
            if len(self.known) < _KNOWN:
                self.known.add(key)
            self.errors.update(dict.fromkeys(map(fingerprint, error_lines([text]))))


def _last(line: bytes) -> bytes:
    """A line that is not too long: of what is written over again and again, only the last part is kept."""
    if len(line) <= _LINE:
        return line
    last = line.rpartition(b"\r")[2]
    return last if b"\r" in line and len(last) <= _LINE else line
