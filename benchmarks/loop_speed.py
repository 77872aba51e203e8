#!/usr/bin/env python3
"""How long the loop's own bookkeeping takes: python benchmarks/loop_speed.py [-n ITERATIONS]

Runs iterations of every kind through the machine, then through a store on the disk, and measures a step, an iteration and a
start. Goals: breaker and limits at most 1 ms a step; the second half of all iterations at most 1.1 times the first; a start
after all of them at most 1.1 times a start after a hundredth (both plus the noise of 5 ms).
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from guard.loop import machine
from guard.loop.command import Call, Write
from guard.loop.events import Alert, Body, ControlRefused, Event, HoldChanged, Steered
from guard.loop.facts import UsageLimit, Verification
from guard.loop.state import OPEN
from guard.loop.store import Store
from tests.loop.rig import START, It, Rig

STEP_MS, GROWTH, NOISE_MS = 1.0, 1.1, 5.0
MESSAGE = "i have looked at the parser again, and it now reads what the lexer gives it; case number {} " * 40


def script(count: int) -> list[It]:
    """Iterations of every kind, most of which make progress."""
    kinds = itertools.cycle(
        [
            It(edit=3, lines=40, message=MESSAGE, errors=tuple(f"src/a.py:{n}: Error: no {n}" for n in range(20))),
            It(edit=1, tests=Verification(True, 12), tokens=900),
            It(question=True, message=MESSAGE),
            It(exit=1, errors=("Error: boom",)),
            It(edit=1, gaps=("Bash(rm)",)),
            It(edit=2, refused=("specs/a.md",), external=("README.md",)),
            It(tests_edit=1, lines=5),
            It(edit=1, exit=124, ended="timeout"),
            It(exit=1, limit=UsageLimit("5h", None, "text")),
            It(edit=1, signals=("done",), strong=True, exit_signal=True),
        ]
    )
    return list(itertools.islice(kinds, count))


class Timed(Rig):
    """A rig that keeps the time of each step, by kind of event, and forgets the events."""

    def __init__(self, **more: object) -> None:
        super().__init__(**more)  # type: ignore[arg-type]
        self.taken: dict[str, list[float]] = {}

    def record(self, body: Body, n: int | None = None) -> list[object]:
        """Writes an event, and measures its step where there is no store."""
        if self.store is not None:
            return super().record(body, n)
        event = Event(self.state.seq + 1, self.t, self.run, n, body)
        start = time.perf_counter()
        self.state, commands = machine.step(self.state, event)
        self.taken.setdefault(body.name, []).append((time.perf_counter() - start) * 1000)
        rest: list[object] = []
        for command in commands:
            rest += self.record(command.body, n) if isinstance(command, Write) else [command]
        return rest


def run(rig: Rig, iterations: list[It]) -> list[float]:
    """Plays them all, with controls in between; gives the milliseconds of each."""
    rig.start()
    taken = []
    for number, it in enumerate(iterations):
        start = time.perf_counter()
        while not isinstance(rig.check(), Call):
            rig.wait(rig.state.breaker.cooldown_s / 60 + 1 if rig.state.breaker.state == OPEN else 10)
            if rig.end is not None:
                rig.start()
            if rig.state.hold is not None:
                rig.record(HoldChanged(rig.state.hold.value, "", "user", "go on", "person"))
            if rig.state.breaker.recovery == "explicit":
                from guard.loop.events import BreakerChanged

                rig.record(BreakerChanged(OPEN, OPEN, recovery="auto", actor="person", reason="go on"))
        rig.reserve(it)
        rig.finish(it)
        if number % 10 == 0:
            rig.record(Steered("look at the tests first", "person"))
            rig.record(ControlRefused("reset", "agent", "agents may not"))
            rig.record(Alert("clock", "info", "x"))
        if rig.end is not None:
            rig.start()
        taken.append((time.perf_counter() - start) * 1000)
    return taken


def halves(taken: list[float]) -> float:
    """The second half's time over the first's."""
    middle = len(taken) // 2
    return sum(taken[middle:]) / sum(taken[:middle])


def opening(state: str) -> float:
    """The milliseconds of a start, the median of five."""
    taken = []
    for _ in range(5):
        start = time.perf_counter()
        Store.open(state, "/r", START).close()
        taken.append((time.perf_counter() - start) * 1000)
    return statistics.median(taken)


def main() -> int:
    """Measures and prints; 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=10_000, help="iterations")
    count = parser.parse_args().n
    asked = {"iterations": 1_000_000, "calls_per_hour": 100, "runtime_s": 365 * 86400}
    rig = Timed(asked=asked, tasks=("one", "two"))
    pure = halves(run(rig, script(count)))
    slow = 0.0
    for name, taken in sorted(rig.taken.items()):
        typical, worst = statistics.median(taken), statistics.quantiles(taken, n=100)[-1] if len(taken) > 1 else taken[0]
        slow = max(slow, typical)
        print(f"step {name:16s} {typical:6.3f} ms   99 % below {worst:6.3f} ms   {len(taken)} events")
    print(f"machine: second half {pure:.2f} x the first")
    with tempfile.TemporaryDirectory() as state:
        times = []
        with Store.open(state, "/r", START) as store:
            rig = Rig(asked=asked, tasks=("one", "two"), store=store, state=store.state)
            times += run(rig, script(max(2, count // 100)))
        first = opening(state)
        with Store.open(state, "/r", rig.t) as store:
            rig.store, rig.state = store, store.state
            times += run(rig, script(count))
        last = opening(state)
    disk = halves(times)
    print(f"store: {statistics.median(times):.1f} ms an iteration, second half {disk:.2f} x the first")
    print(f"start: {first:.1f} ms after {count // 100} iterations, {last:.1f} ms after {count}")
    flat = pure <= GROWTH and disk <= GROWTH and last <= GROWTH * first + NOISE_MS
    return int(slow > STEP_MS or not flat)


if __name__ == "__main__":
    sys.exit(main())
