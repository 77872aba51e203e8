"""`guard supervise`: runs a loop, and starts it again when it has died or hangs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

import click

from guard.commands.place import world
from guard.errors import GuardError
from guard.loop import clock, store, whereabouts
from guard.loop.identity import place, top_of
from guard.loop.signals import Signals
from guard.supervise import runners
from guard.supervise.notify import Notify
from guard.supervise.pace import DELAY_S, MOST
from guard.supervise.post import Charge, Post
from guard.supervise.runners import Own
from guard.supervise.supervisor import Supervisor

WAIT, RESUME = "--wait", "--resume"


def run(
    arguments: Sequence[str],
    directory: str | None = None,
    delay_s: float = DELAY_S,
    most: int = MOST,
    quiet: bool = False,
    prompt: str = "",
    rehearses: bool = False,
) -> int:
    """Supervises `guard run` with these arguments, and gives its exit status; 70 where restarts are given up.

    `rehearses`: the run only shows what it would do, and nothing is supervised.
    """
    if prompt == "-":
        todo = "write it into a file, and name that"
        raise GuardError("the prompt is read again at each start, and standard input can be read once", "--prompt -", todo)
    if rehearses:
        return subprocess.run([*runner_argv(), "run", WAIT, *arguments], check=False).returncode
    told = Notify(os.environ)
    cwd, environ = os.getcwd(), dict(os.environ)
    top = top_of(directory if directory is not None else cwd)
    state = whereabouts.writable(environ, top)
    argv = runner_argv()

    def start(resumes: bool) -> Own:
        again = [RESUME] if resumes and RESUME not in arguments else []
        return runners.start([*argv, "run", WAIT, *again, *arguments], cwd, environ)

    def say(text: str) -> None:
        if not quiet:
            try:
                click.echo(f"guard: {text}", err=True)
            except OSError:
                pass  # whoever looked has gone

    attended = sys.stdin.isatty() and sys.stderr.isatty()
    charge = Charge(top, state, place(state, top), start, delay_s, most, attended)
    with Signals().caught() as signals:
        post = Post(charge, clock.current(), signals, told, say)
        post.hear = _hear(state, environ, post)
        return Supervisor(post).run()


def runner_argv() -> list[str]:
    """What starts guard's command line as this process was started. The directory it works in is none to take modules from."""
    own = sys.argv[1:]
    before = sys.orig_argv[1 : len(sys.orig_argv) - len(own)]
    if not before or sys.orig_argv[len(before) + 1 :] != own:
        before = ["-m", "guard"]
    if own[:1] == ["--clock"]:  # time from a file, in tests
        before = [*before, *own[: own.index("--") + 1]]
    return [sys.executable, *([] if "-P" in before else ["-P"]), *before]


def _hear(state: str, environ: dict[str, str], post: Post) -> store.Hear | None:
    """Who is told of alerts; nobody where the settings of that are broken, which a run says."""
    from guard.notify.teller import Teller

    try:
        return Teller(state, environ, world(), post.spare).hear
    except GuardError:
        return None
