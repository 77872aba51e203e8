"""Sieve: the names in a directory at which a root may protect a file; all others need no closer look."""

from __future__ import annotations

from guard import expressions as re
from guard.matching import RANK, REGEX, below

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from guard.root import Root

    Test = Callable[[str], bool]


class Sieve:
    """All that one root's lists include, as one regular expression and the paths that they name plainly."""

    def __init__(self, root: Root) -> None:
        matchers = [m for rules in root.lists if rules.name in RANK for m in rules.matchers if m.include]
        self._literals = [m.literal for m in matchers if m.how != REGEX]
        regexes = dict.fromkeys(m.regex for m in matchers if m.how == REGEX)
        self._expression: re.Pattern[str] | None = None
        self._blind = root.fold
        try:
            if regexes and not root.fold:
                joined = "|".join(f"(?:{regex})" for regex in regexes)
                self._expression = re.compile(re.sub(r"\(\?P<\w+>", "(?:", joined), re.DOTALL)
        except (re.error, OverflowError, RecursionError):
            self._blind = True

    def test(self, directory: str) -> Test | None:
        """The test whether a file of this name, directly in a relative directory, may be protected; None where any may be."""
        if self._blind or (directory and any(below(directory, literal) for literal in self._literals)):
            return None
        start = directory and directory + "/"
        plain = {literal[len(start) :].partition("/")[0] for literal in self._literals if literal.startswith(start)}
        if self._expression is None:
            return plain.__contains__
        search = self._expression.search
        return lambda name: name in plain or search(start + name) is not None or search(f"{start}{name}/") is not None
