"""Calls guard's hook as clients do: a process, a payload on its standard input, a home of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
PAYLOADS = ROOT / "tests/data/payloads"  # as the clients gave them
CALLS = ROOT / "tests/data/calls"  # in the same shapes, with something to refuse in each
START = ROOT / "guard/hot/start.py"
PLACE = "/home/user/project"  # where the recorded payloads are at home
CONTENT = "one\ntwo\nthree\nfour\n"


class Said(NamedTuple):
    """What a hook answered."""

    status: int
    out: str
    error: str

    @property
    def refused(self) -> bool:
        return self.status == 2 and self.error.startswith("guard: ") and self.error.endswith("\n")

    @property
    def consented(self) -> bool:
        return self == (0, "", "")


def environment(project: Path, **more: str) -> dict[str, str]:
    """A clean environment with the home beside the project."""
    home = project.parent / "home"
    home.mkdir(exist_ok=True)
    return {"HOME": str(home), "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", **more}


def hook(project: Path, *arguments: str, payload: bytes | dict[str, Any], **environ: str) -> Said:
    """Calls the hook as the launcher does."""
    argv = [sys.executable, "-I", "-S", str(START), "hook", *arguments]
    return call(argv, project, payload, **environ)


def call(argv: Sequence[str], project: Path, payload: bytes | dict[str, Any], **environ: str) -> Said:
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    run = subprocess.run(
        argv, input=data, capture_output=True, cwd=project, env=environment(project, **environ), timeout=60, check=False
    )
    return Said(run.returncode, run.stdout.decode(), run.stderr.decode())


def tree(top: Path) -> Path:
    """A small repository with kept, locked and plain files."""
    for name in ("specs/a.md", "specs/b.md", "build/x.o", "src/main.py", "PROMPT.md", "locked/n.ipynb", "locked/a.sql"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(CONTENT)
    (top / "guard.toml").write_text('[protect]\nlock = ["/locked/"]\n')
    subprocess.run(["git", "init", "-q", str(top)], check=True)
    return top


def recorded(path: Path, project: Path) -> dict[str, Any]:
    """A recorded payload, at home in the project."""
    text = path.read_text().replace(PLACE, str(project))
    found = json.loads(text)
    assert isinstance(found, dict)
    return found


def named(pattern: str, top: Path = CALLS) -> list[Path]:
    """The payloads whose client and name match."""
    found = sorted(top.glob(pattern))
    assert found, pattern
    return found


def label(path: Path) -> str:
    return f"{path.parent.name}-{path.stem}"


def bash(project: Path, command: str, **more: Any) -> dict[str, Any]:
    """What Claude Code says before a shell runs."""
    return before(project, "Bash", {"command": command}, **more)


def before(project: Path, tool: str, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
    event = {"session_id": "s-1", "cwd": str(project), "hook_event_name": "PreToolUse", "tool_use_id": "t-1"}
    return {**event, "tool_name": tool, "tool_input": arguments, **more}
