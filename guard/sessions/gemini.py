"""Session logs of Gemini CLI: one JSON document a session, or a line a message; the project's directory stands beside them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from guard.sessions.call import Call, mapping, moment, of_tool, sequence, text

GLOBS = ("tmp/*/chats/**/session-*.json", "tmp/*/chats/**/session-*.jsonl")
MARKS = (b'"toolCalls"', b'"projectHash"')
SHELLS = ("run_shell_command",)
ROOT = ".project_root"  # in the project's directory of logs: the path that it is about
PROJECTS = "projects.json"  # in the client's directory: paths and the names of their directories of logs


def folders(environ: Mapping[str, str]) -> list[str]:
    """Where the client keeps its files."""
    homes = [environ.get("GEMINI_CLI_HOME", ""), environ.get("HOME", "")]
    return [f"{home}/.gemini" for home in dict.fromkeys(homes) if home.startswith("/")]


def owns(record: Any) -> bool:
    """Is a record one of this client's?"""
    return "projectHash" in mapping(record) and "sessionId" in mapping(record)


def calls(records: Iterable[Any], log: str) -> Iterator[Call]:
    """The calls of the records. A message that is written again with more in it counts once, by the ids of its calls."""
    top = _project(log)
    seen: set[str] = set()
    for record in map(mapping, records):
        written = mapping(record.get("$set"))
        for message in map(mapping, [record, *sequence(record.get("messages")), *sequence(written.get("messages"))]):
            for part in map(mapping, sequence(message.get("toolCalls"))):
                call = _call(part, message, top, log)
                if call is not None and call.id not in seen:
                    seen |= {call.id} if call.id else set()
                    yield call


def _call(part: Mapping[str, Any], message: Mapping[str, Any], top: str, log: str) -> Call | None:
    given = mapping(part.get("args"))
    time = moment(part.get("timestamp")) or moment(message.get("timestamp"))
    command, tool, name = text(given.get("command")), text(part.get("name")), text(part.get("id"))
    if tool not in SHELLS or not command:
        return of_tool("gemini", tool, given, top, time, log, name)
    where = text(given.get("dir_path")) or text(given.get("directory"))
    cwd = os.path.normpath(os.path.join(top, where)) if top or where.startswith("/") else ""
    return Call(command, cwd, time, "gemini", log, name)


def _project(log: str) -> str:
    """The directory that the sessions of a directory of logs were started in; "" where nothing says it."""
    folder = next((path.parent for path in Path(log).parents if path.name == "chats"), None)
    if folder is None:
        return ""
    try:
        return (folder / ROOT).read_text(errors="surrogateescape").strip()
    except OSError:
        return _listed(folder)


def _listed(folder: Path) -> str:
    """The path of which the client's list of projects has the directory's name, or which the name is the digest of."""
    try:
        listed = mapping(mapping(json.loads((folder.parent.parent / PROJECTS).read_bytes())).get("projects"))
    except (OSError, ValueError, RecursionError):
        return ""
    named = (path for path, name in listed.items() if folder.name in (name, hashlib.sha256(path.encode()).hexdigest()))
    return next(named, "")
