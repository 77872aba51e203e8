"""git rebase and pull."""

from __future__ import annotations

from guard.effects import Pattern
from guard.tools.git.join import back, merge_one, three_way, unchanged, unclear
from guard.tools.git.options import read, table
from guard.tools.git.revision import between
from guard.tools.git.todo import PICKS, steps_of
from guard.tools.git.transition import LOSE, SWITCH, go_over

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.effects import Text
    from guard.tools.git.options import Given
    from guard.tools.git.work import Work


PULL = table(
    flags="nqvefaktpr46",
    values="msXFj",
    optional="S",
    long="""
    stat summary log? squash commit edit/e cleanup= ff ff-only rerere-autoupdate verify-signatures strategy=/s strategy-
    option=/X message=/m file=/F into-name= verbose quiet/q abort quit continue allow-unrelated-histories progress gpg-
    sign? autostash overwrite-ignore signoff verify rebase?/r all append upload-pack= force tags prune jobs= dry-run keep
    depth= unshallow recurse-submodules? set-upstream update-shallow
    """,
)
REBASE = table(
    flags="qvnifmkpr",
    values="sXxC",
    optional="Sr",
    long="""
    onto= keep-base verify quiet verbose stat signoff committer-date-is-author-date reset-author-date ignore-date ignore-
    whitespace whitespace= force-rebase no-ff continue skip abort quit edit-todo show-current-patch apply merge
    interactive/i rerere-autoupdate empty= keep-empty autosquash update-refs gpg-sign? autostash exec=/x rebase-merges?/r
    fork-point strategy=/s strategy-option=/X root reschedule-failed-exec reapply-cherry-picks preserve-merges
    """,
)


def pull(work: Work, args: tuple[Text, ...]) -> int | None:
    """git pull: as far as what would be fetched has been fetched before. What is new there cannot be known."""
    given = read(args, PULL)
    if given.on("dry-run"):
        return None
    names = [name for name in given.operands if isinstance(name, str)]
    known = _known(names)
    commit = work.resolve(known)
    if commit is None:
        return None
    rebasing = given.value("r") if given.on("r") else work.config("pull.rebase")
    told = given.options.last("r", "no-r", "ff", "no-ff", "ff-only") or rebasing or work.config("pull.ff")
    if not told and work.head is not None and work.base(work.head, commit) not in (work.head, commit):
        return 128
    if given.on("r") or (rebasing not in (None, "false", "no") and not given.off("r")):
        _rebase_onto(work, commit, commit, autostash=given.on("autostash"))
    else:
        merge_one(work, given, commit)
    return None


def _known(names: list[str]) -> str:
    """What would be pulled, by the name under which it was fetched last."""
    if len(names) < 2:
        return "@{upstream}"
    source = names[1].removeprefix("+").partition(":")[0]
    return source if names[0] == "." else f"{names[0]}/{source}"


def rebase(work: Work, args: tuple[Text, ...]) -> int | None:
    """git rebase: the branch's own changes on top of another commit; what that lacks goes, unless the branch changed it."""
    given = read(args, REBASE)
    if given.on("abort"):
        return back(work, "--hard", "rebase-merge", "rebase-apply")
    if given.on("quit", "continue", "skip", "edit-todo", "show-current-patch"):
        return None
    names = given.operands
    onto = given.value("onto")
    if any(isinstance(name, Pattern) for name in (*names, onto)):
        return unclear(work)
    status = _rebase(work, given, [str(name) for name in names], None if onto is None else str(onto))
    if status in (0, None):
        for text in given.options.values("x"):
            work.run_text(text)
            status = None
    return status


def _rebase(work: Work, given: Given, names: list[str], onto: str | None) -> int | None:
    if not given.on("autostash") and not work.flag("rebase.autostash") and not unchanged(work):
        return 1
    if len(names) > 1:
        target = work.resolve(names[1])
        if target is None or not go_over(work, work.head_tree, work.tree(target), SWITCH):
            return 1
        full = work.ref(f"refs/heads/{names[1]}")
        work.move_head(target, full or target)
    if given.on("root"):
        return None if onto is None else _rebase_onto(work, None, work.resolve(onto), True)
    upstream = work.resolve(names[0] if names else "@{upstream}")
    if upstream is None:
        return 128
    place = upstream if onto is None else work.resolve(onto)
    if place is None:
        return 128
    if given.on("i") and work.head is not None:
        commits = between(work, upstream, work.head)
        steps = steps_of(work, commits)
        if steps is None or [step[1] for step in steps if step[0] in PICKS] != commits or len(steps) > len(commits):
            return _replay(work, place, steps)
    return _rebase_onto(work, upstream, place, True)


def _replay(work: Work, onto: str, steps: list[tuple[str, str]] | None) -> int | None:
    """The chosen commits on top of another one; which ones, is not known where `steps` is None."""
    ours, result = work.head_tree, dict(work.tree(onto))
    if steps == []:
        return 1
    for verb, name in steps or ():
        if verb in PICKS:
            parents = work.parents(name)
            result, kept, _ = three_way(work, work.tree(parents[0] if parents else None), result, work.tree(name))
            if kept:
                return 1
    work.certain = steps is not None
    gone = go_over(work, ours, result, LOSE, merge=True)
    work.certain = True
    if not gone:
        return 1
    work.move_head(work.make(result, (onto,)))
    for verb, text in steps or ():
        if verb in ("exec", "x"):
            work.run_text(text)
    return None


def _rebase_onto(work: Work, upstream: str | None, onto: str | None, autostash: bool) -> int | None:
    head = work.head
    if onto is None or head is None or (not autostash and not unchanged(work)):
        return 1
    base = work.base(head, upstream) if upstream is not None else None
    if base == onto:
        return 0
    old, ours, theirs = work.tree(base), work.head_tree, work.tree(onto)
    result, kept, mixed = three_way(work, old, ours, theirs)
    if not go_over(work, ours, result, LOSE, merge=autostash):
        return 1
    committed = {path: item for path, item in result.items() if path not in kept}
    work.move_head(onto if base == head else work.make(committed, (onto,)))
    return 1 if kept else None if mixed else 0
