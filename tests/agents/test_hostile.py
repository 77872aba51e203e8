"""What an agent that wants to get on, or a client with a flaw, could give to the hook."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from guard import log
from guard.agents import notebook
from guard.agents.table import CLIENTS
from tests.agents import hooking
from tests.agents.hooking import CONTENT, bash, before, hook

HARM = "rm -rf specs"


def raw(values: dict[str, Any]) -> bytes:
    return json.dumps(values).encode()


def test_of_keys_that_are_given_twice_the_last_counts(project: Path) -> None:
    """As for every client: JSON.parse takes the last one."""
    harmless = raw(bash(project, "ls"))
    assert hook(project, "claude", payload=harmless.replace(b'"ls"', b'"ls", "command": "rm -rf specs"')).refused
    assert hook(project, "claude", payload=harmless[:-1] + b', "tool_input": {"command": "rm -rf specs"}}').refused
    reads = raw(before(project, "Read", {"command": HARM}))
    assert hook(project, "claude", payload=reads[:-1] + b', "tool_name": "Bash"}').refused
    assert hook(project, "claude", payload=raw(bash(project, HARM)).replace(b'specs"', b'specs", "command": "ls"')).consented


@pytest.mark.parametrize(
    "arguments",
    [
        json.dumps({"command": HARM}),
        json.dumps(["bash", "-lc", HARM]),
        HARM,
        {"command": ["bash", "-lc", HARM]},
        {"command": ["rm", "-rf", "specs"]},
        {"command": f"{HARM}\0"},
        {"command": f"ls\r\n{HARM}"},
        {"command": f"# {'x' * 200_000}\n{HARM}"},
        {"command": f"{HARM} \ud800"},
    ],
    ids=lambda each: str(each)[:40],
)
def test_a_command_is_judged_in_whatever_form_it_comes(arguments: object, project: Path) -> None:
    assert hook(project, "claude", payload={**bash(project, ""), "tool_input": arguments}).refused


def test_a_byte_order_mark_and_line_ends_of_windows_change_nothing(project: Path) -> None:
    for command, refused in ((HARM, True), ("rm -rf build", False)):
        text = json.dumps(bash(project, command), indent=1).replace("\n", "\r\n").encode()
        said = hook(project, "claude", payload=b"\xef\xbb\xbf" + text)
        assert (said.refused, said.consented) == (refused, not refused)


def test_a_directory_that_is_gone_or_a_link_is_told_from_the_real_one(project: Path) -> None:
    gone = project / "gone"
    assert hook(project, "claude", payload={**bash(project, f"{HARM}"), "cwd": str(gone)}).refused
    (project / "way").symlink_to("src")
    said = hook(project, "claude", payload={**bash(project, "rm -rf ../specs"), "cwd": f"{project}/way"})
    assert said.refused
    assert "specs/a.md" in said.error


@pytest.mark.parametrize("depth", [900, 50_000])
def test_deep_nesting_is_judged_or_refused(depth: int, project: Path) -> None:
    for command in ("ls", HARM):
        data = raw(bash(project, command))[:-2] + b', "x": ' + b"[" * depth + b"]" * depth + b"}}"
        said = hook(project, "claude", payload=data)
        assert said.refused or (command == "ls" and said.consented)


CELL = {"cell_type": "code", "id": "a", "source": ["x = 1\n"], "metadata": {}}
BLANK_CELL = {**CELL, "id": "b", "source": ""}


def book(*cells: dict[str, Any]) -> str:
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


@pytest.mark.parametrize(
    ("cells", "arguments", "empties"),
    [
        ([CELL], {"cell_id": "a", "edit_mode": "delete", "new_source": ""}, True),
        ([CELL], {"cell_id": "cell-0", "edit_mode": "delete", "new_source": ""}, True),
        ([CELL], {"edit_mode": "delete", "new_source": ""}, True),
        ([CELL, BLANK_CELL], {"cell_id": "a", "edit_mode": "delete", "new_source": ""}, True),
        ([CELL], {"cell_id": "a", "edit_mode": "replace", "new_source": " \n"}, True),
        ([CELL], {"cell_id": "a", "edit_mode": "replace", "new_source": "y"}, False),
        ([CELL], {"cell_id": "a", "edit_mode": "insert", "new_source": "y"}, False),
        ([CELL, {**CELL, "id": "c"}], {"cell_id": "a", "edit_mode": "delete", "new_source": ""}, False),
        ([BLANK_CELL], {"cell_id": "b", "edit_mode": "delete", "new_source": ""}, False),
        ([CELL], {"cell_id": "other", "edit_mode": "delete", "new_source": ""}, False),
    ],
)
def test_a_notebook_keeps_a_cell_that_says_something(
    cells: list[dict[str, Any]], arguments: dict[str, Any], empties: bool, project: Path
) -> None:
    path = project / "specs/n.ipynb"
    path.write_text(book(*cells))
    said = hook(project, "claude", payload=before(project, "NotebookEdit", {"notebook_path": str(path), **arguments}))
    assert said.refused == empties, said


def test_a_notebook_written_without_cells_is_emptied(project: Path) -> None:
    path = project / "specs/n.ipynb"
    path.write_text(book(CELL))
    for text, refused in ((book(), True), (book(BLANK_CELL), True), (book({**CELL, "source": "y"}), False)):
        said = hook(project, "claude", payload=before(project, "Write", {"file_path": str(path), "content": text}))
        assert said.refused == refused, text


@pytest.mark.parametrize("content", [b"", b"[]", b'{"cells": {}}', b'{"cells": [1, null, {"source": 3}]}', b"\xff"])
def test_what_is_no_notebook_says_nothing(content: bytes) -> None:
    assert not notebook.empties(content, {"edit_mode": "delete"}) or content.startswith(b'{"cells": [1')
    assert isinstance(notebook.bare(content), bool)


@pytest.mark.parametrize(
    ("arguments", "refused"),
    [
        ({"path": "{top}/specs/a.md", "content": ""}, True),
        ({"path": "{top}/locked/a.sql", "content": "x"}, True),
        ({"file_path": "{top}/way/a.md", "text": " \n"}, True),
        ({"path": "{top}/specs/a.md", "old_string": CONTENT, "new_string": ""}, True),
        ({"uri": "{top}/specs/a.md", "path": "file://{top}/specs/a.md", "contents": ""}, True),
        ({"path": "{top}/specs/a.md", "content": "other\n"}, False),
        ({"path": "guard.toml", "content": "of a repository elsewhere"}, False),
        ({"path": "{top}/specs/a.md"}, False),
        ({"query": "{top}/specs/a.md", "content": ""}, False),
    ],
    ids=str,
)
def test_a_tool_with_any_name_that_takes_a_path_and_a_content_writes(
    arguments: dict[str, str], refused: bool, project: Path
) -> None:
    (project / "way").symlink_to("specs")
    given = {key: value.format(top=project) for key, value in arguments.items()}
    for tool in ("mcp__store__put", "Upsert"):
        assert hook(project, "claude", payload=before(project, tool, given)).refused == refused, tool


@pytest.mark.parametrize(
    ("old", "new"), [("x\n", ""), ("x", ""), ("x", " "), ("x\nx\n", "\n")], ids=["lines", "texts", "blanks", "pairs"]
)
def test_replacing_everything_by_nothing_empties(old: str, new: str, project: Path) -> None:
    (project / "specs/same.md").write_text("x\n" * 10)
    edit = {"file_path": f"{project}/specs/same.md", "old_string": old, "new_string": new, "replace_all": True}
    assert hook(project, "claude", payload=before(project, "Edit", edit)).refused
    assert hook(project, "claude", payload=before(project, "Edit", {**edit, "replace_all": False})).consented


def test_a_link_into_a_protected_directory_is_that_directory(project: Path) -> None:
    (project / "way").symlink_to("specs")
    (project / "src/deep").symlink_to("../way")
    for path in ("way/a.md", "src/deep/a.md", "src/../way/a.md"):
        said = hook(project, "claude", payload=before(project, "Write", {"file_path": f"{project}/{path}", "content": ""}))
        assert said.refused, path
        assert "specs/a.md" in said.error


DOORS = {
    "the project's configuration": ("{top}/guard.toml", "[protect]\n"),
    "the user's configuration": ("{home}/.config/guard/config.toml", "x = 1\n"),
    "the launcher": ("{home}/.local/share/guard/bin/hook", "#!/bin/sh\nexit 0\n"),
    "the runtime": ("{home}/.local/share/guard/runtime/current/guard/main.py", "pass\n"),
    "the state": ("{home}/.local/state/guard/grants/x", "x\n"),
    "an off switch of the user's": ("{home}/.claude/settings.json", '{"disableAllHooks": true}'),
    "with a byte order mark": ("{top}/.claude/settings.local.json", '\ufeff{"disableAllHooks": true}'),
    "given twice": ("{top}/.claude/settings.json", '{"disableAllHooks": false, "disableAllHooks": true}'),
    "behind a comment": ("{top}/.gemini/settings.json", '// mine\n{"hooksConfig": {"enabled": false,},}'),
    "escaped": ("{top}/.qwen/settings.json", '{"disable\\u0041llHooks": true, /* and more */}'),
    "guard's hook of git": ("{top}/.git/hooks/pre-commit", "#!/bin/sh\nexit 0\n"),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("by", ["tool", "shell"])
def test_guards_own_files_and_switches_are_not_for_agents(door: str, by: str, project: Path) -> None:
    home = hooking.environment(project)["HOME"]
    path, text = DOORS[door]
    file = Path(path.format(top=project, home=home))
    file.parent.mkdir(parents=True, exist_ok=True)
    if door == "guard's hook of git":
        shutil.copy(hooking.ROOT / "hooks/pre-commit", file)
    if by == "tool":
        payload = before(project, "Write", {"file_path": str(file), "content": text})
    else:
        payload = bash(project, f"cat > '{file}' <<'END'\n{text}\nEND")
    assert hook(project, "claude", payload=payload).refused


def test_what_is_the_users_own_is_for_agents(project: Path) -> None:
    home = hooking.environment(project)["HOME"]
    for path, text in {
        f"{home}/.claude/settings.json": '{"model": "x"}',
        f"{home}/.bashrc": "export PATH=/usr/bin:/bin\n",
        f"{project}/.git/hooks/commit-msg": "#!/bin/sh\n# of the user\n",
        f"{project}/.gemini/settings.json": '// mine\n{"theme": "dark"}',
        f"{project}/notes.md": 'disableAllHooks in settings.json, "\\u00e4", hooks\n',
    }.items():
        assert hook(project, "claude", payload=before(project, "Write", {"file_path": path, "content": text})).consented, path
    text = "cat > notes.md <<'END'\nsettings.json may say disableAllHooks: true\nEND"
    assert hook(project, "claude", payload=bash(project, text)).consented


def test_a_hook_of_git_that_calls_guard_is_not_taken_away(project: Path) -> None:
    place = project / ".git/hooks/pre-commit"
    shutil.copy(hooking.ROOT / "hooks/pre-commit", place)
    for command in (
        "rm .git/hooks/pre-commit",
        "mv .git/hooks/pre-commit x",
        "rm -rf .git/hooks",
        "ln -sf /bin/true .git/hooks/pre-commit",
    ):
        assert hook(project, "claude", payload=bash(project, command)).refused, command
    assert hook(project, "claude", payload=bash(project, "rm -f .git/hooks/pre-push.sample")).consented


def after(call: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**call, "hook_event_name": "PostToolUse", "tool_response": {"stdout": ""}, **more}


def stop(project: Path, event: str, **more: Any) -> dict[str, Any]:
    return {"session_id": "s-1", "cwd": str(project), "hook_event_name": event, **more}


@pytest.mark.parametrize("event", ["the next tool", "Stop", "SessionEnd"])
def test_what_a_background_command_loses_later_comes_back(event: str, project: Path) -> None:
    server = bash(project, "./serve", tool_use_id="t-0")
    server["tool_input"]["run_in_background"] = True
    assert hook(project, "claude", payload=server).consented
    assert hook(project, "claude", payload=after(server, tool_response={"backgroundTaskId": "b1"})).consented
    (project / "specs/a.md").unlink()
    if event == "the next tool":
        following = bash(project, "make", tool_use_id="t-1")
        assert hook(project, "claude", payload=following).consented
        assert (project / "specs/a.md").read_text() == CONTENT
        said = hook(project, "claude", payload=after(following))
        assert "specs/a.md" in json.loads(said.out)["hookSpecificOutput"]["additionalContext"]
    else:
        said = hook(project, "claude", payload=stop(project, event, background_tasks=[]))
        assert (project / "specs/a.md").read_text() == CONTENT
        assert (said.status, said.error) == (0, "")
        assert "specs/a.md" in json.loads(said.out)["systemMessage"]


def test_a_turn_that_ends_while_tasks_run_forgets_nothing(project: Path) -> None:
    server = bash(project, "./serve & sleep 1", tool_use_id="t-0")
    hook(project, "claude", payload=server)
    hook(project, "claude", payload=after(server))
    assert hook(project, "claude", payload=stop(project, "Stop", background_tasks=[{"id": "b1"}])).consented
    (project / "specs/a.md").unlink()
    hook(project, "claude", payload=stop(project, "SessionEnd"))
    assert (project / "specs/a.md").read_text() == CONTENT


ENDINGS = {
    "claude": [("Stop", ""), ("SessionEnd", "")],
    "codex": [("Stop", ""), ("SessionEnd", "")],
    "qwen": [("Stop", ""), ("SessionEnd", "")],
    "gemini": [("AfterAgent", ""), ("SessionEnd", "")],
    "copilot": [("", "agentStop"), ("", "sessionEnd")],
    "cursor": [("stop", ""), ("sessionEnd", "")],
    "opencode": [("session.idle", "")],
}


@pytest.mark.parametrize("client", sorted(CLIENTS))
def test_the_end_of_a_turn_is_noticed_in_every_client(client: str, project: Path) -> None:
    row = CLIENTS[client]
    uses = Path(hooking.environment(project)["HOME"], ".local/state/guard/uses")
    for named, argument in ENDINGS[client]:
        tool = next(tool for tool, kind in row.tools.items() if kind == "shell")
        start = next(event for event, phase in row.events.items() if phase == "before" and "Shell" not in event)
        told = {row.session[0]: "s-1", row.call[0]: "t-1", row.directory[0]: str(project)}
        call = {row.event[0]: start, row.tool[0]: tool, row.arguments[0]: {"command": "make"}, **told}
        assert hook(project, client, payload=call).status == 0
        assert [path.name for path in uses.iterdir() if path.name != "lock"] == ["s-1.t-1"]
        end = {row.session[0]: "s-1", row.directory[0]: str(project), **({row.event[0]: named} if named else {})}
        said = hook(project, client, *([argument] if argument else []), payload=end)
        assert said.consented
        assert [path.name for path in uses.iterdir() if path.name != "lock"] == []


def test_agents_beside_each_other_lose_nothing(project: Path) -> None:
    """Two subagents of a session, the tools of each before those of the other are over."""
    one, two = (bash(project, "make", tool_use_id=name, agent_id=name) for name in ("t-1", "t-2"))
    assert hook(project, "claude", payload=one).consented
    assert hook(project, "claude", payload=two).consented
    (project / "specs/a.md").unlink()
    (project / "specs/b.md").write_text("")
    said = [hook(project, "claude", payload=after(each)) for each in (one, two)]
    assert all("specs/a.md" in each.out and "specs/b.md" in each.out for each in said)
    assert (project / "specs/a.md").read_text() == (project / "specs/b.md").read_text() == CONTENT


def test_a_refusal_for_want_of_time_stands_in_the_log(project: Path) -> None:
    code = f"import sys, time; sys.path.insert(0, {str(hooking.ROOT)!r})\nfrom guard.hot import hook\n"
    code += "hook._files = hook._commands = lambda *a: time.sleep(30)\nimport os; os._exit(hook.main(['claude']))"
    said = hooking.call([sys.executable, "-c", code], project, bash(project, HARM))
    assert said.refused
    assert "in time" in said.error
    state = f"{hooking.environment(project)['HOME']}/.local/state/guard"
    for _ in range(50):
        found = list(log.read(state))
        if found:
            break
        subprocess.run(["sleep", "0.1"], check=True)
    assert [(each["layer"], each["command"], each["decision"]) for each in found] == [("hook:claude:Bash", HARM, "deny")]
