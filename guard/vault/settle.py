"""Settling: what is done about protected files when one of several tools that run at once is over.

What a tool did is told from the snapshot it started from. Other tools' snapshots since then are steps on the way: as long as
each step is an edit, or what a tool was approved to write, the way is no loss, however far it leads.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from guard.change import (
    CREATED,
    DIRECTORY,
    EDITED,
    EMPTIED,
    FILE,
    LINK,
    MISSING,
    RELINKED,
    REPLACED,
    RETYPED,
    REVERTED,
    TOUCHED,
    Entry,
    blank,
    kind_of_change,
)
from guard.excuses import Leave
from guard.matching import LOCK
from guard.paths import below
from guard.policy import Policy
from guard.vault import content, uses
from guard.vault.evidence import LARGE, large_change
from guard.vault.manifest import Damaged, Manifest
from guard.vault.names import ASIDE
from guard.vault.report import lines, record
from guard.vault.restore import lost
from guard.vault.snapshot import Snapshot, snapshot
from guard.vault.store import Pin, Vault
from guard.vault.uses import Use
from guard.vault.verify import Change, verify
from guard.vault.watch import Aftermath, Watch, over

LAYER = "after"  # of the decisions in the log
NO_SHELL = "(a tool that is no shell)"  # what stands for the command there
FRESH = 60.0  # seconds for which an approved write may be going on; who was refused by a person never ends
AGAIN = 0.2  # seconds after which a loss is looked at again while others may be in the middle of saving a file
PATIENCE = 10.0  # seconds to wait for another tool that is being settled
GONE = (MISSING, RETYPED, RELINKED, EMPTIED)  # what no write comes to
WRITTEN = (REPLACED, EDITED, REVERTED, CREATED, TOUCHED)  # what an approved write may do


def settle(use: Use, roots: Sequence[str], policy: Policy, cwd: str, environ: Mapping[str, str], state: str) -> str:
    """Brings back what was lost in these roots since a use of a tool began; gives what is to be said of it, "" for no loss.

    Raises GuardError where what stands in the way cannot be kept; then nothing has been done.
    """
    with _alone(state):
        others = uses.others(state, use)
        allowed = _Allowed(use, others, policy, state)
        running = [other for other in others if not other.over]
        found = [_settled(root, use, allowed, policy, state) for root in roots]
        alone = "while a command ran in the background" if use.lingers else "while this tool ran"
        during = f"while {len(others) + 1} tools ran" if others else alone
        name = record(found, use.command or NO_SHELL, cwd, LAYER, environ, state)
        said = "\n".join(lines(found, during, cwd, name)) if any(map(_matters, found)) else ""
        for other in running:
            if said and not other.lingers:  # what goes on alone has nobody who could be told
                uses.tell(state, other, said)
        if running:
            for root in roots:
                snapshot(root, policy, Vault(state, root), LAYER).pin.release()
    return said


def _matters(found: Aftermath) -> bool:
    return bool(found.done) or any(each.violation for each in found.left)


def _settled(root: str, use: Use, allowed: _Allowed, policy: Policy, state: str) -> Aftermath:
    vault = Vault(state, root)
    manifest = vault.named(use.baselines[root])
    way = Manifest.of(manifest.head, _steps(manifest, vault, policy, allowed)) if allowed.others else manifest
    watch = Watch(root, policy, Snapshot(vault, way, Pin(vault, manifest.head.name), fresh=False), shared=bool(allowed.others))
    leave = Leave(use.time, root, policy, state)
    try:
        found = over(watch, lambda change: allowed.excuses(change) or leave(change))
        leave.settle()
        return found
    finally:
        watch.taken.pin.release()


def _later(vault: Vault, manifest: Manifest) -> list[str]:
    """The names of the snapshots since a manifest, oldest first."""
    return [name for name in vault.names() if name > manifest.head.name]


def _steps(manifest: Manifest, vault: Vault, policy: Policy, allowed: _Allowed) -> Iterator[Entry]:
    """The entries of a manifest, those that seem lost as of the last snapshot to which only edits lead."""
    changes = verify(manifest, vault, policy, shared=True)
    gone = {each.path: each.kind for each in changes if lost(each) and not allowed.excuses(each)}
    if gone:
        time.sleep(AGAIN)
    later = []
    for name in _later(vault, manifest) if gone else ():
        with suppress(Damaged, OSError):
            later.append(vault.load(name))
    for entry in manifest:
        if entry.path in gone:
            entry = _followed(entry, [each for each in later if each.head.reason != ASIDE], vault, allowed, gone[entry.path])
        yield entry


def _followed(entry: Entry, later: Sequence[Manifest], vault: Vault, allowed: _Allowed, kind: str) -> Entry:
    for manifest in later:
        step = manifest.find(entry.path)
        if step is None or not _is_edit(entry, step, vault, allowed, kind):
            break
        entry = step
    return entry


def _is_edit(old: Entry, new: Entry, vault: Vault, allowed: _Allowed, kind: str) -> bool:
    """May what stood there have become this, on the way to what `kind` says?"""
    if old.kind != new.kind or old.kind != FILE:
        return old.kind == new.kind == LINK and old.link == new.link
    if old.digest == new.digest:
        return True
    try:
        how = _how(old, new, vault)
        edit = how == EDITED or (how == REPLACED and old.rewrite)
        if edit and old.level != LOCK and kind != REVERTED:
            return True
        return how != EMPTIED and allowed.wrote(old.path, lambda: b"".join(vault.read(new.digest)), new.size)
    except Damaged:
        return False


def _how(old: Entry, new: Entry, vault: Vault) -> str:
    if max(old.size, new.size) > LARGE:
        return large_change(lambda: vault.read(old.digest), lambda: vault.read(new.digest))
    return kind_of_change(b"".join(vault.read(old.digest)), b"".join(vault.read(new.digest)))


@dataclass
class _Allowed:
    """What the uses that ran at the same time were allowed to do."""

    use: Use
    others: Sequence[Use]
    policy: Policy
    state: str

    def excuses(self, change: Change) -> bool:
        """Is it what one of them was allowed? One that has begun since they were looked up counts, too."""
        if self._excuses(change):
            return True
        self.others = uses.others(self.state, self.use)
        return self._excuses(change)

    def _excuses(self, change: Change) -> bool:
        if any(below(change.path, path) for each in self._all() for path in each.losses):
            return True
        if any(change.path in each.writes and not each.over and self._is_fresh(each) for each in self.others) and not _stays_gone(
            change
        ):
            return True  # it is being written, and looked at when that is done
        today = time.strftime("%Y-%m-%d")
        directory = change.old.kind == DIRECTORY
        commands = {each.command for each in self._all() if each.command}
        if any(self.policy.excuse(command, change.path, today, directory) is not None for command in commands):
            return True
        if change.kind not in WRITTEN or change.old.kind != FILE:
            return False
        return self.wrote(change.path, lambda: b"".join(content.read(change.path)), change.old.size)

    def wrote(self, path: str, read: Callable[[], bytes], size: int) -> bool:
        """Is what a path holds what one of them was approved to write there, edited at most?"""
        for use in self._all():
            if path not in use.writes:
                continue
            text = use.writes[path]
            if text is None:
                if use is self.use or use.over or self._is_fresh(use):
                    return True
            elif size <= LARGE:
                with suppress(content.Unreadable):
                    if kind_of_change(text, read()) in (TOUCHED, EDITED):
                        return True
        return False

    @staticmethod
    def _is_fresh(use: Use) -> bool:
        return time.time() - use.time < FRESH

    def _all(self) -> list[Use]:
        return [self.use, *self.others]


def _stays_gone(change: Change) -> bool:
    """Has a path nothing of a file in it, and not because somebody is in the middle of writing it?"""
    if change.kind not in GONE:
        return False
    time.sleep(AGAIN)
    try:
        return not os.path.isfile(change.path) or os.path.islink(change.path) or blank(b"".join(content.read(change.path)))
    except content.Unreadable:
        return True


@contextmanager
def _alone(state: str) -> Iterator[None]:
    """Lets one tool be settled after the other, so that each loss is told once; not for ever, should one hang."""
    end = time.monotonic() + PATIENCE
    fd = -1
    with suppress(OSError):
        fd = os.open(f"{uses.place(state)}/{uses.LOCK}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        while fd >= 0 and time.monotonic() < end:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                time.sleep(0.02)
        yield
    finally:
        if fd >= 0:
            os.close(fd)
