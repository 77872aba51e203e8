"""A store whose process ends, or whose disk fails, before any of its calls to the disk: what was recorded is there afterwards,
and no open breaker has closed.

GUARD_SWEEP=1 takes every call, else some of each story are taken.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from guard.errors import STATE, GuardError
from guard.loop import journal
from guard.loop.events import BreakerChanged, HoldChanged
from guard.loop.state import CLOSED, HALF_OPEN, OPEN, State
from guard.loop.store import Store
from tests.loop.rig import MINUTE, START, It, Rig, times

IDLE = It()
WORKS = It(edit=1)
LATER = START + 40 * MINUTE
CALLS = ("pwrite", "write", "rename", "fsync", "fdatasync", "unlink", "link", "truncate", "ftruncate", "mkdir", "open")
MAKES = os.O_CREAT | os.O_TRUNC
FACTS = {"measured", "breaker", "hold", "run_started", "call_reserved"}  # what changes counts and breaker
SAMPLE = 12  # calls of a story that are taken without GUARD_SWEEP
SWEEP = bool(os.environ.get("GUARD_SWEEP"))


class Killed(BaseException):
    """Stands for the end of the process."""


Play = Callable[[Rig], object]


def _reset(rig: Rig) -> None:
    rig.record(BreakerChanged(OPEN, HALF_OPEN, actor="person", reason="looked at it"))
    rig.start("r2").play((WORKS,))


def _held(rig: Rig) -> None:
    rig.start("r2").play(times(3, It(question=True)))
    rig.record(HoldChanged("paused", "", "user", "answered", "person"))


def _opened(rig: Rig) -> None:
    rig.start("r1").play(times(3, IDLE))


def _nothing(rig: Rig) -> None:
    pass


@dataclass(frozen=True)
class Story:
    """What has happened before, what damage is found, and what happens while the calls are counted."""

    before: Play
    then: Play
    damage: tuple[str, ...] = ()  # files that are gone at the start; "torn": the journal's last line has no end
    t: int = START


STORIES = {
    "it stays closed": Story(_nothing, lambda rig: rig.start("r1").play((WORKS, IDLE, WORKS))),
    "it opens": Story(_nothing, lambda rig: rig.start("r1").play((WORKS, *times(3, IDLE)))),
    "a start while it is open": Story(_opened, lambda rig: rig.start("r2").play((WORKS,))),
    "the probe closes it": Story(_opened, lambda rig: rig.start("r2").play((WORKS, WORKS)), t=LATER),
    "the probe opens it again": Story(_opened, lambda rig: rig.start("r2").play((IDLE,)), t=LATER),
    "a person resets it": Story(_opened, _reset),
    "a hold": Story(_nothing, _held),
    "checkpoints and files are gone": Story(_opened, lambda rig: rig.start("r2"), ("state.json", "status.json", "loop.log")),
    "the last line is torn": Story(_opened, lambda rig: rig.start("r2"), ("torn",)),
}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No power is cut here, so that nothing has to reach the disk; and files of the journal are small."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    monkeypatch.setattr(os, "fdatasync", lambda fd: None)
    monkeypatch.setattr(journal, "FULL", 12_000)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Path]:
    """A directory in memory, where there is such a file system."""
    shared = Path("/dev/shm")
    place = Path(tempfile.mkdtemp(dir=shared if os.access(shared, os.W_OK) else tmp_path))
    yield place
    shutil.rmtree(place)


@dataclass
class Counting:
    """Counts calls to the disk, and answers those from a number on as told."""

    until: int
    answer: BaseException | None
    count: int = 0

    def put_over(self, patch: pytest.MonkeyPatch) -> None:
        for name in CALLS:
            patch.setattr(os, name, self._counted(name, getattr(os, name)))

    def _counted(self, name: str, real: Any) -> Any:
        def call(*values: Any, **named: Any) -> Any:
            if name == "open" and not values[1] & MAKES:
                return real(*values, **named)
            self.count += 1
            if self.count > self.until and self.answer is not None:
                raise self.answer
            return real(*values, **named)

        return call


def lived(story: Story, place: Path, counting: Counting, monkeypatch: pytest.MonkeyPatch) -> tuple[State | None, bool]:
    """Plays a story's counted part: the state that was reached, as far as it was recorded; and did it get to its end?"""
    store: Store | None = None
    failed: GuardError | None = None
    whole = False
    with monkeypatch.context() as patch:
        counting.put_over(patch)
        try:
            store = Store.open(str(place / "state"), str(place.parent / "app"), story.t)
            story.then(Rig(store=store, state=store.state, t=story.t))
            whole = True
        except Killed:
            pass
        except GuardError as error:
            failed = error
    assert failed is None or (failed.code == STATE and failed.todo), failed
    if store is None:
        return None, whole
    store.close()
    return store.state, whole


def prepared(story: Story, place: Path) -> None:
    """A loop as the story finds it, beside a directory of Ralph's."""
    (place.parent / "app/.ralph").mkdir(parents=True)
    with Store.open(str(place / "state"), str(place.parent / "app"), START) as store:
        story.before(Rig(store=store, state=store.state))
    for name in story.damage:
        if name == "torn":
            with open(f"{store.directory}/{journal.NAME}", "ab") as file:
                file.write(b'{"v":1,"seq":99')
        else:
            os.unlink(f"{store.directory}/{name}")


def points(total: int, number: int) -> Iterator[int]:
    """The calls that are taken of so many: all, or some that are others for each story."""
    return iter(range(total)) if SWEEP else iter(range(number % 7, total, max(1, total // SAMPLE)))


@pytest.mark.parametrize("answer", ["killed", "ENOSPC", "EROFS", "EIO"])
@pytest.mark.parametrize("name", STORIES)
def test_before_any_call_to_the_disk(name: str, answer: str, memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    story = STORIES[name]
    prepared(story, memory / "whole")
    shutil.copytree(memory / "whole", memory / "first")
    counting = Counting(0, None)
    first, whole = lived(story, memory / "first", counting, monkeypatch)
    assert whole
    assert first is not None
    assert counting.count > 20
    number = getattr(errno, answer, 0)
    for point in points(counting.count, list(STORIES).index(name)):
        place = memory / f"p{point}"
        shutil.copytree(memory / "whole", place)
        shutil.rmtree(memory / "app/.ralph")
        (memory / "app/.ralph").mkdir()
        failing = OSError(number, os.strerror(number)) if number else Killed()
        reached, _ = lived(story, place, Counting(point, failing), monkeypatch)
        _is_all_there(story, place, reached, point)
        shutil.rmtree(place)
    if SWEEP:
        print(f"{name}, {answer}: {counting.count} points")


def _is_all_there(story: Story, place: Path, reached: State | None, point: int) -> None:
    """A start afterwards finds what was recorded, and nothing that allows more."""
    with Store.open(str(place / "state"), str(place.parent / "app"), story.t) as again:
        state = again.state
        directory = again.directory
    if reached is None:  # not even opened: as it was before
        with Store.open(str(place.parent / "whole/state"), str(place.parent / "app"), START) as whole:
            reached = whole.state
        assert state.breaker.state == reached.breaker.state, point
    assert state.breaker.cause != "state_lost", point
    known, now = (each.run.counted if each.run and each.run.id == "r2" else 0 for each in (reached, state))
    assert now >= known or (state.run and reached.run and state.run.id != reached.run.id), point
    assert state.calls >= reached.calls, point
    further = _since(directory, reached.seq)
    assert further & FACTS or state.memory == reached.memory, point
    if reached.breaker.state == OPEN:
        assert state.breaker.state != CLOSED, point
        assert state.breaker.state == OPEN or story.t == LATER or state.breaker != reached.breaker, point
    if reached.breaker.state == HALF_OPEN:
        assert state.breaker.state != CLOSED or (further and state.last and state.last.decision == "probe_ok"), point
        assert state.breaker.probe_used >= reached.breaker.probe_used or further & FACTS, point
    if reached.hold is not None and "hold" not in further:
        assert state.hold is not None, point
    lost = [alert for alert in state.alerts if alert["kind"] in ("bad_line", "replay_differs", "checkpoint_ahead")]
    assert not lost, (point, lost)
    _is_told_the_same(directory, str(place.parent / "app"), state)


def _since(directory: str, seq: int) -> set[str]:
    """The kinds of events that are in the journal after the last one that was made sure of: written, and not yet flushed."""
    lines = [line for path in journal.files(directory) for line in journal.read(path)]
    return {line.event.body.name for line in lines if isinstance(line, journal.Good) and line.event.seq > seq}


def _is_told_the_same(directory: str, root: str, state: State) -> None:
    """What is made from the journal says what the state is."""
    from guard.loop.files import Derived
    from guard.loop.names import STATUS
    from guard.loop.status import status

    path = Path(directory, STATUS)
    before = path.read_bytes()
    path.unlink()
    Derived(directory, root).show(state)
    assert path.read_bytes() == before
    assert status(state)["breaker"]["state"] == state.breaker.state
