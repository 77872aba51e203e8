"""Acceptance: which [tool.guard] table of a pyproject.toml a person has agreed to.

That file is not locked, so what it says counts for less: a table that differs from the accepted one only adds protection to it,
and where none was accepted, to the built-in list. The accepted file is kept as a whole, one for each project.
"""

from __future__ import annotations

import os
import stat
import tomllib
import zlib
from typing import Any

from guard.project import acceptances

HEADER = b"guard-accepted 1"
SIZE_LIMIT = 4 << 20  # bytes


def accepted(path: str, state: str | None, sudo: bool) -> bytes | None:
    """The text of the pyproject.toml at a path (physical) that was accepted last; None where none was."""
    if state is None:
        return None
    place = acceptances(path, state)[sudo]
    data = _whole(place, 0 if sudo else os.getuid())
    head, _, rest = data.partition(b"\n")
    name, _, text = rest.partition(b"\n")
    if head != b"%s %08x" % (HEADER, zlib.crc32(rest)) or name != os.fsencode(path).replace(b"\n", b"\\n"):
        return None
    return text


def accept(text: bytes, path: str, state: str, sudo: bool) -> None:
    """Records the text of the pyproject.toml at a path (physical) as the one that a person has agreed to. Raises GuardError."""
    rest = os.fsencode(path).replace(b"\n", b"\\n") + b"\n" + text
    from guard import granting

    place = acceptances(path, state)[sudo]
    granting.write(os.path.dirname(place), os.path.basename(place), b"%s %08x\n%s" % (HEADER, zlib.crc32(rest), rest), sudo)


def table(text: bytes | None) -> Any:
    """The [tool.guard] table of a text, None without one or where the text is no TOML."""
    try:
        values = tomllib.loads((text or b"").decode())
    except (ValueError, RecursionError):
        return None
    tool = values.get("tool")
    return tool.get("guard") if isinstance(tool, dict) else None


def _whole(path: str, owner: int) -> bytes:
    """The content of a file of an owner that nobody else can write; empty for any other."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    with os.fdopen(fd, "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_uid != owner or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return b""
        return file.read(SIZE_LIMIT + 4096)
