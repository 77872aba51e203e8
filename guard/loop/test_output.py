"""Test output: passed, failed and skipped tests, and their names, as the usual programs report them.

Where a program sums up, its sum counts, else the tests that it named. Output of a test, between the failures of a program that
shows them so, is no report.
"""

from __future__ import annotations

from typing import Protocol

from guard.loop.error_lines import shown
from guard.loop.test_formats.cargo import Cargo
from guard.loop.test_formats.go import Go
from guard.loop.test_formats.junit import JUnit
from guard.loop.test_formats.marked import Marked
from guard.loop.test_formats.pytest import Pytest
from guard.loop.test_formats.tap import Tap
from guard.loop.test_formats.unittest import Unittest
from guard.loop.test_results import FAILED, PASSED, SKIPPED, Counts, Told

__all__ = ["FAILED", "PASSED", "SKIPPED", "Counts", "Results"]
_LONGEST = 1000  # characters of a line that a name is looked for in


class Reader(Protocol):
    """What reads one format."""

    told: Told

    def line(self, line: str) -> None:
        """Reads a line."""

    def end(self) -> None:
        """The output is over."""


class Results:
    """What the output of one command has said."""

    def __init__(self) -> None:
        self._pytest, self._marked, self._junit = Pytest(), Marked(), JUnit()
        self.readers: dict[str, Reader] = {
            "pytest": self._pytest,
            "unittest": Unittest(),
            "marked": self._marked,
            "go": Go(),
            "cargo": Cargo(),
            "tap": Tap(),
        }
        self._others = [reader for name, reader in self.readers.items() if name not in ("pytest", "marked")]
        self.readers["junit"] = self._junit

    def line(self, raw: str) -> None:
        """Reads one line of output."""
        line = shown(raw)
        self._junit.line(line)
        if len(line) > _LONGEST:
            line = line[:_LONGEST]
        self._pytest.line(line)
        if self._pytest.inside:
            return
        self._marked.line(line)
        if self._marked.inside:
            return
        for reader in self._others:
            reader.line(line)

    def piece(self, text: str) -> None:
        """Reads more of a line that is too long for anything but XML."""
        self._junit.piece(text)

    def end(self) -> None:
        """The output is over."""
        for reader in self.readers.values():
            reader.end()

    def counts(self) -> Counts:
        """All tests of all formats. To be asked at the end."""
        found = Counts()
        for reader in self.readers.values():
            found = found.plus(reader.told.counts())
        return found

    def names(self) -> dict[str, str]:
        """Every test that was named, with its state, told apart by format."""
        return {f"{name}: {test}": state for name, reader in self.readers.items() for test, state in reader.told.names.items()}
