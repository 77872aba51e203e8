"""A glance: does the last snapshot still hold? Told without git, without reading a file, and without loading much.

Beside the snapshots stands what else has to be as it was: the policy, HEAD and the refs, and the packs. It is written only
where times tell everything that happens from then on.
"""

from __future__ import annotations

import fcntl
import os
import stat
import zlib

from guard.change import DIRECTORY, FILE, LINK, Entry, stamp
from guard.json_text import dumps, loads
from guard.matching import PRESENT
from guard.paths import below, child
from guard.vault.content import digest
from guard.vault.look import different
from guard.vault.manifest import Damaged, Manifest, TooNew
from guard.vault.names import MANIFEST, TEMPORARY, identity, token
from guard.vault.refs import mark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from guard.policy import Policy
    from guard.world import World

NAME = "last"  # the file beside the snapshots
_VERSION = 1
_SMALL = 1 << 20  # bytes of a file that is read


def standing(root: str, policy: Policy, state: str, tree: World) -> Manifest | None:
    """The last snapshot, where it is still what a new one would be.

    The caller holds the vault's lock, so that no clearing takes it away meanwhile.
    """
    directory = f"{state}/{identity(root)}"
    said = _read(directory)
    if said is None or said["packs"] != _packs(directory) or said["policy"] != fingerprint(policy, root, tree):
        return None
    seen = mark(root)
    if seen is None or seen[0] != said["refs"]:
        return None
    manifest = load(directory, str(said["name"]))
    return manifest if manifest is not None and manifest.head.root == root and as_it_was(manifest, policy, tree) else None


def load(directory: str, name: str) -> Manifest | None:
    """A snapshot of the vault in a directory, None where it is gone or damaged."""
    try:
        fd = os.open(f"{directory}/manifests/{name}{MANIFEST}", os.O_RDONLY | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            return Manifest.load(file.read())
    except (OSError, ValueError, Damaged, TooNew):
        return None


def as_it_was(manifest: Manifest, policy: Policy, tree: World) -> bool:
    """Has nothing happened to what a manifest has, and is there nothing new that the policy protects?

    Says no where in doubt.
    """
    hidden: list[Entry] = []
    known: set[str] = set()
    for entry, now in different(manifest, hidden):
        if now is None:
            return False
        if stamp(now) == entry[3:9] and entry.kind in (FILE, LINK):
            if not _same(entry):
                return False
            continue
        if entry.kind != DIRECTORY or (stamp(now) != entry[3:9] and entry.level not in ("", PRESENT)):
            return False
        if (now.st_mode, now.st_dev, now.st_ino) != (entry.mode, entry.device, entry.inode):
            return False
        known = known or set(manifest.paths)
        if entry.level != PRESENT and _news(entry.path, known, policy, tree):
            return False
    return not hidden


def _same(entry: Entry) -> bool:
    """Does what was written too late for its times to tell still hold the same?"""
    if entry.kind == LINK:
        try:
            return os.readlink(entry.path) == entry.link
        except OSError:
            return False
    return bool(entry.digest) and entry.size <= _SMALL and digest(entry.path) == entry.digest


def _news(directory: str, known: set[str], policy: Policy, tree: World) -> bool:
    """Could one of the names that are new in a directory be protected, or something below it?"""
    test = policy.sieve(directory)
    for name, kind in tree.scan(directory) or ():
        path = child(directory, name)
        if path in known:
            continue
        if test(name) or (kind in ("directory", "symlink") and policy.reach(path)):
            return True
    return False


def fingerprint(policy: Policy, root: str, tree: World) -> str:
    """What tells whether the policy of a root is still the same."""
    next(policy.protected(root, tree), None)  # finds the roots inside
    rules = [(each.path, each.lists, each.settings) for each in policy.roots if below(root, each.path) or below(each.path, root)]
    return f"{zlib.crc32(repr(rules).encode('utf-8', 'surrogateescape')):08x}"


def note(directory: str, manifest: Manifest, seen: tuple[str, int] | None, grain: int) -> None:
    """Records what has to stay as it is for a manifest to hold. `seen` is what mark() said before the tree was looked at.

    Nothing is recorded, and what was is removed, where times do not tell later writings yet.
    """
    young = any(when >= manifest.head.before for when in manifest.columns[3])
    if seen is None or young or manifest.lacks() or seen[1] >= int(manifest.head.time * 1e9) - grain:
        _forget(directory)
        return
    said = {
        "v": _VERSION,
        "name": manifest.head.name,
        "policy": manifest.head.policy,
        "refs": seen[0],
        "packs": _packs(directory),
    }
    body = dumps(said).encode()
    temporary = f"{directory}/{TEMPORARY}{os.getpid()}-{token(4)}"
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(b"%08x\n" % zlib.crc32(body) + body)  # torn by a loss of power it is not there
        os.rename(temporary, f"{directory}/{NAME}")
    except OSError:
        _forget(directory)


def _forget(directory: str) -> None:
    try:
        os.unlink(f"{directory}/{NAME}")
    except OSError:
        pass


def _read(directory: str) -> dict[str, Any] | None:
    try:
        with open(f"{directory}/{NAME}", "rb") as file:
            checksum, _, body = file.read().partition(b"\n")
        said = loads(body.decode()) if int(checksum, 16) == zlib.crc32(body) else None
    except (OSError, ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) and said.get("v") == _VERSION else None


def _packs(directory: str) -> list[list[object]]:
    """The packs with their sizes and times: what was in them all is in them all."""
    try:
        with os.scandir(f"{directory}/packs") as entries:
            rows = [(entry.name, entry.stat(follow_symlinks=False)) for entry in entries if not entry.name.startswith(TEMPORARY)]
    except OSError:
        return []
    return sorted([name, found.st_size, found.st_mtime_ns] for name, found in rows if stat.S_ISREG(found.st_mode))


class Held:
    """The vault's lock, shared, for as long as the block runs; without one where there is none to be had."""

    def __init__(self, directory: str) -> None:
        self._path = f"{directory}/lock"
        self._fd = -1

    def __enter__(self) -> Held:
        try:
            self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            fcntl.flock(self._fd, fcntl.LOCK_SH)
        except OSError:
            pass
        return self

    def __exit__(self, *error: object) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
