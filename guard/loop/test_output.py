"""Test output: passed, failed and skipped tests, and their names, as the usual programs report them.

Each format is a reader of lines. Where a program sums up, its sum counts, else the tests that it named.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from html import unescape

from guard.loop.error_lines import uncoloured

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
NAMES = 20_000  # names that are remembered of one command
_LONGEST = 1000  # characters of a line that a name is looked for in


@dataclass
class Counts:
    """Numbers of tests."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, state: str, count: int = 1) -> None:
        """Counts some more."""
        setattr(self, state, getattr(self, state) + count)

    @property
    def total(self) -> int:
        """All of them."""
        return self.passed + self.failed + self.skipped


@dataclass
class Format:
    """What the lines of one program have said. `summed` is None where it has not summed up."""

    names: dict[str, str] = field(default_factory=dict)
    summed: Counts | None = None
    inside: str = ""  # what the next lines belong to

    def name(self, name: str, state: str) -> None:
        """Notes the result of a test. A failure stays one."""
        if name in self.names or len(self.names) < NAMES:
            self.names[name] = FAILED if self.names.get(name) == FAILED else state

    def sum(self, passed: int, failed: int, skipped: int) -> None:
        """Adds what the program sums up."""
        counts = self.summed or Counts()
        self.summed = Counts(counts.passed + passed, counts.failed + failed, counts.skipped + skipped)

    def counts(self) -> Counts:
        """The numbers."""
        if self.summed is not None:
            return self.summed
        found = Counts()
        for state in self.names.values():
            found.add(state)
        return found


def _number(text: str, pattern: str) -> int:
    """The sum of the numbers in front of these words."""
    return sum(int(number) for number in re.findall(rf"(\d{{1,9}}) (?:{pattern})\b", text))


# --- pytest

_PYTEST = re.compile(r"(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS) ([^\s:]+(?:::\S.*?)?)(?: - .*)?$")
_PYTEST_VERBOSE = re.compile(r"(\S+::\S.*?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b")
_PYTEST_SUM = re.compile(r"=* ?(\d+ (?:passed|failed|skipped|errors?|xfailed|xpassed|deselected|warnings?)\b.*) in [\d.:]+ ?s\b")
_PYTEST_STATES = {"PASSED": PASSED, "XPASS": PASSED, "FAILED": FAILED, "ERROR": FAILED, "SKIPPED": SKIPPED, "XFAIL": SKIPPED}


def pytest(line: str, into: Format) -> None:
    """Python's pytest."""
    if " in " in line and (found := _PYTEST_SUM.match(line)):
        text = found[1]
        skipped = _number(text, "skipped|xfailed")
        into.sum(_number(text, "passed|xpassed"), _number(text, "failed|errors?"), skipped)
    elif "::" in line or line.startswith("ERROR "):
        if found := _PYTEST.match(line):
            if "/" in found[2] or "::" in found[2] or ".py" in found[2]:
                into.name(found[2], _PYTEST_STATES[found[1]])
        elif found := _PYTEST_VERBOSE.match(line):
            into.name(found[1], _PYTEST_STATES[found[2]])


# --- unittest

_UNITTEST = re.compile(r"(\w+ \([\w.<>]+\)).* \.\.\. (ok|FAIL|ERROR|skipped\b.*|expected failure|unexpected success)$")
_UNITTEST_FAILED = re.compile(r"(?:FAIL|ERROR): (\w+ \([\w.<>]+\))")
_UNITTEST_RAN = re.compile(r"Ran (\d{1,9}) tests? in [\d.]+s$")
_UNITTEST_END = re.compile(r"(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?$")
_UNITTEST_STATES = {"ok": PASSED, "FAIL": FAILED, "ERROR": FAILED, "unexpected success": FAILED}


def unittest(line: str, into: Format) -> None:
    """Python's unittest."""
    if found := _UNITTEST.match(line):
        into.name(found[1], _UNITTEST_STATES.get(found[2], SKIPPED))
    elif found := _UNITTEST_FAILED.match(line):
        into.name(found[1], FAILED)
    elif found := _UNITTEST_RAN.match(line):
        into.inside = found[1]
    elif into.inside and (found := _UNITTEST_END.match(line)):
        said = dict(part.split("=", 1) for part in (found[1] or "").split(", ") if "=" in part)
        numbers = {name: int(value) for name, value in said.items() if value.isdigit()}
        failed = sum(numbers.get(name, 0) for name in ("failures", "errors", "unexpected successes"))
        skipped = sum(numbers.get(name, 0) for name in ("skipped", "expected failures"))
        into.sum(max(0, int(into.inside) - failed - skipped), failed, skipped)
        into.inside = ""


# --- jest and vitest, and whoever draws a mark before a test's name (bats, mocha)

_MARKED = re.compile(r"\s*([✓✔√✕✗✘×○↓]) (?:skipped )?(\S.*?)(?: \(?\d+(?:\.\d+)? ?m?s\)?| \(\d+ tests?.*)?$")
_MARKS = dict.fromkeys("✓✔√", PASSED) | dict.fromkeys("✕✗✘×", FAILED) | dict.fromkeys("○↓", SKIPPED)
_JEST_SUM = re.compile(r"\s*Tests:? +(\d+ \w+(?:[,| ]+\d+ \w+)*)(?: *\(\d+\))?")
_JEST_FAILED = re.compile(r"\s*● (\S.* › \S.*)$")
_BATS_SUM = re.compile(r"(\d{1,9}) tests?, (\d{1,9}) failures?(?:, (\d{1,9}) skipped)?")


def marked(line: str, into: Format) -> None:
    """JavaScript's jest and vitest, and bats as it writes to a terminal."""
    if found := _MARKED.match(line):
        into.name(found[2], SKIPPED if "(skipped" in line else _MARKS[found[1]])
        into.inside = into.inside or ("named" if found[1] in "✕✗✘×" else "")
    elif "Tests" in line and (found := _JEST_SUM.fullmatch(line)):
        text = found[1].replace(",", "").replace("|", "")
        into.sum(_number(text, "passed"), _number(text, "failed"), _number(text, "skipped|todo|pending"))
    elif "●" in line and not into.inside and (found := _JEST_FAILED.match(line)):
        into.name(found[1], FAILED)
    elif found := _BATS_SUM.match(line):
        total, failed, skipped = (int(number or 0) for number in found.groups())
        into.sum(max(0, total - failed - skipped), failed, skipped)


# --- go test

_GO = re.compile(r"\s*--- (PASS|FAIL|SKIP): (\S+)")
_GO_PACKAGE = re.compile(r"(ok  |FAIL)\t(\S+)(?:\t(?:\d|\(cached\)|\[build failed\]|\[setup failed\]).*)$")
_GO_JSON = re.compile(r'\{"(?:Time|Action|ImportPath)":.*"Action":"(pass|fail|skip)".*"Package":"([^"]+)"(?:.*"Test":"([^"]+)")?')
_GO_STATES = {"PASS": PASSED, "FAIL": FAILED, "SKIP": SKIPPED, "pass": PASSED, "fail": FAILED, "skip": SKIPPED}


def go(line: str, into: Format) -> None:
    """Go's own tests. A package without a test that was named counts as one."""
    if found := _GO.match(line):
        into.name(found[2], _GO_STATES[found[1]])
        into.inside = "named"
    elif found := _GO_PACKAGE.match(line):
        if into.inside != "named" or "failed]" in line:
            into.name(found[2], PASSED if found[1] == "ok  " else FAILED)
        into.inside = ""
    elif line.startswith("{") and (found := _GO_JSON.match(line)) and found[3]:
        into.name(f"{found[2]}.{found[3]}", _GO_STATES[found[1]])


# --- cargo test

_CARGO = re.compile(r"test (\S.*?) \.\.\. (ok|FAILED|ignored)\b")
_CARGO_SUM = re.compile(r"test result: \w+\. (\d{1,9}) passed; (\d{1,9}) failed; (\d{1,9}) ignored")
_CARGO_STATES = {"ok": PASSED, "FAILED": FAILED, "ignored": SKIPPED}


def cargo(line: str, into: Format) -> None:
    """Rust's cargo test."""
    if found := _CARGO_SUM.match(line):
        into.sum(*map(int, found.groups()))
    elif found := _CARGO.match(line):
        into.name(found[1], _CARGO_STATES[found[2]])


# --- TAP, which bats writes too

_TAP = re.compile(r"\s*(not )?ok\b(?: (\d{1,9}))?(?: -)?(?: ([^#]*?))?(?:\s*#\s*(skip|todo)\b.*)?$", re.IGNORECASE)
_TAP_PLAN = re.compile(r"\s*1\.\.\d{1,9}(?:\s*#.*)?$")


def tap(line: str, into: Format) -> None:
    """The Test Anything Protocol. Without a plan (1..N), lines that say ok are none of it."""
    if _TAP_PLAN.match(line):
        into.inside = "plan"
    elif found := _TAP.match(line):
        failed, number, name, directive = found.groups()
        if number is None and not into.inside:
            return
        skipped = (directive or "").lower() == "skip" or ((directive or "").lower() == "todo" and failed)
        state = SKIPPED if skipped else FAILED if failed else PASSED
        into.name(name or f"test {number or len(into.names) + 1}", state)


# --- JUnit

_JUNIT_TAG = re.compile(r"<(/?)(testcase|failure|error|skipped)\b([^<>]*)>")
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_SUREFIRE = re.compile(r"(?:\[\w+\] )?Tests run: (\d{1,9}), Failures: (\d{1,9}), Errors: (\d{1,9}), Skipped: (\d{1,9})(.*)")
_CONSOLE = re.compile(r"\[ *(\d{1,9}) tests (successful|failed|skipped|aborted) *\]")
_CONSOLE_STATES = {"successful": PASSED, "failed": FAILED, "skipped": SKIPPED, "aborted": SKIPPED}


def junit(line: str, into: Format) -> None:
    """JUnit: its XML, Maven's sums, and its console."""
    if "<" in line:
        _junit_tags(line, into)
    elif found := _SUREFIRE.match(line):
        total, failures, errors, skipped = map(int, found.groups()[:4])
        if "Time elapsed" not in found[5]:  # a class, which is part of the sum at the end
            into.sum(max(0, total - failures - errors - skipped), failures + errors, skipped)
    elif found := _CONSOLE.match(line):
        into.sum(0, 0, 0)
        (into.summed or Counts()).add(_CONSOLE_STATES[found[2]], int(found[1]))


def _junit_tags(line: str, into: Format) -> None:
    for closing, tag, text in _JUNIT_TAG.findall(line):
        if tag == "testcase" and not closing:
            values = {name: unescape(value) for name, value in _ATTRIBUTE.findall(text)}
            name = f"{values.get('classname', '')}.{values.get('name', '')}".strip(".")
            into.name(name, PASSED)
            into.inside = "" if text.endswith("/") else name
        elif tag == "testcase":
            into.inside = ""
        elif into.inside and not closing:
            into.name(into.inside, SKIPPED if tag == "skipped" else FAILED)


FORMATS: dict[str, Callable[[str, Format], None]] = {
    "pytest": pytest,
    "unittest": unittest,
    "marked": marked,
    "go": go,
    "cargo": cargo,
    "tap": tap,
    "junit": junit,
}
# A line without any of these tells no format anything.
_SIGNS = re.compile(
    r"::|\bin \d|\.\.\. |(?:FAIL|ERROR): |Ran \d|OK|FAILED|NO TESTS|[✓✔√✕✗✘×○↓●]|Tests|FAIL\s|tests?, |--- |ok\b|\"Action\""
    r"|test result|1\.\.|<|tests (?:succ|fail|skip|ab)|ERROR "
)


@dataclass
class Results:
    """What the output of one command has said so far."""

    formats: dict[str, Format] = field(default_factory=lambda: {name: Format() for name in FORMATS})

    def line(self, raw: str) -> None:
        """Reads one line of output."""
        if len(raw) > _LONGEST and "<testcase" not in raw:
            raw = raw[:_LONGEST]
        line = uncoloured(raw).rstrip()
        if _SIGNS.search(line) is None:
            return
        for name, read in FORMATS.items():
            read(line, self.formats[name])

    def counts(self) -> Counts:
        """All tests of all formats."""
        found = Counts()
        for one in self.formats.values():
            own = one.counts()
            found = Counts(found.passed + own.passed, found.failed + own.failed, found.skipped + own.skipped)
        return found

    def names(self) -> dict[str, str]:
        """Every test that was named, with its state, told apart by format."""
        return {f"{name}: {test}": state for name, one in self.formats.items() for test, state in one.names.items()}
