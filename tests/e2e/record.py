"""Records what the clients give to their hooks: `GUARD_E2E_CLIENTS=DIR python -m tests.e2e.record [CLIENT...]`.

Each client does a little of everything under a hook that consents and keeps its input. The payloads go to tests/data/payloads,
one file a payload, with neutral paths and names of sessions.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.e2e.clients import CLIENTS, Client, run
from tests.e2e.server import Call, Turn

ROOT = Path(__file__).parents[2]
PAYLOADS = ROOT / "tests/data/payloads"
FILES_SERVER = ROOT / "tests/e2e/files_server.py"
HOME, PROJECT = "/home/user", "/home/user/project"

CLAUDE_EVENTS = (
    *(
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "SessionStart",
        "SessionEnd",
        "UserPromptSubmit",
        "Stop",
        "SubagentStop",
    ),
)
GEMINI_EVENTS = ("BeforeTool", "AfterTool", "SessionStart", "SessionEnd", "BeforeAgent", "AfterAgent")
COPILOT_EVENTS = (
    *("preToolUse", "postToolUse", "postToolUseFailure", "sessionStart", "sessionEnd", "userPromptSubmitted", "agentStop"),
)
NOTEBOOK = {
    "cells": [{"cell_type": "code", "id": "one", "metadata": {}, "source": ["1"], "outputs": [], "execution_count": None}],
    "metadata": {"language_info": {"name": "python"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}


def nested(events: tuple[str, ...], command: str) -> dict[str, Any]:
    """Hooks as most clients want them."""
    return {event: [{"matcher": ".*", "hooks": [{"type": "command", "command": command, "name": "record"}]}] for event in events}


def wire(name: str, home: Path, command: str) -> None:
    """Puts the hook, and the server of the Model Context Protocol where that is simple, into the user's settings."""
    files = {"command": sys.executable, "args": [str(FILES_SERVER)]}
    servers = {"mcpServers": {"files": files}}
    if name == "claude":
        put(home / ".claude/settings.json", {"hooks": nested(CLAUDE_EVENTS, command)})
        put(home / ".claude.json", servers)
    elif name == "codex":
        put(home / ".codex/hooks.json", {"hooks": nested(CLAUDE_EVENTS[:7], command)})
        text = f'[mcp_servers.files]\ncommand = "{sys.executable}"\nargs = ["{FILES_SERVER}"]\n'
        (home / ".codex/config.toml").write_text(text)
    elif name == "gemini":
        settings = json.loads(CLIENTS[name].settings[".gemini/settings.json"])
        put(home / ".gemini/settings.json", {**settings, **servers, "hooks": nested(GEMINI_EVENTS, command)})
    elif name == "qwen":
        put(home / ".qwen/settings.json", {**servers, "hooks": nested(CLAUDE_EVENTS, command)})
    elif name == "copilot":
        put(home / ".copilot/mcp-config.json", {"mcpServers": {"files": {"type": "local", "tools": ["*"], **files}}})
        hooks = {event: [{"type": "command", "bash": command, "timeoutSec": 30}] for event in COPILOT_EVENTS}
        put(home / ".copilot/hooks/record.json", {"version": 1, "hooks": hooks})
    elif name == "opencode":  # guard's own plugin calls what stands beside it
        shutil.copy(ROOT / "hooks/opencode.js", os.path.dirname(command))
        servers = {"files": {"type": "local", "command": [sys.executable, str(FILES_SERVER)]}}
        put(
            home / ".config/opencode/opencode.json",
            {"plugin": [f"file://{os.path.dirname(command)}/opencode.js"], "mcp": servers},
        )


def put(path: Path, value: Any) -> None:
    """Writes a file of JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2) + "\n")


def calls(client: Client, project: Path) -> list[Call]:
    """A little of everything that the client's tools can do."""
    path: Callable[[str], str] = lambda name: str(project / name)  # noqa: E731
    found = [
        client.shell("ls"),
        client.shell("mkdir -p sub && cd sub && pwd"),
        client.shell("exit 3"),
        client.write(path("notes.md"), "one\ntwo\n"),
        client.edit(path("CLAUDE.md"), "first", "1st"),
    ]
    return found + OWN.get(client.name, lambda path: [])(path)


def mcp(prefix: str, path: Callable[[str], str], space: str = "") -> list[Call]:
    """Calls of the tools that do not come with the client."""
    return [
        Call(f"{prefix}write_file", {"path": path("mcp.md"), "content": "x\n"}, space),
        Call(f"{prefix}move_file", {"source": path("mcp.md"), "destination": path("moved.md")}, space),
    ]


def _patch(*lines: str) -> Call:
    return Call("apply_patch", "\n".join(["*** Begin Patch", *lines, "*** End Patch"]) + "\n")


OWN: dict[str, Callable[[Callable[[str], str]], list[Call]]] = {
    "claude": lambda path: [
        Call("Read", {"file_path": path("CLAUDE.md")}),
        Call("Bash", {"command": "sleep 1", "description": "wait", "run_in_background": True}),
        Call("Read", {"file_path": path("book.ipynb")}),
        Call("NotebookEdit", {"notebook_path": path("book.ipynb"), "cell_id": "one", "new_source": "2", "edit_mode": "replace"}),
        Call("Agent", {"description": "look", "prompt": "Say hello.", "subagent_type": "general-purpose"}),
        *mcp("mcp__files__", path),
    ],
    "codex": lambda path: [
        _patch("*** Update File: specs/a.md", "*** Move to: specs/c.md", "@@", "-first", "+1st"),
        _patch("*** Delete File: specs/b.md"),
        Call("exec_command", {"cmd": "pwd", "workdir": path("sub")}),
        Call("exec_command", {"cmd": "cat", "tty": True, "yield_time_ms": 300}),
        *mcp("", path, "mcp__files"),
    ],
    "gemini": lambda path: [
        Call("read_file", {"file_path": "CLAUDE.md"}),
        Call("write_file", {"file_path": "relative.md", "content": "x\n"}),
        Call("run_shell_command", {"command": "pwd", "dir_path": "sub"}),
        *mcp("mcp_files_", path),
    ],
    "qwen": lambda path: [
        Call("read_file", {"file_path": path("CLAUDE.md")}),
        Call("run_shell_command", {"command": "pwd", "directory": path("sub"), "is_background": False}),
        Call("monitor", {"command": "echo seen", "description": "watch", "max_events": 1, "idle_timeout_ms": 1000}),
        *mcp("mcp__files__", path),
    ],
    "copilot": lambda path: [
        Call("view", {"path": path("CLAUDE.md")}),
        Call("bash", {"command": "cat", "description": "wait", "mode": "async", "shellId": "one"}),
        *mcp("files-", path),
    ],
    "opencode": lambda path: [
        Call("read", {"filePath": path("CLAUDE.md")}),
        Call("write", {"filePath": "relative.md", "content": "x\n"}),
        Call("bash", {"command": "pwd", "workdir": path("sub"), "description": "look"}),
        *mcp("files_", path),
    ],
}


def make_project(top: Path) -> Path:
    """A small repository."""
    for name in ("specs/a.md", "specs/b.md", "CLAUDE.md"):
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("first\nsecond\nthird\n")
    put(top / "book.ipynb", NOTEBOOK)
    subprocess.run(["git", "init", "-q", top], check=True)
    return top


def neutral(text: str, project: Path, home: Path) -> str:
    """The text without what belongs to this run alone."""
    dashed: Callable[[Path | str], str] = lambda path: re.sub(r"[^A-Za-z0-9]", "-", str(path))  # noqa: E731
    text = text.replace(sys.executable, "python3").replace(str(FILES_SERVER), f"{HOME}/files_server.py")
    for old, new in ((project, PROJECT), (home, HOME)):
        text = text.replace(str(old), new).replace(dashed(old), dashed(new))
    names: dict[str, str] = {}
    return re.sub(
        r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        lambda found: names.setdefault(found[0], f"00000000-0000-4000-8000-{len(names) + 1:012d}"),
        text,
    )


def record(client: Client) -> list[str]:
    """The payloads of one run, in their order."""
    with tempfile.TemporaryDirectory() as name:
        top = Path(name).resolve()
        home, kept = top / "home", top / "kept"
        kept.mkdir()
        home.mkdir()
        project = make_project(top / "project")
        hook = top / "hook"
        hook.write_text(f'#!/bin/sh\numask 022\ncat >"{kept}/.$$" && mv "{kept}/.$$" "{kept}/$(date +%s%N).$$"\n')
        hook.chmod(0o755)
        wire(client.name, home, str(hook))
        ended = run(client, calls(client, project), project, home, others=(Turn(calls=(client.shell("ls"),)), Turn("Hello.")))
        if ended.status:
            print(f"{client.name} ended with {ended.status}: {ended.errors[-1000:]}", file=sys.stderr)
        for result in ended.results:
            print(f"  {client.name}: {result[:150]!r}", file=sys.stderr)
        texts = [path.read_text() for path in sorted(kept.iterdir()) if not path.name.startswith(".")]
        return neutral("\0".join(texts), project, home).split("\0") if texts else []


def title(payload: dict[str, Any]) -> str:
    """What tells a payload from the others: the event and the tool."""
    event = payload.get("hook_event_name") or payload.get("hookEventName") or ("toolName" in payload and "tool") or "session"
    if event == "tool":
        event = "postToolUse" if "toolResult" in payload else "preToolUse"
    tool = payload.get("tool_name") or payload.get("toolName") or ""
    return f"{event}-{tool}" if tool else str(event)


def keep(name: str, texts: list[str]) -> None:
    """Writes the payloads of a client, in place of those that were there."""
    top = PAYLOADS / name
    top.mkdir(parents=True, exist_ok=True)
    for path in top.glob("*.json"):
        path.unlink()
    for number, text in enumerate(texts, 1):
        payload = json.loads(text)
        path = top / f"{number:02d}-{title(payload)}.json"
        path.write_text(json.dumps(payload, indent=2, ensure_ascii=False) + "\n")


def main(names: list[str]) -> int:
    """Records the named clients, or all."""
    missing = [name for name in names if name not in CLIENTS or CLIENTS[name].program() is None]
    for name in missing:
        print(f"{name}: not found; set GUARD_E2E_CLIENTS", file=sys.stderr)
    for name in names:
        if name not in missing:
            texts = record(CLIENTS[name])
            keep(name, texts)
            print(f"{name}: {len(texts)} payloads", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(CLIENTS)))
