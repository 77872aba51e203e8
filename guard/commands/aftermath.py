"""What `guard exec` says and answers about the protected files when the command is over."""

from __future__ import annotations

from collections.abc import Sequence

import click

from guard.errors import FAULT, GuardError
from guard.shown import short, visible
from guard.vault.report import lines
from guard.vault.watch import Aftermath

LOST = 1  # something is gone, and could not be brought back
RESTORED = 4  # protected files were lost and restored


def status(child: int, found: Sequence[Aftermath]) -> int:
    """The exit status: the command's, unless that says that all is well and it is not."""
    if child != 0 or not any(each.done for each in found):
        return child
    return RESTORED if all(each.undone for each in found) else LOST


def tell(found: Sequence[Aftermath], command: str, cwd: str, name: str) -> None:
    """Says on standard error what was lost and what became of it; nothing where nothing was."""
    told = lines(found, f"while {short(command)} ran", cwd, name)
    if told:
        click.echo("\n".join(told), err=True)


def unchecked(error: Exception, child: int, root: str) -> int:
    """Says that it cannot be told what became of a root; gives the exit status."""
    why = visible(str(error)) if isinstance(error, GuardError) else repr(error)
    click.echo(f"guard: the protected files of {visible(root)} could not be checked ({why}); see guard verify", err=True)
    return child or FAULT
