#!/usr/bin/env python3
"""How long snapshot and verify take, against git add and git status: python benchmarks/verify_speed.py [-n FILES] [-r RUNS]

A repository with FILES protected files of 4 kB is built in a temporary directory. Each is measured inside one process (what
`guard exec` pays) and as a command. Runs take turns, medians are compared; the first snapshot is measured once.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from guard.commands import integrity
from guard.vault.snapshot import snapshot
from guard.vault.verify import verify

GOAL = 2.0  # verify against git status, the first snapshot against git add
SIZE = 4096


def build(top: Path, count: int) -> None:
    """A repository whose specs/ holds the files, a hundred to a directory."""
    rng = random.Random(1)
    words = [f"word{n}" for n in range(2000)]
    for number in range(count):
        directory = top / f"specs/{number // 100:04d}"
        directory.mkdir(parents=True, exist_ok=True)
        text = " ".join(rng.choice(words) for _ in range(SIZE // 7))
        (directory / f"{number:05d}.md").write_text(text[:SIZE])
    git(top, "init", "-q")


def git(top: Path, *words: str) -> None:
    """Runs git quietly."""
    subprocess.run(["git", "-c", "gc.auto=0", *words], cwd=top, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def taken(work: Callable[[], object]) -> float:
    """The milliseconds that something takes."""
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def main() -> int:
    """Measures and prints; 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=10_000, help="files")
    parser.add_argument("-r", type=int, default=11, help="runs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ["HOME"], os.environ["GUARD_STATE_DIR"] = home, f"{home}/state"
        top = Path(home, "app").resolve()
        build(top, options.n)
        time.sleep(0.1)  # files written in the grain of the clock are read again
        at = integrity.here(str(top))
        first = taken(lambda: snapshot(at.root, at.policy, at.vault))
        add = taken(lambda: git(top, "add", "-A"))
        git(top, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x")
        git(top, "status")
        snapshot(at.root, at.policy, at.vault)
        times: dict[str, list[float]] = {}
        for _ in range(options.r):
            for name, work in {
                "git status": lambda: git(top, "status"),
                "verify": lambda: verify(at.manifest(None), at.vault, at.policy),
                "guard verify": lambda: subprocess.run(
                    [sys.executable, "-m", "guard", "verify"], cwd=top, check=True, stdout=subprocess.DEVNULL
                ),
                "next snapshot": lambda: snapshot(at.root, at.policy, at.vault),
            }.items():
                times.setdefault(name, []).append(taken(work))
    medians = {name: statistics.median(values) for name, values in times.items()}
    print(f"{options.n} files of {SIZE} bytes")
    print(f"first snapshot {first:8.0f} ms   git add    {add:8.0f} ms   {first / add:5.2f} x")
    for name in ("verify", "guard verify", "next snapshot"):
        ratio = medians[name] / medians["git status"]
        print(f"{name:14s} {medians[name]:8.0f} ms   git status {medians['git status']:8.0f} ms   {ratio:5.2f} x")
    return int(first / add > GOAL or medians["verify"] / medians["git status"] > GOAL)


if __name__ == "__main__":
    sys.exit(main())
