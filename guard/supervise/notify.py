"""Notify: tells the service manager how it stands, by the protocol of sd_notify(3): one datagram a message."""

from __future__ import annotations

import socket
from collections.abc import MutableMapping
from contextlib import suppress

READY, ALIVE, STOPPING = "READY=1", "WATCHDOG=1", "STOPPING=1"
VARIABLES = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")


class Notify:
    """Made from an environment, out of which the variables are taken: what is started from here has no business with it."""

    def __init__(self, environ: MutableMapping[str, str]) -> None:
        address, _, _ = (environ.pop(name, "") for name in VARIABLES)
        # A name without a file begins with a zero byte, which no variable can hold: it is written as @.
        self._address = f"\0{address[1:]}" if address.startswith("@") else address if address.startswith("/") else ""
        self._told = ""

    def send(self, *messages: str) -> bool:
        """Sends messages in one datagram. False where nobody wants to know, or nobody is there; it never waits."""
        if not self._address:
            return False
        with suppress(OSError, ValueError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as to:
            to.setblocking(False)
            to.connect(self._address)
            to.send("\n".join(messages).encode("utf-8", "replace"))
            return True
        return False

    def status(self, text: str) -> None:
        """Sends a line for people, where it is another one than the last."""
        if text != self._told and self.send(f"STATUS={' '.join(text.split())}"):
            self._told = text
