"""The real git behind all shims, for questions that run and leave nothing: no locks, no pager, no hooks."""

from __future__ import annotations

import os
import subprocess

from guard.git_program import ENVIRONMENT, OPTIONS, real_git
from guard.world import Budget, World

PATIENCE = 60.0  # seconds
_PASSED = ("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM")


class GitFailed(Exception):
    """git is missing, took too long, or ended with another status than 0."""


class Git:
    """Asks git about the repository whose work tree is at `top`."""

    def __init__(self, top: str) -> None:
        self._top = top
        self._program = real_git(World(os.environ, Budget(PATIENCE)), top)
        self._environ = ENVIRONMENT | {name: os.environ[name] for name in _PASSED if name in os.environ}

    @property
    def usable(self) -> bool:
        """Is there a repository here, and a git to ask?"""
        return self._program is not None and os.path.lexists(f"{self._top}/.git")

    def run(self, *words: str, data: bytes = b"", fine: tuple[int, ...] = (0,)) -> bytes:
        """The output of a command that only reads objects, refs and the index. Raises GitFailed where it does not end fine."""
        if not self.usable or any("\0" in word for word in words):
            raise GitFailed("there is no repository")
        argv = [str(self._program), *OPTIONS, f"--git-dir={self._top}/.git", f"--work-tree={self._top}", *words]
        try:
            done = subprocess.run(
                argv, cwd=self._top, env=self._environ, input=data, capture_output=True, timeout=PATIENCE, process_group=0
            )
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            raise GitFailed(str(error)) from error
        if done.returncode not in fine:
            raise GitFailed(os.fsdecode(done.stderr).strip())
        return done.stdout

    def line(self, *words: str) -> str:
        """The first line of the output, "" where git says nothing or fails."""
        try:
            return os.fsdecode(self.run(*words)).partition("\n")[0]
        except GitFailed:
            return ""


def run(args: list[str], top: str) -> bytes:
    """The output of git in the repository at `top`. Raises GitFailed."""
    return Git(top).run(*args)
