"""Anchor: the environments that nobody sets in a command, which say where guard's state really is.

Variables say where guard keeps its state, and for a command those are the agent's to choose. So what weakens the protection
counts only in the directory that the outermost agent or guard runner above was started with; where none is above, in that of the
user's account or of the first process of all. No process can change what the system remembers of those above it.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

DEPTH = 64  # processes above that are looked at
_ENVIRONMENT = 1 << 20  # bytes of one that are read


def agents() -> Mapping[str, str] | None:
    """The environment that the outermost agent or guard runner above was started with; empty where it may not be read.

    None where no such process is above, or the system does not tell.
    """
    from guard.actor import agent

    found, process, status = "", "", status_of(str(os.getpid()))
    for _ in range(DEPTH):
        if status is None or status[1] == "0":
            break
        process = status[1]
        status = status_of(process)
        if status is not None and agent(status[0]):
            found = process
    return environment_of(found) if found else None


def accounts() -> list[Mapping[str, str]]:
    """The environments that hold where no agent is above: that of the user's account, and that of the first process."""
    import pwd

    try:
        home = [{"HOME": pwd.getpwuid(os.getuid()).pw_dir}]
    except KeyError:
        home = []
    return [*home, environment_of("1")]


def environment_of(process: str) -> Mapping[str, str]:
    """The environment that a process was started with; empty where it may not be read."""
    try:
        with open(f"/proc/{process}/environ", "rb") as file:
            entries = os.fsdecode(file.read(_ENVIRONMENT)).split("\0")
    except OSError:
        return {}
    return dict(entry.partition("=")[::2] for entry in entries if entry)


def status_of(process: str) -> tuple[tuple[str, ...], str, str] | None:
    """Names, parent and start of a process; None where it cannot be looked at."""
    from guard.actor import called

    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            name, _, rest = file.read().partition(b"(")[2].rpartition(b")")
        with open(f"/proc/{process}/cmdline", "rb") as file:
            words = [os.fsdecode(word) for word in file.read(4096).split(b"\0")]
        fields = rest.split()
        return called(os.fsdecode(name), words), fields[1].decode(), fields[19].decode()
    except (OSError, ValueError, IndexError):
        return None
