"""`guard uninstall`: takes guard's entries out of the clients' settings again, and what it has put down for them."""

from __future__ import annotations

import os
from collections.abc import Sequence

from guard import git_hooks, person, pre_commit, project, roots, runtime, shims
from guard.agents import changes, launchers, made, plans, writing
from guard.agents.hook_commands import HOOK
from guard.agents.plans import Where
from guard.agents.wirings import ME, SYSTEM, TEAM
from guard.commands import init, install, place
from guard.commands.output import say
from guard.errors import GuardError
from guard.paths import physical
from guard.shown import visible


def run(team: bool, system: bool, purge: bool, yes: bool, prefix: str = "") -> int:
    """Unwires a scope; gives the exit status: 0 done, or nothing was there; 3 where a person has to say yes."""
    if system:
        return _system(prefix, purge, yes)
    person.require("guard uninstall")
    where = _where(team)
    state = project.state_dir(where.environ)
    record = made.remembered(state)
    planned, said, done = plans.unwire(where, record)
    changes.check(planned)
    hooks = [] if team or not where.root else git_hooks.installed(where.root, where.environ)
    removed = [] if team else _at_home(where, purge)
    if not planned and not hooks and not removed and not done:
        _tell([], [_by_hand(line) for line in said])
        say("There is nothing of guard's to take out.")
        _tell_team(team, where, record)
        return 0
    _tell(planned, [*map(_by_hand, said), *map(_hook, hooks), *removed])
    if not yes and not init.agreed("Take guard out?"):
        return init.ASK
    if hooks:
        git_hooks.uninstall(where.root, where.environ)
    changes.take_back(state, planned, done)
    plans.undone(record, done)
    say("guard is out of the settings." if planned else "There was nothing of guard's in the settings.")
    _tell_team(team, where, record)
    if not team:
        _home(where, purge)  # last, because this may be running from there
    return 0


def _tell_team(team: bool, where: Where, record: Sequence[made.Made]) -> None:
    """Names the committed settings that still call guard."""
    left = [] if team or not where.root else plans.unwire(Where(TEAM, where.environ, where.root), record)[0]
    for change in left:
        say(f"{visible(change.path)} still calls pathguard: guard uninstall --team")


def _hook(path: str) -> str:
    """What becomes of a hook of git."""
    return f"{path} {'becomes what it was' if os.path.lexists(path + git_hooks.BEFORE) else 'is removed'}"


def _by_hand(line: str) -> str:
    """What is said of a file that stays, with the way that guard comes out of it."""
    return f"{line}; {init.pre_commit_out()}" if f"/{pre_commit.CONFIG} stays" in line else line


def _at_home(where: Where, purge: bool) -> list[str]:
    """What becomes of launchers, runtime and shims: a line for whatever is there."""
    lines = []
    for home in _homes(where):
        running = os.path.lexists(runtime.current(home))
        launching = any(os.path.lexists(f"{home}/{name}") for name in (HOOK, launchers.GUARD))
        if running or launching:
            lines.append(f"{home}: launchers and the copy of guard that they run are removed")
        shimmed = [shims.directory(home, kind) for kind in shims.SETS if running or purge]
        becomes = "are removed" if purge else "let the real tools run"
        lines += [f"{directory}: the shims {becomes}" for directory in shimmed if os.path.isdir(directory)]
    return lines


def _homes(where: Where) -> list[str]:
    return [home for home in dict.fromkeys((where.home, *shims.homes(where.environ))) if home]


def _where(team: bool) -> Where:
    environ = os.environ
    tree = place.world()
    home = environ.get("HOME", "")
    try:
        here = os.getcwd()
    except OSError:
        here = "/"
    found = roots.enclosing(os.path.realpath(here), physical(tree, home) if home.startswith("/") else "", tree)
    if team and not found:
        raise GuardError("this directory lies in no project", here, "change into it")
    return Where(TEAM if team else ME, environ, found[0] if found else "", project.data_dir(environ) or "")


def _tell(planned: list[changes.Change], said: list[str]) -> None:
    for change in planned:
        what = "is removed" if change.after is None else "loses guard's entries"
        say(f"  {visible(change.path)} {what}")
    for line in said:
        say(f"  {visible(line)}", wrap=True)


def _home(where: Where, purge: bool) -> None:
    """What stands in guard's home. The shims turn into pass-throughs, because their paths may be written down somewhere."""
    for home in _homes(where):
        launchers.remove(home)
        shimmed = [directory for kind in shims.SETS if os.path.isdir(directory := shims.directory(home, kind))]
        for directory in shimmed:
            say(f"{visible(directory)}: {'removed' if purge else 'the real tools run now; --purge removes the directory'}")
        shims.uninstall(home, purge or not shimmed)
        writing.prune([home])


def _system(prefix: str, purge: bool, yes: bool) -> int:
    where = Where(SYSTEM, {}, home=project.RUNTIME, prefix=prefix)
    if person.present().name:
        person.require("guard uninstall --system")
    planned, said, _ = plans.unwire(where, [])
    planned = [install.emptied(change) for change in planned]
    planned += install.own(prefix)
    changes.check(planned)
    _tell(planned, said)
    if not yes and not init.agreed("Take guard out of the system?"):
        return init.ASK
    changes.write(planned)
    home = f"{prefix.rstrip('/')}{project.RUNTIME}"
    say("guard is out of the system's settings.")
    launchers.remove(home)
    shims.uninstall(home, purge)
    install.tidy(prefix)
    return 0
