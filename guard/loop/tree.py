"""Tree: what an iteration changed, told from the files themselves. Only what looks different is read again."""

from __future__ import annotations

import os
import time
from array import array
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b

from guard.git import Git, GitFailed
from guard.loop import sketch, stamps
from guard.loop.difference import Changes, History, difference, shown
from guard.loop.facts import PATHS, Files
from guard.loop.ignore_rules import Rules
from guard.loop.listing import Listing, excluded
from guard.loop.record import replace
from guard.loop.split_work import split
from guard.vault.mounts import Mounts

# Where tests stand, as .gitignore patterns: progress.tests takes their place.
TESTS = (
    "test/", "tests/", "__tests__/", "e2e/", "testdata/", "spec/", "test_*.py", "conftest.py", "*_test.*", "*.test.*", "*.spec.*",
    "*.bats", "*Test.java", "*Tests.cs",
)  # fmt: skip
_CHUNK = 512  # paths that are looked at together
_WHOLE = 1 << 128


class Tree:
    """The tree at `top`. `before` and `after` stand around an iteration.

    `plan` and `own` are paths relative to it that never count (the plan, guard's state), `ignore` patterns of what else does
    not, `tests` those of test paths. `protected` says which paths are never tests. `earlier` are the approaches of the run's
    iterations so far, the newest last, where a run goes on.
    """

    def __init__(
        self,
        top: str,
        plan: str = "",
        ignore: Iterable[str] = (),
        tests: Iterable[str] = TESTS,
        own: Iterable[str] = (),
        protected: Callable[[str], bool] = lambda path: False,
        earlier: Sequence[Sequence[str]] = (),
    ) -> None:
        self._top = top
        self._git = Git(top)
        self._grain = Mounts().grain(top)
        self._excluded = excluded((plan, *own), ignore)
        rules = Rules(tests)
        self._is_test = lambda path: rules.ignores(path) and not protected(path)
        self._forget()
        self._history = History(earlier)
        self._head = ""
        self.documentation = False  # the last iteration changed documentation, and nothing else

    def _forget(self) -> None:
        """Nothing is known of the tree."""
        self._listing = Listing(self._top, self._excluded, self._git, self._grain)
        self._listed: list[str] | None = None  # as the listing gave them
        self._paths: list[str] = []
        self._stamps: array[int] = array("q")
        self._sketches: dict[str, bytes] = {}
        self._young: set[str] = set()  # written so shortly before they were read that a later writing may not show
        self._total = 0
        self._changes: Changes = {}
        self._outside: Changes = {}  # what others changed before the iteration

    @property
    def digest(self) -> str:
        """The digest of the fingerprint as it was last taken."""
        return f"{self._total:032x}"

    def before(self) -> tuple[str, ...]:
        """Takes the fingerprint before an iteration; gives the paths that others have changed since the last one, sorted."""
        first = self._listed is None
        self._changes = {}
        self._look()
        external = () if first else sorted(self._changes)
        self._outside = {} if first else self._changes
        self._changes = {}
        self._head = self._git.line("rev-parse", "--verify", "-q", "HEAD")
        return tuple(map(shown, external[:PATHS]))

    def unchanged(self) -> bool:
        """Is the tree what it was when `before` looked?"""
        self._look()
        return not self._changes

    def after(self, external: tuple[str, ...] = ()) -> Files:
        """Takes the fingerprint after an iteration, whose processes are gone, and gives what has changed in it."""
        self._look()
        found, self.documentation = difference(self._changes, self._outside, self._is_test, self._history)
        head = self._git.line("rev-parse", "--verify", "-q", "HEAD")
        commits = self._commits(head) if head and head != self._head else ()
        self._changes = {}
        return replace(found, external=external, tree=self.digest, head=head, commits=commits)

    def _commits(self, head: str) -> tuple[str, ...]:
        known = (f"^{self._head}",) if self._head else ()
        try:
            newest = self._git.run("rev-list", f"--max-count={PATHS}", head, *known, "--").decode("ascii").split()
        except GitFailed:
            return ()
        return tuple(reversed(newest))

    def _look(self) -> None:
        """Brings the fingerprint up to date, and notes what has changed. A look that is broken off leaves nothing behind."""
        try:
            self._bring_up_to_date()
        except BaseException:
            self._forget()
            raise

    def _bring_up_to_date(self) -> None:
        started = time.time_ns()
        gone = self._list()
        odd = {*self._odd(), *(path for path in self._young if path not in gone)}
        for path in gone:
            self._note(path, None)
        for path in sorted(odd):
            self._read(path, started)

    def _list(self) -> set[str]:
        """Brings the list of paths up to date; gives those that have left it."""
        listed = self._listing.paths()
        if listed is self._listed:
            return set()
        known = dict(zip(self._paths, self._stamps, strict=True))
        self._listed, self._paths = listed, listed
        self._stamps = array("q", [known.get(path, stamps.NOWHERE) for path in listed])
        self._places = {path: at for at, path in enumerate(listed)}
        return known.keys() - self._places.keys()

    def _odd(self) -> list[str]:
        """The paths that do not look as they did."""
        try:
            directory = os.open(self._top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            return self._paths
        try:
            places = split(len(self._paths), lambda start, end: self._compared(directory, start, end))
        finally:
            os.close(directory)
        return [self._paths[at] for at in places]

    def _compared(self, directory: int, start: int, end: int) -> list[int]:
        odd: list[int] = []
        for at in range(start, end, _CHUNK):
            last = min(at + _CHUNK, end)
            now = stamps.stamps(directory, self._paths[at:last])
            old = self._stamps[at:last]
            if now != old:
                odd += [at + place for place, (one, other) in enumerate(zip(now, old, strict=True)) if one != other]
        return odd

    def _read(self, path: str, started: int) -> None:
        """Reads one path again."""
        place = f"{self._top}/{path}"
        at = self._places[path]
        self._young.discard(path)
        try:
            found = os.lstat(place)
        except (OSError, ValueError):
            self._stamps[at] = stamps.NOWHERE
            self._note(path, None)
            return
        self._stamps[at] = stamps.of(found)
        if found.st_ctime_ns >= started - self._grain:
            self._young.add(path)
        self._note(path, sketch.sketch(place, found, self._sketches.get(path)))

    def _note(self, path: str, new: bytes | None) -> None:
        """Puts a sketch in the place of the one before it."""
        old = self._sketches.get(path)
        if new is None:
            self._sketches.pop(path, None)
            self._young.discard(path)
        else:
            self._sketches[path] = new
        before, after = sketch.identity(old), sketch.identity(new)
        if before == after:
            return
        self._total = (self._total - _number(path, before) + _number(path, after)) % _WHOLE
        first = self._changes.get(path, (old, None))[0]
        if sketch.identity(first) == after:
            self._changes.pop(path, None)
        else:
            self._changes[path] = (first, new)


def _number(path: str, identity: bytes) -> int:
    """What a path adds to the digest of the tree: their sum does not depend on an order."""
    if not identity:
        return 0
    return int.from_bytes(blake2b(os.fsencode(path) + b"\0" + identity, digest_size=16).digest(), "big")
