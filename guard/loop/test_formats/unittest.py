"""What Python's unittest reports."""

from __future__ import annotations

import re

from guard.loop.test_results import FAILED, PASSED, SKIPPED, Told

_TEST = r"(\w+ \([\w.<>]+\))"
_STATE = r"(ok|FAIL|ERROR|skipped\b.*|expected failure|unexpected success)"
_BEGUN = re.compile(rf"\s*{_TEST}")
_DONE = re.compile(rf"(?:.* \.\.\. )?{_STATE}$")
_TROUBLE = re.compile(rf"(?:FAIL|ERROR|UNEXPECTED SUCCESS): {_TEST}")
_RAN = re.compile(r"Ran (\d{1,9}) tests? in [\d.]+s$")
_END = re.compile(r"(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?$")
_STATES = {"ok": PASSED, "FAIL": FAILED, "ERROR": FAILED, "unexpected success": FAILED}
_NO_TESTS = ("setUpClass ", "tearDownClass ", "setUpModule ", "tearDownModule ")  # they fail, and are not among those that ran
_ENDS = ("ok", "FAIL", "ERROR", "failure", "success")


class Unittest:
    """A test's state stands behind its name, or behind its description in the next line, or behind what it has printed."""

    def __init__(self) -> None:
        self.told = Told()
        self._begun = ""  # the test whose state has not come yet
        self._trouble: set[str] = set()
        self._ran: int | None = None

    def line(self, line: str) -> None:
        """Reads a line."""
        if "(" in line and (found := _TROUBLE.match(line)):
            self._trouble.add(found[1])
            self.told.name(found[1], FAILED)
        elif "(" in line and (found := _BEGUN.match(line)) and (found.end() == len(line) or " ... " in line):
            self._begun = found[1]
        if self._begun and (line.endswith(_ENDS) or "skipped" in line) and (found := _DONE.match(line)):
            self.told.name(self._begun, _STATES.get(found[1], SKIPPED))
            self._begun = ""
        elif line.startswith("Ran ") and (found := _RAN.match(line)):
            self._ran = int(found[1])
        elif self._ran is not None and (found := _END.match(line)):
            self._ended(self._ran, found[1] or "")

    def end(self) -> None:
        """The output is over."""

    def _ended(self, ran: int, text: str) -> None:
        """Sums up. Several parts of a test may have failed, so that not the failures count but the tests that have them."""
        said = dict(part.split("=", 1) for part in text.split(", ") if "=" in part)
        numbers = {name: int(value) for name, value in said.items() if value.isdigit()}
        skipped = sum(numbers.get(name, 0) for name in ("skipped", "expected failures"))
        failed = sum(numbers.get(name, 0) for name in ("failures", "errors", "unexpected successes"))
        outside = sum(name.startswith(_NO_TESTS) for name in self._trouble)
        failed = len(self._trouble) if self._trouble and failed else failed
        self.told.sum(max(0, ran - (failed - outside) - skipped), failed, skipped)
        self._ran, self._begun = None, ""
        self._trouble.clear()
