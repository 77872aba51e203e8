"""`guard replay`: past commands, read from the clients' own logs, judged as guard would judge them now."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from guard import sessions
from guard.commands import replay
from guard.errors import GuardError
from guard.sessions import Call, Log, Reading, judging
from guard.sessions.call import moment

ROOT = Path(__file__).parent.parent
RECORDED = Path(__file__).parent / "data" / "sessions"
THERE = "/home/user/project"  # where the recorded sessions ran
PLACES = {
    "claude": ".claude/projects/-home-user-project/0cb94c9c.jsonl",
    "codex": ".codex/sessions/2026/11/30/rollout-2026-11-30T22-27-16-01a22e91.jsonl",
    "gemini": ".gemini/tmp/project/chats/session-2026-11-30T22-29-401efd19.jsonl",
}
RAN = {
    "claude": [("ls specs", ""), ("cd src && ls", ""), ("rm -rf ../specs build", "/src")],
    "codex": [("ls specs", ""), ("rm -r ../specs", "/src")],
    "gemini": [("ls specs", ""), ("rm -rf ../specs build", "/src")],
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The project that the recorded sessions ran in, as it was before them."""
    top = tmp_path.resolve() / "project"
    for name in ("specs/a.md", "src/x.py", "build/x.o"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text("text\n")
    subprocess.run(["git", "init", "-q", top], check=True)
    return top


@pytest.fixture
def home(tmp_path: Path, project: Path) -> Path:
    """A home directory with the recorded logs of all three clients, about the project."""
    home = tmp_path.resolve() / "home"
    for client in PLACES:
        put(home, client, project)
    (home / ".gemini/tmp/project/.project_root").write_text(str(project))
    return home


def put(home: Path, client: str, project: Path) -> Path:
    path = home / PLACES[client]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text((RECORDED / f"{client}.jsonl").read_text().replace(THERE, str(project)))
    return path


def run(home: Path, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "guard", "replay", *arguments]
    environ = {"HOME": str(home), "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"}
    return subprocess.run(argv, env=environ, cwd=cwd or home, capture_output=True, text=True, timeout=120)


def told(home: Path, *arguments: str) -> dict[str, object]:
    done = run(home, "--since", "all", "--json", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return dict(json.loads(done.stdout))


def line(command: str, cwd: Path | str, name: str, time: str = "2026-11-30T10:00:00.000Z") -> str:
    """One line of a log of Claude Code."""
    call = {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": command}}
    message = {"role": "assistant", "content": [{"type": "text", "text": "so"}, call]}
    return json.dumps({"type": "assistant", "sessionId": "s", "cwd": str(cwd), "timestamp": time, "message": message}) + "\n"


def write(home: Path, *lines: str, name: str = "s") -> Path:
    path = home / f".claude/projects/-p/{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines))
    return path


def calls(path: Path, client: str) -> tuple[list[Call], Reading]:
    reading = Reading()
    return list(sessions.read(Log(str(path), client, 0.0), reading)), reading


@pytest.mark.parametrize("client", PLACES)
def test_a_recorded_log_gives_each_command_once_with_its_directory(client: str, home: Path, project: Path) -> None:
    found, reading = calls(home / PLACES[client], client)
    ran = [(call.command, call.cwd) for call in found if not call.tool]
    assert ran == [(command, f"{project}{below}") for command, below in RAN[client]]
    written = {"claude": [("Write", f"Write {project}/src/x.py")]}
    assert [(call.tool, call.command) for call in found if call.tool] == written.get(client, [])
    assert all(call.time > 1_796_000_000 for call in found)
    assert reading == Reading()


@pytest.mark.parametrize("client", PLACES)
def test_a_log_is_known_by_what_it_says(client: str) -> None:
    assert sessions.client_of(str(RECORDED / f"{client}.jsonl")) == client


def test_all_clients_are_judged_together(home: Path, project: Path) -> None:
    found = told(home)
    assert (found["commands"], found["edits"], found["sessions"], found["allowed"], found["damaged"]) == (7, 1, 3, 5, 0)
    refused = found["refused"]
    assert isinstance(refused, list)
    assert {(row["client"], row["command"]) for row in refused} == {(client, ran[-1][0]) for client, ran in RAN.items()}
    assert all([effect["path"] for effect in row["effects"]] == ["../specs/a.md"] for row in refused)


def test_the_report_names_date_project_command_and_victims(home: Path, project: Path) -> None:
    done = run(home, "--since", "all")
    assert done.returncode == 0
    assert "7 commands and 1 call of file tools, 3 would have been refused:" in done.stdout
    assert "2026-11-30" in done.stdout
    assert f"{project}/src" in done.stdout
    assert "rm -rf ../specs build\n    delete: ../specs/a.md" in done.stdout


def test_nothing_is_run_logged_or_changed(home: Path, project: Path) -> None:
    def state() -> dict[str, tuple[float, bytes]]:
        files = [path for path in [*home.rglob("*"), *project.rglob("*")] if path.is_file()]
        return {str(path): (path.stat().st_mtime, path.read_bytes()) for path in files if ".local/state" not in str(path)}

    before = state()
    run(home, "--since", "all")
    assert state() == before
    assert not list(home.rglob("decisions.jsonl*"))


def test_broken_and_truncated_lines_are_skipped_and_counted(home: Path, project: Path) -> None:
    good = line("rm -rf specs", project, "a")
    write(home, good, '{"message": {"tool_use": broken\n', "\n", "\x00\x01\n", good.replace('"a"', '"b"')[:-20])
    found = told(home, "--client", "claude", str(home / ".claude/projects/-p/s.jsonl"))
    assert (found["commands"], found["damaged"]) == (1, 1 + 1)


@pytest.mark.parametrize(
    "text",
    [
        "[]", "1", '"tool_use"', "null", '{"type": "assistant", "message": "tool_use"}',
        '{"type": "assistant", "message": {"content": [1, null, {"type": "tool_use", "name": "Bash", "input": 3}]}}',
        '{"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "Bash", "input": {"command": ["x"]}}]}}',
        '{"type": "session_meta", "payload": []}', '{"type": "response_item", "payload": {"type": "function_call"}}',
        '{"type": "response_item", "payload": {"type": "function_call", "name": "shell", "arguments": "[]"}}',
        '{"type": "response_item", "payload": {"type": "function_call", "name": "shell", "arguments": "{"}}',
        '{"type": "event_msg", "payload": {"item": {"type": "CommandExecution", "command": 7, "cwd": 7}}}',
        '{"toolCalls": {"a": 1}}', '{"messages": [{"toolCalls": [{"name": "run_shell_command", "args": []}]}], "projectHash": 1}',
        '{"$set": {"messages": 4}, "projectHash": 0}', "[" * 100_000, '{"type": "assistant", "tool_use": "\ud800"}',
    ],
)  # fmt: skip
@pytest.mark.parametrize("client", PLACES)
def test_what_looks_like_a_log_and_is_none_gives_nothing(client: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(text.encode("utf-8", "surrogatepass") + b"\n")
    assert calls(path, client)[0] == []


def test_a_document_of_gemini_is_read_as_a_whole(tmp_path: Path, project: Path) -> None:
    path = tmp_path / "tmp/project/chats/session-2025-01-01T10-00-abcd.json"
    path.parent.mkdir(parents=True)
    (path.parent.parent / ".project_root").write_text(f"{project}\n")
    part = {"id": "1", "name": "run_shell_command", "args": {"command": "rm -rf specs"}, "timestamp": "2025-01-01T10:00:00Z"}
    message = {"id": "m", "type": "gemini", "timestamp": "2025-01-01T10:00:00Z", "toolCalls": [part]}
    path.write_text(json.dumps({"sessionId": "s", "projectHash": "h", "messages": [message]}, indent=2))
    found, _ = calls(path, "gemini")
    assert [(call.command, call.cwd) for call in found] == [("rm -rf specs", str(project))]
    assert sessions.client_of(str(path)) == "gemini"


def asked(name: str, **arguments: object) -> dict[str, object]:
    """A call of a tool of Codex."""
    return {"type": "function_call", "name": name, "arguments": json.dumps(arguments)}


@pytest.mark.parametrize(
    ("payload", "command", "cwd"),
    [
        (asked("shell", command=["bash", "-lc", "rm a"], workdir="x"), "rm a", "/p/x"),
        (asked("shell", command=["rm", "a b"]), "rm 'a b'", "/p"),
        (asked("shell_command", command="rm a"), "rm a", "/p"),
        ({"type": "local_shell_call", "action": {"command": ["sh", "-c", "rm a"], "working_directory": "/q"}}, "rm a", "/q"),
    ],
)
def test_codex_has_asked_for_commands_in_several_forms(payload: object, command: str, cwd: str, tmp_path: Path) -> None:
    path = tmp_path / "rollout-x.jsonl"
    records = [{"type": "session_meta", "payload": {"cwd": "/p"}}, {"type": "response_item", "payload": payload}]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert [(call.command, call.cwd) for call in calls(path, "codex")[0]] == [(command, cwd)]


def test_a_command_that_a_program_of_the_models_ran_counts_as_well(tmp_path: Path) -> None:
    path = tmp_path / "rollout-x.jsonl"
    item = {"type": "CommandExecution", "id": "1", "command": ["/bin/bash", "-lc", "rm a"], "cwd": "file:///p/a%20b"}
    path.write_text(json.dumps({"type": "event_msg", "payload": {"type": "item_completed", "item": item}}) + "\n")
    assert [(call.command, call.cwd) for call in calls(path, "codex")[0]] == [("rm a", "/p/a b")]


def test_a_call_that_a_resumed_session_repeats_counts_once(home: Path, project: Path) -> None:
    write(home, line("rm -rf specs", project, "a"), name="first")
    write(home, line("rm -rf specs", project, "a"), line("rm -rf specs", project, "b"), name="second")
    assert told(home, "--client", "claude", str(project))["commands"] == 2 + len(RAN["claude"])


def test_what_ran_in_a_directory_that_is_gone_is_counted_and_said(home: Path, project: Path) -> None:
    gone = project / "gone"
    path = write(home, line("rm -rf x", gone, "a"), line("ls", gone, "b"), line("rm -rf specs", "", "c"))
    found = told(home, str(path))
    assert [row["cwd"] for row in found["gone"]] == [str(gone)]  # type: ignore[attr-defined]
    assert len(found["nowhere"]) == 1  # type: ignore[arg-type]
    assert found["allowed"] == 1, "what only reads is harmless anywhere"
    said = run(home, "--since", "all", str(path)).stdout
    assert f"Not judged, because the directory is gone: 1 call in {gone} (1)" in said
    assert "Not judged, because the log does not say where: 1 call" in said


def test_questions_stand_apart_from_refusals(home: Path, project: Path) -> None:
    path = write(home, line('read d; rm -rf "$d"', project, "a"), line("rm -rf specs", project, "b"))
    found = told(home, str(path))
    assert (len(found["asked"]), len(found["refused"])) == (1, 1)  # type: ignore[arg-type]
    said = run(home, "--since", "all", str(path)).stdout
    assert said.index("2 commands, 1 would have been refused, 1 asked about:") < said.index("Refused") < said.index("Asked")


def test_only_commands_since_then_count(home: Path, project: Path) -> None:
    path = write(home, line("rm a", project, "a", "2026-11-01T00:00:00Z"), line("rm b", project, "b", "2026-11-20T00:00:00Z"))
    done = run(home, "--since", "2026-11-10", "--json", str(path))
    assert json.loads(done.stdout)["commands"] == 1
    os.utime(path, (0, 0))
    assert told(home, str(path))["commands"] == 2


def used(tool: str, arguments: dict[str, object], cwd: Path, name: str) -> str:
    """One line of a log of Claude Code: a call of a tool that is no shell."""
    return line("", cwd, name).replace(
        '"name": "Bash", "input": {"command": ""}', f'"name": "{tool}", "input": {json.dumps(arguments)}'
    )


def test_calls_of_file_tools_are_judged_as_the_hook_judges_them(home: Path, project: Path) -> None:
    (project / "guard.toml").write_text("[protect]\n")
    plan = str(project / "specs/a.md")
    path = write(
        home,
        used("Write", {"file_path": plan, "content": "quite another\n"}, project, "a"),
        used("Write", {"file_path": plan, "content": " \n"}, project, "b"),
        used("Edit", {"file_path": plan, "old_string": "text\n", "new_string": ""}, project, "c"),
        used("Write", {"file_path": str(project / "guard.toml"), "content": "x"}, project, "d"),
        used("mcp__files__move_file", {"source": plan, "destination": "/nowhere/x"}, project, "e"),
        used("Write", {"file_path": str(project / "new.md"), "content": "rm -rf specs"}, project, "f"),
        used("Read", {"file_path": plan}, project, "g"),
        used("Write", {"content": "without a file"}, project, "h"),
    )
    found = told(home, str(path))
    assert (found["commands"], found["edits"], found["allowed"]) == (0, 7, 2)
    rows = found["refused"]
    assert isinstance(rows, list)
    codes = {row["command"].split("/")[-1]: row["code"] for row in rows}
    assert sorted((row["tool"], row["code"]) for row in rows) == [
        ("Edit", "empty-kept"),
        ("Write", "change-locked"),
        ("Write", "empty-kept"),
        ("Write", "malformed"),
        ("mcp__files__move_file", "move-kept"),
    ], codes
    said = run(home, "--since", "all", str(path)).stdout
    assert "7 calls of file tools" in said
    assert "mcp__files__move_file" in said


def test_patches_of_codex_are_judged(tmp_path: Path, home: Path, project: Path) -> None:
    def patch(name: str, *lines: str) -> dict[str, object]:
        text = "\n".join(["*** Begin Patch", *lines, "*** End Patch", ""])
        return {"type": "custom_tool_call", "call_id": name, "name": "apply_patch", "input": text}

    written = {"path": str(project / "specs/a.md"), "content": ""}
    payloads = [
        patch("a", "*** Delete File: specs/a.md"),
        patch("b", "*** Update File: specs/a.md", "@@", "-text", "+other text"),
        patch("b", "*** Update File: specs/a.md", "@@", "-text", "+other text"),
        patch("c", "*** Update File: specs/a.md", "*** Move to: build/a.md"),
        {**asked("mcp__files__write_file", **written), "call_id": "d"},
        {**asked("update_plan", plan=[]), "call_id": "e"},
    ]
    records = [{"type": "session_meta", "payload": {"cwd": str(project)}}]
    records += [{"type": "response_item", "payload": payload, "timestamp": "2026-11-30T10:00:00Z"} for payload in payloads]
    path = tmp_path / "rollout-x.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    found = told(home, str(path))
    assert (found["edits"], found["allowed"]) == (4, 1)
    rows = found["refused"]
    assert isinstance(rows, list)
    assert {row["code"] for row in rows} == {"delete-kept", "move-kept", "empty-kept"}


def test_file_tools_of_gemini_are_judged(tmp_path: Path, home: Path, project: Path) -> None:
    path = tmp_path / "tmp/project/chats/session-2025-01-01T10-00-abcd.json"
    path.parent.mkdir(parents=True)
    (path.parent.parent / ".project_root").write_text(f"{project}\n")
    part = {"id": "1", "name": "write_file", "args": {"file_path": "specs/a.md", "content": ""}}
    path.write_text(json.dumps({"sessionId": "s", "projectHash": "h", "messages": [{"toolCalls": [part]}]}))
    found = told(home, str(path))
    rows = found["refused"]
    assert isinstance(rows, list)
    assert [(row["tool"], row["code"]) for row in rows] == [("write_file", "empty-kept")]


@pytest.mark.parametrize("since", ["soon", "30", "d", "-3d", "9999999999d", ""])
def test_a_moment_that_is_none_is_wrong_usage(since: str, home: Path) -> None:
    done = run(home, f"--since={since}")
    assert (done.returncode, done.stdout) == (64, "")
    assert "say 30d, 12h, 2w, a date, or all" in done.stderr


def test_a_directory_narrows_to_what_ran_in_it_or_below(home: Path, project: Path, tmp_path: Path) -> None:
    assert told(home, str(project))["commands"] == 7
    assert told(home, str(project / "src"))["commands"] == 3
    (tmp_path / "projec").mkdir()
    assert told(home, str(tmp_path / "projec"))["commands"] == 0


def test_a_directory_of_logs_is_told_from_one_that_agents_worked_in(home: Path, project: Path) -> None:
    done = run(home, str(home / ".claude"))
    assert done.returncode == 0
    assert "a directory means where agents worked" in done.stderr
    assert "guard replay '" in done.stderr
    assert "means" not in run(home, str(project)).stderr


def test_a_file_that_is_no_log_is_said_to_be_none(home: Path, project: Path) -> None:
    done = run(home, str(project / "specs/a.md"))
    assert (done.returncode, done.stdout) == (64, "")
    assert "it is no session log of claude, codex, gemini" in done.stderr
    assert run(home, str(project / "nothing")).returncode == 64


def test_an_unknown_client_is_wrong_usage(home: Path) -> None:
    done = run(home, "--client", "clade")
    assert (done.returncode, "claude, codex" in done.stderr) == (64, True)


def test_without_any_log_it_says_where_none_was_found(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("There is no command to judge: no session log since ")


def test_a_line_without_end_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "LINE_LIMIT", 2000)
    path = tmp_path / "s.jsonl"
    path.write_text(line("x" * 9000, "/p", "a") + line("ls", "/p", "b"))
    found, reading = calls(path, "claude")
    assert ([call.command for call in found], reading.damaged) == (["ls"], 1)


def test_an_unreadable_log_is_named(tmp_path: Path) -> None:
    found, reading = calls(tmp_path / "none.jsonl", "claude")
    assert (found, list(reading.unreadable)) == ([], [str(tmp_path / "none.jsonl")])


def test_several_processes_judge_as_one_does(project: Path) -> None:
    commands = [f"rm -rf build/{n} {'specs' if n % 3 == 0 else ''}" for n in range(60)]
    steps: list[tuple[int, int]] = []
    asked = [Call(command, str(project), n, "claude", "log") for n, command in enumerate(commands)]
    found = judging.judge(asked, dict(os.environ), lambda done, total: steps.append((done, total)))
    said = [(found.answer(call) or {})["decision"] for call in asked]
    assert said == ["deny" if n % 3 == 0 else "allow" for n in range(60)]
    assert (steps[0], steps[-1], len(steps)) == ((0, 60), (60, 60), 61)


def test_what_there_is_no_time_for_is_counted(project: Path) -> None:
    asked = [Call(f"rm -rf build/{n}", str(project), n, "claude", "log") for n in range(3)]
    found = judging.judge(asked, dict(os.environ), lambda done, total: None, seconds=0.0)
    assert len(found.late) + len(found.answers) == 3
    assert found.late


def test_a_command_that_takes_too_long_is_refused_and_holds_nobody_up(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setattr(judging, "ONE", 0.2)
    monkeypatch.setattr("guard.hot.judgement.decide", lambda *arguments, **named: time.sleep(30))
    found = judging.judge([Call("rm x", str(project), 1, "claude", "log")], {}, lambda done, total: None)
    assert [answer["code"] for answer in found.answers.values()] == ["out-of-time"]


def test_a_fault_is_a_refusal(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object, **named: object) -> None:
        raise ValueError

    monkeypatch.setattr("guard.hot.judgement.decide", fail)
    found = judging.judge([Call("rm x", str(project), 1, "claude", "log")], {}, lambda done, total: None)
    assert [(answer["decision"], answer["code"]) for answer in found.answers.values()] == [("deny", "fault")]


def test_while_observing_it_says_what_would_be_refused(home: Path, project: Path) -> None:
    (home / ".config/guard").mkdir(parents=True)
    (home / ".config/guard/config.toml").write_text("[answer]\nobserve = true\n")
    assert len(told(home)["refused"]) == 3  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("1970-01-01T00:01:00Z", 60.0), ("1970-01-01T01:01:00+01:00", 60.0), ("1970-01-01T00:01:00", 60.0), (60, 60.0),
        (1_700_000_000_000, 1_700_000_000.0), ("yesterday", 0.0), (None, 0.0), (True, 0.0), ({}, 0.0),
    ],
)  # fmt: skip
def test_moments_are_read_as_clients_write_them(value: object, seconds: float) -> None:
    assert moment(value) == seconds


def test_a_span_goes_back_from_now() -> None:
    import time

    assert replay.moment("all") == 0.0
    assert abs(time.time() - 7200 - replay.moment("2h")) < 5
    with pytest.raises(GuardError):
        replay.moment("2y")
