"""Granting: writes what a person lets pass, as the user or, where the configuration asks for that, as root."""

from __future__ import annotations

import os
import secrets
import subprocess
import time
from collections.abc import Iterable
from contextlib import suppress

from guard import grants
from guard.ancestry import SAFE_PATH
from guard.errors import STATE, GuardError
from guard.grants import DIRECTORY, SUFFIX, SUSPENSION, TICKETS, Grant

MINUTES = 10  # that a grant holds
LONGEST = int(grants.LONGEST / 60)  # minutes that anything may hold
KEPT = 30 * 86400.0  # seconds after which what was used or has expired is cleared away
# Run by root: writes standard input to a file that appears as a whole. Nothing of guard's own runs as root, nor anything that
# the user could have written.
_AS_ROOT = """\
set -eu
umask 022
mkdir -p -- "$1"
cat > "$1/.new.$$"
sync -- "$1/.new.$$" 2>/dev/null || sync
mv -f -- "$1/.new.$$" "$1/$2"
"""


def new_name() -> str:
    """A name for a grant."""
    return f"{int(time.time()):x}-{secrets.token_hex(6)}"


def give(grant: Grant, state: str, sudo: bool) -> Grant:
    """Puts a grant in force; gives it as it was written. Raises GuardError where it cannot be kept."""
    directory = grants.place(state, sudo)
    tickets = f"{state}/{DIRECTORY}"
    try:
        os.makedirs(tickets, mode=0o700, exist_ok=True)
        if grant.kind != SUSPENSION:
            for layer in TICKETS:
                os.close(os.open(f"{tickets}/{grant.name}.{layer}", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise GuardError(f"it cannot be written ({error.strerror})", tickets, "make room, or see guard doctor", STATE) from error
    grant = grant._replace(user=os.getuid(), place=os.path.realpath(directory))
    write(directory, f"{grant.name}{SUFFIX}", grants.dump(grant), sudo)
    clear(state)
    return grant


def write(directory: str, name: str, content: bytes, sudo: bool) -> None:
    """Writes a file of a person's word, whole or not at all: as root with `sudo`. Raises GuardError."""
    try:
        if not sudo:
            _write(directory, name, content)
        elif os.getuid() == 0:
            os.makedirs(directory, mode=0o755, exist_ok=True)
            _write(directory, name, content, 0o644)
        else:
            _write_as_root(directory, name, content)
    except OSError as error:
        raise GuardError(
            f"it cannot be written ({error.strerror})", directory, "make room, or see guard doctor", STATE
        ) from error


def _write(directory: str, name: str, content: bytes, mode: int = 0o600) -> None:
    os.makedirs(directory, mode=0o700, exist_ok=True)
    temporary = f"{directory}/.new.{os.getpid()}.{secrets.token_hex(4)}"
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        with os.fdopen(fd, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.rename(temporary, f"{directory}/{name}")
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    with suppress(OSError):
        fd = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _write_as_root(directory: str, name: str, content: bytes) -> None:
    _as_root(["sh", "-c", _AS_ROOT, "sh", directory, name], content)


def prove_root(sudo: bool) -> None:
    """Has whoever calls prove that root agrees, where that is asked for. Raises GuardError."""
    if sudo and os.getuid() != 0:
        _as_root(["true"], b"")


def _as_root(argv: list[str], content: bytes) -> None:
    """Runs a program as root, who always has to be asked anew: what a password allowed before is no word of now."""
    found = next((f"{place}/sudo" for place in SAFE_PATH.split(":") if os.access(f"{place}/sudo", os.X_OK)), None)
    if found is None:
        todo = 'install it, or set override = "terminal"'
        raise GuardError('the configuration says override = "sudo", and there is no sudo', todo=todo)
    environ = {"PATH": SAFE_PATH, "LC_ALL": "C", "TERM": os.environ.get("TERM", "dumb")}
    run = subprocess.run([found, "-k", "--", *argv], input=content, env=environ, cwd="/", check=False)
    if run.returncode:
        raise GuardError('root did not agree (override = "sudo"), so nothing was changed', code=1)


def suspended(root: str, state: str | None, sudo: bool) -> Grant | None:
    """The suspension that is in force for a root, None where there is none."""
    found = [each for each in grants.standing(state, sudo) if each.kind == SUSPENSION and each.root == root]
    return max(found, key=lambda each: each.expires, default=None)


def end(found: Iterable[Grant], state: str, sudo: bool) -> None:
    """Ends grants now. They stay on record as what was in force until then."""
    for grant in found:
        ended = grant._replace(expires=min(grant.expires, time.time()))
        write(grants.place(state, sudo), f"{grant.name}{SUFFIX}", grants.dump(ended), sudo)


def clear(state: str) -> None:
    """Removes the files of what is long over."""
    directory = f"{state}/{DIRECTORY}"
    with suppress(OSError):
        for name in os.listdir(directory):
            with suppress(OSError):
                if time.time() - os.lstat(f"{directory}/{name}").st_ctime > KEPT:
                    os.unlink(f"{directory}/{name}")


def duration(text: str, where: str) -> float:
    """The seconds of "15m", "90s", "1h" or a number of minutes, at most an hour. Raises GuardError."""
    unit = {"s": 1, "m": 60, "h": 3600}.get(text[-1:], 0)
    number = text[:-1] if unit else text
    if not number.isascii() or not number.isdigit() or len(number) > 6:
        raise GuardError(f"{text!r} is no time", where, "write it as 15m, 90s or 1h")
    seconds = int(number) * (unit or 60)
    if not 0 < seconds <= LONGEST * 60:
        raise GuardError(f"{text!r} is no time up to {LONGEST} minutes", where, f"take at most {LONGEST}m")
    return float(seconds)
