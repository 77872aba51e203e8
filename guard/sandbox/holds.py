"""What the sandbox holds in place: which paths are bound onto themselves, in what order, and what it cannot hold."""

from __future__ import annotations

import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from guard.matching import LOCK, PRESENT
from guard.paths import below, child, parent, physical
from guard.policy import Policy
from guard.shown import visible
from guard.world import World

LIMIT = 200  # binds; each one slows the start of this sandbox and of every one inside
_SHOWN = 6  # names in a note


@dataclass(frozen=True)
class Bind:
    """A path that is bound onto itself, so that the kernel keeps it where it is."""

    path: str
    writable: bool = True


@dataclass(frozen=True)
class Plan:
    """The binds, what is above before what is below, and what is left to the other layers.

    `unheld` are protected files that would have been too many; `dropped` are directories beyond the limit; `loose` are
    links and special files, which cannot be bound.
    """

    binds: tuple[Bind, ...] = ()
    unheld: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    loose: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person is told: lines of text, none where everything is held."""
        found = []
        if self.unheld:
            found.append(
                f"the sandbox holds at most {LIMIT} paths, so it keeps directories in place, but not {len(self.unheld)} "
                "protected files in them; what happens to those is found and restored afterwards"
            )
        if self.dropped:
            found.append(f"the sandbox does not hold {len(self.dropped)} of the directories: {_names(self.dropped)}")
        if self.loose:
            found.append(f"the sandbox cannot hold links and special files: {_names(self.loose)}")
        return tuple(found)


@dataclass
class _Found:
    """What there is to hold: directories without write access and others, locked files and others, what cannot be bound."""

    sealed: set[str] = field(default_factory=set)
    directories: set[str] = field(default_factory=set)
    locked: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    loose: set[str] = field(default_factory=set)


def plan(
    policy: Policy,
    roots: Iterable[str],
    tree: World,
    own: Iterable[str] = (),
    spool: str = "",
    mounted: Mapping[str, bool] | None = None,
) -> Plan:
    """What to bind so that nothing protected in the roots goes, moves or is replaced. Looks at the tree, changes nothing.

    The roots and what their protected links lead to are searched. `own` are guard's own directories: they get no write
    access, but for the directory `spool`. `mounted` are the mount points there already are, as mounts.points() has them:
    what the kernel holds already needs no bind.
    """
    roots = [path for path in dict.fromkeys(roots) if _kind(path, tree) == "directory"]
    found = _Found(directories=set(roots))
    found.sealed |= {there for path in own if _kind(there := physical(tree, path), tree) == "directory"}
    for root in roots:
        _search(policy, root, tree, found)
    for target in _aliases(policy, roots):
        _search(policy, target, tree, found)
    writable = [spool] if spool and _kind(spool, tree) == "directory" else []
    return _chosen(found, writable, mounted or {})


def _aliases(policy: Policy, roots: list[str]) -> list[str]:
    """What protected links of the roots lead to outside of them."""
    targets = {target for root in policy.roots if root.path in roots for target, _ in root.aliases}
    return [path for path in sorted(targets) if not any(below(path, root) for root in roots)]


def _search(policy: Policy, top: str, tree: World, found: _Found) -> None:
    found.directories |= set(_directories(policy, top, tree))
    for path, level in policy.protected(top, tree):
        found.directories |= set(_between(path, top))
        kind = _kind(path, tree)
        if level == PRESENT and kind != "directory" and policy.level(parent(path), True) == PRESENT:
            continue  # such as .git/HEAD, which git replaces whenever it switches
        if kind == "directory":
            found.directories.add(path)
        elif kind != "file":
            found.loose.add(path)
        else:
            (found.locked if level == LOCK else found.files).add(path)
    _seal(policy, tree, found)


def _seal(policy: Policy, tree: World, found: _Found) -> None:
    """Takes write access from directories in which everything is locked, so that what is below needs no bind."""
    for path in sorted(found.directories):
        if not _inside(path, found.sealed) and policy.level(path, True) == LOCK and _all_locked(policy, path, tree):
            found.sealed.add(path)


def _all_locked(policy: Policy, directory: str, tree: World) -> bool:
    todo = [directory]
    while todo:
        above = todo.pop()
        for entry, kind in tree.scan(above) or ():
            path = child(above, entry)
            if policy.level(path, kind == "directory") != LOCK:
                return False
            todo += [path] if kind == "directory" else []
    return True


def _directories(policy: Policy, top: str, tree: World) -> Iterator[str]:
    """The protected directories at and below `top`, the empty ones too. What is below one that is to be present may go."""
    todo = [top]
    while todo:
        path = todo.pop()
        level = policy.level(path, True)
        if level:
            yield path
        if level == PRESENT or not policy.reach(path):
            continue
        todo += [child(path, entry) for entry, kind in tree.scan(path) or () if kind == "directory"]


def _between(path: str, top: str) -> Iterator[str]:
    """The directories from `top` down to the one that holds `path`."""
    while path != top and below(path, top) and path != "/":
        path = parent(path)
        if path != "/":
            yield path


def _chosen(found: _Found, spool: list[str], mounted: Mapping[str, bool]) -> Plan:
    """Binds what fits: directories, those without write access first, then locked files, then the others, each if all fit."""
    sealed = {path for path in found.sealed if not _inside(path, found.sealed)}
    directories = {path for path in found.directories if path not in mounted and not _inside(path, sealed, itself=True)}
    locked = {path for path in found.locked if mounted.get(path, True) and not _inside(path, sealed)}
    files = {path for path in found.files if path not in mounted and not _inside(path, sealed)}
    binds = {path: False for path in sealed if mounted.get(path, True)} | {path: True for path in spool if path not in mounted}
    kept = sorted(directories, key=lambda path: (path.count("/"), path))[: max(0, LIMIT - len(binds))]
    binds |= dict.fromkeys(kept, True)
    unheld: set[str] = set()
    for paths, writable in ((locked, False), (files, True)):
        if len(binds) + len(paths) <= LIMIT:
            binds |= dict.fromkeys(paths, writable)
        else:
            unheld |= paths
    return Plan(
        tuple(Bind(path, binds[path]) for path in sorted(binds)),
        tuple(sorted(unheld)),
        tuple(sorted(directories - set(kept))),
        tuple(sorted(path for path in found.loose if not _inside(path, sealed))),
    )


def _inside(path: str, directories: Collection[str], itself: bool = False) -> bool:
    """Is a path below one of the directories, or, with `itself`, one of them?"""
    if itself and path in directories:
        return True
    while path != "/":
        path = parent(path)
        if path in directories:
            return True
    return False


def _kind(path: str, tree: World) -> str:
    found = tree.lstat(path)
    if found is None:
        return ""
    if stat.S_ISDIR(found.st_mode):
        return "directory"
    return "file" if stat.S_ISREG(found.st_mode) else "other"


def _names(paths: tuple[str, ...]) -> str:
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return ", ".join(visible(path) for path in paths[:_SHOWN]) + more
