"""Running: is a loop of a project at work, as far as the processes of this machine tell?"""

from __future__ import annotations

import os

from guard.paths import below

MARK = "GUARD_LOOP"
_ENVIRONMENT = 1 << 20  # bytes that are read


def loop(root: str, state: str) -> str:
    """What runs in a root as part of a loop: "process N"; "" for nothing.

    Its runner has the loop's lock. A process is part of a loop, too, when it has the loop's mark, and of this project when its
    directory lies in there.
    """
    from guard.loop import lock
    from guard.loop.identity import place

    owner = lock.owner(place(state, root))
    if owner is not None:
        return f"process {owner[0]}"
    for name in sorted(os.listdir("/proc") if os.path.isdir("/proc/self") else ()):
        if name.isdigit() and _marked(name) and _inside(name, root):
            return f"process {name}"
    return ""


def _marked(process: str) -> bool:
    try:
        with open(f"/proc/{process}/environ", "rb") as file:
            entries = file.read(_ENVIRONMENT).split(b"\0")
    except OSError:
        return False
    return any(entry.startswith(MARK.encode() + b"=") and entry[len(MARK) + 1 :] not in (b"", b"0") for entry in entries)


def _inside(process: str, root: str) -> bool:
    try:
        return below(os.readlink(f"/proc/{process}/cwd"), root)
    except OSError:
        return False
