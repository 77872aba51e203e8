"""Watching: what is there before a tool of an agent runs, and what is brought back when the tool is over.

Every use of a tool is compared with the snapshot from which it started, so nothing that was changed before is undone. Where other
tools run meanwhile, what they were approved to write and what they only edited stays, too.

A hook calls before() for every tool that could change a file, after() for every tool, and ended() when a turn or the session is
over. What a tool has left running in the background is looked after at each of these.

Nothing is loaded here but what a comparison needs; the rest comes when something has changed.
"""

from __future__ import annotations

import os
import sys
import time

from guard import project, roots
from guard.paths import lineage, physical
from guard.vault import uses
from guard.vault.glance import Held, as_it_was, load, standing
from guard.vault.names import identity
from guard.vault.uses import Use
from guard.world import Budget, World

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from guard.policy import Policy

REASON = "tool"  # why the snapshots were taken, as they say themselves
_AGAIN = 5  # looks at most for what is lost in the background while that is being looked at


def before(
    cwd: str,
    environ: Mapping[str, str],
    session: str,
    tool_use: str,
    command: str = "",
    writes: Mapping[str, bytes | None] | None = None,
    losses: Iterable[str] = (),
    lingers: bool = False,
) -> None:
    """Makes sure that the vault has all that is protected around a directory, and notes that a tool starts from there.

    `command`: what a shell will run. `writes`: absolute paths that the tool was approved to write, with the text that each will
    have, None where that is not known. `losses`: absolute paths that a person has agreed to lose. `lingers`: will something of it
    go on when it is over? What others of the session have lost in the background is brought back first; after() tells it.
    Without a place for state nothing is done; where no copies can be taken, that is told on standard error.
    """
    state = project.state_dir(environ)
    if state is None or (os.path.isdir(state) and not os.access(state, os.W_OK | os.X_OK)):
        return  # in a sandbox a guard further out looks after the files
    begun = Use(uses.key_of(session, tool_use), time.time(), {}, session=session, lingers=lingers or leaves_running(command))
    try:
        uses.announce(state, begun.key)
        said = _background(cwd, environ, state, session)
        tree = World(environ, Budget(float("inf"), 1 << 62))
        policy = project.load(cwd, environ, tree)
        baselines = {root: _baseline(root, policy, state, tree) for root in around(cwd, state, environ, tree)}
        taken = {root: name for root, name in baselines.items() if name}
        if taken:
            uses.tidy(state)
            approved = {os.path.realpath(path): text for path, text in (writes or {}).items()}
            agreed = tuple(map(os.path.realpath, losses))
            use = begun._replace(client=uses.client(), command=command, writes=approved, losses=agreed)
            uses.begin(state, use._replace(baselines=taken))
        else:
            uses.withdraw(state, begun.key)
        if said:
            uses.tell(state, begun, said)
    except Exception as error:
        uses.withdraw(state, begun.key)
        _complain("no copies of the protected files could be taken, so what this tool loses cannot be brought back", error)


def after(cwd: str, environ: Mapping[str, str], session: str, tool_use: str, lingers: bool = False) -> str:
    """Looks at what a tool has left, brings back what was lost, records it; gives the text for the model, "" where all is well.

    `lingers`: does something of it go on? Nothing is done where no before() came first.
    """
    state = project.state_dir(environ)
    use = uses.find(state, uses.key_of(session, tool_use)) if state is not None else None
    if state is None or use is None:
        return ""
    try:
        said = _looked(use, cwd, environ, state)
    except Exception as error:
        said = f"guard: the protected files could not be checked after this tool ({_why(error)}). See guard verify."
    told = _carry_on(use, environ, state) if lingers or use.lingers else uses.end(state, use)
    return said or told


def ended(environ: Mapping[str, str], session: str, cwd: str = "/", busy: bool = False) -> str:
    """A turn, or a whole session, is over: brings back what was lost in the background; gives what is to be said of it.

    Unless the session is `busy`, because it says that something of it still runs, its tools are forgotten: also those that never
    ended, because the person refused them or they were interrupted.
    """
    state = project.state_dir(environ)
    if state is None:
        return ""
    said = _background(cwd, environ, state, session)
    if not busy:
        uses.drop(state, session)
    return said


def _background(cwd: str, environ: Mapping[str, str], state: str, session: str) -> str:
    """Brings back what was lost in the background, and takes what is there now for the beginning; gives what was lost.

    What goes on may lose more between the one and the other, so that is looked at again.
    """
    found: list[str] = []
    for use in uses.lingering(state, session):
        try:
            said = _looked(use, cwd, environ, state)
            for _ in range(_AGAIN):
                found += [said] if said else []
                _carry_on(use, environ, state)
                if not (said := _looked(use, cwd, environ, state)):
                    break
        except Exception as error:
            _complain("what a command does in the background could not be checked", error)
    return "\n".join(found)


def _carry_on(use: Use, environ: Mapping[str, str], state: str) -> str:
    """From here on a use goes on in the background; gives what others have told it."""
    begun = use._replace(time=time.time())
    try:
        tree = World(environ, Budget(float("inf"), 1 << 62))
        policy = project.load(next(iter(use.baselines)), environ, tree)
        taken = {root: _baseline(root, policy, state, tree) or name for root, name in use.baselines.items()}
        return uses.linger(state, begun._replace(baselines=taken))
    except Exception as error:
        _complain("what a command does in the background cannot be watched", error)
        return uses.end(state, use)


def leaves_running(command: str) -> bool:
    """May a command leave something running when its shell is over? In doubt yes: then it is only looked after for longer."""
    at = command.find("&")
    while at >= 0:
        if command[at - 1 : at] not in ("&", ">", "<", "|", "\\") and command[at + 1 : at + 2] in _BEHIND:
            return True
        at = command.find("&", at + 1)
    return not _LAUNCHERS.isdisjoint(command.replace("'", " ").replace('"', " ").split())


_BEHIND = ("", " ", "\t", "\n", "\r", ")", "}", "'", '"', "`", "#", ";")
_LAUNCHERS = frozenset("nohup setsid disown daemonize start-stop-daemon systemd-run tmux screen coproc".split())


def around(cwd: str, state: str, environ: Mapping[str, str], tree: World) -> list[str]:
    """The roots that a directory lies in, nearest first, those recorded before that have lost what made them one among them."""
    here = physical(tree, cwd)
    home = environ.get("HOME", "")
    found = roots.enclosing(here, physical(tree, home) if home.startswith("/") else "", tree)
    above = set(lineage(here))
    known = [root for root in roots.registered(state, tree) if root in above and root not in found]
    return sorted([*found, *known], key=len, reverse=True)


def _baseline(root: str, policy: Policy, state: str, tree: World) -> str:
    """The name of a snapshot that holds now, taken if need be; "" where nothing is protected."""
    with Held(f"{state}/{identity(root)}"):
        stands = standing(root, policy, state, tree)
    if stands is not None:
        return stands.head.name
    from guard.vault.snapshot import snapshot
    from guard.vault.store import Vault

    if next(policy.protected(root, tree), None) is None:
        return ""
    taken = snapshot(root, policy, Vault(state, root), REASON)
    taken.pin.release()
    return taken.name


def _looked(use: Use, cwd: str, environ: Mapping[str, str], state: str) -> str:
    tree = World(environ, Budget(float("inf"), 1 << 62))
    policy = project.load(next(iter(use.baselines)), environ, tree)
    changed = []
    for root, name in use.baselines.items():
        manifest = load(f"{state}/{identity(root)}", name)
        if manifest is None or not as_it_was(manifest, policy, tree):
            changed.append(root)
    if not changed:
        return ""
    from guard.vault.settle import settle

    return settle(use, changed, policy, cwd, environ, state)


def _complain(what: str, error: Exception) -> None:
    try:
        sys.stderr.write(f"guard: {what} ({_why(error)}). See guard doctor.\n")
    except (OSError, ValueError):
        pass


def _why(error: Exception) -> str:
    from guard.errors import GuardError
    from guard.shown import visible

    return visible(str(error)) if isinstance(error, GuardError) else visible(repr(error))
