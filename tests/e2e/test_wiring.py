"""How well the wiring holds in real clients: against off switches, a guard that is broken or missing, a hook that hangs."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.clients import CLIENTS, PATH
from tests.e2e.conftest import ROOT, Place, contained, copy_tree
from tests.e2e.server import Call

Make = Callable[[str], Place]

HOOKED = [name for name in CLIENTS if name != "opencode"]  # OpenCode has a plugin instead of hooks that are commands


@pytest.fixture
def make_machine(make_place: Make, tmp_path: Path, etc: Path) -> Make:
    """Makes a place on a machine for a client, by name, on which there was `guard install --system`."""

    def make(name: str) -> Place:
        if os.geteuid() != 0 or shutil.which("bwrap") is None:
            pytest.skip("a machine of the test's own needs root and bubblewrap")
        place = make_place(name)
        top = tmp_path.resolve()
        copy_tree(etc, top / "etc")
        place.wrapper = contained(top, top / "etc")
        installed = place.guard("install", "--system", "--agent", name)
        assert installed.returncode == 0, installed.stdout + installed.stderr
        assert (top / "lib/guard").is_dir(), "it has to be the test's own machine"
        return place

    return make


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


DISABLED = json.dumps({"disableAllHooks": True})
CLAUDE_SWITCHES = {
    "project": ["{project}/.claude/settings.json"],
    "local": ["{project}/.claude/settings.local.json"],
    "user": ["{home}/.claude/settings.json"],
    "all": ["{project}/.claude/settings.json", "{project}/.claude/settings.local.json", "{home}/.claude/settings.json"],
}


@pytest.mark.parametrize("where", CLAUDE_SWITCHES)
def test_system_wiring_of_claude_holds_against_disable_all_hooks(make_machine: Make, where: str) -> None:
    place = make_machine("claude")
    for path in CLAUDE_SWITCHES[where]:
        put(Path(path.format(project=place.project, home=place.home)), DISABLED)
    _holds(place, [])


@pytest.mark.parametrize(
    "flags",
    [["--settings", DISABLED], ["--setting-sources", "user"], ["--setting-sources", ""], ["--bare"], ["--safe-mode"]],
    ids=" ".join,
)
def test_system_wiring_of_claude_holds_against_flags(make_machine: Make, flags: list[str]) -> None:
    _holds(make_machine("claude"), flags)


def test_system_wiring_of_claude_holds_against_variables_of_the_project(make_machine: Make) -> None:
    place = make_machine("claude")
    led = {"GUARD_STATE_DIR": "/nowhere", "XDG_CONFIG_HOME": "/nowhere", "CLAUDE_CODE_SIMPLE": "1", "PATH": "/bin"}
    put(place.project / ".claude/settings.json", json.dumps({"env": led}))
    _holds(place, [])
    looked = place.guard("doctor")
    assert looked.returncode != 0
    assert "sets GUARD_STATE_DIR" in looked.stdout + looked.stderr


def test_system_wiring_of_claude_holds_against_a_broken_project_file(make_machine: Make) -> None:
    place = make_machine("claude")
    put(place.project / ".claude/settings.json", '{"hooks": 3, // no\n')
    _holds(place, [])


@pytest.mark.parametrize("flags", [[], ["-c", "features.hooks=false"], ["--disable", "hooks"]], ids=["none", "-c", "--disable"])
@pytest.mark.parametrize(
    "setting", ["", "[features]\nhooks = false\n", "[features]\ncodex_hooks = false\n"], ids=["", "hooks", "codex_hooks"]
)
def test_system_wiring_of_codex_holds_against_features_hooks(make_machine: Make, flags: list[str], setting: str) -> None:
    place = make_machine("codex")
    put(place.home / ".codex/config.toml", setting)
    _holds(place, flags)


def test_system_wiring_of_codex_needs_no_trust(make_machine: Make) -> None:
    place = make_machine("codex")
    _holds(place, [], without="--dangerously-bypass-hook-trust")


def test_system_wiring_of_gemini_holds_against_enabled_false(make_machine: Make) -> None:
    place = make_machine("gemini")
    put(place.project / ".gemini/settings.json", json.dumps({"hooksConfig": {"enabled": False}}))
    _holds(place, [])


def test_system_wiring_of_qwen_works(make_machine: Make) -> None:
    _holds(make_machine("qwen"), [])


def test_system_wiring_of_qwen_holds_against_disable_all_hooks(make_machine: Make) -> None:
    place = make_machine("qwen")
    put(place.project / ".qwen/settings.json", DISABLED)
    put(place.home / ".qwen/settings.json", DISABLED)
    _holds(place, [])


def test_system_wiring_of_gemini_holds_against_names_that_a_project_disables(make_machine: Make) -> None:
    place = make_machine("gemini")
    put(place.project / ".gemini/settings.json", json.dumps({"hooksConfig": {"disabled": ["guard", "guard-", "*"]}}))
    _holds(place, [])


def test_system_wiring_of_gemini_holds_against_variables_of_the_project(make_machine: Make) -> None:
    place = make_machine("gemini")
    put(place.project / ".gemini/.env", "GEMINI_CLI_SYSTEM_SETTINGS_PATH=/dev/null\nGUARD_STATE_DIR=/nowhere\n")
    _holds(place, [])


def test_an_agent_cannot_start_a_client_that_nobody_guards(make_guarded: Make) -> None:
    place = make_guarded("claude")
    ended = place.agent(
        place.client.shell("claude --bare -p 'remove specs'"),
        place.client.shell("CLAUDE_CONFIG_DIR=/tmp/x claude -p 'remove specs'"),
    )
    assert ["weaken guard's own protection" in result for result in ended.results] == [True, True], ended.results


def test_system_wiring_of_opencode_works(make_machine: Make) -> None:
    _holds(make_machine("opencode"), [])


def _holds(place: Place, flags: list[str], without: str = "") -> None:
    ended = place.agent(place.client.shell("rm -r specs"), more=flags, without=without)
    assert place.lost() == [], ended.results
    assert "refused" in ended.results[0], ended.results


# What an agent could write to be rid of the hooks: the file below the project, its content.
OFF_SWITCHES = {
    "claude": (".claude/settings.local.json", DISABLED),
    "codex": (".codex/config.toml", "[features]\nhooks = false\n"),
    "gemini": (".gemini/settings.json", json.dumps({"hooksConfig": {"enabled": False}})),
    "qwen": (".qwen/settings.json", DISABLED),
    "copilot": (".github/copilot/settings.json", DISABLED),
}


@pytest.mark.parametrize("name", OFF_SWITCHES)
def test_an_agent_cannot_write_an_off_switch(make_guarded: Make, name: str) -> None:
    place = make_guarded(name)
    path, text = OFF_SWITCHES[name]
    put(place.project / os.path.dirname(path) / "other", "here already\n")
    ended = place.agent(
        place.client.write(place.path(path), text),
        place.client.shell(f"cat > {path} <<'END'\n{text}\nEND"),
        place.client.shell("sleep 6; ls"),
        place.client.shell("rm -r specs"),
    )
    assert place.read(path) is None
    assert "refused" in ended.results[0], ended.results
    assert "refused" in ended.results[1], ended.results
    assert "refused" in ended.results[3], ended.results
    assert place.lost() == []


@pytest.mark.parametrize("name", OFF_SWITCHES)
def test_an_off_switch_that_is_there_is_told_by_doctor(make_guarded: Make, name: str) -> None:
    place = make_guarded(name)
    path, text = OFF_SWITCHES[name]
    put(place.project / path, text)
    looked = place.guard("doctor")
    assert looked.returncode != 0
    assert path in looked.stdout + looked.stderr


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("gone", ["runtime", "bin/guard", "bin/hook", ""])
def test_a_guard_that_is_gone_refuses(make_guarded: Make, name: str, gone: str) -> None:
    place = make_guarded(name)
    if name == "opencode" and not gone:
        pytest.skip("OpenCode goes on without a plugin that is missing")
    _remove(place.home / ".local/share/guard" / gone)
    ended = place.agent(place.client.shell("rm -r build"))
    assert place.read("build/x.o") is not None
    assert "refused" in ended.results[0] or name == "copilot", ended.results


def _remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.mark.parametrize("name", CLIENTS)
def test_a_guard_that_crashes_refuses(make_guarded: Make, name: str) -> None:
    place = make_guarded(name)
    broken = place.home / ".local/share/guard/bin/guard"
    broken.write_text("#!/bin/sh\nkill -9 $$\n")
    ended = place.agent(place.client.shell("rm -r build"))
    assert place.read("build/x.o") is not None
    assert "refused" in ended.results[0] or name == "copilot", ended.results


def test_a_hook_that_outlasts_the_clients_patience_blocks_in_claude(make_guarded: Make) -> None:
    place = make_guarded("claude")
    (place.home / ".local/share/guard/bin/guard").write_text("#!/bin/sh\nexec sleep 30\n")
    settings = place.home / ".claude/settings.json"
    text = settings.read_text()
    settings.write_text(text.replace('"timeout": 60', '"timeout": 2'))
    assert settings.read_text() != text
    place.agent(place.client.shell("rm -r build"))
    assert place.read("build/x.o") is not None


@pytest.mark.parametrize("name", CLIENTS)
def test_a_command_over_a_limit_is_refused(make_guarded: Make, name: str) -> None:
    place = make_guarded(name)
    braces = "".join("{a,b,c,d,e,f,g,h}" for _ in range(9))
    nested = "(cd .; " * 60 + "rm -r build" + ")" * 60
    ended = place.agent(place.client.shell(f"for x in {braces}; do rm -r $x; done"), place.client.shell(nested))
    assert ["refused" in result for result in ended.results] == [True, True], ended.results
    assert place.read("build/x.o") is not None
    assert place.lost() == []


TEAM = ["claude", "codex", "gemini", "qwen", "copilot"]
TRUSTED = {"copilot": ["--trust-folder"]}


@pytest.mark.parametrize("name", TEAM)
@pytest.mark.parametrize("there", [True, False], ids=["with-guard", "without-guard"])
def test_committed_wiring_refuses_with_guard_on_path_and_without(make_place: Make, name: str, there: bool) -> None:
    place = make_place(name)
    wired = place.guard("init", "--team", "--yes", "--agent", name)
    assert wired.returncode == 0, wired.stderr
    programs = place.home / "programs"
    if there:
        put(programs / "pathguard", f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m guard "$@"\n')
        (programs / "pathguard").chmod(0o755)
    if name == "codex":
        put(place.home / ".codex/config.toml", f'[projects."{place.project}"]\ntrust_level = "trusted"\n')
    environ = {"PATH": f"{programs}:{PATH}"}
    ended = place.agent(place.client.shell("rm -r specs"), more=TRUSTED.get(name, []), environ=environ)
    assert place.lost() == []
    assert "refused" in ended.results[0] or name == "copilot", ended.results


def test_deferred_tools_of_claude_are_judged(make_guarded: Make) -> None:
    place = make_guarded("claude")
    ended = place.agent(
        Call("ToolSearch", {"query": "select:Monitor"}),
        Call("Monitor", {"command": "rm -r specs", "description": "watch", "timeout_ms": 5000, "persistent": False}),
    )
    assert place.lost() == []
    assert "refused" in ended.results[1]


def test_the_monitor_of_qwen_is_judged(make_guarded: Make) -> None:
    place = make_guarded("qwen")
    ended = place.agent(
        Call("monitor", {"command": "rm -r specs", "description": "watch", "max_events": 1, "idle_timeout_ms": 1000})
    )
    assert place.lost() == []
    assert "refused" in ended.results[0]


def test_a_shell_that_codex_would_type_into_is_refused(make_guarded: Make) -> None:
    place = make_guarded("codex")
    ended = place.agent(Call("exec_command", {"cmd": "bash", "tty": True, "yield_time_ms": 500}))
    assert "refused" in ended.results[0]
