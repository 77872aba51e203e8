"""Wiring: guard's entries in the settings of the agents' clients, put there, taken away, and found again by their meaning.

Nothing here writes: `wired` and `unwired` are functions of documents. changes.py writes what commands have planned with them.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from guard.agents import settings
from guard.agents.settings import Document
from guard.agents.table import CLIENTS, READ
from guard.agents.wirings import FLAT, ME, NESTED, PLUGIN, SECONDS, SYSTEM, TEAM, TOML, WIRINGS, Place, Wiring

SERVED = ("mcp__files__write_file",)  # a tool of an MCP server, as clients name them for matchers
# A command that calls guard's hook, in any of the forms that guard writes or has written.
_OWN = re.compile(
    r"""(?:/guard/bin/hook['"]?|(?:^|[\s;&|({/])(?:path)?guard['"]?\s+hook)\s+['"]?(NAMES)\b""".replace(
        "NAMES", "|".join(WIRINGS)
    )
)
_OWN_PLUGIN = re.compile(r"/guard/bin/opencode\.js$")


@dataclass(frozen=True)
class Entry:
    """One of guard's entries: the event, the matcher ("" for none), the command, and where in the document it stands."""

    event: str
    matcher: str
    command: str
    path: settings.Path
    hook: Mapping[str, Any]


@dataclass(frozen=True)
class Wired:
    """An entry with the file and the scope that it was found in."""

    path: str
    scope: str
    entry: Entry


def installed(environ: Mapping[str, str]) -> list[str]:
    """The clients that this user has: a program of theirs on PATH, or their directory of settings."""
    path = environ.get("PATH", os.defpath)
    return [
        client
        for client in WIRINGS
        if any(shutil.which(program, path=path) for program in CLIENTS[client].programs)
        or os.path.isdir(base(client, ME, environ, "") or "/dev/null/none")
    ]


def base(client: str, scope: str, environ: Mapping[str, str], root: str, prefix: str = "") -> str:
    """The directory that a scope's places are relative to; "" where there is none (no HOME, no project)."""
    if scope == SYSTEM:
        return prefix.rstrip("/") + "/"
    if scope == TEAM:
        return root
    wiring = WIRINGS[client]
    variable, _, rest = wiring.variable.partition("/")
    named = environ.get(variable, "") if variable else ""
    if named.startswith("/"):
        return os.path.join(named.rstrip("/") or "/", rest) if rest else named.rstrip("/") or "/"
    home = environ.get("HOME", "")
    return os.path.join(home, wiring.home) if home.startswith("/") else ""


def places(client: str, scope: str) -> tuple[Place, ...]:
    """The files of a scope that entries may stand in."""
    wiring = WIRINGS[client]
    return {ME: wiring.me, TEAM: wiring.team, SYSTEM: wiring.system}[scope]


def target(client: str, scope: str, directory: str) -> tuple[str, str]:
    """The file that entries are put into, and its format: the last one of the scope that is there, else the first."""
    chosen = places(client, scope)
    there = [place for place in chosen if os.path.lexists(f"{directory}/{place.path}")]
    place = _preferred(there) if there else chosen[0]
    return os.path.join(directory, place.path), place.format


def _preferred(there: list[Place]) -> Place:
    """A JSON file made for hooks goes before the file with everything else; else the first."""
    return next((place for place in there if place.path.endswith("hooks.json")), there[0])


def entries(client: str, document: Document) -> Iterator[Entry]:
    """Guard's own entries in a document, whatever else it holds."""
    wiring = WIRINGS[client]
    if wiring.shape == PLUGIN:
        for index, item in enumerate(_list(document.get("plugin"))):
            name = item[0] if isinstance(item, list) and item else item
            if isinstance(name, str) and _OWN_PLUGIN.search(name):
                yield Entry("plugin", "", name, ("plugin", index), {})
        return
    for event, groups in _dict(document.get("hooks")).items():
        for index, group in enumerate(_list(groups)):
            for path, hook in _hooks(wiring, group, ("hooks", event, index)):
                text = hook.get(wiring.key, hook.get("command"))
                if isinstance(text, str) and _OWN.search(text):
                    matcher = _dict(group).get("matcher")
                    yield Entry(event, matcher if isinstance(matcher, str) else "", text, path, hook)


def wired(
    client: str, document: Document, texts: Mapping[str, str] | str, warn: bool = False, system: bool = False, secret: str = ""
) -> Document:
    """The document with guard's entries; the same one where they are there already.

    `texts`: what each of them calls, by event; or one command for all but the end of turns and sessions, where its refusals would
    keep the client from ending. `secret` ends the name of new entries, for a client that can turn off hooks by their name.
    Entries of guard's that mean something else are replaced. Raises GuardError where something of another type is in the way.
    """
    wiring = WIRINGS[client]
    _check(wiring, document)
    if isinstance(texts, str):
        texts = dict.fromkeys([event for event in wiring.events if event not in wiring.ending] or ["plugin"], texts)
    if wiring.shape == PLUGIN:
        return _plugged(client, document, texts["plugin"])
    document = _without(
        client, document, lambda entry: not standing(client, entry, texts) or (secret != "" and _known(wiring, entry))
    )
    document = _without(client, document, _repeated(client, document))
    there = {entry.event for entry in entries(client, document)}
    for key, value in wiring.top.items():
        if key not in document.value:
            document = document.insert((key,), value)
    for table, keys in wiring.pinned.items():
        document = _pinned(document, table, keys)
    for key, value in wiring.managed.items() if system else ():
        if key not in document.value:
            document = document.insert((key,), value)
    new = {
        event: [_entry(wiring, event, matcher, texts[event], warn, secret)]
        for event, matcher in wiring.events.items()
        if event in texts and event not in there
    }
    if not new:
        return document
    if document.get("hooks") is None:
        return document.insert(("hooks",), new)
    for event, added in new.items():
        groups = document.get("hooks", event)
        document = (
            document.insert(("hooks", event), added)
            if groups is None
            else document.insert(("hooks", event, len(groups)), added[0])
        )
    return document


def unwired(client: str, document: Document) -> Document:
    """The document without guard's entries, and without the containers that are empty then."""
    document = _without(client, document, lambda entry: True)
    for key, value in WIRINGS[client].top.items():
        if document.value == {key: value}:
            document = document.remove((key,))
    return document


def says_nothing(client: str, document: Document) -> bool:
    """Is there nothing in a document without entries but what guard or the client itself has put there?"""
    row = WIRINGS[client]
    own = {**row.top, **row.pinned, **row.managed}
    return all(key in row.stamps or (key in own and own[key] == value) for key, value in document.value.items())


def standing(client: str, entry: Entry, texts: Mapping[str, str]) -> bool:
    """Does an entry do what it is there for: this command, at an event that matters, for all tools that matter?"""
    return entry.command == texts.get(entry.event) and not narrow(client, entry) and not weak(entry)


def narrow(client: str, entry: Entry) -> list[str]:
    """The tools that matter and that the matcher of an entry leaves out."""
    wiring = WIRINGS[client]
    if wiring.events.get(entry.event) is None and wiring.shape == NESTED:
        return []
    if entry.matcher in ("", "*"):
        return []
    tools = [*(tool for tool, kind in CLIENTS[client].tools.items() if kind != READ), *(SERVED if wiring.shape == NESTED else ())]
    if wiring.shape == FLAT:
        return tools  # flat matchers match commands, or tools; guard's entries have none
    if re.fullmatch(r"[\w|]+", entry.matcher):
        return [tool for tool in tools if tool not in entry.matcher.split("|")]
    try:
        return [tool for tool in tools if not re.fullmatch(entry.matcher, tool)]
    except re.error:
        return tools


def weak(entry: Entry) -> str:
    """The key by which an entry only looks like one: it is run beside the tool, for some calls, or led elsewhere; "" for none."""
    hook = entry.hook
    if hook.get("type", "command") != "command":
        return "type"
    return next((key for key in ("async", "asyncRewake", "if", "disabled", "env", "cwd") if hook.get(key)), "")


def _known(wiring: Wiring, entry: Entry) -> bool:
    """Has an entry the name that everybody knows, by which a project could turn it off?"""
    return wiring.secret != "" and entry.hook.get(wiring.secret) == wiring.label[wiring.secret]


def _entry(wiring: Wiring, event: str, matcher: str | None, text: str, warn: bool, secret: str) -> dict[str, Any]:
    hook = {**wiring.label, wiring.key: text, wiring.limit: SECONDS * wiring.second}
    if wiring.secret and secret:
        hook[wiring.secret] = f"{wiring.label[wiring.secret]}-{secret}"
    if event in wiring.blocking and not warn:
        hook |= wiring.extra
    if wiring.shape == FLAT:
        return hook
    return {**({"matcher": matcher} if matcher is not None else {}), "hooks": [hook]}


def _plugged(client: str, document: Document, text: str) -> Document:
    document = _without(client, document, lambda entry: entry.command != text)
    if any(True for _ in entries(client, document)):
        return document
    plugins = document.get("plugin")
    return document.insert(("plugin",), [text]) if plugins is None else document.insert(("plugin", len(plugins)), text)


def _pinned(document: Document, table: str, keys: Mapping[str, Any]) -> Document:
    """Settings that have to be there, where the file does not say anything else."""
    if document.format != TOML:
        return document
    if document.get(table) is None:
        return document.insert((table,), dict(keys))
    for key, value in keys.items():
        if document.get(table, key) is None:
            document = document.insert((table, key), value)
    return document


def _without(client: str, document: Document, unwanted: Callable[[Entry], bool]) -> Document:
    while True:
        found = [entry for entry in entries(client, document) if unwanted(entry)]
        if not found:
            return document
        document = document.remove(_whole(document, found[-1].path))


def _whole(document: Document, path: settings.Path) -> settings.Path:
    """The outermost container that holds nothing but what the path leads to; of a group, the matcher does not count."""
    while len(path) > 1:
        container, last = document.get(*path[:-1]), path[-1]
        rest = [key for key in container if key != last] if isinstance(container, dict) else container[1:]
        if any(last != "hooks" or key not in ("matcher", "sequential") for key in rest):
            break
        path = path[:-1]
    return path


def _repeated(client: str, document: Document) -> Callable[[Entry], bool]:
    """Does an entry only say again what an earlier one of its event says?"""
    first: dict[str, settings.Path] = {}
    for entry in entries(client, document):
        first.setdefault(entry.event, entry.path)
    return lambda entry: entry.path != first[entry.event]


def _check(wiring: Wiring, document: Document) -> None:
    """Raises GuardError where what is there has another type than the client wants."""
    if wiring.shape == PLUGIN:
        if not isinstance(document.value.get("plugin", []), list):
            raise document.error('"plugin" has to be a list', "plugin")
        return
    hooks = document.value.get("hooks", {})
    if not isinstance(hooks, dict):
        raise document.error('"hooks" has to be an object', "hooks")
    for event, groups in hooks.items():
        if event in wiring.events and not isinstance(groups, list):
            raise document.error(f'"{event}" has to be a list', "hooks", event)
    for table in wiring.pinned if document.format == TOML else ():
        if not isinstance(document.get(table) or {}, dict):
            raise document.error(f'"{table}" has to be a table', table)


def _hooks(wiring: Wiring, group: Any, path: settings.Path) -> Iterator[tuple[settings.Path, Mapping[str, Any]]]:
    """The commands of a group, wherever they stand, with their paths."""
    if not isinstance(group, dict):
        return
    if wiring.shape == NESTED:
        for index, hook in enumerate(_list(group.get("hooks"))):
            if isinstance(hook, dict):
                yield (*path, "hooks", index), hook
    else:
        yield path, group


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
