"""Call: one command that an agent gave to a shell, or one call of a tool that changes files, as its client's log has it; and how
values from such logs are read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from guard.agents import files, read, table

FILE_KINDS = (table.WRITE, table.EDIT, table.NOTEBOOK, table.PATCH, table.DELETE, table.MOVE)
Question = tuple[str, str, str, str, str]  # what makes one call the same as another: command, directory, client, tool, arguments


@dataclass(frozen=True)
class Call:
    """`cwd` is "" where the log does not say it, `time` seconds since 1970, 0 where unknown. `id` is the client's own name
    of the call, by which one that stands in several logs (a resumed session) is known again; "" without. Of a tool that changes
    files `tool` is the name, `arguments` what it was given, as JSON, and `command` a line that stands for it."""

    command: str
    cwd: str
    time: float
    client: str
    log: str
    id: str = ""
    tool: str = ""
    arguments: str = ""

    @property
    def question(self) -> Question:
        """What is judged: the same for all calls that do the same."""
        return self.command, self.cwd, self.client if self.tool else "", self.tool, self.arguments


def of_tool(client: str, tool: str, arguments: Mapping[str, Any], cwd: str, time: float, log: str, id: str) -> Call | None:
    """The call of a tool that changes files; None for any other tool."""
    hooked = hook_call(client, tool, arguments, cwd)
    if hooked.kind not in FILE_KINDS:
        return None
    try:
        return Call(files.described(hooked), cwd, time, client, log, id, tool, json.dumps(arguments, sort_keys=True))
    except (RecursionError, ValueError):
        return None


def hook_call(client: str, tool: str, arguments: Mapping[str, Any], cwd: str) -> read.Call:
    """The call as the client's hook gets it."""
    kind = table.kind(table.CLIENTS[client], tool, arguments)
    return read.Call(table.BEFORE, "", tool, kind, dict(arguments), cwd, "", "", "")


def moment(value: object) -> float:
    """Seconds since 1970 of a timestamp as clients write it: ISO 8601, or a number of (milli)seconds; else 0."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) / 1000 if value > 1e11 else float(value)
    if not isinstance(value, str):
        return 0.0
    try:
        found = datetime.fromisoformat(value)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return 0.0


def mapping(value: object) -> dict[str, Any]:
    """The value where it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: object) -> list[Any]:
    """The value where it is a JSON array, else an empty one."""
    return value if isinstance(value, list) else []


def text(value: object) -> str:
    """The value where it is a text, else ""."""
    return value if isinstance(value, str) else ""
