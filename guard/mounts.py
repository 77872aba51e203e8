"""Mount points of this process: what the kernel keeps in place, so that it can be neither deleted, moved nor replaced."""

from __future__ import annotations

import os

from guard.effects import CREATE, Below
from guard.paths import below

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from guard.effects import Effect, Target

TABLE = "/proc/self/mountinfo"  # fields: https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html
_POINT, _OPTIONS = 4, 5
_ESCAPES = ((b"\\040", b" "), (b"\\011", b"\t"), (b"\\012", b"\n"), (b"\\134", b"\\"))


def points(table: bytes | None = None) -> dict[str, bool]:
    """The paths that are mount points here, each with whether it can be written; empty where the system does not tell."""
    found = {}
    for line in (_read() if table is None else table).split(b"\n"):
        fields = line.split(b" ")
        if len(fields) > _OPTIONS:
            found[_path(fields[_POINT])] = b"ro" not in fields[_OPTIONS].split(b",")
    return found


def held(paths: Iterable[str]) -> list[str]:
    """Those of the physical paths that are mount points: unlink and rename say EBUSY there, as does git when it replaces one."""
    known = points()
    return [path for path in paths if path in known]


def stopped(effects: Iterable[Effect], mounted: Mapping[str, bool]) -> list[str]:
    """The mount points that git would replace or take away with these effects, sorted.

    git unlinks a file before it writes the new one, so each of these stops it half-way, with the rest of the tree changed.
    """
    going = [effect.target for effect in effects if effect.action != CREATE]
    return sorted(path for path in mounted if any(_covers(target, path) for target in going))


def _covers(target: Target, path: str) -> bool:
    return below(path, target.path) and not (isinstance(target, Below) and path == target.path)


def _path(field: bytes) -> str:
    for escape, byte in _ESCAPES:
        field = field.replace(escape, byte)
    return os.fsdecode(field)


def _read() -> bytes:
    try:
        fd = os.open(TABLE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    with os.fdopen(fd, "rb") as file:
        return file.read()
