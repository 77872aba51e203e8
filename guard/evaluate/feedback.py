"""Feedback: what came back later against work that had seemed good, and the dimension that it counts against."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from guard.git import Git, GitFailed
from guard.loop.similarity import fingerprint
from guard.report.history import Iteration

REVERTED, SAME_FAILURE, REJECTED, OVERRIDDEN = "reverted", "same_failure", "rejected", "overridden"
CORRECTNESS, EFFICIENCY, SAFETY, ALIGNMENT = DIMENSIONS = ("correctness", "efficiency", "safety", "alignment")
DEDUCTS: dict[str, tuple[str, ...]] = {
    REVERTED: (CORRECTNESS,),
    SAME_FAILURE: (ALIGNMENT,),
    REJECTED: DIMENSIONS,
    OVERRIDDEN: (ALIGNMENT,),
}
DAY_MS = 86_400_000
_REVERTS = re.compile(rb"This reverts commit ([0-9a-f]{7,64})")


@dataclass(frozen=True)
class Found:
    """One thing that came back. `reference` is a commit, or an iteration."""

    kind: str
    reference: str
    detail: str


def reverted(top: str, iterations: Iterable[Iteration]) -> Iterator[Found]:
    """The commits of a loop that somebody took back within a day. A tree without git has none."""
    made = {commit: one.ended or one.began for one in iterations for commit in one.files.commits}
    if not made:
        return
    for t, taken, by in _reverts(top, min(made.values())):
        for commit in (each for each in made if each.startswith(taken)):
            if 0 <= t - made[commit] + 1000 <= DAY_MS + 1000:  # git's times have whole seconds
                yield Found(REVERTED, commit, f"by {by[:12]}")


def _reverts(top: str, since: int) -> Iterator[tuple[int, str, str]]:
    """When each revert since a time was made, of which commit, and by which."""
    try:
        raw = Git(top).run(
            "log", "--all", f"--since={since // 1000 - 1}", "-z", "--format=%ct %H%n%B", "--grep=This reverts commit"
        )
    except GitFailed:
        return
    for entry in raw.split(b"\0"):
        head, _, body = entry.partition(b"\n")
        time, _, commit = head.partition(b" ")
        for found in _REVERTS.finditer(body):
            if time.isdigit():
                yield int(time) * 1000, found[1].decode(), commit.decode()


def same_failures(iterations: Sequence[Iteration]) -> Iterator[Found]:
    """The errors that were gone after a task was done, and were there again within a day."""
    gone: dict[str, tuple[int, str]] = {}
    there: set[str] = set()
    for one in iterations:
        if one.void:
            continue
        now = {fingerprint(line): line for line in one.reply.errors}
        for mark in now.keys() & gone.keys():
            t, task = gone.pop(mark)
            if one.began - t <= DAY_MS:
                yield Found(SAME_FAILURE, f"{one.run}#{one.n}", f"after {task}: {now[mark][:200]}")
        if one.completed:
            gone |= dict.fromkeys(there - now.keys(), (one.ended, one.completed[0]))
            there &= now.keys()
        there |= now.keys()


def marks(kinds: Iterable[str]) -> dict[str, int]:
    """How often each dimension was counted against."""
    counts = dict.fromkeys(DIMENSIONS, 0)
    for kind in kinds:
        for dimension in DEDUCTS.get(kind, ()):
            counts[dimension] += 1
    return counts


def fresh(found: Iterable[Found], known: Collection[tuple[str, str]]) -> list[Found]:
    """What was not recorded before. `known`: kinds and references."""
    seen = set(known)
    new = []
    for one in found:
        if (one.kind, one.reference) not in seen:
            seen.add((one.kind, one.reference))
            new.append(one)
    return new
