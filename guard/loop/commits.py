"""Commits: what a run has left in the history, from the commit that it began with to the one that it ended with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from guard.git import Git, GitFailed
from guard.loop.state import Run

NAMED = 20  # commits that are named, the newest
FILES = 20  # files of the diffstat that are named
MOST = 1000  # commits that are counted
_SUBJECT = 100  # characters


@dataclass(frozen=True)
class Commit:
    """A commit by its full name, and the first line of its message."""

    name: str
    subject: str


@dataclass(frozen=True)
class File:
    """A file of the diffstat, with its added and removed lines; None for a binary one."""

    path: str
    added: int | None
    removed: int | None


@dataclass(frozen=True)
class Work:
    """What a run has left. `start` and `head` are "" where there was no commit yet.

    `count` is at most MOST, which `more` says. `commits` are the newest ones, newest first. `lost`: the start is no ancestor of
    the head (history was rewritten, or another branch is checked out). `gone`: git does not have the start any more.
    """

    start: str
    head: str
    count: int = 0
    more: bool = False
    commits: tuple[Commit, ...] = ()
    files: tuple[File, ...] = ()  # at most FILES
    changed: int = 0  # files
    added: int = 0  # lines
    removed: int = 0
    lost: bool = False
    gone: bool = False
    uncommitted: int = 0  # files of the index and the tree that differ from the head

    @property
    def command(self) -> str:
        """What shows all of it; "" where there is nothing to show."""
        if not self.head or self.start == self.head:
            return "git status" if self.uncommitted else ""
        return f"git log --stat {self.start[:12]}..{self.head[:12]}" if self.start and not self.gone else "git log --stat"

    def values(self) -> dict[str, Any]:
        """For --json."""
        return {
            "start": self.start or None,
            "head": self.head or None,
            "count": self.count,
            "more": self.more,
            "commits": [{"name": one.name, "subject": one.subject} for one in self.commits],
            "files": [{"path": one.path, "added": one.added, "removed": one.removed} for one in self.files],
            "changed": self.changed,
            "added": self.added,
            "removed": self.removed,
            "lost": self.lost,
            "gone": self.gone,
            "uncommitted": self.uncommitted,
            "command": self.command or None,
        }


def of_run(top: str, run: Run | None) -> Work | None:
    """What a run that has ended has left; None where there is none, no repository, or git cannot say."""
    return work(top, run.start, run.head) if run is not None and run.ended else None


def work(top: str, start: str, head: str) -> Work | None:
    """What lies between two commits; None where there is no repository, or git cannot say."""
    git = Git(top)
    if not git.usable:
        return None
    uncommitted = _uncommitted(git)
    if start == head or not head:
        return Work(start, head, uncommitted=uncommitted)
    try:
        gone = bool(start) and not git.line("rev-parse", "--verify", "-q", f"{start}^{{commit}}")
        known = (f"^{start}",) if start and not gone else ()
        count = 0 if gone else _count(git, head, known)
        commits = () if gone else _commits(git, head, known)
        lost = bool(known) and git.line("merge-base", start, head) != start
        files = () if gone else _files(git, start or _nothing(git), head)
    except GitFailed:
        return None
    return Work(
        start=start,
        head=head,
        count=min(count, MOST),
        more=count > MOST,
        commits=commits,
        files=files[:FILES],
        changed=len(files),
        added=sum(one.added or 0 for one in files),
        removed=sum(one.removed or 0 for one in files),
        lost=lost,
        gone=gone,
        uncommitted=uncommitted,
    )


def _uncommitted(git: Git) -> int:
    try:
        return git.run("status", "--porcelain", "-z", "--no-renames", "--untracked-files=normal").count(b"\0")
    except GitFailed:
        return 0


def _count(git: Git, head: str, known: tuple[str, ...]) -> int:
    return int(git.run("rev-list", "--count", f"--max-count={MOST + 1}", head, *known, "--"))


def _commits(git: Git, head: str, known: tuple[str, ...]) -> tuple[Commit, ...]:
    raw = git.run("log", f"--max-count={NAMED}", "--format=%H %s", "-z", head, *known, "--").decode("utf-8", "replace")
    pairs = (line.partition(" ") for line in raw.split("\0") if line)
    return tuple(Commit(name, subject[:_SUBJECT]) for name, _, subject in pairs)


def _files(git: Git, start: str, head: str) -> tuple[File, ...]:
    raw = git.run("diff", "--numstat", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", start, head, "--")
    rows = (line.split(b"\t", 2) for line in raw.split(b"\0") if line.count(b"\t") >= 2)
    return tuple(File(path.decode("utf-8", "replace"), _lines(added), _lines(removed)) for added, removed, path in rows)


def _nothing(git: Git) -> str:
    """git's name for a tree without files."""
    return git.run("hash-object", "-t", "tree", "--stdin").decode("ascii").strip()


def _lines(text: bytes) -> int | None:
    return int(text) if text.isdigit() else None
