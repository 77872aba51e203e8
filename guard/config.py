"""Configuration: guard.toml, [tool.guard] in pyproject.toml, the user's and the system's file, read strictly.

What a project's lists replace: each list that a project gives (keep, lock, present, rewrite) takes the place of the
built-in list of that name; lists it does not give stay built-in. `builtin = true` puts the built-in globs first and the
project's own behind them; `builtin = false` leaves the built-in lists out altogether. The user's and the system's lists are
added; nothing in a project takes a path off them. guard.toml itself is always locked. A pyproject.toml is not: until a person
has accepted a changed [tool.guard] table (acceptance.py) it only adds protection to what was in force before.
"""

from __future__ import annotations

import datetime
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from guard import builtin_rules, globs, roots, toml_lines
from guard.errors import GuardError
from guard.matching import KEEP, LOCK, PRESENT, REWRITE, Matcher, Rule, RuleList
from guard.paths import name, physical
from guard.policy import DEFAULTS, Except, Root
from guard.project import HOLD
from guard.root import PENDING, TOOL
from guard.world import World

LISTS = (KEEP, LOCK, PRESENT, REWRITE)
PERSONAL = ("user", "system")  # origins that no project has a say over


@dataclass(frozen=True)
class Where:
    """A place in a configuration file, for errors."""

    path: str
    lines: Mapping[toml_lines.Path, int] = field(default_factory=dict)
    keys: toml_lines.Path = ()

    def at(self, *keys: str | int) -> Where:
        """The place of something inside."""
        return Where(self.path, self.lines, (*self.keys, *keys))

    @property
    def line(self) -> int:
        """The line, 0 where it is not known."""
        keys = self.keys
        while keys and keys not in self.lines:
            keys = keys[:-1]
        return self.lines.get(keys, 0)

    def error(self, what: str, todo: str = "") -> GuardError:
        """The error that something is wrong here."""
        return GuardError(what, f"{self.path}:{self.line}" if self.line else self.path, todo)

    @property
    def key(self) -> str:
        """The last key, as a person would name it."""
        return next((str(key) for key in reversed(self.keys) if isinstance(key, str)), "")


@dataclass(frozen=True)
class Glob:
    """A checked glob and its line."""

    text: str
    line: int


@dataclass(frozen=True)
class Exemption:
    """One [[except]] table."""

    command: str
    paths: tuple[Glob, ...]
    reason: str
    expires: str
    line: int


@dataclass(frozen=True)
class Config:
    """What one file says. A list that it does not give is not in `protect`; `builtin` is None where it does not say."""

    path: str
    protect: Mapping[str, tuple[Glob, ...]] = field(default_factory=dict)
    builtin: bool | None = None
    excepts: tuple[Exemption, ...] = ()
    answer: Mapping[str, str] = field(default_factory=dict)
    loop: Mapping[str, Any] = field(default_factory=dict)
    tools: tuple[str, ...] = ()
    override: str | None = None
    notify: Mapping[str, Any] = field(default_factory=dict)
    fleet: Mapping[str, Any] | None = None


Read = Callable[[object, Where], object]


def _text(value: object, where: Where) -> str:
    if not isinstance(value, str) or not value.strip():
        raise where.error(f'"{where.key}" has to be a text that is not empty')
    return value


def _boolean(value: object, where: Where) -> bool:
    if not isinstance(value, bool):
        raise where.error(f'"{where.key}" has to be true or false')
    return value


def _count(value: object, where: Where) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise where.error(f'"{where.key}" has to be a whole number of at least 1')
    return value


def _date(value: object, where: Where) -> str:
    if isinstance(value, datetime.datetime) or not isinstance(value, datetime.date):
        raise where.error(f'"{where.key}" has to be a date without quotes, such as 2027-01-31')
    return value.isoformat()


def _until(value: object, where: Where) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.datetime) or not isinstance(value, datetime.date):
        raise where.error(f'"{where.key}" has to be true, false or the last day, such as 2027-01-31')
    return value.isoformat()


def _globs(value: object, where: Where) -> tuple[Glob, ...]:
    if not isinstance(value, list):
        raise where.error(f'"{where.key}" has to be a list of patterns', 'write it as ["..."]')
    return tuple(_glob(item, where.at(index)) for index, item in enumerate(value))


def _glob(value: object, where: Where) -> Glob:
    if not isinstance(value, str):
        raise where.error(f'"{where.key}" has to hold texts only')
    if error := globs.check(value):
        raise where.error(f"bad pattern {value!r}: {error}")
    directory = where.path.rpartition("/")[0]
    if directory and value.removeprefix("!").startswith(directory + "/"):
        raise where.error(
            f"bad pattern {value!r}: patterns are relative to this file", f"write {value.replace(directory, '', 1)!r}"
        )
    return Glob(value, where.line)


def _names(value: object, where: Where) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise where.error(f'"{where.key}" has to be a list of names', 'write it as ["..."]')
    return tuple(_text(item, where.at(index)).strip() for index, item in enumerate(value))


def _texts(value: object, where: Where) -> str | tuple[str, ...]:
    return _text(value, where) if isinstance(value, str) else _names(value, where)


def _number(value: object, where: Where) -> int:
    return 0 if value == 0 and not isinstance(value, bool) else _count(value, where)


def _amount(value: object, where: Where) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise where.error(f'"{where.key}" has to be a number, 0 or more')
    return float(value)


def _percent(value: object, where: Where) -> int:
    found = _count(value, where)
    if found > 100:
        raise where.error(f'"{where.key}" is in percent: it has to be from 1 to 100')
    return found


def _score(value: object, where: Where) -> float:
    found = _amount(value, where)
    if not 1 <= found <= 5:
        raise where.error(f'"{where.key}" is a mean of scores: it has to be from 1 to 5')
    return found


def _price(value: object, where: Where) -> float:
    found = _amount(value, where)
    if found < 0.01:
        raise where.error(f'"{where.key}" has to be at least 0.01')
    return found


def _server(value: object, where: Where) -> str:
    text = _text(value, where)
    if not re.fullmatch(r"rediss?://\S+|unix://\S+", text):
        raise where.error(f'"{where.key}" has to be an address that begins with redis://, rediss:// or unix://')
    return text


def _choice(*values: str) -> Read:
    def read(value: object, where: Where) -> str:
        if not isinstance(value, str) or value not in values:
            near = _nearest(value, values) if isinstance(value, str) else ""
            raise where.error(f'"{where.key}" has to be {" or ".join(f"{v!r}" for v in values)}', near)
        return value

    return read


def _address(value: object, where: Where) -> str:
    text = _text(value, where)
    if not re.fullmatch(r"https://[^\s/]\S*|http://(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?(?:/\S*)?", text):
        raise where.error(f'"{where.key}" has to be an address that begins with https://', "http:// is for this machine only")
    return text


# The tables of a file, what their keys hold; a list of one table stands for an array of tables.
LOOP: dict[str, Any] = {
    "max_iterations": _count,
    "verify": _texts,
    "plan": _text,
    "optional_sections": _names,
    "profile": _choice("simple", "medium", "complex"),
    "limits": {
        **dict.fromkeys(("calls_per_hour", "iterations"), _count),
        "tokens_per_hour": _number,
        "cost": _amount,
        **dict.fromkeys(("runtime", "timeout", "idle_timeout"), _text),
    },
    "breaker": {
        **dict.fromkeys("no_progress same_error failures permission refusals questions test_loops".split(), _count),
        **dict.fromkeys("messages renewals output_decline".split(), _count),
        "cooldown": _text,
    },
    "progress": {"ignore": _names, "tests": _names},
    "budget": {
        "day_tokens": _count,
        "day_cost": _price,
        "role": _choice("normal", "cheapest", "critical"),
        "economy": _names,
    },
    "linked": {"reverts": _percent, "baseline": _percent, "audit": _score, "classification": _percent},
}
SCHEMA: dict[str, Any] = {
    "protect": {**dict.fromkeys(LISTS, _globs), "builtin": _boolean},
    "except": [{"command": _text, "paths": _globs, "reason": _text, "expires": _date}],
    "answer": {
        "certain": _choice("deny", "ask"),
        "unknown": _choice("ask", "deny"),
        "branches": _choice("follow", "pin"),
    },
    "tools": {"lock": _names},
    "loop": LOOP,
}
PERSONAL_SCHEMA: dict[str, Any] = {
    **SCHEMA,
    "answer": {**SCHEMA["answer"], "observe": _until},
    "override": _choice("terminal", "sudo"),
    "notify": {
        "command": _names,
        "webhook": _address,
        "format": _choice("json", "slack", "discord"),
        "events": _names,
    },
    "fleet": {"calls_per_hour": _count, "url": _server, "name": _text, "loops": _count},
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
    where = Where(path, toml_lines.lines(text))
    if name(path) == roots.PROJECT:
        tool = values.get("tool")
        if not isinstance(tool, dict) or "guard" not in tool:
            return None
        values, where = tool["guard"], where.at("tool", "guard")
    found: Any = _read(values, PERSONAL_SCHEMA if origin in PERSONAL else SCHEMA, where)
    return _config(path, found, where, origin)


class Accepted:
    """What was accepted of the [tool.guard] tables, according to a state directory."""

    def __init__(self, state: str | None) -> None:
        self._state = state

    def text(self, path: str, sudo: bool) -> bytes | None:
        """The pyproject.toml at a path as it was accepted last."""
        from guard import acceptance

        return acceptance.accepted(path, self._state, sudo)

    def same(self, one: bytes | None, other: bytes | None) -> bool:
        """Do two texts have the same table, or none?"""
        from guard import acceptance

        return bool(acceptance.table(one) == acceptance.table(other))


def compile_root(
    root: str,
    files: Iterable[tuple[str, str]],
    tree: World,
    fold: bool = False,
    main: str = "",
    accepted: Accepted | None = None,
) -> Root:
    """The policy of one root from its files (origin, path), absent ones among them. Raises GuardError for a broken one.

    Without `accepted` every table counts as accepted.
    """
    files = list(files)
    found: dict[str, Config] = {}
    for origin, path in files:
        config = _from_file(path, origin, tree)
        if config is not None and origin not in found:
            found[origin] = config
    proposed = _proposed(found, files, tree, accepted) if accepted is not None else {}
    lists = [*_project_lists(found.get("project"), "project")]
    if "worktree" in found:
        lists += _project_lists(found["worktree"], "worktree")
    for config in proposed.values():
        lists += _project_lists(config, "proposed")
    for origin in PERSONAL:
        lists += _personal_lists(found.get(origin), origin)
    return Root(
        path=root,
        lists=(*(rules for rules in lists if rules.matchers), HOLD),
        settings=(
            *(setting for origin, config in found.items() for setting in _settings(config, origin)),
            *(setting for path, config in proposed.items() for setting in _proposed_settings(path, config, found)),
        ),
        fold=fold,
        excepts=tuple(item for origin, config in found.items() for item in _excepts(config, origin)),
        main=main,
    )


def _proposed(
    found: dict[str, Config], files: Iterable[tuple[str, str]], tree: World, accepted: Accepted
) -> dict[str, Config | None]:
    """Puts what was accepted before in the place of tables that no person has accepted; gives the latter by their file."""
    sudo = any(config.override == "sudo" for config in found.values())
    proposed: dict[str, Config | None] = {}
    for origin, path in files:
        if origin in PERSONAL or name(path) != roots.PROJECT:
            continue
        now = found.get(origin)
        text = tree.read(path) if tree.lstat(path) is not None else None
        before = accepted.text(physical(tree, path), sudo)
        if accepted.same(text, before):
            continue
        proposed[path] = now
        last = parse(path, before, origin) if before is not None else None
        if last is None:
            found.pop(origin, None)
        else:
            found[origin] = last
    return proposed


def _proposed_settings(path: str, config: Config | None, found: Mapping[str, Config]) -> Iterable[tuple[str, str]]:
    """The settings of a table that was not accepted, with what holds without it, so that only a stricter one tells."""
    yield PENDING, path
    for key, value in config.answer.items() if config is not None else ():
        yield key, value
        if not any(key in other.answer for other in found.values()):
            yield key, DEFAULTS[key]


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


def _read(value: object, schema: Any, where: Where) -> object:
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
            raise where.at(key).error(f'unknown key "{key}"{_of(where)}', _elsewhere(key) or _nearest(key, schema))
    return {key: _read(item, schema[key], where.at(key)) for key, item in value.items()}


def _of(where: Where) -> str:
    return f" in [{where.key}]" if where.key else ""


def _nearest(key: str, keys: Iterable[str]) -> str:
    near = get_close_matches(key.lower(), list(keys), 1, 0.6)
    return f'did you mean "{near[0]}"?' if near else ""


def _elsewhere(key: str) -> str:
    """Where a known key belongs that stands in the wrong table or file."""
    if key in ("override", "observe", "notify", "fleet"):
        return "only the user's and the system's file may hold it"
    tables = [table for table, keys in SCHEMA.items() if key in (keys[0] if isinstance(keys, list) else keys)]
    return f"it belongs into [{tables[0]}]" if tables else ""


def _config(path: str, found: Any, where: Where, origin: str) -> Config:
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


def _check_takes(items: tuple[Glob, ...], where: Where) -> None:
    if items and all(item.text.startswith("!") for item in items):
        todo = '"builtin = true" puts the built-in list before it' if where.key in LISTS else ""
        raise where.error(f'"{where.key}" only takes paths out, and names none', todo)


def _except(item: Any, where: Where) -> Exemption:
    for key in ("command", "paths", "reason"):
        if not item.get(key):
            raise where.error(f'[[except]] needs "{key}"')
    _check_takes(item["paths"], where.at("paths"))
    return Exemption(item["command"], item["paths"], item["reason"], item.get("expires", ""), where.line)


def _from_file(path: str, origin: str, tree: World) -> Config | None:
    if tree.lstat(path) is None:
        return None
    data = tree.read(path)
    if name(path) == roots.PROJECT and not roots.may_have_table(data):
        return None
    if data is None:
        raise GuardError("cannot be read", path, "make it a readable file of less than 1 MiB")
    return parse(path, data, origin)


def _project_lists(config: Config | None, origin: str) -> Iterable[RuleList]:
    if config is None:
        return builtin_rules.lists(origin)
    return [RuleList(key, origin, _project_matchers(config, key)) for key in LISTS]


def _project_matchers(config: Config, key: str) -> tuple[Matcher, ...]:
    given = config.protect.get(key)
    if given is None:
        return builtin_rules.matchers(key) if config.builtin is not False else ()
    return (*(builtin_rules.matchers(key) if config.builtin else ()), *_matchers(config, key, given))


def _personal_lists(config: Config | None, origin: str) -> Iterable[RuleList]:
    if config is None:
        return
    for key in LISTS:
        first = config.builtin or (key == REWRITE and key not in config.protect)
        own = _matchers(config, key, config.protect.get(key, ()))
        yield RuleList(key, origin, (*(builtin_rules.matchers(key) if first else ()), *own))


def _matchers(config: Config, key: str, items: tuple[Glob, ...]) -> tuple[Matcher, ...]:
    return tuple(globs.matcher(Rule(key, item.text, config.path, item.line)) for item in items)


def _settings(config: Config, origin: str) -> Iterable[tuple[str, str]]:
    yield from config.answer.items()
    for tool in config.tools:
        yield TOOL, f"{origin} {tool}"
    if config.override is not None:
        yield "override", config.override


def _excepts(config: Config, origin: str) -> Iterable[Except]:
    for item in config.excepts:
        matchers = _matchers(config, "except", item.paths)
        yield Except(item.command, matchers, item.reason, item.expires, origin, config.path, item.line)
