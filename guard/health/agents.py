"""The agents' clients: are their hooks wired, and are they really loaded?

A hook that is called leaves a heartbeat. A client that skips its hooks does so in silence; but its own session log says which
commands it has run since.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from guard import log as decisions
from guard import project, sessions
from guard.agents import inspection, wiring
from guard.agents.heartbeat import path
from guard.agents.made import RECORD
from guard.agents.table import CLIENTS
from guard.agents.wiring import Wired
from guard.errors import GuardError
from guard.findings import ABSENT, FINE, NOTE, Finding
from guard.health.place import Place
from guard.health.vault import ago
from guard.sessions import Reading
from guard.shell import quick

GRACE = 10.0  # seconds between a command in the log of a client and the heartbeat that belongs to it
SHORT = 8  # characters of a session's name that the names of all logs hold
LOGS = 3  # session logs of a client that are looked into, newest first


@dataclass(frozen=True)
class Beat:
    """When a client's hook was called last at the start of a session (seconds since 1970, 0 for never), the client's version
    then, and its name of the session."""

    time: float = 0.0
    version: str = ""
    session: str = ""


def findings(at: Place) -> Iterator[Finding]:
    """What can be said of each client that is here or wired."""
    here = wiring.installed(at.environ)
    known = False
    for client in CLIENTS:
        found = inspection.findings(client, at.environ, at.root or "", ask_version=not at.quick)
        unwired = any(finding.code == "not-wired" for finding in found)
        if unwired and client not in here:
            continue
        known = True
        yield from found
        if not unwired:
            yield from _seen(client, at)
    if not known:
        yield Finding("no-client", f"no client is found here ({', '.join(CLIENTS)})", severity=ABSENT)


def heartbeat(client: str, state: str | None) -> Beat:
    """A client's last heartbeat: its hook is called at the start of every session."""
    if state is None:
        return Beat()
    try:
        with open(path(state, client), "rb") as file:
            beat = json.loads(file.read(1 << 20))
        return Beat(float(beat["time"]), str(beat.get("version") or ""), str(beat.get("session") or ""))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Beat()


def unseen(client: str, environ: Mapping[str, str], beat: Beat, since: float, state: str | None) -> float:
    """When a client ran a command that its hook would have had to see, and has not; 0 where its log knows of none.

    Looked at is what came after `since` and after the last heartbeat. The session that began with that has the hook; of another
    one, guard's log has the decisions.
    """
    if state is None:
        return 0.0
    start = max(since, beat.time) + GRACE
    for log in sessions.logs(environ, (client,))[:LOGS] if client in sessions.CLIENTS else ():
        if log.time <= start:
            break
        if beat.session and beat.session[:SHORT] in os.path.basename(log.path):
            continue
        missed = next(
            (call.time for call in sessions.read(log, Reading()) if call.time > start and not quick.harmless(call.command)), 0.0
        )
        if missed and not _judged(client, missed, state):
            return missed
    return 0.0


def _judged(client: str, moment: float, state: str | None) -> bool:
    """Did the hook of a client judge anything about then, or later?"""
    layer = f"hook:{client}"
    events = (event for event in decisions.read(state) if str(event.get("layer")).startswith(layer))
    return any(isinstance(event.get("time"), float) and event["time"] > moment - GRACE for event in events)


def warning(environ: Mapping[str, str]) -> str:
    """What whoever runs in a client's shell should know: that the client's hook is wired and not loaded. "" for nothing."""
    client = next((name for name in sessions.CLIENTS if any(environ.get(mark) for mark in CLIENTS[name].marks)), "")
    if not client:
        return ""
    try:
        entries = inspection.entries(client, environ, os.getcwd())
        state = project.state_dir(environ)
        missed = unseen(client, environ, heartbeat(client, state), _since(entries, state), state) if entries else 0.0
    except (OSError, ValueError, GuardError):
        return ""
    title = CLIENTS[client].title
    return f"guard: {title} runs without guard's hook, though it is wired: restart it, or see guard doctor" if missed else ""


def _seen(client: str, at: Place) -> Iterator[Finding]:
    """Whether the hook of a client that is wired was seen at work."""
    beat = heartbeat(client, at.state)
    entries = inspection.entries(client, at.environ, at.root or "")
    missed = unseen(client, at.environ, beat, _since(entries, at.state), at.state)
    named = f"{CLIENTS[client].title}{f' {beat.version}' if beat.version else ''}"
    if missed:
        what = f"{named} ran a command {ago(time.time() - missed)} without calling guard's hook"
        why = "the hook is wired, but the client has not loaded it"
        yield Finding("not-loaded", what, why, f"restart {CLIENTS[client].title}")
    elif beat.time:
        what = f"{named} called guard's hook when a session began {ago(time.time() - beat.time)}"
        yield Finding("alive", what, severity=FINE)
    else:
        what = f"{named} has not called guard's hook yet"
        yield Finding("waiting", what, "it does so when its next session begins", severity=NOTE)


def _since(entries: list[Wired], state: str | None) -> float:
    """When the wiring was written, as far as that is known: clients write their settings again themselves."""
    for written in [f"{state}/{RECORD}", *(each.path for each in entries)]:
        with suppress(OSError):
            return os.stat(written).st_mtime
    return 0.0
