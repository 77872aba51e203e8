"""Where health is looked at: a directory, its project and policy as far as there are any, guard's own directories."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

from guard import project, shims
from guard.paths import below
from guard.policy import Policy, Root
from guard.world import Budget, World

PATIENCE = 20.0  # seconds for the policy
PROBE = 5.0  # seconds that a program which is asked something may take
OUTPUT = 1 << 20  # bytes of its answer that are kept


@dataclass(frozen=True)
class Place:
    """What the layers are looked at from: a directory that may be gone (""), and an environment. A `quick` look starts no other
    programs."""

    cwd: str
    environ: Mapping[str, str] = field(repr=False)
    quick: bool = False

    @cached_property
    def world(self) -> World:
        """The tree, with time enough for a person."""
        return World(self.environ, Budget(PATIENCE, 50_000_000))

    @cached_property
    def policy(self) -> Policy | None:
        """The policy in force here; None where the directory is gone."""
        return project.load(self.cwd, self.environ, self.world) if self.cwd else None

    @cached_property
    def roots(self) -> list[Root]:
        """The projects that the directory lies in, nearest first."""
        found = self.policy.roots if self.policy is not None else ()
        around = [root for root in found if below(self.cwd, root.path) and {rules.origin for rules in root.lists} != {"guard"}]
        return sorted(around, key=lambda root: -len(root.path))

    @property
    def root(self) -> str | None:
        """The nearest project's directory."""
        return self.roots[0].path if self.roots else None

    @cached_property
    def state(self) -> str | None:
        """Where guard keeps its state."""
        return project.state_dir(self.environ)

    @cached_property
    def homes(self) -> list[str]:
        """Where runtime and shims may stand, the system's own among them."""
        return list(dict.fromkeys([*shims.homes(self.environ), project.RUNTIME]))


def place(cwd: str | None, environ: Mapping[str, str], quick: bool = False) -> Place:
    """The place that a directory is, by default the current one; one that is gone makes a place without."""
    try:
        return Place(os.path.realpath(cwd if cwd is not None else os.getcwd()), environ, quick)
    except OSError:
        return Place("", environ, quick)


def ask(
    argv: Sequence[str], environ: Mapping[str, str], seconds: float = PROBE, cwd: str = "/", given: bytes = b""
) -> tuple[int, str]:
    """Exit status and output of a program that has no terminal and reads what is given; -1 where it cannot be started or takes
    too long. What it has started by then ends with it."""
    try:
        process = subprocess.Popen(
            argv, env=dict(environ), cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError):
        return -1, ""
    try:
        output, _ = process.communicate(given, timeout=seconds)
    except subprocess.TimeoutExpired:
        _end(process)
        return -1, ""
    return process.returncode, output[:OUTPUT].decode(errors="replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a program and all of its session's group, and waits for it alone."""
    try:
        os.killpg(process.pid, 9)
    except OSError:
        process.kill()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):
                stream.close()
    process.wait()
