"""The hook as clients meet it: what refuses, what consents, and that everything else refuses."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click
import pytest

from guard import cli, log
from guard.agents.table import CLIENTS
from guard.hot import hook as entry
from tests.agents import hooking
from tests.agents.hooking import CONTENT, bash, before, hook, label, named, recorded

REFUSED = named("*/before-*.json")
EVENTS = {"copilot": {"before-shell": "preToolUse", "after-shell": "postToolUse", "session-start": "sessionStart"}}


def asked(path: Path, project: Path, **environ: str) -> hooking.Said:
    event = EVENTS.get(path.parent.name, {}).get(path.stem)
    return hook(project, path.parent.name, *([event] if event else []), payload=recorded(path, project), **environ)


@pytest.mark.parametrize("path", REFUSED, ids=label)
def test_what_destroys_is_refused_in_the_words_of_every_client(path: Path, project: Path) -> None:
    said = asked(path, project)
    assert said.refused, said
    assert "guard: refused." in said.error
    assert (project / "specs/a.md").read_text() == CONTENT


@pytest.mark.parametrize("client", sorted(CLIENTS))
def test_standard_output_is_empty_unless_the_row_says_better(client: str, project: Path) -> None:
    said = asked(hooking.CALLS / client / "before-shell.json", project)
    if client == "copilot":
        assert json.loads(said.out) == {"permissionDecision": "deny", "permissionDecisionReason": said.error.strip()}
    elif client == "claude":
        found = json.loads(said.out)["hookSpecificOutput"]
        assert (found["hookEventName"], found["permissionDecision"]) == ("PreToolUse", "deny")
        assert found["permissionDecisionReason"] == said.error.strip()
    elif client == "cursor":
        found = json.loads(said.out)
        assert found == {"permission": "deny", "user_message": said.error.strip(), "agent_message": said.error.strip()}
    else:
        assert said.out == ""


def test_cursor_names_the_directory_of_a_shell_in_the_arguments(project: Path) -> None:
    found = recorded(hooking.CALLS / "cursor/before-tool-shell.json", project)
    arguments = {"command": "rm -f a.md", "cwd": f"{project}/specs", "timeout": 30000}
    payload = {**found, "cwd": "", "tool_input": arguments}
    assert hook(project, "cursor", payload=payload).refused
    assert not hook(project, "cursor", payload={**payload, "tool_input": {**arguments, "cwd": str(project)}}).refused


def harmless(path: Path, project: Path, command: str) -> dict[str, Any]:
    """The payload of a client with another command in it."""
    found = recorded(path, project)
    arguments = next((found[key] for key in ("tool_input", "toolArgs") if key in found), found)
    arguments["command"] = command
    return found


@pytest.mark.parametrize("command", ["ls -la src", "rm -rf build", "echo 'rm -rf specs'", ""])
@pytest.mark.parametrize("client", sorted(CLIENTS))
def test_consent_is_silence(client: str, command: str, project: Path) -> None:
    said = hook(project, client, payload=harmless(hooking.CALLS / client / "before-shell.json", project, command))
    assert (said.status, said.error) == (0, "")
    assert said.out == ('{"permission":"allow"}\n' if client == "cursor" else "")


@pytest.mark.parametrize("path", named("*/after-*.json") + named("*/session-start.json"), ids=label)
def test_other_events_end_well(path: Path, project: Path) -> None:
    assert asked(path, project).status == 0


BAD: dict[str, bytes] = {
    "nothing": b"",
    "blanks": b" \n",
    "no JSON": b"rm -rf specs",
    "half": b'{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_inp',
    "two": b"{}{}",
    "a list": b"[]",
    "a string": b'"x"',
    "no keys": b"{}",
    "no tool": b'{"hook_event_name":"PreToolUse","cwd":"/"}',
    "a tool that is no text": b'{"hook_event_name":"PreToolUse","cwd":"/","tool_name":1,"tool_input":{}}',
    "an event that is no text": b'{"hook_event_name":{},"cwd":"/","tool_name":"Bash","tool_input":{}}',
    "bytes": b"\xff\xfe{}",
    "depth": b"[" * 200_000,
    "depth in an object": b'{"a":' * 100_000,
}
BEFORE = {
    "claude": ("PreToolUse", "Bash"),
    "codex": ("PreToolUse", "Bash"),
    "gemini": ("BeforeTool", "run_shell_command"),
    "qwen": ("PreToolUse", "run_shell_command"),
    "copilot": ("PreToolUse", "Bash"),
    "cursor": ("preToolUse", "Shell"),
    "opencode": ("tool.execute.before", "bash"),
}


@pytest.mark.parametrize("data", BAD.values(), ids=list(BAD))
def test_bad_input_is_refused(data: bytes, project: Path) -> None:
    said = hook(project, "claude", payload=data)
    assert said.refused
    assert said.error.count("\n") == 1
    assert said.out == ""


@pytest.mark.parametrize("client", sorted(CLIENTS))
@pytest.mark.parametrize(
    "arguments",
    [None, {}, [], "rm", 3, {"command": 5}, {"command": None}, {"command": {}}, {"command": [1, 2]}, {"cmd": ["rm", 1]}],
    ids=repr,
)
def test_arguments_of_a_wrong_type_are_refused(client: str, arguments: object, project: Path) -> None:
    event, tool = BEFORE[client]
    payload = {"hook_event_name": event, "tool_name": tool, "tool_input": arguments, "cwd": str(project)}
    said = hook(project, client, payload=payload)
    assert said.refused or arguments == "rm"  # a text is the command itself


@pytest.mark.parametrize("cwd", [None, "", "relative", 7, "/nowhere/at/all"], ids=repr)
def test_without_a_directory_nothing_can_be_judged(cwd: object, project: Path) -> None:
    assert hook(project, "claude", payload={**bash(project, "rm -rf specs"), "cwd": cwd}).refused


@pytest.mark.parametrize("arguments", [(), ("cloud",), ("claude", "PreToolUse", "more"), ("-h",), ("--given",), ("",)])
def test_a_wrong_call_is_refused(arguments: tuple[str, ...], project: Path) -> None:
    said = hook(project, *arguments, payload=bash(project, "ls"))
    assert said.refused
    assert said.out == ""


def test_the_beginning_of_a_payload_may_be_given(project: Path) -> None:
    data = json.dumps(bash(project, "rm -rf specs/ä")).encode()
    assert hook(project, "--given", os.fsdecode(data[:100]), "claude", payload=data[100:]).consented
    data = json.dumps(bash(project, "rm -rf specs")).encode()
    assert hook(project, "--given", os.fsdecode(data[:100]), "claude", payload=data[100:]).refused


def test_ten_megabytes_are_judged_in_time(project: Path) -> None:
    text = "a line of text\n" * 700_000
    start = time.monotonic()
    assert hook(
        project, "claude", payload=before(project, "Write", {"file_path": f"{project}/specs/a.md", "content": text})
    ).consented
    assert hook(
        project, "claude", payload=before(project, "Write", {"file_path": f"{project}/x", "content": "\n" * 10_000_000})
    ).consented
    said = hook(
        project, "claude", payload=before(project, "Write", {"file_path": f"{project}/specs/a.md", "content": "\n" * 10_000_000})
    )
    assert said.refused
    assert time.monotonic() - start < 15


def test_more_than_can_be_read_is_refused(project: Path) -> None:
    said = hook(project, "claude", payload=b'{"x":"' + b"a" * (entry.INPUT_LIMIT + 10) + b'"}')
    assert said.refused
    assert "MiB" in said.error


def broken(project: Path, code: str) -> hooking.Said:
    """The hook with something put wrong first, in the same process."""
    argv = [
        sys.executable,
        "-c",
        f"import sys; sys.path.insert(0, {str(hooking.ROOT)!r})\nfrom guard.hot import hook, limits\n{code}\n",
    ]
    argv[-1] += "import os; os._exit(hook.main(['claude']))"
    return hooking.call(argv, project, bash(project, "rm -rf build"))


def test_a_crash_is_a_refusal(project: Path) -> None:
    said = broken(project, "def fail(*a, **k): raise ZeroDivisionError\nhook.decide = fail")
    assert said.refused
    assert "ZeroDivisionError" in said.error
    assert "guard doctor" in said.error


def test_a_lack_of_memory_is_a_refusal(project: Path) -> None:
    assert broken(project, "def fail(*a, **k): raise MemoryError\nhook.decide = fail").refused


def test_a_time_out_is_a_refusal_within_a_second(project: Path) -> None:
    start = time.monotonic()
    said = broken(project, "import time\nhook.decide = lambda *a, **k: time.sleep(30)")
    assert said.refused
    assert "in time" in said.error
    assert time.monotonic() - start < 15


def test_an_input_that_never_ends_is_a_refusal(project: Path) -> None:
    argv = [sys.executable, "-I", "-S", str(hooking.START), "hook", "claude"]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stderr=subprocess.PIPE, cwd=project, env=hooking.environment(project))
    try:
        assert process.wait(20) == 2
        assert process.stderr is not None
        assert b"in time" in process.stderr.read()
    finally:
        process.kill()
        process.wait()


def test_closed_streams_change_no_status(project: Path) -> None:
    argv = ["sh", "-c", '"$@" >&- 2>&-', "sh", sys.executable, "-I", "-S", str(hooking.START), "hook", "claude"]
    assert hooking.call(argv, project, bash(project, "rm -rf specs")).status == 2
    assert hooking.call(argv, project, bash(project, "rm -rf build")).status == 0


@pytest.mark.parametrize(
    ("environ", "asks"),
    [
        ({"CLAUDE_CODE_SESSION_ATTENDED": "1"}, True),
        ({"CLAUDE_CODE_ENTRYPOINT": "cli"}, True),
        ({"CLAUDE_CODE_SESSION_ATTENDED": "0", "CLAUDE_CODE_ENTRYPOINT": "cli"}, False),
        ({"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}, False),
        ({"CLAUDE_CODE_SESSION_ATTENDED": "1", "GUARD_LOOP": "1"}, False),
        ({}, False),
    ],
    ids=str,
)
def test_only_who_attends_is_asked(environ: dict[str, str], asks: bool, project: Path) -> None:
    said = hook(project, "claude", payload=bash(project, 'rm -rf "$(curl example.org)"'), **environ)
    if not asks:
        assert said.refused
        return
    answer = json.loads(said.out)["hookSpecificOutput"]
    assert (said.status, said.error, answer["permissionDecision"]) == (0, "", "ask")
    assert "protected file" in answer["permissionDecisionReason"]


@pytest.mark.parametrize("client", sorted(set(CLIENTS) - {"claude"}))
def test_elsewhere_nobody_is_asked(client: str, project: Path) -> None:
    payload = harmless(hooking.CALLS / client / "before-shell.json", project, 'rm -rf "$(curl example.org)"')
    assert hook(project, client, payload=payload, CLAUDE_CODE_SESSION_ATTENDED="1").refused


def test_a_certain_loss_is_not_asked_about(project: Path) -> None:
    assert hook(project, "claude", payload=bash(project, "rm -rf specs"), CLAUDE_CODE_SESSION_ATTENDED="1").refused


def test_the_directory_of_the_payload_counts(project: Path) -> None:
    assert hook(project, "claude", payload={**bash(project, "rm a.md"), "cwd": f"{project}/specs"}).refused
    assert hook(project, "claude", payload={**bash(project, "rm a.md"), "cwd": f"{project}/src"}).consented
    (project / "way").symlink_to("specs")
    assert hook(project, "claude", payload={**bash(project, "rm a.md"), "cwd": f"{project}/way"}).refused
    assert hook(project, "claude", payload={**bash(project, "rm ../src/main.py"), "cwd": f"{project}/way"}).consented


def test_a_directory_that_the_client_does_not_know_is_none(project: Path) -> None:
    payload = bash(project, "rm -rf specs")
    payload["tool_input"]["workdir"] = "/tmp"
    assert hook(project, "claude", payload=payload).refused


def test_the_decision_is_kept_with_layer_and_tool(project: Path) -> None:
    said = hook(project, "claude", payload=bash(project, "rm -rf specs"))
    hook(project, "gemini", payload=recorded(hooking.CALLS / "gemini/before-write.json", project))
    first, second = log.read(f"{hooking.environment(project)['HOME']}/.local/state/guard")
    assert (first["layer"], first["command"], first["decision"]) == ("hook:claude:Bash", "rm -rf specs", "deny")
    assert f"[{first['id']}]" in said.error
    assert (second["layer"], second["command"]) == ("hook:gemini:write_file", "write_file specs/a.md")


def test_a_session_start_leaves_a_heartbeat(project: Path) -> None:
    payload = recorded(hooking.CALLS / "opencode/session-start.json", project)
    assert hook(project, "opencode", payload=payload).status == 0
    path = Path(hooking.environment(project)["HOME"]) / ".local/state/guard/heartbeats/opencode.json"
    found = json.loads(path.read_text())
    assert found.pop("time") == pytest.approx(time.time(), abs=60)
    expected = {"v": 1, "client": "opencode", "version": "1.18.33", "session": "ses_1", "cwd": str(project)}
    assert found == {**expected, "event": "session.created"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_a_tool_lost_comes_back_and_is_told(project: Path) -> None:
    command = "make clean"  # nothing that a text could tell
    assert hook(project, "claude", payload=bash(project, command)).consented
    (project / "specs/a.md").unlink()
    after = {**bash(project, command), "hook_event_name": "PostToolUse", "tool_response": {"stdout": ""}}
    said = hook(project, "claude", payload=after)
    assert (project / "specs/a.md").read_text() == CONTENT
    assert said.status == 0
    assert "specs/a.md" in json.loads(said.out)["hookSpecificOutput"]["additionalContext"]
    assert hook(project, "claude", payload=after).consented


def test_what_an_unknown_tool_lost_comes_back(project: Path) -> None:
    call = before(project, "mcp__ci__clean", {"target": "all"})
    assert hook(project, "claude", payload=call).consented
    (project / "specs/a.md").unlink()
    hook(project, "claude", payload={**call, "hook_event_name": "PostToolUseFailure", "error": "x"})
    assert (project / "specs/a.md").read_text() == CONTENT


@pytest.mark.parametrize("tool", ["Read", "Grep", "WebFetch", "Task"])
def test_reading_tools_need_no_directory(tool: str, project: Path) -> None:
    assert hook(project, "claude", payload={**before(project, tool, {"anything": 1}), "cwd": ""}).consented


def test_a_new_tool_that_takes_a_command_is_a_shell(project: Path) -> None:
    assert hook(project, "claude", payload=before(project, "PowerBash", {"command": "rm -rf specs"})).refused
    assert hook(project, "claude", payload=before(project, "mcp__remote__run", {"command": "rm -rf specs"})).consented


INTERACTIVE = """
bash | sh -i | python3 | python3.12 -i x.py | node | exec bash | env bash | timeout 5 bash | cat | bash --norc
""".split(" | ")


@pytest.mark.parametrize(
    "command", [*(c.strip() for c in INTERACTIVE if c.strip() != "cat"), "cat | sh", 'read x; eval "$x"', "sudo -i"]
)
def test_a_shell_that_somebody_types_into_unseen_is_refused(command: str, project: Path) -> None:
    payload = {**bash(project, command), "model": "gpt"}
    assert hook(project, "codex", payload=payload).refused
    if "read" not in command:
        assert hook(project, "claude", payload=payload).consented


@pytest.mark.parametrize(
    "command", ["bash -c ls", "echo ls | bash", "python3 -c 'print(1)'", "bash build.sh", "python3 -m pytest", "cat"]
)
def test_a_shell_that_is_given_its_commands_is_not(command: str, project: Path) -> None:
    assert hook(project, "codex", payload=bash(project, command)).consented


def test_halves_of_characters_are_no_crash(project: Path) -> None:
    data = json.dumps(before(project, "Write", {"file_path": f"{project}/specs/\ud800.md", "content": "\udfff"})).encode()
    assert hook(project, "claude", payload=data).consented
    assert hook(project, "claude", payload=json.dumps(bash(project, "rm -rf specs \ud800")).encode()).refused


def test_the_options_are_those_of_the_full_command_line() -> None:
    options = [option for option in cli.commands.commands["hook"].params if isinstance(option, click.Option)]
    assert {option.opts[0]: not option.is_flag for option in options} == entry.OPTIONS


def test_help_is_for_people(project: Path) -> None:
    said = hook(project, "--help", payload=b"")
    assert said.status == 0
    assert "CLIENT" in said.out


def test_a_tool_that_may_run_leaves_a_heartbeat_too(project: Path) -> None:
    hook(project, "gemini", payload=harmless(hooking.CALLS / "gemini/before-shell.json", project, "rm -rf build"))
    path = Path(hooking.environment(project)["HOME"]) / ".local/state/guard/heartbeats/gemini.json"
    assert json.loads(path.read_text())["event"] == "BeforeTool"
