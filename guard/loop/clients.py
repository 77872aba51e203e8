"""Clients: how each agent's client is told to work by itself, to print JSON, to call guard's hooks, and what it may use.

Each function makes an invocation of the user's own words (`more`), the environment, the list of what is allowed, and what calls
guard. An option that the user gives is not given again. docs/loop.md says what was measured, and with which versions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from guard.errors import GuardError
from guard.loop import allowing
from guard.loop.allowing import NARROW, Given
from guard.loop.invocation import SESSION, USAGE_FILE, Invocation, check

RETRIES = "2"  # of the client's own, for one request
TRUST = "GEMINI_CLI_TRUST_WORKSPACE"
OPENCODE = "OPENCODE_CONFIG_CONTENT"
Make = Callable[[Sequence[str], Mapping[str, str], str, tuple[str, ...]], Invocation]


def invocation(
    name: str, more: Sequence[str], environ: Mapping[str, str], hook: str, allowed: tuple[str, ...], top: str
) -> Invocation:
    """How a client is called. `hook` is what its settings have to call: a command, or a plugin. Raises GuardError where it is
    not there, or would not call guard's hooks in the tree `top`."""
    check(name, environ)
    if name in BY_SETTINGS:
        _check_wiring(name, environ, top)
    return CLIENTS[name](more, environ, hook, allowed)


def claude(more: Sequence[str], environ: Mapping[str, str], hook: str, allowed: tuple[str, ...]) -> Invocation:
    """Claude Code, its hooks given by flag, which no settings file switches off."""
    allowed = allowed or NARROW
    wired = json.dumps(wiring("claude", hook, {"disableAllHooks": False}), separators=(",", ":"))
    fixed = ("claude", "-p", "--output-format", "stream-json", "--verbose", "--settings", wired)
    words = (*fixed, "--allowedTools", ",".join(allowed), *more)
    bounded = {"CLAUDE_CODE_MAX_RETRIES": RETRIES, **environ}
    return Invocation("claude", words, bounded, True, allowed, "claude", resuming=(("--resume", SESSION), 1))


def codex(more: Sequence[str], environ: Mapping[str, str], hook: str, allowed: tuple[str, ...]) -> Invocation:
    """Codex, its hooks given by flag. It knows no list of what is allowed: a sandbox bounds it. Raises GuardError for a list."""
    if allowed:
        todo = "leave it empty (--allowed-tools '') and bound it by its sandbox: -- --sandbox read-only"
        raise GuardError("codex takes no list of allowed tools", "--allowed-tools", todo)
    hooks = wiring("codex", hook)["hooks"]
    settings = ("allow_login_shell=false", "features.hooks=true", *(f"hooks.{event}={toml(of)}" for event, of in hooks.items()))
    words = (
        *("codex", "exec", "--json", "--dangerously-bypass-hook-trust"),
        *_unless(more, ("--skip-git-repo-check",), "--skip-git-repo-check"),
        *_unless(more, _CODEX_SANDBOX, "--sandbox", "workspace-write"),
        *(word for setting in settings for word in ("-c", setting)),
        *more,
        "-",
    )
    return Invocation("codex", words, environ, True, (), "codex", resuming=(("resume", SESSION), len(words) - 1))


_CODEX_SANDBOX = ("-s", "--sandbox", "--approve-for-me", "--dangerously-bypass-approvals-and-sandbox")


def gemini(more: Sequence[str], environ: Mapping[str, str], hook: str, allowed: tuple[str, ...]) -> Invocation:
    """Gemini, with the user's hooks. The project's own settings, which could switch them off, are left out."""
    found = allowing.given(allowed or NARROW, allowing.prefix)
    mode = "auto_edit" if found.writes else "default"
    words = (
        *("gemini", "--output-format", "stream-json"),
        *_unless(more, ("--skip-trust",), "--skip-trust"),
        *_unless(more, ("-y", "--yolo", "--approval-mode"), "--approval-mode", mode),
        *(f"--allowed-tools={one}" for one in found.words),
        *more,
    )
    trusted = {key: value for key, value in environ.items() if key != TRUST}
    return _listed("gemini", words, trusted, found, (("--resume", SESSION), 1))


def qwen(more: Sequence[str], environ: Mapping[str, str], hook: str, allowed: tuple[str, ...]) -> Invocation:
    """Qwen Code, with the user's hooks."""
    found = allowing.given(allowed or NARROW, allowing.prefix)
    mode = "auto-edit" if found.writes else "default"
    words = (
        *("qwen", "--output-format", "stream-json"),
        *_unless(more, ("-y", "--yolo", "--approval-mode"), "--approval-mode", mode),
        *(f"--allowed-tools={one}" for one in found.words),
        *more,
    )
    return _listed("qwen", words, environ, found, (("--resume", SESSION), 1))


def copilot(more: Sequence[str], environ: Mapping[str, str], hook: str, allowed: tuple[str, ...]) -> Invocation:
    """Copilot, with the user's hooks. It tells its tokens in a file."""
    found = allowing.given(allowed or NARROW, allowing.copilot)
    writes = ("--allow-tool=write",) if found.writes else ()
    words = (
        *("copilot", "--output-format", "json", "--no-auto-update", "--usage-output-file", USAGE_FILE),
        *_unless(more, ("--no-ask-user",), "--no-ask-user"),
        *writes,
        *(f"--allow-tool={one}" for one in found.words),
        *more,
    )
    return _listed("copilot", words, environ, found, ((f"--resume={SESSION}",), 1))


def opencode(more: Sequence[str], environ: Mapping[str, str], hook: str, allowed: tuple[str, ...]) -> Invocation:
    """OpenCode, guard's plugin and what is allowed given by its environment. Raises GuardError where that holds no object."""
    permission, found = allowing.opencode(allowed or NARROW)
    own = _object(environ.get(OPENCODE) or "{}")
    plugins = own.get("plugin")
    plugins = plugins if isinstance(plugins, list) else []
    settings = {**own, "plugin": [*(one for one in plugins if one != hook), hook], "permission": permission}
    words = ("opencode", "run", "--format", "json", *more)
    wired = {**environ, OPENCODE: json.dumps(settings)}
    return _listed("opencode", words, wired, found, (("--session", SESSION), 2))


CLIENTS: dict[str, Make] = {
    "claude": claude,
    "codex": codex,
    "gemini": gemini,
    "opencode": opencode,
    "qwen": qwen,
    "copilot": copilot,
}
BY_SETTINGS = ("gemini", "qwen", "copilot")  # they take hooks from settings files only


def wiring(client: str, command: str, base: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The settings that wire guard's hook into a client."""
    from guard.agents import settings, wiring
    from guard.agents.wirings import JSON

    document = settings.read("--settings", JSON, json.dumps(base or {}).encode())
    found: dict[str, Any] = wiring.wired(client, document, command).value
    return found


def toml(value: object) -> str:
    """A value as TOML on one line."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{json.dumps(key)}={toml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(toml, value)) + "]"
    return json.dumps(value)


def _listed(
    name: str, words: tuple[str, ...], environ: Mapping[str, str], found: Given, resuming: tuple[tuple[str, ...], int]
) -> Invocation:
    note = f"{name} has no words for {', '.join(found.left_out)}: left out, so that it may not use that"
    notes = (note,) if found.left_out else ()
    return Invocation(name, words, environ, True, found.entries, name, notes, resuming)


def _unless(more: Sequence[str], options: Sequence[str], *words: str) -> tuple[str, ...]:
    """The words, unless the user gives one of the options."""
    return () if any(word in options or word.startswith(tuple(f"{one}=" for one in options)) for word in more) else words


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise GuardError("it holds no JSON object", OPENCODE, "correct it, or unset it")
    return found


def _check_wiring(name: str, environ: Mapping[str, str], top: str) -> None:
    """Raises GuardError where a client's settings do not call guard's hooks, or something keeps them from it."""
    from guard.agents.inspection import findings
    from guard.findings import ABSENT, OFF

    worst = findings(name, environ, top)[0]
    if worst.severity in (OFF, ABSENT):
        what = f"{worst.what}; in a loop that has to hold" + (f" ({worst.why})" if worst.why else "")
        raise GuardError(what, f"--agent {name}", worst.repair or f"guard init --agent {name}")
