"""The journal of a loop: one event a line, each flushed to the disk before it is acted on.

<directory>/journal.jsonl            the file that grows
<directory>/journal.<seq>.jsonl      full ones, named by their first event
Every file begins with a `base` event: the state before it. So a start reads one file at most.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from guard.errors import STATE, GuardError
from guard.loop import entries
from guard.loop.entries import TooNew
from guard.loop.events import Base, Body, Event
from guard.loop.record import Invalid, dump
from guard.loop.state import State
from guard.loop.withheld import redacted

NAME = "journal.jsonl"
FULL = 64 << 20  # bytes at which a new file begins
KEPT_MS = 400 * 86_400_000  # how long full files stay
LINE_LIMIT = 16 << 20  # bytes of a line that is read
_ROTATED = re.compile(r"journal\.(\d{12})\.jsonl")


@dataclass(frozen=True)
class Place:
    """Where a journal has been read or written to: the file's first event, the bytes, the last event and its sum."""

    first: int
    offset: int
    seq: int
    sum: str


@dataclass(frozen=True)
class Bad:
    """A line that is no event. `torn`: it is the last one and has no end."""

    offset: int
    why: str
    torn: bool


@dataclass(frozen=True)
class Good:
    """An event, and the place behind it."""

    event: Event
    place: Place


def files(directory: str) -> list[str]:
    """The journal's files that are there, oldest first."""
    try:
        names = os.listdir(directory)
    except OSError:
        return []
    rotated = sorted(name for name in names if _ROTATED.fullmatch(name))
    return [f"{directory}/{name}" for name in [*rotated, *([NAME] if NAME in names else [])]]


def read(path: str, place: Place | None = None) -> Iterator[Good | Bad]:
    """The lines of a file, from its beginning or from behind a place. Raises GuardError for a later version's, OSError."""
    offset, before, seq, first = (place.offset, place.sum, place.seq, place.first) if place else (0, "", 0, 0)
    known: str | None = before
    with open(path, "rb") as file:
        file.seek(offset)
        while line := file.readline(LINE_LIMIT):
            start, offset = offset, offset + len(line)
            text = line.decode("utf-8", "replace")
            if not text.endswith("\n"):
                torn = len(line) < LINE_LIMIT
                yield Bad(start, "it has no end" if torn else "it is too long", torn)
                known = None
                continue
            try:
                # The first line of a file hangs on the last one of the file before, which its own base names.
                event = _first(text[:-1]) if start == 0 else entries.read(text[:-1], known)
                if start and event.seq != seq + 1 and known == before:
                    raise Invalid(f"event {event.seq} follows event {seq}")
            except TooNew as new:
                todo = "use that version, or move the directory away to start afresh"
                raise GuardError(f"it was written by a later version of guard ({new})", path, todo, STATE) from None
            except Invalid as error:
                yield Bad(start, str(error), False)
                known, before = entries.stated(text[:-1]), ""
                continue
            known = before = entries.stated(text[:-1]) or ""
            seq, first = event.seq, first or event.seq
            yield Good(event, Place(first, offset, event.seq, before))


def _first(text: str) -> Event:
    event = entries.read(text, "")
    if not isinstance(event.body, Base):
        raise Invalid("a file must begin with its base")
    return event


class Journal:
    """The journal that is written. One process at a time, which has the lock."""

    def __init__(self, directory: str, clock: str = "real", secrets: tuple[str, ...] = ()) -> None:
        self.directory = directory
        self.path = f"{directory}/{NAME}"
        self.clock = clock
        self.secrets = secrets
        self.place = Place(0, 0, 0, "")
        self._fd = -1

    def open(self, place: Place) -> None:
        """Goes on behind a place; what stands after it (a torn line) is cut off. Raises GuardError."""
        try:
            self._fd = os.open(self.path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            if os.fstat(self._fd).st_size > place.offset:
                os.ftruncate(self._fd, place.offset)
                os.fsync(self._fd)
        except OSError as error:
            raise unwritable(error, self.path) from error
        self.place = place

    def begin(self, state: State, t: int) -> Event:
        """Begins a new file with the state; an old one goes under another name. Raises GuardError."""
        body = Base(state.loop, self.clock, dump(state))
        event = Event(max(self.place.seq, state.seq) + 1, t, "", None, redacted(body, self.secrets))
        text, total = entries.line(event, "")
        data = (text + "\n").encode()
        temporary = f"{self.path}.tmp"
        try:
            fd = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                _write(fd, data)
                os.fsync(fd)
                self._aside()
                os.rename(temporary, self.path)
                sync(self.directory)
            except BaseException:
                os.close(fd)
                raise
        except OSError as error:
            raise unwritable(error, self.path) from error
        self.close()
        self._fd = fd
        self.place = Place(event.seq, len(data), event.seq, total)
        return event

    def _aside(self) -> None:
        """Gives the file that is there the name of a full one."""
        if os.path.lexists(self.path):
            first = self.place.first or _first_seq(self.path)
            target = f"{self.directory}/journal.{first:012d}.jsonl"
            while os.path.lexists(target):  # never over another one
                first += 1
                target = f"{self.directory}/journal.{first:012d}.jsonl"
            os.rename(self.path, target)

    def append(self, body: Body, t: int, run: str, n: int | None) -> Event:
        """Adds an event and gives it as it was written, secrets taken out. It lasts once `flush` is done.

        Raises GuardError; then nothing was added.
        """
        event = Event(self.place.seq + 1, t, run, n, redacted(body, self.secrets))
        text, total = entries.line(event, self.place.sum)
        data = (text + "\n").encode()
        try:
            _write(self._fd, data, self.place.offset)
        except OSError as error:
            raise unwritable(error, self.path) from error
        place = self.place
        self.place = Place(place.first, place.offset + len(data), event.seq, total)
        return event

    def flush(self) -> None:
        """Makes what was added last. Raises GuardError."""
        try:
            os.fdatasync(self._fd)
        except OSError as error:
            raise unwritable(error, self.path) from error

    def cut(self, place: Place) -> None:
        """Takes back what was added behind a place."""
        with suppress(OSError):
            os.ftruncate(self._fd, place.offset)
        self.place = place

    @property
    def full(self) -> bool:
        """Is it time for a new file?"""
        return self.place.offset >= FULL

    def intact(self) -> bool:
        """Is the file still there, the same one, and as long as it was written?"""
        try:
            there, own = os.stat(self.path, follow_symlinks=False), os.fstat(self._fd)
        except OSError:
            return False
        same = (there.st_dev, there.st_ino) == (own.st_dev, own.st_ino) and own.st_size == self.place.offset
        return same and self._tail_fits()

    def _tail_fits(self) -> bool:
        """Does the file end in the sum that was written last?"""
        tail = f'{self.place.sum}"}}\n'.encode()
        return os.pread(self._fd, len(tail), self.place.offset - len(tail)) == tail

    def content(self) -> bytes | None:
        """The bytes of the file that was written, which may have lost its name; None where they are not what was written."""
        try:
            whole = os.fstat(self._fd).st_size >= self.place.offset and self._tail_fits()
            return os.pread(self._fd, self.place.offset, 0) if whole else None
        except OSError:
            return None

    def put_back(self, data: bytes) -> None:
        """Makes the file again with this content. Raises GuardError."""
        try:
            os.makedirs(self.directory, 0o700, exist_ok=True)
            replace_file(self.path, data)
            sync(self.directory)
            fd = os.open(self.path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            raise unwritable(error, self.path) from error
        self.close()
        self._fd = fd

    def expire(self, t: int) -> None:
        """Removes full files whose last event is older than they are kept."""
        for path in files(self.directory)[:-1]:
            try:
                if os.stat(path).st_mtime * 1000 < t - KEPT_MS:
                    os.unlink(path)
            except OSError:
                continue

    def close(self) -> None:
        """Closes the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def replace_file(path: str, data: bytes) -> None:
    """Writes a file whole: temporary, synchronised, renamed. Raises OSError; then the old one is still there."""
    temporary = f"{path}.tmp"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        _write(fd, data)
        os.fsync(fd)
    finally:
        os.close(fd)
    os.rename(temporary, path)


def sync(directory: str) -> None:
    """Makes the names in a directory last."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def unwritable(error: OSError, path: str) -> GuardError:
    """The error that says that state cannot be written."""
    return GuardError(f"the loop's state cannot be written ({error.strerror or error})", path, "make room or access there", STATE)


def _write(fd: int, data: bytes, offset: int = 0) -> None:
    """Writes all of it at an offset. Raises OSError; then the file is cut back to the offset where that can be done."""
    written = 0
    try:
        while written < len(data):
            written += os.pwrite(fd, data[written:], offset + written)
    except OSError:
        try:
            os.ftruncate(fd, offset)
        except OSError:
            pass
        raise


def _first_seq(path: str) -> int:
    try:
        first = next(read(path), None)
    except (OSError, GuardError):
        return 0
    return first.event.seq if isinstance(first, Good) else 0
