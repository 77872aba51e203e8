"""The service managers: where their files are, and the commands by which they hear of them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from guard.errors import STATE, GuardError
from guard.service import plist, unit
from guard.service.job import Job

SYSTEMD, LAUNCHD = "systemd", "launchd"
PATIENCE_S = 120.0  # for one command
Command = tuple[str, ...]


@dataclass(frozen=True)
class Manager:
    """One of them, for one user. `folder`: where it looks for files."""

    kind: str
    folder: str
    log: str

    def path(self, name: str) -> str:
        """The file of a service."""
        return f"{self.folder}/{unit.file_name(name) if self.kind == SYSTEMD else plist.file_name(name)}"

    def text(self, job: Job) -> str:
        """The content of that file."""
        return unit.text(job) if self.kind == SYSTEMD else plist.text(job, f"{self.log}/{job.name}.log")

    def starts(self, name: str, now: bool) -> list[Command]:
        """The commands after which a service that was written starts with the user's session, or at once."""
        if self.kind == SYSTEMD:
            enable = ("systemctl", "--user", "enable", *(["--now"] if now else []), unit.file_name(name))
            return [("systemctl", "--user", "daemon-reload"), enable]
        return [("launchctl", "bootstrap", f"gui/{os.getuid()}", self.path(name))] if now else []

    def ends(self, name: str) -> list[Command]:
        """The commands that end a service, before its file goes."""
        if self.kind == SYSTEMD:
            return [("systemctl", "--user", "disable", "--now", unit.file_name(name))]
        return [("launchctl", "bootout", f"gui/{os.getuid()}/{plist.label(name)}")]

    def forgets(self) -> list[Command]:
        """The commands after its file is gone."""
        return [("systemctl", "--user", "daemon-reload")] if self.kind == SYSTEMD else []

    def asks(self, name: str) -> Command:
        """The command that succeeds when a service is at work."""
        if self.kind == SYSTEMD:
            return ("systemctl", "--user", "is-active", unit.file_name(name))
        return ("launchctl", "print", f"gui/{os.getuid()}/{plist.label(name)}")


def manager(environ: Mapping[str, str], kind: str | None = None) -> Manager:
    """The user's service manager. Raises GuardError without a home."""
    home = environ.get("HOME", "")
    if not home.startswith("/"):
        raise GuardError("there is no home directory to install a service in", "HOME", "set it")
    kind = kind or (LAUNCHD if sys.platform == "darwin" else SYSTEMD)
    if kind == LAUNCHD:
        return Manager(kind, f"{home}/Library/LaunchAgents", f"{home}/Library/Logs/guard")
    config = environ.get("XDG_CONFIG_HOME", "")
    return Manager(kind, f"{config if config.startswith('/') else f'{home}/.config'}/systemd/user", "")


def written(path: str, text: str) -> bool:
    """Writes a file whole; False where it says that already. Raises GuardError; then the old one is as it was."""
    data = text.encode()
    if content(path) == data:
        return False
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        os.makedirs(os.path.dirname(path), 0o755, exist_ok=True)
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.rename(temporary, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise unwritable(path, error) from error
    return True


def content(path: str) -> bytes | None:
    """What is in a service's file; None where there is none. Raises GuardError where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(1 << 20)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise GuardError(f"it cannot be read ({error.strerror})", path, "look at what is there") from error


def removed(path: str) -> bool:
    """Removes a file; False where there was none. Raises GuardError."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise unwritable(path, error) from error
    return True


def unwritable(path: str, error: OSError) -> GuardError:
    """The error that says that a service's file cannot be changed."""
    return GuardError(f"the service cannot be written ({error.strerror})", path, "make its directory writable", STATE)


def told(command: Sequence[str], environ: Mapping[str, str]) -> str | None:
    """Runs a command of the service manager. None where it succeeded; else what it said, or why it could not be run."""
    try:
        done = subprocess.run(
            list(command), env=dict(environ), stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(getattr(error, "strerror", None) or error)
    said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
    return None if done.returncode == 0 else said or f"exit status {done.returncode}"
