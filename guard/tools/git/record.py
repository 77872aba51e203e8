"""git add, commit, update-index and config: what changes the index, a branch or the settings."""

from __future__ import annotations

from guard.effects import Pattern
from guard.overlay import SYMLINK
from guard.paths import child
from guard.tools.git import unjudged
from guard.tools.git.index import Entry
from guard.tools.git.options import read, table
from guard.tools.git.pathspec import normal
from guard.tools.git.programs import edit, hook, hooks
from guard.tools.git.questions import Item
from guard.tools.git.reading import answered, listed
from guard.tools.git.untracked import untracked
from guard.tools.git.work import EMPTY_BLOB, LINK_MODE, setting_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from guard.effects import Text
    from guard.tools.git.options import Given
    from guard.tools.git.work import Work

HASHED_LIMIT = 1_000  # files whose content is read when they are staged
ADD = table(
    flags="nviupefNA",
    long="""
    dry-run/n verbose/v interactive/i patch/p edit/e force/f update/u renormalize intent-to-add/N all/A ignore-removal
    refresh ignore-errors ignore-missing sparse chmod= pathspec-from-file= pathspec-file-nul
    """,
)
COMMIT = table(
    flags="qvsiopanez",
    values="FmcCt",
    optional="Su",
    long="""
    quiet/q verbose/v file=/F author= date= message=/m reedit-message=/c reuse-message=/C fixup= squash= reset-author
    trailer= signoff/s template=/t edit/e cleanup= status gpg-sign?/S all/a include/i interactive patch/p only/o no-
    verify/n verify dry-run short branch ahead-behind porcelain long null/z amend no-post-rewrite untracked-files?/u
    pathspec-from-file= pathspec-file-nul allow-empty allow-empty-message
    """,
)
CONFIG = table(
    flags="zle",
    values="f",
    long="""
    global system local worktree file=/f blob= get get-all get-regexp get-urlmatch replace-all add unset unset-all rename-
    section remove-section list/l edit/e get-color get-colorbool type= bool int bool-or-int path expiry-date null/z name-
    only includes show-origin show-scope default= fixed-value
    """,
)
_ASKING = ("get", "get-all", "get-regexp", "get-urlmatch", "l", "get-color", "get-colorbool", "e")


def add(work: Work, args: tuple[Text, ...]) -> int | None:
    """git add: the index takes over what is in the work tree."""
    given = read(args, ADD)
    listing = given.value("pathspec-from-file")
    operands = given.operands if listing is None else listed(work, listing, given.on("pathspec-file-nul")) or ()
    asking = given.on("i", "p", "e")
    if given.on("n") or (asking and not answered(work)):
        return 0
    if not operands and not given.on("A", "u"):
        return 0
    spec = work.pathspec(operands)
    others = [] if given.on("u", "renormalize") else [f for f in untracked(work, work.ignores()) if spec.match(f.path)]
    known = [*work.index, *(found.path for found in others)]
    if spec.outside or [item for item in spec.unmatched(known) if work.kind(item.path) is None]:
        return 128
    if any(found.nested and not found.ignored and not _has_commit(work, found.path) for found in others):
        return 128
    chosen = [found.path for found in others if (given.on("f") or not found.ignored) and not found.nested]
    entries = dict(work.index)
    _stage(work, entries, [path for path in work.index if spec.match(path) and work.dirty(path)])
    if given.on("N"):
        entries |= {path: Entry(Item("100644", EMPTY_BLOB), intent=True) for path in chosen}
    else:
        _stage(work, entries, chosen)
    work.stage(entries)
    return None if any(found.ignored for found in others) and operands else 0


def _has_commit(work: Work, path: str) -> bool:
    """Whether a repository inside the work tree has a commit checked out, without which git does not add it."""
    dot = child(work.path(path), ".git")
    head = work.view.read(child(dot, "HEAD"))
    if head is None:
        return True
    name = head.decode("utf-8", "surrogateescape").strip().removeprefix("ref: ")
    packed = work.view.read(child(dot, "packed-refs")) or b""
    return not name.startswith("refs/") or work.view.exists(child(dot, name)) or name.encode() in packed


def _stage(work: Work, entries: dict[str, Entry], paths: Iterable[str]) -> None:
    """Takes the paths' content into the entries. Beyond a limit a path is there, but differs from what it holds: it counts as
    changed for what follows, which errs on the side of loss."""
    for at, path in enumerate(paths):
        blob = work.blob(path) if at < HASHED_LIMIT else EMPTY_BLOB
        if blob is None:
            entries.pop(path, None)
            continue
        mode = entries[path].item.mode if path in entries else "100644"
        entries[path] = Entry(Item(LINK_MODE if work.kind(path) == SYMLINK else mode, blob))


def commit(work: Work, args: tuple[Text, ...]) -> int | None:
    """git commit: what is staged (with -a what is changed, with paths what they hold) becomes the branch's tip."""
    given = read(args, COMMIT)
    if given.on("dry-run", "short", "porcelain", "long") or (given.on("p", "interactive") and not answered(work)):
        return None
    refused = not given.on("n") and bool(hook(work, "pre-commit"))
    entries = dict(work.index)
    if any(entry.stage for entry in entries.values()) and not given.on("a"):
        return 128
    head = work.head_tree
    if given.on("a"):
        _stage(work, entries, [path for path in work.index if work.dirty(path)])
    tree = {path: entry.item for path, entry in entries.items() if not entry.intent}
    if given.operands:
        spec = work.pathspec(given.operands)
        if spec.outside or spec.unmatched(work.index):
            return 1
        named = [path for path in work.index if spec.match(path)]
        _stage(work, entries, named)
        tree = {path: entry.item for path, entry in entries.items()}
        if not given.on("i"):
            tree = {**{p: i for p, i in head.items() if p not in named}, **{p: tree[p] for p in named if p in tree}}
    if tree == dict(head) and not (given.on("allow-empty", "amend") or work.state.merging):
        return 1
    unjudged.note(work, given, tree)
    if refused:
        return 1
    work.stage(entries)
    if _stopped(work, given):
        return 1
    parents = work.parents(work.head) if given.on("amend") and work.head else (work.head,) if work.head else ()
    work.move_head(work.make(tree, parents))
    work.state = work.state._replace(merging=False)
    hooks(work, ("post-commit", "post-rewrite") if given.on("amend") else ("post-commit",))
    return None if _may_fail(work, given) else 0


def _stopped(work: Work, given: Given) -> bool:
    """Runs what has a say in the message; true when a hook or the editor surely stops the commit."""
    message = child(work.repository.dir, "COMMIT_EDITMSG")
    if hook(work, "prepare-commit-msg", message):
        return True
    fixing = given.on("fixup") and not str(given.value("fixup")).startswith(("amend:", "reword:"))
    told = given.on("m", "F", "C") or fixing
    if (given.on("e") or not told) and not given.off("e") and edit(work, "COMMIT_EDITMSG"):
        return True
    return not given.on("n") and bool(hook(work, "commit-msg", message))


def _may_fail(work: Work, given: Given) -> bool:
    """Whether a hook, a signature or an editor may stop the commit."""
    if not given.on("m", "F", "C", "fixup", "squash") and not given.off("e"):
        return True
    hooks = work.config("core.hookspath")
    place = child(work.repository.common, "hooks")
    names = ("commit-msg", "prepare-commit-msg") if given.on("n") else ("pre-commit", "commit-msg", "prepare-commit-msg")
    own = [name for name in names if work.view.kind(child(place, name)) is not None]
    return bool(own) or (hooks is not None and hooks != "/dev/null") or work.flag("commit.gpgsign")


def config(work: Work, args: tuple[Text, ...]) -> int | None:
    """git config: a setting that later commands of the line go by."""
    words = args[1:] if args and args[0] in ("set", "unset", "get", "list", "edit") else args
    given = read(words, CONFIG)
    if given.on(*_ASKING, "f", "file", "blob") or (args and args[0] in ("get", "list", "edit")):
        return None
    names = given.operands
    if not names or isinstance(names[0], Pattern):
        return None
    key = setting_name(str(names[0]))
    if given.on("unset", "unset-all") or args[0] == "unset":
        settings = {name: value for name, value in work.state.config.items() if name != key}
        work.state = work.state._replace(config=settings)
    elif len(names) > 1:
        work.state = work.state._replace(config={**work.state.config, key: str(names[1])})
    return 0 if len(names) > 1 else None


# With one of these the paths behind it are only marked.
_MARKS = {
    "--assume-unchanged", "--no-assume-unchanged", "--skip-worktree", "--no-skip-worktree", "--fsmonitor-valid",
    "--no-fsmonitor-valid",
}  # fmt: skip


def update_index(work: Work, args: tuple[Text, ...]) -> int | None:
    """git update-index: paths are taken in, or out, one by one."""
    entries = dict(work.index)
    removing = forced = adding = False
    mark = ""
    rest = [word for word in args if isinstance(word, str)][::-1]
    while rest:
        word = rest.pop()
        if word.startswith("--"):
            mark = word if word in _MARKS else mark
            if word == "--cacheinfo" and rest and "," not in rest.pop():
                del rest[-2:]
                continue
            removing |= word == "--remove"
            adding |= word == "--add"
            forced |= word == "--force-remove"
            continue
        path = normal(word, work.prefix, work.top) or ""
        if mark:
            if path in entries and mark.endswith("skip-worktree"):
                entries[path] = entries[path]._replace(absent=mark == "--skip-worktree")
        elif forced or (removing and work.blob(path) is None):
            entries.pop(path, None)
        elif path in entries or adding:
            _stage(work, entries, [path])
    if entries != work.index:
        work.stage(entries)
    return None
