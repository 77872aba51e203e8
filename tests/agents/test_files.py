"""The file tools of agents: what they may do to kept, locked and plain files, by whatever name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from guard.agents import read
from guard.agents.table import CLIENTS
from guard.hot import hook
from guard.verdict import Verdict
from tests.agents import hooking
from tests.agents.hooking import CONTENT, before


def judged(project: Path, tool: str, arguments: dict[str, Any], client: str = "claude") -> Verdict:
    event = {"gemini": "BeforeTool", "cursor": "preToolUse", "opencode": "tool.execute.before"}.get(client, "PreToolUse")
    payload = before(project, tool, arguments, hook_event_name=event)
    decision, _ = hook.decide(CLIENTS[client], read.call(CLIENTS[client], payload))
    return decision.verdict


def patch(*lines: str) -> dict[str, str]:
    return {"command": "\n".join(["*** Begin Patch", *lines, "*** End Patch", ""])}


KEPT, LOCKED, PLAIN = "specs/a.md", "locked/a.sql", "src/main.py"
LOSSES: dict[str, tuple[str, dict[str, Any], str]] = {
    "emptying": ("Write", {"file_path": KEPT, "content": ""}, "empty-kept"),
    "blanking": ("Write", {"file_path": KEPT, "content": " \n\t\n"}, "empty-kept"),
    "blanking a prompt": ("Write", {"file_path": "PROMPT.md", "content": "\n"}, "empty-kept"),
    "editing all away": ("Edit", {"file_path": KEPT, "old_string": CONTENT, "new_string": ""}, "empty-kept"),
    "editing all away, blanks forgiven": (
        "Edit",
        {"file_path": KEPT, "old_string": "one two three  four", "new_string": ""},
        "empty-kept",
    ),
    "editing all away, passage by passage": (
        "MultiEdit",
        {"file_path": KEPT, "edits": [{"old_string": f"{word}\n", "new_string": ""} for word in CONTENT.split()]},
        "empty-kept",
    ),
    "writing what is locked": ("Write", {"file_path": LOCKED, "content": "x"}, "change-locked"),
    "editing what is locked": ("Edit", {"file_path": LOCKED, "old_string": "one", "new_string": "1"}, "change-locked"),
    "a notebook that is locked": ("NotebookEdit", {"notebook_path": "locked/n.ipynb", "new_source": "2"}, "change-locked"),
    "making what is locked": ("Write", {"file_path": "locked/new.sql", "content": "x"}, "create-locked"),
    "the configuration": ("Edit", {"file_path": "guard.toml", "old_string": "lock", "new_string": "x"}, "change-locked"),
    "what makes a repository": ("Write", {"file_path": ".git/HEAD", "content": "gone"}, "replace-present"),
    "a patch that deletes": ("apply_patch", patch(f"*** Delete File: {KEPT}"), "delete-kept"),
    "a patch that moves out": ("apply_patch", patch(f"*** Update File: {KEPT}", "*** Move to: build/a.md"), "move-kept"),
    "a patch that empties": ("apply_patch", patch(f"*** Add File: {KEPT}"), "empty-kept"),
    "a patch that takes all lines": (
        "apply_patch",
        patch(f"*** Update File: {KEPT}", "@@", *(f"-{line}" for line in CONTENT.split())),
        "empty-kept",
    ),
    "a patch behind harmless parts": (
        "apply_patch",
        patch("*** Add File: x", "+x", f"*** Update File: {PLAIN}", "@@", "-one", "+1", f"*** Delete File: {KEPT}"),
        "delete-kept",
    ),
    "a move onto it": ("mcp__files__move_file", {"source": PLAIN, "destination": KEPT}, "replace-kept"),
    "a move away": ("mcp__files__move_file", {"source": KEPT, "destination": "x.md"}, "move-kept"),
    "a move of all": ("mcp__fs__rename_directory", {"old_path": "specs", "new_path": "old"}, "move-kept"),
    "a deletion": ("mcp__fs__delete_file", {"path": KEPT}, "delete-kept"),
    "a deletion of all": ("delete_directory", {"path": "specs"}, "delete-kept"),
    "another spelling": ("mcp__fs__delete-file", {"filePath": f"src/../{KEPT}"}, "delete-kept"),
    "a URL": ("mcp__fs__delete_file", {"path": "file://PROJECT/specs/a.md"}, "delete-kept"),
    "the second of two paths": ("Write", {"file_path": "x", "path": KEPT, "content": ""}, "empty-kept"),
    "a unified patch": (
        "apply_diff",
        {"diff": f"--- a/{KEPT}\n+++ /dev/null\n@@ -1,4 +0,0 @@\n-one\n-two\n-three\n-four\n"},
        "delete-kept",
    ),
    "a patch that nobody can read": ("apply_patch", {"command": "delete everything"}, "syntax"),
}


@pytest.mark.parametrize(("tool", "arguments", "code"), LOSSES.values(), ids=list(LOSSES))
def test_a_loss_is_refused(tool: str, arguments: dict[str, Any], code: str, alone: Path) -> None:
    arguments = json.loads(json.dumps(arguments).replace("PROJECT", str(alone)))
    if code == "replace-kept":
        (alone / PLAIN).write_text("something else entirely\n" * 3)
    verdict = judged(alone, tool, arguments)
    assert (verdict.decision, verdict.code) == ("deny", code)


WORK: dict[str, tuple[str, dict[str, Any]]] = {
    "an edit": ("Edit", {"file_path": KEPT, "old_string": "one", "new_string": "1"}),
    "a rewriting as a whole": ("Write", {"file_path": KEPT, "content": "nothing of the old text\n"}),
    "an edit that leaves little": ("Edit", {"file_path": KEPT, "old_string": CONTENT, "new_string": "x\n"}),
    "an edit that does not fit": ("Edit", {"file_path": KEPT, "old_string": "never there", "new_string": ""}),
    "a new kept file": ("Write", {"file_path": "specs/new.md", "content": ""}),
    "a patch that rewrites": ("apply_patch", patch(f"*** Update File: {KEPT}", "@@", "-one", "-two", "-three", "+x")),
    "a move among kept files": ("apply_patch", patch(f"*** Update File: {KEPT}", "*** Move to: specs/c.md", "@@", "-one", "+1")),
    "a move into them": ("mcp__files__move_file", {"source": PLAIN, "destination": "specs/main.md"}),
    "the same content": ("Write", {"file_path": LOCKED, "content": CONTENT}),
    "plain files": ("apply_patch", patch(f"*** Delete File: {PLAIN}", "*** Add File: y", "+y")),
    "emptying a plain file": ("Write", {"file_path": PLAIN, "content": ""}),
    "deleting a plain directory": ("delete_directory", {"path": "build"}),
    "a notebook": ("NotebookEdit", {"notebook_path": "src/n.ipynb", "new_source": "1", "edit_mode": "insert"}),
    "an agent's settings": ("Write", {"file_path": ".claude/settings.json", "content": '{"permissions": {}}'}),
}


@pytest.mark.parametrize(("tool", "arguments"), WORK.values(), ids=list(WORK))
def test_work_goes_on(tool: str, arguments: dict[str, Any], alone: Path) -> None:
    assert judged(alone, tool, arguments).decision == "allow"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Write", {"content": "x"}),
        ("Write", {"file_path": KEPT}),
        ("Write", {"file_path": KEPT, "content": 5}),
        ("Write", {"file_path": [KEPT], "content": ""}),
        ("Edit", {}),
        ("Edit", {"file_path": KEPT, "old_string": 1, "new_string": ""}),
        ("MultiEdit", {"file_path": KEPT, "edits": ["x"]}),
        ("apply_patch", {}),
        ("apply_patch", {"command": 4}),
        ("mcp__files__move_file", {"source": KEPT}),
        ("delete_file", {"file_path": None}),
    ],
)
def test_a_call_that_does_not_say_what_it_does_is_malformed(tool: str, arguments: dict[str, Any], alone: Path) -> None:
    with pytest.raises(read.Malformed):
        judged(alone, tool, arguments)


def test_links_are_followed_as_tools_do(alone: Path) -> None:
    (alone / "way.md").symlink_to(KEPT)
    (alone / "dir").symlink_to("specs")
    assert judged(alone, "Write", {"file_path": "way.md", "content": ""}).code == "empty-kept"
    assert judged(alone, "Write", {"file_path": "dir/b.md", "content": ""}).code == "empty-kept"
    assert judged(alone, "delete_file", {"path": "way.md"}).decision == "allow"
    assert judged(alone, "delete_file", {"path": "dir/b.md"}).code == "delete-kept"


def test_home_is_where_a_tilde_leads(alone: Path) -> None:
    near = f"../project/{KEPT}"
    assert judged(alone, "delete_file", {"path": f"~/{near}"}).code == "delete-kept"


def test_a_large_file_is_not_taken_for_an_empty_one(alone: Path) -> None:
    (alone / KEPT).write_text("a line\n" * 400_000)
    assert judged(alone, "Edit", {"file_path": KEPT, "old_string": "a line", "new_string": "b"}).decision == "allow"
    assert judged(alone, "Write", {"file_path": KEPT, "content": ""}).decision == "deny"


@pytest.mark.parametrize("client", sorted(CLIENTS))
def test_every_client_may_edit_and_not_empty(client: str, alone: Path) -> None:
    row = CLIENTS[client]
    tool = next((name for name, kind in row.tools.items() if kind == "write"), "")
    if not tool:
        assert "apply_patch" in row.tools
        return
    keys = {"copilot": ("path", "file_text"), "opencode": ("filePath", "content")}.get(client, ("file_path", "content"))
    assert judged(alone, tool, dict(zip(keys, (KEPT, "new"), strict=True)), client).decision == "allow"
    assert judged(alone, tool, dict(zip(keys, (KEPT, ""), strict=True)), client).decision == "deny"


def configured(project: Path, *names: str) -> None:
    tools = ", ".join(f'"{name}"' for name in names)
    (project / "guard.toml").write_text(f'[protect]\nlock = ["/locked/"]\n[tools]\nlock = [{tools}]\n')


def test_only_the_tools_that_the_policy_names_change_what_is_locked(alone: Path) -> None:
    configured(alone, "Edit", "mcp__db__edit_file")
    edit = {"file_path": LOCKED, "old_string": "one", "new_string": "1"}
    assert judged(alone, "Edit", edit).decision == "allow"
    assert judged(alone, "mcp__db__edit_file", {"path": LOCKED, "edits": []}).decision == "allow"
    assert judged(alone, "Write", {"file_path": LOCKED, "content": "x"}).code == "change-locked"
    assert judged(alone, "mcp__other__edit_file", {"path": LOCKED}).code == "change-locked"
    assert judged(alone, "Edit", {"file_path": LOCKED, "old_string": CONTENT, "new_string": ""}).code == "change-locked"


def test_no_tool_changes_the_policy_or_what_a_person_locks_everywhere(alone: Path) -> None:
    configured(alone, "Edit", "Write")
    assert judged(alone, "Edit", {"file_path": "guard.toml", "old_string": "lock", "new_string": "x"}).code == "change-locked"
    user = alone.parent / "home/.config/guard/config.toml"
    user.parent.mkdir(parents=True)
    user.write_text('[protect]\nlock = ["/src/"]\n')
    assert judged(alone, "Write", {"file_path": PLAIN, "content": "x"}).code == "change-locked"
    user.write_text('[protect]\nlock = ["/src/"]\n[tools]\nlock = ["Write"]\n')
    assert judged(alone, "Write", {"file_path": PLAIN, "content": "x"}).decision == "allow"


def test_recorded_calls_are_understood(project: Path) -> None:
    seen = set()
    for path in hooking.named("*/*Tool*-*.json", hooking.PAYLOADS):
        client = CLIENTS[path.parent.name]
        event = path.name.split("-")[1]
        call = read.call(client, hooking.recorded(path, project), event)
        seen.add((client.name, call.kind, call.phase))
        assert call.cwd.startswith(str(project))
        assert call.session
        assert call.call
    for name in ("claude", "codex", "gemini", "qwen", "copilot"):
        assert {(name, "shell", "before"), (name, "shell", "after")} <= seen


def test_a_call_has_one_name_before_and_after(project: Path) -> None:
    pairs = [("BeforeTool", "AfterTool"), ("preToolUse", "postToolUse")]
    for client, (first, then) in zip(("gemini", "copilot"), pairs, strict=True):
        names = {
            phase: {
                read.call(CLIENTS[client], hooking.recorded(path, project), phase).call
                for path in hooking.named(f"{client}/*-{phase}-*.json", hooking.PAYLOADS)
            }
            for phase in (first, then)
        }
        assert names[first] == names[then]
        assert len(names[first]) > 4
