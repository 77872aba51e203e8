"""`guard allow`: a person lets pass once what was refused, always what a rule then names, or retires a protected file."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence

from guard import granting, grants, person
from guard.commands import refusals, standing
from guard.commands.integrity import Project
from guard.commands.output import say
from guard.commands.standing import SHOWN, Standing
from guard.errors import GuardError
from guard.grants import CALL, LOSS, PATH, Grant
from guard.paths import parent, physical_parent
from guard.policy import Policy
from guard.shown import visible
from guard.vault.snapshot import world
from guard.verdict import ALLOW, CODES, Victim


def run(
    names: Sequence[str],
    always: bool,
    retire: bool,
    accept: bool,
    time_given: str | None,
    reason: str | None,
    expires: str | None,
) -> int:
    """Does what the options say; gives the exit status. Raises GuardError for options that do not go together."""
    if sum((always, retire, accept)) > 1:
        raise GuardError("--always, --path and --config are three things", todo="give one of them: guard help allow")
    if time_given is not None and not retire:
        raise GuardError("--for belongs to --path", todo=f"what is let pass by its id holds {granting.MINUTES} minutes")
    if expires is not None and not always:
        raise GuardError("--expires belongs to --always", todo="see guard help allow")
    if accept:
        from guard.commands import accept as command

        return command.run(names)
    if not names:
        raise GuardError("nothing is named", "guard allow", "give the id at the end of a refusal: guard log --kind refused")
    if retire:
        return paths(names, time_given, reason)
    if len(names) > 1:
        raise GuardError("one id at a time", "guard allow", "for paths: guard allow --path PATH...")
    if always:
        from guard.commands import always as rule

        return rule.run(names[0], reason, expires)
    if reason is not None:
        raise GuardError("--reason belongs to --always and --path", todo="see guard help allow")
    return once(names[0])


def once(name: str) -> int:
    """Lets the call that was refused under this id pass once, within ten minutes."""
    person.require(f"guard allow {name}")
    decision = refusals.refused(name)
    where = refusals.around(decision)
    victims = refusals.concerned(decision, where.at.policy)
    doubts = [each for each in decision.verdict.reasons if CODES.get(each.code) != "loss"]
    say(("To be let pass once, within ", "bold"), (f"{granting.MINUTES} minutes:", "bold"))
    say(f"  {visible(decision.request.command)}")
    _name(list(victims), where.at, "It would harm")
    if doubts:
        say("What it would do cannot be told in full; it passes spelled exactly so, in the same directory:", wrap=True)
        say(f"  {visible(decision.request.cwd)}")
    taken = standing.copied(where.at)
    _warn(taken.unreadable, victims, where.at)
    person.confirm(f"A copy of every protected file is in snapshot {taken.name}.")
    now = time.time()
    request = decision.request
    grant = Grant(granting.new_name(), CALL, where.at.root, now, now + granting.MINUTES * 60, dict(victims), request.id,
                  request.command, request.cwd, bool(doubts))  # fmt: skip
    _give(grant, where, ["allow", name], request.cwd, decision.verdict.victims)
    say(f"Let pass: the agent may give it again, once, until {_clock(grant.expires)}.")
    say(f"Bring files back afterwards:  guard restore --from {taken.name} --all")
    return 0


def paths(names: Sequence[str], time_given: str | None, reason: str | None) -> int:
    """Lets protected files be deleted or replaced once in every layer."""
    seconds = granting.duration(time_given or f"{granting.MINUTES}m", "--for")
    why = standing.reasoned(reason)
    person.require("guard allow --path")
    start = physical_parent(world(), os.path.abspath(names[0]))
    where = standing.here(start if os.path.isdir(start) else parent(start))
    victims = dict.fromkeys([path for name in names for path in _retired(name, where.at.policy)], LOSS)
    say(("To be let go, each file once, within ", "bold"), (f"{seconds / 60:g} minutes:", "bold"))
    _name(list(victims), where.at, "It concerns")
    taken = standing.copied(where.at)
    _warn(taken.unreadable, victims, where.at)
    person.confirm(f"A copy of every protected file is in snapshot {taken.name}.")
    now = time.time()
    grant = Grant(granting.new_name(), PATH, where.at.root, now, now + seconds, victims, reason=why)
    _give(grant, where, ["allow", "--path", *names, "--reason", why], where.at.here, ())
    say(f"Let pass: one deletion or replacement, until {_clock(grant.expires)}.")
    say(f"Bring files back afterwards:  guard restore --from {taken.name} --all")
    return 0


def _retired(name: str, policy: Policy) -> list[str]:
    """The protected files at and below a path. Raises GuardError where there are none."""
    tree = world()
    path = physical_parent(tree, os.path.abspath(name))
    if not os.path.lexists(path):
        raise GuardError("there is no such file", visible(name), "name one that exists")
    if grants.out_of_bounds(path, [policy]):
        raise GuardError("it is guard's own, which only people change", visible(name), "change it yourself")
    found = [each for each, _ in policy.protected(path, tree) if not grants.out_of_bounds(each, [policy])]
    if not found:
        raise GuardError("it is not protected, so it needs no leave", visible(name), "see guard explain PATH")
    return found


def _give(grant: Grant, where: Standing, argv: Sequence[str], cwd: str, victims: Sequence[Victim]) -> None:
    granting.give(grant, where.state, where.sudo)
    standing.record("granted", argv, cwd, [victim._replace(decision=ALLOW) for victim in victims], grant.name)


def _name(victims: Sequence[str], at: Project, what: str) -> None:
    if not victims:
        return
    say(f"{what} {len(victims):,} protected {'files' if len(victims) > 1 else 'file'}:")
    for path in victims[:SHOWN]:
        say(f"  {at.shown(path)}")
    if len(victims) > SHOWN:
        say(f"  and {len(victims) - SHOWN:,} more")


def _warn(unreadable: Sequence[str], victims: Mapping[str, str], at: Project) -> None:
    for path in unreadable:
        if path in victims:
            say((f"  There is no copy of {at.shown(path)}, which cannot be read.", "deny"))


def _clock(moment: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(moment))
