"""Test reports: files in JUnit's form that a command names, in its words or its output, and has written while it ran."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from dataclasses import dataclass, field

from guard.loop.test_output import Results

LARGEST = 64 << 20  # bytes that are read of one
MOST = 50  # files that a command may name
_PIECE = 1 << 16
_SLACK_NS = 20_000_000  # by which a file system's clock may be behind
_NAME = re.compile(r"""[^\s"'=<>|;()]{1,1000}\.xml\b""")


@dataclass
class Named:
    """The files that were named."""

    paths: dict[str, None] = field(default_factory=dict)

    def look(self, line: str) -> None:
        """Notes what a line names."""
        if ".xml" in line and len(self.paths) < MOST:
            self.paths.update(dict.fromkeys(_NAME.findall(line[:4000])))

    def read(self, top: str, started: int) -> Results:
        """What those say that were written since a moment (nanoseconds); others are of an earlier run, or of something else."""
        found = Results()
        seen = set()
        for name in list(self.paths)[:MOST]:
            path = os.path.realpath(os.path.join(top, name))
            if path not in seen:
                seen.add(path)
                with suppress(OSError, ValueError):
                    _read(path, started - _SLACK_NS, found)
        found.end()
        return found


def _read(path: str, since: int, into: Results) -> None:
    with open(path, "rb", opener=_at_once) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_mtime_ns < since or status.st_size > LARGEST:
            return
        while data := file.read(_PIECE):
            into.piece(data.decode("utf-8", "replace"))


def _at_once(path: str, flags: int) -> int:
    """Opens without waiting for anybody at the other end."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
