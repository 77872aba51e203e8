"""Restore: brings back what was lost. Nothing that stands there now is lost by it, and nothing that came back is replaced."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from guard.change import CREATED, DIRECTORY, FILE, LEFT, MISSING, MOVED, NOT_JUDGED, RETYPED, TOUCHED, Entry
from guard.matching import PRESENT
from guard.paths import below, child, parent
from guard.policy import Policy
from guard.vault import content, place
from guard.vault.aside import Aside, keep
from guard.vault.manifest import Damaged, Manifest
from guard.vault.snapshot import world
from guard.vault.store import Vault
from guard.vault.verify import Change, verify

RESTORED = "restored"
REMOVED = "removed"  # it was new where nothing may change
CAME_BACK = "came-back"  # something else was there by then, and stays
FAILED = "failed"
ROUNDS = 3  # a directory comes first; what is missing in it shows only then

Wanted = Callable[[Change], bool]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Restored:
    """What became of one path. `aside` names the snapshot that keeps what stood there, "" for nothing; `note` is for people."""

    change: Change
    outcome: str
    note: str = ""
    aside: str = ""

    @property
    def path(self) -> str:
        """The absolute path."""
        return self.change.path


def lost(change: Change) -> bool:
    """Is it what is brought back unasked: a violation, but not what a person has to decide?"""
    return change.violation and change.kind not in (LEFT, MOVED, NOT_JUDGED)


def damaged(change: Change) -> bool:
    """Is it what `restore --all` brings back: what was lost, and directories and permissions?"""
    return lost(change) or change.kind == MISSING or (change.kind == TOUCHED and change.mode is not None)


def repair(
    manifest: Manifest,
    vault: Vault,
    policy: Policy,
    wanted: Wanted = lost,
    progress: Progress | None = None,
    unprotected: bool = False,
    shared: bool = False,
) -> list[Restored]:
    """Restores the wanted among all changes since a manifest, until there is nothing more that can be done.

    `unprotected` and `shared` as for verify().
    """
    done: dict[str, Restored] = {}
    _sweep(manifest, vault)
    for _ in range(ROUNDS):
        found = verify(manifest, vault, policy, unprotected=unprotected, shared=shared)
        changes = _outermost([each for each in found if wanted(each)])
        new = [each for each in changes if each.path not in done or done[each.path].outcome in (RESTORED, REMOVED)]
        if not new:
            break
        done |= {each.path: each for each in restore(new, manifest, vault, progress)}
    return sorted(done.values(), key=lambda each: os.fsencode(each.path))


def _outermost(changes: list[Change]) -> list[Change]:
    """Without what is seen through something that has taken the place of a directory; that comes in the next round."""
    tops = [each.path for each in changes if each.kind == RETYPED and each.old.kind == DIRECTORY]
    return [each for each in changes if not any(each.path != top and below(each.path, top) for top in tops)]


def _sweep(manifest: Manifest, vault: Vault) -> None:
    """Removes what restorations that were killed have left, as far as it is in the vault."""
    tree = world()
    left = [
        child(entry.path, name)
        for entry in manifest
        if entry.kind == DIRECTORY
        for name in tree.listdir(entry.path) or ()
        if name.startswith(place.TEMPORARY) and place.ours(child(entry.path, name))
    ]
    for top in left:
        for directory, directories, files in os.walk(top, topdown=False):
            _sweep_away([child(directory, name) for name in files + directories], vault)
        _sweep_away([top], vault)


def _sweep_away(paths: Iterable[str], vault: Vault) -> None:
    for path in paths:
        found = _lstat(path)
        if found is not None and (not stat.S_ISREG(found.st_mode) or content.digest(path) in vault.contents()):
            place.discard(path)


def restore(changes: Iterable[Change], manifest: Manifest, vault: Vault, progress: Progress | None = None) -> list[Restored]:
    """Undoes changes, whatever kind they are of; says of each what became of it.

    First all that stands in the way is kept. Raises GuardError where that cannot be done, and then nothing has happened.
    """
    wanted = sorted(changes, key=lambda each: (each.old.kind != DIRECTORY, os.fsencode(each.path)))
    kept = keep((each.path for each in wanted if each.kind not in (MISSING, MOVED, TOUCHED)), vault)
    with vault.lock():
        restorer = _Restorer(manifest, vault, kept)
        done = []
        for number, each in enumerate(wanted):
            if progress is not None:
                progress(number, len(wanted))
            done.append(restorer.one(each))
        restorer.finish()
    return done


class _Restorer:
    """Undoes one change at a time, and remembers which directories have been opened for that."""

    def __init__(self, manifest: Manifest, vault: Vault, kept: Aside) -> None:
        self._manifest = manifest
        self._vault = vault
        self._kept = kept
        self._modes: dict[str, int] = {}

    def one(self, change: Change) -> Restored:
        """Undoes one change."""
        try:
            return self._undo(change)
        except place.InTheWay:
            return Restored(change, CAME_BACK, "something stands there again, and stays")
        except Damaged:
            return Restored(change, FAILED, self._offer(change.old))
        except _Refused as error:
            return Restored(change, FAILED, str(error))
        except OSError as error:
            return Restored(change, FAILED, error.strerror or str(error))

    def finish(self) -> None:
        """Gives the directories the permissions that they should have."""
        for path in sorted(self._modes, key=len, reverse=True):
            with suppress(OSError):
                os.chmod(path, self._modes[path])

    def _undo(self, change: Change) -> Restored:
        old = change.old
        if change.kind == NOT_JUDGED:
            raise _Refused("something is mounted there, or a directory above cannot be searched")
        self._open(parent(old.path))
        if change.kind == TOUCHED:
            self._dress(old)
            return Restored(change, RESTORED, "permissions")
        if change.path in self._kept.refused:
            raise _Refused(f"what stands there cannot be kept: {self._kept.refused[change.path]}")
        if change.kind == CREATED:
            return self._take_away(change)
        if old.kind == DIRECTORY and not os.path.lexists(old.path):
            self._make_directory(old)
            return Restored(change, RESTORED)
        if old.kind == FILE and not old.digest:
            raise _Refused("the vault has no copy: it could not be read when the snapshot was taken")
        return self._put(change)

    def _put(self, change: Change) -> Restored:
        old = change.old
        made = place.make(old, self._vault.read(old.digest) if old.kind == FILE else ())
        if not self._kept.holds(old.path):
            place.appear(made, old.path)
            return Restored(change, RESTORED)
        try:
            before = place.exchange(made, old.path)
        except BaseException:
            place.discard(made)
            raise
        if not self._kept.same(old.path, before):
            place.discard(place.exchange(before, old.path))
            raise place.InTheWay
        if old.kind == DIRECTORY:
            self._modes[old.path] = stat.S_IMODE(old.mode)
        gone = self._kept.remove(old.path, before)
        return Restored(change, RESTORED, "" if gone else f"some of what stood there is in {before}", self._kept.name)

    def _take_away(self, change: Change) -> Restored:
        if not self._kept.holds(change.path):
            return Restored(change, CAME_BACK)
        gone = self._kept.remove(change.path, change.path)
        return Restored(change, REMOVED if gone else FAILED, aside=self._kept.name)

    def _dress(self, old: Entry) -> None:
        if old.kind == DIRECTORY:
            self._modes[old.path] = stat.S_IMODE(old.mode)
            os.chmod(old.path, stat.S_IMODE(old.mode) | stat.S_IRWXU)
        elif (found := _lstat(old.path)) is not None:
            owned = (found.st_uid, found.st_gid) == (old.user, old.group)
            os.chmod(old.path, stat.S_IMODE(old.mode) & ~(0 if owned else stat.S_ISUID | stat.S_ISGID))

    def _open(self, directory: str) -> None:
        """Makes a directory and those above it, as far as they are missing, and makes sure that it can be written."""
        found = _lstat(directory)
        if found is None:
            self._open(parent(directory))
            old = self._manifest.find(directory)
            if old is not None and old.kind == DIRECTORY:
                self._make_directory(old)
            else:
                os.mkdir(directory)
        elif not stat.S_ISDIR(found.st_mode):
            raise _Refused(f"{directory} is no directory any more")
        elif not os.access(directory, os.W_OK | os.X_OK):
            self._modes.setdefault(directory, stat.S_IMODE(found.st_mode))
            os.chmod(directory, stat.S_IMODE(found.st_mode) | stat.S_IRWXU)
        if os.path.realpath(directory) != directory:
            raise _Refused(f"a directory above is a link now: {directory} is {os.path.realpath(directory)}")

    def _make_directory(self, old: Entry) -> None:
        if old.level == PRESENT:
            raise _Refused(f"what was in {old.path} is not in the vault")
        os.mkdir(old.path, 0o700)
        place.dress(old.path, old._replace(mode=old.mode | stat.S_IRWXU))
        self._modes[old.path] = stat.S_IMODE(old.mode)

    def _offer(self, old: Entry) -> str:
        found = older(self._vault, old)
        return "its copy is damaged" + (f"; an older one is good: guard restore --from {found}" if found else "")


def _lstat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except (OSError, ValueError):
        return None


class _Refused(Exception):
    """A change that is not undone, and why."""


def older(vault: Vault, old: Entry) -> str:
    """The newest snapshot that has another content of a file of which the copy is good; "" for none."""
    for name, entry in versions(vault, old.path):
        if entry.kind == FILE and entry.digest and entry.digest != old.digest and vault.good(entry.digest):
            return name
    return ""


def versions(vault: Vault, path: str) -> Iterator[tuple[str, Entry]]:
    """The snapshots that have a path, newest first, with its entry; each content once."""
    seen: set[tuple[bytes, str]] = set()
    for manifest in vault.manifests():
        entry = manifest.find(path)
        if entry is not None and (entry.digest, entry.link) not in seen:
            seen.add((entry.digest, entry.link))
            yield manifest.head.name, entry


def advice(change: Change, manifest: Manifest) -> str:
    """What a person may do about a path that left with a branch or into a stash."""
    commit = manifest.head.git.commit
    return f"git restore --source={commit[:12]} -- {change.path}" if commit else ""
