"""Beside Ralph's prompt: keeps the files that Ralph's own tools read. Written, never read as state; errors stop nothing."""

from __future__ import annotations

import json
import os
import shutil
import stat
from contextlib import suppress
from typing import BinaryIO

from guard.loop import ralph
from guard.loop.events import Event
from guard.loop.state import State

DIRECTORY = ".ralph"
_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
Shape = tuple[int, int, int]


class Beside:
    """The files of one tree that has Ralph's directory. What is lost, or somebody else has written, is written again.

    The directory and its logs are held open while they are written, so that no link in their place leads elsewhere.
    """

    def __init__(self, root: str) -> None:
        self.directory = f"{root}/{DIRECTORY}"
        self.failed = ""
        self.lists: dict[str, list[ralph.Entry]] = {}  # what events have left
        self._written: dict[str, tuple[bytes, Shape]] = {}

    def forget(self) -> None:
        """Forgets what events have left: they will be told again."""
        self.lists = {}

    def note(self, event: Event) -> None:
        """Remembers what an event leaves."""
        for name, entry in ralph.entries(event):
            self._add(name, entry)

    def show(self, state: State, logs: str) -> None:
        """Writes all of them; the logs as they stand in the directory `logs`."""
        folder = self._opened(self.directory)
        if folder < 0:
            return
        try:
            for name, text in ralph.files(state, self.lists).items():
                self._put(folder, name, text.encode("utf-8", "backslashreplace"))
            for source, name in ralph.LOGS.items():
                self._copy(folder, f"{logs}/{source}", name)
        finally:
            os.close(folder)

    def pulse(self, state: State, t: int) -> None:
        """Writes how far the call under way is."""
        folder = self._opened(self.directory)
        if folder < 0:
            return
        try:
            self._put(folder, "progress.json", (json.dumps(ralph.progress(state, t), ensure_ascii=False) + "\n").encode())
        finally:
            os.close(folder)

    def _add(self, name: str, entry: ralph.Entry) -> None:
        self.lists[name] = [*self.lists.get(name, []), entry][-ralph.KEPT :]

    def _opened(self, name: str, within: int | None = None) -> int:
        """A descriptor of a directory, -1 where it is none."""
        try:
            return os.open(name, os.O_RDONLY | os.O_DIRECTORY | _FLAGS, dir_fd=within)
        except FileNotFoundError:
            return -1
        except OSError as error:
            self.failed = f"{self.directory}: {error.strerror}"
            return -1

    def _put(self, folder: int, name: str, data: bytes) -> None:
        """Writes a file whole, unless it stands as it was written last."""
        before = self._written.get(name)
        if before is not None and before == (data, _shape(folder, name)):
            return
        temporary = f"{name}.guard-tmp"
        try:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder)
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o644, dir_fd=folder)
            with os.fdopen(fd, "wb") as file:
                file.write(data)
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError as error:
            self.failed = f"{self.directory}/{name}: {error.strerror}"
            return
        self._written[name] = data, _shape(folder, name)

    def _copy(self, folder: int, source: str, name: str) -> None:
        """Adds to a log what it does not have yet; one that is gone or another is written anew."""
        directory, _, base = name.partition("/")
        with suppress(OSError):
            os.mkdir(directory, 0o755, dir_fd=folder)
        within = self._opened(directory, folder)
        if within < 0:
            return
        try:
            with open(source, "rb") as file:
                there = os.fstat(file.fileno()).st_size
                have = self._size(within, base, there)
                if have < there:
                    file.seek(have)
                    self._append(within, base, file)
        except FileNotFoundError:
            return
        except OSError as error:
            self.failed = f"{self.directory}/{name}: {error.strerror}"
        finally:
            os.close(within)

    @staticmethod
    def _size(folder: int, name: str, most: int) -> int:
        """How much of a log there is. What is no plain file, or longer than it may be, is taken away."""
        try:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return 0
        if stat.S_ISREG(found.st_mode) and found.st_size <= most:
            return found.st_size
        os.unlink(name, dir_fd=folder)
        return 0

    @staticmethod
    def _append(folder: int, name: str, source: BinaryIO) -> None:
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _FLAGS, 0o644, dir_fd=folder)
        with os.fdopen(fd, "wb") as file:
            shutil.copyfileobj(source, file)


def _shape(folder: int, name: str) -> Shape:
    """What tells whether a file is still the one that was written."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return (0, 0, 0)
    return found.st_ino, found.st_mtime_ns, found.st_size
