"""Matching: one glob of a policy against a path, without pathspec, and with a regular expression only where one is needed.

Paths here are relative to a root, without a leading slash; a directory is asked for with a trailing slash. Which glob of
a list decides follows pathspec's GitIgnoreSpec: the last one that names the path itself, else the last one that names a
directory above it.
"""

from __future__ import annotations

from guard import expressions as re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import NamedTuple
else:
    from guard.record import NamedTuple

PRESENT, KEEP, LOCK = "present", "keep", "lock"
RANK = {PRESENT: 1, KEEP: 2, LOCK: 3}
REWRITE = "rewrite"  # the name of the list of prompts and plans that may be rewritten as a whole

# How a glob is decided: by comparing with its literal (the path and all below it, or only a directory of that name and
# all below it), or by its regular expression.
PATH, DIRECTORY, REGEX = "path", "directory", "regex"

BY_DIRECTORY, BY_PATH = 1, 2  # what match() says: a directory above (or the directory itself) matched, or the path

BUILT_IN = "built-in"


class Rule(NamedTuple):
    """One glob of a list as its author wrote it; `source` is the file it stands in, or "built-in"."""

    level: str
    glob: str
    source: str = BUILT_IN
    line: int = 0


class Matcher(NamedTuple):
    """A rule made ready for matching.

    `literal` is the plain beginning of an anchored glob, whole components only, in folded form where the root folds
    case. `depth` is how many components a path has that the glob itself can name, 0 when there is no bound.
    """

    rule: Rule
    include: bool
    how: str
    literal: str
    depth: int
    regex: str

    def match(self, path: str, fold: bool = False) -> int:
        """BY_PATH, BY_DIRECTORY, or 0 where the glob does not match."""
        if self.how == PATH and path == self.literal:
            return BY_PATH
        if self.literal and not path.startswith(self.literal + "/"):
            return 0
        if self.how != REGEX:
            return BY_DIRECTORY
        found = expression(self.regex, fold).search(path)
        if found is None:
            return 0
        return BY_DIRECTORY if found.lastgroup else BY_PATH

    def inside(self, directory: str, fold: bool = False) -> bool:
        """Could the glob match something strictly below this directory ("" is the root)? Says yes where in doubt."""
        if not directory or self.literal.startswith(directory + "/"):
            return True
        if self.literal and not below(directory, self.literal):
            return False
        if self.how != REGEX:
            return self.rule.level != PRESENT
        if not self.depth or directory.count("/") + 1 < self.depth:
            return True
        return self.rule.level != PRESENT and self.match(directory + "/", fold) != 0

    def covers(self, directory: str) -> bool:
        """True when everything below the directory surely matches, because the directory does."""
        return self.how != REGEX and below(directory, self.literal)


class RuleList(NamedTuple):
    """The globs of one list of one origin, in the order of the file. `name` is a level, or "rewrite"."""

    name: str
    origin: str
    matchers: tuple[Matcher, ...]

    def folded(self) -> RuleList:
        """The list for a root that ignores case."""
        return self._replace(matchers=tuple(m._replace(literal=folded(m.literal)) for m in self.matchers))

    def rule(self, path: str, fold: bool = False) -> Rule | None:
        """The rule that puts the path on this list; None when it is not on it, or taken out again.

        A present list holds only what a glob names, not what is below.
        """
        found = decide(self.matchers, path, fold)
        if found is None or not found.include:
            return None
        if self.name != PRESENT:
            return found.rule
        return next((m.rule for m in reversed(self.matchers) if m.include and _itself(m, path, fold)), None)

    def inside(self, directory: str, fold: bool = False) -> bool:
        """Could something strictly below this directory be on the list? Says yes where in doubt."""
        possible = [m for m in self.matchers if m.include and m.inside(directory, fold)]
        if not possible or not directory:
            return bool(possible)
        found = decide(self.matchers, directory + "/", fold)
        if found is None or found.include:
            return True
        return not all(m.covers(directory) for m in possible)


def decide(matchers: Sequence[Matcher], path: str, fold: bool = False) -> Matcher | None:
    """The matcher that has the last word on a path."""
    by_directory = None
    for matcher in reversed(matchers):
        how = matcher.match(path, fold)
        if how == BY_PATH:
            return matcher
        if how == BY_DIRECTORY and by_directory is None:
            by_directory = matcher
    return by_directory


def _itself(matcher: Matcher, path: str, fold: bool) -> bool:
    if not matcher.match(path, fold):
        return False
    above = path.rstrip("/").rpartition("/")[0]
    return not above or not matcher.match(above + "/", fold)


_expressions: dict[tuple[str, bool], re.Pattern[str]] = {}


def expression(regex: str, fold: bool) -> re.Pattern[str]:
    """The compiled expression. A dot matches a newline, since names may hold one."""
    found = _expressions.get((regex, fold))
    if found is None:
        found = _expressions[regex, fold] = re.compile(regex, re.DOTALL | (re.IGNORECASE if fold else 0))
    return found


def below(path: str, directory: str) -> bool:
    """True when a relative path is the directory, or lies below it."""
    return path == directory or path.startswith(directory + "/")


def folded(path: str) -> str:
    """The path as a file system that ignores case compares it."""
    if path.isascii():
        return path.lower()
    from unicodedata import normalize

    return normalize("NFC", normalize("NFC", path).casefold())


def literals(lists: Sequence[RuleList]) -> Iterator[str]:
    """The anchored beginnings of all that the protecting lists include; "" for a glob that floats."""
    for rules in lists:
        if rules.name in RANK:
            for matcher in rules.matchers:
                if matcher.include:
                    yield matcher.literal
