"""What snapshot, verify, restore, diff and vault have in common: the project, its vault, and how changes are told."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import click
from rich.console import Console
from rich.progress import Progress

from guard import project
from guard.change import LEFT, MOVED
from guard.commands import place
from guard.commands.list import enclosing
from guard.commands.output import say
from guard.commits.meant import Meant
from guard.errors import GuardError
from guard.excuses import Leave
from guard.policy import Policy
from guard.shown import decodable, visible
from guard.vault.manifest import Manifest
from guard.vault.restore import advice, damaged
from guard.vault.snapshot import Progress as Report
from guard.vault.snapshot import world
from guard.vault.store import Vault
from guard.vault.verify import Change, verify

LONG = 500  # files of which a progress bar is shown


@dataclass(frozen=True)
class Project:
    """Where a command works."""

    here: str
    root: str
    policy: Policy
    vault: Vault

    def shown(self, path: str) -> str:
        """A path as seen from where the command was called."""
        near = os.path.relpath(path, self.here)
        return visible(path if near.startswith("../../..") else near)

    def manifest(self, name: str | None) -> Manifest:
        """The named snapshot's manifest, or the last one's. Raises GuardError where there is none."""
        if name:
            return self.vault.named(name)
        found = self.vault.newest()
        warn(self.vault)
        if found is None:
            raise GuardError("there is no snapshot of this project yet", visible(self.root), "take one: guard snapshot")
        return found


def here(cwd: str | None) -> Project:
    """The nearest project that a directory lies in. With broken configuration an older policy is in force, and that is told."""
    directory = os.path.realpath(place.directory(cwd))
    tree = world()
    policy = project.load(directory, tree.environ, tree)
    if policy.broken:
        click.echo(f"guard: {policy.broken}; {policy.standing} is in force", err=True)
    roots = enclosing(policy, directory)
    if not roots:
        raise GuardError("it lies in no project", visible(directory), "there has to be a guard.toml, [tool.guard] or .git")
    root = roots[0].path
    return Project(directory, root, policy, Vault(project.state_dir(os.environ), root))


def looked(at: Project, manifest: Manifest, unprotected: bool = False, record: str = "") -> tuple[list[Change], frozenset[str]]:
    """What happened since a snapshot, and the paths to which it happened with a person's leave, so that it is no violation.

    Leave is a grant, a rule, or a Guard-Allow in one of the commits since; `record` names the command that notes in the log which
    of those there was.
    """
    state = project.state_dir(os.environ)
    meant = Meant(manifest, os.environ)
    leave = Leave(manifest.head.time, at.root, at.policy, state)
    changes = verify(manifest, at.vault, at.policy, unprotected=unprotected)
    passed = frozenset(each.path for each in changes if (each.violation or damaged(each)) and (leave(each) or meant(each)))
    if record:
        meant.record(record, state)
    return changes, passed


def warn(vault: Vault) -> None:
    """Says what in the vault cannot be read."""
    for name, why in sorted(vault.damaged.items()):
        click.echo(f"guard: {visible(name)} is left out: {visible(why)}", err=True)


def age(when: float) -> str:
    """A moment in local time."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(when))


@contextmanager
def progress(title: str) -> Iterator[Report]:
    """A bar on standard error, where that is a terminal and there is much to do."""
    console = Console(stderr=True)
    bar = Progress(console=console, transient=True, disable=not console.is_terminal)
    task = bar.add_task(title, total=None)
    started = False

    def report(done: int, total: int) -> None:
        nonlocal started
        if total >= LONG and not started:
            bar.start()
            started = True
        bar.update(task, completed=done, total=total)

    try:
        yield report
    finally:
        if started:
            bar.stop()


def tell(changes: Sequence[Change], manifest: Manifest, at: Project, passed: Collection[str] = ()) -> None:
    """Prints one line for each change, and what a person may do about it; says so of those that a person has let pass."""
    for each in changes:
        style = "deny" if each.violation and each.path not in passed else "dim"
        leave = "  let pass by a person" if each.path in passed else ""
        say("  ", (f"{each.kind:16s}", style), f"{at.shown(each.path)}{_more(each, at)}{leave}")
        if each.kind == LEFT and (hint := advice(each, manifest)):
            say(("                    " + visible(hint), "dim"))


def _more(change: Change, at: Project) -> str:
    told = [f"-> {at.shown(change.to)}"] if change.kind == MOVED else []
    if change.mode is not None:
        told.append(f"permissions {change.old.mode & 0o7777:o} -> {change.mode:o}")
    return "  " + ", ".join(told) if told else ""


def fields(change: Change) -> dict[str, object]:
    """A change for JSON."""
    told: dict[str, object] = {
        "kind": change.kind,
        "action": change.action,
        "path": decodable(change.path),
        "level": change.level,
        "violation": change.violation,
    }
    if change.to:
        told["to"] = decodable(change.to)
    if change.mode is not None:
        told["mode"] = f"{change.mode:o}"
    return told
