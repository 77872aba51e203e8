"""Session logs of Codex: JSON lines; a turn's directory stands in front of its calls, their arguments are JSON in a text."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from guard.sessions.call import Call, mapping, moment, of_tool, sequence, text

GLOBS = ("sessions/**/rollout-*.jsonl", "archived_sessions/**/rollout-*.jsonl")
MARKS = (
    b'"session_meta"',
    b'"turn_context"',
    b'"function_call"',
    b'"local_shell_call"',
    b'"custom_tool_call"',
    b'"CommandExecution"',
)
SHELLS = ("exec_command", "shell", "shell_command", "container.exec")
WRAPPERS = ("bash", "zsh", "sh", "dash")  # a shell that is given the command as a text


def folders(environ: Mapping[str, str]) -> list[str]:
    """Where the client keeps its files."""
    home = environ.get("HOME", "")
    found = [environ.get("CODEX_HOME", ""), f"{home}/.codex" if home else ""]
    return [path for path in dict.fromkeys(found) if path.startswith("/")]


def owns(record: Any) -> bool:
    """Is a record one of this client's?"""
    found = mapping(record)
    return "payload" in found and found.get("type") in ("session_meta", "turn_context", "response_item", "event_msg")


def calls(records: Iterable[Any], log: str) -> Iterator[Call]:
    """The calls of the records, each once: what the model asked for, else what was run (by a program that it wrote)."""
    directory = ""
    seen: set[str] = set()
    for record in map(mapping, records):
        payload = mapping(record.get("payload"))
        if record.get("type") in ("session_meta", "turn_context"):
            directory = text(payload.get("cwd")) or directory
            continue
        command, where, name = _asked(payload) if record.get("type") == "response_item" else _run(payload)
        if command and name not in seen:
            seen |= {name} if name else set()
            cwd = os.path.normpath(os.path.join(directory, where)) if directory or where.startswith("/") else ""
            yield Call(command, cwd, moment(record.get("timestamp")), "codex", log, name)
        elif not command and (call := _changed(record, payload, directory, log)) is not None and call.id not in seen:
            seen |= {call.id} if call.id else set()
            yield call


def _changed(record: Mapping[str, Any], payload: Mapping[str, Any], directory: str, log: str) -> Call | None:
    """The call of a tool that changes files: a patch as a text, or arguments as JSON in one."""
    if record.get("type") != "response_item" or payload.get("type") not in ("custom_tool_call", "function_call"):
        return None
    given = {"command": text(payload.get("input"))} if payload.get("type") == "custom_tool_call" else _given(payload)
    name = text(payload.get("call_id"))
    return of_tool("codex", text(payload.get("name")), given, directory, moment(record.get("timestamp")), log, name)


def _run(payload: Mapping[str, Any]) -> tuple[str, str, str]:
    """The command of an event that says that one has been run, its directory, and its name."""
    item = mapping(payload.get("item"))
    if item.get("type") != "CommandExecution":
        return "", "", ""
    return _text(item.get("command")), unquote(text(item.get("cwd")).removeprefix("file://")), text(item.get("id"))


def _asked(payload: Mapping[str, Any]) -> tuple[str, str, str]:
    """The command of a call, the directory that it names, and its name."""
    name = text(payload.get("call_id"))
    if payload.get("type") == "local_shell_call":
        action = mapping(payload.get("action"))
        return _text(action.get("command")), text(action.get("working_directory")), name
    if payload.get("type") != "function_call" or payload.get("name") not in SHELLS:
        return "", "", ""
    given = _given(payload)
    return _text(given.get("cmd") or given.get("command")), text(given.get("workdir")), name


def _given(payload: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return mapping(json.loads(text(payload.get("arguments"))))
    except (ValueError, RecursionError):
        return {}


def _text(command: object) -> str:
    """The text that a shell gets; an argument vector becomes one."""
    words = [word for word in sequence(command) if isinstance(word, str)]
    if not words:
        return text(command)
    if len(words) == 3 and words[0].rpartition("/")[2] in WRAPPERS and words[1] in ("-c", "-lc"):
        return words[2]
    return shlex.join(words)
