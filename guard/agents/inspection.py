"""What keeps a client from loading guard's hooks, found by reading what the client reads. Nothing is changed or run, but, where
it is asked for, the client's own `--version`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from guard.agents import codex_trust, launchers, settings, wiring
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
    for source in read:
        for switch in row.switches if source.document is not None else ():
            if not _off(source.document, switch) or (managed and _held(client, switch, source)):
                continue
            keys = ".".join(switch.keys)
            if keys in ("allowManagedHooksOnly", "allow_managed_hooks_only") and source.scope != SYSTEM:
                continue
            where = f"{source.path}:{source.document.line(*switch.keys) if source.document else 1}"
            if switch.holding:
                what, repair = f'{where}: "{keys}" names guard', f'take "{switch.value}" out of {keys} in {source.path}'
            else:
                value = str(switch.value).lower()
                what, repair = f"{where}: {keys} is {value}", f"remove {keys} from {source.path}"
            yield Finding("switched-off", what, f"{title} runs no hook of guard's then", repair)


def _off(document: Document | None, switch: Off) -> bool:
    value = document.get(*switch.keys) if document is not None else None
    if switch.holding:
        return isinstance(value, list) and switch.value in value
    return value is switch.value


def _held(client: str, switch: Off, source: Source) -> bool:
    """Do hooks of the system's settings run in spite of a switch?"""
    if client == "gemini":
        return not switch.holding and source.scope != SYSTEM
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
    home = file.removesuffix("/" + wiring.PLUGIN_FILE)
    if launchers.state(home) not in ("whole", "outdated"):
        yield Finding("hook-missing", f"{home}/bin/hook is not whole", "every call is refused", _init(client))


def _trust(client: str, read: list[Source], wired: list[Wired], root: str, asked: Mapping[str, str] | None) -> Iterator[Finding]:
    row, title = WIRINGS[client], CLIENTS[client].title
    if client == "codex":
        yield from _codex_trust(read, wired, root, asked)
    elif {each.scope for each in wired} == {TEAM} and TEAM in row.trust:
        what = f"{title} loads the project's hooks only in a folder that you trust, which cannot be seen from here"
        yield Finding("trust-unknown", what, row.trust[TEAM], severity=NOTE)


def _codex_trust(read: list[Source], wired: list[Wired], root: str, asked: Mapping[str, str] | None) -> Iterator[Finding]:
    """Codex keeps what it trusts in the user's configuration, by file, event and place in the file, with a digest of the command.

    Where it has been `asked`, its answer counts; that knows of commands that were changed since.
    """
    if any(each.scope == SYSTEM for each in wired):
        return
    user = [source.document for source in read if source.scope == ME and source.document and source.document.format == "toml"]
    state = next((found for document in user if isinstance(found := document.get("hooks", "state"), dict)), {})
    trusted = [document.get("projects", root, "trust_level") == "trusted" for document in user] if root else []
    reasons = []
    for each in wired:
        if each.entry.event not in WIRINGS["codex"].blocking:
            continue
        if each.scope == TEAM and not any(trusted):
            reasons.append(Finding("trust-needed", "Codex does not trust this project", WIRINGS["codex"].trust[TEAM], "codex"))
            continue
        found = _codex_distrusts(each.path, _codex_status(each, state, asked))
        if found is None:
            return
        reasons.append(found)
    yield from reasons


def _codex_status(each: Wired, state: Mapping[str, Any], asked: Mapping[str, str] | None) -> str:
    """What Codex thinks of an entry: as it says itself, else as it has written down."""
    if asked is not None:
        return next((asked[key] for key in _keys(each) if key in asked), codex_trust.UNTRUSTED)
    kept = next((found for key in _keys(each) if isinstance(found := state.get(key), dict)), {})
    if kept.get("enabled") is False:
        return codex_trust.DISABLED
    return codex_trust.TRUSTED if kept.get("trusted_hash") else codex_trust.UNTRUSTED


def _codex_distrusts(path: str, status: str) -> Finding | None:
    """What is to be done about an entry of this status; None for nothing."""
    if status in (codex_trust.TRUSTED, "managed"):
        return None
    if status == codex_trust.DISABLED:
        return Finding(
            "switched-off", f"guard's hook in {path} is disabled", "Codex leaves it out", "start codex, type /hooks, enable it"
        )
    why, repair = (
        "until then Codex leaves it out without a word",
        "start codex, type /hooks, look at guard's hooks and trust them",
    )
    if status == codex_trust.MODIFIED:
        return Finding("trust-needed", f"guard's hook in {path} has changed since you reviewed it in Codex", why, repair)
    return Finding("trust-needed", f"you have not reviewed guard's hook in {path} in Codex yet", why, repair)


def _keys(each: Wired) -> Iterator[str]:
    event = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", each.entry.event).lower()
    _, _, group, _, hook = each.entry.path
    for path in dict.fromkeys((each.path, os.path.realpath(each.path))):
        yield f"{path}:{event}:{group}:{hook}"


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
