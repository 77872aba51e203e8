"""From the difference of two trees to its effects on what is protected."""

from __future__ import annotations

import os

from guard.commits.difference import DELETED, is_file, is_link, is_module
from guard.paths import below, child
from guard.policy import PRESENT, RANK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import NamedTuple

    from guard.commits.difference import Difference
    from guard.commits.git import Git
    from guard.effects import Analysis, Effect
    from guard.policy import Policy
    from guard.sieve import Test
    from guard.verdict import Verdict
else:
    from guard.record import NamedTuple

PAIRS = 400  # of a file that is gone and a new one of quite another name, that are compared to find what was moved and edited
COMPARED = 20_000  # contents in all that are compared for that; what is not found is a loss

ALL = 10_000_000  # victims that a verdict names: a trailer has to cover each of them


class Judged(NamedTuple):
    """The verdict on a difference, with the effects that it rests on."""

    analysis: Analysis
    verdict: Verdict


class Bench:
    """Judges differences of one repository whose top is `top` (physical)."""

    def __init__(self, git: Git, top: str, policy: Policy, environ: Mapping[str, str]) -> None:
        self._git = git
        self._top = top
        self.policy = policy
        self._environ = environ
        self._contents: dict[str, bytes] = {}
        self._compared = 0

    def protects(self, difference: Difference) -> bool:
        """Does the policy protect what was at a path?"""
        return self._level(difference.path, is_module(difference.old_mode)) is not None

    def concerned(self, found: Iterable[Difference]) -> list[Difference]:
        """Those whose old file is protected. Asks for whole directories first, since there may be many."""
        tests: dict[str, Test] = {}
        concerned = []
        for each in found:
            directory, _, entry = each.path.rpartition("/")
            if directory not in tests:
                tests[directory] = self.policy.sieve(self._at(directory) if directory else self._top)
            may_be = is_module(each.old_mode) or tests[directory](entry)
            if each.old_mode and may_be and self.protects(each):
                concerned.append(each)
        return concerned

    def protects_anything(self) -> bool:
        """Could anything here be protected?"""
        return self.policy.reach(self._top)

    def judge(self, found: Iterable[Difference], command: str, added: Callable[[], Iterable[Difference]]) -> Judged:
        """The verdict on what `command` does to the protected ones among the paths found.

        `added` gives what is new; it is asked only where something protected is gone, which may have been moved.
        """
        concerned = self.concerned(found)
        moved = self._moved([each for each in concerned if each.status == DELETED], added)
        contents = self._missing(name for each in concerned if _has_content(each) for name in (each.old, each.new))
        from guard.commits.tree import OldTree
        from guard.effects import Analysis, Cause  # while git reads
        from guard.harm import Harm  # noqa: F401
        from guard.verdict import judge

        self._contents |= contents()
        cause = Cause(command, self._top)
        effects = tuple(self._effect(each, moved.get(each.path))._replace(cause=cause) for each in concerned)
        tree = OldTree(self._environ, {self._at(each.path): each for each in concerned}, self._content)
        analysis = Analysis(effects)
        return Judged(analysis, judge(analysis, self.policy, tree, command, ALL))

    def _at(self, path: str) -> str:
        return child(self._top, path)

    def _level(self, path: str, directory: bool = False) -> str | None:
        return self.policy.level(self._at(path), directory)

    def _effect(self, each: Difference, to: str | None) -> Effect:
        from guard.effects import DELETE, EDIT, LINK, MOVE, OVERWRITE, At, Effect

        target = At(self._at(each.path))
        if to is not None:
            return Effect(MOVE, target, to=self._at(to))
        if is_link(each.new_mode):
            content = self._content(each.new)
            return Effect(LINK, target, to=None if content is None else os.fsdecode(content))
        if is_module(each.old_mode) and is_module(each.new_mode):
            return Effect(EDIT, target)
        if not is_file(each.new_mode) or is_module(each.old_mode):
            return Effect(DELETE, target)
        if each.old == each.new:  # its mode alone, which only a lock forbids
            return Effect(EDIT, target)
        return Effect(OVERWRITE, target, content=self._content(each.new))

    def _moved(self, gone: list[Difference], added: Callable[[], Iterable[Difference]]) -> dict[str, str]:
        """Where the files that are gone are to be had, under protection that is as strong: whole, or with half of the text."""
        new = [each for each in added() if self._level(each.path)] if gone else []
        moved: dict[str, str] = {}
        for key in (_content_of, *_TAILS):
            gone = [each for each in gone if each.path not in moved]
            taken = set(moved.values())
            new = [each for each in new if each.path not in taken]
            if not gone or not new or (key is _whatever and len(gone) * len(new) > PAIRS):
                break
            if key is _TAILS[0]:
                self._fetch([each.old for each in gone] + [each.new for each in new])
            moved |= self._paired(gone, new, key)
        return moved

    def _paired(self, gone: list[Difference], new: list[Difference], key: Callable[[str, str], str]) -> dict[str, str]:
        """Pairs what is gone with what is new, has the same key and keeps it; each is taken once."""
        there: dict[str, dict[str, Difference]] = {}
        for each in new:
            there.setdefault(key(each.path, each.new), {})[each.path] = each
        moved = {}
        for each in gone:
            candidates = there.get(key(each.path, each.old), {})
            to = next((other for other in candidates.values() if self._may_take(each, other) and self._keeps(each, other)), None)
            if to is not None:
                moved[each.path] = candidates.pop(to.path).path
        return moved

    def _may_take(self, gone: Difference, new: Difference) -> bool:
        level, there = self._level(gone.path), self._level(new.path)
        if level is None or there is None or level == PRESENT:
            return False
        if below(new.path, gone.path) or below(gone.path, new.path):  # it has become a directory, or a directory a file
            return False
        return RANK[there] >= RANK[level] and is_file(gone.old_mode) == is_file(new.new_mode)

    def _keeps(self, gone: Difference, new: Difference) -> bool:
        """Does a new file hold what is gone, or at least half of it? No more are compared than COMPARED."""
        if gone.old == new.new:
            return True
        self._compared += 1
        if not is_file(gone.old_mode) or self._compared > COMPARED:
            return False
        from guard.change import HALF, survival

        old, now = self._content(gone.old), self._content(new.new)
        return bool(old and now) and survival(old or b"", now or b"") >= HALF

    def _fetch(self, names: Iterable[str]) -> None:
        self._contents |= self._missing(names)()

    def _missing(self, names: Iterable[str]) -> Callable[[], dict[str, bytes]]:
        """Asks git for the contents that are not here yet."""
        return self._git.contents(name for name in names if name not in self._contents)

    def _content(self, name: str) -> bytes | None:
        if name not in self._contents:
            self._fetch((name,))
        return self._contents.get(name)


def _content_of(path: str, name: str) -> str:
    return name


def _long_tail(path: str, name: str) -> str:
    return "/".join(path.split("/")[-2:])


def _tail(path: str, name: str) -> str:
    return path.rpartition("/")[2]


def _whatever(path: str, name: str) -> str:
    return ""


# By what a file that is gone and a new one are brought together, one after the other.
_TAILS = (_long_tail, _tail, _whatever)


def _has_content(each: Difference) -> bool:
    return each.status != DELETED and not is_module(each.old_mode) and not is_module(each.new_mode) and each.old != each.new
