"""A client of an agent's that a command starts without guard's hook counts as protection that is lifted."""

from __future__ import annotations

from pathlib import Path

import pytest

from guard.effects import LIFT
from guard.shell.analyse import analyse
from guard.tools.clients import NAMES, ROWS
from guard.world import World

WIRED = '{"hooks": {"PreToolUse": [{"hooks": [{"command": "\'/home/user/.local/share/guard/bin/hook\' claude"}]}]}}'
USERS = {
    "claude": ".claude/settings.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
    "qwen": ".qwen/settings.json",
    "copilot": ".copilot/hooks/guard.json",
    "cursor-agent": ".cursor/hooks.json",
    "opencode": ".config/opencode/opencode.json",
}


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A project of somebody whose clients all call guard."""
    for path in USERS.values():
        put(tmp_path / "home" / path, WIRED)
    put(tmp_path / "home/wired/settings.json", WIRED)
    put(tmp_path / "home/bare/settings.json", "{}")
    put(tmp_path / "project/off.json", '{"disableAllHooks": true}')
    put(tmp_path / "project/on.json", '{"disableAllHooks": false, "model": "m"}')
    put(tmp_path / "project/specs/a.md", "text\n")
    return tmp_path / "project"


def lifts(command: str, here: Path) -> bool:
    """Does the command start a client without guard?"""
    environ = {"HOME": str(here.parent / "home"), "PATH": "/usr/bin:/bin"}
    return any(effect.action == LIFT for effect in analyse(command, str(here), World(environ)).effects)


UNGUARDED = [
    "claude --bare -p 'tidy up'",
    "claude -p x --safe-mode",
    "env CLAUDE_CODE_SIMPLE=1 claude -p x",
    "claude --settings '{\"disableAllHooks\": true}' -p x",
    "claude --settings=off.json -p x",
    "claude -p x --setting-sources project,local",
    "CLAUDE_CONFIG_DIR=~/bare claude -p x",
    "CLAUDE_CONFIG_DIR=$(mktemp -d) claude -p x",
    "export CLAUDE_CONFIG_DIR=/tmp/none; claude -p x",
    "HOME=/tmp/none claude -p x",
    "npx @anthropic-ai/claude-code --bare -p x",
    "cd specs && nohup claude --bare -p x &",
    "bash -c 'claude --bare -p x'",
    "codex exec -c features.hooks=false x",
    "codex exec --disable hooks x",
    "codex exec --config=features.codex_hooks=false x",
    "codex exec --ignore-user-config x",
    "CODEX_HOME=/tmp/none codex exec x",
    "GEMINI_CLI_HOME=/tmp/none gemini -p x",
    "qwen --bare -p x",
    "QWEN_CODE_SIMPLE=1 qwen -p x",
    "opencode run --pure x",
    "XDG_CONFIG_HOME=/tmp/none opencode run x",
    "HOME=/tmp/none copilot -p x",
    "HOME=/tmp/none cursor-agent -p x",
]
GUARDED = [
    "claude -p 'say --bare'",
    "claude -p x -- --bare",
    'claude --settings \'{"model": "m"}\' -p x',
    "claude --settings on.json -p x",
    "claude --setting-sources user -p x",
    "CLAUDE_CONFIG_DIR=~/wired claude -p x",
    "CLAUDE_CONFIG_DIR=~/.claude claude -p x",
    "CLAUDE_CODE_SIMPLE=0 claude -p x",
    "env -i PATH=$PATH claude -p x",
    "codex exec -c model=m --disable web_search x",
    "codex exec -c features.hooks=true x",
    "echo claude --bare",
    "qwen -p x",
    "opencode run x",
    "gemini -p x",
]


@pytest.mark.parametrize("command", UNGUARDED)
def test_a_client_that_leaves_guard_out_lifts_the_protection(command: str, here: Path) -> None:
    assert lifts(command, here)


@pytest.mark.parametrize("command", GUARDED)
def test_a_client_that_calls_guard_lifts_nothing(command: str, here: Path) -> None:
    assert not lifts(command, here)


@pytest.mark.parametrize("command", UNGUARDED)
def test_nothing_is_lifted_where_no_client_calls_guard(command: str, here: Path) -> None:
    for path in USERS.values():
        (here.parent / "home" / path).write_text("{}")
    assert not lifts(command, here)


def test_hooks_that_a_project_commits_count(here: Path) -> None:
    for path in USERS.values():
        (here.parent / "home" / path).unlink()
    put(here / ".claude/settings.json", WIRED)
    assert lifts("cd specs && claude --bare -p x", here)
    assert not lifts("CLAUDE_CONFIG_DIR=/tmp/none claude -p x", here)


def test_every_name_leads_to_a_row() -> None:
    assert set(NAMES.values()) <= set(ROWS) == set(USERS)
