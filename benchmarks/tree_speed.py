#!/usr/bin/env python3
"""How long the loop's look at a tree takes, against git status: python benchmarks/tree_speed.py [-n FILES] [-p PROTECTED]

A repository with FILES tracked files of 2 kB is built in a temporary directory, PROTECTED of them in specs/. An iteration is
two looks (before and after, 20 files edited between them) and a verify of the protected files. Runs take turns, medians count.
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
from guard.loop.tree import Tree
from guard.vault.snapshot import snapshot
from guard.vault.verify import verify

GOAL, EXTRA = 2.5, 50.0  # times git status, and ms
SIZE = 2048


def build(top: Path, count: int, protected: int) -> None:
    rng = random.Random(1)
    words = [f"word{n}" for n in range(2000)]
    texts = ["".join(rng.choice(words) + ("\n" if not at % 8 else " ") for at in range(SIZE // 7))[:SIZE] for _ in range(100)]
    for number in range(count):
        directory = top / f"{'specs' if number < protected else 'src'}/{number // 50:04d}"
        if not number % 50:
            directory.mkdir(parents=True, exist_ok=True)
        (directory / f"{number:06d}.py").write_text(f"{number}\n" + texts[number % len(texts)])
    git(top, "init", "-q")
    git(top, "add", "-A")
    git(top, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x")


def git(top: Path, *words: str) -> None:
    subprocess.run(["git", "-c", "gc.auto=0", *words], cwd=top, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def taken(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=100_000, help="files")
    parser.add_argument("-p", type=int, default=10_000, help="protected files")
    parser.add_argument("-r", type=int, default=7, help="runs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ["HOME"], os.environ["GUARD_STATE_DIR"] = home, f"{home}/state"
        top = Path(home, "app").resolve()
        build(top, options.n, options.p)
        time.sleep(2.1)  # files written in the grain of the clock are read again
        at = integrity.here(str(top))
        snapshot(at.root, at.policy, at.vault)
        tree = Tree(str(top))
        first = taken(tree.before)
        git(top, "status")
        times: dict[str, list[float]] = {}
        for run in range(options.r):
            times.setdefault("git status", []).append(taken(lambda: git(top, "status")))
            before = taken(tree.before)
            for number in range(options.p, options.p + 20):
                (top / f"src/{number // 50:04d}/{number:06d}.py").open("a").write(f"edit {run}\n")
            after = taken(tree.after)
            kept = taken(lambda: verify(at.manifest(None), at.vault, at.policy))
            for name, value in {"before": before, "after": after, "verify": kept, "all": before + after + kept}.items():
                times.setdefault(name, []).append(value)
    medians = {name: statistics.median(values) for name, values in times.items()}
    print(f"{options.n} files of {SIZE} bytes, {options.p} protected; first look {first:.0f} ms")
    for name, value in medians.items():
        print(f"{name:12s} {value:8.0f} ms  {value / medians['git status']:5.2f} x")
    return int(medians["all"] > GOAL * medians["git status"] + EXTRA)


if __name__ == "__main__":
    sys.exit(main())
