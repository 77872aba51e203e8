#!/usr/bin/env python3
"""How long a look at many loops takes: python benchmarks/monitor_speed.py [-n ITERATIONS] [--loops N] [-r ROUNDS]

One loop runs its iterations through a store on the disk; the others are copies of it. `guard loop status --all` and the first
frame of `guard monitor` are measured against `python -I -S -c pass` in the same run, in turn. Goal: at most 15 times as long.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from loop_speed import run, script

from guard.loop.identity import place
from guard.loop.store import Store
from tests.loop.rig import START, Rig

GOAL = 15.0


def build(state: str, iterations: int, loops: int) -> None:
    """Writes the loops of a state directory."""
    asked = {"iterations": 1_000_000, "calls_per_hour": 100, "runtime_s": 365 * 86400}
    with Store.open(state, "/r", START) as store:
        run(Rig(asked=asked, tasks=("one", "two"), store=store, state=store.state), script(iterations))
    first = Path(place(state, "/r"))
    for number in range(1, loops):
        copy = first.with_name(f"app{number}-{number:08x}")
        for path in (path for path in first.rglob("*") if path.is_file()):
            target = copy / path.relative_to(first)
            target.parent.mkdir(parents=True, exist_ok=True)
            os.link(path, target)


def milliseconds(argv: list[str], environ: dict[str, str]) -> float:
    """How long a command takes."""
    start = time.perf_counter()
    subprocess.run(argv, env=environ, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - start) * 1000


def main() -> int:
    """Measures and prints; 1 where the goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=10_000, help="iterations of a loop")
    parser.add_argument("--loops", type=int, default=100)
    parser.add_argument("-r", type=int, default=15, help="rounds")
    options = parser.parse_args()
    guard = str(Path(sys.executable).with_name("guard"))
    with tempfile.TemporaryDirectory() as directory:
        state = f"{directory}/state"
        os.mkdir(state)
        build(state, options.n, options.loops)
        environ = {"PATH": os.environ["PATH"], "HOME": directory, "GUARD_STATE_DIR": state, "LC_ALL": "C.UTF-8"}
        commands = {
            "python": [sys.executable, "-I", "-S", "-c", "pass"],
            "status": [guard, "loop", "status", "--all"],
            "monitor": [guard, "monitor", "--once"],
        }
        taken: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(options.r):
            for name, argv in commands.items():
                taken[name].append(milliseconds(argv, environ))
    base = statistics.median(taken["python"])
    ratios = {name: statistics.median(taken[name]) / base for name in commands if name != "python"}
    print(f"python   {base:6.1f} ms")
    for name, ratio in ratios.items():
        print(f"{name:8} {statistics.median(taken[name]):6.1f} ms  x {ratio:.1f}")
    return int(max(ratios.values()) > GOAL)


if __name__ == "__main__":
    sys.exit(main())
