#!/usr/bin/env python3
"""What a sandbox costs at its start, by the number of binds: python benchmarks/sandbox_speed.py [-n RUNS]

The fastest of the runs in milliseconds: the plan (looking at the tree), the trial (several short programs), and the start,
with a bare `true` taken off; and what the start would take without the limit.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from guard import project, sandbox
from guard.sandbox import bubblewrap
from guard.world import Budget, World

COUNTS = (0, 10, 50, 100, 190, 500, 2000)


def fastest(call: Callable[[], object], runs: int) -> float:
    """The least milliseconds of a call, the first one left out."""
    times = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1000)
    return min(times[1:])


def start(argv: list[str]) -> None:
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)


def fill(top: Path, files: int) -> None:
    (top / ".git").mkdir(parents=True)
    (top / "specs").mkdir()
    for number in range(files):
        (top / f"specs/{number}.md").write_text("text\n")


def row(home: str, files: int, runs: int) -> tuple[int, float, float, float, float]:
    """The number of binds and the four times for so many protected files."""
    top = str(Path(home).resolve() / "project")
    fill(Path(top), files)
    os.chdir(top)
    environ = {"HOME": home, "PATH": os.environ["PATH"]}
    tree = World(environ, Budget(600.0, 1 << 40))
    policy = project.load(top, environ, tree)
    plan = sandbox.plan(policy, [top], tree)
    found = bubblewrap.probe(plan, environ)
    if isinstance(found, bubblewrap.Unavailable):
        raise SystemExit(f"no sandbox here: {found.why}")
    every = sandbox.Plan((*plan.binds, *map(sandbox.Bind, plan.unheld)))
    return (
        len(plan.binds),
        fastest(lambda: sandbox.plan(policy, [top], tree), runs),
        fastest(lambda: bubblewrap.probe(plan, environ), runs),
        fastest(lambda: start(sandbox.command(plan, ["true"], found, top)), runs),
        fastest(lambda: start(sandbox.command(every, ["true"], found, top)), runs if files < 600 else 1),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", "--runs", type=int, default=15)
    runs = parser.parse_args().runs
    bare = fastest(lambda: start(["true"]), runs)
    print(f"{'files':>6} {'binds':>6} {'plan':>8} {'trial':>8} {'start':>8} {'unlimited':>10}")
    for files in COUNTS:
        with tempfile.TemporaryDirectory() as home:
            binds, plan, trial, limited, unlimited = row(home, files, runs)
            os.chdir("/")
        print(f"{files:6} {binds:6} {plan:8.1f} {trial:8.1f} {limited - bare:8.1f} {unlimited - bare:10.1f}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
