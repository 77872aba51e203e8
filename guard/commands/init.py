"""`guard init`: shows what is protected and what will be written where, asks, and wires guard into the agents' clients."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence

import click

from guard import person, pre_commit, project, roots
from guard.agents import changes, inspection, plans
from guard.agents.changes import Change
from guard.agents.plans import Where
from guard.agents.table import CLIENTS
from guard.agents.wirings import TEAM
from guard.commands import init_plan, place
from guard.commands import list as listing
from guard.commands.init_plan import Options as Options
from guard.commands.init_plan import Plan
from guard.commands.output import say
from guard.errors import GuardError
from guard.findings import OFF
from guard.matching import RANK
from guard.policy import Policy
from guard.shown import visible
from guard.world import World

ASK = 3  # a person has to say
PATTERNS = 8  # that are named; guard list has all


def run(options: Options) -> int:
    """Wires guard; gives the exit status: 0 done, or nothing to do; 3 where a person has to say yes."""
    if options.observe and not options.dry_run:
        person.require("guard init --observe")
    here = place.directory(None)
    tree = place.world()
    policy = place.sound(here, tree)
    where = init_plan.where_of(options, here)
    plan = init_plan.planned(options, where)
    _tell_protected(policy, here, tree)
    _tell(plan)
    if options.dry_run:
        say("Nothing was written.")
        return 0
    if not any(change.needed for change in plan.changes) and not plan.steps:
        say("Everything is in place.")
        _warn(options, where)
        return 0
    if not options.yes and not agreed("Write this?", True):
        return ASK
    _do(plan, where)
    _tell_next(plan, options, where)
    _warn(options, where)
    return 0


def _tell_protected(policy: Policy, here: str, tree: World) -> None:
    """How much is protected here now, and by which patterns; guard list has all of it."""
    found = listing.enclosing(policy, os.path.realpath(here))
    if not found:
        say(f"{visible(here)} lies in no project: nothing is protected here but guard's own files.")
        return
    rows = listing.protected(policy, found[0].path, tree)
    one = len(rows) == 1
    say((visible(found[0].path), "bold"), f": {len(rows):,} protected {'file or directory' if one else 'files and directories'}.")
    counts = Counter((level, rule.glob) for _, level, rule in rows if rule is not None).most_common()
    counts.sort(key=lambda each: -RANK[each[0][0]])
    for (level, glob), number in counts[:PATTERNS]:
        say(f"  {number:>7,}  ", (f"{level:8s}", level), visible(glob))
    more = f"{len(counts) - PATTERNS} more patterns have files here. " if len(counts) > PATTERNS else ""
    say(f"  {more}All of it:  guard list")


def _tell_next(plan: Plan, options: Options, where: Where) -> None:
    """What a person should do now."""
    say("Next:")
    if options.with_shims:
        say('  export PATH="$(guard shims path):$PATH"   in the profile of the shell: the shims have to come first')
    say("  guard doctor     does every layer hold?")
    say("  guard selftest   a canary, sent through every layer")
    config = f"{where.root}/{roots.CONFIG}"
    if any(change.path == config and change.needed for change in plan.changes):
        say(f"  commit {roots.CONFIG}, when it says what you want")


def _tell(plan: Plan) -> None:
    lines = [line for step in plan.steps for line in step.lines]
    lines += [f"{change.path}  ({_what(change)})" for change in plan.changes if change.needed]
    if lines:
        say("")
        say(("To be written:", "bold"))
        for line in lines:
            say(f"  {visible(line)}")
    for note in plan.notes:
        say(f"  {note}", wrap=True)


def pre_commit_out() -> str:
    """How guard's hooks come out of a configuration of pre-commit that is no longer guard's to put back."""
    return f"take the repository with the hook {pre_commit.OURS} out of it by hand"


def _what(change: Change) -> str:
    verb = "new" if change.before is None else "entries of guard's are added, the rest stays as it is"
    return f"{CLIENTS[change.client].title}; {verb}" if change.client else verb.replace("entries of guard's are", "a setting is")


def agreed(question: str, default: bool = False) -> bool:
    """Asks a person. Whoever else calls needs --yes."""
    if not person.attends():
        click.echo("guard: nothing was changed: there is nobody to ask; with --yes it is done", err=True)
        return False
    return click.confirm(question, default=default)


def _do(plan: Plan, where: Where) -> None:
    """Writes all of it. The settings come last but for what needs them: before, nothing calls what is not there yet."""
    state = project.state_dir(where.environ)
    try:
        for step in plan.steps:
            step.do()
    except OSError as error:
        raise GuardError(
            f"it cannot be written ({error.strerror})", str(error.filename or ""), "no settings were changed"
        ) from error
    made = changes.apply(state, plan.changes)
    for each in made:
        say(f"wrote {visible(each.path)}")
    say("Take it back with: guard uninstall" + " --team" * (where.scope == TEAM))
    if where.scope != TEAM and any(each.scope == TEAM for each in made):
        say(f"  {pre_commit.CONFIG} is the team's: guard uninstall --team; once it is committed, {pre_commit_out()}", wrap=True)
    if state is None:
        say("There is no directory for guard's state, so guard uninstall will only take its own entries out.", wrap=True)


def _warn(options: Options, where: Where) -> None:
    """Says what still keeps a client from loading the hooks."""
    clients: Sequence[str] = options.agents or plans.chosen((), where)
    for client in clients:
        for finding in inspection.findings(client, where.environ, where.root):
            if finding.severity == OFF:
                repair = f"; {finding.repair}" if finding.repair else ""
                click.echo(f"guard: {finding.what}: {finding.why}{repair}", err=True)
