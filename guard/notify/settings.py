"""Settings: where notices go. Only the user's and the system's file say so: a project must make guard send or run nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from guard import project
from guard.config import PERSONAL, Config, parse
from guard.errors import GuardError
from guard.notify.notice import CODES
from guard.world import World

JSON, SLACK, DISCORD = "json", "slack", "discord"


@dataclass(frozen=True)
class Channel:
    """Where one file sends notices to. `command` is run without a shell, "" and () are none; `events` are codes of notices."""

    origin: str
    command: tuple[str, ...]
    webhook: str
    format: str
    events: tuple[str, ...]


def channels(environ: Mapping[str, str], tree: World) -> tuple[Channel, ...]:
    """Where notices go by the user's and by the system's file. Raises GuardError with file and line for a broken one."""
    found = []
    for origin, path in project.files("/", "", environ, tree):
        data = tree.read(path) if origin in PERSONAL and tree.lstat(path) is not None else None
        config = parse(path, data, origin) if data is not None else None
        if config is not None and config.notify:
            found.append(_channel(config, origin))
    return tuple(found)


def _channel(config: Config, origin: str) -> Channel:
    given = config.notify
    command, webhook = tuple(given.get("command", ())), str(given.get("webhook", ""))
    events = tuple(given.get("events", CODES))
    unknown = [one for one in events if one not in CODES]
    if unknown:
        raise GuardError(f'unknown event "{unknown[0]}" in [notify]', config.path, f"there are: {', '.join(CODES)}")
    if not command and not webhook:
        raise GuardError(
            "[notify] names neither command nor webhook", config.path, 'write command = ["..."] or webhook = "https://..."'
        )
    return Channel(origin, command, webhook, str(given.get("format", JSON)), events)
