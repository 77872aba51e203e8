"""An agent's client, for tests: a program by the name of one that nothing else is above, and that runs commands.

run(argv, cwd, environ, place)      as subprocess.run with captured output; `started` is the client's own environment
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from tests import pseudo_terminal

# Leaves whoever has started it, runs the programs with what is given as standard input, all at once.
HOLDER = """
import json, os, subprocess, sys, time
job = json.load(open(sys.argv[1]))
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
while os.getppid() == job["parent"]:
    time.sleep(0.01)
def start(argv):
    return subprocess.Popen(argv, cwd=job["cwd"], env=job["environ"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, errors="surrogateescape", start_new_session=True)
def over(each):
    try:
        said = each.communicate(job["input"], timeout=job["seconds"])
    except subprocess.TimeoutExpired:
        each.kill()
        return [-99, *each.communicate()]
    return [each.returncode, *said]
done = [over(each) for each in [start(argv) for argv in job["commands"]]]
with open(job["result"] + ".new", "w") as file:
    json.dump(done, file)
os.rename(job["result"] + ".new", job["result"])
"""


def run_all(
    commands: list[list[str]],
    cwd: Path,
    environ: dict[str, str],
    place: Path,
    *,
    name: str = "claude",
    started: dict[str, str] | None = None,
    given: str = "",
    seconds: float = 120,
) -> list[subprocess.CompletedProcess[str]]:
    """Runs programs at once, each in a session of its own, below one client with the environment `started` (else `environ`)."""
    place.mkdir(exist_ok=True)
    key = f"{time.monotonic_ns():x}-{os.urandom(3).hex()}"
    job, result = place / f"call-{key}.json", place / f"done-{key}.json"
    fields = {
        "commands": commands,
        "cwd": str(cwd),
        "environ": environ,
        "input": given,
        "seconds": seconds,
        "result": str(result),
    }
    job.write_text(json.dumps({**fields, "parent": os.getpid()}))
    clean = {**(environ if started is None else started), "PYTHONHOME": sys.base_prefix}
    holder = [pseudo_terminal.program(place, name), "-c", HOLDER, job]
    subprocess.run(holder, env=clean, check=True, timeout=30, stdin=subprocess.DEVNULL)
    end = time.monotonic() + seconds + 10
    while not result.exists():
        assert time.monotonic() < end, "nothing came of it"
        time.sleep(0.01)
    done = json.loads(result.read_text())
    return [subprocess.CompletedProcess(argv, *each) for argv, each in zip(commands, done, strict=True)]


def run(argv: list[str], cwd: Path, environ: dict[str, str], place: Path, **more: object) -> subprocess.CompletedProcess[str]:
    """Runs one program below a client."""
    return run_all([argv], cwd, environ, place, **more)[0]  # type: ignore[arg-type]
