"""The hooks of git: what guard.git_hooks finds in the nearest project."""

from __future__ import annotations

from collections.abc import Iterator

from guard import git_hooks
from guard.findings import Finding
from guard.health.place import Place


def findings(at: Place) -> Iterator[Finding]:
    """What can be said of the git hooks of the nearest project."""
    if at.root is not None:
        yield from git_hooks.findings(at.root, at.environ)
