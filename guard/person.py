"""A person at a terminal: who may lift guard's protection, and how that is made sure."""

from __future__ import annotations

import os
import secrets
import select
import sys
import termios
import time
from contextlib import suppress

from guard import actor, log, project
from guard.actor import Actor
from guard.ancestry import surroundings
from guard.decision import Decision, Request, new_id
from guard.effects import Analysis
from guard.errors import USAGE, GuardError
from guard.verdict import DENY, Reason, Verdict

REFUSED = 1
LETTERS = "abcdefghjkmnpqrstuvwxyz"
COUNT = 4
PATIENCE = 120.0  # seconds to type them
AGENTS = (
    "refused. Only a person may do that, at a terminal of their own. Nothing was changed. If it has to be, stop and ask the user."
)


def present() -> Actor:
    """Who is calling, as far as it can be told without asking."""
    return actor.who(os.environ, surroundings())


def attends() -> bool:
    """Is there somebody to ask a question that lifts nothing: a terminal in whose foreground this runs, and no agent's doing?"""
    where = surroundings()
    found = actor.who(os.environ, where)
    return where.foreground and not found.name


def require(what: str) -> Actor:
    """Gives the person who is calling. Raises GuardError for everybody else, and records that it was tried.

    Why somebody is no person goes to the log alone: an agent that reads it knows what to change.
    """
    found = present()
    if found.kind != actor.PERSON:
        _record(what, found)
        raise GuardError(AGENTS, code=REFUSED)
    return found


def confirm(what: str) -> None:
    """Has the person type letters that are shown on the terminal. Raises GuardError where that does not happen."""
    code = "".join(secrets.choice(LETTERS) for _ in range(COUNT))
    since = time.time()
    answer = _asked(f"{what}\nType {code} to go on, anything else to leave it: ")
    if answer.strip().lower() != code:
        raise GuardError("left as it was", code=REFUSED)
    where = surroundings()
    found = actor.who(os.environ, where)
    if found.kind == actor.PERSON and not actor.typed(where, since):
        found = Actor(actor.AGENT, "", "the letters were put into its tmux window, and nobody pressed a key there")
    if found.kind != actor.PERSON:
        _record(what, found)
        raise GuardError(AGENTS, code=REFUSED)


def _asked(prompt: str) -> str:
    """A line from the terminal itself, wherever the standard streams lead; what was typed before does not count."""
    sys.stdout.flush()
    try:
        fd = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        raise GuardError(AGENTS, code=REFUSED) from error
    try:
        with suppress(termios.error):
            termios.tcflush(fd, termios.TCIFLUSH)
        os.write(fd, prompt.encode("utf-8", "surrogateescape"))
        line, end = b"", time.monotonic() + PATIENCE
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([fd], [], [], max(0.0, end - time.monotonic()))
            chunk = os.read(fd, 64) if ready else b""
            if not chunk or len(line) > 1024:
                os.write(fd, b"\n")
                break
            line += chunk
        return line.decode("utf-8", "replace")
    except OSError as error:
        raise GuardError("the terminal cannot be read", code=USAGE) from error
    finally:
        os.close(fd)


def _record(what: str, found: Actor) -> None:
    """Notes in the log that somebody who is no person has tried this, and what gave them away."""
    verdict = Verdict(DENY, (Reason("lift-guard", DENY, found.mark or found.name),))
    try:
        here = os.getcwd()
    except OSError:
        here = "/"
    request = Request(what, here, new_id(), "override", found)
    log.append(log.encode(Decision(request, Analysis(), verdict, time.time())), project.state_dir(os.environ))
