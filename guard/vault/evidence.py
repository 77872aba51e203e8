"""Evidence: what `change` asks about contents and about the repository, each looked up once and only where it decides."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar, cast

from guard.change import EDITED, EMPTIED, FILE, HALF, LINK, REPLACED, Entry, blank, kind_of, kind_of_change
from guard.git import Git, GitFailed
from guard.paths import below, parent
from guard.vault import content
from guard.vault.manifest import Damaged, Manifest
from guard.vault.mounts import Mounts, read_only
from guard.vault.refs import repository
from guard.vault.store import Vault

LARGE = 16 << 20  # bytes; larger files are compared by blocks
_BLOCK = 4096
_PATHS = 400  # in one question to git
Known = TypeVar("Known")


class Evidence:
    """The evidence about what changed since a manifest. `suspects` are the paths that will be asked about."""

    def __init__(self, manifest: Manifest, vault: Vault, suspects: Iterable[str] = ()) -> None:
        self._vault = vault
        self._mounts = Mounts()
        self._digests: dict[str, bytes | None] = {}
        self._history = History(manifest, suspects)

    def foreign(self, path: str) -> bool:
        """Is the path a mount point, or its file system read-only here?"""
        return self._mounts.at(path) or read_only(parent(path))

    def link(self, path: str) -> str:
        """Where a link leads, "" where it is gone."""
        try:
            return os.readlink(path)
        except OSError:
            return ""

    def digest(self, path: str) -> bytes | None:
        """The digest of a file as it is now."""
        if path not in self._digests:
            self._digests[path] = content.digest(path)
        return self._digests[path]

    def content(self, old: Entry, path: str) -> str:
        """EMPTIED, REPLACED or EDITED."""
        try:
            size = os.lstat(path).st_size
            if max(old.size, size) > LARGE:
                return large_change(lambda: self._vault.read(old.digest), lambda: content.read(path))
            return kind_of_change(b"".join(self._vault.read(old.digest)), b"".join(content.read(path)))
        except (Damaged, content.Unreadable, OSError):
            return REPLACED

    def reverted(self, old: Entry, path: str) -> bool:
        """Is the new content one that git has for the path, and was the old one in no ref?"""
        new = self._history.now(path)
        return new is not None and new in self._history.committed(path) and not self._reached(old)

    def left(self, old: Entry) -> bool:
        """Does the tree stand as a branch or a stash has left it, and do they hold what was here?"""
        history = self._history
        if old.kind not in (FILE, LINK) or not history.known or not history.clean(old.path):
            return False
        ids = self._ids(old)
        return (history.switched and history.held(old.path) in ids) or bool(ids & history.stashed(old.path))

    def _reached(self, old: Entry) -> bool:
        return bool(self._ids(old) & self._history.reached(old.path))

    def _ids(self, old: Entry) -> set[str]:
        """The names that git may have for the old content: as it is, and with line ends as it stores them."""
        if old.kind == LINK:
            return {self._history.name(os.fsencode(old.link))}
        try:
            if old.size > LARGE:
                return {self._history.name_of(old.size, self._vault.read(old.digest))}
            data = b"".join(self._vault.read(old.digest))
        except (Damaged, KeyError):
            return set()
        return {self._history.name(data), self._history.name(data.replace(b"\r\n", b"\n"))}


def large_change(old: Callable[[], Iterator[bytes]], new: Callable[[], Iterator[bytes]]) -> str:
    """What kind_of_change says, for contents that do not fit into memory; compares blocks, wherever they stand."""
    if not all(map(blank, old())) and all(map(blank, new())):
        return EMPTIED
    there = {hash(block) for block in _blocks(new())}
    kept = total = 0
    for block in _blocks(old()):
        total += 1
        kept += hash(block) in there
    return EDITED if not total or kept / total >= HALF else REPLACED


def _blocks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for piece in pieces:
        rest += piece
        whole = len(rest) // _BLOCK * _BLOCK
        yield from (rest[at : at + _BLOCK] for at in range(0, whole, _BLOCK))
        rest = rest[whole:]
    if rest:
        yield rest


class History:
    """What the repository of a root holds for its paths, then and now."""

    def __init__(self, manifest: Manifest, suspects: Iterable[str]) -> None:
        self._then = manifest.head.git
        self._top = repository(manifest.head.root)
        self._git = Git(self._top)
        self._suspects = list(suspects)
        self._trees: dict[str, dict[str, str]] = {}
        self._reached: dict[str, set[str]] | None = None
        self._lazy: dict[str, object] = {}

    @property
    def known(self) -> bool:
        """Was there a repository when the manifest was taken, and is it there now?"""
        return bool(self._then.held) and self._git.usable

    @property
    def commit(self) -> str:
        """The commit that is checked out now."""
        return self._once("commit", lambda: self._git.line("rev-parse", "-q", "--verify", "HEAD^{commit}"))

    @property
    def switched(self) -> bool:
        """Is another branch (or commit) checked out, and the old one still there?

        A commit made since then on top of the old one is no switch: whoever made it took the file away.
        """
        return self._once("switched", self._was_switched)

    def _was_switched(self) -> bool:
        then = self._then
        head = self._git.line("symbolic-ref", "-q", "HEAD")
        if not then.commit or not self.commit or (head == then.head and (head or self.commit == then.commit)):
            return False
        known = self.commit in then.held or self._contained(self.commit, then.held)
        return known or self._git.line("merge-base", then.commit, self.commit) != then.commit

    def _contained(self, commit: str, holders: Iterable[str]) -> bool:
        """Could a commit be reached from one of these?"""
        words = [commit, *(f"^{holder}" for holder in holders)]
        try:
            return not self._git.run("rev-list", "-n", "1", "--stdin", data="\n".join(words).encode())
        except GitFailed:
            return False

    def held(self, path: str) -> str:
        """The name of what the branch that was checked out then has for a path now."""
        then = self._then
        tip = then.head or then.commit
        if not then.head and not self._once("kept", lambda: bool(self._git.line("for-each-ref", "--contains", then.commit))):
            return ""
        return self._tree(tip).get(self._relative(path), "")

    def clean(self, path: str) -> bool:
        """Does a path stand as the checked-out commit has it, absent or present?"""
        committed = self._tree("HEAD").get(self._relative(path))
        try:
            found = os.lstat(path)
        except (OSError, ValueError):
            return committed is None
        if committed is None and kind_of(found.st_mode) not in (FILE, LINK):
            return any(name.startswith(self._relative(path) + "/") for name in self._tree("HEAD"))
        return committed is not None and committed == self.now(path)

    def committed(self, path: str) -> set[str]:
        """The names that HEAD, its parents, the index and the stash have for a path."""
        parents = self._once("parents", lambda: self._lines("rev-list", "--parents", "-n", "1", "HEAD"))
        revisions = ["HEAD", *(word for line in parents for word in line.split()[1:]), "refs/stash"]
        found = {self._tree(revision).get(self._relative(path), "") for revision in revisions}
        return (found | {self._index().get(self._relative(path), "")}) - {""}

    def stashed(self, path: str) -> set[str]:
        """The names that stashes made since then have for a path."""
        now = self._once("stashes", lambda: self._lines("log", "-g", "--format=%H", "refs/stash", "--"))
        new = now[: now.index(self._then.stash)] if self._then.stash in now else now
        trees = [self._tree(stash + part) for stash in new for part in ("", "^2", "^3")]
        return {tree[self._relative(path)] for tree in trees if self._relative(path) in tree}

    def reached(self, path: str) -> set[str]:
        """The names of all contents that the refs of then have had for a path."""
        first = self._tree(self._then.commit).get(self._relative(path), "") if self._then.commit else ""
        if self._reached is None:
            self._reached = {}
            wanted = list(dict.fromkeys([*self._suspects, path]))
            for at in range(0, len(wanted), _PATHS):
                self._reach(wanted[at : at + _PATHS])
        return self._reached.get(self._relative(path), set()) | {first}

    def _reach(self, paths: list[str]) -> None:
        assert self._reached is not None
        globs = [f":(top,literal){self._relative(path)}" for path in paths if below(path, self._top)]
        names = (
            "".join(f"{name}\n" for name in self._then.held) + "--\n" + "".join(f"{glob}\n" for glob in globs if "\n" not in glob)
        )
        try:
            answer = (
                self._git.run("rev-list", "--objects", "--ignore-missing", "--stdin", data=os.fsencode(names)) if globs else b""
            )
        except GitFailed:
            return
        for line in os.fsdecode(answer).splitlines():
            name, _, path = line.partition(" ")
            self._reached.setdefault(path, set()).add(name)

    def now(self, path: str) -> str | None:
        """The name that git would have for what stands at a path now."""
        try:
            found = os.lstat(path)
            if kind_of(found.st_mode) == LINK:
                return self.name(os.fsencode(os.readlink(path)))
            if found.st_size > LARGE:
                return self.name_of(found.st_size, content.read(path))
            data = b"".join(content.read(path))
        except (OSError, ValueError, content.Unreadable):
            return None
        plain = self.name(data)
        known = {plain} & {self._tree("HEAD").get(self._relative(path))}
        return plain if known or b"\r\n" not in data else self.name(data.replace(b"\r\n", b"\n"))

    def name(self, data: bytes) -> str:
        """The name that git gives to a blob."""
        return self.name_of(len(data), [data])

    def name_of(self, size: int, pieces: Iterable[bytes]) -> str:
        """The same for content that comes in pieces."""
        state = hashlib.new("sha256" if any(len(name) == 64 for name in self._then.held[:1]) else "sha1", usedforsecurity=False)
        state.update(b"blob %d\0" % size)
        for piece in pieces:
            state.update(piece)
        return state.hexdigest()

    def _relative(self, path: str) -> str:
        return path[len(self._top) :].lstrip("/") if below(path, self._top) else path

    def _tree(self, revision: str) -> dict[str, str]:
        if revision not in self._trees:
            self._trees[revision] = _listed(self._output("ls-tree", "-r", "-z", "--full-tree", revision), 2)
        return self._trees[revision]

    def _index(self) -> dict[str, str]:
        return self._once("index", lambda: _listed(self._output("ls-files", "-s", "-z", "--full-name"), 1))

    def _lines(self, *words: str) -> list[str]:
        return os.fsdecode(self._output(*words)).splitlines()

    def _output(self, *words: str) -> bytes:
        try:
            return self._git.run(*words)
        except GitFailed:
            return b""

    def _once(self, key: str, find: Callable[[], Known]) -> Known:
        if key not in self._lazy:
            self._lazy[key] = find()
        return cast(Known, self._lazy[key])


def _listed(answer: bytes, column: int) -> dict[str, str]:
    found = {}
    for entry in os.fsdecode(answer).split("\0")[:-1]:
        fields, _, path = entry.partition("\t")
        found[path] = fields.split(" ")[column]
    return found
