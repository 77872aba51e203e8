"""What keeps a client from loading guard's hooks is found by meaning, in every file that the client reads."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from guard.agents import changes, codex_trust, hook_commands, inspection, launchers, plans, wiring
from guard.agents.plans import Where
from guard.agents.wirings import ME, SYSTEM, TEAM, WIRINGS
from guard.findings import ABSENT, FINE, NOTE, OFF, Finding


class Machine:
    """A user with a home directory and a project, wired or not."""

    def __init__(self, top: Path) -> None:
        self.home, self.project, self.bin = top / "home", top / "project", top / "bin"
        for directory in (self.home, self.project, self.bin):
            directory.mkdir()
        self.environ = {"HOME": str(self.home), "PATH": str(self.bin)}
        self.data = self.home / ".local/share/guard"

    def wire(self, *clients: str, scope: str = ME) -> None:
        """As guard init does it."""
        where = Where(scope, self.environ, str(self.project), str(self.data))
        changes.write([plans.wire(client, where) for client in clients])

    def findings(self, client: str) -> list[Finding]:
        return inspection.findings(client, self.environ, str(self.project))

    def codes(self, client: str, *severities: str) -> list[str]:
        return [each.code for each in self.findings(client) if not severities or each.severity in severities]

    def edit(self, path: str, change: Callable[[Any], object]) -> None:
        """Changes a JSON file below the home directory, or makes it."""
        file = self.home / path
        value = json.loads(file.read_text()) if file.exists() else {}
        change(value)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(value, indent=7))


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home of guard's with everything in it."""
    home = tmp_path_factory.mktemp("installed") / "guard"
    launchers.ensure(str(home))
    return home


@pytest.fixture
def machine(tmp_path: Path, installed: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """One on which the launchers are whole: those installed once for all tests. Nothing of the system's settings is read."""
    found = Machine(tmp_path)
    found.data.parent.mkdir(parents=True)
    found.data.symlink_to(installed)
    base = wiring.base

    def elsewhere(client: str, scope: str, environ: dict[str, str], root: str, prefix: str = "") -> str:
        return base(client, scope, environ, root, prefix or f"{tmp_path}/root")

    monkeypatch.setattr(wiring, "base", elsewhere)
    return found


def test_a_client_that_is_not_wired_is_told_so_without_a_fault(machine: Machine) -> None:
    for client in WIRINGS:
        assert [(each.code, each.severity, each.repair) for each in machine.findings(client)] == [
            ("not-wired", ABSENT, f"guard init --agent {client}")
        ]


@pytest.mark.parametrize("client", [client for client in WIRINGS if client != "codex"])
def test_what_init_writes_holds(machine: Machine, client: str) -> None:
    machine.wire(client)
    assert machine.codes(client) == ["wired"]
    assert machine.findings(client)[0].severity == FINE


def test_commands_are_given_exactly_as_they_stand_there(machine: Machine) -> None:
    machine.wire("claude")
    assert {each.entry.command for each in inspection.entries("claude", machine.environ, "")} == {
        *hook_commands.commands("claude", str(machine.data)).values()
    }


def test_rewriting_and_ordering_do_not_matter(machine: Machine) -> None:
    machine.wire("claude")
    machine.edit(".claude/settings.json", lambda value: value.update(hooks=dict(reversed(value["hooks"].items())), model="opus"))
    assert machine.codes("claude") == ["wired"]


def _drop(event: str) -> Callable[[Any], object]:
    return lambda value: value["hooks"].pop(event)


def _set(**found: Any) -> Callable[[Any], object]:
    return lambda value: value["hooks"]["PreToolUse"][0].update(found)


def _hook(**found: Any) -> Callable[[Any], object]:
    return lambda value: value["hooks"]["PreToolUse"][0]["hooks"][0].update(found)


@pytest.mark.parametrize(
    ("change", "code", "severity"),
    [
        (_drop("PreToolUse"), "entry-missing", OFF),
        (_drop("PostToolUse"), "entry-missing", NOTE),
        (_drop("SessionStart"), "entry-missing", NOTE),
        (_set(matcher="Bash"), "matcher-narrow", OFF),
        (_set(matcher="("), "matcher-narrow", OFF),
        (_hook(**{"async": True}), "entry-weak", OFF),
        (_hook(**{"if": "Bash(ls)"}), "entry-weak", OFF),
        (_hook(type="prompt"), "entry-weak", OFF),
        (lambda value: value.update(disableAllHooks=True), "switched-off", OFF),
        (lambda value: value.update(disableAllHooks="no"), "settings-type", OFF),
        (lambda value: value.update(env=[]), "settings-type", OFF),
        (lambda value: value.update(permissions={"allow": "Bash"}), "settings-type", OFF),
    ],
)
def test_each_way_of_being_off_is_found(machine: Machine, change: Callable[[Any], object], code: str, severity: str) -> None:
    machine.wire("claude")
    machine.edit(".claude/settings.json", change)
    found = [each for each in machine.findings("claude") if each.code == code]
    assert [each.severity for each in found] == [severity]
    assert all(each.what and each.repair for each in found)


@pytest.mark.parametrize(
    ("client", "path", "keys", "value"),
    [
        ("claude", "project/.claude/settings.json", ("disableAllHooks",), True),
        ("claude", "project/.claude/settings.local.json", ("disableAllHooks",), True),
        ("claude", "root/etc/claude-code/managed-settings.json", ("disableAllHooks",), True),
        ("claude", "root/etc/claude-code/managed-settings.json", ("allowManagedHooksOnly",), True),
        ("gemini", "project/.gemini/settings.json", ("hooksConfig", "enabled"), False),
        ("qwen", "project/.qwen/settings.json", ("disableAllHooks",), True),
        ("copilot", "project/.github/copilot/settings.json", ("disableAllHooks",), True),
        ("copilot", "home/.copilot/config.json", ("disableAllHooks",), True),
    ],
)
def test_a_switch_is_found_in_every_file_that_the_client_reads(
    machine: Machine, tmp_path: Path, client: str, path: str, keys: tuple[str, ...], value: Any
) -> None:
    machine.wire(client)
    for key in reversed(keys):
        value = {key: value}
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text("\n" + json.dumps(value))
    found = [each for each in machine.findings(client) if each.severity == OFF]
    assert [each.code for each in found] == ["switched-off"]
    assert f"{tmp_path / path}:2" in found[0].what


def test_switches_that_are_on_are_none(machine: Machine) -> None:
    machine.wire("claude", "gemini")
    machine.edit(".claude/settings.json", lambda value: value.update(disableAllHooks=False, allowManagedHooksOnly=True))
    machine.edit(".gemini/settings.json", lambda value: value.update(hooksConfig={"enabled": True, "disabled": ["guard"]}))
    assert machine.codes("claude") == machine.codes("gemini") == ["wired"]


def _names(path: Path) -> set[str]:
    hooks = json.loads(path.read_text())["hooks"]
    return {hook["name"] for groups in hooks.values() for group in groups for hook in group["hooks"]}


def test_the_hook_of_gemini_has_a_name_that_no_project_can_know(machine: Machine) -> None:
    machine.wire("gemini")
    path = machine.home / ".gemini/settings.json"
    (name,) = _names(path)
    assert re.fullmatch(r"guard-[0-9a-f]{12}", name)
    before = path.read_bytes()
    machine.wire("gemini")
    assert path.read_bytes() == before, "it keeps its name"
    machine.edit(".gemini/settings.json", lambda value: value.update(hooksConfig={"disabled": ["x", name]}))
    (found,) = [each for each in machine.findings("gemini") if each.severity == OFF]
    assert (found.code, name in found.repair) == ("switched-off", True)


def test_a_name_that_everybody_knows_is_replaced(machine: Machine) -> None:
    machine.wire("gemini")
    path = machine.home / ".gemini/settings.json"
    (name,) = _names(path)
    path.write_text(path.read_text().replace(name, "guard"))
    machine.wire("gemini")
    assert len(_names(path)) == 1
    assert _names(path) != {"guard"}
    machine.wire("gemini", scope=TEAM)
    assert _names(machine.project / ".gemini/settings.json") == {"guard"}, "what is committed is the same for everybody"


@pytest.mark.parametrize(
    ("client", "path", "text", "code", "severity"),
    [
        ("claude", ".claude/settings.json", '{"env": {"GUARD_STATE_DIR": "/tmp/x"}}', "led-elsewhere", OFF),
        ("claude", ".claude/settings.local.json", '{"env": {"XDG_CONFIG_HOME": "/tmp/x"}}', "led-elsewhere", OFF),
        ("claude", ".claude/settings.json", '{"env": {"PATH": "/usr/bin:/bin"}}', "variable-set", NOTE),
        ("codex", ".codex/config.toml", '[shell_environment_policy]\nset = {CODEX_HOME = "x"}\n', "led-elsewhere", OFF),
        ("gemini", ".env", "# mine\nexport XDG_STATE_HOME='/tmp/x'\n", "led-elsewhere", OFF),
        ("gemini", ".gemini/.env", "GEMINI_CLI_SYSTEM_SETTINGS_PATH=/tmp/x", "led-elsewhere", OFF),
        ("qwen", ".qwen/.env", "QWEN_CODE_SIMPLE=1\r\n", "led-elsewhere", OFF),
    ],
)
def test_a_project_that_leads_guard_elsewhere_is_told(
    machine: Machine, client: str, path: str, text: str, code: str, severity: str
) -> None:
    machine.wire(client)
    (machine.project / path).parent.mkdir(parents=True, exist_ok=True)
    (machine.project / path).write_text(text)
    (found,) = [each for each in machine.findings(client) if each.code == code]
    assert (found.severity, f"{machine.project / path} sets" in found.what) == (severity, True)


@pytest.mark.parametrize(
    ("client", "path", "text"),
    [
        ("claude", ".claude/settings.json", '{"env": {"NODE_ENV": "test", "XDG_CACHE_HOME": "/tmp/x"}}'),
        ("claude", ".env", "GUARD_STATE_DIR=/tmp/x"),
        ("gemini", ".env", "PATH=/x\nGUARDIAN=1\nTEXT=GUARD_LOOP=1\n"),
        ("qwen", ".env", "\0\xff"),
    ],
)
def test_other_variables_of_a_project_are_its_own(machine: Machine, client: str, path: str, text: str) -> None:
    machine.wire(client)
    (machine.project / path).parent.mkdir(parents=True, exist_ok=True)
    (machine.project / path).write_text(text)
    assert machine.codes(client) == ["wired"]


@pytest.mark.parametrize("text", ["{", '{"hooks": {} // no\n}', '{"a": 1,}', "[]", ""])
def test_a_project_file_that_cannot_be_read_is_noted(machine: Machine, text: str) -> None:
    machine.wire("claude")
    (machine.project / ".claude").mkdir()
    (machine.project / ".claude/settings.local.json").write_text(text)
    expected = ["settings-broken", "wired"] if text else ["wired"]
    assert machine.codes("claude") == expected


def test_a_comment_in_the_file_that_wires_is_a_fault_for_claude_and_none_for_gemini(machine: Machine) -> None:
    machine.wire("claude", "gemini")
    for client in ("claude", "gemini"):
        file = machine.home / f".{client}/settings.json"
        file.write_text("// why\n" + file.read_text())
    assert "settings-broken" in machine.codes("claude", OFF)
    assert machine.codes("gemini") == ["wired"]


@pytest.mark.parametrize("gone", ["bin/hook", "bin/guard", "runtime"])
def test_a_launcher_that_is_gone_is_a_fault(machine: Machine, tmp_path: Path, installed: Path, gone: str) -> None:
    machine.wire("claude")
    machine.data.unlink()
    for part in {"bin/hook", "bin/guard", "runtime"} - {gone}:
        (machine.data / part).parent.mkdir(parents=True, exist_ok=True)
        (machine.data / part).symlink_to(installed / part)
    assert "hook-missing" in machine.codes("claude", OFF)


def test_a_launcher_that_cannot_be_run_is_a_fault(machine: Machine, installed: Path) -> None:
    machine.wire("claude")
    machine.data.unlink()
    (machine.data / "bin").mkdir(parents=True)
    (machine.data / "runtime").symlink_to(installed / "runtime")
    (machine.data / "bin/guard").symlink_to(installed / "bin/guard")
    (machine.data / "bin/hook").write_text("#!/bin/sh\n")
    (machine.data / "bin/hook").chmod(0o644)
    assert "hook-not-executable" in machine.codes("claude", OFF)
    (machine.data / "bin/hook").chmod(0o755)
    assert machine.codes("claude", OFF) == []
    assert "hook-outdated" in machine.codes("claude", NOTE)


def test_a_plugin_that_is_gone_is_a_fault(machine: Machine) -> None:
    machine.wire("opencode")
    machine.data.unlink()
    assert machine.codes("opencode") == ["hook-missing"]


def test_codex_says_what_it_has_not_been_told_to_trust(machine: Machine) -> None:
    machine.wire("codex")
    assert machine.codes("codex", OFF) == ["trust-needed"]
    path = machine.home / ".codex/config.toml"
    key = json.dumps(f"{path}:pre_tool_use:0:0")
    path.write_text(path.read_text() + f'\n[hooks.state.{key}]\ntrusted_hash = "sha256:0"\n')
    assert machine.codes("codex") == ["wired"]
    path.write_text(path.read_text() + "enabled = false\n")
    assert machine.codes("codex", OFF) == ["switched-off"]


CODEX = """#!{python}
import json, sys, time
for line in sys.stdin:
    said = json.loads(line)
    if said.get("method") == "initialize":
        print(json.dumps({{"id": said["id"], "result": {{}}}}), flush=True)
        print(json.dumps({{"method": "something/changed", "params": {{}}}}), flush=True)
    if said.get("method") == "hooks/list":
        {answer}
"""
LISTED = """print(json.dumps({{"id": said["id"], "result": {{"data": [{{"cwd": "/", "hooks": [
            {{"key": {key!r}, "trustStatus": {status!r}, "enabled": {enabled}}}]}}]}}}}), flush=True)"""


def codex(machine: Machine, answer: str) -> None:
    """A Codex that answers like this."""
    program = machine.bin / "codex"
    program.write_text(CODEX.format(python=sys.executable, answer=answer))
    program.chmod(0o755)


def asked(machine: Machine, *severities: str) -> list[Finding]:
    found = inspection.findings("codex", machine.environ, str(machine.project), ask_version=True)
    return [each for each in found if each.severity in severities]


@pytest.mark.parametrize(
    ("status", "enabled", "said"),
    [
        ("trusted", True, ""),
        ("untrusted", True, "you have not reviewed"),
        ("modified", True, "has changed since you reviewed it"),
        ("trusted", False, "is disabled"),
    ],
)
def test_codex_is_asked_what_it_trusts(machine: Machine, status: str, enabled: bool, said: str) -> None:
    machine.wire("codex")
    path = machine.home / ".codex/config.toml"
    key = f"{path}:pre_tool_use:0:0"
    written = f'\n[hooks.state.{json.dumps(key)}]\ntrusted_hash = "sha256:of something else"\n'
    path.write_text(path.read_text() + written)
    codex(machine, LISTED.format(key=key, status=status, enabled=enabled))
    found = asked(machine, OFF)
    assert len(found) == bool(said)
    assert all(said in each.what and "/hooks" in each.repair for each in found)


@pytest.mark.parametrize(
    "answer",
    ["sys.exit(3)", "print('no json', flush=True)", "print('[' * 9000, flush=True)", "print('{}' * 3)", "time.sleep(60)"],
)
def test_a_codex_that_does_not_answer_is_believed_what_it_has_written_down(
    machine: Machine, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codex_trust, "PATIENCE", 1.0)
    machine.wire("codex")
    codex(machine, answer)
    assert [each.code for each in asked(machine, OFF)] == ["trust-needed"]
    path = machine.home / ".codex/config.toml"
    key = json.dumps(f"{path}:pre_tool_use:0:0")
    path.write_text(path.read_text() + f'\n[hooks.state.{key}]\ntrusted_hash = "sha256:0"\n')
    assert asked(machine, OFF) == []


@pytest.mark.parametrize("text", ["[features]\nhooks = false\n", "features.codex_hooks = false\n"])
def test_codex_can_be_switched_off(machine: Machine, text: str) -> None:
    path = machine.home / ".codex/config.toml"
    path.parent.mkdir()
    path.write_text(text)
    machine.wire("codex")
    assert "switched-off" in machine.codes("codex", OFF)


def test_hooks_that_are_committed_need_pathguard(machine: Machine) -> None:
    machine.wire("claude", scope=TEAM)
    assert machine.codes("claude", OFF) == ["command-missing"]
    (machine.bin / "pathguard").write_text("#!/bin/sh\n")
    (machine.bin / "pathguard").chmod(0o755)
    assert machine.codes("claude") == ["wired"]


@pytest.mark.parametrize("client", ["gemini", "copilot"])
def test_hooks_that_are_committed_need_trust(machine: Machine, client: str) -> None:
    machine.wire(client, scope=TEAM)
    assert "trust-unknown" in machine.codes(client, NOTE)


def test_hooks_of_the_system_hold_against_switches_elsewhere(tmp_path: Path, machine: Machine) -> None:
    where = Where(SYSTEM, {}, home=str(machine.data), prefix=f"{tmp_path}/root")
    changes.write([plans.wire(client, where) for client in ("claude", "codex", "gemini")])
    machine.edit(".claude/settings.json", lambda value: value.update(disableAllHooks=True))
    (machine.home / ".codex").mkdir()
    (machine.home / ".codex/config.toml").write_text("[features]\nhooks = false\n")
    machine.edit(".gemini/settings.json", lambda value: value.update(hooksConfig={"enabled": False}))
    assert [machine.codes(client) for client in ("claude", "codex", "gemini")] == [["wired"]] * 3
    machine.edit(".gemini/settings.json", lambda value: value.update(hooksConfig={"disabled": ["guard"]}))
    assert machine.codes("gemini") == ["wired"]
    (name,) = _names(tmp_path / "root/etc/gemini-cli/settings.json")
    machine.edit(".gemini/settings.json", lambda value: value.update(hooksConfig={"disabled": [name]}))
    assert machine.codes("gemini", OFF) == ["switched-off"]


VERSIONS = {"9.9.9 (Claude Code)": True, "0.0.1": False, "2.1.332": False, "2.1.1000": True, "": False}


@pytest.mark.parametrize(("said", "newer"), VERSIONS.items())
def test_a_version_that_was_not_measured_is_noted(machine: Machine, said: str, newer: bool) -> None:
    machine.wire("claude")
    (machine.bin / "claude").write_text(f"#!/bin/sh\necho '{said}'\n")
    (machine.bin / "claude").chmod(0o755)
    assert machine.codes("claude") == ["wired"]
    codes = [each.code for each in inspection.findings("claude", machine.environ, "", ask_version=True)]
    assert ("version-newer" in codes) == newer


def test_a_client_that_does_not_say_its_version_is_not_waited_for(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection, "PATIENCE", 0.3)
    (machine.bin / "claude").write_text("#!/bin/sh\nexec sleep 60\n")
    (machine.bin / "claude").chmod(0o755)
    assert inspection.installed_version("claude", {**machine.environ, "PATH": f"{machine.bin}:/usr/bin:/bin"}) == ""


def test_clients_are_found_by_their_programs_and_their_settings(machine: Machine) -> None:
    assert wiring.installed(machine.environ) == []
    (machine.bin / "codex").write_text("")
    (machine.bin / "codex").chmod(0o755)
    (machine.home / ".gemini").mkdir()
    assert wiring.installed(machine.environ) == ["codex", "gemini"]


def test_without_home_and_project_nothing_fails() -> None:
    for client in WIRINGS:
        assert [each.code for each in inspection.findings(client, {}, "") if each.severity == OFF] == []


NONSENSE = [b"\xff\xfe{\x00}\x00", b"[" * 100_000, b'{"hooks": {"PreToolUse": [[[]], 3, {"hooks": 4}, {"hooks": [5]}]}}']


@pytest.mark.parametrize("data", NONSENSE)
def test_nonsense_is_told_and_fails_nothing(machine: Machine, data: bytes) -> None:
    (machine.home / ".claude").mkdir()
    (machine.home / ".claude/settings.json").write_bytes(data)
    for finding in machine.findings("claude"):
        assert re.fullmatch("[a-z-]+", finding.code)
    os.chmod(machine.home / ".claude/settings.json", 0)
    assert machine.findings("claude")
