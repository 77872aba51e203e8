"""`guard status`: one screen that says how things stand."""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import click

from guard import grants, health, log
from guard.commands.doctor import columns
from guard.commands.log import GIT, client_of, once, settled
from guard.commands.standing import LAYER
from guard.errors import GuardError
from guard.findings import ABSENT, FINE, NOTE, OFF, Finding
from guard.grants import Grant
from guard.health import Place, Row
from guard.health.canary import PREFIX
from guard.health.vault import ago
from guard.shown import decodable, place, quoted, short, visible, wrapped
from guard.vault.restore import CAME_BACK, REMOVED, RESTORED
from guard.verdict import ALLOW

LAYERS = ("policy", "state", "agents", "shims", "git", "vault")  # those that can be looked at at once
SHOWN = 5  # decisions of one kind
WINDOW = 7 * 86400.0  # seconds; what is older is no news
COLUMN = 25  # where the texts of the layers begin
VICTIMS = 3  # that are named
UNDONE = (RESTORED, REMOVED, CAME_BACK)
COLOURS = {FINE: "green", NOTE: "cyan", ABSENT: "bright_black", OFF: "red"}
WORDS = {FINE: "on", NOTE: "on", ABSENT: "not installed", OFF: "OFF"}

Event = dict[str, Any]  # a decision as the log has it


def run(cwd: str | None, as_json: bool, quiet: bool) -> int:
    """Prints the screen; 1 where a layer that is installed does not hold."""
    if cwd is not None and not os.path.isdir(cwd):
        raise GuardError("no such directory", f"--cwd {cwd}")
    at = health.place(cwd, os.environ, quick=True)
    rows = list(health.look(at, LAYERS))
    if not quiet:
        refused, restored = _news(at)
        if as_json:
            print(json.dumps(_fields(at, rows, refused, restored)))
        else:
            _tell(at, rows, refused, restored)
    return int(not health.holds(rows))


def _tell(at: Place, rows: Sequence[Row], refused: Sequence[Event], restored: Sequence[Event]) -> None:
    _say(click.style(visible(at.root or at.cwd or "the current directory is gone"), bold=True))
    for layer in LAYERS:
        _tell_layer(layer, [row.finding for row in rows if row.layer == layer], health.standing(list(rows), layer))
    _tell_grants(at)
    _tell_events("refused", refused, at.cwd)
    _tell_events("restored", restored, at.cwd)
    if not health.holds(list(rows)):
        _say("\n" + click.style("Not all that is installed holds.", fg="red") + " What to do:  guard doctor")


def _tell_grants(at: Place) -> None:
    """What a person has let pass and is still to be had: what, and until when."""
    for number, grant in enumerate(_grants(at)):
        if not number:
            _say("\n  " + click.style("let pass, for now", bold=True))
        until = time.strftime("%H:%M", time.localtime(grant.expires))
        paths = sorted(grant.victims)
        more = f"  and {len(paths) - VICTIMS:,} more" if len(paths) > VICTIMS else ""
        what = "  ".join(quoted(place(path, at.cwd)) for path in paths[:VICTIMS]) + more
        _say(_cut(f"    {grant.id or grant.kind:10s}until {until}  {what or 'all that is protected here'}"))


def _grants(at: Place) -> list[Grant]:
    """The grants in force in this project. A suspension has its own line, among what is wrong."""
    found = [each for sudo in (False, True) for each in grants.standing(at.state, sudo)]
    return [each for each in found if each.kind != grants.SUSPENSION and at.root in (None, each.root)]


def _tell_layer(layer: str, findings: Sequence[Finding], standing: str) -> None:
    """One line for a layer that is as it should be; a line for whatever is not."""
    told = [each for each in findings if each.severity == OFF] or _best(findings, standing)
    head = f"  {layer:9s}" + click.style(f"{WORDS[standing]:14s}", fg=COLOURS[standing])
    for number, finding in enumerate(told or [Finding("", "")]):
        _say((head if not number else " " * COLUMN) + wrapped(" " * COLUMN + finding.what, columns(), " " * COLUMN).strip())


def _best(findings: Sequence[Finding], standing: str) -> list[Finding]:
    return [each for each in findings if each.severity == standing and standing != ABSENT] + [
        each for each in findings if each.severity == NOTE != standing
    ]


def _tell_events(title: str, events: Sequence[Event], cwd: str) -> None:
    for number, event in enumerate(events):
        if not number:
            _say(f"\n  {click.style(f'last {title}', bold=True)}")
        client = client_of(event) or str(event["layer"])
        head = f"    {event['id']}  {ago(time.time() - event['time']):15s}{visible(client):9s}"
        _say(_cut(head + short(str(event["command"]), 60).strip("`")))
        if event.get("victims"):
            _say(_cut(" " * 35 + _victims(event, cwd)))


def _victims(event: Event, cwd: str) -> str:
    paths = list(dict.fromkeys(str(victim[0]) for victim in event["victims"]))
    more = max(int(event.get("total") or 0), len(paths)) - VICTIMS
    return "  ".join(quoted(place(path, cwd)) for path in paths[:VICTIMS]) + (f"  and {more:,} more" if more > 0 else "")


def _news(at: Place) -> tuple[list[Event], list[Event]]:
    """The last refusals and the last restores of this project, newest first; all projects' where there is none here."""
    events = once(_recent(at))
    refused: deque[Event] = deque(maxlen=SHOWN)
    restored: deque[Event] = deque(maxlen=SHOWN)
    passed = [event for event in events if event["decision"] == ALLOW]
    for event in events:
        if event["decision"] == ALLOW or event["layer"] == LAYER:
            continue  # what was asked for a person's word, and was no person's to ask, is no loss that was prevented
        if not settled(event, (each for each in passed if each["time"] >= event["time"])):
            (restored if _restored(event) else refused).append(event)
    return list(reversed(refused)), list(reversed(restored))


def _recent(at: Place) -> Iterator[Event]:
    """The whole decisions that denied something lately, and those of git's hooks that did not, oldest first."""
    start = time.time() - WINDOW
    for event in log.read(at.state):
        try:
            log.decode(event)
        except ValueError:
            continue
        inside = at.root is None or _near(event, at.root)
        told = event["decision"] != ALLOW or event["layer"] == GIT
        if event["time"] >= start and told and inside and PREFIX not in event["cwd"]:
            yield event


def _near(event: Event, root: str) -> bool:
    paths = [event["cwd"], *(str(victim[0]) for victim in event.get("victims", ()))]
    return any(path == root or path.startswith(root.rstrip("/") + "/") for path in paths)


def _restored(event: Event) -> bool:
    """Was it over already, and is what was lost there again?"""
    return any(str(step[2]).startswith(UNDONE) for step in event.get("trace", ()) if len(step) > 2)


def _fields(at: Place, rows: Sequence[Row], refused: Sequence[Event], restored: Sequence[Event]) -> dict[str, object]:
    return {
        "v": 1,
        "code": "fine" if health.holds(list(rows)) else "off",
        "root": None if at.root is None else decodable(at.root),
        "layers": {layer: health.standing(list(rows), layer) for layer in LAYERS},
        "findings": [
            {"layer": row.layer, "code": row.finding.code, "severity": row.finding.severity, "what": decodable(row.finding.what)}
            for row in rows
        ],
        "grants": [_granted(each) for each in _grants(at)],
        "refused": [_event(event) for event in refused],
        "restored": [_event(event) for event in restored],
    }


def _granted(grant: Grant) -> dict[str, object]:
    paths = [decodable(path) for path in sorted(grant.victims)]
    return {"id": grant.id or None, "kind": grant.kind, "expires": grant.expires, "paths": paths}


def _event(event: Event) -> dict[str, object]:
    told: dict[str, object] = {key: event.get(key) for key in ("id", "time", "layer", "command", "cwd", "code", "total")}
    return {**told, "client": client_of(event) or None}


def _cut(line: str) -> str:
    """A line that fits the terminal; styles count for nothing."""
    spare = columns() - len(click.unstyle(line))
    return line if spare >= 0 or not columns() else line[: spare - 1] + "…"


def _say(text: str) -> None:
    click.echo(click.unstyle(text) if os.environ.get("NO_COLOR") else text)
