"""What is to be judged: a change from one tree to another that a commit or a push makes, read from git."""

from __future__ import annotations

from guard.commits.difference import RAW, Difference, parsed
from guard.commits.git import Failed, Git, fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NamedTuple
else:
    from guard.record import NamedTuple

STEPS = 300  # commits of a range that are looked at one by one
_STAGED = "what is staged"
_OLD = "--diff-filter=DMT"  # what was there before: nothing is lost by what is new


class Change(NamedTuple):
    """A change of trees: the paths that were there before, and how to find those that are new.

    `source` names the commit that still has what is lost, "" for HEAD while a commit is made. `allowed` are the revisions
    whose commits' trailers count, as `git log` takes them. `steps` gives the changes that make this one up, None where they
    do not add up to it.
    """

    command: str
    found: list[Difference]
    added: Callable[[], list[Difference]]
    source: str = ""
    allowed: tuple[str, ...] = ()
    steps: Callable[[], list[Change] | None] = lambda: None


def staged(git: Git, command: str, merging: tuple[str, ...]) -> Callable[[], Change | None]:
    """Asks what the index takes from the commit that it stands on; gives what waits for the answer.

    That is None where there is no commit yet, so that nothing can be lost. `merging` are the commits that are being merged.
    Raises GuardError where git cannot tell.
    """
    base = ("diff-index", "--cached", *RAW)
    try:
        answer = git.start(*base, _OLD, "HEAD", "--")
    except Failed as error:
        raise fault(error, _STAGED) from error
    allowed = (*merging, "--not", "HEAD") if merging else ()

    def change() -> Change | None:
        try:
            found = parsed(answer())
        except Failed as error:
            if unborn(git):
                return None
            raise fault(error, _STAGED) from error
        return Change(command, found, lambda: parsed(git.run(*base, "--diff-filter=A", "HEAD", "--")), "", allowed)

    return change


def anything_staged(git: Git) -> bool:
    """Does the index differ from HEAD at all?"""
    try:
        return bool(git.run("diff-index", "--cached", "--name-only", "-z", "--no-renames", "HEAD", "--"))
    except Failed:
        return True


def unborn(git: Git) -> bool:
    """Is HEAD a branch without a commit?"""
    branch = git.line("symbolic-ref", "-q", "HEAD")
    return bool(branch) and not git.commit("HEAD") and not git.line("for-each-ref", "--count=1", "--format=%(refname)", branch)


def between(git: Git, old: str, new: str, command: str, forced: bool = False) -> Change:
    """What the way from one commit to another takes; `forced`: the old one is given up. Raises Failed."""
    base = ("diff-tree", "-r", *RAW)
    found = parsed(git.run(*base, _OLD, old, new, "--"))
    steps = _no_steps if forced else lambda: _steps(git, old, new, command)
    added = lambda: parsed(git.run(*base, "--diff-filter=A", old, new, "--"))  # noqa: E731
    return Change(command, found, added, old, (new, "--not", old), steps)


def _no_steps() -> None:
    return None


def _steps(git: Git, old: str, new: str, command: str) -> list[Change] | None:
    """The changes of each commit on the straight way from `old` to `new`, where there is one that is not too long."""
    words = ("--first-parent", "--parents", f"--max-count={STEPS + 1}", new, "--not", old, "--")
    lines = git.run("rev-list", *words).decode().split("\n")[:-1]
    way = [line.split(" ")[:2] for line in lines]
    if not way or len(way) > STEPS or len(way[-1]) < 2 or way[-1][1] != old:
        return None
    return [between(git, parent, commit, command) for commit, parent in way]
