#!/usr/bin/env python3
"""How long a report takes: python benchmarks/report_speed.py [-n ITERATIONS] [-r ROUNDS]

A loop runs two hundred iterations of every kind; its journal is repeated under other names of runs until there are as many as
asked for (reports do not check sums). Goal: at most 40 times `python -I -S -c pass` in the same run, or 2 s.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from loop_speed import run, script
from monitor_speed import milliseconds

from guard.loop.identity import place
from guard.loop.store import Store
from tests.loop.rig import Rig

GOAL, GOAL_MS, KERNEL = 40.0, 2000.0, 200


def build(state: str, iterations: int) -> None:
    """Writes the journal."""
    asked = {"iterations": 1_000_000, "calls_per_hour": 100, "runtime_s": 365 * 86400}
    start = int(time.time() * 1000) - 5 * 86_400_000
    with Store.open(state, "/r", start) as store:
        run(Rig(asked=asked, tasks=("one", "two"), store=store, state=store.state, t=start), script(KERNEL))
    path = Path(place(state, "/r"), "journal.jsonl")
    data = path.read_bytes()
    with path.open("ab") as file:
        for number in range(1, iterations // KERNEL):
            file.write(data.replace(b'"run":"', b'"run":"%d-' % number))


def main() -> int:
    """Measures and prints; 1 where the goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=10_000, help="iterations")
    parser.add_argument("-r", type=int, default=7, help="rounds")
    options = parser.parse_args()
    guard = str(Path(sys.executable).with_name("guard"))
    with tempfile.TemporaryDirectory() as directory:
        state = f"{directory}/state"
        os.mkdir(state)
        build(state, options.n)
        environ = {"PATH": os.environ["PATH"], "HOME": directory, "GUARD_STATE_DIR": state, "LC_ALL": "C.UTF-8"}
        commands = {
            "python": [sys.executable, "-I", "-S", "-c", "pass"],
            "text": [guard, "loop", "report", "--all"],
            "html": [guard, "loop", "report", "--all", "--format", "html"],
        }
        taken: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(options.r):
            for name, argv in commands.items():
                taken[name].append(milliseconds(argv, environ))
    base = statistics.median(taken.pop("python"))
    print(f"python {base:7.1f} ms")
    for name, times in taken.items():
        print(f"{name:6} {statistics.median(times):7.1f} ms  x {statistics.median(times) / base:.1f}")
    worst = max(statistics.median(times) for times in taken.values())
    return int(worst > max(GOAL_MS, GOAL * base))


if __name__ == "__main__":
    sys.exit(main())
