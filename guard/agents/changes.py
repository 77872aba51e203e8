"""Changes of files, all of them or none: planned first, then written, and remembered so that they can be taken back.

What a file held before is kept in guard's state, in a directory that only the user can read. Whoever undoes a change gets
those very bytes, unless the file has been written by somebody else since.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import hashlib
import json
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from guard.errors import STATE, GuardError

RECORD = "wiring.json"  # in the state directory
FORMAT = 1


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


@dataclass(frozen=True)
class Made:
    """A change that has been written: what was there before, the digest of what was put there, the directories made for it."""

    path: str
    real: str
    before: bytes | None
    digest: str
    directories: tuple[str, ...] = ()
    scope: str = ""
    client: str = ""


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


def remembered(state: str | None) -> list[Made]:
    """The changes that stand in the record, oldest first. Raises GuardError where it cannot be read."""
    if state is None:
        return []
    path = f"{state}/{RECORD}"
    try:
        with open(path, "rb") as file:
            rows = json.loads(file.read())["files"]
        return [_decoded(row) for row in rows]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise GuardError(f"the record of what was changed cannot be read ({error})", path, "move it away", STATE) from error


def remember(state: str | None, made: Sequence[Made]) -> None:
    """Adds changes to the record. Of a file that is in it already, what was there first counts, as long as only guard has
    written it; `made` says what stands there where somebody else has. Raises GuardError."""
    if state is None or not made:
        return
    known = {each.real: each for each in remembered(state)}
    for each in made:
        old = known.get(each.real)
        if old is not None and _digest(each.before) == old.digest:
            each = replace(each, before=old.before, directories=old.directories or each.directories)
        known[each.real] = each
    _store(state, known.values())


def forget(state: str | None, real: Iterable[str]) -> None:
    """Takes files out of the record."""
    gone = set(real)
    if state is not None and gone:
        _store(state, [each for each in remembered(state) if each.real not in gone])


def apply(state: str | None, planned: Sequence[Change]) -> list[Made]:
    """Records changes and writes them, all or none. Recorded before they are written: whoever is interrupted in between can
    take back what is there. Raises GuardError."""
    with _alone(state):
        check(planned)
        before = remembered(state)
        remember(state, [_foreseen(change) for change in planned if change.needed])
        try:
            return write(planned)
        except BaseException:
            if state is not None:
                _store(state, before)
            raise


def take_back(state: str | None, planned: Sequence[Change], done: Sequence[str]) -> None:
    """Writes changes that undo what is recorded, all or none, and takes the files out of the record. Raises GuardError."""
    with _alone(state):
        write(planned)
        forget(state, done)


@contextlib.contextmanager
def _alone(state: str | None) -> Iterator[None]:
    """One who changes settings at a time, as far as the file system has locks and the state can be written."""
    if state is None:
        yield
        return
    try:
        os.makedirs(state, 0o700, exist_ok=True)
        fd = os.open(f"{state}/{RECORD}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
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
    digest = _digest(change.after)
    return Made(change.path, change.real, change.before, digest, tuple(missing), change.scope, change.client)


def untouched(made: Made, now: bytes | None) -> bool:
    """Is a file still as guard has written it?"""
    return _digest(now) == made.digest


def prune(directories: Iterable[str]) -> None:
    """Removes directories that were made for a file, deepest first, as far as they are empty."""
    for directory in sorted(directories, key=len, reverse=True):
        with contextlib.suppress(OSError):
            os.rmdir(directory)


def put(path: str, data: bytes, mode: int | None = None) -> None:
    """Makes a file have this content, by rename, on the disk; `mode` None keeps that of what stands there. Raises OSError."""
    temporary = f"{os.path.dirname(path)}/.guard.{os.getpid()}.{os.urandom(4).hex()}"
    try:
        old = os.stat(path)
    except FileNotFoundError:
        old = None
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        with os.fdopen(fd, "wb") as file:
            if mode is not None:
                os.fchmod(fd, mode)
            elif old is not None:
                with contextlib.suppress(OSError):
                    os.fchown(fd, old.st_uid, old.st_gid)
                os.fchmod(fd, stat.S_IMODE(old.st_mode))
            file.write(data)
            file.flush()
            os.fsync(fd)
        os.rename(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    with contextlib.suppress(OSError):
        _sync(os.path.dirname(path))


def make(directory: str, mode: int | None = None) -> list[str]:
    """Makes a directory with all above it; gives those that were not there. Raises OSError."""
    missing = []
    while not os.path.isdir(directory):
        missing.append(directory)
        directory = os.path.dirname(directory)
    made: list[str] = []
    try:
        for each in reversed(missing):
            os.mkdir(each)
            made.append(each)
            if mode is not None:
                os.chmod(each, mode)
    except BaseException:
        prune(made)
        raise
    return made


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
        made = make(os.path.dirname(change.real), 0o755 if system else None)
        try:
            put(change.real, change.after, change.mode)
        except BaseException:
            prune(made)
            raise
    return Made(change.path, change.real, change.before, _digest(change.after), tuple(made), change.scope, change.client)


def _taken_back(change: Change, made: Made) -> None:
    with contextlib.suppress(OSError):
        if change.before is None:
            os.unlink(change.real)
        else:
            put(change.real, change.before)
    prune(made.directories)


def _digest(data: bytes | None) -> str:
    return "" if data is None else hashlib.blake2b(data, digest_size=16).hexdigest()


def _store(state: str, made: Iterable[Made]) -> None:
    rows = [_encoded(each) for each in made]
    path = f"{state}/{RECORD}"
    try:
        if not rows:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            return
        os.makedirs(state, 0o700, exist_ok=True)
        put(path, json.dumps({"v": FORMAT, "files": rows}, indent=1).encode() + b"\n", 0o600)
    except OSError as error:
        raise GuardError(f"what was changed cannot be recorded ({error.strerror})", path, "make it writable", STATE) from error


def _encoded(made: Made) -> dict[str, Any]:
    before = None if made.before is None else base64.b64encode(made.before).decode()
    return {**made.__dict__, "before": before, "directories": list(made.directories)}


def _decoded(row: dict[str, Any]) -> Made:
    before = None if row["before"] is None else base64.b64decode(row["before"], validate=True)
    directories = tuple(map(str, row["directories"]))
    return Made(
        str(row["path"]), str(row["real"]), before, str(row["digest"]), directories, str(row["scope"]), str(row["client"])
    )


def _sync(directory: str) -> None:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
