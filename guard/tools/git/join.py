"""Commands that bring other commits' changes in: merge, pull, rebase, cherry-pick, revert, am, apply."""

from __future__ import annotations

import os

from guard.effects import DELETE, MOVE, At, Effect, Pattern, Somewhere
from guard.paths import child
from guard.tools.git.options import read, table
from guard.tools.git.questions import Item
from guard.tools.git.revision import between
from guard.tools.git.state import MADE
from guard.tools.git.transition import LOSE, go_over

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from guard.effects import Text
    from guard.tools.git.options import Given
    from guard.tools.git.work import Work

MERGE = table(
    flags="nqve",
    values="msXF",
    optional="S",
    long="""
    stat summary log? squash commit edit/e cleanup= ff ff-only rerere-autoupdate verify-signatures strategy=/s strategy-
    option=/X message=/m file=/F into-name= verbose quiet/q abort quit continue allow-unrelated-histories progress gpg-
    sign? autostash overwrite-ignore signoff verify
    """,
)
PICK = table(
    flags="enrsx",
    values="mX",
    optional="S",
    long="""
    quit continue abort skip cleanup= no-commit/n edit/e signoff mainline=/m rerere-autoupdate strategy= strategy-
    option=/X gpg-sign? ff allow-empty allow-empty-message keep-redundant-commits reference
    """,
)


def three_way(
    work: Work, base: Mapping[str, Item], ours: Mapping[str, Item], theirs: Mapping[str, Item]
) -> tuple[dict[str, Item], list[str], bool]:
    """The merged tree, the paths left in conflict by a deletion, and whether any content had to be merged (and may conflict).

    A path that only one side changed or deleted is that side's. A content that both changed is one that nobody has yet.
    """
    result = dict(ours)
    kept = []
    mixed = False
    for path in base.keys() | theirs.keys():
        old, here, there = base.get(path), ours.get(path), theirs.get(path)
        if there in (old, here):
            continue
        if here == old:
            if there is None:
                result.pop(path, None)
            else:
                result[path] = there
        elif there is None:
            kept.append(path)
            mixed = True
        else:
            result[path] = Item(there.mode, f"{MADE}merge:{path}:{work.state.serial}")
            mixed = True
    return result, kept, mixed


def _bring_in(work: Work, base: Mapping[str, Item], theirs: Mapping[str, Item]) -> tuple[int | None, dict[str, Item]]:
    """Merges into HEAD's tree and the work tree. Gives 0, 1 (a conflict; None: perhaps) or 2 (refused), and the tree."""
    ours = work.head_tree
    result, kept, mixed = three_way(work, base, ours, theirs)
    added = {item.blob for path, item in theirs.items() if path not in base}
    if not go_over(work, ours, result, LOSE):
        return 2, result
    for path in kept:
        if base[path].blob in added or _renamed(base, theirs, path):
            work.found.append(Effect(MOVE if base[path].blob in added else DELETE, At(work.path(path)), certain=False))
            return None, result
    return (1 if kept else None if mixed else 0), result


def _renamed(base: Mapping[str, Item], theirs: Mapping[str, Item], path: str) -> bool:
    """Whether the other side may have moved the file elsewhere: then our changes follow it there."""
    name = path.rpartition("/")[2]
    return any(other.rpartition("/")[2] == name for other in theirs if other not in base)


def staged_nothing(work: Work) -> bool:
    """Whether nothing is staged."""
    head = work.head_tree
    return len(head) == len(work.index) and all(head.get(path) == entry.item for path, entry in work.index.items())


def unchanged(work: Work) -> bool:
    """Whether there are no local changes to tracked files."""
    return staged_nothing(work) and not any(work.modified(path) for path in work.index)


def merge(work: Work, args: tuple[Text, ...]) -> int | None:
    """git merge: what the other side deleted since the common ancestor goes."""
    given = read(args, MERGE)
    if given.on("abort"):
        return back(work, "--merge", "MERGE_HEAD")
    if given.on("quit", "continue"):
        return None
    names = given.operands or ("@{upstream}",)
    return _merge_all(work, given, names)


def _merge_all(work: Work, given: Given, names: tuple[Text, ...]) -> int | None:
    status: int | None = 0
    for name in names:
        if isinstance(name, Pattern):
            return unclear(work)
        commit = work.resolve(name)
        if commit is None:
            return 1
        status = merge_one(work, given, commit)
        if status:
            return status
    return status


def unclear(work: Work) -> int | None:
    """Other commits come in, which is not known: anything committed may go."""
    work.certain = False
    work.effect(Effect(DELETE, Somewhere(work.top)))
    return None


def merge_one(work: Work, given: Given, commit: str) -> int | None:
    """Merges one commit into HEAD; `given` are the options of merge or pull."""
    head = work.head
    if head is None:
        return _unborn(work, commit)
    base = work.base(head, commit)
    if base == commit:
        return 0
    if base is None and not given.on("allow-unrelated-histories"):
        return 128
    strategy = given.value("s")
    status: int | None
    if base == head and not given.off("ff") and not given.on("squash") and strategy != "ours":
        if not go_over(work, work.head_tree, work.tree(commit), LOSE, overwrite_ignored=not given.off("overwrite-ignore")):
            return 1
        work.move_head(commit)
        return 0
    if given.on("ff-only"):
        return 128
    if not staged_nothing(work):
        return 2
    if strategy == "ours":
        status, result = 0, dict(work.head_tree)
    else:
        status, result = _bring_in(work, work.tree(base), work.tree(commit))
    if status == 2:
        return 2
    if given.on("squash") or given.off("commit") or status != 0:
        work.state = work.state._replace(merging=not given.on("squash"))
    else:
        work.move_head(work.make(result, (head, commit)))
    return status


def _unborn(work: Work, commit: str) -> int:
    if not go_over(work, {}, work.tree(commit), LOSE):
        return 1
    work.move_head(commit)
    return 0


def back(work: Work, mode: str, *marks: str) -> int | None:
    """--abort: back to where HEAD was; without a sign that something is going on git refuses."""
    from guard.tools.git.reset import reset

    if not work.state.merging and not any(work.has(mark) for mark in marks):
        return 128
    before = b""
    for name in ("rebase-merge/orig-head", "rebase-apply/orig-head", "sequencer/head", "rebase-apply/abort-safety"):
        before = before or work.view.read(child(work.repository.dir, name)) or b""
    return reset(work, (mode, os.fsdecode(before).strip() or "HEAD"))


def cherry_pick(work: Work, args: tuple[Text, ...]) -> int | None:
    """git cherry-pick: what a commit changed against its parent is done again."""
    return _pick(work, args, forward=True)


def revert(work: Work, args: tuple[Text, ...]) -> int | None:
    """git revert: what a commit changed against its parent is undone."""
    return _pick(work, args, forward=False)


def _pick(work: Work, args: tuple[Text, ...], forward: bool) -> int | None:
    given = read(args, PICK)
    if given.on("abort"):
        return back(work, "--merge", "CHERRY_PICK_HEAD", "REVERT_HEAD", "sequencer")
    if given.on("quit", "continue", "skip"):
        return None
    commits: list[str] = []
    for name in given.operands:
        if isinstance(name, Pattern):
            return unclear(work)
        found = _commits(work, name)
        if not found:
            return 128
        commits += found
    if not forward:
        commits = commits[::-1] if any(".." in str(name) for name in given.operands) else commits
    for commit in commits:
        status = _pick_one(work, given, commit, forward)
        if status != 0:
            return status
    return 0 if not given.on("e") else None


def _commits(work: Work, name: str) -> list[str]:
    if name.endswith(("^!", "^-")):
        name = name[:-2]
    start, dots, end = name.partition("..")
    if not dots or name.startswith("..."):
        commit = work.resolve(name)
        return [commit] if commit is not None else []
    ends = work.resolve(start or "HEAD"), work.resolve(end.lstrip(".") or "HEAD")
    return between(work, ends[0], ends[1]) if ends[0] and ends[1] else []


def _pick_one(work: Work, given: Given, commit: str, forward: bool) -> int | None:
    parents = work.parents(commit)
    mainline = given.value("m")
    if len(parents) > 1 and mainline is None:
        return 1
    number = int(mainline) - 1 if isinstance(mainline, str) and mainline.isdigit() else 0
    parent = work.tree(parents[number]) if 0 <= number < len(parents) else {}
    mine = work.tree(commit)
    before, after = (parent, mine) if forward else (mine, parent)
    if not given.on("n") and not staged_nothing(work):
        return 128
    status, result = _bring_in(work, before, after)
    if status == 0 and not given.on("n"):
        head = work.head
        if result == dict(work.head_tree) and not given.on("allow-empty", "keep-redundant-commits"):
            return 1
        work.move_head(work.make(result, (head,) if head else ()))
    return status
