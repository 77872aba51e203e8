"""The vault of one project: its directory, locks, manifests and packs.

<state>/<project>/manifests/<name>.manifest    a snapshot is there when this file is
<state>/<project>/packs/<name>.pack            contents, written and synchronised before a manifest names them
<state>/<project>/lock                         shared while something is added or read, exclusive while something is removed
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from guard.errors import BUSY, FAULT, STATE, USAGE, GuardError
from guard.vault import content
from guard.vault.manifest import Damaged, Manifest, TooNew
from guard.vault.names import ASIDE, MANIFEST, PACK, TEMPORARY, identity, token
from guard.vault.pack import Pack, Writer


class Vault:
    """Where the snapshots of a root are kept. Many processes may use it at once."""

    def __init__(self, state: str | None, root: str) -> None:
        if state is None:
            todo = "set GUARD_STATE_DIR, XDG_STATE_HOME or HOME to one that can be written"
            raise GuardError("there is no directory to keep copies in", todo=todo, code=FAULT)
        self.root = root
        self.state = state
        self.directory = f"{state}/{identity(root)}"
        self.damaged: dict[str, str] = {}  # what could not be read, and why
        self._packs: dict[str, Pack] = {}

    @contextmanager
    def lock(self, exclusive: bool = False, wait: bool = True) -> Iterator[None]:
        """Holds the vault's lock. Raises GuardError where it cannot be had (BUSY) or the state cannot be written."""
        fd = self._lock_file(exclusive)
        try:
            if fd is not None:
                kind = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
                try:
                    fcntl.flock(fd, kind | (0 if wait else fcntl.LOCK_NB))
                except BlockingIOError:
                    raise GuardError("the vault is in use", self.directory, "try again later", BUSY) from None
                except OSError as error:  # a file system without locks: nothing is ever removed there
                    if exclusive:
                        raise GuardError(f"it cannot be locked ({error.strerror})", self.directory, code=STATE) from error
            yield
        finally:
            if fd is not None:
                os.close(fd)

    def _lock_file(self, exclusive: bool) -> int | None:
        path = f"{self.directory}/lock"
        try:
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            if exclusive:
                raise _unwritable(error, self.directory) from error
            with suppress(OSError):
                return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            return None

    def prepare(self) -> None:
        """Makes the directories. Raises GuardError where that cannot be done."""
        try:
            for directory in (self.directory, f"{self.directory}/manifests", f"{self.directory}/packs"):
                os.makedirs(directory, mode=0o700, exist_ok=True)
        except OSError as error:
            raise _unwritable(error, self.directory) from error

    @contextmanager
    def written(self, kind: str, name: str) -> Iterator[int]:
        """A new file that appears under its name when the block is left without an error, and not at all otherwise."""
        directory = f"{self.directory}/{'packs' if kind == PACK else 'manifests'}"
        temporary = f"{directory}/{TEMPORARY}{os.getpid()}-{token(4)}"
        try:
            fd = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                yield fd
                os.rename(temporary, f"{directory}/{name}{kind}")
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary)
                raise
            finally:
                os.close(fd)
        except OSError as error:
            raise _unwritable(error, self.directory) from error

    def write_manifest(self, manifest: Manifest) -> None:
        """Keeps a manifest; with its rename the snapshot is there."""
        with self.written(MANIFEST, manifest.head.name) as fd:
            data = memoryview(manifest.dump())
            while data:
                data = data[os.write(fd, data) :]
            os.fsync(fd)
        _sync(f"{self.directory}/manifests")

    @contextmanager
    def writer(self, name: str) -> Iterator[Writer]:
        """A new pack; it is kept when something was added to it."""
        try:
            with self.written(PACK, name) as fd:
                writer = Writer(fd)
                yield writer
                if not writer.places:
                    raise _Empty
                writer.finish()
            _sync(f"{self.directory}/packs")
        except _Empty:
            pass

    def names(self) -> list[str]:
        """The snapshots, oldest first."""
        return sorted(entry.removesuffix(MANIFEST) for entry in self._listed("manifests") if entry.endswith(MANIFEST))

    def load(self, name: str) -> Manifest:
        """A snapshot's manifest. Raises Damaged, TooNew or OSError."""
        with open(f"{self.directory}/manifests/{name}{MANIFEST}", "rb") as file:
            manifest = Manifest.load(file.read())
        if manifest.head.root != self.root:
            raise Damaged("the manifest is of another project")
        return manifest

    def manifests(self) -> Iterator[Manifest]:
        """All that can be read, newest first; what cannot goes to `damaged`."""
        for name in reversed(self.names()):
            try:
                yield self.load(name)
            except (Damaged, OSError) as error:
                self.damaged[name] = str(error)
            except TooNew:
                self.damaged[name] = "it was made by a later version of guard"

    def newest(self) -> Manifest | None:
        """The last snapshot that can be read; copies of what stood in the way are none."""
        return next((found for found in self.manifests() if found.head.reason != ASIDE), None)

    def named(self, name: str) -> Manifest:
        """The snapshot of this name, or whose name alone begins or ends so. Raises GuardError."""
        found = [each for each in self.names() if each == name] or [
            each for each in self.names() if name and (each.startswith(name) or each.endswith(name))
        ]
        if len(found) != 1:
            what = "no such snapshot" if not found else f"{len(found)} snapshots are named so"
            raise GuardError(what, name, "see guard restore --list", USAGE)
        try:
            return self.load(found[0])
        except TooNew:
            raise GuardError("it was made by a later version of guard", found[0], "use that version") from None
        except (Damaged, OSError) as error:
            raise GuardError(str(error), found[0], "take an older one: guard restore --list", STATE) from None

    def packs(self) -> list[Pack]:
        """The packs that can be read, newest first; what cannot goes to `damaged`."""
        present = [entry for entry in self._listed("packs") if entry.endswith(PACK)]
        for entry in present:
            if entry not in self._packs:
                try:
                    self._packs[entry] = Pack(f"{self.directory}/packs/{entry}")
                except (Damaged, OSError) as error:
                    self.damaged[entry] = str(error)
                except TooNew:
                    self.damaged[entry] = "it was made by a later version of guard"
        for entry in self._packs.keys() - set(present):
            self._packs.pop(entry).close()
        return [self._packs[entry] for entry in sorted(self._packs, reverse=True)]

    def contents(self) -> set[bytes]:
        """The digests of all contents that are kept."""
        return set().union(*(pack.places.keys() for pack in self.packs()))

    def read(self, digest: bytes) -> Iterator[bytes]:
        """A content in pieces, from the first pack whose copy is good. Raises Damaged where there is none."""
        holding = [pack for pack in self.packs() if digest in pack.places]
        for pack in holding:
            if len(holding) == 1 or _good(pack, digest):
                yield from pack.read(digest)
                return
        raise Damaged("there is no good copy")

    def good(self, digest: bytes) -> bool:
        """Is there a copy that is what its digest says?"""
        return any(_good(pack, digest) for pack in self.packs() if digest in pack.places)

    def stale(self) -> list[str]:
        """Files that were being written when their process ended. Only to be asked under the exclusive lock."""
        return [
            f"{self.directory}/{kind}/{entry}"
            for kind in ("packs", "manifests")
            for entry in self._listed(kind)
            if entry.startswith(TEMPORARY)
        ]

    def _listed(self, kind: str) -> Iterable[str]:
        try:
            return os.listdir(f"{self.directory}/{kind}")
        except OSError:
            return ()


class Pin:
    """While this lives, no clearing removes the snapshot."""

    def __init__(self, vault: Vault, name: str) -> None:
        self._fd = os.open(f"{vault.directory}/manifests/{name}{MANIFEST}", os.O_RDONLY | os.O_CLOEXEC)
        with suppress(OSError):  # a file system without locks, where nothing is ever cleared
            fcntl.flock(self._fd, fcntl.LOCK_SH)

    def release(self) -> None:
        """Ends it."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        if hasattr(self, "_fd"):
            self.release()


class _Empty(Exception):
    """There is nothing to keep in the pack."""


def _good(pack: Pack, digest: bytes) -> bool:
    try:
        return content.digest_of(pack.read(digest)) == digest
    except Damaged:
        return False


def _sync(directory: str) -> None:
    """Makes renames in a directory durable, where the file system can do that."""
    with suppress(OSError):
        fd = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _unwritable(error: OSError, directory: str) -> GuardError:
    todo = "make room, or set GUARD_STATE_DIR to a directory that can be written"
    return GuardError(f"guard's state cannot be written ({error.strerror or error})", directory, todo, STATE)
