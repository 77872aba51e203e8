"""Aside: what stands in the way of a restoration is kept in the vault before anything is put in its place."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress

from guard.change import DEVICE, DIRECTORY, FILE, SOCKET, Entry
from guard.paths import child
from guard.vault import content
from guard.vault.manifest import Head, Manifest
from guard.vault.mounts import Mounts
from guard.vault.names import ASIDE, new_name
from guard.vault.pack import Writer
from guard.vault.snapshot import copy, entry_of
from guard.vault.store import Vault


class CannotKeep(Exception):
    """Something of which no copy can be taken."""


class Aside:
    """What was kept, under one name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.refused: dict[str, str] = {}  # what cannot be kept, by the path in whose way it stands
        self._kept: dict[str, dict[str, Entry]] = {}

    def holds(self, path: str) -> bool:
        """Is what stood at the path kept?"""
        return path in self._kept

    def same(self, path: str, now: str) -> bool:
        """Is what stands at `now` still what was kept of `path`?"""
        found, old = _lstat(now), self._kept[path][path]
        return found is not None and _look(entry_of(now, "", found)) == _look(old)

    def remove(self, path: str, now: str) -> bool:
        """Removes what was kept of `path`, which is at `now` by this time, and nothing else. False where something is left."""
        kept = self._kept[path]
        for old in sorted(kept, key=len, reverse=True):
            here = now + old[len(path) :]
            found = _lstat(here)
            if found is None:
                continue
            with suppress(OSError):
                if kept[old].kind == DIRECTORY:
                    os.rmdir(here)
                elif _look(entry_of(here, "", found)) == _look(kept[old]):
                    os.unlink(here)
        return not os.path.lexists(now)

    def add(self, path: str, entries: Iterable[Entry]) -> None:
        """Notes what was kept of a path."""
        self._kept[path] = {entry.path: entry for entry in entries}

    def entries(self) -> list[Entry]:
        """Everything that was kept, in the order of paths."""
        found = {entry.path: entry for kept in self._kept.values() for entry in kept.values()}
        return [found[path] for path in sorted(found)]


def keep(paths: Iterable[str], vault: Vault) -> Aside:
    """Keeps what stands at these paths, with all that is below. Raises GuardError where the vault cannot be written."""
    now = time.time()
    aside = Aside(new_name(now))
    wanted = [path for path in dict.fromkeys(paths) if os.path.lexists(path)]
    if not wanted:
        return aside
    vault.prepare()
    mounts = Mounts()
    with vault.lock():
        known = vault.contents()
        with vault.writer(aside.name) as writer:
            for path in wanted:
                try:
                    aside.add(path, list(_copies(path, writer, known, mounts)))
                except CannotKeep as error:
                    aside.refused[path] = str(error)
        if aside.entries():
            vault.write_manifest(Manifest.of(Head(aside.name, vault.root, now, 0, ASIDE), aside.entries()))
    return aside


def _copies(top: str, writer: Writer, known: set[bytes], mounts: Mounts) -> Iterator[Entry]:
    todo = [top]
    while todo:
        path = todo.pop()
        found = _lstat(path)
        if found is None:
            continue
        entry = entry_of(path, "", found)
        if entry.kind in (SOCKET, DEVICE) or mounts.at(path):
            raise CannotKeep(f"{path} is a {'mount point' if mounts.at(path) else entry.kind}")
        try:
            yield copy(entry, writer, known) if entry.kind == FILE else entry
            todo += [child(path, name) for name in os.listdir(path)] if entry.kind == DIRECTORY else ()
        except (content.Unreadable, OSError) as error:
            raise CannotKeep(f"{path} cannot be read") from error


def _lstat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except (OSError, ValueError):
        return None


def _look(entry: Entry) -> tuple[object, ...]:
    """What renaming leaves as it is. A directory's own times change with what is in it."""
    if entry.kind == DIRECTORY:
        return entry.kind, entry.device, entry.inode
    return entry.kind, entry.device, entry.inode, entry.size, entry.mtime, entry.link
