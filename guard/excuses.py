"""Excuses: what happened to protected files with a person's leave, so that nobody brings it back.

Told from the grants that were used since a moment, from those that still stand (which that uses up), from suspensions that
were in force meanwhile, and from commands that an [[except]] rule let pass.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import suppress

from guard import grants, log, project
from guard.change import DIRECTORY, EMPTIED, MISSING, MOVED, RELINKED, REPLACED, RETYPED, REVERTED
from guard.grants import RUN, SUSPENSION, Grant
from guard.policy import Policy
from guard.vault.verify import Change

HAPPENED = (MISSING, MOVED, RETYPED, RELINKED, REVERTED, EMPTIED, REPLACED)  # what a grant lets happen
GRAIN = 0.02  # seconds by which the times of files lag behind the clock
ENDED = "kept"  # who has used a ticket of the layer "run" when the files are looked at afterwards


class Leave:
    """What a person has let pass in a root since a moment; says of a change whether it is of that, and remembers it then."""

    def __init__(self, start: float, root: str, policy: Policy, state: str | None) -> None:
        self._start = start
        self._root = root
        self._policy = policy
        self._state = state = state if project.vouched(state, runner=True) else None
        found = grants.known(state, grants.needs_root(policy, root))
        now = time.time()
        self._grants = [each for each in found if state and each.root == root and _in_force(each, state, start, now)]
        self._commands: list[tuple[str, str]] | None = None
        self._excused: list[Change] = []

    def __call__(self, change: Change) -> bool:
        """Did a person let this pass?"""
        said = any(_covers(each, change.path, self._policy) for each in self._grants) or self._by_rule(change)
        if said:
            self._excused.append(change)
        return said

    def settle(self) -> None:
        """Uses up the standing grants by which losses were excused: what was let pass once has happened."""
        paths = [change.path for change in self._excused if change.kind in HAPPENED]
        for grant in self._grants:
            if grant.kind != SUSPENSION and any(_covers(grant, path, self._policy) for path in paths):
                ticket = f"{self._state}/{grants.DIRECTORY}/{grant.name}.{RUN}"
                with suppress(OSError):
                    os.rename(ticket, f"{ticket}.{ENDED}")

    def _by_rule(self, change: Change) -> bool:
        if not self._policy.excepts:
            return False
        if self._commands is None:
            self._commands = list(_excepted(self._state, self._start))
        directory = change.old.kind == DIRECTORY
        return any(self._policy.excuse(command, change.path, day, directory) is not None for command, day in self._commands)


def _in_force(grant: Grant, state: str, start: float, now: float) -> bool:
    """Could something since `start` have been done by this leave: was it used since, or could it have been without a trace?"""
    if grant.kind == SUSPENSION:
        return grant.created <= now and grant.expires > start
    if any(layer != grants.CHECK and moment >= start - GRAIN for layer, moment in grants.uses(grant, state)):
        return True
    unused = os.path.lexists(f"{state}/{grants.DIRECTORY}/{grant.name}.{RUN}")
    return unused and grant.created <= now and grant.expires > start


def _covers(grant: Grant, path: str, policy: Policy) -> bool:
    if grants.out_of_bounds(path, [policy]):
        return False
    return grant.covers(path, "") if grant.kind == SUSPENSION else path in grant.victims


def _excepted(state: str | None, start: float) -> Iterable[tuple[str, str]]:
    """The commands since `start` that a rule let pass, and the day of each. What was recorded in a sandbox is not believed."""
    for event in log.read(state):
        moment = event.get("time")
        if event.get("code") == "excepted" and not event.get("untrusted") and isinstance(moment, int | float) and moment >= start:
            yield str(event.get("command", "")), time.strftime("%Y-%m-%d", time.localtime(moment))
