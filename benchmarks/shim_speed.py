#!/usr/bin/env python3
"""What a shim adds to the time of a tool: python benchmarks/shim_speed.py [-n RUNS]

Each call is measured with and without the shims, in turns with `dash -c :` and `python -I -S -c pass`, so that a busy machine
slows all of them. The medians' difference is compared with what starting the shell, or Python, takes in the same run.
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

from guard import project, roots, shim_data, shims

# A call, what its added time is a multiple of, and the goal.
CALLS = {
    "rm -f of two plain files": (["rm", "-f", "one.o", "two.o"], "dash -c :", 1.5),
    "mv of a plain file": (["mv", "-f", "one.o", "two.o"], "dash -c :", 2.0),
    "git status": (["git", "status"], "dash -c :", 2.0),
    "sed": (["sed", "-n", "s/e/x/p", "a.c"], "dash -c :", 2.5),
    "rm -rf build (judged)": (["rm", "-rf", "build"], "python -I -S -c pass", 3.0),
}
PATH = "/usr/local/bin:/usr/bin:/bin"


def python() -> str:
    """The interpreter that the shims' launcher takes."""
    base = f"{sys.base_prefix}/bin/python{sys.version_info[0]}.{sys.version_info[1]}"
    return base if os.access(base, os.X_OK) else sys.executable


def prepare(home: Path) -> tuple[Path, str]:
    """A small repository below `home`, and a directory of shims that knows it."""
    app = home / "app"
    for name in ("specs/a.md", "src/main.c", "a.c"):
        (app / name).parent.mkdir(parents=True, exist_ok=True)
        (app / name).write_text("some text\n")
    environ = {"HOME": str(home), "PATH": PATH}
    subprocess.run(["git", "init", "-q", app], check=True, env=environ)
    roots.register(str(project.state_dir(environ)), str(app))
    directory = shims.ensure("wide", environ)
    time.sleep(0.05)
    shim_data.prepare(directory, environ)
    return app, directory


def once(argv: list[str], app: Path, environ: dict[str, str]) -> float:
    """The milliseconds that one call takes in a tree that has what the calls remove."""
    for name in ("one.o", "two.o"):
        (app / name).touch()
    (app / "build").mkdir(exist_ok=True)
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    start = time.perf_counter()
    done = subprocess.run(argv, cwd=app, env=environ, check=False, **streams)  # type: ignore[call-overload]
    taken = (time.perf_counter() - start) * 1000
    if done.returncode:
        raise SystemExit(f"{argv}: status {done.returncode}\n{done.stderr.decode()}")
    return taken


def measure(runs: int) -> dict[tuple[str, str], float]:
    """The median milliseconds of each call under (name, "plain") and (name, "shim"), and of the two bases under (name, "")."""
    with tempfile.TemporaryDirectory() as temporary:
        app, directory = prepare(Path(os.path.realpath(temporary)))
        environ = {"HOME": str(app.parent), "PWD": str(app), "PATH": PATH, "GIT_CONFIG_NOSYSTEM": "1"}
        shimmed = {**environ, "PATH": f"{directory}:{PATH}"}
        calls = {("dash -c :", ""): (["dash", "-c", ":"], environ)}
        calls["python -I -S -c pass", ""] = ([python(), "-I", "-S", "-c", "pass"], environ)
        for name, (argv, _, _) in CALLS.items():
            calls[name, "plain"] = (argv, environ)
            calls[name, "shim"] = ([f"{directory}/{argv[0]}", *argv[1:]], shimmed)
        times: dict[tuple[str, str], list[float]] = {key: [] for key in calls}
        for number in range(runs + 2):
            for key, (argv, env) in calls.items():
                taken = once(argv, app, env)
                if number >= 2:  # the first runs warm the caches
                    times[key].append(taken)
    return {key: statistics.median(found) for key, found in times.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=60, dest="runs", help="runs of each kind")
    found = measure(parser.parse_args().runs)
    missed = 0
    for base in ("dash -c :", "python -I -S -c pass"):
        print(f"{base:26s} {found[base, '']:6.2f} ms")
    for name, (_, base, goal) in CALLS.items():
        added = found[name, "shim"] - found[name, "plain"]
        ratio = added / found[base, ""]
        missed += ratio > goal
        print(f"{name:26s} {added:+6.2f} ms  {ratio:4.2f} x {base}  (goal {goal} x)")
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
