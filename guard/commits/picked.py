"""Commits that git makes of others: cherry-pick and revert, am, rebase."""

from __future__ import annotations

import os

from guard.commits.changes import Change, between
from guard.commits.difference import DELETED
from guard.paths import child
from guard.shell.text import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.commits.git import Git

PICKING = ("cherry-pick", "revert")
OTHERS = ("commit", "merge", "pull")  # which git asks its other hooks about
PAST = "-n"  # how git leaves those out for a commit of its own
VALUED = ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env")  # git's options with a value
_REBASING = ("rebase-merge", "rebase-apply/rebasing")


def command(git: Git, arguments: list[str]) -> str:
    """The command that picks or reverts the commit whose message is prepared, such as "git revert"; "" for any other commit.

    The commits that a rebase picks were commits before, and one that is gone on with by hand has had the other hooks.
    """
    from guard import grants

    if rebasing(git):
        return ""
    callers = [words for words in map(str.split, grants.callers()) if words and words[0].rpartition("/")[2] == "git"]
    if not callers:  # the system does not tell
        return _by_state(git, arguments[0]) if arguments[1:2] == ["message"] else ""
    made_by = _subcommand(callers[0])
    if made_by == "commit" and PAST in callers[0] and len(callers) > 1:
        made_by = _subcommand(callers[1])
    if made_by in OTHERS:
        return ""
    return f"git {made_by}" if made_by in PICKING else _by_state(git, arguments[0])


def _subcommand(words: list[str]) -> str:
    """What git is told to do; an alias by its own name."""
    at = 1
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in VALUED else 1
    return words[at] if at < len(words) else ""


def rebasing(git: Git) -> bool:
    """Is a rebase going on?"""
    git_dir = git.git_dir()
    return any(os.path.lexists(child(git_dir, name)) for name in _REBASING)


def rebase(git: Git, arguments: list[str]) -> Change | None:
    """What a branch (HEAD without any) loses by a rebase onto the commit that git names first; None without a common history.

    That is what the other side has taken away since they parted, as far as the branch still has it. Raises Failed.
    """
    upstream, branch = (git.commit(each) for each in (*arguments, "HEAD", "HEAD")[:2])
    base = git.line("merge-base", upstream, branch) if upstream and branch else ""
    if not base:
        return None
    change = between(git, base, upstream, f"git rebase {quote(arguments[0])}")
    gone = {each.path for each in between(git, branch, upstream, "").found if each.status == DELETED}
    return change._replace(found=[each for each in change.found if each.status != DELETED or each.path in gone])


def _by_state(git: Git, message: str) -> str:
    """The same by what git has left in its directory and in the message."""
    if os.path.lexists(child(git.git_dir(), "CHERRY_PICK_HEAD")):
        return "git cherry-pick"
    try:
        with open(message, "rb") as file:
            return "git revert" if b"\nThis reverts commit " in file.read() else ""
    except OSError:
        return "git revert"
