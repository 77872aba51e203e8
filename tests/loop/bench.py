"""A project, a scripted agent and guard's command line around them, for tests of the loop."""

from __future__ import annotations

import atexit
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
AGENT = Path(__file__).parent / "agents" / "scripted.py"
START = 1_796_040_000  # a Monday, 12:00 UTC
EDIT = 'echo "line $N $RANDOM$$" >> src/a.py'
FILES = {
    ".gitignore": ".ralph/\nbuild/\n",
    ".ralph/PROMPT.md": "Work on the next task of the plan.\n",
    ".ralph/fix_plan.md": "# Plan\n\n- [ ] one\n- [ ] two\n- [ ] three\n",
    "src/a.py": "print('a')\n",
    "tests/test_a.py": "def test_a():\n    assert True\n",
    "CLAUDE.md": "# how to work here\nRun the tests first.\nKeep it simple.\n",
    "specs/a.md": "# specification\nIt has to work.\n",
}
IDENTITY = ("-c", "user.name=test", "-c", "user.email=test@example.invalid", "-c", "init.defaultBranch=main")


def block(status: str, signal: bool | str, **more: str) -> str:
    """A status block."""
    value = signal if isinstance(signal, str) else str(signal).lower()
    keys = "".join(f"{name}: {text}\n" for name, text in more.items())
    return f"---RALPH_STATUS---\nSTATUS: {status}\nEXIT_SIGNAL: {value}\n{keys}---END_RALPH_STATUS---\n"


IP = block("IN_PROGRESS", False)


def step(sh: str = "", out: str = IP, exit: int = 0, err: str = "") -> dict[str, Any]:
    """One call of the agent."""
    return {"sh": sh, "out": out, "exit": exit, "err": err}


def tick(*tasks: str) -> str:
    """A command that ticks tasks."""
    return "; ".join(f"sed -i 's/- \\[ \\] {task}$/- [x] {task}/' .ralph/fix_plan.md" for task in tasks)


@dataclass
class Seen:
    """What came of a command."""

    code: int
    out: str
    err: str


@functools.cache
def runtime() -> str:
    """Where the copies of guard lie that are put outside of environments: one for all projects of these tests, made once."""
    found = tempfile.mkdtemp(prefix="guard-runtime-")
    atexit.register(shutil.rmtree, found, ignore_errors=True)
    return found


@dataclass
class Bench:
    """A project below a temporary directory. `clock`: time comes from a file."""

    tmp: Path
    clock: bool = True
    environ: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.top = self.tmp / "project"
        self.home = self.tmp / "home"
        self.state = self.tmp / "state"
        self.script = self.tmp / "script.json"
        self.time = self.tmp / "clock"
        for directory in (self.top, self.home, self.state):
            directory.mkdir()
        data = self.home / ".local/share/guard"
        data.mkdir(parents=True)
        (data / "runtime").symlink_to(runtime())
        self.time.write_text(str(START))
        for name, content in FILES.items():
            self.write(name, content)
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-qm", "start")

    def write(self, name: str, content: str) -> None:
        """Writes a file of the project."""
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)

    def git(self, *words: str) -> str:
        """Runs git in the project."""
        environ = {"HOME": str(self.home), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}
        done = subprocess.run(["git", *IDENTITY, *words], cwd=self.top, env=environ, check=True, capture_output=True, text=True)
        return done.stdout

    def environment(self) -> dict[str, str]:
        """What guard is started with."""
        own = {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "LC_ALL": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "test",
            "GIT_AUTHOR_EMAIL": "test@example.invalid",
            "GIT_COMMITTER_NAME": "test",
            "GIT_COMMITTER_EMAIL": "test@example.invalid",
            "GUARD_STATE_DIR": str(self.state),
            "PYTHONPATH": str(ROOT),
            "CLOCK": str(self.time),
        }
        return own | self.environ

    def argv(self, *words: str) -> list[str]:
        """guard's command line."""
        if self.clock:
            return [sys.executable, "-m", "guard.testing", "--clock", str(self.time), "--", *words]
        return [sys.executable, "-m", "guard", *words]

    def guard(self, *words: str, timeout: float = 120) -> Seen:
        """Runs guard."""
        done = subprocess.run(
            self.argv(*words),
            cwd=self.top,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
        )
        return Seen(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))

    def agent(self, steps: list[dict[str, Any]]) -> list[str]:
        """The words of an agent with a new script."""
        self.script.write_text(json.dumps(steps))
        Path(f"{self.script}.calls").unlink(missing_ok=True)
        return ["--", sys.executable, str(AGENT), str(self.script)]

    def loop(self, steps: list[dict[str, Any]], *options: str, timeout: float = 120) -> Seen:
        """Runs a loop with a script."""
        return self.guard("loop", *options, *self.agent(steps), timeout=timeout)

    def start(self, steps: list[dict[str, Any]], *options: str) -> subprocess.Popen[bytes]:
        """Starts a loop, and does not wait for it."""
        return subprocess.Popen(
            self.argv("loop", *options, *self.agent(steps)),
            cwd=self.top,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def prompts(self) -> list[str]:
        """What the agent was told, a call each."""
        path = Path(f"{self.script}.calls")
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    @property
    def calls(self) -> int:
        """How many calls the agent got from its present script."""
        return len(self.prompts())

    @property
    def directory(self) -> Path:
        """The loop's directory in the state."""
        (found,) = (self.state / "loops").iterdir()
        return found

    def status(self) -> dict[str, Any]:
        """What `guard loop status --json` says."""
        seen = self.guard("loop", "status", "--json")
        assert seen.code == 0, seen.err
        found: dict[str, Any] = json.loads(seen.out)
        return found

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        """The events of the journal, of these kinds."""
        lines = (self.directory / "journal.jsonl").read_text().splitlines()
        found = [json.loads(line) for line in lines]
        return [event for event in found if not kinds or event["ev"] in kinds]

    def later(self, minutes: float) -> None:
        """Moves the clock."""
        self.time.write_text(str(float(self.time.read_text()) + 60 * minutes))
