"""Control: what people ask of a run that is at work. One file a request in the loop's control/ folder, taken in order."""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass

from guard.errors import STATE, GuardError
from guard.loop import breaker as circuit
from guard.loop.events import Body, HoldChanged
from guard.loop.state import HALF_OPEN, OPEN, State

FOLDER = "control"
STOP, RESET, REFUSED = "stop", "reset", "refused"
VERBS = (STOP, RESET, REFUSED)
LARGEST = 1 << 16  # bytes of a request
MOST = 1000  # requests that are taken at once
_NAME = re.compile(r"\d{20}-[0-9a-f]{8}\.json")


@dataclass(frozen=True)
class Request:
    """What somebody asks for. `run` is the run that it is meant for, `now`: without waiting for the end of the iteration.

    `closed`: a reset to CLOSED. Of what was REFUSED already, `reason` is the verb, for the journal.
    """

    verb: str
    actor: str
    reason: str = ""
    run: str = ""
    now: bool = False
    closed: bool = False


@dataclass(frozen=True)
class Taken:
    """A file of the folder: its path, and the request in it, or why there is none."""

    path: str
    request: Request | None
    error: str = ""


def send(directory: str, request: Request) -> None:
    """Leaves a request for the runner of a loop. Raises GuardError where it cannot be written."""
    folder = f"{directory}/{FOLDER}"
    name = f"{time.time_ns():020d}-{secrets.token_hex(4)}.json"
    temporary = f"{folder}/.{name}"
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        with open(temporary, "x", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            json.dump({"v": 1, **asdict(request)}, file)
            file.flush()
            os.fsync(file.fileno())
        os.rename(temporary, f"{folder}/{name}")
    except OSError as error:
        with suppress(OSError):
            os.unlink(temporary)
        todo = "make room or make it writable, or end the runner with SIGTERM"
        raise GuardError(f"the request cannot be written ({error.strerror})", folder, todo, STATE) from error


def waiting(directory: str) -> Iterator[Taken]:
    """The requests that wait, oldest first. They stay until `done`."""
    folder = f"{directory}/{FOLDER}"
    try:
        names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except OSError:
        return
    for name in names[:MOST]:
        yield _read(f"{folder}/{name}", name)


def done(taken: Taken) -> None:
    """Takes a request away."""
    with suppress(OSError):
        os.unlink(taken.path)


def reset(state: State, closed: bool, actor: str, reason: str) -> list[Body]:
    """The events by which a person lets an open breaker probe (or closes it), and lifts a hold; none where nothing stands."""
    found: list[Body] = []
    if state.hold is not None:
        found.append(HoldChanged(state.hold.value, "", state.hold.kind, reason, actor))
    before = state.breaker
    if before.state == OPEN or (before.state == HALF_OPEN and closed):
        found.append(circuit.changed(before, circuit.reset(before, closed), actor=actor, reason=reason))
    return found


def _read(path: str, name: str) -> Taken:
    try:
        if not _NAME.fullmatch(name):
            raise ValueError("its name is none that guard gives")
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            data = file.read(LARGEST + 1)
        values = json.loads(data)
        if len(data) > LARGEST or not isinstance(values, dict) or values.pop("v", None) != 1:
            raise ValueError("it has another form")
        request = Request(**values)
        texts = (request.verb, request.actor, request.reason, request.run)
        flags = (request.now, request.closed)
        if (
            request.verb not in VERBS
            or not all(isinstance(one, str) for one in texts)
            or not all(x in (True, False) for x in flags)
        ):
            raise ValueError("it has another form")
        return Taken(path, request)
    except (OSError, ValueError, TypeError, RecursionError) as error:
        return Taken(path, None, str(error))
