"""Control: what is asked of a run that is at work. One file a request in the loop's control/ folder, taken in order.

Whoever asks holds a lock of the file until the answer is there: the kernel names the process that does, so that the runner
knows who asks without believing a word of the file. A request that nobody holds is nobody's.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass

from guard.errors import STATE, GuardError
from guard.loop.mailbox import ANSWER, Folder, claimed, holder

PAUSE, RESUME, MODE, STOP, STEER, RESET, CURB = "pause", "resume", "mode", "stop", "steer", "reset", "curb"
VERBS = (PAUSE, RESUME, MODE, STOP, STEER, RESET, CURB)
LARGEST = 1 << 16  # bytes of a request
LONGEST_REASON = 500  # characters
LONGEST_S = 366 * 86400  # of a pause
MOST = 1000  # requests that are taken at once
BUSY_S, PATIENCE_S = 2.0, 15.0  # after which whoever waits is told so, and gives up
TODO = "look at guard loop status and try again, or end its process with SIGTERM"
LOOK_S = 0.03
FRESH_S = 60.0  # how long an answer may still be read
FORM = "it has another form"
_NAME = re.compile(r"\d{20}-[0-9a-f]{8}\.json")


@dataclass(frozen=True)
class Request:
    """What somebody asks for.

    `run`: the run that it is meant for, "" for any. `now`: without waiting for the end of the iteration. `closed`: a reset to
    CLOSED. `once`: one iteration of a manual loop. `lasts_s`: how long a pause is, 0 for until it is lifted. `value`: the mode
    that is set, what the agent is told ("" forgets what it was told), or the highest level that a curb leaves ("" only warns);
    `keep`: in every prompt.
    """

    verb: str
    reason: str = ""
    run: str = ""
    now: bool = False
    closed: bool = False
    once: bool = False
    lasts_s: int = 0
    value: str = ""
    keep: bool = False


@dataclass(frozen=True)
class Answer:
    """What became of a request. `done` is False where it was refused, or there was nothing to do."""

    done: bool
    said: str


@dataclass(frozen=True)
class Taken:
    """A file of the folder: the request in it, or why there is none, and the process that holds it (0 for none)."""

    name: str
    request: Request | None
    sender: int = 0
    error: str = ""


def ask(directory: str, request: Request, gone: Callable[[], bool], busy: Callable[[], None] = lambda: None) -> Answer | None:
    """Leaves a request for the runner of a loop and waits for its answer. None where the runner is `gone` and has not taken it.

    `busy` is called once when the answer takes longer than 2 seconds. Raises GuardError where the request cannot be written,
    or is not taken: then it is withdrawn.
    """
    name = f"{time.time_ns():020d}-{secrets.token_hex(4)}.json"
    with Folder(directory, make=True) as folder:
        fd = folder.put(name, json.dumps({"v": 1, **asdict(request)}).encode())
        try:
            return _answered(folder, name, gone, busy)
        finally:
            os.close(fd)
            folder.remove(name)
            folder.remove(name + ANSWER)


def _answered(folder: Folder, name: str, gone: Callable[[], bool], busy: Callable[[], None]) -> Answer | None:
    begun, told = time.monotonic(), False
    while True:
        over = gone()  # before the look at the answer, so that none that was given is missed
        answer = _answer(folder, name)
        waited = time.monotonic() - begun
        if answer is not None:
            return answer
        if waited > BUSY_S and not told:
            told = True
            busy()
        if over or waited > PATIENCE_S:
            if folder.remove(name):
                if over:
                    return None
                raise GuardError("its runner does not answer; the request was withdrawn", folder.path, TODO, STATE)
            if over or waited > 2 * PATIENCE_S:
                raise GuardError("its runner took the request and gave no answer", folder.path, TODO, STATE)
        time.sleep(LOOK_S)


def waiting(directory: str) -> Iterator[Taken]:
    """Takes the requests that wait, oldest first, at most MOST. From then on none of them can be withdrawn; `done` ends each."""
    with Folder(directory) as folder:
        for name in [name for name in folder.names() if not folder.is_directory(name)][:MOST]:
            if not _NAME.fullmatch(name):
                folder.remove(name)
                yield Taken(name, None, error=FORM)
            elif folder.claim(name):
                yield _read(folder, name)


def done(directory: str, taken: Taken, answer: Answer | None = None) -> None:
    """Takes a request away, and tells whoever waits for it what became of it."""
    with Folder(directory) as folder:
        if answer is not None:
            _tell(folder, taken.name, answer)
        folder.remove(claimed(taken.name))


def holds(directory: str, taken: Taken) -> bool:
    """Does the process that held the request when it was read still hold it?"""
    with Folder(directory) as folder, suppress(OSError):
        fd = folder.open(claimed(taken.name))
        try:
            return taken.sender != 0 and holder(fd) == taken.sender
        finally:
            os.close(fd)
    return False


def clear(directory: str) -> None:
    """Takes away what nobody waits for any more: requests to a run before this one, old answers, what was never finished."""
    with Folder(directory) as folder:
        for name in folder.names(everything=True):
            if not (_NAME.fullmatch(name) and folder.sender(name)) and not (
                name.endswith(ANSWER) and folder.age_s(name) < FRESH_S
            ):
                folder.remove(name)


def _read(folder: Folder, name: str) -> Taken:
    """The request of a file that was claimed."""
    sender = 0
    try:
        with os.fdopen(folder.open(claimed(name)), "rb") as file:
            sender = holder(file.fileno())
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise ValueError("it is too long")
        return Taken(name, _request(json.loads(data)), sender)
    except (OSError, ValueError, TypeError, RecursionError) as error:
        return Taken(name, None, sender, str(error)[:200])


def _request(values: object) -> Request:
    """The request that these are. Raises ValueError, TypeError."""
    if not isinstance(values, dict) or values.pop("v", None) != 1:
        raise ValueError(FORM)
    request = Request(**values)
    wanted = asdict(Request(""))
    if any(type(value) is not type(wanted[name]) for name, value in asdict(request).items()):
        raise ValueError(FORM)
    if request.verb not in VERBS or not 0 <= request.lasts_s <= LONGEST_S or len(request.reason) > LONGEST_REASON:
        raise ValueError("it asks for what there is not")
    return request


def _tell(folder: Folder, name: str, answer: Answer) -> None:
    """Writes an answer. That it cannot be written stops nothing."""
    with suppress(GuardError):
        os.close(folder.put(name + ANSWER, json.dumps(asdict(answer)).encode()))


def _answer(folder: Folder, name: str) -> Answer | None:
    """The answer to a request, None while there is none."""
    try:
        with os.fdopen(folder.open(name + ANSWER), "rb") as file:
            values = json.loads(file.read(LARGEST))
        return Answer(values["done"] is True, str(values["said"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None
