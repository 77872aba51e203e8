"""The files that are made from the journal: what is lost of them is made again."""

from __future__ import annotations

import json
import os
from contextlib import suppress

from guard.loop import derived, journal, machine, ralph
from guard.loop.beside import Beside
from guard.loop.checkpoint import Lists
from guard.loop.derived import LOG
from guard.loop.events import Base, Event
from guard.loop.journal import Good
from guard.loop.names import STATUS
from guard.loop.record import parse
from guard.loop.state import State
from guard.loop.status import status

NAMES = (*derived.NAMES, ralph.METRICS)
LOG_FULL, LOG_KEPT = 10_000_000, 4  # bytes of loop.log, and how many older ones stay


class Derived:
    """The derived files of one loop. Errors of the disk are kept in `failed`; they stop nothing."""

    def __init__(self, directory: str, root: str = "") -> None:
        self.directory = directory
        self.beside = Beside(root) if root else None
        self.sizes = dict.fromkeys(NAMES, 0)
        self.failed = ""

    @property
    def lists(self) -> Lists:
        """What is shown beside Ralph's prompt of events that no state keeps."""
        return self.beside.lists if self.beside is not None else {}

    def restore(self, sizes: dict[str, int], lists: Lists) -> bool:
        """Cuts the files back to known sizes. False where one is gone or too short, so that all must be made anew."""
        for name in NAMES:
            path, size = self._path(name), sizes.get(name, 0)
            try:
                there = os.stat(path, follow_symlinks=False).st_size if os.path.lexists(path) else 0
                if there < size:
                    return False
                if there > size:
                    os.truncate(path, size)
            except OSError as error:
                self.failed = str(error)
                return False
        self.sizes = {name: sizes.get(name, 0) for name in NAMES}
        if self.beside is not None:
            self.beside.lists = dict(lists)
        return True

    def follow(self, before: State, event: Event, after: State) -> None:
        """Adds what an event adds."""
        if self.beside is not None:
            self.beside.note(event)
        texts: dict[str, str] = {}
        for name, text in (*derived.lines(before, event, after), (ralph.METRICS, ralph.metrics(event, after))):
            texts[name] = texts.get(name, "") + text
        for name, text in texts.items():
            if not text:
                continue
            self._add(name, text.encode("utf-8", "backslashreplace"))

    def rebuild(self) -> None:
        """Makes all of them anew from the whole journal."""
        for name in (*NAMES, *(f"{LOG}.{number}" for number in range(1, LOG_KEPT + 1))):
            with suppress(FileNotFoundError):
                os.unlink(self._path(name))
        self.sizes = dict.fromkeys(NAMES, 0)
        if self.beside is not None:
            self.beside.forget()
        state: State | None = None
        for path in journal.files(self.directory):
            for line in journal.read(path):
                if isinstance(line, Good):
                    state = self._replayed(state, line.event)

    def _replayed(self, state: State | None, event: Event) -> State:
        if isinstance(event.body, Base) and (state is None or state.seq != event.seq - 1):
            state = parse(State, event.body.state)
        before = state or State("")
        after = machine.step(before, event)[0]
        self.follow(before, event, after)
        return after

    def show(self, state: State) -> None:
        """Writes status.json whole."""
        text = json.dumps(status(state), ensure_ascii=False, indent=1) + "\n"
        try:
            temporary = self._path(f"{STATUS}.tmp")
            with open(temporary, "wb") as file:
                file.write(text.encode("utf-8", "backslashreplace"))
            os.rename(temporary, self._path(STATUS))
        except OSError as error:
            self.failed = str(error)
        if self.beside is not None:
            self.beside.show(state, self.directory)
            self.failed = self.failed or self.beside.failed

    def pulse(self, state: State, t: int) -> None:
        """Writes how far the call under way is, where somebody may look."""
        if self.beside is not None:
            self.beside.pulse(state, t)

    def _add(self, name: str, data: bytes) -> None:
        path = self._path(name)
        try:
            if name == LOG and self.sizes[name] + len(data) > LOG_FULL:
                self._rotate(path)
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                self.sizes[name] += os.write(fd, data)
            finally:
                os.close(fd)
        except OSError as error:
            self.failed = str(error)

    def _rotate(self, path: str) -> None:
        for number in range(LOG_KEPT - 1, 0, -1):
            with suppress(FileNotFoundError):
                os.rename(f"{path}.{number}", f"{path}.{number + 1}")
        with suppress(FileNotFoundError):
            os.rename(path, f"{path}.1")
        self.sizes[LOG] = 0

    def _path(self, name: str) -> str:
        return f"{self.directory}/{name}"
