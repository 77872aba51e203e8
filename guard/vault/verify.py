"""Verify: compares the tree with a manifest and says what happened to each protected path."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from guard.change import (
    CREATED,
    DIRECTORY,
    EDITED,
    EMPTIED,
    FILE,
    LEFT,
    LINK,
    MISSING,
    MOVED,
    NOT_JUDGED,
    RELINKED,
    REPLACED,
    RETYPED,
    REVERTED,
    TOUCHED,
    UNCHANGED,
    Entry,
    change,
    kind_of,
)
from guard.matching import KEEP, LOCK, PRESENT, RANK
from guard.paths import below, child, parent
from guard.policy import Policy
from guard.vault.evidence import Evidence
from guard.vault.look import different
from guard.vault.manifest import Manifest
from guard.vault.snapshot import entry_of, tops, walk, world
from guard.vault.store import Vault
from guard.world import World

if TYPE_CHECKING:
    from guard.vault.look import Found

AGAIN = (0.05, 0.15)  # seconds after which an absent file is looked for again: programs that save remove and create

# What is a violation, by level.
VIOLATIONS = {
    PRESENT: {MISSING, RETYPED, RELINKED, EMPTIED},  # git rewrites .git/HEAD as a whole
    KEEP: {MISSING, RETYPED, RELINKED, EMPTIED, REVERTED, REPLACED},
    LOCK: {MISSING, RETYPED, RELINKED, EMPTIED, REVERTED, REPLACED, EDITED, MOVED, CREATED},
}
# The same in the words that effects have.
ACTIONS = {
    MISSING: "delete", MOVED: "move", RETYPED: "overwrite", RELINKED: "link", EMPTIED: "truncate", REVERTED: "revert",
    REPLACED: "overwrite", EDITED: "edit", TOUCHED: "edit", CREATED: "create", LEFT: "leave", NOT_JUDGED: "edit",
}  # fmt: skip


@dataclass(frozen=True)
class Change:
    """What happened to one protected path. `old` is what the manifest has (for CREATED: what stands there now).

    `violation`: the level forbids it. `to`: where it was moved. `mode`: its permissions now, where they changed.
    """

    kind: str
    old: Entry
    violation: bool
    to: str = ""
    mode: int | None = None

    @property
    def path(self) -> str:
        """The absolute path."""
        return self.old.path

    @property
    def level(self) -> str:
        """The level that it was recorded with."""
        return self.old.level

    @property
    def action(self) -> str:
        """The action of an effect that would have done this."""
        return ACTIONS[self.kind]


def verify(
    manifest: Manifest,
    vault: Vault,
    policy: Policy,
    pause: Callable[[float], None] | None = None,
    unprotected: bool = False,
    shared: bool = False,
) -> list[Change]:
    """All that happened to the protected paths since a manifest, in the order of paths; what only was touched is left out.

    Levels are those of the manifest; the policy says what is protected among files that are new. With `unprotected`, entries
    without a level count, too, as in what was kept aside. `pause` lets time pass before a loss is looked at again. `shared`:
    several are at work, so that a new file with the same content may be somebody else's; only what was renamed counts as moved.
    """
    with vault.lock():
        hidden: list[Entry] = []
        found = list(different(manifest, hidden))
        if not found and not hidden and all(top in manifest.paths for top in tops(policy, manifest.head.root)):
            return []
        _look_again(found, pause or time.sleep)
        evidence = Evidence(manifest, vault, (entry.path for entry, _ in found))
        pin = policy.setting(manifest.head.root, "branches") == "pin"
        judged = [(entry, now) for entry, now in found if entry.level or unprotected]
        changes = [made for entry, now in judged if (made := _change(entry, now, manifest.head.before, evidence, pin))]
        changes += [Change(NOT_JUDGED, entry, False) for entry in hidden if entry.level]
        changes += _created(manifest, found, policy)
        return sorted(_with_moves(changes, shared), key=lambda each: os.fsencode(each.path))


def _look_again(found: list[Found], pause: Callable[[float], None]) -> None:
    for seconds in AGAIN:
        absent = [at for at, (entry, now) in enumerate(found) if now is None and entry.kind != DIRECTORY]
        if not absent:
            return
        pause(seconds)
        for at in absent:
            entry = found[at][0]
            found[at] = entry, _lstat(entry.path)


def _lstat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except (OSError, ValueError):
        return None


def _change(entry: Entry, now: os.stat_result | None, before: int, evidence: Evidence, pin: bool) -> Change | None:
    kind = change(entry, now, before, evidence)
    mode = now.st_mode & 0o7777 if now is not None and kind not in (RETYPED, RELINKED) and now.st_mode != entry.mode else None
    if kind == UNCHANGED or (kind == TOUCHED and (mode is None or entry.kind == LINK)):
        return None
    violation = _violates(entry, kind, mode, pin)
    if entry.level == PRESENT and not violation:
        return None
    return Change(kind, entry, violation, mode=mode)


def _violates(entry: Entry, kind: str, mode: int | None, pin: bool) -> bool:
    """Does the level forbid it? A directory that is gone is no loss; the files that were in it are."""
    if kind == LEFT:
        return pin and entry.level != PRESENT
    if kind == MISSING and entry.kind == DIRECTORY and entry.level == KEEP:
        return False
    if kind == REPLACED and entry.rewrite:
        return False
    if entry.level == LOCK and mode is not None:
        return True
    return kind in VIOLATIONS.get(entry.level, ())


def _created(manifest: Manifest, found: Iterable[Found], policy: Policy) -> Iterator[Change]:
    """What is protected and new, in directories whose times say that something came or went, and in what stands new there.

    What is protected only because a link that is new leads there does not count.
    """
    tree = world()
    known = set(manifest.paths)
    linked = [target for each in policy.roots for target, _ in each.aliases if target not in known]
    changed = [entry.path for entry, now in found if entry.kind == DIRECTORY and now is not None]
    roots = [top for top in tops(policy, manifest.head.root) if top not in known]
    for directory in [*changed, *roots]:
        for name in tree.listdir(directory) or ():
            path = child(directory, name)
            if path not in known and not any(below(path, target) for target in linked):
                yield from _new(path, policy, tree, known)


def _new(path: str, policy: Policy, tree: World, known: set[str]) -> Iterator[Change]:
    for new, level, now in walk(policy, path, tree):
        if new not in known and level and level != PRESENT:
            known.add(new)
            if kind_of(now.st_mode) == DIRECTORY and level != LOCK:
                continue
            yield Change(CREATED, entry_of(new, level, now), level == LOCK)


def _with_moves(changes: list[Change], shared: bool) -> Iterator[Change]:
    """Joins what is missing with what is new elsewhere under a level that is as strong, where it holds the same."""
    new = [each for each in changes if each.kind == CREATED and each.old.kind in (FILE, LINK)]
    moved: dict[str, Change] = {}
    for each in changes:
        to = next((other for other in new if _is_moved(each, other, shared)), None) if each.kind == MISSING else None
        if to is not None:
            new.remove(to)
            moved[each.path] = moved[to.path] = to
    for each in changes:
        if each.path not in moved:
            yield each
        elif each.kind == MISSING:
            yield Change(MOVED, each.old, each.level == LOCK, to=moved[each.path].path)


def _is_moved(gone: Change, new: Change, shared: bool) -> bool:
    old, now = gone.old, new.old
    if shared and (old.device, old.inode, old.mtime) != (now.device, now.inode, now.mtime):
        return False
    if old.kind != now.kind or RANK[new.level] < RANK[gone.level] or old.size != now.size:
        return False
    if old.kind == LINK:
        return old.link == now.link and parent(old.path) == parent(now.path)
    from guard.vault.content import digest

    return bool(old.digest) and digest(now.path) == old.digest
