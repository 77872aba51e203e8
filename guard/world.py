"""World: all that an analysis may see and ask. Everything else it gets as an argument."""

from __future__ import annotations

import os
import stat
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

READ_LIMIT = 1 << 20  # bytes; a larger file is not read during a judgement
LISTED = 10  # names of a directory that count as one step


class OutOfBudget(Exception):
    """The judgement has used up its time or its steps. The analysis turns it into an Unknown, never into "harmless"."""


class Budget:
    """How long a judgement may take: seconds on a monotonic clock, and a count of steps that no clock can slow."""

    def __init__(self, seconds: float = 0.7, steps: int = 200_000, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = clock() + seconds
        self._steps = steps

    def spend(self, steps: int = 1) -> None:
        """Counts steps of work; raises OutOfBudget when steps or time are used up."""
        self._steps -= steps
        if self._steps < 0 or self._clock() > self._end:
            raise OutOfBudget

    def lend(self, share: float) -> tuple[float, int]:
        """Leaves only a share of what is left, for a part of the work that may fail alone; give the result to `take_back`."""
        kept = self._end, self._steps - int(self._steps * share)
        self._end = min(self._end, self._clock() + self.left * share)
        self._steps = int(self._steps * share)
        return kept

    def take_back(self, lent: tuple[float, int]) -> None:
        """Ends a lend(): what was not spent is there again."""
        self._end = lent[0]
        self._steps = lent[1] + max(0, self._steps)

    @property
    def left(self) -> float:
        """Seconds that are left, at least 0."""
        return max(0.0, self._end - self._clock())


def in_order(names: Iterable[str]) -> list[str]:
    """Names sorted as bytes; plain ones need no encoding for that."""
    names = list(names)
    return sorted(names) if "".join(names).isascii() else sorted(names, key=os.fsencode)


def _kind(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return "symlink"
    try:
        if entry.is_dir(follow_symlinks=False):
            return "directory"
        return "file" if entry.is_file(follow_symlinks=False) else "other"
    except OSError:
        return "other"


def _target(path: str) -> str | None:
    try:
        return os.readlink(path)
    except (OSError, ValueError):
        return None


class World:
    """The tree, the environment and the tools, as the real system has them. Paths are absolute `str` (surrogateescape).

    Every question answers None where there is nothing or it may not be read; none raises but OutOfBudget.
    """

    def __init__(self, environ: Mapping[str, str] | None = None, budget: Budget | None = None) -> None:
        self.environ: Mapping[str, str] = os.environ if environ is None else environ
        self.budget = budget or Budget()
        self.answers: dict[object, object] = {}  # what tools have been asked already; the real tree stands still meanwhile
        self._links: dict[str, str | None] = {}  # every path is resolved from / down, so the same ones come again and again

    def lstat(self, path: str) -> os.stat_result | None:
        """The status of what stands at a path, links not followed."""
        self.budget.spend()
        try:
            return os.lstat(path)
        except (OSError, ValueError):
            return None

    def readlink(self, path: str) -> str | None:
        """Where a symbolic link points."""
        self.budget.spend()
        if path not in self._links:
            self._links[path] = _target(path)
        return self._links[path]

    def listdir(self, path: str) -> list[str] | None:
        """The names in a directory, sorted as bytes, without "." and ".."."""
        try:
            names = os.listdir(path)
        except (OSError, ValueError):
            return None
        self.budget.spend(1 + len(names) // LISTED)
        return in_order(names)

    def scan(self, path: str) -> list[tuple[str, str]] | None:
        """The names in a directory as listdir has them, each with its kind: "file", "directory", "symlink" or "other"."""
        try:
            with os.scandir(path) as entries:
                found = {entry.name: _kind(entry) for entry in entries}
        except (OSError, ValueError):
            return None
        self.budget.spend(1 + len(found) // LISTED)
        return [(name, found[name]) for name in in_order(found)]

    def read(self, path: str, limit: int = READ_LIMIT) -> bytes | None:
        """The content of a regular file of at most `limit` bytes. Never opens anything but a regular file."""
        self.budget.spend()
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, ValueError):
            return None
        try:
            found = os.fstat(fd)
            if not stat.S_ISREG(found.st_mode) or found.st_size > limit:
                return None
            data = b""
            while chunk := os.read(fd, limit + 1 - len(data)):
                data += chunk
            return data if len(data) <= limit else None
        except OSError:
            return None
        finally:
            os.close(fd)

    def ask(self, argv: list[str], cwd: str, env: Mapping[str, str], timeout: float = 0.3) -> tuple[int, bytes] | None:
        """Runs a question that is known to run and leave nothing (tools/git/questions.py) and gives status and output.

        None where the program is missing, took longer than `timeout` seconds, or wrote more than READ_LIMIT bytes.
        """
        from guard.ask import ask

        self.budget.spend()
        return ask(argv, cwd, env, min(timeout, self.budget.left))
