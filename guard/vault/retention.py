"""Retention: which snapshots stay, and how contents that nobody names any more leave the vault."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from guard.errors import GuardError
from guard.vault import content, uses
from guard.vault.manifest import Damaged, Manifest
from guard.vault.names import ASIDE, MANIFEST, PACK, new_name
from guard.vault.pack import Pack
from guard.vault.store import Vault

NEWEST = 20  # snapshots that stay in any case
HOUR, DAY = 3600.0, 86400.0
HOURLY, DAILY = 24, 30  # for so many hours one each, for so many days one each
ASIDES = 30 * DAY  # seconds for which what stood in the way of a restoration is kept
SIZE = 2 << 30  # bytes of packs; beyond that the oldest snapshots go, but for the newest
STEPS = 500  # snapshots that stay at most because a tool is going on
MANY = 128  # manifests or packs at which a snapshot clears up by itself
SMALL = 1 << 20  # bytes; smaller packs are put together


@dataclass
class Cleared:
    """What a clearing removed, and what is there now."""

    snapshots: int = 0
    packs: int = 0
    before: int = 0
    after: int = 0


@dataclass
class Health:
    """What is wrong with a vault: files that cannot be read, and contents that are gone or damaged, by snapshot and path."""

    files: dict[str, str] = field(default_factory=dict)
    contents: list[tuple[str, str]] = field(default_factory=list)
    snapshots: int = 0
    checked: int = 0

    @property
    def good(self) -> bool:
        """Is everything there?"""
        return not self.files and not self.contents


def kept(manifests: Sequence[tuple[str, float, str]], now: float) -> set[str]:
    """The names that stay, of snapshots given as name, time and reason."""
    rows = sorted(manifests, key=lambda row: row[1], reverse=True)
    stay = {name for name, when, reason in rows if reason == ASIDE and now - when < ASIDES}
    own = [row for row in rows if row[2] != ASIDE]
    stay |= {name for name, _, _ in own[:NEWEST]}
    for length, count in ((HOUR, HOURLY), (DAY, DAILY)):
        slots: dict[int, str] = {}
        for name, when, _ in own:
            if now - when < length * count:
                slots[int(when // length)] = name  # the first of each: what was there before the day's work
        stay |= set(slots.values())
    return stay


def clear(vault: Vault, wait: bool = True, size: int = SIZE) -> Cleared:
    """Removes snapshots that need not stay and contents that none of the others names. Raises GuardError."""
    done = Cleared()
    with vault.lock(exclusive=True, wait=wait):
        done.before = _size(vault)
        for path in vault.stale():
            _unlink(path)
        manifests = {manifest.head.name: manifest for manifest in vault.manifests()}
        if any("later version" in why for why in vault.damaged.values()):
            raise GuardError("a later version of guard keeps snapshots here", vault.directory, "clear up with that version")
        done.snapshots = _drop(vault, manifests, size)
        done.packs = _repack(vault, set().union(*(manifest.digests() for manifest in manifests.values())))
        done.after = _size(vault)
    return done


def crowded(vault: Vault) -> bool:
    """Is it time to clear up?"""
    return len(vault.names()) > MANY or len(vault.packs()) > MANY


def _drop(vault: Vault, manifests: dict[str, Manifest], size: int) -> int:
    rows = [(name, manifest.head.time, manifest.head.reason) for name, manifest in manifests.items()]
    stay = kept(rows, time.time()) | {name for name in manifests if pinned(vault, name)} | _needed(vault, manifests)
    _fit(vault, manifests, stay, size)
    gone = manifests.keys() - stay
    for name in gone:
        _unlink(f"{vault.directory}/manifests/{name}{MANIFEST}")
        del manifests[name]
    return len(gone)


def _needed(vault: Vault, names: Collection[str]) -> set[str]:
    """The snapshots since the oldest from which a tool that is going on started: they are steps on the way to what is there."""
    started = uses.held(vault.state, vault.root)
    newest = sorted(names, reverse=True)[:STEPS]
    return (started & set(names)) | {name for name in newest if started and name >= min(started)}


def _fit(vault: Vault, manifests: dict[str, Manifest], stay: set[str], size: int) -> None:
    """Takes the oldest from those that stay until their contents fit."""
    stored = {digest: place.stored for pack in vault.packs() for digest, place in pack.places.items()}
    names = sorted(stay, key=lambda name: manifests[name].head.time)
    own = [name for name in names if manifests[name].head.reason != ASIDE]
    started = uses.held(vault.state, vault.root)
    for name in names:
        total = sum(stored.get(digest, 0) for digest in set().union(*(manifests[each].digests() for each in stay)))
        if total <= size:
            return
        if name not in own[-1:] and name not in started and not pinned(vault, name):
            stay.discard(name)


def pinned(vault: Vault, name: str) -> bool:
    """Does a running command still need this snapshot?"""
    try:
        fd = os.open(f"{vault.directory}/manifests/{name}{MANIFEST}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


def _repack(vault: Vault, live: set[bytes]) -> int:
    """Writes what lives in small and in mostly dead packs into one new pack, then removes those; gives how many are gone."""
    packs = vault.packs()
    worn = [pack for pack in packs if _worn(pack, live)]
    small = [pack for pack in packs if pack not in worn and pack.size < SMALL]
    old = worn + (small if len(small) > 1 else [])
    rest = [pack for pack in packs if pack not in old]
    elsewhere = set().union(*(pack.places.keys() for pack in rest))
    with vault.writer(new_name(time.time())) as writer:
        for pack in old:
            for digest in pack.places.keys() & live - elsewhere:
                if _whole(pack, digest):
                    writer.copy(digest, pack.places[digest], pack.stored(digest))
    removed = [pack for pack in old if all(digest in writer.places or digest not in live - elsewhere for digest in pack.places)]
    for pack in removed:
        _unlink(pack.path)
    return len(removed)


def _worn(pack: Pack, live: set[bytes]) -> bool:
    used = sum(place.stored for digest, place in pack.places.items() if digest in live)
    total = sum(place.stored for place in pack.places.values())
    return used * 2 < total or not pack.places.keys() & live


def _whole(pack: Pack, digest: bytes) -> bool:
    """Is a copy good? A damaged one is left where it is, so that nobody takes it for a good one."""
    try:
        return content.digest_of(pack.read(digest)) == digest
    except Damaged:
        return False


def check(vault: Vault) -> Health:
    """Reads everything in the vault and compares it with its digests."""
    health = Health()
    with vault.lock():
        good: dict[bytes, bool] = {}
        for manifest in vault.manifests():
            health.snapshots += 1
            for entry in manifest:
                if entry.digest and entry.digest not in good:
                    good[entry.digest] = vault.good(entry.digest)
                if entry.digest and not good[entry.digest]:
                    health.contents.append((manifest.head.name, entry.path))
        vault.packs()
        health.files = dict(vault.damaged)
        health.checked = len(good)
    return health


def mend(vault: Vault) -> int:
    """Puts packs with damaged contents aside, their good contents into a new one; gives how many packs.

    The next snapshot copies again what is missing then. Nothing is removed: a pack that is put aside ends in .damaged.
    """
    with vault.lock(exclusive=True, wait=False):
        bad = [pack for pack in vault.packs() if not all(_whole(pack, digest) for digest in pack.places)]
        with vault.writer(new_name(time.time())) as writer:
            for pack in bad:
                for digest in pack.places:
                    if _whole(pack, digest):
                        writer.copy(digest, pack.places[digest], pack.stored(digest))
        for path in [pack.path for pack in bad] + [
            f"{vault.directory}/packs/{name}" for name in vault.damaged if name.endswith(PACK)
        ]:
            os.rename(path, f"{path}.damaged")
    return len(bad)


def _size(vault: Vault) -> int:
    return sum(_sizes(f"{vault.directory}/{kind}") for kind in ("packs", "manifests"))


def _sizes(directory: str) -> int:
    try:
        with os.scandir(directory) as entries:
            return sum(entry.stat(follow_symlinks=False).st_size for entry in entries)
    except OSError:
        return 0


def _unlink(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)
