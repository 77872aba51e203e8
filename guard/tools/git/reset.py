"""git reset and read-tree."""

from __future__ import annotations

from guard.effects import DELETE, REVERT, Effect, Pattern, Somewhere
from guard.tools.git.checkout import tree_of
from guard.tools.git.index import Entry
from guard.tools.git.options import read, table
from guard.tools.git.reading import answered, listed
from guard.tools.git.transition import LOSE, arrive, force, go, go_over

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from guard.effects import Text
    from guard.tools.git.options import Given
    from guard.tools.git.questions import Item
    from guard.tools.git.work import Work

RESET = table(
    flags="qpN",
    long="""
    quiet/q refresh mixed soft hard merge keep recurse-submodules? patch/p intent-to-add/N pathspec-from-file= pathspec-
    file-nul
    """,
)
READ_TREE = table(
    flags="mnuivq",
    long="""
    reset prefix= index-output= empty dry-run/n trivial aggressive exclude-per-directory= recurse-submodules? quiet/q no-
    sparse-checkout debug-unpack super-prefix=
    """,
)


def reset(work: Work, args: tuple[Text, ...]) -> int | None:
    """HEAD moves; the index follows, with --hard, --merge and --keep the work tree too."""
    given = read(args, RESET)
    revision, paths = _split(work, given)
    mode = given.options.last("mixed", "soft", "hard", "merge", "keep") or "mixed"
    listing = given.value("pathspec-from-file")
    if listing is not None:
        paths = listed(work, listing, given.on("pathspec-file-nul"))
    if paths or given.on("p"):
        return _paths(work, given, mode, revision, paths or ())
    if isinstance(revision, Pattern):
        return _anywhere(work, mode)
    commit = work.resolve(revision)
    if commit is None and not (revision == "HEAD" and work.head is None):
        return 128
    return _move(work, mode, commit)


def _split(work: Work, given: Given) -> tuple[Text, tuple[Text, ...] | None]:
    if given.after is not None:
        return (given.before[0] if given.before else "HEAD"), given.after
    if not given.before:
        return "HEAD", None
    first = given.before[0]
    if isinstance(first, Pattern):
        return (first, given.before[1:] or None) if not work.call.exists(first) else ("HEAD", given.before)
    if work.resolve(first) is not None or (len(given.before) > 1 and tree_of(work, first) is not None):
        return first, given.before[1:] or None
    return (
        ("HEAD", given.before) if work.call.kind(first) is not None or first in work.index else (first, given.before[1:] or None)
    )


def _paths(work: Work, given: Given, mode: str, revision: Text, paths: tuple[Text, ...]) -> int | None:
    """Only the index changes, back to what the commit has."""
    if mode != "mixed":
        return 128
    if given.on("p") and not answered(work):
        return 0
    if isinstance(revision, Pattern):
        return None
    tree = work.tree(work.resolve(revision)) if work.resolve(revision) or revision == "HEAD" else tree_of(work, revision)
    if tree is None:
        return 128
    spec = work.pathspec(paths)
    if not spec.outside:
        index = {path: entry for path, entry in work.index.items() if path in tree or not spec.match(path)}
        changed = {p: Entry(item) for p, item in tree.items() if spec.match(p) and (p not in index or index[p].item != item)}
        work.stage({**index, **changed})
    return 128 if spec.outside else 0


def _anywhere(work: Work, mode: str) -> int | None:
    """To a commit that is not known."""
    if mode not in ("hard", "merge", "keep"):
        return None
    work.certain = False
    if mode == "hard":
        force(work, work.head_tree, LOSE)
    work.effect(Effect(DELETE, Somewhere(work.top)))
    return None


def _move(work: Work, mode: str, commit: str | None) -> int:
    old, new = work.head_tree, work.tree(commit)
    if mode == "keep" and not _keep(work, old, new, commit):
        return 1
    if mode == "merge" and not _merge(work, new, commit):
        return 128
    if mode == "soft" or mode in ("keep", "merge"):
        work.move_head(commit)
    else:
        work.move_head(commit)
        if mode == "hard":
            force(work, new, LOSE)
        else:
            index = work.index
            work.stage({p: index[p] if p in index and index[p].item == item else Entry(item) for p, item in new.items()})
    work.state = work.state._replace(merging=False)
    return 0


def _keep(work: Work, old: Mapping[str, Item], new: Mapping[str, Item], commit: str | None) -> bool:
    """What differs between the two commits changes; refused where it has local changes. The rest stays, unstaged."""
    for path in old.keys() | new.keys():
        if old.get(path) != new.get(path):
            entry, item = work.index.get(path), old.get(path)
            if (entry.item if entry is not None else None) != item or (item and work.blob(path) not in (None, item.blob)):
                return False
    work.move_head(commit)
    if not go_over(work, old, new, LOSE, refreshed=False):
        return False
    index = work.index
    work.stage({p: index[p] if p in index and index[p].item == item else Entry(item) for p, item in new.items()})
    return True


def _merge(work: Work, new: Mapping[str, Item], commit: str | None) -> bool:
    """What is staged goes; what is changed but not staged stays, or is a reason to refuse."""
    index = work.index
    kept = {p for p, e in index.items() if not e.stage and work.blob(p) is not None and (work.dirty(p) or work.stale(p))}
    if any((index[path].item != new.get(path)) for path in kept):
        return False
    for path, item in new.items():
        if path not in index and work.blob(path) not in (None, item.blob):
            return False
    for path in [path for path in index if path not in new and path not in kept]:
        go(work, path, LOSE)
    for path, item in new.items():
        if path not in kept:
            arrive(work, path, item, LOSE)
    work.stage({path: index[path] if path in kept else Entry(item) for path, item in new.items()})
    return True


def read_tree(work: Work, args: tuple[Text, ...]) -> int | None:
    """git read-tree: the index becomes a tree, with -u the work tree too."""
    given = read(args, READ_TREE)
    if given.on("n"):
        return 0
    if given.on("empty"):
        work.stage({})
        return 0
    names = given.operands
    if any(isinstance(name, Pattern) for name in names):
        if given.on("u"):
            work.certain = False
            force(work, work.head_tree, LOSE)
            work.effect(Effect(REVERT, Somewhere(work.top)))
        return None
    trees = [tree_of(work, name) for name in names if isinstance(name, str)]
    if not trees or any(tree is None for tree in trees):
        return 128
    return _read(work, given, [tree for tree in trees if tree is not None])


def _read(work: Work, given: Given, trees: list[Mapping[str, Item]]) -> int:
    new = trees[-1]
    prefix = given.value("prefix")
    if prefix is not None:
        inner = {f"{str(prefix).strip('/')}/{path}": item for path, item in new.items()} if str(prefix).strip("/") else dict(new)
        if given.on("u"):
            for path, item in inner.items():
                if work.blob(path) is None:
                    arrive(work, path, item, LOSE)
        work.stage({**work.index, **{path: Entry(item) for path, item in inner.items()}})
        return 0
    index = work.index
    if not given.on("u"):
        work.stage({p: index[p] if p in index and index[p].item == item else Entry(item) for p, item in new.items()})
        return 0
    if given.on("reset"):
        force(work, new, LOSE)
        return 0
    if not given.on("m"):
        return 128
    old = trees[0] if len(trees) > 1 else {path: entry.item for path, entry in index.items()}
    return 0 if go_over(work, old, new, LOSE, refreshed=False) else 128
