"""What go test reports."""

from __future__ import annotations

import json
import re

from guard.loop.test_results import FAILED, NAMES, PASSED, SKIPPED, Told

_RESULT = re.compile(r"--- (PASS|FAIL|SKIP): (\S+) \(\d")
_RUN = re.compile(r"=== RUN +(\S+)$")
_PACKAGE = re.compile(r"(ok  |FAIL)\t(\S+)(?:\t(?:\d|\(cached\))| \[(?:build|setup) failed\]).*$")
_STATES = {"PASS": PASSED, "FAIL": FAILED, "SKIP": SKIPPED, "pass": PASSED, "fail": FAILED, "skip": SKIPPED}


class Go:
    """The name of a package comes after those of its tests. One without a test that was named counts as one."""

    def __init__(self) -> None:
        self.told = Told()
        self._results: dict[str, str] = {}
        self._run: set[str] = set()
        self._failed_in: set[str] = set()  # packages with a failed test

    def line(self, line: str) -> None:
        """Reads a line."""
        if "--- " in line:
            self._result(line)
        elif line.startswith("=== RUN"):
            if (found := _RUN.match(line)) and len(self._run) < NAMES:
                self._run.add(found[1])
        elif line.startswith(("ok  \t", "FAIL\t")):
            if found := _PACKAGE.match(line):
                self._package(found[2], PASSED if found[1] == "ok  " else FAILED)
        elif line.startswith("{") and '"Action":"' in line and '"Package":"' in line:
            self._event(line)

    def end(self) -> None:
        """The output is over."""
        for name, state in self._results.items():
            self.told.name(name, state)
        self._results.clear()

    def _result(self, line: str) -> None:
        """A result. With -v every test is announced, so that what a test prints can be told from it."""
        found = _RESULT.search(line)
        if found is None or (self._run and found[2] not in self._run):
            return
        if not self._run and line[: found.start()].strip():
            return
        if len(self._results) < NAMES:
            self._results[found[2]] = FAILED if self._results.get(found[2]) == FAILED else _STATES[found[1]]

    def _package(self, name: str, state: str) -> None:
        for test, own in self._results.items():
            self.told.name(f"{name}.{test}", own)
        if not self._results or (state == FAILED and FAILED not in self._results.values()):
            self.told.name(name, state)
        self._results.clear()
        self._run.clear()

    def _event(self, line: str) -> None:
        """An event of -json."""
        try:
            values = json.loads(line)
        except ValueError:
            return
        state, package, test = (values.get(key) for key in ("Action", "Package", "Test"))
        if state not in _STATES or not isinstance(package, str):
            return
        if isinstance(test, str):
            self.told.name(f"{package}.{test}", _STATES[state])
            if state == "fail":
                self._failed_in.add(package)
        elif state == "fail" and package not in self._failed_in:
            self.told.name(package, FAILED)
