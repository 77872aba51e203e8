"""A guarded project for a real client: GUARD_E2E=1 runs these tests, with the clients that are found."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.clients import CLIENTS, PATH, Client, Run, run
from tests.e2e.server import Call

ROOT = Path(__file__).parents[2]
PLAN = "# Plan\n\n- [ ] write the parser\n- [ ] write the tests\n"
TREE = {
    "CLAUDE.md": "# Rules\n\nKeep the tests green.\nWrite short functions.\nAsk before you delete.\n",
    "AGENTS.md": "# Agents\n\nRead CLAUDE.md first.\n",
    "IMPLEMENTATION_PLAN.md": PLAN,
    "specs/a.md": "# A\n\nThe parser reads one line at a time.\nIt keeps the blank ones.\n",
    "specs/deep/b.md": "# B\n\nThe writer never truncates.\n",
    "build/x.o": "object\n",
    "src/main.py": "print('hello')\n",
    "Makefile": "wipe:\n\trm -rf specs build\n",
}
# Below /etc: where settings for every user stand.
SYSTEM = ("claude-code", "codex", "gemini-cli", "qwen-code", "cursor", "opencode", "guard", "profile.d/zz-guard.sh")
PROTECTED = ("CLAUDE.md", "AGENTS.md", "IMPLEMENTATION_PLAN.md", "specs/a.md", "specs/deep/b.md")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without GUARD_E2E=1 nothing here runs."""
    if os.environ.get("GUARD_E2E") != "1":
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(pytest.mark.skip(reason="real clients are only run with GUARD_E2E=1"))


@dataclass
class Place:
    """A project in a home directory of its own, and the client that works there."""

    client: Client
    home: Path
    project: Path
    wrapper: list[str]

    def guard(self, *argv: str) -> subprocess.CompletedProcess[str]:
        """Runs guard's own command line there, as the user of the client would."""
        return subprocess.run(
            [*self.wrapper, sys.executable, "-m", "guard", *argv],
            cwd=self.project,
            env={"HOME": str(self.home), "PATH": PATH, "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )

    def agent(self, *calls: Call, **given: Any) -> Run:
        """Lets the client make the calls, as `run` does. It has to come to its end, whatever became of them."""
        ended = run(self.client, calls, self.project, self.home, wrapper=self.wrapper, **given)
        assert len(ended.results) == len(calls), f"{ended.results}\n{ended.output[-2000:]}\n{ended.errors[-2000:]}"
        assert ended.status == 0, f"{ended.output[-2000:]}\n{ended.errors[-2000:]}"
        return ended

    def path(self, name: str) -> str:
        """An absolute path in the project."""
        return str(self.project / name)

    def reading(self, name: str) -> list[Call]:
        """The calls that read a file: some clients write only what they have read before."""
        return [self.client.read(self.path(name))] if self.client.read else []

    def lost(self) -> list[str]:
        """The protected files that are not as they were."""
        return [name for name in PROTECTED if self.read(name) != TREE[name]]

    def read(self, name: str) -> str | None:
        """The text of a file; None where there is none."""
        path = self.project / name
        return path.read_text() if path.exists() else None


@pytest.fixture(scope="session")
def etc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of /etc as it is where no client and no guard has been installed for every user."""
    path = tmp_path_factory.mktemp("machine") / "etc"
    copy_tree(Path("/etc"), path)
    for name in SYSTEM:
        shutil.rmtree(path / name) if (path / name).is_dir() else (path / name).unlink(missing_ok=True)
    return path


def copy_tree(source: Path, target: Path) -> None:
    """Copies what can be read of a directory."""
    with contextlib.suppress(shutil.Error):
        shutil.copytree(source, target, symlinks=True)


def contained(top: Path, etc: Path) -> list[str]:
    """What goes before a command that shall write nothing but what lies in `top`, with an /etc and a /usr/local/lib of its own.

    Nothing where there is no bubblewrap: then what is installed for every user of this machine counts, too.
    """
    if shutil.which("bwrap") is None:
        return []
    (top / "lib").mkdir(exist_ok=True)
    binds = [*("--bind", top, top), *("--bind", etc, "/etc"), *("--bind", top / "lib", "/usr/local/lib")]
    return ["bwrap", "--ro-bind", "/", "/", *map(str, binds), "--dev", "/dev", "--proc", "/proc", "--die-with-parent", "--"]


@pytest.fixture
def make_place(tmp_path: Path, etc: Path) -> Callable[[str], Place]:
    """Makes a project for a client, by name, with nothing wired."""
    return lambda name: new_place(name, tmp_path.resolve(), etc)


def new_place(name: str, top: Path, etc: Path) -> Place:
    """A project for a client in a directory, with nothing wired. Skips the test where the client is not here."""
    client = CLIENTS[name]
    if client.program() is None:
        pytest.skip(f"{name} is not installed: set GUARD_E2E_CLIENTS")
    home, project = top / "home", top / "work" / "project"
    home.mkdir()
    for path, text in TREE.items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(text)
    place = Place(client, home, project, contained(top, etc))
    settle(place)
    commit(project)
    return place


def settle(place: Place) -> None:
    """What the client wants in its home before it runs."""
    for name, text in place.client.settings.items():
        (place.home / name).parent.mkdir(parents=True, exist_ok=True)
        (place.home / name).write_text(text)


def commit(project: Path) -> None:
    """Makes the project a repository with one commit."""
    git = ("git", "-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "init.defaultBranch=main")
    subprocess.run([*git, "init", "-q"], cwd=project, check=True)
    subprocess.run([*git, "add", "-A"], cwd=project, check=True)
    subprocess.run([*git, "commit", "-qm", "start"], cwd=project, check=True)


@pytest.fixture
def make_guarded(make_place: Callable[[str], Place]) -> Callable[[str], Place]:
    """Makes a project for a client, by name, and wires it with `guard init`."""
    return lambda name: wired(make_place(name))


def wired(place: Place) -> Place:
    """The place after `guard init`."""
    said = place.guard("init", "--yes", "--agent", place.client.name)
    assert said.returncode == 0, said.stdout + said.stderr
    return place
