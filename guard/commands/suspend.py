"""`guard suspend`: a person takes the protection of a project away for a while."""

from __future__ import annotations

import time
from collections.abc import Mapping

from guard import granting, grants, person, project
from guard.commands import standing
from guard.commands.output import say
from guard.errors import BUSY, GuardError
from guard.grants import SUSPENSION, Grant
from guard.policy import Policy
from guard.running import loop
from guard.shown import visible


def start(given: str, reason: str | None) -> int:
    """Suspends the protection for a time: the layers of this project let everything pass but what is guard's own."""
    seconds = granting.duration(given, "TIME")
    why = standing.reasoned(reason)
    person.require("guard suspend")
    where = standing.here()
    root = where.at.root
    runner = loop(root, where.state)
    if runner:
        raise GuardError("a loop of this project is running", runner, "stop it first: guard loop stop", BUSY)
    say(("The protection of ", "bold"), (visible(root), "bold"), (f" will rest for {seconds / 60:g} minutes.", "bold"))
    say("What is deleted meanwhile is not brought back by itself. Guard's own files stay locked.", wrap=True)
    taken = standing.copied(where.at)
    person.confirm(f"A copy of every protected file is in snapshot {taken.name}.")
    now = time.time()
    grant = Grant(granting.new_name(), SUSPENSION, root, now, now + seconds, {}, reason=why)
    granting.give(grant, where.state, where.sudo)
    standing.record("suspended", ["suspend", given, "--reason", why], root, what=grant.name)
    say(f"Suspended until {time.strftime('%H:%M:%S', time.localtime(grant.expires))}. End it before:  guard suspend --end")
    say(f"Bring files back afterwards:  guard restore --from {taken.name} --all")
    return 0


def end() -> int:
    """Ends the suspension of this project. Anybody may: it only protects again."""
    where = standing.here()
    found = [each for each in grants.standing(where.state, where.sudo) if each.kind == SUSPENSION and each.root == where.at.root]
    if not found:
        say("The protection is in force; there is nothing to end.")
        return 0
    granting.end(found, where.state, where.sudo)
    standing.record("suspension-ended", ["suspend", "--end"], where.at.root)
    say("The protection is in force again.")
    return 0


def line(policy: Policy, root: str, environ: Mapping[str, str]) -> str:
    """What a status line says of a suspension of this root; "" where there is none."""
    found = granting.suspended(root, project.state_dir(environ), grants.needs_root(policy, root))
    if found is None:
        return ""
    left = max(1, round((found.expires - time.time()) / 60))
    return f"protection suspended, {left} min left: {visible(found.reason)}"
