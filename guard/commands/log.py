"""`guard log`: what was judged, refused, restored and let pass, a line each."""

from __future__ import annotations

import calendar
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from guard import log, project
from guard.commands.output import say
from guard.commands.standing import LAYER
from guard.commits.trailers import KEY
from guard.errors import GuardError
from guard.shown import decodable, place, quoted, short, visible
from guard.verdict import ALLOW, ASK, DENY

Event = dict[str, Any]
COUNT = 20  # lines without -n
GIT = "git-hook"  # the layer of git's hooks
TOGETHER = 10.0  # seconds within which several of them speak of the same change
INTEGRITY = ("exec", "after", "loop", "verify")  # layers that tell what was lost, not what would be
LET_PASS = ("granted", "suspended", "excepted", "config-accepted")
COLOURS = {"refused": "deny", "asked": "ask", "restored": "ask", "allowed": "dim", "override": "bold", "passed": "allow"}
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def kind(event: Event) -> str:
    """What an event is: refused, asked, allowed, passed (by leave of a person), restored, override (what a person did)."""
    if event.get("layer") == LAYER:
        return "refused" if event.get("decision") == DENY else "override"
    if event.get("layer") in INTEGRITY:
        return "restored"
    if event.get("decision") == ALLOW:
        return "passed" if event.get("code") in LET_PASS else "allowed"
    return "asked" if event.get("decision") == ASK else "refused"


KINDS = tuple(COLOURS)


def run(
    number: int | None, as_json: bool, since: str | None, client: str | None, kinds: tuple[str, ...], everywhere: bool
) -> int:
    """Prints the last events, oldest first."""
    state = project.state_dir(os.environ)
    wanted = _wanted(since, client, kinds)
    found = [event for event in log.read(state) if wanted(event) and (everywhere or _near(event))]
    found = found if as_json else once(found)
    count = COUNT if number is None else number
    found = found[max(0, len(found) - count) :]
    if as_json:
        for event in found:
            print(json.dumps({"v": 1, "kind": kind(event), **event}))
        return 0
    if not found and count:
        say("Nothing is on record here." + ("" if everywhere else " Of all projects:  guard log --all"))
    for event in found:
        _print(event)
    return 0


def _wanted(since: str | None, client: str | None, kinds: tuple[str, ...]) -> Callable[[Event], bool]:
    start = moment(since, time.time()) if since else 0.0
    for name in kinds:
        if name not in KINDS:
            raise GuardError(f"there is no kind {visible(name)}", "--kind", f"take one of {', '.join(KINDS)}")

    def wanted(event: Event) -> bool:
        if _time(event) < start or (kinds and kind(event) not in kinds):
            return False
        return client is None or client == _client(event)

    return wanted


def moment(text: str, now: float) -> float:
    """The time (seconds since 1970) of "2h", "3d", "14:30", "2026-11-30" or "2026-11-30 14:30", local. Raises GuardError."""
    if (found := re.fullmatch(r"(\d{1,6})([smhdw])", text)) is not None:
        return now - int(found[1]) * _UNITS[found[2]]
    for form in ("%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S"):
        try:
            return time.mktime(time.strptime(text, form))
        except (ValueError, OverflowError):
            continue
    try:
        if text.endswith("Z"):
            return float(calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ")))
        clock = time.strptime(text, "%H:%M")
    except (ValueError, OverflowError):
        raise GuardError(f"{visible(text)!r} is no time", "--since", "write it as 2h, 3d, 14:30 or 2026-11-30") from None
    today = time.localtime(now)
    return time.mktime((*today[:3], clock.tm_hour, clock.tm_min, 0, 0, 0, -1))


def _near(event: Event) -> bool:
    """Is it about the project around the current directory?"""
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:
        return True
    top = next(
        (above for above in _upwards(here) if any(os.path.lexists(f"{above}/{mark}") for mark in ("guard.toml", ".git"))), here
    )
    at = str(event.get("cwd", ""))
    touched = [row[0] for row in event.get("victims", ()) if isinstance(row, list) and row]
    return any(path == top or str(path).startswith(top.rstrip("/") + "/") for path in (at, *touched))


def _upwards(path: str) -> Iterator[str]:
    while True:
        yield path
        if path == "/":
            return
        path = os.path.dirname(path)


def _time(event: Event) -> float:
    value = event.get("time")
    return float(value) if isinstance(value, int | float) else 0.0


def client_of(event: Event) -> str:
    """The agent's client whose call it was, "" where none is known. A client's own hook knows better than the environment."""
    layer, _, rest = str(event.get("layer") or "").partition(":")
    if layer == "hook":
        return rest.partition(":")[0]
    actor = event.get("actor")
    return str(actor[1] or "") if isinstance(actor, list) and len(actor) > 1 else ""


def _client(event: Event) -> str:
    actor = event.get("actor")
    return client_of(event) or (str(actor[0] or "") if isinstance(actor, list) and actor else "")


def once(events: Iterable[Event]) -> list[Event]:
    """The events, without what another of git's hooks has said before of the same change."""
    found: list[Event] = []
    said: dict[str, float] = {}
    for event in events:
        key = _change(event)
        again = key in said and abs(_time(event) - said[key]) <= TOGETHER
        if key:
            said[key] = _time(event)
        found += [] if again else [event]
    return found


def settled(refused: Event, later: Iterable[Event]) -> bool:
    """Has a change that git's hooks refused passed afterwards, by leave of a person?"""
    lost = _lost(refused)
    if refused.get("layer") != GIT or refused.get("decision") == ALLOW or not lost:
        return False
    left = [
        each for each in later if (each.get("layer"), each.get("cwd")) == (GIT, refused.get("cwd")) and kind(each) == "passed"
    ]
    return all(any(_let_pass(each, path) for each in left) for path in lost)


def _let_pass(event: Event, path: str) -> bool:
    """Does the leave that an event tells of cover a path? Guard-Allow names it as seen from the top of the repository."""
    said = [str(row[2]) for row in event.get("reasons", ()) if isinstance(row, list) and len(row) > 2]
    named = [text.removeprefix(f"{KEY}: ").rsplit(" (", 1)[0].strip("/") for text in said if text.startswith(f"{KEY}: ")]
    return path in _lost(event) or any(f"/{name}/" in f"{path}/" for name in named if name)


def _lost(event: Event) -> set[str]:
    return {str(row[0]) for row in event.get("victims", ()) if isinstance(row, list) and row}


def _change(event: Event) -> str:
    """What tells one change of git's from others; "" for what is none."""
    if event.get("layer") != GIT:
        return ""
    return json.dumps(
        [*(event.get(key) for key in ("decision", "code", "command", "cwd", "total", "actor")), *sorted(_lost(event))]
    )


def _print(event: Event) -> None:
    what = kind(event)
    when = time.strftime("%m-%d %H:%M:%S", time.localtime(_time(event)))
    tail = _tail(event)
    say(
        (f"{when}  ", "dim"),
        (f"{what:9s}", COLOURS[what]),
        f"{visible(str(event.get('id', ''))):5s} {visible(_client(event)) or '-':8s} ",
        short(str(event.get("command", "")), 70),
        (f"  {tail}" if tail else "", "dim"),
    )


def _tail(event: Event) -> str:
    """What it was about: the files, or the reason."""
    cwd = str(event.get("cwd", "/"))
    paths = [quoted(place(str(row[0]), cwd)) for row in event.get("victims", ()) if isinstance(row, list) and row]
    total = event.get("total") or len(paths)
    more = f" +{total - 2}" if isinstance(total, int) and total > 2 else ""
    code = str(event.get("code", ""))
    names = "  ".join(paths[:2]) + more
    doubt = " (recorded inside a sandbox)" if event.get("untrusted") else ""
    return decodable(f"{code}: {names}" if names else code if code != "allowed" else "") + doubt
