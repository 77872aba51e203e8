"""`guard init`: shows what is protected and what will be written where, asks, and wires guard into the agents' clients."""

from __future__ import annotations

import datetime
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import click

from guard import git_hooks, person, pre_commit, project, roots, runtime, shims
from guard.agents import changes, launchers, plans, wiring
from guard.agents.changes import Change
from guard.agents.plans import Where
from guard.agents.table import CLIENTS
from guard.agents.wirings import ME, TEAM, WIRINGS
from guard.builtin_rules import LISTS
from guard.commands import list as listing
from guard.commands import place
from guard.commands.output import say
from guard.errors import GuardError
from guard.findings import OFF
from guard.matching import RANK
from guard.paths import physical
from guard.policy import Policy
from guard.shown import visible
from guard.world import World

ASK = 3  # a person has to say
WEEK = 7  # days of observing
PATTERNS = 8  # that are named; guard list has all

TEMPLATE = """\
# What must survive here. People edit this file, agents may not. Patterns are .gitignore patterns, relative
# to this file; the last match wins, "!" takes a path out again.       See the result: guard list

[protect]
builtin = true                # the built-in list, of which there is here now: {here}
keep = [                      # may be edited and added to; never deleted, emptied, moved out or thrown back
    # "/docs/decisions/",
    # "!/specs/generated/",   # rebuilt by make
]
# lock    = ["/migrations/"]  # may not change at all
# present = ["/data/"]        # must stay; what is below may come and go

# [[except]]                  # a task that may do what the lists forbid, spelled exactly
# command = "make specs"
# paths   = ["/specs/old/"]
# reason  = "regenerated"
# expires = 2030-01-31

[answer]
unknown  = "ask"              # where nobody can be asked: deny
branches = "follow"           # committed files may leave with a branch; "pin": that is a loss too
"""


@dataclass
class Step:
    """One thing that init does: the lines that tell of it before, and the doing. It raises GuardError or OSError."""

    lines: list[str]
    do: Callable[[], None]


@dataclass
class Plan:
    """All that init will do, in its order, and what a person should know of it."""

    steps: list[Step] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Options:
    """The options of the command."""

    team: bool = False
    agents: tuple[str, ...] = ()
    missing: str | None = None
    with_shims: bool = False
    config: bool = True
    observe: bool = False
    dry_run: bool = False
    yes: bool = False
    git_hooks: bool = False
    pre_commit: bool = False


def run(options: Options) -> int:
    """Wires guard; gives the exit status: 0 done, or nothing to do; 3 where a person has to say yes."""
    if options.observe and not options.dry_run:
        person.require("guard init --observe")
    here = place.directory(None)
    tree = place.world()
    policy = place.sound(here, tree)
    where = _where(options, here)
    plan = _planned(options, where)
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


def _where(options: Options, here: str) -> Where:
    environ = os.environ
    root = _root(here)
    if options.team and not root:
        raise GuardError("this directory lies in no project", here, "change into one, or make it one: git init")
    home = project.data_dir(environ)
    if home is None and not options.team:
        raise GuardError("neither XDG_DATA_HOME nor HOME names a directory", todo="set HOME, or: guard install --system")
    if options.missing and not options.team:
        raise GuardError("only committed settings can miss guard", "--missing", "leave it out, or: guard init --team")
    return Where(TEAM if options.team else ME, environ, root, home or "", _missing(options))


def _missing(options: Options) -> str:
    """What a committed command does where there is no guard; asks a person who has not said it."""
    if options.missing or not options.team or options.yes or options.dry_run or not person.attends():
        return options.missing or wiring.BLOCK
    question = "Where a member has no guard: shall agents be blocked, or work on unguarded with a warning?"
    return str(click.prompt(question, type=click.Choice([wiring.BLOCK, wiring.WARN]), default=wiring.BLOCK))


def _root(here: str) -> str:
    tree = place.world()
    home = os.environ.get("HOME", "")
    found = roots.enclosing(os.path.realpath(here), physical(tree, home) if home.startswith("/") else "", tree)
    return found[0] if found else ""


def _planned(options: Options, where: Where) -> Plan:
    """Reads everything that will be written, so that what is broken is found before the first byte is."""
    plan = Plan()
    clients = plans.chosen(options.agents, where)
    if not clients:
        plan.notes.append(f"No agent's client was found here. Name one to wire it: guard init --agent {'|'.join(WIRINGS)}")
    plan.changes += [plans.wire(client, where) for client in clients]
    plan.changes += _configuration(options, where)
    plan.changes += _pre_commit(options, where)
    changes.check(plan.changes)
    changes.remembered(project.state_dir(where.environ))
    if options.observe:
        plan.notes.append(
            f"For {WEEK} days nothing will be refused, of whatever agents do here and in your other projects: it is only logged "
            "(guard log). Loops, and guard's own files, stay guarded."
        )
    if clients and where.scope == ME:
        plan.steps += _launcher_steps(where)
    if options.with_shims:
        plan.steps.append(Step(["the shims, for  " + 'PATH="$(guard shims path):$PATH"'], lambda: _install_shims(where)))
    _plan_git(options, where, plan)
    plan.steps += _registration(where)
    plan.notes += [f"{CLIENTS[c].title}: {WIRINGS[c].trust[where.scope]}." for c in clients if where.scope in WIRINGS[c].trust]
    if where.scope == TEAM:
        plan.notes.append("Commit these files. Every member needs pathguard on PATH:  uv tool install pathguard")
    return plan


def _configuration(options: Options, where: Where) -> list[Change]:
    found = []
    path = f"{where.root}/{roots.CONFIG}"
    if options.config and where.root and not roots.configured(where.root, place.world()):
        found.append(plans.file(path, _template(where.root), where))
    if options.observe:
        directory = project.config_dir(where.environ)
        if directory is None:
            raise GuardError("neither XDG_CONFIG_HOME nor HOME names a directory", "--observe", "set HOME")
        until = datetime.date.fromtimestamp(time.time()) + datetime.timedelta(days=WEEK)
        found.append(plans.setting(f"{directory}/config.toml", "answer", "observe", until, Where(ME, where.environ)))
    return found


def _template(root: str) -> str:
    globs = [glob for names in (LISTS["keep"], LISTS["present"][:1]) for glob in names if not glob.startswith("!")]
    here = [glob for glob in globs if os.path.lexists(root + glob.rstrip("/"))]
    return TEMPLATE.format(here=" ".join(here) or "nothing")


def _pre_commit(options: Options, where: Where) -> list[Change]:
    if not options.pre_commit:
        return []
    if not where.root:
        raise GuardError("this directory lies in no project", "--pre-commit", "change into one, or make it one: git init")
    path = f"{where.root}/{pre_commit.CONFIG}"
    real, before = changes.content(path)
    text = None if before is None else before.decode("utf-8", "surrogateescape")
    after = pre_commit.edited(text, path).encode("utf-8", "surrogateescape")
    return [Change(path, real, before, after, TEAM)]


def _plan_git(options: Options, where: Where, plan: Plan) -> None:
    """The hooks of git itself, and what a person has to do for those of pre-commit."""
    if options.pre_commit:
        plan.notes.append(f"pre-commit calls the hooks when it is told so:  {pre_commit.INSTALL}")
    if options.git_hooks:
        if not where.root:
            raise GuardError("this directory lies in no project", "--git-hooks", "change into one, or make it one: git init")
        paths = git_hooks.planned(where.root, where.environ)
        if paths:
            plan.steps.append(Step(paths, lambda: _install_git_hooks(where)))


def _install_git_hooks(where: Where) -> None:
    git_hooks.install(where.root, where.environ)


def _launcher_steps(where: Where) -> list[Step]:
    """Installing what the settings name, where that is not whole."""
    launchers.files(where.home)
    if launchers.state(where.home) == "whole" and runtime.fresh(where.home):
        return []
    return [Step([f"{where.home}/bin  (the launcher, and the copy of guard that it runs)"], lambda: launchers.ensure(where.home))]


def _install_shims(where: Where) -> None:
    shims.ensure("default", where.environ)


def _registration(where: Where) -> list[Step]:
    state = project.state_dir(where.environ)
    if state is None or not where.root or where.root in roots.registered(state, place.world()):
        return []
    return [Step([], lambda: roots.register(state, where.root))]


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
        for finding in wiring.findings(client, where.environ, where.root):
            if finding.severity == OFF:
                repair = f"; {finding.repair}" if finding.repair else ""
                click.echo(f"guard: {finding.what}: {finding.why}{repair}", err=True)
