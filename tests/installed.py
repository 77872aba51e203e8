"""A project and a home directory in which every layer is installed, for tests of what looks at all of them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from guard import git_hooks

ROOT = Path(__file__).parent.parent
PATH = "/usr/local/bin:/usr/bin:/bin"
CLIENTS = ("claude", "codex", "gemini", "qwen", "copilot", "cursor", "opencode")


@dataclass(frozen=True)
class Installed:
    """The project, and the home directory of whoever works in it."""

    top: Path
    home: Path

    @property
    def data(self) -> Path:
        """Where runtime, shims and launchers stand."""
        return self.home / ".local/share/guard"

    @property
    def state(self) -> Path:
        """Where the log and the vault are."""
        return self.home / ".local/state/guard"

    def environ(self, **more: str) -> dict[str, str]:
        """The environment of this user."""
        return {"HOME": str(self.home), "PATH": PATH, "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8", **more}

    def guard(self, *arguments: str, cwd: Path | None = None, **more: str) -> subprocess.CompletedProcess[str]:
        """Runs guard in the project."""
        argv = [sys.executable, "-m", "guard", *arguments]
        environ = self.environ(**more)
        return subprocess.run(argv, cwd=cwd or self.top, env=environ, capture_output=True, text=True, timeout=120)


def project(top: Path) -> None:
    """Makes a small repository with protected files."""
    for name in ("specs/a.md", "specs/b.md", "build/x.o", "CLAUDE.md"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(f"{name}\n" * 5)
    subprocess.run(["git", "init", "-q", top], check=True)


def bare(directory: Path) -> Installed:
    """A project and a home in which nothing is installed."""
    found = Installed(directory / "project", directory / "home")
    found.home.mkdir(parents=True)
    project(found.top)
    return found


def whole(directory: Path) -> Installed:
    """A project and a home in which everything is installed."""
    found = bare(directory)
    agents = [word for client in CLIENTS for word in ("--agent", client)]
    done = found.guard("init", "--yes", "--shims", *agents)
    assert done.returncode == 0, done.stderr
    git_hooks.install(str(found.top), found.environ())
    return found
