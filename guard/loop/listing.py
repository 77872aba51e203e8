"""Listing: the paths of a tree that count for progress, those of nested repositories included, without what git ignores.

Directories that have not changed are not read again, and git is asked only about names that are new to it and to us. Without a
repository, or where git fails, the same rules are read here.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from guard.git import Git, GitFailed
from guard.loop import stamps
from guard.loop.ignore_rules import Rules

Excluded = Callable[[str], bool]
# Anchored at the tree: what a loop runner and the agents' clients keep for themselves.
_OWN = (".ralph/", ".claude/", "memory/")
_IGNORE = ".gitignore"
_HERE = "./"  # so that git takes no name for a pattern


def excluded(more: Iterable[str] = (), ignore: Iterable[str] = ()) -> Excluded:
    """Which paths never count: what runners and clients keep, logs, these paths and all below them, and these patterns."""
    exact = frozenset(path.rstrip("/") for path in more if path)
    below = (*_OWN, *(f"{path}/" for path in exact))
    rules = Rules(ignore)

    def is_out(path: str) -> bool:
        if path.endswith(".log") or path.startswith(below) or path in exact or path.startswith(".git/") or "/.git/" in path:
            return True
        return bool(rules) and rules.ignores(path)

    return is_out


@dataclass(frozen=True)
class _Directory:
    """What stands in a directory: its files and links, and its directories, as paths relative to the tree."""

    stamp: int
    files: tuple[str, ...]
    directories: tuple[str, ...]
    repository: bool
    rules: Rules | None


class Listing:
    """The counted paths below `top`, relative to it. `grain`: by how much (ns) times of files may be off."""

    def __init__(self, top: str, is_out: Excluded, git: Git, grain: int) -> None:
        self._top, self._is_out, self._git, self._grain = top, is_out, git, grain
        self._index = _Index(top, git, grain)
        self._rules_stamp: tuple[int, ...] = ()
        self._directories: dict[str, _Directory] = {}
        self._young: set[str] = set()
        self._ignored: dict[str, bool] = {}
        self._counts: dict[str, bool] = {}
        self._nested: dict[str, Listing] = {}
        self._own: list[str] = []

    def paths(self) -> list[str]:
        """All of them, each once. The same list again where nothing has come or gone."""
        if self._refresh():
            self._own = self._counted()
        repositories = [path for path, found in self._directories.items() if path and found.repository]
        if not repositories:
            return self._own
        return list(dict.fromkeys([*self._own, *self._inside(repositories)]))

    def _inside(self, repositories: list[str]) -> list[str]:
        """The paths of the nested repositories."""
        found = []
        for name in repositories:
            if name not in self._nested:
                top = f"{self._top}/{name}"
                self._nested[name] = Listing(top, partial(self._is_out_below, name), Git(top), self._grain)
            found += [f"{name}/{path}" for path in self._nested[name].paths()]
        return found

    def _is_out_below(self, directory: str, path: str) -> bool:
        return self._is_out(f"{directory}/{path}")

    def _refresh(self) -> bool:
        """Brings directories and verdicts up to date. True where something has changed."""
        started = time.time_ns()
        changed = self._index.refresh()
        rules = self._rules()
        if rules != self._rules_stamp:
            self._rules_stamp, self._ignored, changed = rules, {}, True
        stale = self._stale(started)
        if not stale and not changed:
            return False
        for path in stale:
            self._directories.pop(path, None)
        self._walk(started)
        rules = self._rules()
        if rules != self._rules_stamp:  # an ignore file has come or gone
            self._rules_stamp, self._ignored = rules, {}
            self._walk(started)
        return True

    def _stale(self, started: int) -> list[str]:
        """The directories that do not look as they did, or may have been written to without looking different."""
        known = list(self._directories)
        try:
            directory = os.open(self._top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            return known
        try:
            now = stamps.stamps(directory, [path or "." for path in known])
        finally:
            os.close(directory)
        stale = [path for path, one in zip(known, now, strict=True) if one != self._directories[path].stamp]
        young, self._young = self._young, set()
        return list({*stale, *(path for path in young if path in self._directories)}) if known else [""]

    def _walk(self, started: int) -> None:
        """Reads what is not known, and forgets what is not reached any more."""
        reached: dict[str, _Directory] = {}
        level = [""]
        while level:
            below: list[str] = []
            for path in level:
                found = self._directories.get(path) or self._read(path, started)
                reached[path] = self._directories[path] = found
                if not found.repository or not path:
                    below += found.directories
            unknown = [path for path in below if path not in self._index.directories and f"{path}/" not in self._ignored]
            self._ask(unknown, True)
            level = [path for path in below if path in self._index.directories or not self._ignored[f"{path}/"]]
        self._directories = reached
        self._nested = {name: one for name, one in self._nested.items() if name in reached}

    def _read(self, path: str, started: int) -> _Directory:
        """What stands in a directory now."""
        place = f"{self._top}/{path}" if path else self._top
        prefix = f"{path}/" if path else ""
        files: list[str] = []
        directories: list[str] = []
        names = set()
        try:
            stat = os.lstat(place)
            with os.scandir(place) as entries:
                for entry in entries:
                    names.add(entry.name)
                    if entry.name == ".git":
                        continue
                    (directories if entry.is_dir(follow_symlinks=False) else files).append(prefix + entry.name)
        except OSError:
            return _Directory(stamps.NOWHERE, (), (), False, None)
        if stat.st_ctime_ns >= started - self._grain:
            self._young.add(path)
        rules = _rules(f"{place}/{_IGNORE}") if _IGNORE in names else None
        return _Directory(stamps.of(stat), tuple(files), tuple(sorted(directories)), ".git" in names, rules)

    def _rules(self) -> tuple[int, ...]:
        """Changes whenever a file does that says what is ignored."""
        inside = [path for path, found in self._directories.items() if found.rules is not None]
        own = [stamps.stamp(f"{self._top}/{path}/{_IGNORE}" if path else f"{self._top}/{_IGNORE}") for path in inside]
        now = (*own, hash(tuple(inside)), *map(stamps.stamp, self._index.exclude_files))
        if now != self._rules_stamp:
            for path in inside:
                rules = _rules(f"{self._top}/{path}/{_IGNORE}" if path else f"{self._top}/{_IGNORE}") or Rules(())
                old = self._directories[path]
                self._directories[path] = _Directory(old.stamp, old.files, old.directories, old.repository, rules)
        return now

    def _ask(self, paths: list[str], directories: bool) -> None:
        """Finds out which of these are ignored."""
        if not paths:
            return
        try:
            ignored = self._index.ignored(paths)
        except GitFailed:
            ignored = {path for path in paths if self._is_ignored(path, directories)}
        end = "/" if directories else ""  # a name may be a file now and a directory later
        self._ignored |= {path + end: path in ignored for path in paths}

    def _is_ignored(self, path: str, directory: bool) -> bool:
        """By the rules of the tree alone: the nearest file that says something decides."""
        parts = path.split("/")
        counts = range(1, len(parts) + 1)
        return any(self._verdict("/".join(parts[:count]), directory or count < len(parts)) for count in counts)

    def _verdict(self, path: str, directory: bool) -> bool:
        above = path
        while above:
            above = above.rpartition("/")[0]
            known = self._directories.get(above)
            if known is not None and known.rules is not None:
                said = known.rules.verdict(path[len(above) + 1 :] if above else path, directory)
                if said is not None:
                    return said
        return False

    def _counted(self) -> list[str]:
        """Tracked files, and those that are not ignored, without those that never count."""
        tracked, there = self._index.tracked, self._directories
        others = [
            path
            for above, found in self._directories.items()
            if not found.repository or not above
            for path in found.files
            if path not in tracked
        ]
        # What git tracks behind a link, or in a repository of its own, is not what stands there.
        names = [path for path in tracked if path.rpartition("/")[0] in there]
        self._ask([path for path in others if path not in self._ignored], False)
        names += (path for path in others if not self._ignored[path])
        known, is_out = self._counts, self._is_out
        self._counts = {path: known[path] if path in known else not is_out(path) for path in names}
        repositories = {path for path, found in self._directories.items() if found.repository}
        return [path for path, counts in self._counts.items() if counts and path not in repositories]


def _rules(path: str) -> Rules | None:
    """The patterns of an ignore file; None where it cannot be read. git follows no links there."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return Rules(()) if os.path.lexists(path) else None
    with open(fd, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        try:
            return Rules(file)
        except OSError:
            return Rules(())


class _Index:
    """What git tracks and ignores. Without a repository: nothing, and GitFailed."""

    def __init__(self, top: str, git: Git, grain: int) -> None:
        self._top, self._git, self._grain = top, git, grain
        self._raw: bytes | None = None
        self._stamp: int | None = None
        self.tracked: dict[str, None] = {}
        self.directories: set[str] = set()
        names = ("--git-path", "index", "--git-path", "info/exclude", "--git-path", "config")
        try:
            found = os.fsdecode(git.run("rev-parse", *names)).splitlines()
        except GitFailed:
            found = []
        self._place, *others = [os.path.join(top, path) for path in found] or [f"{top}/.git/index"]
        home = os.environ.get("XDG_CONFIG_HOME") or f"{os.environ.get('HOME', '')}/.config"
        named = git.line("config", "--type=path", "core.excludesFile")
        self.exclude_files = (*others, f"{home}/git/ignore", *([os.path.join(top, named)] if named else []))

    def refresh(self) -> bool:
        """Reads the index again if it was written to. True where it tracks something else."""
        started = time.time_ns()
        try:
            found = os.lstat(self._place)
            now = stamps.of(found)
            young = found.st_ctime_ns >= started - self._grain
        except OSError:
            now, young = stamps.NOWHERE, False
        if now == self._stamp:
            return False
        try:
            raw = self._git.run("ls-files", "-z", "--cached")
        except GitFailed:
            raw, young = b"", True
        self._stamp = None if young else now
        if raw == self._raw:
            return False
        self._raw = raw
        self.tracked = dict.fromkeys(filter(None, os.fsdecode(raw).split("\0")))
        self.directories = _above(self.tracked)
        return True

    def ignored(self, paths: list[str]) -> set[str]:
        """Those of these paths that git ignores. Raises GitFailed."""
        data = "".join(f"{_HERE}{path}\0" for path in paths)
        found = self._git.run("check-ignore", "-z", "--stdin", data=os.fsencode(data), fine=(0, 1))
        return {path.removeprefix(_HERE) for path in os.fsdecode(found).split("\0")}


def _above(paths: Iterable[str]) -> set[str]:
    """The directories that paths stand in, and all above them."""
    found: set[str] = set()
    for path in paths:
        above = path.rpartition("/")[0]
        while above and above not in found:
            found.add(above)
            above = above.rpartition("/")[0]
    return found
