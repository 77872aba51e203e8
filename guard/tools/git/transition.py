"""How the work tree goes over to other content: what arrives, what goes, what git refuses to lose."""

from __future__ import annotations

from guard.effects import CREATE, DELETE, EDIT, LEAVE, LINK, MOVE, REVERT, TRUNCATE, At, Effect
from guard.overlay import DIRECTORY, FILE, SYMLINK
from guard.paths import parent
from guard.tools.git.index import Entry
from guard.tools.git.work import EMPTY_BLOB, LINK_MODE, SUBMODULE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from guard.tools.git.questions import Item
    from guard.tools.git.work import Work

# Why content goes: by switching branches, so that it stays to be had, or by whatever makes the current branch lose it.
SWITCH, LOSE = "switch", "lose"
CONTENTS = 4  # contents that are fetched in one call, so that what runs them or reads them next is known


def arrive(work: Work, path: str, item: Item, why: str) -> None:
    """The item comes to stand at the path in the work tree."""
    blob = work.blob(path)
    if item.mode == SUBMODULE or blob == item.blob:
        return
    absolute = work.path(path)
    if blob is None:
        _appear(work, path, item)
    elif item.mode == LINK_MODE or work.kind(path) == SYMLINK:
        _relink(work, path, item, blob, why)
    elif not _held(work, path, blob, why):
        work.effect(Effect(REVERT, At(absolute), content=_content(work, path, item), source=work.object_path(item.blob)))
    elif item.blob == EMPTY_BLOB:
        work.effect(Effect(LEAVE, At(absolute), content=b"") if why == SWITCH else Effect(TRUNCATE, At(absolute)))
    else:
        content = _content(work, path, item) if path.endswith(".gitignore") else None
        work.effect(Effect(EDIT, At(absolute), content=content, source=work.object_path(item.blob)))
    work.put(path, item.blob)


def _held(work: Work, path: str, blob: str, why: str) -> bool:
    """Whether the content at a path is still to be had when something else is put there."""
    leaving = why == SWITCH and work.branch is None and work.head in work.state.commits
    return work.still_held(path, blob) if leaving else work.held(path, blob)


def _relink(work: Work, path: str, item: Item, blob: str, why: str) -> None:
    absolute = work.path(path)
    to = work.questions.content(item.blob) if item.mode == LINK_MODE else None
    if not _held(work, path, blob, why):
        work.effect(Effect(REVERT, At(absolute), source=work.object_path(item.blob)))
    elif why == SWITCH:
        work.effect(Effect(LEAVE, At(absolute), source=work.object_path(item.blob)))
    else:
        work.effect(Effect(LINK, At(absolute), to=(to or b"").decode("utf-8", "surrogateescape")))


def _appear(work: Work, path: str, item: Item) -> None:
    """Something comes where git sees nothing: a new file, or one that was lost. What is in the way is lost."""
    absolute = work.path(path)
    _clear_way(work, path)
    place = work.state.left.get((path, item.blob))
    if place is not None and work.view.kind(place) is not None:
        work.effect(Effect(MOVE, At(place), to=absolute))
        return
    if work.certain:
        _make_parents(work, parent(absolute))
    if item.mode == LINK_MODE:
        to = work.questions.content(item.blob)
        if to is not None:
            work.effect(Effect(LINK, At(absolute), to=to.decode("utf-8", "surrogateescape")))
            return
    work.effect(Effect(CREATE, At(absolute), content=_content(work, path, item), source=work.object_path(item.blob)))


def _clear_way(work: Work, path: str) -> None:
    for above in _parents(path):
        if work.kind(above) in (FILE, SYMLINK) and work.blob(above) is not None:
            go(work, above, LOSE)
    if work.kind(path) == DIRECTORY:
        for file in below(work, path):
            if work.blob(file) is not None:
                go(work, file, LOSE)


def _make_parents(work: Work, directory: str) -> None:
    if directory != "/" and work.view.kind(directory) is None:
        _make_parents(work, parent(directory))
        work.view.make_dir(directory)


def _content(work: Work, path: str, item: Item) -> bytes | None:
    """The content of a file that arrives, where few do."""
    few = sum(isinstance(found, Effect) and found.content is not None for found in work.found) < CONTENTS
    return work.questions.content(item.blob) if few or path.endswith(".gitignore") else None


def go(work: Work, path: str, why: str) -> None:
    """The file at the path leaves the work tree, if there is one."""
    blob = work.blob(path)
    if blob is None or work.kind(path) == DIRECTORY:
        return
    absolute = work.path(path)
    if why == SWITCH and work.still_held(path, blob):
        place = work.aside(path)
        work.state = work.state._replace(left={**work.state.left, (path, blob): place})
        work.effect(Effect(LEAVE, At(absolute), to=place))
    else:
        work.effect(Effect(DELETE, At(absolute)))
    work.put(path, None)


def below(work: Work, directory: str) -> Iterator[str]:
    """Every file and link below a directory of the work tree, repositories inside it left out."""
    todo = [directory]
    while todo:
        here = todo.pop()
        for name, kind in work.view.scan(work.path(here)) or ():
            path = f"{here}/{name}" if here else name
            if kind != DIRECTORY:
                yield path
            elif name != ".git":
                todo.append(path)


def _parents(path: str) -> Iterator[str]:
    at = path.find("/")
    while at > 0:
        yield path[:at]
        at = path.find("/", at + 1)


def force(work: Work, new: Mapping[str, Item], why: str) -> None:
    """Index and work tree become the tree, whatever is uncommitted: reset --hard, checkout -f."""
    index = work.index
    gone = [path for path, entry in index.items() if path not in new and entry.item.mode != SUBMODULE]
    coming = [(path, item) for path, item in new.items() if not (path in index and index[path].absent)]
    changed = [(path, item) for path, item in coming if work.blob(path) != item.blob]
    ask_held(work, gone + [path for path, _ in changed])
    for path in gone:
        go(work, path, why)
    for path, item in changed:
        arrive(work, path, item, why)
    work.stage({path: _kept(index.get(path), item) for path, item in new.items()})


def _kept(entry: Entry | None, item: Item) -> Entry:
    return entry if entry is not None and entry.item == item and not entry.stage else Entry(item)


def ask_held(work: Work, paths: list[str]) -> None:
    """Asks at once about the contents at these paths that are not those of the last commit."""
    committed = work.first_tree
    doubtful = []
    for path in paths:
        blob = work.blob(path)
        if blob is not None and not (path in committed and committed[path].blob == blob):
            doubtful.append(path)
    if doubtful:
        work.ask_held(doubtful)


def go_over(
    work: Work,
    old: Mapping[str, Item],
    new: Mapping[str, Item],
    why: str,
    *,
    merge: bool = False,
    overwrite_ignored: bool = True,
    refreshed: bool = True,
) -> bool:
    """From one tree to another, local changes kept: what checkout, merge and reset --keep do. False where git refuses.

    With `merge` (checkout -m) local changes are merged into what arrives. `refreshed` is False for the commands that go by what
    the index knows of a file, without looking into it.
    """
    index = work.index
    if any(entry.stage for entry in index.values()):
        return False
    changes = []
    for path in old.keys() | new.keys():
        before, after = old.get(path), new.get(path)
        entry = index.get(path)
        staged = entry.item if entry is not None else None
        if before == after or staged == after:
            continue
        if staged is None and (before is not None or _in_the_way(work, path, new, overwrite_ignored)):
            return False
        if staged is not None and not merge and (staged != before or (work.modified(path) and work.blob(path) is not None)):
            return False
        if staged is not None and not refreshed and work.stale(path):
            return False
        changes.append((path, after))
    changes.sort(key=lambda change: (change[1] is not None, change[0]))
    entries = dict(index)
    for path, after in changes:
        _change(work, path, after, why, merge)
        if after is None:
            entries.pop(path, None)
        else:
            entries[path] = Entry(after)
    if changes:
        work.stage(entries)
    return True


def _change(work: Work, path: str, after: Item | None, why: str, merge: bool) -> None:
    entry = work.index.get(path)
    if entry is not None and entry.absent:
        return
    if merge and entry is not None and work.dirty(path) and work.blob(path) is not None:
        if after is not None:
            work.effect(Effect(EDIT, At(work.path(path))))
        return
    if after is None:
        go(work, path, why)
    else:
        arrive(work, path, after, why)


def _in_the_way(work: Work, path: str, new: Mapping[str, Item], overwrite_ignored: bool) -> bool:
    """True when something untracked, and not ignored, stands where a new path is to be written."""

    def precious(other: str) -> bool:
        return other not in work.index and not (overwrite_ignored and work.ignores().hidden(other))

    for above in _parents(path):
        if work.kind(above) in (FILE, SYMLINK):
            return precious(above)
    kind = work.kind(path)
    if kind == DIRECTORY:
        return any(precious(file) for file in below(work, path))
    return kind is not None and precious(path)
