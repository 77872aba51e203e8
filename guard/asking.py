"""Asking before a certain loss: only where the vault holds a fresh copy of everything that would go."""

from __future__ import annotations

import os

from guard.change import DIRECTORY, FILE, LINK, stamp
from guard.grants import out_of_bounds
from guard.matching import LOCK
from guard.verdict import ASK, CODES, DENY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.policy import Policy
    from guard.vault.manifest import Manifest
    from guard.verdict import Verdict, Victim


def softened(verdict: Verdict, policy: Policy, state: str | None) -> Verdict:
    """The verdict with its refusal turned into a question where all of it are losses that the vault can make good.

    Whatever stands in the way of knowing that leaves it a refusal.
    """
    refused = [victim for victim in verdict.victims if victim.decision == DENY]
    reasons = [reason for reason in verdict.reasons if reason.decision == DENY]
    if verdict.partial or not state or len(refused) < verdict.total or not all(CODES[r.code] == "loss" for r in reasons):
        return verdict
    if any(r.code == "lift-guard" for r in reasons) or any(_never(victim, policy) for victim in refused):
        return verdict
    if not _all_kept([victim.path for victim in refused], policy, state):
        return verdict
    return verdict._replace(
        decision=ASK,
        reasons=tuple(reason._replace(decision=ASK) for reason in verdict.reasons),
        victims=tuple(victim._replace(decision=ASK) for victim in verdict.victims),
        total=len(verdict.victims),
    )


def _never(victim: Victim, policy: Policy) -> bool:
    """What is never a matter of asking: what may not change, what is guard's own, what the vault has no whole copy of."""
    return victim.level == LOCK or out_of_bounds(victim.path, [policy]) or policy.setting(victim.path, "certain") != ASK


def _all_kept(paths: list[str], policy: Policy, state: str) -> bool:
    """Does the last snapshot of a project have each of these files as it is now?"""
    from guard.errors import GuardError
    from guard.vault.store import Vault

    left = set(paths)
    for root in sorted({root.path for root in policy.roots if any(path.startswith(root.path + "/") for path in paths)}):
        try:
            vault = Vault(state, root)
            manifest = vault.newest()
            contents = vault.contents() if manifest is not None else set()
        except (GuardError, OSError, ValueError):
            continue
        if manifest is not None:
            left -= {path for path in left if _kept(path, manifest, contents)}
    return not left


def _kept(path: str, manifest: Manifest, contents: set[bytes]) -> bool:
    entry = manifest.find(path)
    try:
        now = os.lstat(path)
    except OSError:
        return False
    if entry is None or entry.kind == DIRECTORY or stamp(now) != entry[3:9] or entry.ctime >= manifest.head.before:
        return False
    return entry.kind == LINK or (entry.kind == FILE and entry.digest in contents)
