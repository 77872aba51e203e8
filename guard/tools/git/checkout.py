"""git checkout and switch."""

from __future__ import annotations

from guard.effects import LEAVE, REVERT, At, Effect, Pattern, Somewhere
from guard.paths import child
from guard.tools.git.index import Entry
from guard.tools.git.options import read, table
from guard.tools.git.reading import answered, listed
from guard.tools.git.transition import LOSE, SWITCH, arrive, ask_held, force, go, go_over

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from guard.effects import Text
    from guard.tools.git.options import Given
    from guard.tools.git.pathspec import Pathspec
    from guard.tools.git.questions import Item
    from guard.tools.git.work import Work

CHECKOUT = table(
    flags="qfdlmp23t",
    values="bB",
    long="""
    quiet/q progress force/f ours/2 theirs/3 detach/d track?/t guess orphan= ignore-skip-worktree-bits merge/m conflict=
    patch/p ignore-other-worktrees overwrite-ignore recurse-submodules? overlay pathspec-from-file= pathspec-file-nul
    """,
)
SWITCH_TABLE = table(
    flags="qfdmt",
    values="cC",
    long="""
    quiet/q progress force/f discard-changes/f create=/c force-create=/C detach/d track?/t guess orphan= merge/m conflict=
    ignore-other-worktrees overwrite-ignore recurse-submodules?
    """,
)


def checkout(work: Work, args: tuple[Text, ...]) -> int | None:
    """git checkout: branches or paths, told apart as git does."""
    given = read(args, CHECKOUT)
    listing = given.value("pathspec-from-file")
    branch = given.value("b", "B", "orphan")
    before, after = given.before, given.after
    if given.on("p"):
        return _patched(work, given, before[1:] if before and _is_revision(work, before[0]) else before, after)
    if listing is not None:
        paths = listed(work, listing, given.on("pathspec-file-nul"))
        return 128 if paths is None else _paths(work, given, before[0] if before else None, paths)
    if branch is not None:
        return _branches(work, given, branch, before[0] if before else None)
    if after is not None and (after or not before):
        if len(before) > 1:
            return 128
        return _paths(work, given, before[0] if before else None, after) if after else _branches(work, given, None, None)
    if not before:
        return _branches(work, given, None, "HEAD" if given.on("d") else None)
    first, rest = before[0], before[1:]
    if isinstance(first, Pattern):
        return _either(work, given, first, rest)
    if _is_revision(work, first):
        if not rest:
            return _branches(work, given, None, first)
        return 128 if work.call.kind(first) is not None else _paths(work, given, first, rest)
    if not rest and after is None and work.call.kind(first) is None and (remote := _remote(work, first)) is not None:
        return _branches(work, given, first, remote)
    return _paths(work, given, None, before)


def _is_revision(work: Work, name: Text) -> bool:
    return name == "-" or (isinstance(name, str) and (work.resolve(name) is not None or _is_tree(work, name)))


def _is_tree(work: Work, name: str) -> bool:
    return (":" in name or "^{" in name) and not name.startswith(":") and work.questions.object(name) is not None


def _remote(work: Work, name: str) -> str | None:
    """The one remote branch of that name, of which git makes a local one."""
    remotes = {key.split(".")[1] for key in work.questions.config() if key.startswith("remote.") and key.count(".") > 1}
    found = [ref for ref in (f"refs/remotes/{remote}/{name}" for remote in sorted(remotes)) if work.ref(ref)]
    return found[0] if len(found) == 1 else None


def _patched(work: Work, given: Given, before: tuple[Text, ...], after: tuple[Text, ...] | None) -> int | None:
    """Hunk by hunk, as the input says: without input nothing happens."""
    if not answered(work):
        return 0
    work.certain = False
    return paths_from(work, None, work.pathspec(after if after is not None else before), worktree=True)


def _either(work: Work, given: Given, first: Pattern, rest: tuple[Text, ...]) -> int | None:
    """An operand that is not known: a branch, or a path."""
    work.certain = False
    if not given.on("f"):
        paths_from(work, None, work.pathspec((first, *rest)), worktree=True)
    return _anywhere(work, given)


def _anywhere(work: Work, given: Given) -> int | None:
    """To a branch that is not known."""
    work.certain = False
    if given.on("f"):
        force(work, work.head_tree, SWITCH)
    work.effect(Effect(LEAVE, Somewhere(work.top)))
    return None


def _paths(work: Work, given: Given, source: Text | None, operands: tuple[Text, ...]) -> int | None:
    spec = work.pathspec(operands)
    if isinstance(source, Pattern):
        work.certain = False
        any_version(work, spec)
        return None
    tree = None if source is None else tree_of(work, source)
    if source is not None and tree is None:
        return 128
    merged = given.on("2", "3", "m", "f")
    return paths_from(work, tree, spec, worktree=True, staged=tree is not None, overlay=not given.off("overlay"), unmerged=merged)


def any_version(work: Work, spec: Pathspec) -> None:
    """The paths may come to hold any committed content."""
    for path in work.index:
        blob = work.blob(path)
        if spec.match(path) and blob is not None:
            if not work.held(path, blob):
                work.effect(Effect(REVERT, At(work.path(path))))
            else:
                work.effect(Effect(LEAVE, At(work.path(path))))


def tree_of(work: Work, revision: str) -> Mapping[str, Item] | None:
    """The files of a commit or tree, None where there is none of that name."""
    commit = work.resolve("@{-1}" if revision == "-" else revision)
    if commit is not None:
        return work.tree(commit)
    return work.tree(found) if (found := work.questions.object(revision)) is not None else None


def paths_from(
    work: Work,
    tree: Mapping[str, Item] | None,
    spec: Pathspec,
    *,
    worktree: bool = False,
    staged: bool = False,
    overlay: bool = True,
    unmerged: bool = False,
) -> int:
    """The paths as a tree (None: the index) has them come to the work tree, the index, or both. Gives the exit status."""
    index = work.index
    source = {path: entry.item for path, entry in index.items() if not entry.intent} if tree is None else tree
    known = source if overlay or tree is None else [*source, *index]
    if spec.outside or spec.unmatched(known):
        return 128 if spec.outside else 1
    matched = [path for path in source if spec.match(path)]
    if tree is None and not unmerged and any(index[path].stage for path in matched):
        return 1
    gone = [] if overlay or tree is None else [path for path in index if path not in source and spec.match(path)]
    if worktree:
        _apply(work, matched, source, gone, spec)
    if staged:
        entries = {path: entry for path, entry in index.items() if path not in gone}
        work.stage(
            {
                **entries,
                **{path: Entry(source[path]) for path in matched if path not in index or index[path].item != source[path]},
            }
        )
    return 0


def _apply(work: Work, matched: list[str], source: Mapping[str, Item], gone: list[str], spec: Pathspec) -> None:
    index = work.index
    certain = work.certain
    changed = [p for p in matched if not (p in index and index[p].absent) and work.blob(p) != source[p].blob]
    ask_held(work, changed)
    for path in gone + changed:
        work.certain = certain and spec.sure(path)
        if path in source:
            arrive(work, path, source[path], LOSE)
        else:
            go(work, path, LOSE)
    work.certain = certain


def _branches(work: Work, given: Given, branch: Text | None, start: Text | None) -> int | None:
    """Another branch, or a new one, is checked out."""
    if isinstance(start, Pattern):
        return _anywhere(work, given)
    forced = given.on("f")
    orphan = given.value("orphan")
    name = branch if isinstance(branch, str) else None if branch is None else "guard-unknown"
    if name is not None and given.on("b", "c") and work.ref(f"refs/heads/{name}") and not given.on("B", "C"):
        return 128
    if orphan is not None and name is not None and work.ref(f"refs/heads/{name}"):
        return 128
    target, ref = _target(work, given, start)
    if start is not None and target is None:
        return 128 if branch is not None else 1
    if ref is not None and name is None and not given.on("ignore-other-worktrees", "d") and elsewhere(work, ref):
        return 128
    if not _over(work, given, target, forced):
        return 1
    if orphan is not None:
        work.move_head(None, f"refs/heads/{name}")
    elif name is not None:
        work.move_head(target, f"refs/heads/{name}")
    elif start is not None:
        work.move_head(target, ref if ref is not None and not given.on("d") else target)
    return 0


def _target(work: Work, given: Given, start: Text | None) -> tuple[str | None, str | None]:
    """The commit to go to, and the branch where the name is one's."""
    if not isinstance(start, str):
        return work.head, work.branch
    name = start
    if start in ("-", "@{-1}"):
        if work.state.branches:
            last = work.state.branches[0]
            return work.resolve(last), last if last.startswith("refs/") else None
        return work.resolve("@{-1}"), work.questions.full_name("@{-1}")
    ref = f"refs/heads/{name}"
    return work.resolve(name), ref if work.ref(ref) else None


def _over(work: Work, given: Given, target: str | None, forced: bool) -> bool:
    if given.on("orphan") and target == work.head and not forced:
        return True
    new = work.tree(target)
    if forced:
        force(work, new, SWITCH)
        return True
    return go_over(work, work.head_tree, new, SWITCH, merge=given.on("m"), overwrite_ignored=not given.off("overwrite-ignore"))


def elsewhere(work: Work, ref: str) -> bool:
    """True when another worktree has the branch checked out, so that git does not do it here."""
    common = work.repository.common
    places = [common] + [child(child(common, "worktrees"), name) for name in work.view.listdir(child(common, "worktrees")) or ()]
    for place in places:
        head = work.view.read(child(place, "HEAD")) if place != work.repository.dir else None
        if head is not None and head.decode("utf-8", "surrogateescape").strip() == f"ref: {ref}":
            return place != common or not _bare(work)
    return False


def _bare(work: Work) -> bool:
    return work.flag("core.bare")


def switch(work: Work, args: tuple[Text, ...]) -> int | None:
    """git switch: branches only; a commit only with --detach."""
    given = read(args, SWITCH_TABLE)
    branch = given.value("c", "C", "orphan")
    start = given.operands[0] if given.operands else None
    if given.on("orphan"):
        return _orphan(work, given, branch)
    if branch is None and isinstance(start, str) and start != "-" and not given.on("d") and not work.ref(f"refs/heads/{start}"):
        remote = None if work.resolve(start) or given.off("guess") else _remote(work, start)
        return 128 if remote is None else _branches(work, given, start, remote)
    if branch is None and start is None:
        return _branches(work, given, None, "HEAD") if given.on("d") else 128
    return _branches(work, given, branch, start)


def _orphan(work: Work, given: Given, branch: Text | None) -> int:
    """A branch without a commit, and a tree without the files of the old one: no branch that is checked out has them."""
    if given.operands or (isinstance(branch, str) and work.ref(f"refs/heads/{branch}")):
        return 128
    if given.on("f"):
        force(work, {}, LOSE)
    elif not go_over(work, work.head_tree, {}, LOSE):
        return 1
    work.move_head(None, f"refs/heads/{branch}")
    return 0
