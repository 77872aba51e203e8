"""Watch: what was protected when a command started, and what is done about it when the command is over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from guard.change import LEFT, MOVED
from guard.policy import Policy
from guard.vault.manifest import Manifest
from guard.vault.restore import CAME_BACK, REMOVED, RESTORED, Restored, lost, repair
from guard.vault.snapshot import Progress, Snapshot, snapshot, world
from guard.vault.store import Vault
from guard.vault.verify import Change, verify

Excused = Callable[[Change], bool]  # is it what a rule allows this very command?


@dataclass(frozen=True)
class Watch:
    """One root under watch. While this lives its snapshot is not cleared away. `shared`: others are at work there, too."""

    root: str
    policy: Policy
    taken: Snapshot
    shared: bool = False

    @property
    def manifest(self) -> Manifest:
        """What was protected at the start."""
        return self.taken.manifest


@dataclass(frozen=True)
class Aftermath:
    """What came of one root: what was lost, with what became of it, and what a person has to decide."""

    watch: Watch
    done: tuple[Restored, ...] = ()
    left: tuple[Change, ...] = ()

    @property
    def undone(self) -> bool:
        """Is everything that was lost there again?"""
        return all(map(self.well, self.done))

    @staticmethod
    def well(each: Restored) -> bool:
        """Is there again what was lost, or something that has come back by itself?"""
        return each.outcome in (RESTORED, REMOVED, CAME_BACK)


def begin(roots: Iterable[str], policy: Policy, state: str | None, reason: str, progress: Progress | None = None) -> list[Watch]:
    """Takes a snapshot of each root that has something protected. Raises GuardError where one cannot be kept."""
    tree = world()
    found = [root for root in roots if next(policy.protected(root, tree), None) is not None]
    return [Watch(root, policy, snapshot(root, policy, Vault(state, root), reason, progress)) for root in found]


def over(watch: Watch, excused: Excused = lambda change: False) -> Aftermath:
    """Looks at a root again and brings back what was lost, but for what is excused.

    Raises GuardError where what stands in the way cannot be kept; then nothing has been done.
    """
    vault = watch.taken.vault
    changes = [each for each in verify(watch.manifest, vault, watch.policy, shared=watch.shared) if not excused(each)]
    left = tuple(each for each in changes if each.kind == LEFT or (each.kind == MOVED and each.violation))
    if not any(map(lost, changes)):
        return Aftermath(watch, left=left)

    def wanted(change: Change) -> bool:
        return lost(change) and not excused(change)

    done = repair(watch.manifest, vault, watch.policy, wanted, shared=watch.shared)
    return Aftermath(watch, tuple(done), left)


def release(watches: Sequence[Watch]) -> None:
    """Ends the watch; the snapshots may be cleared away from now on."""
    for watch in watches:
        watch.taken.pin.release()
