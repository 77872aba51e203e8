"""JUnit: its XML, which many programs write, Maven's sums, and its console."""

from __future__ import annotations

import re
from html import unescape

from guard.loop.test_results import FAILED, PASSED, SKIPPED, Told

_TOKEN = re.compile(
    r"""<!\[CDATA\[|<!--|<testsuites?\b|<(/?)(testcase|failure|error|skipped)\b((?:[^<>"']|"[^"<]*"|'[^'<]*')*)>"""
)
_ATTRIBUTE = re.compile(r"""([\w:]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_ENDS = {"<![CDATA[": "]]>", "<!--": "-->"}
_REST = 1 << 20  # characters of a tag that is not over yet
_SUREFIRE = re.compile(r"(?:\[\w+\] )?Tests run: (\d{1,9}), Failures: (\d{1,9}), Errors: (\d{1,9}), Skipped: (\d{1,9})(.*)")
_CONSOLE = re.compile(r"\[ *(\d{1,9}) tests (successful|failed|skipped|aborted) *\]")
_STATES = {"successful": PASSED, "failed": FAILED, "skipped": SKIPPED, "aborted": SKIPPED}


class JUnit:
    """Reads tags as they come: XML may stand in one long line, and its elements may go over many."""

    def __init__(self) -> None:
        self.told = Told()
        self._shown = False
        self._case = ""  # the test that is open
        self._state = PASSED
        self._until = ""  # what ends the text that is passed over
        self._rest = ""

    def line(self, line: str) -> None:
        """Reads a line."""
        if self._shown or "<testsuite" in line:
            self.piece(line + "\n")
        elif "Tests run: " in line and (found := _SUREFIRE.match(line)):
            total, failures, errors, skipped = map(int, found.groups()[:4])
            if "Time elapsed" not in found[5]:  # a class, which is part of the sum at the end
                self.told.sum(max(0, total - failures - errors - skipped), failures + errors, skipped)
        elif line.startswith("[") and (found := _CONSOLE.match(line)):
            self.told.sum(0, 0, 0)
            if self.told.summed is not None:
                self.told.summed.add(_STATES[found[2]], int(found[1]))

    def end(self) -> None:
        """The output is over."""
        self._closed()

    def piece(self, text: str) -> None:
        """Reads a piece of XML."""
        if not self._shown and "<testsuite" not in text:
            return
        self._shown = True
        text, at = self._rest + text, 0
        self._rest = ""
        while True:
            if self._until:
                end = text.find(self._until, at)
                if end < 0:
                    self._rest = text[-2:]
                    return
                at, self._until = end + len(self._until), ""
            found = _TOKEN.search(text, at)
            if found is None:
                break
            at = found.end()
            self._until = _ENDS.get(found[0], "")
            if found[2]:
                self._tag(bool(found[1]), found[2], found[3])
        start = text.rfind("<", at)
        self._rest = text[start:] if start >= 0 and len(text) - start < _REST else ""

    def _tag(self, closing: bool, tag: str, text: str) -> None:
        if tag != "testcase":
            if self._case and not closing and self._state != FAILED:
                self._state = SKIPPED if tag == "skipped" else FAILED
            return
        self._closed()
        if not closing:
            values = {name: unescape(double or single) for name, double, single in _ATTRIBUTE.findall(text)}
            self._case = f"{values.get('classname', '')}.{values.get('name', '')}".strip(".") or "unnamed"
            skipped = values.get("status", "") in ("skipped", "disabled", "notrun") or values.get("result", "") == "skipped"
            self._state = SKIPPED if skipped else PASSED
            if text.endswith("/"):
                self._closed()

    def _closed(self) -> None:
        """Notes the test that was open."""
        if self._case:
            self.told.another(self._case, self._state)
        self._case, self._state = "", PASSED
