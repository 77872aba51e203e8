"""Snapshot: takes copies of all protected files of a root, reading only those that were written to since the last one."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from guard import project
from guard.change import DIRECTORY, FILE, LINK, Entry, kind_of
from guard.errors import GuardError
from guard.git import Git, GitFailed
from guard.matching import KEEP
from guard.paths import below, parent, physical
from guard.policy import Policy
from guard.vault import content, place
from guard.vault.glance import fingerprint, note, standing
from guard.vault.look import different
from guard.vault.manifest import GitState, Head, Manifest
from guard.vault.mounts import Mounts
from guard.vault.names import new_name
from guard.vault.pack import Writer
from guard.vault.refs import mark, repository
from guard.vault.retention import clear, crowded
from guard.vault.store import Pin, Vault
from guard.world import Budget, World

UNFINISHED = f"/{place.TEMPORARY}"  # in the paths of what another guard is just putting back
SMALL = 1 << 20  # bytes up to which a file is read whole
_TRIES = 3  # how often a file that changes while it is read is read again
_MANY_COMMITS = 1 << 16  # refs that are remembered

if TYPE_CHECKING:
    from guard.vault.look import Found

Row = Entry | tuple[str, str, os.stat_result]  # an entry that still holds, or a path, its level and what lstat says
Progress = Callable[[int, int], None]  # told how many of how many files are done


@dataclass(frozen=True)
class Snapshot:
    """A manifest and the vault that has the contents; nothing of it is cleared away while `pin` lives.

    `unreadable` are files of which there is no copy; `copied` counts the contents that were new; `fresh` is False where
    nothing had changed and the last snapshot stands for this one.
    """

    vault: Vault
    manifest: Manifest
    pin: Pin
    unreadable: tuple[str, ...] = ()
    copied: int = 0
    fresh: bool = True

    @property
    def name(self) -> str:
        """The snapshot's name."""
        return self.manifest.head.name


def snapshot(root: str, policy: Policy, vault: Vault, reason: str = "snapshot", progress: Progress | None = None) -> Snapshot:
    """Takes a snapshot of what the policy protects in a root. Raises GuardError where it cannot be kept."""
    vault.prepare()
    with vault.lock():
        stands = standing(root, policy, vault.state, world())
        if stands is not None:
            return Snapshot(vault, stands, Pin(vault, stands.head.name), fresh=False)
        start = time.time()
        grain = Mounts().grain(root)
        last, seen = vault.newest(), mark(root)
        before = int(start * 1e9) - grain
        head = Head(new_name(start), root, start, before, reason, fingerprint(policy, root, world()), git_state(root))
        found = _differences(last, head, vault)
        if last is not None and found == [] and last.head.git == head.git:
            note(vault.directory, last, seen, grain)
            return Snapshot(vault, last, Pin(vault, last.head.name), fresh=False)
        rows = _known_rows(last, found) or list(walk(policy, root, world()))
        with vault.writer(head.name) as writer:
            taker = _Taker(vault, writer, last)
            manifest = Manifest.of(head, taker.entries(rows, policy, progress))
        if last is not None and last.same(manifest) and all(entry.ctime < last.head.before for entry in manifest):
            return Snapshot(vault, last, Pin(vault, last.head.name), tuple(taker.unreadable), fresh=False)
        vault.write_manifest(manifest)
        note(vault.directory, manifest, seen, grain)
        taken = Snapshot(vault, manifest, Pin(vault, head.name), tuple(taker.unreadable), len(writer.places))
    if crowded(vault):
        with suppress(GuardError):
            clear(vault, wait=False)
    return taken


def _differences(last: Manifest | None, head: Head, vault: Vault) -> list[Found] | None:
    """What does not look as in the last snapshot; None where that cannot be told, or a copy is missing."""
    if last is None or last.head.policy != head.policy or last.lacks() or not last.digests() <= vault.contents():
        return None
    hidden: list[Entry] = []
    found = list(different(last, hidden))
    return None if hidden else found


def _known_rows(last: Manifest | None, found: list[Found] | None) -> list[Row]:
    """The rows without walking: as long as no directory has changed, the same paths are protected. Else none."""
    if last is None or found is None:
        return []
    if any(now is None or entry.kind != kind_of(now.st_mode) or entry.kind == DIRECTORY for entry, now in found):
        return []
    states = {entry.path: now for entry, now in found if now is not None}
    return [(entry.path, entry.level, states[entry.path]) if entry.path in states else entry for entry in last]


def world() -> World:
    """The real tree, for work that takes as long as it takes."""
    return World(os.environ, Budget(float("inf"), 1 << 62))


def walk(policy: Policy, root: str, tree: World) -> Iterator[tuple[str, str, os.stat_result]]:
    """Path, level and stat of what is protected, of what protected links of the root lead to, and of the directories above it.

    A directory that is not protected itself has the level "". Guard's own files are left out, unfinished ones among them.
    """
    own = [physical(tree, path) for path in project.own_dirs(tree.environ)]
    seen: set[str] = set()
    for top in tops(policy, root):
        for path, level, found in policy.visit(top, tree):
            if path in seen or UNFINISHED in path or any(below(path, directory) for directory in own):
                continue
            yield from _above(path, top, seen, tree)
            seen.add(path)
            yield path, level, found


def tops(policy: Policy, root: str) -> list[str]:
    """The root, and the places outside of it that its protected links lead to."""
    policy.rule(f"{root}/.git")
    linked = [target for each in policy.roots if each.path == root for target, _ in each.aliases if not below(target, root)]
    return [root, *dict.fromkeys(linked)]


def _above(path: str, top: str, seen: set[str], tree: World) -> Iterator[tuple[str, str, os.stat_result]]:
    above = []
    while path != top and below(path, top) and (path := parent(path)) not in seen:
        above.append(path)
        seen.add(path)
    for directory in reversed(above):
        found = tree.lstat(directory)
        if found is not None:
            yield directory, "", found


class _Taker:
    """Makes entries, and copies of what the vault does not have yet."""

    def __init__(self, vault: Vault, writer: Writer, last: Manifest | None) -> None:
        self._known = vault.contents()
        self._writer = writer
        self._last = last
        self.unreadable: list[str] = []

    def entries(self, rows: Sequence[Row], policy: Policy, progress: Progress | None) -> Iterator[Entry]:
        for done, row in enumerate(rows):
            if progress is not None:
                progress(done, len(rows))
            if isinstance(row, Entry):
                yield row
                continue
            path, level, found = row
            rewrite = level == KEEP and policy.rewrites(path)
            yield self._filled(entry_of(path, level, found)._replace(rewrite=rewrite))

    def _filled(self, entry: Entry) -> Entry:
        if entry.kind != FILE or not entry.level:
            return entry
        old = self._last.find(entry.path) if self._last is not None else None
        if old and old[2:9] == entry[2:9] and old.digest in self._known and self._last and old.ctime < self._last.head.before:
            return entry._replace(digest=old.digest)
        try:
            return copy(entry, self._writer, self._known)
        except content.Unreadable:
            self.unreadable.append(entry.path)
            return entry


def entry_of(path: str, level: str, found: os.stat_result) -> Entry:
    """The entry of a path without the digest."""
    kind = kind_of(found.st_mode)
    link = ""
    if kind == LINK:
        try:
            link = os.readlink(path)
        except OSError:
            link = ""
    times = found.st_mtime_ns, found.st_ctime_ns
    return Entry(
        path, level, kind, found.st_mode, found.st_size, *times, found.st_dev, found.st_ino, found.st_uid, found.st_gid, link=link
    )


def copy(entry: Entry, writer: Writer, known: Iterable[bytes] = ()) -> Entry:
    """Copies a regular file unless its content is known; gives the entry as of the copy. Raises Unreadable."""
    fd = content.opened(entry.path)
    try:
        for _ in range(_TRIES):
            before = os.fstat(fd)
            digest = _copied(fd, before.st_size, writer, known)
            after = os.fstat(fd)
            if (before.st_size, before.st_mtime_ns, before.st_ctime_ns) == (after.st_size, after.st_mtime_ns, after.st_ctime_ns):
                break
        else:
            return entry._replace(digest=digest, ctime=0)  # no stat will ever look like this one: it is always read again
        return entry_of(entry.path, entry.level, after)._replace(digest=digest, rewrite=entry.rewrite)
    finally:
        os.close(fd)


def _copied(fd: int, size: int, writer: Writer, known: Iterable[bytes]) -> bytes:
    if size <= SMALL:
        data = b"".join(content.pieces(fd))
        digest = content.digest_of([data])
        return digest if digest in known else writer.add(data)
    digest = content.digest_of(content.pieces(fd))
    return digest if digest in known or digest in writer.places else writer.add_stream(content.pieces(fd))


def git_state(root: str) -> GitState:
    """Where the repository stands; empty where there is none or git cannot be asked."""
    top = repository(root)
    git = Git(top)
    if not git.usable:
        return GitState()
    try:
        refs = dict(
            line.split(" ", 1)[::-1]
            for line in os.fsdecode(git.run("for-each-ref", "--format=%(objectname) %(refname)")).splitlines()
        )
    except (GitFailed, ValueError):
        return GitState()
    commit = git.line("rev-parse", "-q", "--verify", "HEAD^{commit}")
    head = git.line("symbolic-ref", "-q", "HEAD")
    held = sorted({*refs.values(), *([commit] if commit else [])})[:_MANY_COMMITS]
    return GitState(head, commit, tuple(held), refs.get("refs/stash", ""))
