"""The sandbox: one command in which the kernel says no to deleting, moving and replacing what is protected.

It changes nothing else: the file system, the user, the network and the terminal are as outside.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from guard import mounts, project
from guard.errors import MISSING, GuardError
from guard.policy import Policy
from guard.project import SPOOL
from guard.sandbox import bubblewrap
from guard.sandbox.bubblewrap import Bubblewrap, Unavailable, recipient
from guard.sandbox.holds import LIMIT, Bind, Plan, plan
from guard.world import OutOfBudget, World

__all__ = [
    "LIMIT",
    "MODES",
    "SPOOL",
    "Bind",
    "NoSandbox",
    "Plan",
    "Sandboxed",
    "available",
    "command",
    "mode",
    "plan",
    "prepare",
    "recipient",
]

AUTO, ALWAYS, NONE = MODES = ("auto", "bwrap", "none")
OPTION = "--sandbox"
UID = "GUARD_SANDBOX_UID"  # root only: the user id that the command sees, which sandboxes inside need
_HOLDING = "the other layers hold"


class NoSandbox(GuardError):
    """There is no sandbox: why, and what may be done without one."""

    def __init__(self, why: str) -> None:
        super().__init__(f"no sandbox: {why}", todo=f"with {OPTION}={AUTO} or {OPTION}={NONE}, {_HOLDING}", code=MISSING)


@dataclass(frozen=True)
class Sandboxed:
    """A command as it is to be started, whether in a sandbox (or the one there is already), and what the user is told.

    With `graceful`, signals that ask for an end go to `recipient(process, own_processes)`.
    """

    argv: tuple[str, ...]
    active: bool = False
    notes: tuple[str, ...] = ()
    graceful: bool = False
    own_processes: bool = False


def mode(text: str) -> str:
    """The mode that the option's value names. GuardError for any other."""
    if text not in MODES:
        raise GuardError(f"there is no sandbox {text!r}", f"{OPTION}={text}", f"name one of {', '.join(MODES)}")
    return text


def spelled_out(argv: Sequence[str]) -> list[str]:
    """The arguments of `guard exec` with a bare --sandbox as --sandbox=auto, so that no parser takes the next word for it."""
    end = next((at for at, word in enumerate(argv) if word == "--" or not word.startswith("-")), len(argv))
    return [f"{OPTION}={AUTO}" if at < end and word == OPTION else word for at, word in enumerate(argv)]


def available(environ: Mapping[str, str] | None = None) -> str | None:
    """Why there is no sandbox here; None where it works. Finds out by starting one."""
    found = bubblewrap.probe(Plan(), os.environ if environ is None else environ)
    return found.why if isinstance(found, Unavailable) else None


def command(
    plan: Plan, argv: Sequence[str], found: Bubblewrap | None = None, cwd: str | None = None, graceful: bool = False
) -> list[str]:
    """The argument vector that runs argv in a sandbox with this plan.

    Its exit status is the command's, 128 and the number for a command that a signal has ended. NoSandbox where there is none.
    """
    probed = found or bubblewrap.probe(plan, os.environ)
    if isinstance(probed, Unavailable):
        raise NoSandbox(probed.why)
    where = cwd or bubblewrap.directory(os.environ)
    if where is None:
        raise NoSandbox("the current directory is gone")
    made = bubblewrap.arguments(probed, plan, argv, where, graceful)
    if len(made) > bubblewrap.ARGUMENTS_LIMIT:
        raise NoSandbox(f"bubblewrap takes at most {bubblewrap.ARGUMENTS_LIMIT} arguments, and the command has {len(argv)}")
    return made


def prepare(mode: str, argv: Sequence[str], policy: Policy, roots: Iterable[str], tree: World) -> Sandboxed:
    """The command for a mode, with the plan tried beforehand.

    `auto` leaves the command as it is where there is no sandbox, and says so; `bwrap` raises NoSandbox there. `roots` are
    those around the current directory; the other roots of the policy are held as well if all fits. The tree's environment
    is the one that the command gets.
    """
    if mode == NONE:
        return Sandboxed(tuple(argv))
    try:
        return _prepared(argv, policy, list(roots), tree)
    except NoSandbox as error:
        if mode != AUTO:
            raise
        return Sandboxed(tuple(argv), notes=(f"{error.what}; {_HOLDING}",))


def _prepared(argv: Sequence[str], policy: Policy, roots: list[str], tree: World) -> Sandboxed:
    try:
        made = _plan(policy, roots, tree)
    except OutOfBudget:
        raise NoSandbox("there is too much protected to look at in time") from None
    if not made.binds:  # nothing to hold, or a sandbox around this one holds it
        return Sandboxed(tuple(argv), bool(mounts.held(roots)), made.notes)
    found = bubblewrap.probe(made, tree.environ, _uid(tree.environ))
    if isinstance(found, Unavailable):
        raise NoSandbox(found.why)
    words = command(made, argv, found, bubblewrap.directory(tree.environ), graceful=True)
    return Sandboxed(tuple(words), True, made.notes, words[0] == found.env, found.own_processes)


def _plan(policy: Policy, roots: list[str], tree: World) -> Plan:
    """Holds every root of the policy, or, where that is too much, those around the current directory."""
    own = project.own_dirs(tree.environ)
    spool = _spool(project.state_dir(tree.environ))
    mounted = mounts.points()
    others = [root.path for root in policy.roots if any(rules.origin != "guard" for rules in root.lists)]
    whole = plan(policy, [*roots, *others], tree, own, spool, mounted)
    return plan(policy, roots, tree, own, spool, mounted) if whole.unheld or whole.dropped else whole


def _spool(state: str | None) -> str:
    """The spool, made where that can be done; "" where there is none."""
    if state is None:
        return ""
    path = os.path.realpath(os.path.join(state, SPOOL))
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
    except OSError:
        return ""
    return path


def _uid(environ: Mapping[str, str]) -> int | None:
    given = environ.get(UID, "")
    if os.geteuid() != 0 or not given:
        return None
    if not given.isdecimal() or not given.isascii() or not 0 < int(given) < 1 << 31:
        raise GuardError("this is no user id other than root's", f"{UID}={given}", "give a number such as 1000")
    return int(given)
