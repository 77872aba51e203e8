"""The wiring by meaning: off switches and lost entries are refused, whatever writes them; the rest of a file is the user's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from guard.agents import read
from guard.agents.table import CLIENTS
from guard.hot import hook, judgement
from tests.agents.hooking import before

WIRED = (
    "'/home/user/.local/share/guard/bin/hook' claude || { [ $? = 2 ] || "
    "echo 'guard: refused: its hook cannot run. Repair it with: guard doctor' >&2; exit 2; }"
)
ENTRY = {"matcher": "*", "hooks": [{"type": "command", "command": WIRED}]}
SETTINGS: dict[str, Any] = {"model": "m", "hooks": {"PreToolUse": [ENTRY], "PostToolUse": [ENTRY]}}
OFF: dict[str, str] = {
    ".claude/settings.json": '{"disableAllHooks": true}',
    ".claude/settings.local.json": '{"permissions": {}, "disableAllHooks": true}',
    ".qwen/settings.json": '{"disableAllHooks": 1}',
    ".gemini/settings.json": '{"hooksConfig": {"enabled": false}}',
    ".github/copilot/settings.json": '{"disableAllHooks": true}',
    ".codex/config.toml": "[features]\nhooks = false\n",
    ".codex/hooks.json": '{"disableAllHooks": true}',
}
LED = [  # variables by which guard, or the settings that call it, would be looked for elsewhere
    (".claude/settings.local.json", '{"env": {"GUARD_STATE_DIR": "/tmp/x"}}'),
    (".claude/settings.json", '{"env": {"PATH": "/usr/bin:/bin"}}'),
    (".codex/config.toml", '[shell_environment_policy.set]\nXDG_CONFIG_HOME = "/tmp/x"\n'),
    (".env", "GUARD_STATE_DIR=/tmp/x"),
    (".gemini/.env", "export GEMINI_CLI_SYSTEM_SETTINGS_PATH=/tmp/x"),
]


def tool(project: Path, path: str, content: str) -> str:
    call = read.call(CLIENTS["claude"], before(project, "Write", {"file_path": path, "content": content}))
    return hook.decide(CLIENTS["claude"], call)[0].verdict.code


def shell(project: Path, command: str, **environ: str) -> str:
    home = str(project.parent / "home")
    environment = {"HOME": home, "PATH": "/usr/bin:/bin", **environ}
    return judgement.decide(command, str(project), environment, record=False).verdict.code


def put(project: Path, path: str, content: str) -> None:
    (project / path).parent.mkdir(parents=True, exist_ok=True)
    (project / path).write_text(content)


@pytest.mark.parametrize(("path", "content"), [*OFF.items(), *LED])
@pytest.mark.parametrize("top", ["", "~/"])
def test_an_off_switch_is_a_violation_though_nothing_was_there(top: str, path: str, content: str, alone: Path) -> None:
    place = f"{alone.parent}/home/{path}" if top else path
    directory = place.rpartition("/")[0] or "."
    assert tool(alone, place, content) == "lift-guard"
    assert shell(alone, f"mkdir -p {directory}; cat > {place} <<'END'\n{content}\nEND\n") == "lift-guard"
    assert shell(alone, f"mkdir -p {directory} && printf '%s' '{content}' > x && mv x {place}") == "lift-guard"


@pytest.mark.parametrize(
    "command",
    [
        "echo '{\"disableAllHooks\":true}' > .claude/settings.local.json",
        "echo '{\"disableAllHooks\":true}' | tee .claude/settings.local.json",
        "cp off.json .claude/settings.json",
        "mv off.json .claude/settings.local.json",
        "cd .claude && cp ../off.json settings.json",
        "jq '.disableAllHooks=true' wired.json > .claude/settings.local.json",
        "python3 -c \"open('.claude/settings.json','w').write('{\\\"disableAllHooks\\\": true}')\"",
        "bash -c 'cp off.json .claude/settings.json'",
    ],
)
def test_commands_that_switch_hooks_off_are_refused(command: str, alone: Path) -> None:
    put(alone, "off.json", '{"disableAllHooks": true}')
    put(alone, "wired.json", json.dumps(SETTINGS))
    put(alone, ".claude/x", "")
    assert shell(alone, command) == "lift-guard"


def changed(**more: Any) -> str:
    return json.dumps({**SETTINGS, **more})


UNWIRED = {
    "empty": "",
    "an empty object": "{}",
    "no JSON any more": json.dumps(SETTINGS) + "// a comment",
    "one entry less": changed(hooks={"PostToolUse": [ENTRY]}),
    "a matcher that leaves tools out": changed(hooks={**SETTINGS["hooks"], "PreToolUse": [{**ENTRY, "matcher": "Read"}]}),
    "another event": changed(hooks={"PostToolUse": [ENTRY], "Stop": [ENTRY]}),
    "another command": json.dumps(SETTINGS).replace("guard", "true"),
    "a switch": changed(disableAllHooks=True),
}


@pytest.mark.parametrize("content", UNWIRED.values(), ids=list(UNWIRED))
def test_settings_that_lose_guards_entry_are_refused(content: str, alone: Path) -> None:
    put(alone, ".claude/settings.json", json.dumps(SETTINGS))
    assert tool(alone, ".claude/settings.json", content) != "allowed"
    home = f"{alone.parent}/home/.claude/settings.json"
    put(alone, home, json.dumps(SETTINGS))
    assert tool(alone, home, content) == "lift-guard"


MINE = {
    "as it was": json.dumps(SETTINGS, indent=4),
    "more settings": changed(model="other", permissions={"allow": ["Bash(ls)"]}),
    "more hooks": changed(hooks={**SETTINGS["hooks"], "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}),
    "a switch that is not pulled": changed(disableAllHooks=False),
    "variables of its own": changed(env={"NODE_ENV": "test", "XDG_CACHE_HOME": "/tmp/x"}),
    "the same entry twice": changed(hooks={**SETTINGS["hooks"], "PreToolUse": [ENTRY, ENTRY]}),
}


@pytest.mark.parametrize("content", MINE.values(), ids=list(MINE))
def test_the_rest_of_the_settings_is_the_users(content: str, alone: Path) -> None:
    put(alone, ".claude/settings.json", json.dumps(SETTINGS))
    assert tool(alone, ".claude/settings.json", content) == "allowed"


@pytest.mark.parametrize(
    "command",
    [
        "rm ~/.claude/settings.json",
        "rm -rf ~/.claude",
        "mv ~/.claude ~/.claude.old",
        ": > ~/.claude/settings.json",
        "ln -sf /dev/null ~/.claude/settings.json",
        "sed -i /guard/d ~/.claude/settings.json",
        "truncate -s 0 ~/.claude/settings.json",
        "cp /etc/hostname ~/.claude/settings.json",
        "curl -o ~/.claude/settings.json http://127.0.0.1/x",
    ],
)
def test_the_users_own_wiring_stays(command: str, alone: Path) -> None:
    assert shell(alone, command) != "lift-guard"
    put(alone, f"{alone.parent}/home/.claude/settings.json", json.dumps(SETTINGS))
    assert shell(alone, command) == "lift-guard"


def test_a_directory_that_a_variable_names_counts(alone: Path) -> None:
    put(alone, "conf/settings.json", json.dumps(SETTINGS))
    assert shell(alone, "rm -rf conf") == "allowed"
    assert shell(alone, "rm -rf conf", CLAUDE_CONFIG_DIR=f"{alone}/conf") == "lift-guard"


def test_plugins_and_folders_of_hooks_count(alone: Path) -> None:
    put(alone, ".github/hooks/guard.json", json.dumps({"hooks": {"preToolUse": [{"bash": WIRED}]}}))
    assert shell(alone, "rm .github/hooks/guard.json") == "lift-guard"
    assert shell(alone, "rm -r .github/hooks") == "lift-guard"
    put(alone, ".opencode/plugin/guard.js", "// pathguard\nexport const Guard = 1\n")
    assert tool(alone, ".opencode/plugin/guard.js", "// pathguard\nexport const Guard = 2\n") == "lift-guard"


@pytest.mark.parametrize(
    "command",
    [
        "grep -r disableAllHooks .",
        "echo disableAllHooks > notes.md",
        "git commit -m 'disableAllHooks: why not'",
        "rm -rf build",
        "mkdir -p .claude && echo '{}' > .claude/settings.json",
        "echo '{\"disableAllHooks\": false}' > .claude/settings.local.json",
        "rm -rf ~/.cache",
    ],
)
def test_what_only_mentions_it_is_allowed(command: str, alone: Path) -> None:
    assert shell(alone, command) == "allowed"


def test_who_has_switched_it_off_already_may_go_on(alone: Path) -> None:
    put(alone, ".claude/settings.json", '{"disableAllHooks": true}')
    assert tool(alone, ".claude/settings.json", '{"disableAllHooks": true, "model": "m"}') == "allowed"
