"""What went missing by a checkout, a merge or a rewrite of commits, and how to get it back. It never blocks."""

from __future__ import annotations

import os

from guard.commits import told
from guard.commits.changes import between
from guard.commits.difference import DELETED
from guard.hot import answer
from guard.paths import child

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from guard.commits.court import Court

_BUSY = ("rebase-merge", "rebase-apply", "sequencer")  # commits are being picked one by one: what is not here now may come back


def tell(court: Court, old: str, new: str, command: str, environ: Mapping[str, str], over: bool = False) -> int:
    """Says what is gone since the commit `old` ("" where HEAD has not moved), and what since the last snapshot; gives 0.

    `over` says that all commits of a rewrite are there by now, though what git keeps of it may still stand there.
    """
    git_dir = court.git.git_dir()
    if not over and any(os.path.lexists(child(git_dir, name)) for name in _BUSY):
        return 0
    paths = _since_commit(court, old, new, command, environ) if old and old.strip("0") else set()
    _since_snapshot(court, paths, environ)
    return 0


def _since_commit(court: Court, old: str, new: str, command: str, environ: Mapping[str, str]) -> set[str]:
    """Tells it, and gives the paths (absolute)."""
    start, end = court.git.commit(old), court.git.commit(new)
    if not start or not end or start == end:
        return set()
    change = between(court.git, start, end, command)
    switching = command == "git checkout"
    if switching:  # another branch may have other contents; what it lacks is worth a word
        change = change._replace(found=[each for each in change.found if each.status == DELETED])
    finding = court.decide(change)
    if finding.honoured and not switching:
        answer.write(answer.ERROR, told.honoured(finding, command))
    missing = [each for each in finding.lost if _is_lost(court, each.path, each.status)]
    if missing:
        what = "this branch lacks" if switching else f"{command} took away or overwrote"
        answer.write(answer.ERROR, told.gone(missing, start, what, environ.get("GIT_PREFIX", "").rstrip("/")))
    return {child(court.top, each.path) for each in (*missing, *change.found)}


def _is_lost(court: Court, path: str, status: str) -> bool:
    return status != DELETED or not os.path.lexists(child(court.top, path))


def _since_snapshot(court: Court, told_already: set[str], environ: Mapping[str, str]) -> None:
    """What else of the last snapshot is missing: files that git does not know, or that went before."""
    from guard import project

    state = project.state_dir(environ)
    if state is None or not os.path.isdir(state):
        return
    from guard.change import MISSING
    from guard.commits.meant import Meant
    from guard.excuses import Leave
    from guard.shown import place
    from guard.vault.store import Vault
    from guard.vault.verify import verify

    vault = Vault(state, court.top)
    manifest = vault.newest()
    if manifest is None:
        return
    policy = court.bench.policy
    changes = [each for each in verify(manifest, vault, policy) if each.violation and each.kind == MISSING]
    leave, meant = Leave(manifest.head.time, court.top, policy, state), Meant(manifest, environ)
    paths = [place(each.path, court.top) for each in changes if not (each.path in told_already or leave(each) or meant(each))]
    if paths:
        answer.write(answer.ERROR, told.missing(paths))
