"""Policy: which paths are protected, how strongly, and by which rule. Matching only: no TOML, no pathspec."""

from __future__ import annotations

import stat

from guard.matching import BUILT_IN, KEEP, LOCK, PRESENT, RANK, Rule, folded, literals
from guard.paths import below, child, parent
from guard.root import PENDING, Except, Root, Source
from guard.roots import CONFIG
from guard.sieve import Sieve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from os import stat_result
    from typing import Protocol

    from guard.sieve import Test
    from guard.world import World

    class Finder(Protocol):
        """Finds roots that the policy was not made with."""

        def at(self, directory: str) -> tuple[Root, ...]:
            """The roots that this very directory is."""
            ...

        def below(self, directory: str) -> Iterable[str]:
            """Directories below this one that may be roots; may look at the tree."""
            ...

        def known_below(self, directory: str) -> list[str]:
            """Those of them that are known without looking."""
            ...


__all__ = ["BUILT_IN", "KEEP", "LOCK", "PRESENT", "RANK", "Except", "Policy", "Root", "Rule", "Source"]

SIFTED = 8  # entries of a directory, from which on the sieve pays
DEFAULTS = {"certain": "deny", "unknown": "ask", "branches": "follow", "override": "terminal"}
STRENGTH = {"ask": 0, "deny": 1, "follow": 0, "pin": 1, "terminal": 0, "sudo": 1}


class Policy:
    """What all roots together protect. Paths are absolute and physical; each root that encloses a path has its say.

    What a protected symbolic link leads to (`specs -> ../shared/specs`) is protected like the link.
    """

    def __init__(self, roots: Iterable[Root] = (), finder: Finder | None = None) -> None:
        self._roots: dict[str, tuple[Root, ...]] = {}
        self._finder = finder
        self._looked: set[str] = set()
        self._folding: list[Root] = []
        self._sieves: dict[int, Sieve] = {}
        self._aliases: dict[str, tuple[tuple[Root, str], ...]] = {}
        for root in roots:
            self._add(root)

    @property
    def roots(self) -> tuple[Root, ...]:
        """The roots that are known so far."""
        return tuple(root for roots in self._roots.values() for root in roots)

    @property
    def broken(self) -> str | None:
        """What is wrong with a configuration file (file, line, error), so that something older is in force; else None."""
        return next((root.broken for root in self.roots if root.broken), None)

    @property
    def standing(self) -> str:
        """What is in force in the place of a configuration that is broken."""
        root = next((root for root in self.roots if root.broken), None)
        return "the last good configuration" if root is not None and root.sources else "the built-in list"

    @property
    def pending(self) -> tuple[str, ...]:
        """The files whose [tool.guard] table has changed and was not accepted: until then it only adds protection."""
        return tuple(dict.fromkeys(value for root in self.roots for key, value in root.settings if key == PENDING))

    @property
    def excepts(self) -> tuple[Except, ...]:
        """The exceptions of the roots that are known so far."""
        return tuple(item for root in self.roots for item in root.excepts)

    def level(self, path: str, directory: bool = False) -> str | None:
        """The strongest level that a root gives to a path; `directory` says that it is one (a link to one counts as a file)."""
        rule = self.rule(path, directory)
        return rule.level if rule else None

    def rule(self, path: str, directory: bool = False) -> Rule | None:
        """The rule that decides the level of a path."""
        return _strongest(self._places(path), directory)

    def rewrites(self, path: str) -> bool:
        """True when a kept path is a prompt or plan whose rewriting as a whole counts as an edit."""
        said = [root.rewrites(rel) for root, rel in self._places(path) if rel]
        return True in said and False not in said

    def trusts(self, path: str, tool: str) -> bool:
        """May an agent's file tool of this name change a locked path? Every root that locks it has to name the tool."""
        locking = [(root, rel) for root, rel in self._places(path) if rel and (r := root.rule(rel)) and r.level == LOCK]
        return bool(locking) and all(root.trusts(rel, tool) for root, rel in locking)

    def setting(self, path: str, key: str) -> str:
        """The strictest value that the roots of a path give to "certain", "unknown", "branches" or "override"."""
        roots = [root for root, _ in self._places(path)] or list(self.roots)
        given = [value for root in roots for name, value in root.settings if name == key]
        return max(given, key=lambda value: STRENGTH.get(value, 9), default=DEFAULTS.get(key, ""))

    def excuse(self, command: str, path: str, today: str, directory: bool = False) -> Except | None:
        """The exception by which the command (spelled exactly) may harm this path; every root that protects it must have one."""
        found = None
        for root, rel in self._places(path):
            rel += "/" if directory else ""
            if rel and root.rule(rel):
                found = root.excuse(command, rel, today)
                if found is None:
                    return None
        return found

    def sieve(self, directory: str) -> Test:
        """The quick test whether something of this name, directly in a directory and none itself, may be protected."""
        return self._test(directory, self._places(directory))

    def own(self, path: str) -> bool:
        """True for guard's own state, data and configuration outside of any project, which nobody but guard protects."""
        found = [(rule.glob, root.origins(rel)) for root, rel in self._places(path) if rel and (rule := root.rule(rel))]
        return bool(found) and all(origins == {"guard"} and glob != f"/{CONFIG}" for glob, origins in found)

    def reach(self, directory: str) -> bool:
        """Could anything at or below this directory be protected? Cheap; says yes where in doubt."""
        places = list(self._places(directory))
        if _strongest(places, False) or _strongest(places, True) or self._inside(directory, places):
            return True
        self._look_below(directory)
        return self._inside(directory, places)

    def protected(self, top: str, tree: World) -> Iterator[tuple[str, str]]:
        """Every protected file and symbolic link that exists at or below `top`, with its level, parents' order.

        Of what is to be present, the path itself, be it a directory; else a directory only where it cannot be read.
        """
        for start in self._tops(top):
            yield from self._walk(start, tree)

    def worktree(self, path: str) -> str | None:
        """The main worktree, when a path is the root of a linked worktree that is known here."""
        return next((root.main for root in self._at(path) if root.main), None)

    def visit(self, top: str, tree: World) -> Iterator[tuple[str, str, stat_result]]:
        """Every protected path that exists at or below `top`, directories too, and every directory looked into on the way.

        Gives path, level ("" for what is not protected) and what lstat says, parents first.
        """
        for start in self._tops(top):
            for path, level, found, _ in self._visit(start, tree):
                yield path, level, found

    def _tops(self, top: str) -> Iterator[str]:
        done: list[str] = []
        for start in sorted(self._starts(top)):
            if not any(below(start, before) for before in done):
                done.append(start)
                yield start

    def _walk(self, top: str, tree: World) -> Iterator[tuple[str, str]]:
        for path, level, found, readable in self._visit(top, tree):
            if level and (level == PRESENT or not readable or not stat.S_ISDIR(found.st_mode)):
                yield path, level

    def _visit(self, top: str, tree: World) -> Iterator[tuple[str, str, stat_result, bool]]:
        """What visit() gives, and whether a directory could be listed that had to be."""
        todo = [(top, list(self._places(top)))]
        while todo:
            path, places = todo.pop()
            found = tree.lstat(path)
            if found is None:
                continue
            directory = stat.S_ISDIR(found.st_mode)
            rule = _strongest(places, directory) or (_strongest(places, True) if stat.S_ISLNK(found.st_mode) else None)
            inside = directory and self._inside(path, places)
            names = tree.listdir(path) if inside else ()
            if rule or inside:
                yield path, rule.level if rule else "", found, names is not None
            for entry in self._sifted(path, places, names or (), tree):
                below_it = child(path, entry)
                todo.append((below_it, self._places_below(places, below_it, entry)))

    def _sifted(self, directory: str, places: list[tuple[Root, str]], names: Sequence[str], tree: World) -> Iterator[str]:
        """Of the names in a directory, the last first, those of directories and of what may be protected itself."""
        if len(names) < SIFTED:
            yield from reversed(names)
            return
        test = self._test(directory, places)
        files = {entry for entry, kind in tree.scan(directory) or () if kind != "directory"}
        for entry in reversed(names):
            if entry not in files or test(entry):
                yield entry

    def _test(self, directory: str, places: Iterable[tuple[Root, str]]) -> Test:
        tests = []
        for root, rel in places:
            if id(root) not in self._sieves:
                self._sieves[id(root)] = Sieve(root)
            tests.append(self._sieves[id(root)].test(rel))
        if None in tests:
            return lambda entry: True
        known = [test for test in tests if test is not None]
        return lambda entry: any(test(entry) for test in known) or child(directory, entry) in self._aliases

    def _starts(self, top: str) -> set[str]:
        """The paths at or below `top` that all protected paths at or below it lie at or below."""
        self._look_below(top)
        starts = {target for target in self._aliases if below(target, top)}
        for root, rel in self._places(top):
            starts |= {start for literal in literals(root.lists) if (start := _start(root, rel, top, literal))}
        for root in self.roots:
            if root.path != top and _encloses(top, root):
                starts |= {_start(root, "", root.path, literal) for literal in literals(root.lists)}
        return starts

    def _inside(self, directory: str, places: list[tuple[Root, str]]) -> bool:
        if any(root.inside(rel) for root, rel in places):
            return True
        if self._finder is not None and self._finder.known_below(directory):
            return True
        if any(target != directory and below(target, directory) for target in self._aliases):
            return True
        return any(root.path != directory and _encloses(directory, root) and root.inside("") for root in self.roots)

    def _places_below(self, places: list[tuple[Root, str]], path: str, entry: str) -> list[tuple[Root, str]]:
        """The places of an entry of a directory, from those of the directory."""
        here = [(root, "") for root in self._at(path)] + list(self._aliases.get(path, ()))
        return here + [(root, (rel and rel + "/") + _relative(root, entry)) for root, rel in places]

    def _places(self, path: str) -> Iterator[tuple[Root, str]]:
        """Each root that a path lies in, with the path relative to it, "" for the root itself."""
        if not path.startswith("/"):
            return
        above = path = path.rstrip("/") or "/"
        while True:
            for root in self._at(above):
                yield root, _relative(root, path[len(above) :].lstrip("/"))
            for root, rel in self._aliases.get(above, ()):
                yield root, _relative(root, rel + path[len(above) :])
            if above == "/":
                break
            above = parent(above)
        for root in self._folding:
            beginning = "/".join(path.split("/")[: root.path.count("/") + 1])
            if beginning != root.path and folded(beginning) == folded(root.path):
                yield root, _relative(root, path[len(beginning) :].lstrip("/"))

    def _look_below(self, directory: str) -> None:
        for found in self._finder.below(directory) if self._finder else ():
            self._at(found)

    def _at(self, directory: str) -> tuple[Root, ...]:
        if self._finder is not None and directory not in self._looked:
            self._looked.add(directory)
            for root in self._finder.at(directory):
                self._add(root)
        return self._roots.get(directory, ())

    def _add(self, root: Root) -> None:
        self._roots[root.path] = (*self._roots.get(root.path, ()), root)
        if root.fold:
            self._folding.append(root)
        for target, rel in root.aliases:
            self._aliases[target] = (*self._aliases.get(target, ()), (root, rel))


def _strongest(places: Iterable[tuple[Root, str]], directory: bool) -> Rule | None:
    strongest: Rule | None = None
    for root, rel in places:
        found = root.rule(rel + "/" if directory else rel) if rel else None
        if found and (strongest is None or RANK[found.level] > RANK[strongest.level]):
            strongest = found
    return strongest


def _relative(root: Root, rel: str) -> str:
    return folded(rel) if root.fold else rel


def _encloses(directory: str, root: Root) -> bool:
    return below(root.path, directory) or (root.fold and below(folded(root.path), folded(directory)))


def _start(root: Root, rel: str, top: str, literal: str) -> str:
    """Where below `top` (which is at `rel` in the root) a glob with this literal can match; "" for nowhere.

    Where case is ignored the literal does not tell how the name is spelled, and everything has to be looked at.
    """
    if root.fold or not literal or not rel:
        return child(top, literal) if literal and not root.fold else top
    if below(literal, rel):
        return top + literal[len(rel) :]
    return top if below(rel, literal) else ""
