"""What a run shows while it works: the lines of its log as they are written, and the agent's output where that is wanted."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from guard.loop.derived import LOG
from guard.shown import visible

COLOURS = {"[WARN]": "\x1b[33m", "[ERROR]": "\x1b[31m"}
_PIECE = 1 << 18  # bytes that are shown at once


class View:
    """Shows on standard error. A reader who has gone away stops nothing."""

    def __init__(self, directory: str, quiet: bool = False, live: bool = False) -> None:
        self._path = f"{directory}/{LOG}"
        self._quiet, self._live = quiet, live
        self._colour = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
        self._at = self._size()

    def follow(self) -> None:
        """Shows what the log has got since the last time."""
        size = self._size()
        if size == self._at:
            return
        self._at = self._at if size > self._at else 0
        with suppress(OSError), open(self._path, "rb") as file:
            file.seek(self._at)
            data = file.read(_PIECE)
            self._at += len(data)
            for line in data.decode("utf-8", "replace").splitlines():
                self.say(line.partition("] ")[2])

    def say(self, text: str) -> None:
        """Shows one line."""
        if self._quiet:
            return
        level, _, rest = text.partition(" ")
        colour = COLOURS.get(level, "") if self._colour else ""
        plain = visible(rest if level in (*COLOURS, "[INFO]") else text)
        with suppress(OSError, ValueError):
            print(f"{colour}{plain}\x1b[0m" if colour else plain, file=sys.stderr, flush=True)

    def output(self, data: bytes) -> None:
        """Shows a piece of the agent's output."""
        if self._live and data:
            with suppress(OSError, ValueError):
                sys.stdout.buffer.write(data)
                sys.stdout.buffer.flush()

    def _size(self) -> int:
        try:
            return os.stat(self._path).st_size
        except OSError:
            return 0
