"""Notebook: a journal in the form of a loop's, for what is no loop: supervisors, evaluations.

<folder>/journal.jsonl            the file that grows
<folder>/journal.<seq>.jsonl      full ones, and those that were damaged
What cannot be written is kept and written later: a full disk stops nobody.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from guard.errors import GuardError
from guard.loop import entries, journal
from guard.loop.events import Body, Event
from guard.loop.journal import NAME
from guard.loop.record import Invalid

FULL = 8 << 20  # bytes at which a new file begins
KEPT = 1000  # events that wait to be written
Kinds = Mapping[str, type[Body]]


def read(folder: str, kinds: Kinds) -> Iterator[Event]:
    """The events of a notebook, oldest first. Lines that are no events are passed over; raises OSError."""
    for path in journal.files(folder):
        for event, _, _ in _lines(path, kinds):
            if event is not None:
                yield event


def _lines(path: str, kinds: Kinds) -> Iterator[tuple[Event | None, str, int]]:
    """Each whole line of a file: the event, None for what is none, the line's sum, and where it ends."""
    total: str | None = ""
    with open(path, "rb") as file:
        while line := file.readline(journal.LINE_LIMIT):
            if not line.endswith(b"\n"):
                return
            text = line[:-1].decode("utf-8", "replace")
            try:
                event: Event | None = entries.read(text, total, kinds)
            except (Invalid, entries.TooNew):
                event = None
            total = entries.stated(text)
            yield event, total or "", file.tell()


class Notebook:
    """A notebook that is written, by one process at a time. `failed`: why that fails, "" where all is well."""

    def __init__(self, folder: str, kinds: Kinds) -> None:
        self._folder, self._kinds = folder, kinds
        self._path = f"{self._folder}/{NAME}"
        self._waiting: list[tuple[Body, int, str]] = []
        self._seq, self._sum, self._size = 0, "", 0
        self.failed = ""
        try:
            self._recover()
        except OSError as error:
            self.failed = str(error)

    def _recover(self) -> None:
        for event in read(self._folder, self._kinds):
            self._seq = max(self._seq, event.seq)
            self.know(event)
        lines = list(_lines(self._path, self._kinds)) if os.path.lexists(self._path) else []
        if lines and all(event is not None for event, _, _ in lines):
            _, self._sum, self._size = lines[-1]

    def know(self, event: Event) -> None:
        """Hears of an event that was written before this process."""

    def add(self, body: Body, t: int, run: str = "") -> None:
        """Adds an event, and those that could not be written before."""
        self._waiting = [*self._waiting, (body, t, run)][-KEPT:]
        try:
            while self._waiting:
                self._write(*self._waiting[0])
                self._waiting.pop(0)
            self.failed = ""
        except (OSError, GuardError) as error:
            self.failed = str(error)

    def _write(self, body: Body, t: int, run: str) -> None:
        event = Event(self._seq + 1, t, run, None, body)
        anew = not self._size or self._size > FULL or not self._intact()
        text, total = entries.line(event, "" if anew else self._sum)
        data = f"{text}\n".encode()
        self._begin(data) if anew else self._append(data)
        self._seq, self._sum, self._size = event.seq, total, len(data) + (0 if anew else self._size)

    def _intact(self) -> bool:
        try:
            return os.stat(self._path, follow_symlinks=False).st_size >= self._size
        except FileNotFoundError:
            return False

    def _begin(self, data: bytes) -> None:
        """Begins a new file; the one that is there goes under another name."""
        os.makedirs(self._folder, 0o700, exist_ok=True)
        if os.path.lexists(self._path):
            number = self._seq
            while os.path.lexists(target := f"{self._folder}/journal.{number:012d}.jsonl"):
                number += 1
            os.rename(self._path, target)
        journal.replace_file(self._path, data)
        journal.sync(self._folder)

    def _append(self, data: bytes) -> None:
        fd = os.open(self._path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            os.ftruncate(fd, self._size)  # what has no end
            try:
                written = os.pwrite(fd, data, self._size)
                if written != len(data):
                    raise OSError(28, "no room")
                os.fdatasync(fd)
            except OSError:
                os.ftruncate(fd, self._size)
                raise
        finally:
            os.close(fd)
