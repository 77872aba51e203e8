"""Configuration: guard.toml, [tool.guard] in pyproject.toml, the user's and the system's file, read strictly."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from guard import roots, toml_lines, typed
from guard.errors import GuardError
from guard.matching import KEEP, LOCK, PRESENT, REWRITE
from guard.paths import name

LISTS = (KEEP, LOCK, PRESENT, REWRITE)
PERSONAL = ("user", "system")  # origins that no project has a say over


@dataclass(frozen=True)
class Exemption:
    """One [[except]] table."""

    command: str
    paths: tuple[typed.Glob, ...]
    reason: str
    expires: str
    line: int


@dataclass(frozen=True)
class Config:
    """What one file says. A list that it does not give is not in `protect`; `builtin` is None where it does not say."""

    path: str
    protect: Mapping[str, tuple[typed.Glob, ...]] = field(default_factory=dict)
    builtin: bool | None = None
    excepts: tuple[Exemption, ...] = ()
    answer: Mapping[str, str] = field(default_factory=dict)
    loop: Mapping[str, Any] = field(default_factory=dict)
    tools: tuple[str, ...] = ()
    override: str | None = None
    notify: Mapping[str, Any] = field(default_factory=dict)
    fleet: Mapping[str, Any] | None = None


# The tables of a file, what their keys hold; a list of one table stands for an array of tables.
LOOP: dict[str, Any] = {
    "max_iterations": typed.count,
    "verify": typed.texts,
    "plan": typed.text,
    "optional_sections": typed.names,
    "profile": typed.choice("simple", "medium", "complex"),
    "limits": {
        **dict.fromkeys(("calls_per_hour", "iterations"), typed.count),
        "tokens_per_hour": typed.number,
        "cost": typed.amount,
        **dict.fromkeys(("runtime", "timeout", "idle_timeout"), typed.text),
    },
    "breaker": {
        **dict.fromkeys("no_progress same_error failures permission refusals questions test_loops".split(), typed.count),
        **dict.fromkeys("messages renewals output_decline".split(), typed.count),
        "cooldown": typed.text,
    },
    "progress": {"ignore": typed.names, "tests": typed.names},
    "budget": {
        "day_tokens": typed.count,
        "day_cost": typed.price,
        "role": typed.choice("normal", "cheapest", "critical"),
        "economy": typed.names,
    },
    "linked": {"reverts": typed.percent, "baseline": typed.percent, "audit": typed.score, "classification": typed.percent},
}
SCHEMA: dict[str, Any] = {
    "protect": {**dict.fromkeys(LISTS, typed.globs), "builtin": typed.boolean},
    "except": [{"command": typed.text, "paths": typed.globs, "reason": typed.text, "expires": typed.date}],
    "answer": {
        "certain": typed.choice("deny", "ask"),
        "unknown": typed.choice("ask", "deny"),
        "branches": typed.choice("follow", "pin"),
    },
    "tools": {"lock": typed.names},
    "loop": LOOP,
}
PERSONAL_SCHEMA: dict[str, Any] = {
    **SCHEMA,
    "answer": {**SCHEMA["answer"], "observe": typed.until},
    "override": typed.choice("terminal", "sudo"),
    "notify": {
        "command": typed.names,
        "webhook": typed.address,
        "format": typed.choice("json", "slack", "discord"),
        "events": typed.names,
    },
    "fleet": {"calls_per_hour": typed.count, "url": typed.server, "name": typed.text, "loops": typed.count},
}


def parse(path: str, data: bytes, origin: str = "project") -> Config | None:
    """What a configuration file says; None for a pyproject.toml without a [tool.guard] table.

    Raises GuardError with file, line and what is wrong, and the nearest key where one is not known.
    """
    text = _decoded(path, data)
    try:
        values: Any = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise _syntax_error(path, text, str(error)) from error
    where = typed.Where(path, toml_lines.lines(text))
    if name(path) == roots.PROJECT:
        tool = values.get("tool")
        if not isinstance(tool, dict) or "guard" not in tool:
            return None
        values, where = tool["guard"], where.at("tool", "guard")
    found: Any = _read(values, PERSONAL_SCHEMA if origin in PERSONAL else SCHEMA, where)
    return _config(path, found, where, origin)


def _decoded(path: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise GuardError("not UTF-8", f"{path}:{line}", "save the file as UTF-8") from error


def _syntax_error(path: str, text: str, error: str) -> GuardError:
    found = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)", error)
    if found is None:
        return GuardError(f"not TOML: {error}", path)
    line = found[1] or text.rstrip().count("\n") + 1
    return GuardError(f"not TOML: {error[: found.start()]}", f"{path}:{line}")


def _read(value: object, schema: Any, where: typed.Where) -> object:
    if isinstance(schema, list):
        if not isinstance(value, list):
            raise where.error(f'"{where.key}" has to be an array of tables', f"write [[{where.key}]]")
        return [_read(item, schema[0], where.at(index)) for index, item in enumerate(value)]
    if not isinstance(schema, dict):
        return schema(value, where)
    if not isinstance(value, dict):
        raise where.error(f'"{where.key}" has to be a table', f"write [{where.key}]")
    for key in value:
        if key not in schema:
            raise where.at(key).error(f'unknown key "{key}"{_of(where)}', _elsewhere(key) or typed.nearest(key, schema))
    return {key: _read(item, schema[key], where.at(key)) for key, item in value.items()}


def _of(where: typed.Where) -> str:
    return f" in [{where.key}]" if where.key else ""


def _elsewhere(key: str) -> str:
    """typed.Where a known key belongs that stands in the wrong table or file."""
    if key in ("override", "observe", "notify", "fleet"):
        return "only the user's and the system's file may hold it"
    tables = [table for table, keys in SCHEMA.items() if key in (keys[0] if isinstance(keys, list) else keys)]
    return f"it belongs into [{tables[0]}]" if tables else ""


def _config(path: str, found: Any, where: typed.Where, origin: str) -> Config:
    protect = dict(found.get("protect", {}))
    builtin = protect.pop("builtin", None)
    inside = where.at("protect")
    if origin in PERSONAL and builtin is False:
        raise inside.at("builtin").error('"builtin" can only be true here', "only a project can do without the built-in list")
    for key, items in protect.items():
        if not builtin:
            _check_takes(items, inside.at(key))
    excepts = tuple(_except(item, where.at("except", index)) for index, item in enumerate(found.get("except", ())))
    tools = found.get("tools", {}).get("lock", ())
    return Config(
        path,
        protect,
        builtin,
        excepts,
        found.get("answer", {}),
        found.get("loop", {}),
        tools,
        found.get("override"),
        found.get("notify", {}),
        found.get("fleet"),
    )


def _check_takes(items: tuple[typed.Glob, ...], where: typed.Where) -> None:
    if items and all(item.text.startswith("!") for item in items):
        todo = '"builtin = true" puts the built-in list before it' if where.key in LISTS else ""
        raise where.error(f'"{where.key}" only takes paths out, and names none', todo)


def _except(item: Any, where: typed.Where) -> Exemption:
    for key in ("command", "paths", "reason"):
        if not item.get(key):
            raise where.error(f'[[except]] needs "{key}"')
    _check_takes(item["paths"], where.at("paths"))
    return Exemption(item["command"], item["paths"], item["reason"], item.get("expires", ""), where.line)
