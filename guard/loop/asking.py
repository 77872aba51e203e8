"""A question to whoever sits at the terminal, with a time after which no answer counts as yes, go on waiting."""

from __future__ import annotations

import os
import select
import termios
import time
from contextlib import suppress

from guard.loop.texts import RETRY

PATIENCE_S = 30.0


def declines(wake: int = -1) -> bool:
    """Does somebody answer no? False without a terminal in whose foreground this runs, and where nobody answers in time."""
    try:
        fd = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        if os.tcgetpgrp(fd) != os.getpgrp():
            return False
        termios.tcflush(fd, termios.TCIFLUSH)  # what was typed before the question is no answer to it
        os.write(fd, f"{RETRY} ".encode())
        return _answer(fd, wake).strip().lower() in (b"n", b"no")
    except (OSError, termios.error):
        return False
    finally:
        os.close(fd)


def _answer(fd: int, wake: int) -> bytes:
    line, until = b"", time.monotonic() + PATIENCE_S
    while not line.endswith(b"\n") and (left := until - time.monotonic()) > 0:
        ready = select.select([fd, *([wake] if wake >= 0 else [])], [], [], left)[0]
        if fd not in ready:
            break
        line += os.read(fd, 64)
        if len(line) > 200:
            break
    if not line:
        with suppress(OSError):
            os.write(fd, b"\n")
    return line
