"""The Test Anything Protocol, versions 12 to 14, which bats, Node and many others write."""

from __future__ import annotations

import re

from guard.loop.test_results import FAILED, NAMES, PASSED, SKIPPED, Told

_POINT = re.compile(r"(\s*)(not )?ok\b(?: (\d{1,9}))?(?: *-)?(?: +(.*))?$")
_PLAN = re.compile(r"(\s*)1\.\.(\d{1,9})(?:\s*#.*)?$")
_DIRECTIVE = re.compile(r"(?:^|\s)#\s*(skip|todo)\w*\b.*$", re.IGNORECASE)
_SPENT = re.compile(r"(?: # time=\S+| in \d{1,9} ?ms)$")
_YAML = re.compile(r"(\s+)---$")
_DEPTH = 20


class Tap:
    """Tests within tests count, those around them do not, unless they alone have failed.

    What was read counts once a plan (1..N) or a version has shown that it is this protocol. Tests that a plan announces and
    that never came have failed.
    """

    def __init__(self) -> None:
        self.told = Told()
        self._shown = False
        self._open: dict[int, list[tuple[str, str]]] = {}  # by indentation: tests whose parent has not come yet
        self._parents: list[tuple[int, str, str, int]] = []  # of tests in braces: indentation, name, state, failures before
        self._yaml: int | None = None  # the indentation of a block of details
        self._expected = self._points = 0
        self._results: list[tuple[str, str]] = []

    def line(self, line: str) -> None:
        """Reads a line."""
        if self._yaml is not None:
            if line and len(line) - len(line.lstrip()) >= self._yaml and line.strip() != "...":
                return
            if line:
                self._yaml = None
        if "ok" in line and (found := _POINT.match(line)):
            self._point(found)
        elif "1.." in line and (found := _PLAN.match(line)):
            self._planned(len(found[1]), int(found[2]))
        elif line.startswith("TAP version 1"):
            self._shown = True
        elif line.endswith("---") and (found := _YAML.match(line)) and (self._results or self._open):
            self._yaml = len(found[1])
        elif line.endswith("}") and line.strip() == "}":
            self._closed(len(line) - 1)
        elif line.startswith("Bail out!"):
            self._results.append(("Bail out!", FAILED))

    def end(self) -> None:
        """The output is over."""
        self._gather(-1, "", "")
        if not self._shown:
            return
        for name, state in self._results:
            self.told.another(name, state)
        if self._expected > self._points:
            self.told.beyond.add(FAILED, min(self._expected - self._points, NAMES))

    def _point(self, found: re.Match[str]) -> None:
        indent, failed, number, text = len(found[1]), bool(found[2]), found[3], found[4] or ""
        if number is None and text and " - " not in found[0]:
            return  # a sentence that begins with ok
        opens = text.endswith("{") and "#" in text
        text = text.removesuffix("{").rstrip() if opens else text
        directive = _DIRECTIVE.search(text)
        word = directive[1].lower() if directive is not None else ""
        text = _SPENT.sub("", (text[: directive.start()] if directive is not None else text).rstrip())
        state = SKIPPED if word == "skip" or (word == "todo" and failed) else FAILED if failed else PASSED
        name = text.replace("\\#", "#") or f"test {number or self._points + 1}"
        if not indent:
            self._counted()
        if opens and len(self._parents) < _DEPTH:
            self._parents.append((indent, name, state, self._failures()))
            return
        self._gather(indent, name, state)

    def _gather(self, indent: int, name: str, state: str) -> None:
        """A test at an indentation: what came deeper than it are tests within it."""
        deeper = [self._open.pop(level) for level in sorted(self._open) if level > indent]
        within = [one for tests in deeper for one in tests]
        if within:
            found = [(f"{name} › {own}" if name else own, how) for own, how in within]
            if state == FAILED and not any(how == FAILED for _, how in within):
                found.append((name, state))
        else:
            found = [(name, state)] if state else []
        if self._parents:
            prefix = " › ".join(parent[1] for parent in self._parents)
            found = [(f"{prefix} › {own}", how) for own, how in found]
            indent = 0
        if len(self._results) + sum(map(len, self._open.values())) > NAMES:
            for _, how in found:
                self.told.beyond.add(how)
        elif indent > 0 and (indent in self._open or len(self._open) < _DEPTH):
            self._open.setdefault(indent, []).extend(found)
        else:
            self._results += found

    def _closed(self, indent: int) -> None:
        """The end of the tests in braces."""
        if self._parents and self._parents[-1][0] == indent:
            _, name, state, before = self._parents.pop()
            if state == FAILED and self._failures() == before:
                self._gather(0, name, state)

    def _failures(self) -> int:
        return sum(state == FAILED for _, state in self._results) if self._parents or self._results else 0

    def _planned(self, indent: int, count: int) -> None:
        self._shown = True
        if indent or self._parents:
            return
        if self._expected > self._points:
            self.told.beyond.add(FAILED, min(self._expected - self._points, NAMES))
        self._expected = 0 if self._points and not self._expected else count
        self._points = 0

    def _counted(self) -> None:
        self._points += 1
        if self._expected and self._points >= self._expected:
            self._expected = self._points = 0
