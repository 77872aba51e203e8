"""The teller: hears the events of a loop, and leaves those that people want to be told of in the outbox."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping

from guard.loop.events import Event
from guard.notify import outbox
from guard.notify.notice import Notice, of
from guard.notify.settings import channels
from guard.world import World

MOST = 2  # senders at a time: the one at work, and one that looks whether it still is


class Teller:
    """One process's. `spare` hears the process ids of senders, which are no part of what an agent has started."""

    def __init__(
        self, state: str, environ: Mapping[str, str], tree: World, spare: Callable[[int], None] = lambda pid: None
    ) -> None:
        """Raises GuardError where the settings are broken."""
        self._state, self._environ, self._spare = state, dict(environ), spare
        self._codes = {code for channel in channels(environ, tree) for code in channel.events}
        self._senders: list[subprocess.Popen[bytes]] = []

    def hear(self, event: Event, loop: str, root: str) -> None:
        """Hears an event of a loop. Never raises, and never waits."""
        if self._codes:
            found = of(event, loop, root)
            if found is not None:
                self.tell(found)

    def tell(self, notice: Notice) -> None:
        """Leaves a notice, if somebody wants to know, and has it sent."""
        if notice.code in self._codes and outbox.put(self._state, notice):
            self._send()

    def close(self) -> None:
        """Has sent what still waits."""
        if self._codes and outbox.waits(self._state):
            self._send()

    def _send(self) -> None:
        self._senders = [one for one in self._senders if one.poll() is None]
        if len(self._senders) < MOST:
            started = outbox.start(self._state, self._environ)
            if started is not None:
                self._spare(started.pid)
                self._senders.append(started)


def told(notice: Notice, state: str | None, environ: Mapping[str, str], tree: World) -> None:
    """Tells once, from a process that hears no events. Broken settings tell nothing: `guard notify` says what is wrong."""
    from guard.errors import GuardError

    if state is not None and os.path.isdir(state):
        try:
            Teller(state, environ, tree).tell(notice)
        except GuardError:
            return
