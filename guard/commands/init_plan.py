"""What `guard init` is going to do, found out before it does anything: the files, the steps, and what a person should know."""

from __future__ import annotations

import datetime
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import click

from guard import git_hooks, person, pre_commit, project, roots, runtime, shims
from guard.agents import changes, hook_commands, launchers, made, plans
from guard.agents.changes import Change
from guard.agents.plans import Where
from guard.agents.table import CLIENTS
from guard.agents.wirings import ME, TEAM, WIRINGS
from guard.commands import place, template
from guard.errors import GuardError
from guard.paths import physical

WEEK = 7  # days of observing


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


def where_of(options: Options, here: str) -> Where:
    """For whom the options wire, from a directory. Raises GuardError where there is no such place."""
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
        return options.missing or hook_commands.BLOCK
    question = "Where a member has no guard: shall agents be blocked, or work on unguarded with a warning?"
    return str(click.prompt(question, type=click.Choice([hook_commands.BLOCK, hook_commands.WARN]), default=hook_commands.BLOCK))


def _root(here: str) -> str:
    tree = place.world()
    home = os.environ.get("HOME", "")
    found = roots.enclosing(os.path.realpath(here), physical(tree, home) if home.startswith("/") else "", tree)
    return found[0] if found else ""


def planned(options: Options, where: Where) -> Plan:
    """Reads everything that will be written, so that what is broken is found before the first byte is."""
    plan = Plan()
    clients = plans.chosen(options.agents, where)
    if not clients:
        plan.notes.append(f"No agent's client was found here. Name one to wire it: guard init --agent {'|'.join(WIRINGS)}")
    plan.changes += [plans.wire(client, where) for client in clients]
    plan.changes += _configuration(options, where)
    plan.changes += _pre_commit(options, where)
    changes.check(plan.changes)
    made.remembered(project.state_dir(where.environ))
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
        found.append(plans.file(path, template.text(where.root), where))
    if options.observe:
        directory = project.config_dir(where.environ)
        if directory is None:
            raise GuardError("neither XDG_CONFIG_HOME nor HOME names a directory", "--observe", "set HOME")
        until = datetime.date.fromtimestamp(time.time()) + datetime.timedelta(days=WEEK)
        found.append(plans.setting(f"{directory}/config.toml", "answer", "observe", until, Where(ME, where.environ)))
    return found


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
