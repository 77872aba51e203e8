"""What keeps a client from loading guard's hooks, found by reading what the client reads. Nothing is changed or run, but, where
it is asked for, the client's own `--version`."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from guard.agents import codex_reviews, codex_trust, hook_commands, launchers, settings, variables, wiring
from guard.agents.settings import Document
from guard.agents.table import CLIENTS
from guard.agents.wiring import Wired
from guard.agents.wirings import ME, PLUGIN, SCOPES, SYSTEM, TEAM, WIRINGS, Off
from guard.errors import GuardError
from guard.findings import ABSENT, FINE, NOTE, OFF, Finding

PATIENCE = 5.0  # seconds that a client may take to say its version
_LAUNCHER = re.compile(r"^'((?:[^']|'\\'')*)/bin/hook'")
_VERSION = re.compile(r"\d+(?:\.\d+)+")

# Of keys whose value has another type than this, Claude Code takes the whole file for none.
TYPES: dict[str, dict[tuple[str, ...], type]] = {
    "claude": {
        ("hooks",): dict,
        ("disableAllHooks",): bool,
        ("env",): dict,
        ("permissions",): dict,
        ("permissions", "allow"): list,
        ("permissions", "deny"): list,
        ("permissions", "ask"): list,
        ("model",): str,
    }
}


@dataclass(frozen=True)
class Source:
    """A file that a client reads: what it says, or why it cannot be read."""

    path: str
    scope: str
    document: Document | None
    error: str = ""
    ours: bool = False


def findings(client: str, environ: Mapping[str, str], root: str, ask_version: bool = False) -> list[Finding]:
    """How the wiring of a client stands, for a project ("" for none): the worst first, FINE where it holds."""
    read = list(sources(client, environ, root))
    wired = list(_wired(client, read))
    found = [*_broken(client, read), *_types(client, read)]
    if wired or any(source.ours for source in read):
        found += [*_entries(client, wired), *_switches(client, read, wired), *_launchers(client, wired, environ)]
        asked = codex_trust.statuses(environ, root or "/") if ask_version and client == "codex" else None
        found += [*_variables(client, read, root)]
        found += [*_trust(client, read, wired, root, asked), *(_version(client, environ) if ask_version else ())]
    else:
        title = CLIENTS[client].title
        found.append(Finding("not-wired", f"{title} is not wired", "guard sees nothing of what it runs", _init(client), ABSENT))
    if not any(finding.severity in (OFF, ABSENT) for finding in found):
        where = ", ".join(dict.fromkeys(each.path for each in wired))
        found.append(Finding("wired", f"{CLIENTS[client].title} calls guard ({where})", severity=FINE))
    order = (OFF, ABSENT, NOTE, FINE)
    return sorted(found, key=lambda finding: order.index(finding.severity))


def entries(client: str, environ: Mapping[str, str], root: str) -> list[Wired]:
    """Guard's entries in all the files that the client reads, for a project ("" for none)."""
    return list(_wired(client, sources(client, environ, root)))


def sources(client: str, environ: Mapping[str, str], root: str, prefix: str = "") -> Iterator[Source]:
    """The files that the client reads, in the order me, team, system; those that are not there are left out."""
    row = WIRINGS[client]
    for scope in SCOPES:
        directory = wiring.base(client, scope, environ, root, prefix)
        if not directory:
            continue
        for place in (*wiring.places(client, scope), *row.read.get(scope, ())):
            path = os.path.join(directory, place.path)
            if os.path.lexists(path):
                yield _source(path, place.format, scope)


def _source(path: str, format: str, scope: str) -> Source:
    try:
        with open(path, "rb") as file:
            data = file.read(settings.LIMIT + 1)
    except OSError as error:
        return Source(path, scope, None, f"{path}: it cannot be read ({error.strerror})")
    ours = b"/guard/bin/" in data or b"guard hook" in data
    try:
        return Source(path, scope, settings.read(path, format, data), ours=ours)
    except GuardError as error:
        return Source(path, scope, None, f"{error.where}: {error.what}", ours)


def _wired(client: str, read: Any) -> Iterator[Wired]:
    for source in read:
        for entry in wiring.entries(client, source.document) if source.document is not None else ():
            yield Wired(source.path, source.scope, entry)


def _init(client: str) -> str:
    return f"guard init --agent {client}"


def _broken(client: str, read: list[Source]) -> Iterator[Finding]:
    for source in read:
        if source.document is None:
            why = f"{CLIENTS[client].title} takes nothing from a file that it cannot read, and does not say so"
            yield Finding("settings-broken", source.error, why, f"mend {source.path}", OFF if source.ours else NOTE)


def _types(client: str, read: list[Source]) -> Iterator[Finding]:
    for source in read:
        for keys, wanted in TYPES.get(client, {}).items() if source.document is not None else ():
            value = source.document.get(*keys) if source.document is not None else None
            if value is not None and not isinstance(value, wanted):
                where = f"{source.path}:{source.document.line(*keys) if source.document else 1}"
                what = f'{where}: "{".".join(keys)}" has the wrong type'
                why = f"{CLIENTS[client].title} leaves out the whole file for that, and does not say so"
                yield Finding("settings-type", what, why, f"mend {source.path}", OFF if source.ours else NOTE)


def _entries(client: str, wired: list[Wired]) -> Iterator[Finding]:
    """What is missing of the entries. Those of one file may make up for those of another."""
    row, title = WIRINGS[client], CLIENTS[client].title
    good = {each.entry.event for each in wired if not wiring.narrow(client, each.entry) and not wiring.weak(each.entry)}
    for event in row.events:
        here = [each for each in wired if each.entry.event == event]
        if event in good:
            continue
        severity = OFF if event in row.blocking else NOTE
        if not here:
            why = "nothing is judged before it runs" if severity == OFF else "what is lost all the same is noticed late"
            yield Finding("entry-missing", f"{title} does not call guard at {event}", why, _init(client), severity)
        for each in here:
            narrow, weak = wiring.narrow(client, each.entry), wiring.weak(each.entry)
            if narrow:
                what = f'{each.path}: the matcher "{each.entry.matcher}" of {event} leaves out {", ".join(narrow)}'
                yield Finding("matcher-narrow", what, "those tools are not judged", _init(client), severity)
            elif weak:
                what = f'{each.path}: "{weak}" keeps guard\'s entry for {event} from judging'
                yield Finding("entry-weak", what, "the tool does not wait for it", _init(client), severity)
    if row.shape == PLUGIN and not wired:
        yield Finding("entry-missing", f"{title} does not load guard's plugin", "nothing is judged", _init(client), OFF)


def _switches(client: str, read: list[Source], wired: list[Wired]) -> Iterator[Finding]:
    row, title = WIRINGS[client], CLIENTS[client].title
    managed = any(each.scope == SYSTEM for each in wired)
    names = {str(each.entry.hook.get("name", each.entry.command)) for each in wired}
    for source in read:
        for switch in row.switches if source.document is not None else ():
            named = _off(source.document, switch, names)
            if not named or (managed and _held(client, switch, source)):
                continue
            keys = ".".join(switch.keys)
            if keys in ("allowManagedHooksOnly", "allow_managed_hooks_only") and source.scope != SYSTEM:
                continue
            where = f"{source.path}:{source.document.line(*switch.keys) if source.document else 1}"
            if switch.holding:
                what, repair = f'{where}: "{keys}" names guard\'s hook', f'take "{named}" out of {keys} in {source.path}'
            else:
                what, repair = f"{where}: {keys} is {named}", f"remove {keys} from {source.path}"
            yield Finding("switched-off", what, f"{title} runs no hook of guard's then", repair)


def _variables(client: str, read: list[Source], root: str) -> Iterator[Finding]:
    """What a project gives to everything that the client starts, guard's hook included."""
    title = CLIENTS[client].title
    for path, given in _given(client, read, root):
        for name in given:
            what, repair = f"{path} sets {name}", f"remove {name} from {path}"
            if variables.led(name):
                yield Finding("led-elsewhere", what, f"{title} and guard look for their files where it says", repair)
            else:
                yield Finding("variable-set", what, f"programs of {title} run with it: shims may be passed by", repair, NOTE)


def _given(client: str, read: list[Source], root: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The files of a project that set such variables, with what they set."""
    for source in read:
        if source.document is not None and source.scope == TEAM:
            yield source.path, variables.found(b"", source.path, source.document.value)
    for place in WIRINGS[client].dotenv if root else ():
        with contextlib.suppress(OSError), open(f"{root}/{place}", "rb") as file:
            yield f"{root}/{place}", variables.found(file.read(settings.LIMIT), f"/{place}", None)


def _off(document: Document | None, switch: Off, names: set[str]) -> str:
    """What a document turns off by a switch: the names of all hooks, or the value of the switch; "" for nothing."""
    value = document.get(*switch.keys) if document is not None else None
    if switch.holding:
        left = names - set(map(str, value)) if isinstance(value, list) else names
        return ", ".join(sorted(names)) if names and not left else ""
    return str(value).lower() if value is switch.value else ""


def _held(client: str, switch: Off, source: Source) -> bool:
    """Do hooks of the system's settings run in spite of a switch?"""
    if client == "gemini":
        return not switch.holding and source.scope != SYSTEM  # a name that is in such a list is that of the hook
    return client in ("claude", "codex") and (source.scope != SYSTEM or "anaged" in "".join(switch.keys))


def _launchers(client: str, wired: list[Wired], environ: Mapping[str, str]) -> Iterator[Finding]:
    commands = dict.fromkeys((each.entry.command, each.path, each.scope) for each in wired)
    told: set[str] = set()
    for command, path, scope in commands:
        if command.startswith("file://"):
            yield from _plugin(client, command, path)
            continue
        match = _LAUNCHER.match(command)
        if match is None:
            if scope == TEAM and "pathguard" not in told and not shutil.which("pathguard", path=environ.get("PATH", os.defpath)):
                told.add("pathguard")
                what = f"{path} calls pathguard, which is not on PATH"
                yield Finding("command-missing", what, "its hook refuses or checks nothing", "uv tool install pathguard")
            continue
        home = match[1].replace("'\\''", "'")
        if home in told:
            continue
        told.add(home)
        state = launchers.state(home)
        repair = "guard install --system" if scope == SYSTEM else _init(client)
        if state == "outdated":
            yield Finding("hook-outdated", f"{home}/bin/hook is not the one of this version", "", repair, NOTE)
        elif state != "whole":
            what = f"{home}/bin/hook, or what it starts, is {state.replace('-', ' ')}"
            yield Finding(f"hook-{state}", what, "every call that it has to judge is refused", repair)


def _plugin(client: str, url: str, path: str) -> Iterator[Finding]:
    from urllib.parse import unquote

    file = unquote(url.removeprefix("file://"))
    if not os.access(file, os.R_OK):
        why = f"{CLIENTS[client].title} leaves out a plugin that is not there, and does not say so"
        yield Finding("hook-missing", f"{path} names {file}, which is not there", why, _init(client))
        return
    home = file.removesuffix("/" + hook_commands.PLUGIN_FILE)
    if launchers.state(home) not in ("whole", "outdated"):
        yield Finding("hook-missing", f"{home}/bin/hook is not whole", "every call is refused", _init(client))


def _trust(client: str, read: list[Source], wired: list[Wired], root: str, asked: Mapping[str, str] | None) -> Iterator[Finding]:
    row, title = WIRINGS[client], CLIENTS[client].title
    if client == "codex":
        documents = [source.document for source in read if source.scope == ME and source.document is not None]
        yield from codex_reviews.findings(documents, wired, root, asked)
    elif {each.scope for each in wired} == {TEAM} and TEAM in row.trust:
        what = f"{title} loads the project's hooks only in a folder that you trust, which cannot be seen from here"
        yield Finding("trust-unknown", what, row.trust[TEAM], severity=NOTE)


def _version(client: str, environ: Mapping[str, str]) -> Iterator[Finding]:
    measured, title = CLIENTS[client].measured, CLIENTS[client].title
    version = installed_version(client, environ)
    if version and measured and _numbers(version) > _numbers(measured):
        what = f"{title} {version} is newer than {measured}, the last one that guard was measured with"
        yield Finding("version-newer", what, "see whether it still holds", "guard selftest", NOTE)


def installed_version(client: str, environ: Mapping[str, str]) -> str:
    """The version that the client says it is, "" where it does not say so in time."""
    path = environ.get("PATH", os.defpath)
    program = next((found for name in CLIENTS[client].programs if (found := shutil.which(name, path=path))), None)
    if program is None:
        return ""
    try:
        argv = [program, "--version"]
        run = subprocess.run(argv, env=dict(environ), stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, cwd="/")
    except (OSError, subprocess.SubprocessError):
        return ""
    said = _VERSION.search(os.fsdecode(run.stdout))
    return said[0] if said else ""


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.split("."))
