"""What the settings of clients call: the commands, by client and event, and the plugin."""

from __future__ import annotations

from guard.agents.wirings import PLUGIN, WIRINGS
from guard.quoting import posix

HOOK = "bin/hook"  # below guard's home: what the settings name
PLUGIN_FILE = "bin/opencode.js"
BLOCK, WARN = "block", "warn"  # what a committed command does where there is no guard

LAUNCHED = "{hook} {call} || {{ [ $? = 2 ] || echo '{broken}' >&2; exit {status}; }}"
COMMITTED = "command -v pathguard >/dev/null 2>&1 || {{ echo '{without}' >&2; exit {missing}; }}; " + LAUNCHED
BROKEN = "guard: refused: its hook cannot run. Repair it with: guard doctor"
BROKEN_END = "guard: its hook cannot run, so nothing was looked after. Repair it with: guard doctor"
WITHOUT = {
    BLOCK: "guard: refused: this project wants pathguard on PATH. Install it: uv tool install pathguard",
    WARN: "guard: this project wants pathguard on PATH, and nothing is checked without. Install it: uv tool install pathguard",
}


def command(client: str, home: str, event: str = "") -> str:
    """The command of a settings file that is not shared: it names the launcher in guard's home, and fails closed by itself."""
    return LAUNCHED.format(hook=posix(f"{home}/{HOOK}"), **_called(client, event))


def committed(client: str, event: str, missing: str = BLOCK) -> str:
    """The command of a settings file that a team shares: it finds guard on PATH."""
    row = WIRINGS[client]
    status = 2 if missing == BLOCK and event not in row.ending else row.missing
    return COMMITTED.format(hook="pathguard hook", without=WITHOUT[missing], missing=status, **_called(client, event))


def commands(client: str, home: str) -> dict[str, str]:
    """What the entries call, by event: the commands, or the plugin, of settings that are not shared."""
    row = WIRINGS[client]
    return {"plugin": plugin(home)} if row.shape == PLUGIN else {event: command(client, home, event) for event in row.events}


def shared(client: str, missing: str = BLOCK) -> dict[str, str]:
    """What the entries of settings call that a team shares, by event."""
    return {event: committed(client, event, missing) for event in WIRINGS[client].events}


def _called(client: str, event: str) -> dict[str, object]:
    """The arguments of the hook at an event, and how its command ends where the hook does not consent."""
    row = WIRINGS[client]
    ending = event in row.ending
    call = f"{client} {event}" if row.named and event else client
    return {"call": call, "broken": BROKEN_END if ending else BROKEN, "status": row.missing if ending else 2}


def plugin(home: str) -> str:
    """The URL of the plugin in guard's home."""
    from urllib.parse import quote

    return "file://" + quote(f"{home}/{PLUGIN_FILE}")
