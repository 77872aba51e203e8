"""A person's first ten minutes: each step is the one that the last one's words lead to."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import client, pseudo_terminal
from tests.pseudo_terminal import Seen
from tests.test_grants import top

__all__ = ["top"]


@dataclass(frozen=True)
class Desk:
    """A person's project, terminal and agent."""

    top: Path
    home: Path

    def guard(self, *words: str, **says: str) -> Seen:
        """guard at the person's terminal; `says` answers what it asks, by a word of the question."""
        argv = ["/bin/sh", "-c", '"$@"', "sh", *words]
        path = f"{self.home}/.local/share/guard/bin:{Path(pseudo_terminal.sys.executable).parent}:{pseudo_terminal.PATH}"
        environ = {**pseudo_terminal.environment(self.home), "PATH": path}
        return pseudo_terminal.run(argv, self.top, environ, self.top.parent, says=says)

    def agent(self, command: str) -> tuple[int, str]:
        """Claude Code: asks its hook as the settings say, and runs the command only where that consents."""
        settings = json.loads((self.home / ".claude/settings.json").read_text())
        (hook,) = [each["command"] for group in settings["hooks"]["PreToolUse"] for each in group["hooks"]]
        payload = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command}, "cwd": str(self.top)}
        given = json.dumps({**payload, "session_id": "s", "tool_use_id": "t", "permission_mode": "default"})
        environ = {name: value for name, value in pseudo_terminal.environment(self.home).items() if name != "PYTHONPATH"}
        environ |= {"CLAUDECODE": "1", "CLAUDE_PROJECT_DIR": str(self.top)}
        place = self.top.parent / "client"
        asked = client.run(["sh", "-c", hook], self.top, environ, place, given=given)
        if asked.returncode:
            return asked.returncode, asked.stderr
        done = client.run(["sh", "-c", command], self.top, environ, place)
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def desk(top: Path) -> Desk:
    (top.parent / "home/.claude").mkdir()
    return Desk(top, top.parent / "home")


def test_from_init_to_getting_the_files_back(desk: Desk) -> None:
    seen = desk.guard("guard", "init", **{"Write this?": "y"})
    assert seen.status == 0, seen
    assert "specs/" in seen.shown  # what is protected is shown first
    assert f"{desk.home}/.claude/settings.json" in seen.shown
    assert (desk.top / "guard.toml").exists()

    status, said = desk.agent("ls && cat specs/a.md")
    assert status == 0, said
    status, said = desk.agent("rm -rf specs")
    assert (status, (desk.top / "specs/a.md").exists()) == (2, True), said
    assert "specs/a.md" in said
    assert "stop and ask the user" in said
    assert "guard allow" not in said  # that is for the person
    name = re.search(r"\[(\w{4})\]", said)
    assert name is not None

    seen = desk.guard("guard", "explain", name[1])
    assert seen.status in (0, 1), seen
    assert "rm -rf specs" in seen.shown
    assert re.search(r"specs/a\.md", seen.shown)
    further = re.search(r"guard allow (\w{4})", seen.shown)
    assert further is not None, seen
    assert further[1] == name[1]

    seen = desk.guard("guard", "allow", name[1])
    assert (seen.status, seen.answered) == (0, 1), seen
    back = re.search(r"guard restore --from \S+ --all", seen.shown)
    assert back is not None, seen

    assert desk.agent("rm -rf specs")[0] == 0
    assert not (desk.top / "specs").exists()
    (desk.top / "specs").mkdir()
    (desk.top / "specs/a.md").write_text("new\n")
    assert desk.agent("rm -rf specs")[0] == 2  # once is once

    seen = desk.guard("guard", "log")
    assert seen.status == 0, seen
    kinds = [kind for kind in ("refused", "override", "passed") if kind in seen.shown]
    assert kinds == ["refused", "override", "passed"], seen

    seen = desk.guard(*back[0].split(), **{"Restore?": "y"})
    assert seen.status == 0, seen
    assert (desk.top / "specs/a.md").read_text() == "specs/a.md\n" * 9
    assert (desk.top / "specs/b.md").exists()
    assert "guard restore --from" in seen.shown  # what stood in the way is kept

    seen = desk.guard("guard", "uninstall", **{"Take guard out?": "y"})
    assert seen.status == 0, seen
    assert not (desk.home / ".claude/settings.json").exists()
    assert not (desk.top / "guard.toml").exists()


def test_whoever_says_no_to_init_finds_everything_as_it_was(desk: Desk) -> None:
    seen = desk.guard("guard", "init", **{"Write this?": "n"})
    assert seen.status == 3, seen
    assert list((desk.home / ".claude").iterdir()) == []
    assert not (desk.top / "guard.toml").exists()


def test_answers_of_an_agent_are_no_answers(desk: Desk) -> None:
    environ = {**pseudo_terminal.environment(desk.home), "CLAUDECODE": "1"}
    argv = [pseudo_terminal.sys.executable, "-m", "guard", "init"]
    seen = pseudo_terminal.run(argv, desk.top, environ, desk.top.parent, says={"Write this?": "y"})
    assert seen.status == 3, seen
    assert not (desk.top / "guard.toml").exists()
