"""What happens to users who are unlucky: settings in odd forms and places, inits at once, a kill, a full disk, an upgrade."""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from guard.agents import changes, hook_commands, inspection, launchers, made, plans, settings, wiring
from guard.agents.plans import Where
from guard.agents.wirings import JSON, JSONC, ME, PLUGIN, WIRINGS
from guard.errors import GuardError
from tests.agents import hooking

PATH = "/usr/local/bin:/usr/bin:/bin"
AS_PERSON = """\
import sys
from guard import cli, person
person.require = lambda what: None
sys.exit(cli.main(sys.argv[1:]))"""
MERGED = [client for client in WIRINGS if WIRINGS[client].shape != PLUGIN and WIRINGS[client].me[0].format in (JSON, JSONC)]


class User:
    """Somebody with a home directory of any name, and a project."""

    def __init__(self, home: Path, project: Path, **environ: str) -> None:
        self.home, self.project = home, project
        for directory in (home, project / "specs", project / ".git"):
            directory.mkdir(parents=True, exist_ok=True)
        (project / "specs/a.md").write_text("a\n" * 5)
        root = str(hooking.ROOT)
        self.environ = {"HOME": str(home), "PATH": PATH, "LC_ALL": "C.UTF-8", "PYTHONPATH": root, **environ}

    def start(self, *words: str) -> subprocess.Popen[str]:
        argv = [sys.executable, "-c", AS_PERSON, *words]
        streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(argv, cwd=self.project, env=self.environ, text=True, **streams)

    def guard(self, *words: str) -> tuple[int, str]:
        process = self.start(*words)
        out, error = process.communicate(timeout=120)
        return process.returncode, out + error

    def where(self) -> Where:
        return Where(ME, self.environ, str(self.project), f"{self.home}/.local/share/guard")


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path.resolve() / "home", tmp_path.resolve() / "project")


def commands(text: str) -> list[str]:
    """The commands of guard's in the settings of Claude Code."""
    hooks = json.loads(text)["hooks"]
    return [hook["command"] for groups in hooks.values() for group in groups for hook in group["hooks"]]


@pytest.mark.parametrize(
    "name", ["it's a home", 'the "big" one', "two\nlines", "ünïcode ☃", "$HOME `id` $(id)", "back\\slash", "-rf"]
)
def test_a_home_with_any_name_is_guarded(name: str, tmp_path: Path) -> None:
    user = User(tmp_path.resolve() / name, tmp_path.resolve() / "project")
    status, said = user.guard("init", "--yes", "--no-config", "--agent", "claude", "--agent", "codex", "--agent", "opencode")
    assert status == 0, said
    found = commands((user.home / ".claude/settings.json").read_text())
    environ = {"HOME": str(user.home), "PATH": PATH}
    for command, refused in (("rm -rf specs", True), ("rm -rf build", False)):
        payload = json.dumps(hooking.bash(user.project, command))
        run = subprocess.run(["sh", "-c", found[0]], input=payload, cwd=user.project, env=environ, capture_output=True, text=True)
        assert (run.returncode, "would delete" in run.stderr) == ((2, True) if refused else (0, False)), run.stderr
    assert inspection.entries("claude", user.environ, "")
    assert not [each for each in inspection.findings("claude", user.environ, "") if each.severity == "off"]
    assert not [each for each in inspection.findings("opencode", user.environ, "") if each.severity == "off"]
    assert user.guard("uninstall", "--yes", "--purge")[0] == 0
    assert not (user.home / ".claude").exists()
    assert not (user.home / ".codex").exists()


@pytest.mark.parametrize("client", MERGED)
@pytest.mark.parametrize(
    "text",
    [
        '{"hooks": {"X": []}, "hooks": {"Y": []}}',
        '{"hooks": {"Y": [], "Y": []}}',
        '{"a": 1, "a": {"hooks": 1}}',
    ],
)
def test_of_settings_given_twice_those_count_that_the_client_sees(client: str, text: str) -> None:
    row = WIRINGS[client]
    document = settings.read("/s", row.me[0].format, text.encode())
    wired = wiring.wired(client, document, hook_commands.commands(client, "/h/guard"))
    seen = json.loads(wired.text)
    assert set(row.events) <= set(seen["hooks"])
    assert {key: value for key, value in seen.items() if key not in ("hooks", *row.top)} == {
        key: value for key, value in json.loads(text).items() if key != "hooks"
    }
    assert wiring.wired(client, wired, hook_commands.commands(client, "/h/guard")).text == wired.text
    assert not list(wiring.entries(client, wiring.unwired(client, wired)))


@pytest.mark.parametrize(
    "text",
    [
        '{"hooks": []}',
        '{"hooks": "x"}',
        '{"hooks": {"PreToolUse": {}}}',
        "[]",
        "3",
        '{"a": ' * 300 + "1" + "}" * 300,
        '{"a": "' + "x" * (10 << 20) + '"}',
        '{"hooks": {"PreToolUse": "x"}}',
    ],
    ids=lambda text: text[:30],
)
def test_what_cannot_be_merged_is_told_and_nothing_is_written(text: str, user: User) -> None:
    path = user.home / ".claude/settings.json"
    path.parent.mkdir()
    path.write_text(text)
    status, said = user.guard("init", "--yes", "--agent", "codex", "--agent", "claude")
    assert status == 64, said
    assert str(path) in said
    assert path.read_text() == text
    assert sorted(each.name for each in user.home.iterdir()) == [".claude"]
    assert not (user.project / "guard.toml").exists()


def test_odd_entries_beside_guards_stay_what_they_are(user: User) -> None:
    odd = {"PreToolUse": [1, None, "x", [], {"hooks": 3}, {"hooks": [None, 7, {"command": 9}]}], "Other": 5, "Stop": [[]]}
    document = settings.read("/s", JSON, json.dumps({"hooks": odd}).encode())
    wired = wiring.wired("claude", document, hook_commands.commands("claude", "/h/guard"))
    assert wired.value["hooks"]["PreToolUse"][:-1] == odd["PreToolUse"]
    assert wiring.unwired("claude", wired).value == {"hooks": odd}


def test_two_clients_that_share_a_file_cannot_both_be_wired(tmp_path: Path) -> None:
    shared = tmp_path.resolve() / "shared"
    user = User(tmp_path.resolve() / "home", tmp_path.resolve() / "project", CLAUDE_CONFIG_DIR=str(shared), QWEN_HOME=str(shared))
    shared.mkdir()
    (shared / "settings.json").write_text('{"model": "x"}\n')
    status, said = user.guard("init", "--yes", "--no-config", "--agent", "claude", "--agent", "qwen")
    assert status == 64
    assert "claude and qwen both have their settings there" in said
    assert (shared / "settings.json").read_text() == '{"model": "x"}\n'
    assert user.guard("init", "--yes", "--no-config", "--agent", "claude")[0] == 0
    assert len(commands((shared / "settings.json").read_text())) == len(WIRINGS["claude"].events)


def test_settings_that_are_links_into_another_directory_stay_links(user: User, tmp_path: Path) -> None:
    dotfiles = tmp_path.resolve() / "dotfiles"
    (dotfiles / "claude").mkdir(parents=True)
    (dotfiles / "claude/settings.json").write_text('{"model": "x"}\n')
    (dotfiles / "claude/settings.json").chmod(0o640)
    (user.home / ".claude").symlink_to(dotfiles / "claude")
    (user.home / ".codex").mkdir()
    (user.home / ".codex/config.toml").symlink_to("../../dotfiles/codex.toml")  # to nothing yet
    assert user.guard("init", "--yes", "--no-config", "--agent", "claude", "--agent", "codex")[0] == 0
    assert len(commands((dotfiles / "claude/settings.json").read_text())) == len(WIRINGS["claude"].events)
    assert stat.S_IMODE((dotfiles / "claude/settings.json").stat().st_mode) == 0o640
    assert "bin/hook" in (dotfiles / "codex.toml").read_text()
    assert user.guard("uninstall", "--yes")[0] == 0
    assert (dotfiles / "claude/settings.json").read_text() == '{"model": "x"}\n'
    assert not (dotfiles / "codex.toml").exists()
    assert (user.home / ".claude").is_symlink()
    assert (user.home / ".codex/config.toml").is_symlink()


def test_several_inits_at_once_leave_one_wiring(user: User) -> None:
    (user.home / ".claude").mkdir()
    (user.home / ".claude/settings.json").write_text('{"model": "x"}')
    running = [user.start("init", "--yes", "--agent", "claude", "--agent", "codex") for _ in range(4)]
    ended = [(process.communicate(timeout=120), process.returncode) for process in running]
    assert 0 in [status for _, status in ended]
    for (_, error), status in ended:
        assert status == 0 or "somebody else has just written it" in error, error
    assert len(commands((user.home / ".claude/settings.json").read_text())) == len(WIRINGS["claude"].events)
    assert launchers.state(f"{user.home}/.local/share/guard") == "whole"
    assert user.guard("uninstall", "--yes")[0] == 0
    assert (user.home / ".claude/settings.json").read_text() == '{"model": "x"}'
    assert not (user.home / ".codex").exists()


def test_whoever_is_killed_at_any_moment_leaves_whole_files_and_init_goes_on(user: User) -> None:
    (user.home / ".claude").mkdir()
    (user.home / ".claude/settings.json").write_text('{"model": "x"}')
    for delay in (0.3, 0.5, 0.7, 0.9, 1.2):
        process = user.start("init", "--yes", "--agent", "claude")
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        text = (user.home / ".claude/settings.json").read_text()
        assert json.loads(text)["model"] == "x"
        if "hooks" in json.loads(text):  # what they name is there
            assert launchers.state(f"{user.home}/.local/share/guard") == "whole"
    assert user.guard("init", "--yes", "--agent", "claude")[0] == 0
    assert launchers.state(f"{user.home}/.local/share/guard") == "whole"
    assert user.guard("uninstall", "--yes")[0] == 0
    assert (user.home / ".claude/settings.json").read_text() == '{"model": "x"}'
    assert [each.name for each in (user.home / ".claude").iterdir()] == ["settings.json"]


def test_on_a_full_disk_nothing_is_half_written(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    path = user.home / ".claude/settings.json"
    path.parent.mkdir()
    path.write_text('{"model": "x"}')
    state = user.home / "state"
    planned = [plans.wire(client, user.where()) for client in ("codex", "claude")]
    fsync, left = os.fsync, [0]

    def full(fd: int) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        fsync(fd)

    monkeypatch.setattr(os, "fsync", full)
    for room in range(3):
        left[0] = room
        with pytest.raises(GuardError, match="No space left"):
            changes.apply(str(state), planned)
        assert path.read_text() == '{"model": "x"}'
        assert not (user.home / ".codex/config.toml").exists()
        assert [each.name for each in path.parent.iterdir()] == ["settings.json"]
    left[0] = 100
    changes.apply(str(state), planned)
    assert commands(path.read_text())


def test_a_client_that_writes_its_settings_meanwhile_loses_nothing(user: User) -> None:
    path = user.home / ".claude/settings.json"
    path.parent.mkdir()
    path.write_text('{"model": "x"}')
    planned = plans.wire("claude", user.where())
    path.write_text('{"model": "y"}')
    with pytest.raises(GuardError, match="somebody else has just written it"):
        changes.apply(str(user.home / "state"), [planned])
    assert path.read_text() == '{"model": "y"}'
    assert made.remembered(str(user.home / "state")) == []


def test_what_was_edited_by_hand_since_stays_when_guard_goes(user: User) -> None:
    path = user.home / ".claude/settings.json"
    assert user.guard("init", "--yes", "--no-config", "--agent", "claude")[0] == 0
    value = json.loads(path.read_text())
    value["hooks"]["PreToolUse"][0]["hooks"].insert(0, {"type": "command", "command": "mine"})
    value["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "say done"}]})
    value["hooks"]["SessionStart"][0]["hooks"][0]["timeout"] = 5
    value["model"] = "x"
    path.write_text(json.dumps(value, indent=4))
    assert user.guard("uninstall", "--yes")[0] == 0
    assert json.loads(path.read_text()) == {
        "hooks": {
            "PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": "mine"}]}],
            "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
        },
        "model": "x",
    }


def test_another_version_of_guard_changes_no_command(user: User) -> None:
    """So that no client asks for a review again, and what was taken down before can still be taken back."""
    path = user.home / ".claude/settings.json"
    assert user.guard("init", "--yes", "--agent", "claude", "--agent", "codex")[0] == 0
    before = path.read_bytes(), (user.home / ".codex/config.toml").read_bytes()
    data = user.home / ".local/share/guard"
    current = data / "runtime/current"
    old = current.resolve()
    older = old.with_name("0.0.1-older")
    old.rename(older)
    current.unlink()
    current.symlink_to(older.name)
    (data / "bin/hook").write_text("#!/bin/sh\nexit 2\n")
    status, said = user.guard("init", "--yes", "--agent", "claude", "--agent", "codex")
    assert status == 0, said
    assert (path.read_bytes(), (user.home / ".codex/config.toml").read_bytes()) == before
    assert current.resolve() != older
    assert (data / "bin/hook").read_bytes() != b"#!/bin/sh\nexit 2\n"
    assert user.guard("uninstall", "--yes")[0] == 0
    assert not path.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_home_that_cannot_be_written_is_told(user: User) -> None:
    user.home.chmod(0o500)
    status, said = user.guard("init", "--yes", "--no-config", "--agent", "claude")
    user.home.chmod(0o700)
    assert status == 64
    assert "not writable" in said
    assert list(user.home.iterdir()) == []


@pytest.mark.parametrize(
    ("client", "path", "stamp"),
    [("qwen", ".qwen/settings.json", "$version"), ("opencode", ".config/opencode/opencode.json", "$schema")],
)
def test_what_the_client_has_stamped_into_a_file_of_guards_goes_with_it(user: User, client: str, path: str, stamp: str) -> None:
    file = user.home / path
    assert user.guard("init", "--yes", "--no-config", "--agent", client)[0] == 0
    made = file.read_bytes()
    file.write_text(json.dumps({stamp: "4", **json.loads(made)}))
    if client == "qwen":
        file.with_name("settings.json.orig").write_bytes(made)
    assert user.guard("uninstall", "--yes")[0] == 0
    assert list(file.parent.iterdir() if file.parent.exists() else []) == []


def test_what_the_user_has_added_to_a_file_of_guards_stays(user: User) -> None:
    file = user.home / ".qwen/settings.json"
    assert user.guard("init", "--yes", "--no-config", "--agent", "qwen")[0] == 0
    file.write_text(json.dumps({"$version": 4, "theme": "dark", **json.loads(file.read_bytes())}))
    assert user.guard("uninstall", "--yes")[0] == 0
    assert json.loads(file.read_text()) == {"$version": 4, "theme": "dark"}
