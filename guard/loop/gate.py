"""The machine's gate: closed, no loop of this state directory starts an iteration. Only people close and open it.

<state>/gate/journal.jsonl      what was done to it, in the form of a loop's journal
<state>/gate/gate.json          how it stands, for views
running -> draining (an iteration is at work somewhere) -> paused -> running. What cannot be read counts as closed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from typing import ClassVar

from guard.errors import BUSY, STATE, GuardError
from guard.loop import entries, heartbeat, journal, lifecycle, lock
from guard.loop.events import Body, ControlRefused, Event
from guard.loop.identity import LOOPS
from guard.loop.lock import Lock
from guard.loop.moments import moment
from guard.loop.record import Invalid

FOLDER, VIEW = "gate", "gate.json"
RUNNING, DRAINING, PAUSED = "running", "draining", "paused"
REASON = "system_pause"
GUARD = "guard"
FULL = 1 << 20  # bytes at which a new file begins
_WORKING = (lifecycle.SNAPSHOT, lifecycle.EXECUTE, lifecycle.MEASURE, lifecycle.VERIFY, lifecycle.DECIDE)
GONE = "its journal is gone"


class GateChanged(Body, frozen=True):
    """The gate is closed or opened. `now`: iterations at work are interrupted. `until`: it opens by itself, UTC milliseconds."""

    name: ClassVar[str] = "gate"
    before: str
    after: str
    reason: str
    actor: str
    now: bool = False
    until: int | None = None


KINDS: dict[str, type[Body]] = {kind.name: kind for kind in (GateChanged, ControlRefused)}


@dataclass(frozen=True)
class Gate:
    """How it stands. `at` is UTC milliseconds; `damaged` says what cannot be read, "" for all is well."""

    state: str = RUNNING
    reason: str = ""
    actor: str = ""
    at: int = 0
    now: bool = False
    until: int | None = None
    seq: int = 0
    sum: str = ""
    size: int = 0  # bytes of the journal up to there
    damaged: str = ""

    def closed(self, t: int) -> bool:
        """Is it closed at a time?"""
        return self.state != RUNNING and (self.until is None or t < self.until)


def read(state_dir: str) -> Gate:
    """How it stands by its journal. One that was never closed is open; one that cannot be read is closed."""
    folder = f"{state_dir}/{FOLDER}"
    known = _viewed(folder)
    try:
        with open(f"{folder}/{journal.NAME}", "rb") as file:
            found = _folded(file.read())
    except FileNotFoundError:
        return Gate() if known is None and not _rotated(folder) else _doubted(Gate(), GONE)
    except OSError as error:
        return _doubted(Gate(), f"it cannot be read ({error.strerror})")
    if not found.damaged and known is not None and known > found.seq:
        return _doubted(found, "events at its end are gone")
    return found


def _folded(data: bytes) -> Gate:
    """The gate after the lines of a journal. A last line without end was never told to anybody, and does not count."""
    gate = Gate()
    for number, line in enumerate(data.splitlines(keepends=True), 1):
        if not line.endswith(b"\n"):
            break
        try:
            event = entries.read(line[:-1].decode("utf-8", "replace"), gate.sum, KINDS)
        except (Invalid, entries.TooNew) as error:
            return _doubted(gate, f"line {number} is damaged: {error}")
        total = entries.stated(line[:-1].decode()) or ""
        gate = replace(_after(gate, event), seq=event.seq, sum=total, size=gate.size + len(line))
    return gate if gate.seq else _doubted(gate, "it is empty")


def _after(gate: Gate, event: Event) -> Gate:
    body = event.body
    if not isinstance(body, GateChanged):
        return gate
    return replace(gate, state=body.after, reason=body.reason, actor=body.actor, at=event.t, now=body.now, until=body.until)


def _doubted(gate: Gate, why: str) -> Gate:
    """A gate that is closed because something is wrong with it."""
    return replace(gate, state=PAUSED, reason="gate_damaged", actor=GUARD, now=False, until=None, damaged=why)


def _viewed(folder: str) -> int | None:
    """The number of the last event as the file for views has it; None where there is none, a large one where it is damaged."""
    try:
        with open(f"{folder}/{VIEW}", "rb") as file:
            return int(json.loads(file.read(1 << 16))["seq"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError):
        return 0


def _rotated(folder: str) -> bool:
    return bool(journal.files(folder))


def shown(state_dir: str, t: int) -> Gate:
    """How it stands at a time, as people see it: open when its time is over, draining only while an iteration is at work."""
    gate = read(state_dir)
    if not gate.closed(t):
        return replace(gate, state=RUNNING)
    return replace(gate, state=PAUSED) if gate.state == DRAINING and not working(state_dir) else gate


def view(state_dir: str, t: int) -> dict[str, object]:
    """The values of it for programs. Times are text, UTC."""
    gate = shown(state_dir, t)
    until = moment(gate.until) if gate.until is not None and gate.state != RUNNING else None
    at = moment(gate.at) if gate.at else None
    values = {"v": 1, "state": gate.state, "reason": gate.reason, "actor": gate.actor, "at": at, "until": until}
    return {**values, "damaged": gate.damaged or None}


def working(state_dir: str, besides: str = "") -> bool:
    """Is an iteration at work in any loop but the one in this directory?"""
    try:
        names = os.listdir(f"{state_dir}/{LOOPS}")
    except OSError:
        return False
    return any(_works(f"{state_dir}/{LOOPS}/{name}") for name in names if f"{state_dir}/{LOOPS}/{name}" != besides)


def _works(directory: str) -> bool:
    beat = heartbeat.read(directory)
    return beat is not None and beat.state in _WORKING and lock.owner(directory) is not None


def close(state_dir: str, reason: str, actor: str, t: int, now: bool = False, until: int | None = None) -> Gate:
    """Closes it. Closed already, it only becomes stricter: longer, or at once. Raises GuardError where that cannot be written."""
    with _written(state_dir) as writer:
        gate = writer.gate
        if gate.closed(t):
            longer = gate.until is not None and (until is None or until > gate.until)
            if not longer and (gate.now or not now):
                return gate
            until = until if longer else gate.until
        after = DRAINING if not now and working(state_dir) else PAUSED
        return writer.add(GateChanged(gate.state, after, reason or REASON, actor, now, until), t)


def reopen(state_dir: str, reason: str, actor: str, t: int) -> Gate | None:
    """Opens it; None where it is open. A journal that is damaged is put aside. Raises GuardError."""
    with _written(state_dir) as writer:
        gate = writer.gate
        if not gate.closed(t) and not gate.damaged:
            return None
        return writer.add(GateChanged(gate.state, RUNNING, reason or "resumed", actor), t)


def settle(state_dir: str, directory: str, t: int) -> None:
    """Notes that a gate that was draining is paused now, where the loop in this directory was the last at work."""
    if read(state_dir).state != DRAINING or working(state_dir, directory):
        return
    with suppress(GuardError), _written(state_dir) as writer:
        gate = writer.gate
        if gate.state == DRAINING:
            writer.add(GateChanged(DRAINING, PAUSED, gate.reason, GUARD, gate.now, gate.until), t)


def refuse(state_dir: str, verb: str, actor: str, t: int) -> None:
    """Notes that somebody wanted what only a person may. Raises GuardError where that cannot be written."""
    with _written(state_dir) as writer:
        if not writer.gate.seq:
            writer.add(GateChanged(RUNNING, RUNNING, "", GUARD), t)
        if not writer.gate.damaged:
            writer.add(ControlRefused(verb, actor, "only a person may"), t)


@contextmanager
def _written(state_dir: str) -> Iterator[_Writer]:
    """The gate, to be written by nobody else meanwhile."""
    folder = f"{state_dir}/{FOLDER}"
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
    except OSError as error:
        raise journal.unwritable(error, folder) from error
    held = Lock(folder)
    try:
        held.take()
    except GuardError as error:
        if error.code != BUSY:
            raise
        raise GuardError("somebody else is at the gate", folder, "try again", STATE) from None
    try:
        yield _Writer(folder, read(state_dir))
    finally:
        held.release()


class _Writer:
    """Adds to the gate's journal. `gate` is how it stands."""

    def __init__(self, folder: str, gate: Gate) -> None:
        self._folder, self.gate = folder, gate
        self._path = f"{folder}/{journal.NAME}"

    def add(self, body: Body, t: int) -> Gate:
        """Adds an event and gives how the gate stands then. Raises GuardError; then nothing has changed."""
        anew = bool(self.gate.damaged) or not self.gate.seq or self.gate.size > FULL
        if anew and not isinstance(body, GateChanged):
            gate = self.gate
            self.add(GateChanged(gate.state, gate.state, gate.reason, gate.actor, gate.now, gate.until), gate.at or t)
            anew = False
        event = Event(self.gate.seq + 1, t, "", None, body)
        text, total = entries.line(event, "" if anew else self.gate.sum)
        data = f"{text}\n".encode()
        try:
            self._begin(data) if anew else self._append(data)
        except OSError as error:
            raise journal.unwritable(error, self._path) from error
        size = len(data) + (0 if anew else self.gate.size)
        self.gate = replace(_after(self.gate, event), seq=event.seq, sum=total, size=size, damaged="")
        self._show()
        return self.gate

    def _begin(self, data: bytes) -> None:
        """Begins a new file; the one that is there goes under another name."""
        if os.path.lexists(self._path):
            number = self.gate.seq
            while os.path.lexists(target := f"{self._folder}/journal.{number:012d}.jsonl"):
                number += 1
            os.rename(self._path, target)
        journal.replace_file(self._path, data)
        journal.sync(self._folder)

    def _append(self, data: bytes) -> None:
        fd = os.open(self._path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            os.ftruncate(fd, self.gate.size)  # what has no end
            try:
                if os.pwrite(fd, data, self.gate.size) != len(data):
                    raise OSError(28, "no room")
                os.fsync(fd)
            except OSError:
                os.ftruncate(fd, self.gate.size)
                raise
        finally:
            os.close(fd)

    def _show(self) -> None:
        values = {"v": 1, **asdict(self.gate)}
        with suppress(OSError):
            journal.replace_file(f"{self._folder}/{VIEW}", json.dumps(values).encode())


class Watch:
    """The gate as a run sees it. One that was seen closed and is gone is not open. `closed`: it was when the run began."""

    def __init__(self, state_dir: str, closed: bool = False) -> None:
        self._state_dir, self._was_closed = state_dir, closed
        self._key: tuple[tuple[int, int, int], ...] | None = None
        self.gate = Gate()

    def look(self) -> Gate:
        """How it stands; reads only what has changed."""
        key = tuple(_stamp(f"{self._state_dir}/{FOLDER}/{name}") for name in (journal.NAME, VIEW))
        if key != self._key:
            found, seen = read(self._state_dir), self.gate.seq or self._was_closed
            self.gate = _doubted(found, GONE) if not found.seq and not found.damaged and seen else found
            self._key = key
            self._was_closed = self.gate.state != RUNNING
        return self.gate


def _stamp(path: str) -> tuple[int, int, int]:
    try:
        found = os.stat(path, follow_symlinks=False)
    except OSError:
        return (0, 0, 0)
    return (found.st_ino, found.st_size, found.st_mtime_ns)
