"""Ignore patterns: .gitignore files, info/exclude, core.excludesFile, and those given on a command line."""

from __future__ import annotations

from guard.paths import child
from guard.tools.git.wildmatch import matcher, special

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import NamedTuple

    from guard.overlay import View
else:
    from guard.record import NamedTuple


class Rule(NamedTuple):
    """One pattern. `anchored`: compared with the path relative to its file's directory, else with the last component."""

    negated: bool
    directory: bool
    anchored: bool
    match: Callable[[str], bool]


def rules(text: str) -> tuple[Rule, ...]:
    """The patterns of an ignore file, the last (that wins) first."""
    found = []
    for line in text.removeprefix("\ufeff").split("\n"):
        rule = _rule(line.removesuffix("\r"))
        if rule is not None:
            found.append(rule)
    return tuple(found[::-1])


def _rule(line: str) -> Rule | None:
    pattern = line.rstrip(" ")
    if pattern.endswith("\\") and len(pattern) < len(line):
        pattern += " "
    if not pattern or pattern.startswith("#"):
        return None
    negated = pattern.startswith("!")
    pattern = pattern[negated:]
    directory = pattern.endswith("/")
    if directory:
        pattern = pattern[:-1]
    anchored = "/" in pattern
    pattern = pattern.removeprefix("/")
    if not pattern:
        return None
    if not special(pattern):
        return Rule(negated, directory, anchored, pattern.__eq__)
    return Rule(negated, directory, anchored, matcher(pattern, True))


class Ignores:
    """Which untracked paths a repository's patterns leave out. Looked at through a view, so as the command has left them."""

    def __init__(self, view: View, top: str, files: Iterable[str], given: Iterable[str] = (), standard: bool = True) -> None:
        self._view = view
        self._top = top
        self._standard = standard
        self._given = rules("\n".join(given))
        self._common = [rules(_text(view, path)) for path in files] if standard else []
        self._of: dict[str, tuple[Rule, ...]] = {}

    def ignored(self, path: str, directory: bool) -> bool:
        """Whether the last pattern that matches a path (relative to the top) ignores it. Its parents are not looked at."""
        name = path.rpartition("/")[2]
        found = _verdict(self._given, path, name, directory)
        if found is not None:
            return found
        if not self._standard:
            return False
        above = path
        while above:
            above = above.rpartition("/")[0]
            inside = path[len(above) + 1 :] if above else path
            found = _verdict(self._here(above), inside, name, directory)
            if found is not None:
                return found
        for common in self._common:
            found = _verdict(common, path, name, directory)
            if found is not None:
                return found
        return False

    def hidden(self, path: str, directory: bool = False) -> bool:
        """Whether a path is ignored, by itself or with a directory above it."""
        parts = path.split("/")
        return any(self.ignored("/".join(parts[:n]), True) for n in range(1, len(parts))) or self.ignored(path, directory)

    def _here(self, directory: str) -> tuple[Rule, ...]:
        if directory not in self._of:
            place = child(self._top, directory) if directory else self._top
            self._of[directory] = rules(_text(self._view, child(place, ".gitignore")))
        return self._of[directory]


def _verdict(found: tuple[Rule, ...], path: str, name: str, directory: bool) -> bool | None:
    for rule in found:
        if (directory or not rule.directory) and rule.match(path if rule.anchored else name):
            return not rule.negated
    return None


def _text(view: View, path: str) -> str:
    if view.kind(path) != "file":
        return ""
    return (view.read(path) or b"").decode("utf-8", "surrogateescape")
