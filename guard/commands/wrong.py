"""`guard wrong`: marks a refusal as a false alarm and writes what is needed to look into it, secrets and names taken out."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
import time
from typing import Any

from guard import __version__, log, project
from guard.commands import standing
from guard.commands.explain import IDENTITY
from guard.commands.log import client_of
from guard.commands.output import say
from guard.errors import STATE, GuardError
from guard.granting import write
from guard.matching import BUILT_IN
from guard.redact import redactor
from guard.shown import visible

REPORTS = "reports"  # in the state directory
LINES = 400  # effects and steps that a report holds


def run(name: str, reason: str | None) -> int:
    """Writes the report and says where it is."""
    state = project.state_dir(os.environ)
    event = log.find(state, name) if IDENTITY.fullmatch(name) else None
    if state is None or event is None:
        raise GuardError(f"there is no decision with the id {visible(name)}", todo="see guard log")
    if not project_writable(state):
        raise GuardError("it cannot be written", state, "see guard doctor", STATE)
    text = json.dumps(report(event, reason or ""), indent=2, ensure_ascii=True) + "\n"
    write(f"{state}/{REPORTS}", f"{event['id']}.json", text.encode(), sudo=False)
    standing.record("false-alarm", ["wrong", name], str(event.get("cwd", "/")), what=str(event["id"]))
    say(f"Marked as a false alarm: {event['id']}. To be sent in, when you have read it:")
    say(f"  {state}/{REPORTS}/{event['id']}.json")
    say("Names of the user, the machine and the project, and what looks like a secret, have been replaced in it.", wrap=True)
    say(f"To let it pass:  guard allow {event['id']}   guard allow --always {event['id']}")
    return 0


def project_writable(state: str) -> bool:
    """Can the state directory be written?"""
    return os.access(state, os.W_OK | os.X_OK)


def report(event: dict[str, Any], reason: str) -> dict[str, Any]:
    """The report of an event: command, rules, effects, verdict; everything personal replaced."""
    hide = _Hider(str(event.get("cwd", "")))
    rules = sorted({(row[6][0], row[6][1]) for row in event.get("victims", ()) if len(row) > 6 and row[6]})
    sources = {row[6][2] == BUILT_IN for row in event.get("victims", ()) if len(row) > 6 and row[6]}
    fields = {
        key: event.get(key) for key in ("id", "layer", "command", "cwd", "decision", "code", "total", "broken", "suggestion")
    }
    return {
        "v": 1,
        "guard": __version__,
        "python": platform.python_version(),
        "system": sys.platform,
        "date": time.strftime("%Y-%m-%d", time.gmtime(float(event.get("time", 0)))),
        "reason": hide(reason),
        **{key: hide(value) for key, value in fields.items()},
        "client": client_of(event) or None,
        "rules": [[level, hide(glob)] for level, glob in rules],
        "built_in": sorted(sources),
        "reasons": hide(event.get("reasons", [])),
        "victims": [hide(row[:5]) for row in event.get("victims", ())][:LINES],
        "effects": hide(event.get("effects", []))[:LINES],
        "unknowns": hide(event.get("unknowns", []))[:LINES],
        "trace": hide(event.get("trace", []))[:LINES],
    }


class _Hider:
    """Replaces what tells who and where: the project's place, the home directory, names of user and machine, secrets."""

    def __init__(self, cwd: str) -> None:
        home = os.environ.get("HOME", "")
        names = {os.environ.get("USER", ""), os.environ.get("LOGNAME", ""), os.path.basename(home), platform.node()}
        places = [(cwd, "/project"), (home, "/home/user")]
        self._places = [(place, other) for place, other in places if place not in ("", "/")]
        words = sorted((re.escape(name) for name in names if len(name) > 2 and name != "root"), key=len, reverse=True)
        self._names = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(words)})(?![A-Za-z0-9])") if words else None
        self._redact = redactor()

    def __call__(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self(inner) for inner in value]
        return self._text(value) if isinstance(value, str) else value

    def _text(self, text: str) -> str:
        for place, other in self._places:
            text = re.sub(rf"{re.escape(place)}(?=/|$|[^A-Za-z0-9._-])", other, text)
        text = self._names.sub("user", text) if self._names else text
        return str(self._redact(re.sub(r"[\w.+-]+@[\w-]+\.[\w.-]+", "user@example.org", text)))
