"""The state of a loop from what is on the disk: the newest good checkpoint and the events after it, or all events."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field

from guard.errors import STATE, GuardError
from guard.loop import breaker as circuit
from guard.loop import checkpoint, gatekeeper, journal, machine
from guard.loop.checkpoint import Checkpoint, Lists
from guard.loop.events import Alert, Base
from guard.loop.journal import Bad, Good, Place
from guard.loop.record import Invalid, parse, replace
from guard.loop.state import AUTO, CLOSED, HALF_OPEN, OPEN, Breaker, Memory, Reservation, State

CHECKPOINT, BACKUP, REPLAY, NOTHING = "checkpoint", "backup", "replay", "nothing"


@dataclass
class Loaded:
    """What was found. `place` is None where a new file must begin; `sizes` None where derived files must be made anew."""

    state: State
    source: str
    place: Place | None = None
    sizes: dict[str, int] | None = None
    lists: Lists = field(default_factory=dict)
    tail: list[tuple[State, Good, State]] = field(default_factory=list)  # events after the checkpoint, with the states around
    alerts: list[Alert] = field(default_factory=list)
    lost: int = 0  # events that could not be read
    state_lost: bool = False


def load(directory: str, loop: str) -> Loaded:
    """The state of a loop. Raises GuardError where the journal is a later version's, or cannot be read at all."""
    try:
        names = journal.files(directory)
        point, bad = checkpoint.newest(directory)
        if not names:
            return _without_journal(directory, loop, point)
        found = _resumed(names[-1], point) if point is not None and not bad else None
        found = found or _replayed(names, loop, point)
    except OSError as error:
        raise GuardError(f"it cannot be read ({error.strerror})", directory, "give access to it", STATE) from error
    if bad:
        found.source = BACKUP if point is not None else REPLAY
        kind = "state_rollback" if point is not None else "state_rebuilt"
        found.alerts.append(Alert(kind, "critical", f"damaged: {', '.join(map(os.path.basename, bad))}"))
    if os.path.basename(names[-1]) != journal.NAME:
        found.place = None
    return found


def _without_journal(directory: str, loop: str, point: Checkpoint | None) -> Loaded:
    """Nothing at all is a first run; a checkpoint, or other traces, without a journal mean that state was lost."""
    state = point.state if point is not None else State(loop)
    traces = point is not None or any(
        os.path.lexists(f"{directory}/{name}") for name in ("status.json", checkpoint.NAME, "loop.log")
    )
    found = Loaded(state, CHECKPOINT if point is not None else NOTHING)
    if traces:
        found.state_lost = True
        found.alerts.append(Alert("state_lost", "critical", "the journal is gone"))
    return found


def _resumed(path: str, point: Checkpoint) -> Loaded | None:
    """From the checkpoint on; None where it does not fit the file."""
    if os.path.basename(path) != journal.NAME or not _fits(path, point.place):
        return None
    found = Loaded(point.state, CHECKPOINT, point.place, point.sizes, point.lists)
    _follow(found, journal.read(path, point.place), keep=True)
    return found


def _fits(path: str, place: Place) -> bool:
    """Does the file have the checkpoint's event where it should end?"""
    tail = f'{place.sum}"}}\n'.encode()
    with open(path, "rb") as file:
        first = file.readline(journal.LINE_LIMIT)
        file.seek(place.offset - len(tail))
        fits = file.read(len(tail)) == tail
    return fits and f'"seq":{place.first},'.encode() in first[:40]


def _replayed(names: list[str], loop: str, point: Checkpoint | None) -> Loaded:
    """From the journal alone, from the newest file whose base is good; compared with the checkpoint."""
    found = Loaded(State(loop), REPLAY)
    start = next((at for at in range(len(names) - 1, -1, -1) if _has_base(names[at])), None)
    if start is None:
        found.state_lost = True
        found.alerts.append(Alert("state_lost", "critical", "no file of the journal has a good beginning"))
    for path in names[start or 0 :]:
        found.place = None
        _follow(found, journal.read(path), keep=False)
    if start != len(names) - 1:
        found.place = None
    if point is not None and point.place.seq > found.state.seq:
        found.lost += point.place.seq - found.state.seq
        found.alerts.append(
            Alert("checkpoint_ahead", "critical", f"the checkpoint has {found.lost} events more than the journal")
        )
        found.state, found.place = stricter(point.state, found.state), None
    elif point is not None and found.lost:
        found.state = stricter(point.state, found.state)
    return found


def _has_base(path: str) -> bool:
    first = next(iter(journal.read(path)), None)
    return isinstance(first, Good)


def _follow(found: Loaded, lines: Iterable[Good | Bad], keep: bool) -> None:
    """Steps through lines. After a bad one the stricter of the states before and after holds."""
    doubted: State | None = None
    for line in lines:
        if isinstance(line, Good):
            before = found.state
            found.state = _stepped(before, line)
            found.place = line.place
            if keep:
                found.tail.append((before, line, found.state))
        elif line.torn:
            found.alerts.append(Alert("torn_line", "warning", "the last line of the journal was not whole, and was dropped"))
        else:
            found.lost += 1
            doubted = doubted or found.state
            found.alerts.append(
                Alert("bad_line", "critical", f"a line of the journal is damaged, at byte {line.offset}: {line.why}")
            )
            found.place = None  # nothing is cut off behind a bad line: a new file begins
    if doubted is not None:
        found.state, found.place = stricter(doubted, found.state), None


def _stepped(state: State, line: Good) -> State:
    body = line.event.body
    if isinstance(body, Base) and state.seq == 0:
        try:
            state = parse(State, body.state)
        except Invalid as error:
            raise GuardError(
                f"the state in it does not fit ({error})", journal.NAME, "use the version that wrote it", STATE
            ) from None
    return machine.step(state, line.event)[0]


def stricter(one: State, other: State) -> State:
    """The later state, with whatever the two have that allows less."""
    early, late = sorted((one, other), key=lambda state: state.seq)
    counts = {
        cause: max(early.memory.count(cause), late.memory.count(cause)) for cause in early.memory.counts | late.memory.counts
    }
    memory: Memory = replace(late.memory, counts=counts)
    window: dict[int, Reservation] = {one.call: one for one in (*early.window, *late.window)}
    holds = [state.hold for state in (early, late) if state.hold is not None]
    return replace(
        late,
        breaker=max(early.breaker, late.breaker, key=_strictness),
        hold=gatekeeper.higher(holds[0], holds[-1]) if holds else None,
        memory=memory,
        window=tuple(window[call] for call in sorted(window)),
        calls=max(early.calls, late.calls),
        usage_until=max((state.usage_until for state in (early, late) if state.usage_until is not None), default=None),
        mode="manual" if "manual" in (early.mode, late.mode) else "auto",
    )


def _strictness(breaker: Breaker) -> tuple[int, bool, bool, int]:
    rank = {CLOSED: 0, HALF_OPEN: 1, OPEN: 2}[breaker.state]
    return rank, breaker.recovery != AUTO, breaker.probe_used, circuit.ends_at(breaker)
