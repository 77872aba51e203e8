"""Where a command of the full command line works: the directory, its policy, and a world with time enough."""

from __future__ import annotations

import os
from collections.abc import Mapping

from guard import project, roots
from guard.errors import GuardError
from guard.paths import physical
from guard.policy import Policy
from guard.world import Budget, World

PATIENCE = 30.0  # seconds; a person waits, no agent is held up


def directory(given: str | None) -> str:
    """The absolute directory that --cwd names, else the current one."""
    if given is not None and not os.path.isdir(given):
        raise GuardError("no such directory", f"--cwd {given}")
    try:
        return os.path.abspath(given or os.getcwd())
    except FileNotFoundError:
        raise GuardError("the current directory is gone", todo="name one that exists with --cwd") from None


def world() -> World:
    """The real tree and environment."""
    return World(os.environ, Budget(PATIENCE, 50_000_000))


def policy(cwd: str, tree: World) -> Policy:
    """The policy in force for a directory; where its configuration is broken, something older (Policy.broken)."""
    return project.load(os.path.realpath(cwd), tree.environ, tree)


def sound(cwd: str, tree: World) -> Policy:
    """The policy in force for a directory; GuardError where its configuration is broken."""
    found = policy(cwd, tree)
    if found.broken:
        raise GuardError(f"{found.broken} ({found.standing} is in force)")
    return found


def register(state: str | None, environ: Mapping[str, str]) -> list[str]:
    """Records the roots that the current directory lies in: from now on they are protected wherever a command runs.

    In a directory that lies in none, the repositories that stand in it: whoever starts there works on them. Nothing is done
    without a state directory, or in a directory that is gone. Gives those roots. Raises OSError.
    """
    try:
        here = os.getcwd()
    except OSError:
        return []
    if state is None:
        return []
    tree = world()
    home, *temporary = (
        physical(tree, path) if path.startswith("/") else ""
        for path in (environ.get("HOME", ""), "/tmp", "/var/tmp", environ.get("TMPDIR", ""))
    )
    known = roots.registered(state, tree)
    found = roots.enclosing(here, home, tree) or list(roots.clones(here, filter(None, temporary), tree))
    for root in found:
        if root not in known:
            roots.register(state, root)
    return found
