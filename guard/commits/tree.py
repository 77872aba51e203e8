"""The old tree as a world: what a judgement may see of files that need no longer be on the disk."""

from __future__ import annotations

import os
import stat

from guard.commits.difference import Difference, is_link, is_module
from guard.world import READ_LIMIT, Budget, World

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SECONDS, STEPS = 300.0, 200_000_000  # nobody waits for a time-out here, and a commit may hold a hundred thousand files


class OldTree(World):
    """The paths that differ, as they were; nothing else is there. Contents come from git, when they are asked for."""

    def __init__(self, environ: Mapping[str, str], old: Mapping[str, Difference], content: Callable[[str], bytes | None]) -> None:
        super().__init__(environ, Budget(SECONDS, STEPS))
        self._old = old
        self._content = content

    def lstat(self, path: str) -> os.stat_result | None:
        """What git knows of a path: its type and mode."""
        self.budget.spend()
        found = self._old.get(path)
        if found is None or not found.old_mode:
            return None
        mode = stat.S_IFDIR | 0o755 if is_module(found.old_mode) else found.old_mode
        return os.stat_result((mode, 0, 0, 1, 0, 0, 0, 0, 0, 0))

    def readlink(self, path: str) -> str | None:
        """Where a symbolic link pointed."""
        found = self._old.get(path)
        if found is None or not is_link(found.old_mode):
            return None
        content = self._content(found.old)
        return None if content is None else os.fsdecode(content)

    def read(self, path: str, limit: int = READ_LIMIT) -> bytes | None:
        """The content of a file, whatever its size."""
        found = self._old.get(path)
        return None if found is None else self._content(found.old)

    def listdir(self, path: str) -> list[str] | None:
        """None: a submodule's files are not this repository's, so that it counts as one."""
        return None

    def scan(self, path: str) -> list[tuple[str, str]] | None:
        """None, as for listdir."""
        return None
