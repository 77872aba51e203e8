"""What programs report that draw a mark before each test's name: jest, vitest, mocha, Node's own, and bats on a terminal."""

from __future__ import annotations

import re

from guard.loop.test_results import FAILED, PASSED, SKIPPED, Told

_MARKS = dict.fromkeys("✓✔√", PASSED) | dict.fromkeys("✕✗✘×✖", FAILED) | dict.fromkeys("○↓□✎﹣", SKIPPED)
_MARKED = re.compile(rf"(\s*)([{''.join(_MARKS)}]) +(?:skipped |todo )?(\S.*)$")
_SPENT = re.compile(r"(?: {1,9}\(?\d{1,9}(?:\.\d{1,9})? ?m?s\)?(?: # .*)?| \(skipped\b.*\))+$")
_IS_FILE = re.compile(r"\s*[✓✔√✕✗✘×❯↓] .*\(\d{1,9} tests?\b.*\)")
_FILE = re.compile(r" ?(PASS|FAIL) +(\S.*?)(?: \(\d[\d.]* ?m?s\))?$")
_FAILED_IN = re.compile(r"\s*● (\S.*)$")
_CONSOLE = re.compile(r"\s+console\.\w+$")
_PLACE = re.compile(r"\s+at \S")
_JEST = re.compile(r"Tests: +(\d{1,9} \w+(?:, \d{1,9} \w+)*)$")
_VITEST = re.compile(r" *Tests  +(\d{1,9} \w+(?: \| \d{1,9} \w+)*) \(\d{1,9}\)$")
_BATS = re.compile(r"(\d{1,9}) tests?, (\d{1,9}) failures?(?:, (\d{1,9}) skipped)?")
_MOCHA = re.compile(r"  (\d{1,9}) (passing|pending|failing)\b(?: \(.*\))?$")
_NODE = re.compile(r"ℹ (pass|fail|cancelled|skipped|todo) (\d{1,9})$")
_WORDS = {
    "passed": PASSED, "passing": PASSED, "pass": PASSED, "failed": FAILED, "failing": FAILED, "fail": FAILED,
    "cancelled": FAILED, "skipped": SKIPPED, "todo": SKIPPED, "pending": SKIPPED,
}  # fmt: skip
_NUMBERED = re.compile(r"\s+\d{1,4}\) (\S.*)$")
_GROUP = re.compile(r"((?:  )+)(\S.*)$")
_DEPTH = 30  # groups within groups


class Marked:
    """A test's name is that of its groups and its own, with the file's in front where the file is named."""

    def __init__(self) -> None:
        self.told = Told()
        self.inside = False  # what a test has printed
        self._file = ""
        self._groups: list[tuple[int, str]] = []
        self._listed = False  # below the name of a file come its tests, one a line, without their groups
        self._numbered: list[str] = []
        self._mocha = False
        self._node = False  # Node has summed up: what it lists below was named before

    def line(self, line: str) -> None:
        """Reads a line."""
        if self.inside and not self._goes_on(line):
            self.inside = False
        if self.inside or not line or self._summed(line):
            return
        if found := _MARKED.match(line):
            self._marked(line, found)
        elif line.lstrip().startswith("▶ "):
            self._groups = [one for one in self._groups if one[0] < line.index("▶")][:_DEPTH]
            self._groups.append((line.index("▶"), _SPENT.sub("", line.strip()[2:])))
        elif "❯" in line:
            self._listed = self._listed or _IS_FILE.match(line) is not None
        elif "●" in line and (found := _FAILED_IN.match(line)):
            self._failed(found[1])
        elif "PASS" in line or "FAIL" in line:
            if found := _FILE.match(line):
                self._begun(found[1], found[2])
        elif line.startswith("  "):
            self._grouped(line)

    def end(self) -> None:
        """The output is over."""
        if self._mocha:
            for name in self._numbered:
                self.told.name(name, FAILED)

    @staticmethod
    def _goes_on(line: str) -> bool:
        return not line or (line.startswith("   ") and _PLACE.match(line) is None)

    def _summed(self, line: str) -> bool:
        if "Tests" in line and (found := _JEST.match(line) or _VITEST.match(line)):
            self._count(re.findall(r"(\d+) (\w+)", found[1]))
        elif " tests, " in line or " test, " in line:
            if (found := _BATS.match(line)) is None:
                return False
            total, failed, skipped = (int(number or 0) for number in found.groups())
            self.told.sum(max(0, total - failed - skipped), failed, skipped)
        elif "ing" in line and (found := _MOCHA.match(line)) and (self._mocha or found[2] == "passing"):
            self._mocha = True
            self._count([(found[1], found[2])])
        elif line.startswith("ℹ") and (found := _NODE.match(line)):
            self._count([(found[2], found[1])])
            self._node = True
        else:
            return False
        self._file, self._groups, self._listed = "", [], False
        return True

    def _count(self, pairs: list[tuple[str, str]]) -> None:
        self.told.sum(0, 0, 0)
        for number, word in pairs:
            if word in _WORDS and self.told.summed is not None:
                self.told.summed.add(_WORDS[word], int(number))

    def _marked(self, line: str, found: re.Match[str]) -> None:
        indent = len(found[1])
        if _IS_FILE.match(line):
            self._listed = True
            return
        if (self._listed and indent > 2) or self._node:
            return
        self._listed = False
        name = _SPENT.sub("", found[3]).rstrip()
        state = SKIPPED if "(skipped" in line or "# SKIP" in line or "# TODO" in line else _MARKS[found[2]]
        if (indent, name) in self._groups:  # Node: the tests of a group are over
            name = ""
        self._groups = [one for one in self._groups if one[0] < indent]
        if name:
            self.told.another(self._named(" › ".join([*(text for _, text in self._groups), name])), state)

    def _named(self, name: str) -> str:
        return f"{self._file}: {name}" if self._file else name

    def _failed(self, name: str) -> None:
        """jest's heading of a failure."""
        self._groups = []
        if name == "Console":
            self.inside = True
        elif name == "Test suite failed to run":
            self.told.name(self._file or name, FAILED)
        elif self._file or " › " in name:
            self.told.name(self._named(name), FAILED)

    def _begun(self, state: str, name: str) -> None:
        """The tests of a file, as jest has it; vitest names a failed test so."""
        self._listed, self._groups = False, []
        if " > " in name:
            self.told.name(name, FAILED)
        elif name.endswith(" ]"):
            self.told.name(name.partition(" [ ")[0], FAILED)
        elif " " not in name.strip() or "." in name:
            self._file = name

    def _grouped(self, line: str) -> None:
        if _CONSOLE.match(line):
            self.inside = True
        elif ")" in line and (found := _NUMBERED.match(line)) and not self._mocha and len(self._numbered) < 1000:
            self._numbered.append(_SPENT.sub("", found[1]))
        elif self._file and (found := _GROUP.match(line)):
            self._groups = [one for one in self._groups if one[0] < len(found[1])][:_DEPTH]
            self._groups.append((len(found[1]), found[2]))
