"""What Rust's cargo test reports."""

from __future__ import annotations

import re

from guard.loop.test_results import FAILED, PASSED, SKIPPED, Told

_TEST = re.compile(r"test (\S.*?) \.\.\. (ok|FAILED|ignored)\b")
_SUM = re.compile(r"test result: \w+\. (\d{1,9}) passed; (\d{1,9}) failed; (\d{1,9}) ignored")
_RUNNING = re.compile(r"\s+(?:Running .*\((?:.*/)?([^/)]+?)(?:-[0-9a-f]{16})?(?:\.exe)?\)|Doc-tests (\S+))$")
_PRINTED = re.compile(r"---- (\S.*) stdout ----$")
_STATES = {"ok": PASSED, "FAILED": FAILED, "ignored": SKIPPED}
_LIST, _STDOUT = "list", "stdout"


class Cargo:
    """Each program of tests has its own sum; failed tests come with what they have printed, then in a list."""

    def __init__(self) -> None:
        self.told = Told()
        self._program = ""
        self._within = ""

    def line(self, line: str) -> None:
        """Reads a line."""
        if line.startswith("test result: ") and (found := _SUM.match(line)):
            self.told.sum(*map(int, found.groups()))
            self._within = ""
        elif line == "failures:":
            self._within = _LIST
        elif self._within:
            self._failures(line)
        elif line.startswith("test ") and (found := _TEST.match(line)):
            self._name(found[1], _STATES[found[2]])
        elif line.startswith("   ") and (found := _RUNNING.match(line)):
            self._program = found[1] or found[2]

    def end(self) -> None:
        """The output is over."""

    def _failures(self, line: str) -> None:
        if line.startswith("---- ") and (found := _PRINTED.match(line)):
            self._within = _STDOUT
            self._name(found[1], FAILED)
        elif self._within == _LIST and line.startswith("    ") and not line[4:5].isspace():
            self._name(line[4:], FAILED)

    def _name(self, name: str, state: str) -> None:
        name = name.removesuffix(" - should panic")
        self.told.name(f"{self._program}: {name}" if self._program else name, state)
