"""The outbox: notices wait in <state>/notify/queue until a sender, a process of its own, has delivered them.

<state>/notify/queue/<ns>.json    one notice each
<state>/notify/calm.json          what went out lately, and what is held back
<state>/notify/failed.jsonl       what could not be delivered
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from guard.notify.notice import Notice
from guard.notify.settings import Channel
from guard.notify.storms import Calm, Silence

FOLDER, QUEUE, CALM, FAILED, LOCK = "notify", "queue", "calm.json", "failed.jsonl", "lock"
MOST = 500  # notices that wait
FULL = 1 << 20  # bytes of the file of failures
WAITS_S = (1.0, 5.0, 20.0)  # before a delivery is tried again
LOOK_S = 5.0  # between two looks at the queue while something is held back
Say = Callable[[str], None]


def put(state: str, notice: Notice) -> bool:
    """Leaves a notice to be sent. False where that is not possible: it is only told, never an error of a loop."""
    folder = f"{state}/{FOLDER}/{QUEUE}"
    name = f"{folder}/{time.time_ns():020d}-{os.getpid()}"
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        if len(os.listdir(folder)) >= MOST:
            return False
        with open(f"{name}.tmp", "x", encoding="utf-8") as file:
            json.dump(asdict(notice), file)
        os.rename(f"{name}.tmp", f"{name}.json")
        return True
    except OSError:
        return False


def start(state: str, environ: Mapping[str, str]) -> subprocess.Popen[bytes] | None:
    """Starts the sender, which ends when there is nothing left to send; one that runs already makes the new one end at once."""
    package = str(Path(__file__).resolve().parents[2])
    own = {name: value for name, value in environ.items() if not name.startswith(("PYTHON", "GUARD_LOOP", "GUARD_RUN"))}
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "guard.notify", state],
            env={**own, "PYTHONPATH": package},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return None


def waits(state: str) -> bool:
    """Is anything waiting to be sent?"""
    return any(Path(state, FOLDER, QUEUE).glob("*.json"))


def drain(
    state: str,
    channels: tuple[Channel, ...],
    environ: Mapping[str, str],
    now: Callable[[], int] = lambda: int(time.time() * 1000),
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Sends what waits, and stays until no digest is due any more. Returns at once where another sender is at work."""
    folder = Path(state, FOLDER)
    folder.mkdir(0o700, parents=True, exist_ok=True)
    while True:
        with open(folder / LOCK, "w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return
            _drain(folder, channels, environ, now, sleep)
        if not waits(state):  # what came while the lock was held is this sender's, for the next one has gone away
            return


def _drain(
    folder: Path,
    channels: tuple[Channel, ...],
    environ: Mapping[str, str],
    now: Callable[[], int],
    sleep: Callable[[float], None],
) -> None:
    calm = _calm(folder / CALM)
    while True:
        sent = _pass(folder, calm, channels, environ, now, sleep)
        _keep(folder / CALM, calm)
        due = calm.next_due()
        if sent:
            continue
        if due is None:
            return
        sleep(min(LOOK_S, max(0.05, (due - now()) / 1000)))


def _pass(
    folder: Path,
    calm: Calm,
    channels: tuple[Channel, ...],
    environ: Mapping[str, str],
    now: Callable[[], int],
    sleep: Callable[[float], None],
) -> bool:
    sent = False
    for path in sorted(folder.joinpath(QUEUE).glob("*.json")):
        notice = _notice(path)
        path.unlink(missing_ok=True)
        ready = calm.admit(notice) if notice is not None else None
        if ready is not None:
            _send(folder, ready, channels, environ, sleep)
            sent = True
    for digest in calm.due(now()):
        _send(folder, digest, channels, environ, sleep)
        sent = True
    return sent


def _send(
    folder: Path, notice: Notice, channels: tuple[Channel, ...], environ: Mapping[str, str], sleep: Callable[[float], None]
) -> None:
    from guard.notify import delivery  # what it loads for the network takes longer than all the rest

    for channel in channels:
        if notice.code not in channel.events:
            continue
        failed = delivery.deliver(notice, channel, environ)
        for wait in WAITS_S:
            if not failed:
                break
            sleep(wait)
            failed = delivery.deliver(notice, _only(channel, failed), environ)
        if failed:
            _fail(folder / FAILED, notice, failed)


def _only(channel: Channel, failed: list[str]) -> Channel:
    """The channel without what has succeeded."""
    command = channel.command if any(one.startswith("command") for one in failed) else ()
    webhook = channel.webhook if any(one.startswith("webhook") for one in failed) else ""
    return Channel(channel.origin, command, webhook, channel.format, channel.events)


def _fail(path: Path, notice: Notice, failed: list[str]) -> None:
    with suppress(OSError):
        if path.exists() and path.stat().st_size > FULL:
            path.replace(path.with_suffix(".old"))
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps({**notice.to_json(), "failed": failed}) + "\n")


def _notice(path: Path) -> Notice | None:
    try:
        return Notice(**json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError, RecursionError):
        return None


def _calm(path: Path) -> Calm:
    try:
        rows = json.loads(path.read_bytes())
        return Calm({tuple(key): Silence(since, Notice(**held) if held else None) for key, since, held in rows})
    except (OSError, ValueError, TypeError, RecursionError):
        return Calm()


def _keep(path: Path, calm: Calm) -> None:
    rows = [[list(key), one.since, asdict(one.held) if one.held else None] for key, one in calm.silences.items()]
    with suppress(OSError):
        temporary = path.with_suffix(".tmp")
        temporary.write_text(json.dumps(rows))
        temporary.replace(path)
