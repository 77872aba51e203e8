"""git restore and checkout-index: paths from the index or a commit."""

from __future__ import annotations

from guard.effects import OVERWRITE, At, Below, Effect, Pattern
from guard.tools.git.checkout import any_version, paths_from, tree_of
from guard.tools.git.options import read, table
from guard.tools.git.reading import answered, listed
from guard.tools.git.transition import LOSE, arrive
from guard.tools.git.work import SUBMODULE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.effects import Text
    from guard.tools.git.work import Work


RESTORE = table(
    flags="qSWpm",
    values="s",
    long="""
    quiet/q progress source=/s staged/S worktree/W ignore-unmerged overlay patch/p merge/m ours/2 theirs/3 conflict=
    recurse-submodules? ignore-skip-worktree-bits pathspec-from-file= pathspec-file-nul
    """,
)
CHECKOUT_INDEX = table(
    flags="afqnuz",
    long="""
    all/a force/f quiet/q no-create/n index/u stdin temp prefix= stage= ignore-skip-worktree-bits
    """,
)


def restore(work: Work, args: tuple[Text, ...]) -> int | None:
    """git restore: paths from the index or a commit, to the work tree or the index."""
    given = read(args, RESTORE)
    listing = given.value("pathspec-from-file")
    operands = given.operands if listing is None else listed(work, listing, given.on("pathspec-file-nul"))
    if not operands and not given.on("p"):
        return 128
    staged = given.on("S")
    worktree = given.on("W") or not staged
    source = given.value("s")
    spec = work.pathspec(operands or ())
    if given.on("p"):
        if not worktree or not answered(work):
            return 0
        work.certain = False
    if isinstance(source, Pattern):
        work.certain = False
        if worktree:
            any_version(work, spec)
        return None
    tree = tree_of(work, source) if source is not None else work.head_tree if staged else None
    if source is not None and tree is None:
        return 128
    merged = given.on("2", "3", "m", "ignore-unmerged")
    return paths_from(work, tree, spec, worktree=worktree, staged=staged, overlay=given.on("overlay"), unmerged=merged)


def checkout_index(work: Work, args: tuple[Text, ...]) -> int | None:
    """git checkout-index: files of the index are written out, over what is there only with -f."""
    given = read(args, CHECKOUT_INDEX)
    if given.on("temp"):
        return None
    names: tuple[Text, ...] | None = given.operands
    if given.on("stdin"):
        names = listed(work, "-", given.on("z"))
    spec = work.pathspec(names or ())
    chosen = [p for p in work.index if given.on("a") or any(item.path == p or item.hole for item in spec.items if spec.match(p))]
    prefix = given.value("prefix")
    for path in chosen:
        item = work.index[path].item
        if item.mode == SUBMODULE:
            continue
        if prefix:
            _write_out(work, path, prefix, given.on("f"))
        elif given.on("f") or (work.kind(path) is None and not given.on("n")):
            work.certain = spec.sure(path) or given.on("a")
            arrive(work, path, item, LOSE)
    return None


def _write_out(work: Work, path: str, prefix: Text, forced: bool) -> None:
    if isinstance(prefix, Pattern):
        work.wonder(prefix.holes[0])
        return
    place = work.call._replace(cwd=work.top).through(f"{prefix}{path}")
    if isinstance(place, At) and (forced or work.view.kind(place.path) is None):
        there = work.view.kind(place.path) == "directory"
        work.effect(Effect(OVERWRITE, Below(place.path) if there else place, source=work.object_path(work.index[path].item.blob)))
