"""What Python's pytest reports."""

from __future__ import annotations

import re

from guard.loop.test_results import FAILED, PASSED, SKIPPED, Counts, Told

_STATE = r"PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS|SUBFAILED|SUBPASSED|SUBSKIPPED"
_STATES = {
    "PASSED": PASSED, "XPASS": PASSED, "SUBPASSED": PASSED, "FAILED": FAILED, "ERROR": FAILED, "SUBFAILED": FAILED,
    "SKIPPED": SKIPPED, "XFAIL": SKIPPED, "SUBSKIPPED": SKIPPED,
}  # fmt: skip
# A file, then classes and functions, then parameters, which may hold anything.
_NODE = r"(\S.{0,400}?\.\w{1,8}(?:::[^\s\[]{1,300}(?:\[.{0,500}?\])?){0,9})"
_RESULT = re.compile(rf"(?:\[gw\d+\] \[ *\d+%\] )?({_STATE})(?:\([^)]*\)|\[[^\]]*\])? {_NODE}(?: - .*)?$")
_VERBOSE = re.compile(rf"([^\s:].{{0,400}}?::\S.{{0,800}}?) ({_STATE})(?:[(\[ ].*)?$")
_SUM = re.compile(r"(=*) ?(\d+ (?:passed|failed|skipped|errors?|xfailed|xpassed|deselected|warnings?)\b.*) in [\d.:]+ ?s\b")
_HEADING = re.compile(r"={3,} (\S.*?) ={3,}")
_SECTIONS = ("FAILURES", "ERRORS", "PASSES")
_MARKS = re.compile(r"(?:(\S+\.\w+) )?([.FEsxXRupP,y-]+)(?: +\[ *\d{1,3}%\])?")
_OF_MARKS = {".": PASSED, "F": FAILED, "E": FAILED, "s": SKIPPED, "x": SKIPPED, "X": PASSED}


class Pytest:
    """Between the heading of a section of failures and the next heading stands what tests have printed.

    Without headings at the end (-q -rN), the sum comes right after such a section. So a sum within one is kept until it shows
    whether it was pytest's.
    """

    def __init__(self) -> None:
        self.told = Told()
        self.inside = False  # a section of failures
        self._kept: Counts | None = None
        self._marks = Counts()

    def line(self, line: str) -> None:
        """Reads a line."""
        if line.startswith("=") or " in " in line:
            if found := _SUM.match(line):
                self._summed(found[2], bool(found[1]))
                return
            if found := _HEADING.fullmatch(line):
                self._headed(found[1])
                return
        if self.inside or not line:
            return
        if "%]" in line or line[-1] in ".FEsxX":
            self._marked(line)
        if "::" in line or line.startswith(("ERROR ", "FAILED ")):
            self._named(line)

    def end(self) -> None:
        """The output is over."""
        self._settled()
        if self.told.summed is None and self._marks.total > self.told.named().total:
            self.told.summed = self._marks

    def _headed(self, title: str) -> None:
        if title in _SECTIONS:
            self.inside = True
        else:
            self._kept = None  # it was printed by a test: pytest goes on
            self.inside = False

    def _summed(self, text: str, drawn: bool) -> None:
        found = Counts(_number(text, "passed|xpassed"), _number(text, "failed|errors?"), _number(text, "skipped|xfailed"))
        if drawn or (not self.inside and self._kept is None):
            self.told.sum(found.passed, found.failed, found.skipped)
            self._kept = None
        else:
            self._kept = found
        self.inside = False

    def _settled(self) -> None:
        """Whatever sum was kept is pytest's."""
        if self._kept is not None:
            self.told.sum(self._kept.passed, self._kept.failed, self._kept.skipped)
            self._kept = None

    def _marked(self, line: str) -> None:
        """A row of marks, a test each."""
        found = _MARKS.fullmatch(line)
        if found is None or not (found[1] or line.endswith("%]")):
            return
        self._settled()
        for mark in found[2]:
            if mark in _OF_MARKS:
                self._marks.add(_OF_MARKS[mark])

    def _named(self, line: str) -> None:
        if found := _RESULT.match(line):
            state, node = found[1], found[2]
            if "::" in node or "/" in node or node.endswith(".py"):
                self.told.name(node, _STATES[state])
        elif (found := _VERBOSE.match(line)) and not {".", "/"}.isdisjoint(found[1].partition("::")[0]):
            self.told.name(found[1], _STATES[found[2]])


def _number(text: str, words: str) -> int:
    """The sum of the numbers in front of these words. Subtests are part of their tests."""
    return sum(int(number) for number in re.findall(rf"(\d{{1,9}}) (?:{words})\b", text))
