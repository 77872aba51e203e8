"""Heartbeats: when a client last called guard's hook, and from where, so that one can tell whether it is loaded.

STATE/heartbeats/CLIENT.json    {"v": 1, "client", "time", "version", "session", "cwd", "event"}
"""

from __future__ import annotations

import os
import time

from guard import project
from guard.json_text import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from guard.agents.read import Call

DIRECTORY = "heartbeats"


def path(state: str, client: str) -> str:
    """The file that holds a client's last heartbeat."""
    return f"{state}/{DIRECTORY}/{client}.json"


def record(client: str, call: Call, environ: Mapping[str, str]) -> bool:
    """Writes a heartbeat; False where it cannot be kept. `time` is in seconds since 1970, what is not known is ""."""
    state = project.state_dir(environ)
    if state is None:
        return False
    values = {"v": 1, "client": client, "time": time.time(), "version": call.version, "session": call.session}
    place = path(state, client)
    new = f"{place}.{os.getpid()}"
    try:
        os.makedirs(f"{state}/{DIRECTORY}", 0o700, exist_ok=True)
        fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            os.write(fd, (dumps({**values, "cwd": call.cwd, "event": call.event}) + "\n").encode())
        finally:
            os.close(fd)
        os.rename(new, place)
    except (OSError, ValueError):
        return False
    return True
