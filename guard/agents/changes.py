"""Changes of files, all of them or none: planned first, then written, and remembered so that they can be taken back.

What a file held before is kept in guard's state, in a directory that only the user can read. Whoever undoes a change gets
those very bytes, unless the file has been written by somebody else since.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from guard.agents import made as record
from guard.agents import writing
from guard.agents.made import Made, digest
from guard.errors import STATE, GuardError


@dataclass(frozen=True)
class Change:
    """One file: `before` and `after` are its contents, None where it is not there. `path` is how it is named, `real` what that
    leads to; `mode` is for a file that is made, None for the usual one. `scope` and `client` say what it is for."""

    path: str
    real: str
    before: bytes | None
    after: bytes | None
    scope: str = ""
    client: str = ""
    mode: int | None = None

    @property
    def needed(self) -> bool:
        """Does it change anything?"""
        return self.before != self.after


def content(path: str) -> tuple[str, bytes | None]:
    """What a path leads to, and what that holds; None where nothing is there. A link to nothing can be written through.

    Raises GuardError for what is no file, cannot be read, or may not be written.
    """
    real = os.path.realpath(path)
    try:
        found = os.stat(real)
        if not stat.S_ISREG(found.st_mode):
            raise GuardError("it is no regular file", path, "move it away")
        with open(real, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        _check_above(path, real)
        return real, None
    except OSError as error:
        raise GuardError(f"it cannot be read ({error.strerror})", path, "make it readable; nothing was changed") from error
    return real, data


def check(changes: Iterable[Change]) -> None:
    """Raises GuardError where one of the changes surely cannot be written, before any of them is."""
    seen: dict[str, Change] = {}
    for change in changes:
        if not change.needed:
            continue
        other = seen.setdefault(change.real, change)
        if other is not change:
            todo = f"wire one of them (--agent {other.client}); nothing was changed"
            raise GuardError(f"{other.client} and {change.client} both have their settings there", change.path, todo)
        directory = os.path.dirname(change.real)
        while not os.path.lexists(directory):
            directory = os.path.dirname(directory)
        if change.before is not None and not os.stat(change.real).st_mode & 0o222:
            raise GuardError("it is read-only", change.path, "make it writable; nothing was changed")
        if not os.path.isdir(directory) or not os.access(directory, os.W_OK | os.X_OK):
            raise GuardError(f"it cannot be written: {directory} is not writable", change.path, "nothing was changed")


def write(changes: Sequence[Change]) -> list[Made]:
    """Writes all changes that are needed, or none: what has been written is taken back where one fails.

    Raises GuardError where a file is not what it was when the change was planned, or cannot be written.
    """
    check(changes)
    done: list[tuple[Change, Made]] = []
    try:
        for change in changes:
            done += [(change, _written(change))] if change.needed else []
    except BaseException as error:
        for change, made in reversed(done):
            _taken_back(change, made)
        if isinstance(error, OSError):
            place = str(error.filename or "a settings file")
            raise GuardError(f"it cannot be written ({error.strerror})", place, "nothing was changed") from error
        raise
    return [made for _, made in done]


def apply(state: str | None, planned: Sequence[Change]) -> list[Made]:
    """Records changes and writes them, all or none. Recorded before they are written: whoever is interrupted in between can
    take back what is there. Raises GuardError."""
    with _alone(state):
        check(planned)
        before = record.remembered(state)
        record.remember(state, [_foreseen(change) for change in planned if change.needed])
        try:
            return write(planned)
        except BaseException:
            if state is not None:
                record.store(state, before)
            raise


def take_back(state: str | None, planned: Sequence[Change], done: Sequence[str]) -> None:
    """Writes changes that undo what is recorded, all or none, and takes the files out of the record. Raises GuardError."""
    with _alone(state):
        write(planned)
        record.forget(state, done)


@contextlib.contextmanager
def _alone(state: str | None) -> Iterator[None]:
    """One who changes settings at a time, as far as the file system has locks and the state can be written."""
    if state is None:
        yield
        return
    try:
        os.makedirs(state, 0o700, exist_ok=True)
        fd = os.open(f"{state}/{record.RECORD}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise GuardError(
            f"it cannot be written ({error.strerror})", state, "make it writable; nothing was changed", STATE
        ) from error
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _foreseen(change: Change) -> Made:
    """What will have been written, with the directories that are not there yet."""
    missing, directory = [], os.path.dirname(change.real)
    while not os.path.isdir(directory):
        missing.append(directory)
        directory = os.path.dirname(directory)
    after = digest(change.after)
    return Made(change.path, change.real, change.before, after, tuple(missing), change.scope, change.client)


def _check_above(path: str, real: str) -> None:
    if os.path.islink(path) and not os.path.isdir(os.path.dirname(real)):
        raise GuardError(f"it is a link to {real}, and there is no such directory", path, "mend the link; nothing was changed")


def _written(change: Change) -> Made:
    _, now = content(change.real)
    if now != change.before:
        raise GuardError("somebody else has just written it", change.path, "try again; nothing was changed")
    made: list[str] = []
    if change.after is None:
        os.unlink(change.real)
    else:
        system = change.mode is not None
        made = writing.make(os.path.dirname(change.real), 0o755 if system else None)
        try:
            writing.put(change.real, change.after, change.mode)
        except BaseException:
            writing.prune(made)
            raise
    return Made(change.path, change.real, change.before, digest(change.after), tuple(made), change.scope, change.client)


def _taken_back(change: Change, made: Made) -> None:
    with contextlib.suppress(OSError):
        if change.before is None:
            os.unlink(change.real)
        else:
            writing.put(change.real, change.before)
    writing.prune(made.directories)
