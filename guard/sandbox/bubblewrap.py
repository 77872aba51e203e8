"""Bubblewrap as it works here: found behind the shims, and known to work because it did.

https://github.com/containers/bubblewrap
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from guard import search_path
from guard.sandbox.holds import Plan

NAME = "bwrap"
PLACES = "/usr/bin:/usr/local/bin:/bin"  # where it is looked for besides PATH
ARGUMENTS_LIMIT = 9000  # of one call, as bwrap has it
PATIENCE = 20.0  # seconds for a trial
BASE = ("--cap-drop", "ALL", "--die-with-parent", "--dev-bind", "/", "/")
OWN_PROCESSES = ("--unshare-pid", "--proc", "/proc")
OWN_USER = ("--unshare-user",)
# What the sandbox's own processes must not end by, because the command then would, unasked, with SIGKILL.
SIGNALS = ("INT", "TERM", "HUP", "QUIT")
_REFUSED = ("new namespace", "uid map", "gid map")
_REPAIR = (
    "the kernel gives no user namespaces; see sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone and "
    "kernel.apparmor_restrict_unprivileged_userns"
)


@dataclass(frozen=True)
class Bubblewrap:
    """How to call it: the program, the options that work here, and an `env` that can set signals, if there is one."""

    path: str
    options: tuple[str, ...] = BASE
    env: str = ""

    @property
    def own_processes(self) -> bool:
        """Does the command see only processes that it has started?"""
        return "--unshare-pid" in self.options


@dataclass(frozen=True)
class Unavailable:
    """Why there is no sandbox, as a clause that can follow "no sandbox: "."""

    why: str


def probe(plan: Plan, environ: Mapping[str, str], uid: int | None = None) -> Bubblewrap | Unavailable:
    """Tries this very plan, with as much separation as the kernel allows.

    With a `uid` the command has a user namespace of its own in which it has that number: as root, sandboxes inside need it.
    """
    if not sys.platform.startswith("linux"):
        return Unavailable(f"there is none for {_system()}")
    path = environ.get("PATH", search_path.PATH)
    program = search_path.real(NAME, path) or search_path.real(NAME, PLACES)
    if program is None:
        return Unavailable("bubblewrap is not installed (no bwrap on PATH)")
    if directory(environ) is None:
        return Unavailable("the current directory is gone or cannot be entered by its name")
    why = ""
    env = search_path.real("env", path) or ""
    for options in _attempts(uid):
        found = Bubblewrap(program, (*BASE, *options), env if _sets_signals(env) else "")
        failure = _try(found, plan, environ)
        if failure is None:
            return found
        why = why or failure
    return Unavailable(why)


def arguments(found: Bubblewrap, plan: Plan, argv: Sequence[str], cwd: str, graceful: bool = False) -> list[str]:
    """The argument vector that runs argv inside. The directory is named, because bwrap takes HOME for one that is gone; what
    has gone since the plan was made is left out.

    With `graceful` bwrap itself ignores the signals that ask for an end, and the command does not: whoever started it
    passes them on to `recipient`.
    """
    kinds = {True: "--dev-bind-try", False: "--ro-bind-try"}
    binds = [word for bind in plan.binds for word in (kinds[bind.writable], bind.path, bind.path)]
    names = ",".join(name for name in SIGNALS if signal.getsignal(getattr(signal, f"SIG{name}")) != signal.SIG_IGN)
    if not graceful or not found.env or not names or "=" in argv[0] or argv[0].startswith("-"):
        return [found.path, *found.options, *binds, "--chdir", cwd, "--", *argv]
    outside, inside = [found.env, f"--ignore-signal={names}"], [found.env, f"--default-signal={names}"]
    return [*outside, found.path, *found.options, *binds, "--chdir", cwd, "--", *inside, *argv]


def recipient(process: int, own_processes: bool = True) -> int | None:
    """The process of the command, found from that of bwrap; None as long as it has not started, or where that cannot be told.

    With its own process namespace there is one more process between them.
    """
    for _ in range(2 if own_processes else 1):
        try:
            with open(f"/proc/{process}/task/{process}/children", "rb") as file:
                process = int(file.read().split()[0])
        except (OSError, IndexError, ValueError):
            return None
    return process


def directory(environ: Mapping[str, str]) -> str | None:
    """The name of the current directory, PWD where it says so; None where no name leads there."""
    try:
        here = os.getcwd()
        return next((path for path in (environ.get("PWD", ""), here) if path.startswith("/") and _same(path)), None)
    except OSError:
        return None


def _same(path: str) -> bool:
    try:
        return os.path.samefile(path, ".")
    except (OSError, ValueError):
        return False


def _attempts(uid: int | None) -> list[tuple[str, ...]]:
    if uid is not None:
        own = (*OWN_USER, "--uid", str(uid))
        return [(*own, *OWN_PROCESSES), own]
    plain = [OWN_PROCESSES, ()]
    # Root without the right to mount still may where it has a user namespace; others get one anyway.
    return [*plain, (*OWN_USER, *OWN_PROCESSES), OWN_USER] if os.geteuid() == 0 else plain


def _try(found: Bubblewrap, plan: Plan, environ: Mapping[str, str]) -> str | None:
    """Why it does not work, None where it does."""
    argv = arguments(found, plan, (found.path, "--version"), "/")
    ended = _run(argv, environ)
    if isinstance(ended, str) or ended.returncode == 0:
        return ended if isinstance(ended, str) else None
    lines = ended.stderr.decode("utf-8", "backslashreplace").strip().splitlines() or [f"status {ended.returncode}"]
    said = lines[-1].removeprefix(f"{NAME}: ")
    return f"bubblewrap says: {said} ({_REPAIR})" if any(text in said for text in _REFUSED) else f"bubblewrap says: {said}"


def _sets_signals(env: str) -> bool:
    ended = _run([env, "--ignore-signal=TERM", env, "--default-signal=TERM", env, "--version"], os.environ) if env else ""
    return not isinstance(ended, str) and ended.returncode == 0


def _run(argv: Sequence[str], environ: Mapping[str, str]) -> subprocess.CompletedProcess[bytes] | str:
    try:
        return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, env=environ, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return f"bubblewrap was not ready after {PATIENCE:.0f} seconds"
    except (OSError, ValueError) as error:
        return f"bubblewrap cannot be started ({error})"


def _system() -> str:
    return "macOS" if sys.platform == "darwin" else sys.platform
