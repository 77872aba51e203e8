"""`guard exec`: runs one command with the shims first on its PATH."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import click

from guard import actor, child, excuses, log, project, roots, sandbox, search_path, shims
from guard.change import DIRECTORY
from guard.commands import aftermath
from guard.commands.place import PATIENCE, register
from guard.errors import FAULT, STATE, GuardError
from guard.paths import lineage
from guard.sandbox import Sandboxed
from guard.shell.names import SHELLS
from guard.shell.text import command_line
from guard.vault.report import names, record
from guard.vault.snapshot import world
from guard.vault.verify import Change
from guard.vault.watch import Watch, begin, over, release
from guard.world import Budget, World

FAILED = 125  # guard itself failed: the command did not run
MARK = "GUARD_EXEC"  # whoever runs in there is no person; its value is since when the files are looked after (seconds since 1970)
MARKS = (MARK, "GUARD_LOOP")  # where one of these is set, a guard further out looks after the files
LINE_LIMIT = 4096  # characters of the command that are kept


@dataclass(frozen=True)
class Guarded:
    """What a guarded command runs with: its environment, the roots around it, where the state is and where it starts."""

    environ: dict[str, str]
    roots: list[str]
    state: str
    cwd: str


def run(argv: Sequence[str], sandboxed: str = sandbox.NONE) -> int:
    """Runs the command and gives its exit status, or ends by the signal that ended it.

    The outermost guard looks after the protected files around the current directory: what is lost when the command is over
    comes back.
    """
    child.reserve_streams()
    outermost = not any(name in os.environ for name in MARKS)
    try:
        guarded = _prepared(_environment(), outermost)
        _warn(outermost)
        watches = _watches(guarded) if outermost else []
        made = _sandboxed(argv, guarded, sandboxed)
    except GuardError:
        raise
    except Exception as error:
        click.echo(f"guard: failed ({error!r}). This is guard's own fault. Nothing was run.", err=True)
        return FAILED
    start = time.time()
    mask = child.hold_signals()  # whoever is impatient must not keep what was lost from coming back
    try:
        status = child.run(made.argv, guarded.environ, mask, _recipient(made))
        if watches:
            status = _after(watches, status, argv, guarded, start)
        if outermost and made.active:
            log.collect(guarded.state)
    except child.CannotRun as error:
        click.echo(f"guard: {error}", err=True)
        return error.status
    finally:
        child.let_signals(mask)
    return child.end_like(status)


def prepare(environ: dict[str, str]) -> dict[str, str]:
    """Registers the project of the current directory and sets up the shims; gives the environment of a guarded command."""
    return _prepared(environ, MARK not in environ).environ


def _prepared(environ: dict[str, str], outermost: bool) -> Guarded:
    state = project.state_dir(environ)
    if state is None:
        raise GuardError(
            "there is no directory to keep its state in, so a guarded command cannot run",
            todo="set GUARD_STATE_DIR, XDG_STATE_HOME or HOME to one that can be written",
            code=FAULT,
        )
    try:
        found = _around(register(state, environ), state)
    except OSError as error:
        if outermost or not os.path.isdir(f"{state}/{project.SPOOL}"):
            raise GuardError(f"its state cannot be written ({error.strerror})", state, code=FAULT) from error
        found = []  # in a sandbox the state stands still, and a guard further out has recorded what is to be protected
    if not found and outermost:
        click.echo("guard: nothing is protected here: no guard.toml, [tool.guard] or .git here or above", err=True)
    directory = shims.ensure("wide", environ)
    since = environ.get(MARK) or str(int(time.time()))
    return Guarded({**search_path.guarded(environ, directory), MARK: since}, found, state, _here())


def _warn(outermost: bool) -> None:
    """Says so where the agent in whose shell this runs has not loaded guard's hook."""
    if outermost and actor.mark(os.environ) is not None:
        from guard.health import agents

        told = agents.warning(os.environ)
        if told:
            click.echo(told, err=True)


def _around(found: list[str], state: str) -> list[str]:
    """The roots found around, and those recorded before that lie around, nearest first: one may have lost its .git."""
    above = set(lineage(os.path.realpath(here))) if (here := _here()) else set()
    known = [root for root in roots.registered(state, world()) if root in above and root not in found]
    return sorted([*found, *known], key=len, reverse=True)


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""


def _watches(guarded: Guarded) -> list[Watch]:
    """The snapshots of the roots around; that there is no place to keep them is guard's fault, not the command's."""
    if not guarded.roots:
        return []
    tree = world()
    policy = project.load(guarded.cwd, tree.environ, tree)
    if policy.broken:
        click.echo(f"guard: {policy.broken}; {policy.standing} is in force", err=True)
    try:
        found = begin(guarded.roots, policy, guarded.state, "exec")
    except GuardError as error:
        code = FAULT if error.code == STATE else error.code
        raise GuardError(error.what, error.where, error.todo, code) from error
    for each in found:
        if each.taken.unreadable:
            named = names(each.taken.unreadable, guarded.cwd)
            click.echo(f"guard: there is no copy of protected files that cannot be read: {named}", err=True)
    return found


def _sandboxed(argv: Sequence[str], guarded: Guarded, mode: str) -> Sandboxed:
    if mode == sandbox.NONE:
        return Sandboxed(tuple(argv))
    tree = World(guarded.environ, Budget(PATIENCE, 50_000_000))
    made = sandbox.prepare(mode, argv, project.registered(guarded.environ, tree, guarded.roots), guarded.roots, tree)
    for note in made.notes:
        click.echo(f"guard: {note}", err=True)
    return made


def _recipient(made: Sandboxed) -> Callable[[int], int | None] | None:
    return (lambda process: sandbox.recipient(process, made.own_processes)) if made.graceful else None


def _after(watches: Sequence[Watch], status: int, argv: Sequence[str], guarded: Guarded, start: float) -> int:
    """Brings back what was lost, says so, records it; gives the exit status."""
    command = command_line(tuple(argv), LINE_LIMIT)
    today = time.strftime("%Y-%m-%d")
    found = []
    for each in watches:
        try:
            leave = excuses.Leave(start, each.root, each.policy, guarded.state)
            ruled = _excuse(each, _spellings(argv, command), today)
            found.append(over(each, _either(ruled, leave)))
            leave.settle()
        except Exception as error:
            status = aftermath.unchecked(error, status, each.root)
    name = record(found, command, guarded.cwd, "exec", os.environ, guarded.state)
    with suppress(OSError):  # nobody has to listen
        aftermath.tell(found, command, guarded.cwd, name)
    release(watches)
    return aftermath.status(status, found)


def _spellings(argv: Sequence[str], command: str) -> set[str]:
    """How an [[except]] rule may spell the command: as it is, and what a shell of the system's is given with -c."""
    place, _, name = argv[0].rpartition("/")
    shell = name in SHELLS and place in ("", "/bin", "/usr/bin", "/usr/local/bin")
    return {command, argv[2]} if shell and len(argv) == 3 and argv[1] == "-c" else {command}


def _excuse(watch: Watch, commands: Iterable[str], today: str) -> Callable[[Change], bool]:
    """Does an [[except]] rule allow this command what happened?"""

    def excused(change: Change) -> bool:
        directory = change.old.kind == DIRECTORY
        return any(watch.policy.excuse(command, change.path, today, directory) is not None for command in commands)

    return excused if watch.policy.excepts else lambda change: False


def _either(one: Callable[[Change], bool], other: Callable[[Change], bool]) -> Callable[[Change], bool]:
    return lambda change: one(change) or other(change)


def _environment() -> dict[str, str]:
    """The environment as guard's caller gave it: Python sets LC_CTYPE for itself where the locale says nothing."""
    environ = dict(os.environ)
    if "LC_CTYPE" in environ and not _given("LC_CTYPE", environ):
        del environ["LC_CTYPE"]
    return environ


def _given(name: str, environ: dict[str, str]) -> bool:
    """Was a variable in the environment before Python started?"""
    try:
        with open("/proc/self/environ", "rb") as file:
            return any(entry.startswith(os.fsencode(name) + b"=") for entry in file.read().split(b"\0"))
    except OSError:
        return environ[name] not in ("C.UTF-8", "C.utf8", "UTF-8") or bool(environ.get("LC_ALL"))
