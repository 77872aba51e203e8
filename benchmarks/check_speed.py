#!/usr/bin/env python3
"""How long a check takes, as a multiple of starting Python: python benchmarks/check_speed.py [-n RUNS] [--imports] [--guard PATH]

Each command is checked in a small repository, as installed by pip and through the hot entry (python -I -S start.py), in
turns with `python -I -S -c pass` of the same interpreter, so that a busy machine slows all of them. Medians are compared.
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

COMMANDS = {
    "harmless": "git status && ls -la src",
    "rm -rf": "rm -rf build",
    "compound": 'cd src && for f in *.o; do rm -f "$f"; done; make -n clean | grep -c rm',
    "here-document": "cat > notes.txt <<'EOF'\n" + "a line of notes\n" * 20 + "EOF",
}
GOALS = {"as installed": (3.5, 5.0), "hot entry": (2.5, 3.5)}  # for simple commands, and for the last two


def entries(guard: Path) -> dict[str, list[str]]:
    """How to call `guard check` in each way."""
    python = str(guard.parent / "python")
    find = "import guard.hot; print(guard.hot.__path__[0])"
    hot = subprocess.run([python, "-c", find], capture_output=True, text=True, check=True).stdout.strip()
    return {"as installed": [str(guard), "check"], "hot entry": [python, "-I", "-S", f"{hot}/start.py", "check"]}


def once(argv: list[str], cwd: str, environ: dict[str, str]) -> float:
    """The milliseconds that one run takes."""
    start = time.perf_counter()
    run = subprocess.run(argv, cwd=cwd, env=environ, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    taken = (time.perf_counter() - start) * 1000
    if run.returncode not in (0, 1, 3):
        raise SystemExit(f"{argv}: status {run.returncode}\n{run.stderr.decode()}")
    return taken


def measure(guard: Path, runs: int) -> dict[tuple[str, str], float]:
    """The median milliseconds of every entry with every command, and of the bare interpreter under ("", "")."""
    calls = {(way, name): [*argv, "--", command] for way, argv in entries(guard).items() for name, command in COMMANDS.items()}
    calls["", ""] = [str(guard.parent / "python"), "-I", "-S", "-c", "pass"]
    times: dict[tuple[str, str], list[float]] = {key: [] for key in calls}
    with tempfile.TemporaryDirectory() as home:
        for directory in (".git", "specs", "src", "build"):
            Path(home, "app", directory).mkdir(parents=True)
        Path(home, "app/specs/a.md").write_text("a\n")
        environ = {"HOME": home, "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
        for number in range(runs + 2):
            for key, argv in calls.items():
                taken = once(argv, f"{home}/app", environ)
                if number >= 2:  # the first runs warm the caches
                    times[key].append(taken)
    return {key: statistics.median(found) for key, found in times.items()}


def imports(guard: Path) -> None:
    """Prints the modules that the hot entry loads for `rm -rf build`, the slowest first."""
    argv = [*entries(guard)["hot entry"], "--", "rm -rf build"]
    argv[1:1] = ["-X", "importtime"]
    lines = subprocess.run(argv, capture_output=True, text=True, check=False).stderr.splitlines()
    rows = [
        line.removeprefix("import time:").split("|") for line in lines if line.startswith("import time:") and "[us]" not in line
    ]
    for own, _, name in sorted(rows, key=lambda row: -int(row[0]))[:30]:
        print(f"{int(own):7d} us {name.strip()}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=40, dest="runs", help="runs of each kind")
    parser.add_argument("--imports", action="store_true", help="show what the hot entry loads instead")
    parser.add_argument("--guard", type=Path, default=Path(sys.executable).parent / "guard")
    given = parser.parse_args()
    if given.imports:
        imports(given.guard)
        return 0
    found = measure(given.guard, given.runs)
    base = found.pop(("", ""))
    print(f"{'python -I -S -c pass':36s} {base:6.1f} ms")
    missed = 0
    for (way, name), median in found.items():
        goal = GOALS[way][name in ("compound", "here-document")]
        missed += median / base > goal
        print(f"{way:14s} {name:21s} {median:6.1f} ms  {median / base:4.1f} x  (goal {goal} x)")
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
