"""What a push does to the refs of a remote repository, as the changes of trees that there are to judge."""

from __future__ import annotations

import os

from guard.commits.changes import Change, between
from guard.commits.difference import DELETED, Difference
from guard.commits.git import Failed, Git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import NamedTuple
else:
    from guard.record import NamedTuple


class Update(NamedTuple):
    """One ref of a push: its name there, what it is to be ("" for nothing: it is deleted) and what it is now ("": new)."""

    ref: str
    new: str
    old: str

    @property
    def name(self) -> str:
        """The ref as people call it."""
        return self.ref.removeprefix("refs/heads/").removeprefix("refs/tags/")


class Unseen(NamedTuple):
    """A ref of a push whose state at the remote is not here, so that nobody can tell what it would lose."""

    update: Update


def of_lines(text: bytes) -> list[Update]:
    """The refs as git gives them to the hook: LOCAL-REF LOCAL-ID REMOTE-REF REMOTE-ID. Raises ValueError."""
    found = []
    for line in os.fsdecode(text).splitlines():
        if line.strip():
            _, new, ref, old = line.rsplit(" ", 3)
            found.append(Update(ref, _known(new), _known(old)))
    return found


def of_environment(git: Git, environ: Mapping[str, str]) -> list[Update] | None:
    """The ref that pre-commit names in the environment; None where it names none.

    Where it gives no range, the whole history is pushed, and the remote ref counts as far as it has been fetched.
    """
    ref, local = environ.get("PRE_COMMIT_REMOTE_BRANCH", ""), environ.get("PRE_COMMIT_LOCAL_BRANCH", "")
    old, new = environ.get("PRE_COMMIT_FROM_REF", ""), environ.get("PRE_COMMIT_TO_REF", "")
    if not ref:
        return None
    tracking = f"refs/remotes/{environ.get('PRE_COMMIT_REMOTE_NAME', '')}/{ref.removeprefix('refs/heads/')}"
    return [Update(ref, new or git.commit(local), old or git.commit(tracking))]


def changes(git: Git, updates: Iterable[Update], remote: str) -> list[Change | Unseen]:
    """What there is to judge of a push to a remote. Raises Failed."""
    found: list[Change | Unseen] = []
    for each in updates:
        made = _of(git, each, remote)
        found += [made] if made is not None else []
    return found


def _of(git: Git, update: Update, remote: str) -> Change | Unseen | None:
    command = f"git push {'' if update.new else '--delete '}{remote} {update.name}"
    if not update.old:
        base = _base(git, update.new, remote) if update.new else ""
        return between(git, base, update.new, command) if base else None
    if not git.commit(update.old):
        return Unseen(update)
    if not update.new:
        return _deletion(git, update, command, remote)
    forced = not _ancestor(git, update.old, update.new)
    return between(git, update.old, update.new, command, forced)


def _ancestor(git: Git, old: str, new: str) -> bool:
    try:
        git.run("merge-base", "--is-ancestor", old, new)
    except Failed:
        return False
    return True


def _base(git: Git, new: str, remote: str) -> str:
    """Where a new branch leaves what the remote has; "" where all of its history is new, or nothing of it."""
    known = f"--remotes={remote}" if git.line("for-each-ref", "--count=1", f"refs/remotes/{remote}/") else "--remotes"
    lines = git.run("rev-list", "--first-parent", "--parents", new, "--not", known, "--").decode().split("\n")[:-1]
    oldest = lines[-1].split(" ") if lines else []
    return oldest[1] if len(oldest) > 1 else ""


def _deletion(git: Git, update: Update, command: str, remote: str) -> Change | None:
    """What the remote loses with a ref: the files of its tip that no other of its branches has."""
    own = f"refs/remotes/{remote}/{update.name}"
    others = [ref for ref in _tracking(git, remote) if ref != own]
    if any(ref in others for ref in _tracking(git, remote, "--contains", update.old)):
        return None
    held = _files(git, others)
    gone = [each for each in _tree(git, update.old) if each.path not in held]
    return Change(command, gone, list, update.old)


def _tracking(git: Git, remote: str, *words: str) -> list[str]:
    """What is known of the branches of a remote; names that stand for another branch left out."""
    output = git.run("for-each-ref", "--format=%(refname) %(symref)", *words, f"refs/remotes/{remote}/")
    return [line.rstrip() for line in os.fsdecode(output).splitlines() if line.endswith(" ")]


def _tree(git: Git, commit: str) -> list[Difference]:
    """Every file of a commit as one that is gone."""
    found = []
    for record in os.fsdecode(git.run("ls-tree", "-r", "-z", "--full-tree", commit)).split("\0")[:-1]:
        head, _, path = record.partition("\t")
        mode, _, name = head.split(" ")
        found.append(Difference(DELETED, path, int(mode, 8), 0, name, "0" * len(name)))
    return found


def _files(git: Git, refs: Iterable[str]) -> set[str]:
    """The paths that the tips of some refs have."""
    tips = {commit for ref in refs if (commit := git.commit(ref))}
    return {each.path for tip in tips for each in _tree(git, tip)}


def _known(name: str) -> str:
    return name if name.strip("0") else ""
