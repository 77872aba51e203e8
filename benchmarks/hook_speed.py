#!/usr/bin/env python3
"""How long a hook takes before a shell tool: python benchmarks/hook_speed.py [-n RUNS]

The launcher on a command that only reads is compared with `dash -c :`, the Python entry with `python -I -S -c pass`, all in
turns, so that a busy machine slows all of them. Medians are compared. Launcher and entry are those that `guard init` installs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from guard import runtime
from guard.agents import hook_commands, launchers

SHELL, PYTHON = "dash -c :", "python -I -S -c pass"
# A call: the entry, the command, what its time is a multiple of, and the goal.
CALLS = {
    "launcher, ls -la src": ("launcher", "ls -la src", SHELL, 4.0),
    "launcher, git log | head": ("launcher", "git log --oneline -5 | head -3", SHELL, 4.0),
    "entry, ls -la src": ("entry", "ls -la src", PYTHON, 2.5),
    "entry, rm -rf build": ("entry", "rm -rf build", PYTHON, 0.0),
    "launcher and entry, rm -rf build": ("launcher", "rm -rf build", PYTHON, 0.0),
}


def python() -> str:
    """The interpreter that the launchers take."""
    base = f"{sys.base_prefix}/bin/python{sys.version_info[0]}.{sys.version_info[1]}"
    return base if os.access(base, os.X_OK) else sys.executable


def payload(command: str, app: Path) -> bytes:
    """What Claude Code says before a shell runs."""
    session = "00000000-0000-4000-8000-000000000001"
    values = {
        "session_id": session,
        "transcript_path": f"/home/user/.claude/projects/-home-user-project/{session}.jsonl",
        "cwd": str(app),
        "prompt_id": session,
        "permission_mode": "default",
        "effort": {"level": "high"},
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": command, "description": "Do it"},
        "tool_use_id": "toolu_000001",
    }
    return json.dumps(values, separators=(",", ":")).encode()


def once(argv: list[str], data: bytes, app: Path, environ: dict[str, str]) -> float:
    """The milliseconds that one call takes."""
    start = time.perf_counter()
    run = subprocess.run(argv, input=data, cwd=app, env=environ, capture_output=True, check=False)
    taken = (time.perf_counter() - start) * 1000
    if run.returncode:
        raise SystemExit(f"{argv}: status {run.returncode}\n{run.stderr.decode()}")
    return taken


def measure(runs: int) -> dict[str, float]:
    """The median milliseconds of each call, and of the two bases."""
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(os.path.realpath(temporary))
        app, launcher = home / "app", home / "guard" / hook_commands.HOOK
        for name in ("specs/a.md", "src/main.py", "build/x.o", ".git/HEAD"):
            (app / name).parent.mkdir(parents=True, exist_ok=True)
            (app / name).write_text("some text\n")
        launchers.ensure(str(home / "guard"))
        entry = [python(), "-I", "-S", f"{runtime.current(str(home / 'guard'))}/guard/hot/start.py"]
        environ = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
        ways = {"launcher": ["dash", str(launcher), "claude"], "entry": [*entry, "hook", "claude"]}
        calls = {SHELL: (["dash", "-c", ":"], b""), PYTHON: ([python(), "-I", "-S", "-c", "pass"], b"")}
        calls |= {name: (ways[way], payload(command, app)) for name, (way, command, _, _) in CALLS.items()}
        times: dict[str, list[float]] = {key: [] for key in calls}
        for number in range(runs + 2):
            for key, (argv, data) in calls.items():
                taken = once(argv, data, app, environ)
                if number >= 2:  # the first runs warm the caches
                    times[key].append(taken)
    return {key: statistics.median(found) for key, found in times.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=60, dest="runs", help="runs of each kind")
    found = measure(parser.parse_args().runs)
    missed = 0
    for base in (SHELL, PYTHON):
        print(f"{base:34s} {found[base]:6.2f} ms")
    for name, (_, _, base, goal) in CALLS.items():
        ratio = found[name] / found[base]
        missed += bool(goal) and ratio > goal
        print(f"{name:34s} {found[name]:6.2f} ms  {ratio:4.2f} x {base}" + (f"  (goal {goal} x)" if goal else ""))
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
