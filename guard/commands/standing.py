"""What the commands have in common by which a person lets something pass: the project, the snapshot first, the record."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

from guard import actor, grants, log, project
from guard.actor import Actor
from guard.commands import integrity
from guard.commands.integrity import Project
from guard.decision import Decision, Request, new_id
from guard.effects import Analysis
from guard.errors import GuardError
from guard.shell.text import command_line
from guard.vault.snapshot import Snapshot, snapshot
from guard.verdict import ALLOW, Reason, Verdict, Victim

LAYER = "override"  # the layer under which the log has what people do to the protection
SHOWN = 12  # paths that are named


@dataclass(frozen=True)
class Standing:
    """Where a person lets something pass: the project, the state directory, and whether root's word is needed."""

    at: Project
    state: str
    sudo: bool


def here(cwd: str | None = None) -> Standing:
    """The project around, with a place for grants. Raises GuardError where there is none."""
    at = integrity.here(cwd)
    if cwd is not None:
        at = replace(at, here=at.root)  # seen from the project, wherever in it the files lie
    state = project.state_dir(os.environ)
    if state is None:
        raise GuardError(
            "there is no directory to keep its state in", todo="set GUARD_STATE_DIR to one that can be written", code=70
        )
    return Standing(at, state, grants.needs_root(at.policy, at.root))


def reasoned(text: str | None) -> str:
    """The reason that was given, one line. Raises GuardError without one."""
    found = " ".join((text or "").split())
    if not found:
        raise GuardError("it needs a reason, which the log keeps", "--reason", 'say why: --reason "..."')
    return found[:500]


def copied(at: Project) -> Snapshot:
    """A snapshot of what is protected now, before anything may be lost. Raises GuardError where it cannot be taken."""
    with integrity.progress("copying") as report:
        return snapshot(at.root, at.policy, at.vault, "override", report)


def record(code: str, argv: Iterable[str], cwd: str, victims: Iterable[Victim] = (), what: str = "") -> str:
    """Writes to the log what a person has done; gives the id of the event, "" where it could not be kept."""
    named = tuple(victims)
    request = Request(command_line(("guard", *argv), 4096), cwd, new_id(), LAYER, Actor(actor.PERSON))
    verdict = Verdict(ALLOW, (Reason(code, ALLOW, what, total=len(named)),), named[:200], len(named))
    kept = log.append(log.encode(Decision(request, Analysis(), verdict, time.time())), project.state_dir(os.environ))
    return request.id if kept else ""
