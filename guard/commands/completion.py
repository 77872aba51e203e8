"""`guard completion`: what a shell evaluates to complete guard's commands."""

from __future__ import annotations

import os

import click

from guard import completion
from guard.errors import GuardError


def run(shell: str | None) -> int:
    """Prints the text for a shell, by default the one that has called."""
    click.echo(completion.source(os.path.basename(shell if shell is not None else _calling()).removeprefix("-")))
    return 0


def _calling() -> str:
    """The name of the shell that this process was started from."""
    import shellingham  # type: ignore[import-untyped]

    try:
        found: str = shellingham.detect_shell()[0]
    except (shellingham.ShellDetectionFailure, OSError) as error:
        raise GuardError("it cannot be told which shell this is", todo="name it: guard completion bash") from error
    return found
