"""A terminal with a person at it, for tests: a program by the name of a terminal that belongs to nobody else.

run(argv, cwd, environ, place)      gives what was shown and the exit status
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
PATH = "/usr/bin:/bin"
# What holds the terminal: runs the program in it, types the letters that it shows, or what was given for an answer.
HOLDER = """
import json, os, pty, re, select, sys, time
job = json.load(open(sys.argv[1]))
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
while os.getppid() == job["parent"]:
    time.sleep(0.01)
child, fd = pty.fork()
if child == 0:
    os.chdir(job["cwd"])
    os.execve(job["argv"][0], job["argv"], job["environ"])
shown, answered, end = b"", 0, time.monotonic() + job["seconds"]
while time.monotonic() < end:
    if select.select([fd], [], [], 0.1)[0]:
        try:
            chunk = os.read(fd, 65536)
        except OSError:
            break
        if not chunk:
            break
        shown += chunk
    for prompt in [prompt for prompt in job["says"] if prompt.encode() in shown]:
        os.write(fd, job["says"].pop(prompt).encode() + b"\\n")
    asked = re.findall(rb"Type ([a-z]{4}) to go on", shown)
    if len(asked) > answered and not job["silent"]:
        time.sleep(0.05)
        os.write(fd, (asked[answered] if job["answer"] is None else job["answer"].encode()) + b"\\n")
        answered += 1
try:
    os.kill(child, 0 if time.monotonic() < end else 9)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
except OSError:
    status = -1
with open(job["result"] + ".new", "w") as file:
    json.dump({"shown": shown.decode("utf-8", "replace"), "status": status, "answered": answered}, file)
os.rename(job["result"] + ".new", job["result"])
"""


class Seen:
    """What came of a program in a terminal."""

    def __init__(self, shown: str, status: int, answered: int) -> None:
        self.shown = shown.replace("\r\n", "\n")
        self.status = status
        self.answered = answered

    def __repr__(self) -> str:
        return f"Seen({self.status}, {self.answered}, {self.shown!r})"


def program(place: Path, name: str = "xterm") -> Path:
    """A copy of this Python under another name: the system knows processes by the file that they run."""
    found = place / "programs" / name
    if not found.exists():
        found.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(os.path.realpath(sys.executable), found)
    return found


def environment(home: Path, **more: str) -> dict[str, str]:
    """The environment of a person's shell."""
    return {"HOME": str(home), "PATH": PATH, "LC_ALL": "C.UTF-8", "TERM": "xterm", "PYTHONPATH": str(ROOT), **more}


def run(
    argv: list[str],
    cwd: Path,
    environ: dict[str, str],
    place: Path,
    answer: str | None = None,
    holder: str = "xterm",
    seconds: float = 60,
    says: dict[str, str] | None = None,
    silent: bool = False,
) -> Seen:
    """Runs a program in a terminal that `holder` holds. Letters that it shows are typed, or `answer` where it is given.

    `says` has for other questions, by the text that they are known by, what is typed. `silent` only looks on.
    """
    key = f"{time.monotonic_ns():x}"
    job, result = place / f"job-{key}.json", place / f"result-{key}.json"
    fields = {"argv": argv, "cwd": str(cwd), "environ": environ, "answer": answer, "seconds": seconds, "result": str(result)}
    job.write_text(json.dumps({**fields, "says": says or {}, "silent": silent, "parent": os.getpid()}))
    clean = {"PATH": PATH, "PYTHONHOME": sys.base_prefix, "LC_ALL": "C.UTF-8"}
    subprocess.run([program(place, holder), "-c", HOLDER, job], env=clean, check=True, timeout=30, stdin=subprocess.DEVNULL)
    end = time.monotonic() + seconds + 10
    while not result.exists():
        assert time.monotonic() < end, "nothing came of it"
        time.sleep(0.02)
    found = json.loads(result.read_text())
    return Seen(found["shown"], found["status"], found["answered"])


def guard(cwd: Path, home: Path, place: Path, *words: str, answer: str | None = None, **more: str) -> Seen:
    """guard's command line, as a person's shell starts it."""
    argv = ["/bin/sh", "-c", '"$@"; exit $?', "sh", sys.executable, "-m", "guard", *words]
    return run(argv, cwd, environment(home, **more), place, answer)
