#!/usr/bin/env python3
"""How long the loop's own bookkeeping takes: python benchmarks/loop_speed.py [-n ITERATIONS]

Runs iterations of every kind, with every kind of event, through the machine, then through a store on the disk beside a `.ralph/`
directory. Goals: breaker and limits at most 1 ms (99 % of all steps); the second half of all iterations at most 1.1 times the
first, in processor time and by the median; a start after all of them at most 1.1 times a start after half of them (in turns,
medians).
"""

from __future__ import annotations

import argparse
import itertools
import random
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from guard.loop import journal, machine
from guard.loop.command import Call, Write
from guard.loop.events import (
    KINDS,
    Alert,
    Asked,
    Body,
    BreakerChanged,
    Budgeted,
    ControlRefused,
    Event,
    FleetChanged,
    HoldChanged,
    LevelChanged,
    ModeChanged,
    Recovered,
    Steered,
)
from guard.loop.facts import UsageLimit, Verification
from guard.loop.state import OPEN
from guard.loop.store import Store
from tests.loop.rig import START, It, Rig

STEP_MS, GROWTH = 1.0, 1.1
FULL = 4 << 20  # bytes of a file of the journal, so that there are many
LENGTH = 4000  # characters of a message
STARTS = 41
ASKED = {"iterations": 1_000_000, "calls_per_hour": 100, "runtime_s": 365 * 86400}
WORDS = tuple("".join(random.Random(word).choices("aeilmnorst", k=2 + word % 9)) for word in range(500))


def message(number: int) -> str:
    """A long message. Three in a row are nearly the same, as those of an agent that is stuck."""
    told = random.Random(number // 3).choices(WORDS, k=LENGTH // 6)
    for place in random.Random(number).choices(range(len(told)), k=20):
        told[place] = "otherwise"
    return " ".join(told)[:LENGTH]


def script(count: int) -> list[It]:
    """Iterations of every kind; those of a kind differ from each other."""
    errors = tuple(f"src/a.py:{n}: Error: no {n}" for n in range(20))
    found = []
    for number in range(count):
        text = message(number)
        kinds = (
            It(edit=3, lines=40, message=text, errors=errors),
            It(edit=1, tests=Verification(True, 12), tokens=900),
            It(question=True, message=text),
            It(question=True, message=text, gaps=("Bash(rm)",)),
            It(message=text),
            It(exit=1, errors=("Error: boom",)),
            It(edit=1, gaps=("Bash(rm)",)),
            It(edit=2, refused=("specs/a.md",), external=("README.md",)),
            It(tests_edit=1, lines=5),
            It(edit=1, exit=124, ended="timeout"),
            It(exit=1, limit=UsageLimit("5h", None, "text")),
            It(edit=1, signals=("done",), strong=True, exit_signal=True),
            *(It(message=text),) * 3,  # which opens the breaker
            It(edit=1),
        )
        found.append(kinds[number % len(kinds)])
    return found


class Timed(Rig):
    """A rig that keeps the processor time of each step, by kind of event, and forgets the events."""

    def __init__(self, **more: object) -> None:
        super().__init__(**more)  # type: ignore[arg-type]
        self.taken: dict[str, list[float]] = {}

    def record(self, body: Body, n: int | None = None) -> list[object]:
        """Steps, and measures that."""
        event = Event(self.state.seq + 1, self.t, self.run, n, body)
        start = time.process_time()
        self.state, commands = machine.step(self.state, event)
        self.taken.setdefault(body.name, []).append((time.process_time() - start) * 1000)
        rest: list[object] = []
        for command in commands:
            rest += self.record(command.body, n) if isinstance(command, Write) else [command]
        return rest


def run(rig: Rig, iterations: list[It]) -> tuple[list[float], list[float]]:
    """Plays them all, with controls in between; gives the milliseconds of each, and those of the processor."""
    if rig.state.run is None:
        rig.start()
    walls, processors = [], []
    for number, it in enumerate(iterations):
        wall, processor = time.perf_counter(), time.process_time()
        _until_called(rig)
        rig.reserve(it)
        rig.finish(it)
        if number % 10 == 0:
            _control(rig)
        if number % 50 == 7:
            rig.record(Asked("stop", "person"))
        walls.append((time.perf_counter() - wall) * 1000)
        processors.append((time.process_time() - processor) * 1000)
    return walls, processors


def _until_called(rig: Rig) -> None:
    """Goes on until a call may start: waits, lifts, begins a new run."""
    if rig.end is not None:
        rig.start()
    while not isinstance(rig.check(), Call):
        state = rig.state
        rig.wait(state.breaker.cooldown_s / 60 + 1 if state.breaker.state == OPEN else 10)
        if rig.end is not None:
            rig.start()
        if state.hold is not None:
            rig.record(HoldChanged(state.hold.value, "", "user", "go on", "person"))
        if state.breaker.recovery == "explicit":
            rig.record(BreakerChanged(OPEN, OPEN, recovery="auto", actor="person", reason="go on"))


def _control(rig: Rig) -> None:
    """What people and agents do beside the iterations."""
    bodies: tuple[Body, ...] = (
        Steered("look at the tests first", "person"),
        ControlRefused("reset", "agent", "agents may not"),
        Alert("clock", "info", "x"),
        Recovered("checkpoint", 0, journal.NAME),
        HoldChanged("", "paused", "user", "lunch", "person"),
        HoldChanged("paused", "", "user", "back", "person"),
        ModeChanged("auto", "manual", actor="person"),
        ModeChanged("manual", "auto", actor="person"),
        LevelChanged(3, 2, actor="person"),
        LevelChanged(2, 3, actor="person"),
        Budgeted("tokens", 1_000_000, 1000, 500, 1, "normal", "ordinary", 3, rig.t + 3_600_000),
        FleetChanged("shared", "away", 2, 50),
        FleetChanged("away", "shared", 2),
    )
    for body in bodies:
        rig.record(body)


def growth(taken: list[float], measure: object = sum) -> float:
    """The second half over the first."""
    assert callable(measure)
    middle = len(taken) // 2
    return float(measure(taken[middle:]) / measure(taken[:middle]))


def opening(state: str, root: str, t: int) -> float:
    """The milliseconds of a start."""
    start = time.perf_counter()
    Store.open(state, root, t).close()
    return (time.perf_counter() - start) * 1000


def kinds(directory: str) -> set[str]:
    """The kinds of events that a journal has."""
    lines = itertools.chain.from_iterable(map(journal.read, journal.files(directory)))
    return {line.event.body.name for line in lines if isinstance(line, journal.Good)}


def pure(count: int) -> bool:
    """Measures the machine; is it as fast as it should be?"""
    rig = Timed(asked=ASKED, tasks=("one", "two"))
    half = growth(run(rig, script(count))[1])
    slow = 0.0
    for name, taken in sorted(rig.taken.items()):
        typical, worst = statistics.median(taken), statistics.quantiles(taken, n=100)[-1] if len(taken) > 1 else taken[0]
        slow = max(slow, worst)
        print(f"step {name:16s} {typical:6.3f} ms   99 % below {worst:6.3f} ms   {len(taken)} events")
    print(f"machine: second half {half:.2f} x the first")
    return slow <= STEP_MS and half <= GROWTH


def disk(count: int) -> bool:
    """Measures the store; does it stay as fast as it is?"""
    journal.FULL = FULL
    with tempfile.TemporaryDirectory() as place:
        root, state, early = f"{place}/app", f"{place}/state", f"{place}/early"
        Path(root, ".ralph").mkdir(parents=True)
        walls: list[float] = []
        processors: list[float] = []
        work, t = script(count), START
        for part in (work[: count // 2], work[count // 2 :]):
            if walls:
                shutil.copytree(state, early)
            with Store.open(state, root, t) as store:
                rig = Rig(asked=ASKED, tasks=("one", "two"), store=store, state=store.state, t=t, run="r0")
                wall, processor = run(rig, part)
                walls, processors, t = walls + wall, processors + processor, rig.t
                directory = store.directory
        missing = KINDS.keys() - kinds(directory)
        starts = [(opening(early, root, t), opening(state, root, t)) for _ in range(STARTS)]
        files = len(journal.files(directory))
    half, typical = growth(processors), growth(walls, statistics.median)
    before, after = (statistics.median(column) for column in zip(*starts, strict=True))
    print(f"store: {statistics.median(walls):.1f} ms an iteration ({statistics.median(processors):.1f} ms of the processor)")
    print(f"store: second half {half:.2f} x the first in processor time, {typical:.2f} x by the median")
    print(f"start: {before:.1f} ms after {count // 2} iterations, {after:.1f} ms after {count} ({files} files)")
    if missing:
        print(f"missing: {', '.join(sorted(missing))}")
    return half <= GROWTH and typical <= GROWTH and after <= GROWTH * before and not missing


def main() -> int:
    """Measures and prints; 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=10_000, help="iterations")
    count = max(200, parser.parse_args().n)
    results = [pure(count), disk(count)]
    return int(not all(results))


if __name__ == "__main__":
    sys.exit(main())
