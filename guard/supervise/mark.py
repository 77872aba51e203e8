"""Mark: by which a runner knows its supervisor, and others see whether that is still there."""

from __future__ import annotations

import os
from collections.abc import Mapping

from guard.loop import lock

NAME = "GUARD_SUPERVISOR"
_ENVIRONMENT = 1 << 20  # bytes that are read


def value() -> str:
    """What this process puts into the environment of its runner: its process id and start time."""
    return f"{os.getpid()} {lock.started(os.getpid())}"


def supervised(environ: Mapping[str, str]) -> bool:
    """Is this process a supervisor's runner? A process that a runner has started is none, though it has the mark."""
    return environ.get(NAME, "").split(" ")[0] == str(os.getppid())


def attended(pid: int) -> bool | None:
    """Is a runner's supervisor at work? None where it never had one, or that cannot be told."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            entries = file.read(_ENVIRONMENT).split(b"\0")
    except OSError:
        return None
    wanted = f"{NAME}=".encode()
    for entry in entries:
        words = entry.removeprefix(wanted).decode("ascii", "replace").split(" ") if entry.startswith(wanted) else []
        if len(words) == 2 and words[0].isdigit():
            return lock.alive(int(words[0]), words[1])
    return None
