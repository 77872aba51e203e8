"""Wiring outlives what guard was installed with: pipx, uv, an environment of the project's own, the Python behind them.

These run with GUARD_E2E=1, where the installer is on PATH; they take packages from the index that pip and uv are set up for.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.installed import PATH, ROOT, project

# Read now: the tests clear the environment.
FOUND = {name: shutil.which(name) for name in ("pipx", "uv")}
INDEX = {key: value for key, value in os.environ.items() if key.startswith(("PIP_", "UV_", "SSL_", "HTTP", "http", "REQUESTS_"))}
SECONDS = 300
ROUNDS = {"rm -rf specs": 2, "rm -rf build": 0, "ls": 0, "git clean -fdx": 2}


@dataclass
class User:
    """Somebody with a project, a home directory, and programs of their own."""

    top: Path
    python: str = sys.executable
    more: dict[str, str] = field(default_factory=dict)

    @property
    def project(self) -> Path:
        return self.top / "project"

    @property
    def home(self) -> Path:
        return self.top / "home"

    def run(self, *argv: str | Path, code: int = 0) -> str:
        """Runs a program in the project; gives its output."""
        environ = {**INDEX, "HOME": str(self.home), "PATH": PATH, "LC_ALL": "C.UTF-8", **self.more}
        ended = subprocess.run(argv, cwd=self.project, env=environ, capture_output=True, text=True, timeout=SECONDS)
        assert ended.returncode == code, f"{argv}\n{ended.stdout}\n{ended.stderr}"
        return ended.stdout + ended.stderr

    def answers(self) -> dict[str, int]:
        """How the hook that the client's settings name answers some commands: the statuses."""
        settings = json.loads((self.home / ".claude/settings.json").read_text())
        command = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
        found = {}
        for each in ROUNDS:
            payload = {
                "session_id": "s",
                "cwd": str(self.project),
                "hook_event_name": "PreToolUse",
                "tool_name": "Bash",
                "tool_input": {"command": each},
                "tool_use_id": f"t{len(found)}",
            }
            said = subprocess.run(
                ["sh", "-c", command],
                input=json.dumps(payload),
                cwd=self.project,
                env={"HOME": str(self.home), "PATH": PATH},
                capture_output=True,
                text=True,
                timeout=60,
            )
            found[each] = said.returncode
            if said.returncode == 2:
                assert "would delete" in said.stderr, said.stderr  # judged, not just refused
        return found

    def holds(self) -> None:
        """Fails unless the wiring judges as ever, and guard's own command line works from the runtime alone."""
        assert self.answers() == ROUNDS
        guard = self.home / ".local/share/guard/bin/guard"
        assert "would delete" in self.run(guard, "check", "rm -rf specs", code=1)
        assert "specs" in self.run(guard, "list")


@pytest.fixture
def user(tmp_path: Path) -> User:
    found = User(tmp_path.resolve())
    (found.home / ".claude").mkdir(parents=True)
    project(found.project)
    return found


def program(name: str) -> str:
    """Where an installer is. Skips the test where it is not there."""
    path = FOUND[name]
    if path is None:
        pytest.skip(f"{name} is not on PATH")
    return path


def environment(user: User, path: Path) -> Path:
    """A virtual environment with guard in it; gives its guard."""
    user.run(user.python, "-m", "venv", path)
    user.run(path / "bin/python", "-m", "pip", "install", "-q", ROOT)
    return path / "bin/guard"


def test_pipx_uninstall_leaves_the_wiring_whole(user: User) -> None:
    pipx = program("pipx")
    user.more = {"PIPX_HOME": str(user.top / "pipx"), "PIPX_BIN_DIR": str(user.top / "bin")}
    user.run(pipx, "install", "--python", user.python, str(ROOT))
    user.run(user.top / "bin/guard", "init", "--yes", "--agent", "claude")
    assert user.answers() == ROUNDS
    user.run(pipx, "uninstall", "pathguard")
    assert not (user.top / "bin/guard").exists()
    user.holds()


def test_an_upgrade_by_pipx_leaves_the_wiring_whole(user: User) -> None:
    pipx = program("pipx")
    user.more = {"PIPX_HOME": str(user.top / "pipx"), "PIPX_BIN_DIR": str(user.top / "bin")}
    user.run(pipx, "install", "--python", user.python, str(ROOT))
    user.run(user.top / "bin/guard", "init", "--yes", "--agent", "claude")
    before = (user.home / ".claude/settings.json").read_bytes()
    user.run(pipx, "install", "--force", "--python", user.python, str(ROOT))
    user.run(user.top / "bin/guard", "init", "--yes", "--agent", "claude")
    assert (user.home / ".claude/settings.json").read_bytes() == before
    shutil.rmtree(user.top / "pipx")
    user.holds()


def _pruned(uv: str, user: User) -> None:
    user.run(uv, "cache", "prune")


def _emptied(uv: str, user: User) -> None:
    user.run(uv, "cache", "clean")
    shutil.rmtree(user.top / "cache", ignore_errors=True)


@pytest.mark.parametrize("gone", [_pruned, _emptied])
def test_wiring_by_uvx_outlives_its_cache(user: User, gone: Callable[[str, User], None]) -> None:
    uv = program("uv")
    user.more = {"UV_CACHE_DIR": str(user.top / "cache"), "UV_PYTHON_DOWNLOADS": "never"}
    user.run(uv, "tool", "run", "--python", user.python, "--from", str(ROOT), "guard", "init", "--yes", "--agent", "claude")
    gone(uv, user)
    user.holds()


def test_wiring_by_uv_tool_outlives_the_tool(user: User) -> None:
    uv = program("uv")
    user.more = {"UV_CACHE_DIR": str(user.top / "cache"), "UV_TOOL_DIR": str(user.top / "tools")}
    user.more |= {"UV_TOOL_BIN_DIR": str(user.top / "bin"), "UV_PYTHON_DOWNLOADS": "never"}
    user.run(uv, "tool", "install", "--python", user.python, str(ROOT))
    user.run(user.top / "bin/guard", "init", "--yes", "--agent", "claude")
    user.run(uv, "tool", "uninstall", "pathguard")
    user.holds()


def test_an_environment_of_the_project_that_is_deleted_leaves_the_wiring_whole(user: User) -> None:
    guard = environment(user, user.project / ".venv")
    user.run(guard, "init", "--yes", "--agent", "claude")
    assert str(user.project) not in (user.home / ".claude/settings.json").read_text()
    shutil.rmtree(user.project / ".venv")
    user.holds()


def test_a_python_that_is_removed_leaves_the_wiring_whole(user: User) -> None:
    if sys.base_prefix in ("/usr", "/usr/local") or not any(os.access(f"{top}/python3", os.X_OK) for top in PATH.split(":")):
        pytest.skip("this Python cannot be copied, or there is no other one")
    copy = user.top / "python"
    shutil.copytree(sys.base_prefix, copy, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", "test", "site-packages"))
    user.python = f"{copy}/bin/python{sys.version_info[0]}.{sys.version_info[1]}"
    user.run(environment(user, user.top / "venv"), "init", "--yes", "--agent", "claude")
    assert str(copy) in (user.home / ".local/share/guard/bin/guard").read_text()
    assert user.answers() == ROUNDS
    shutil.rmtree(copy)
    user.holds()
