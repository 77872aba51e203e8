"""The protected files that exist, and which of them a target covers: the question turned round."""

from __future__ import annotations

import stat

from guard import expressions as re
from guard.effects import LEAVE, MOVE, At, Below, Hole, Matching
from guard.paths import below, lineage, physical

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from guard.effects import Effect, Pattern, Target
    from guard.policy import Policy
    from guard.world import World

MANY = 16  # paths, from which on the directories that they stand in are asked first

_DOTS = r"(?:\A|(?<=[/\0]))\.\.(?=[/\0]|\Z)"


class Survey:
    """The protected files as they stood before the command, found again where its moves have put them."""

    def __init__(self, policy: Policy, world: World) -> None:
        self._policy = policy
        self._world = world
        self._found: dict[str, tuple[tuple[str, str], ...]] = {}
        self._moved: dict[str, dict[str, None]] = {}  # where to -> what the paths there were at the start
        self._inside: dict[str, dict[str, None]] = {}  # directory -> the places at or below it that something was moved to
        self._asked = 0
        self._tests: dict[str, Callable[[str], bool]] = {}

    def covered(self, target: Target) -> Iterator[tuple[str, str, str]]:
        """The protected files that a target covers: the path at the start, the level, the path by now."""
        top = target.path
        covers = self._cover(target)
        for path, level in self._protected(top):
            if covers(path):
                yield path, level, path
        for to, was in list(self._arrived(top)):
            base = was if below(to, top) else was + top[len(to) :]
            for path, level in self._protected(base):
                now = to + path[len(was) :]
                if covers(now):
                    yield path, level, now

    def _arrived(self, top: str) -> Iterator[tuple[str, str]]:
        """The moves to places at, below and above a path: where to, and what that was at the start."""
        if self._moved:
            places = [*self._inside.get(top, ()), *(above for above in lineage(top)[1:] if above in self._moved)]
            yield from ((to, was) for to in places for was in self._moved[to])

    def follow(self, effect: Effect) -> None:
        """Notes where a move takes protected files, or where a view keeps those that left with a branch or into a stash."""
        target = effect.target
        if effect.action not in (MOVE, LEAVE) or not isinstance(target, At) or effect.to is None:
            return
        origins = [target.path] if self._protected(target.path) else []
        arrived = list(self._arrived(target.path))
        origins += [was + target.path[len(to) :] for to, was in arrived if below(target.path, to)]
        inner = [(effect.to + to[len(target.path) :], was) for to, was in arrived if below(to, target.path)]
        self._world.budget.spend(1 + len(origins) + len(inner))
        for to, was in [(effect.to, was) for was in origins] + inner:
            if to not in self._moved:
                for directory in lineage(to):
                    self._inside.setdefault(directory, {})[to] = None
            self._moved.setdefault(to, {})[was] = None

    def _protected(self, top: str) -> tuple[tuple[str, str], ...]:
        """The protected files at and below a path with their levels, what is above before what is below; looked up once."""
        found = self._found.get(top)
        if found is None:
            self._world.budget.spend()
            if self.spares(top):
                return ()
            found = tuple(sorted(self._policy.protected(top, self._world))) if self._policy.reach(top) else ()
            self._found[top] = found
        return found

    def spares(self, path: str) -> bool:
        """True when what stands at a path is surely no protected file; False where in doubt, as for every directory.

        It takes some time to prepare for each directory, which only pays when many paths are looked up.
        """
        self._asked += 1
        if self._asked < MANY:
            return False
        directory, _, entry = path.rpartition("/")
        test = self._tests.get(directory)
        if test is None:
            test = self._tests[directory] = self._policy.sieve(directory or "/")
        if test(entry):
            return False
        found = self._world.lstat(path)
        return found is None or not stat.S_ISDIR(found.st_mode)

    def _cover(self, target: Target) -> Callable[[str], bool]:
        """The test whether a target covers a path that is at or below its own."""
        if isinstance(target, Below):
            return lambda path: path != target.path
        if not isinstance(target, Matching):
            return lambda path: True
        could = possible(target.pattern)
        linked = self._through_links(target)
        return lambda path: could(path) or any(below(path, place) for place in linked)

    def _through_links(self, target: Matching) -> list[str]:
        """Where the text behind the last hole leads through symbolic links, from each directory that holds protected files."""
        rest = target.pattern.suffix.rstrip("/")
        if not rest.startswith("/"):
            return []
        directories = {target.path}
        for path, _ in self._protected(target.path):
            while (path := path.rpartition("/")[0]) and path not in directories and below(path, target.path):
                directories.add(path)
        plain = [directory.rstrip("/") + rest for directory in directories]
        return [place for place, start in ((physical(self._world, path), path) for path in plain) if place != start]


def possible(pattern: Pattern) -> Callable[[str], bool]:
    """The test whether a pattern could name a path, or a directory above it, whatever stands for its holes."""
    first, *others = _plain(pattern).split("\0")
    if not others:
        return lambda path: below(path, first or "/")
    *middle, last = others

    def test(path: str) -> bool:
        if not path.startswith(first):
            return False
        end, before = len(first), first
        for piece in middle:
            at = path.find(piece, _start(end, before, piece))
            if at < 0:
                return False
            end, before = at + len(piece), piece or before
        start = _start(end, before, last)
        return not last or path.find(last + "/", start) >= 0 or (path.endswith(last) and len(path) - len(last) >= start)

    return test


def _start(end: int, before: str, piece: str) -> int:
    """Where a piece may begin: an empty hole between two slashes makes one slash of them."""
    return end - 1 if before.endswith("/") and piece.startswith("/") else end


def _plain(pattern: Pattern) -> str:
    """The pattern as one string with NUL for each hole, without "." and ".." components.

    Behind a hole ".." may lead anywhere, so that what stands before the last one says nothing.
    """
    text = "".join("\0" if isinstance(piece, Hole) else piece.replace("\0", "") for piece in pattern.pieces)
    ups = list(re.finditer(_DOTS, text))
    if ups:
        text = "\0" + text[ups[-1].end() :]
    text = re.sub(r"/(?:\.?/)+", "/", text)
    text = text.replace("\0./", "\0/").replace("/.\0", "/\0")
    return re.sub(r"(?:/\.?)+\Z", "", text)
