"""Session logs of Claude Code: JSON lines, a tool's call in an assistant's message, its directory beside the message."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from guard.sessions.call import Call, mapping, moment, of_tool, sequence, text

GLOBS = ("projects/*/**/*.jsonl",)  # those of subagents stand in directories below
MARKS = (b'"tool_use"',)
SHELLS = ("Bash",)


def folders(environ: Mapping[str, str]) -> list[str]:
    """Where the client keeps its files."""
    home = environ.get("HOME", "")
    found = [environ.get("CLAUDE_CONFIG_DIR", ""), *(f"{home}/{name}" for name in (".claude", ".config/claude") if home)]
    return [path for path in dict.fromkeys(found) if path.startswith("/")]


def owns(record: Any) -> bool:
    """Is a record one of this client's?"""
    found = mapping(record)
    return "sessionId" in found and "type" in found and ("message" in found or "uuid" in found or "operation" in found)


def calls(records: Iterable[Any], log: str) -> Iterator[Call]:
    """The calls of the records."""
    for record in map(mapping, records):
        message = mapping(record.get("message"))
        if record.get("type") != "assistant":
            continue
        for part in map(mapping, sequence(message.get("content"))):
            if part.get("type") == "tool_use" and (call := _call(record, part, log)) is not None:
                yield call


def _call(record: Mapping[str, Any], part: Mapping[str, Any], log: str) -> Call | None:
    given, tool, name = mapping(part.get("input")), text(part.get("name")), text(part.get("id"))
    cwd, time = text(record.get("cwd")), moment(record.get("timestamp"))
    if tool not in SHELLS:
        return of_tool("claude", tool, given, cwd, time, log, name)
    command = text(given.get("command"))
    return Call(command, cwd, time, "claude", log, name) if command else None
