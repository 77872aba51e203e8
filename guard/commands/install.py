"""`guard install --system`: guard for every user of a machine or an image, in files that only root can write."""

from __future__ import annotations

import os

from guard import project, shims
from guard.agents import changes, launchers, plans, settings, wiring, writing
from guard.agents.changes import Change
from guard.agents.plans import Where
from guard.agents.table import CLIENTS
from guard.agents.wirings import SYSTEM, WIRINGS
from guard.commands.output import say
from guard.errors import GuardError
from guard.shown import visible

CONFIG = f"{project.SYSTEM}/config.toml"
PROFILE = "/etc/profile.d/zz-guard.sh"

CONFIG_TEXT = """\
# What guard protects in every project on this machine, besides what the project protects itself.
# The same as in a project's guard.toml; patterns are relative to each project's root.

[protect]
builtin = true
# keep = ["/docs/decisions/"]

# override = "sudo"           # what lets a refused command pass needs root
"""
PROFILE_TEXT = """\
# The shims of guard go first on PATH: what loses protected files is refused. Written by `guard install --system`.
case ":$PATH:" in
    *:{shims}:*) ;;
    *) PATH={shims}:$PATH; export PATH ;;
esac
"""


def run(agents: tuple[str, ...], prefix: str, dry_run: bool) -> int:
    """Installs runtime, shims, launchers, configuration and managed settings; asks nothing. Gives the exit status."""
    prefix = _prefix(prefix)
    where = Where(SYSTEM, {}, home=project.RUNTIME, prefix=prefix)
    clients = plans.chosen(agents, where)
    planned = [plans.wire(client, where) for client in clients]
    planned.append(plans.file(prefix + CONFIG, CONFIG_TEXT, where))
    planned.append(_profile(prefix, where))
    changes.check(planned)
    home = prefix + project.RUNTIME
    _check_home(home)
    if not dry_run:
        _install(home, planned)
    for line in (f"{home}/{{runtime,shims,bin}}", *(change.path for change in planned if change.needed)):
        say(f"{'would write' if dry_run else 'wrote'} {visible(line)}")
    for client in WIRINGS if not agents else ():
        if client not in clients:
            say(f"{CLIENTS[client].title} {plans.WITHOUT[SYSTEM]}: guard init --agent {client}", wrap=True)
    return 0


def own(prefix: str) -> list[Change]:
    """The removal of the files that are guard's alone, as far as they are as guard writes them."""
    where = Where(SYSTEM, {}, prefix=prefix)
    prefix = prefix.rstrip("/")
    found = []
    for path, text in ((CONFIG, CONFIG_TEXT), (PROFILE, _profile_text())):
        real, now = changes.content(prefix + path)
        if now == text.encode():
            found.append(Change(prefix + path, real, now, None, where.scope))
    return found


def emptied(change: Change) -> Change:
    """The change, or the removal of a file in which nothing is left but what guard has put there."""
    if change.after is None or not change.client:
        return change
    rest = settings.read(change.path, plans.format_of(change.client, change.path), change.after)
    nothing = wiring.says_nothing(change.client, rest)
    return Change(change.path, change.real, change.before, None, change.scope, change.client) if nothing else change


def tidy(prefix: str) -> None:
    """Removes the directories that are empty then."""
    prefix = prefix.rstrip("/")
    top = f"{prefix}{project.RUNTIME}"
    below = {os.path.dirname(place.path) for row in WIRINGS.values() for place in row.system} | {"etc/claude-code"}
    writing.prune([f"{top}/shims", top, prefix + project.SYSTEM, *(f"{prefix}/{path}" for path in below)])


def _prefix(prefix: str) -> str:
    if prefix and not os.path.isdir(prefix):
        raise GuardError("no such directory", f"--prefix {prefix}", "make it first")
    if not prefix and os.geteuid() != 0:
        raise GuardError("only root can install for the whole system", todo="sudo guard install --system, or for you: guard init")
    return os.path.realpath(prefix).rstrip("/") if prefix else ""


def _profile(prefix: str, where: Where) -> Change:
    real, before = changes.content(prefix + PROFILE)
    return Change(prefix + PROFILE, real, before, _profile_text().encode(), SYSTEM, mode=where.mode)


def _profile_text() -> str:
    return PROFILE_TEXT.format(shims=shims.directory(project.RUNTIME, "default"))


def _check_home(home: str) -> None:
    above = home
    while not os.path.lexists(above):
        above = os.path.dirname(above)
    if not os.path.isdir(above) or not os.access(above, os.W_OK | os.X_OK):
        raise GuardError("it cannot be written", above, "run it as root, where that can be written; nothing was changed")
    launchers.files(home)


def _install(home: str, planned: list[Change]) -> None:
    """The settings come last: before, nothing calls what is not there yet."""
    mask = os.umask(0o022)
    try:
        writing.make(home, 0o755)
        os.chmod(home, 0o755)
        launchers.ensure(home, project.RUNTIME)
        for kind in shims.SETS:
            shims.install(kind, home, {}, project.RUNTIME)
        changes.write(planned)
    except OSError as error:
        raise GuardError(f"it cannot be written ({error.strerror})", str(error.filename or home)) from error
    finally:
        os.umask(mask)
