"""git stash: local changes leave the tree and come back, or are thrown away."""

from __future__ import annotations

from guard.effects import CREATE, DELETE, EDIT, LEAVE, MOVE, REVERT, At, Effect, Pattern
from guard.overlay import DIRECTORY
from guard.paths import child
from guard.tools.git.index import Entry
from guard.tools.git.options import read, table
from guard.tools.git.reading import answered, listed
from guard.tools.git.state import Saved, Stash
from guard.tools.git.transition import LOSE, SWITCH, arrive, go, go_over
from guard.tools.git.untracked import untracked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from guard.effects import Text
    from guard.tools.git.options import Given
    from guard.tools.git.pathspec import Pathspec
    from guard.tools.git.questions import Item
    from guard.tools.git.work import Work

PUSH = table(
    flags="kSpquaN",
    values="m",
    long="""
    keep-index/k staged/S patch/p quiet/q include-untracked/u all/a message=/m pathspec-from-file= pathspec-file-nul
    """,
)
TAKE = table(flags="q", long="quiet/q index")
WATCHED = "GUARD_EXEC"  # set by whoever looks after the files: since when
_QUIET = ("list", "show", "create", "store")


def stash(work: Work, args: tuple[Text, ...]) -> int | None:
    """Dispatches git stash's own subcommands; without one it is push."""
    name = args[0] if args else None
    rest = args[1:]
    if name in _QUIET:
        return None if name in ("list", "show") else 0
    if name == "pop":
        return _apply(work, rest, drop=True)
    if name == "apply":
        return _apply(work, rest, drop=False)
    if name == "drop":
        number = _number(read(rest, TAKE))
        return 1 if number is None or not _exists(work, number) else _drop(work, number)
    if name == "clear":
        while _exists(work, 0):
            _drop(work, 0)
        return 0
    if name == "branch":
        return _branch(work, rest)
    if name == "save":
        return _push(work, read(rest, PUSH)._replace(before=(), after=()))
    if name == "push":
        return _push(work, read(rest, PUSH))
    given = read(args, PUSH)
    return 1 if given.before else _push(work, given)


def _push(work: Work, given: Given) -> int | None:
    operands: tuple[Text, ...] | None = given.operands
    listing = given.value("pathspec-from-file")
    if listing is not None:
        operands = listed(work, listing, given.on("pathspec-file-nul"))
    if given.on("p") and not answered(work):
        return None
    if work.head is None or any(entry.stage or entry.intent for entry in work.index.values()):
        return 1
    work.certain = not given.on("p")
    spec = work.pathspec(operands or ())
    others = given.on("u", "a") and not given.on("p")
    together = None if operands else (False, True) if given.on("a") else (False,)
    found = [
        f.path
        for f in (untracked(work, work.ignores(), together=together) if others else ())
        if spec.match(f.path) and not f.nested and (given.on("a") or not f.ignored)
    ]
    if spec.outside or (operands and spec.unmatched([*work.index, *found])):
        return 1
    _save(work, given, spec, found)
    return None if given.on("S") else 0


def _save(work: Work, given: Given, spec: Pathspec, others: list[str]) -> None:
    """The tracked files that differ from HEAD, and the others, go into the stash; HEAD's version takes their place."""
    head, index = work.head_tree, work.index
    keep = {path: entry.item for path, entry in index.items()}
    base = keep if given.on("k") or given.on("S") else head
    paths = [path for path in (dict.fromkeys([*index, *head])) if spec.match(path)]
    if given.on("S"):
        paths = [path for path in paths if keep.get(path) != head.get(path)]
        base = head
    changed = [path for path in paths if keep.get(path) != head.get(path) or _differs(work, path, head)]
    if not changed and not others:
        return
    files: list[Saved] = []
    gone = [path for path in changed if work.blob(path) is None]
    for path in changed:
        work.certain = not given.on("p") and spec.sure(path)
        files += _exchange(work, path, base.get(path))
    for path in others:
        blob = work.blob(path)
        place = work.aside(path)
        work.certain = spec.sure(path)
        work.effect(Effect(LEAVE, At(work.path(path)), to=place))
        work.put(path, None)
        files.append(Saved(path, blob or "", place, True))
    work.certain = True
    entries = {p: e for p, e in index.items() if p not in changed or (given.on("k") and p in keep)}
    entries |= {
        path: Entry(base[path]) for path in changed if path in base and (path not in entries or entries[path].item != base[path])
    }
    work.stage(entries)
    work.state = work.state._replace(stashes=(Stash(tuple(files), tuple(gone), head), *work.state.stashes))


def _differs(work: Work, path: str, head: Mapping[str, Item]) -> bool:
    entry = work.index.get(path)
    if entry is not None and entry.absent:
        return False
    item = head.get(path)
    return path in work.index and work.blob(path) != (item.blob if item is not None else None)


def _exchange(work: Work, path: str, item: Item | None) -> list[Saved]:
    """One tracked file's content goes into the stash, HEAD's comes back."""
    blob = work.blob(path)
    if blob is None:
        if item is not None:
            arrive(work, path, item, SWITCH)
        return []
    place = work.aside(path)
    absolute = work.path(path)
    if item is None:
        work.effect(Effect(LEAVE, At(absolute), to=place))
        work.put(path, None)
        return [Saved(path, blob, place, True)]
    if blob == item.blob:
        return []
    work.effect(Effect(CREATE, At(place), source=absolute))
    content = work.questions.content(item.blob)
    work.effect(Effect(LEAVE, At(absolute), content=content, source=work.object_path(item.blob)))
    work.put(path, item.blob)
    return [Saved(path, blob, place, False)]


def _number(given: Given) -> int | None:
    """Which stash is meant: stash@{n}, n, or the latest."""
    if not given.operands:
        return 0
    name = given.operands[0]
    if isinstance(name, Pattern):
        return 0
    digits = name.removeprefix("refs/").removeprefix("stash@{").removesuffix("}")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 6 else 0 if digits == "stash" else None


def _real_count(work: Work) -> int:
    """How many stashes there were before the command line."""
    if work.state.new:
        return 0
    log = work.view.read(child(work.repository.common, "logs/refs/stash"))
    return log.count(b"\n") if log is not None else 0


def _exists(work: Work, number: int) -> bool:
    return number < len(work.state.stashes) + max(0, _real_count(work) - work.state.dropped)


def _drop(work: Work, number: int) -> int:
    """What only the stash still had is lost."""
    stashes = work.state.stashes
    if number >= len(stashes):
        _drop_real(work, number - len(stashes) + work.state.dropped)
        work.state = work.state._replace(dropped=work.state.dropped + 1)
        return 0
    dropped = stashes[number]
    work.state = work.state._replace(stashes=stashes[:number] + stashes[number + 1 :])
    for saved in dropped.files:
        if work.state.holds(saved.path, saved.blob):
            continue
        if saved.moved and work.view.kind(saved.place) is not None:
            work.effect(Effect(DELETE, At(saved.place)))
        elif not saved.moved and work.blob(saved.path) != saved.blob and not work.held(saved.path, saved.blob):
            work.effect(Effect(REVERT, At(work.path(saved.path)), source=work.path(saved.path)))
    return 0


def _drop_real(work: Work, number: int) -> None:
    """A stash from before goes: files that are there now, but neither they nor a ref have what it saved of them, lose that.

    Where a guard further out brings back what was there before the stash was made, nothing is lost.
    """
    since = work.call.env.get(WATCHED)
    if isinstance(since, str) and since.isdecimal() and _made(work, number) >= int(since):
        return
    commit = work.questions.commit(f"stash@{{{number}}}")
    saved = work.questions.changed(f"{commit}^1", commit) if commit is not None else None
    lost = {path: item.blob for path, item in (saved or {}).items() if work.blob(path) not in (None, item.blob)}
    if not lost:
        return
    also = [work.head] if work.head is not None and work.head not in work.state.commits else []
    held = work.questions.still_held(lost, ("refs/stash",), also) or set()
    for path, blob in lost.items():
        if blob not in held and not work.state.holds(path, blob):
            work.effect(Effect(REVERT, At(work.path(path)), source=work.path(path)))


def _made(work: Work, number: int) -> int:
    """When a stash from before was made, in seconds since 1970; -1 where that cannot be told."""
    lines = (work.view.read(child(work.repository.common, "logs/refs/stash")) or b"").splitlines()
    words = lines[-1 - number].partition(b"\t")[0].split() if number < len(lines) else []
    return int(words[-2]) if len(words) > 3 and words[-2].isdigit() else -1


def _apply(work: Work, args: tuple[Text, ...], drop: bool) -> int | None:
    number = _number(read(args, TAKE))
    if number is None or not _exists(work, number):
        return 1
    if number < len(work.state.stashes):
        status: int | None = _bring_back(work, work.state.stashes[number])
    else:
        status = _apply_real(work, number - len(work.state.stashes) + work.state.dropped)
    if status == 0 and drop:
        stashes = work.state.stashes
        if number < len(stashes):
            work.state = work.state._replace(stashes=stashes[:number] + stashes[number + 1 :])
        else:
            work.state = work.state._replace(dropped=work.state.dropped + 1)
    return status


def _bring_back(work: Work, saved: Stash) -> int:
    """The files that a stash of this command line holds come back, unless something else has taken their place."""
    tracked = [file for file in saved.files if not file.moved]
    if any(work.dirty(file.path) and work.blob(file.path) != file.blob for file in tracked):
        return 1
    if any(work.dirty(path) and work.blob(path) is not None for path in saved.gone):
        return 1
    status = 0
    for file in tracked:
        base, now = saved.base.get(file.path), work.index.get(file.path)
        if base is not None and now is not None and now.item != base:
            work.effect(Effect(EDIT, At(work.path(file.path))))
            status = 1
            continue
        work.effect(Effect(EDIT, At(work.path(file.path)), source=file.place))
        work.put(file.path, file.blob)
    for path in saved.gone:
        go(work, path, LOSE)
    for file in saved.files:
        if not file.moved:
            continue
        for path, place in _parts(work, file.path, file.place):
            if work.kind(path) is not None:
                status = 1
            else:
                work.effect(Effect(MOVE, At(place), to=work.path(path)))
                work.put(path, file.blob)
    return status


def _parts(work: Work, path: str, place: str) -> Iterator[tuple[str, str]]:
    """A stashed path and the place where it is kept; where both are directories by now, those of all that is in it."""
    names = work.view.listdir(place) if work.kind(path) == DIRECTORY else None
    if names is None:
        yield path, place
    for name in names or ():
        yield from _parts(work, f"{path}/{name}", child(place, name))


def _apply_real(work: Work, number: int) -> int | None:
    """A stash from before: the changes between its base and what it saved are made again."""
    name = f"stash@{{{number}}}"
    commit = work.questions.commit(name)
    if commit is None:
        return 1
    base, wanted = work.questions.tree(f"{commit}^1"), work.questions.tree(commit)
    if base is None or wanted is None:
        work.unknown("unknown-output", f"git stash show {name}")
        return None
    index = dict(work.index)
    ours = {path: entry.item for path, entry in index.items()}
    result = dict(ours)
    merged = []
    for path in base.keys() | wanted.keys():
        old, new, here = base.get(path), wanted.get(path), ours.get(path)
        if old == new or here == new:
            continue
        if here != old:
            merged.append(path)
        elif new is None:
            result.pop(path, None)
        else:
            result[path] = new
    if any(work.dirty(path) and work.blob(path) is not None for path in merged) or not go_over(work, ours, result, LOSE):
        return 1
    for path in merged:
        if work.blob(path) is not None:
            work.effect(Effect(EDIT, At(work.path(path))))
    work.stage({p: e for p, e in index.items() if p in result or p in ours})
    return _others_back(work, commit) if not merged else None


def _others_back(work: Work, commit: str) -> int:
    others = work.questions.commit(f"{commit}^3")
    tree = work.questions.tree(others) if others is not None else None
    status = 0
    for path, item in (tree or {}).items():
        if work.blob(path) is None:
            arrive(work, path, item, LOSE)
        else:
            status = 1
    return status


def _branch(work: Work, args: tuple[Text, ...]) -> int | None:
    """A new branch at the stash's base, with the stash applied."""
    given = read(args, TAKE)
    if not given.operands:
        return 1
    number = _number(given._replace(before=given.operands[1:], after=None))
    name = given.operands[0]
    if number is None or not _exists(work, number) or not isinstance(name, str):
        return 1
    if number >= len(work.state.stashes):
        base = work.questions.commit(f"stash@{{{number - len(work.state.stashes) + work.state.dropped}}}^1")
        if base is None or not go_over(work, work.head_tree, work.tree(base), SWITCH):
            return 1
        work.move_head(base, f"refs/heads/{name}")
    else:
        work.move_head(work.head, f"refs/heads/{name}")
    return _apply(work, (f"stash@{{{number}}}",), drop=True)
