"""git rm and git mv."""

from __future__ import annotations

from guard.effects import DELETE, MOVE, At, Effect, Pattern
from guard.overlay import DIRECTORY
from guard.tools.git.options import read, table
from guard.tools.git.pathspec import RECURSIVE, normal
from guard.tools.git.reading import listed
from guard.tools.git.work import SUBMODULE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.effects import Text
    from guard.tools.git.index import Entry
    from guard.tools.git.pathspec import Pathspec
    from guard.tools.git.work import Work

REMOVE = table(
    flags="nqfr",
    long="""
    dry-run/n quiet/q cached force/f ignore-unmatch sparse pathspec-from-file= pathspec-file-nul
    """,
)
RENAME = table(flags="vnfk", long="verbose/v dry-run/n force/f sparse")


def remove(work: Work, args: tuple[Text, ...]) -> int | None:
    """git rm: tracked files go from the index and, without --cached, from the work tree. All or none."""
    given = read(args, REMOVE)
    listing = given.value("pathspec-from-file")
    operands = given.operands if listing is None else listed(work, listing, given.on("pathspec-file-nul"))
    if not operands:
        return 128
    spec = work.pathspec(operands)
    index = work.index
    if spec.outside or (spec.unmatched(index) and not given.on("ignore-unmatch")):
        return 128
    chosen = [path for path in index if spec.match(path)]
    if not given.on("r") and _recursive(spec, chosen):
        return 128
    if not given.on("f") and _refused(work, chosen, given.on("cached")):
        return 1
    if given.on("n"):
        return 0
    for path in chosen if not given.on("cached") else ():
        work.certain = spec.sure(path)
        if index[path].item.mode == SUBMODULE:
            work.effect(Effect(DELETE, At(work.path(path))))
        elif work.blob(path) is not None:
            work.effect(Effect(DELETE, At(work.path(path))))
            work.put(path, None)
    work.certain = True
    work.stage({path: entry for path, entry in index.items() if path not in chosen})
    return 0


def _recursive(spec: Pathspec, chosen: list[str]) -> bool:
    """True when a pathspec means paths only because it names a directory above them: that takes -r."""
    for item in spec.items:
        kinds = {item.match(path) for path in chosen} - {None}
        if item.hole is None and not item.exclude and kinds == {RECURSIVE}:
            return True
    return False


def _refused(work: Work, chosen: list[str], cached: bool) -> bool:
    """True when git would lose what is in no commit."""
    head = work.head_tree
    for path in chosen:
        entry = work.index[path]
        blob = work.blob(path)
        if blob is None or entry.stage:
            continue
        staged = head.get(path) is None or head[path].blob != entry.item.blob
        changed = work.modified(path)
        if (staged and changed) or ((staged or changed) and not cached):
            return True
    return False


def rename(work: Work, args: tuple[Text, ...]) -> int | None:
    """git mv: tracked files and directories get another name."""
    given = read(args, RENAME)
    if len(given.operands) < 2:
        return 129
    *sources, target = given.operands
    if given.on("n"):
        return None
    if isinstance(target, Pattern) or any(isinstance(source, Pattern) for source in sources):
        return _unclear(work, sources)
    to = normal(target, work.prefix, work.top)
    if to is None:
        return 128
    into = work.view.kind(work.path(to)) == DIRECTORY or to == ""
    if len(sources) > 1 and not into:
        return 128
    pairs = []
    for source in sources:
        path = normal(str(source), work.prefix, work.top)
        place = None if path is None else f"{to}/{path.rpartition('/')[2]}".lstrip("/") if into else to
        if path is None or place is None or not _movable(work, path, place, given.on("f"), target.endswith("/")):
            if not given.on("k"):
                return 128
            continue
        pairs.append((path, place))
    for path, place in pairs:
        _move(work, path, place)
    return 0


def _unclear(work: Work, sources: list[Text]) -> int | None:
    """Some path gets another name."""
    spec = work.pathspec(sources)
    work.certain = False
    for path in work.index:
        if spec.match(path) and work.blob(path) is not None:
            work.effect(Effect(MOVE, At(work.path(path))))
    return None


def _movable(work: Work, path: str, place: str, force: bool, as_directory: bool) -> bool:
    kind = work.kind(path)
    if kind is None or not path or path == place or place.startswith(path + "/"):
        return False
    above = place.rpartition("/")[0]
    if above and work.view.kind(work.path(above)) != DIRECTORY:
        return False
    there = work.kind(place)
    if kind == DIRECTORY:
        return there is None and any(name.startswith(path + "/") or name == path for name in work.index)
    if as_directory and work.view.kind(work.path(place)) is None and not above:
        return False
    return path in work.index and (there is None or (force and there != DIRECTORY))


def _move(work: Work, path: str, place: str) -> None:
    if work.kind(place) is not None:
        work.effect(Effect(DELETE, At(work.path(place))))
    work.effect(Effect(MOVE, At(work.path(path)), to=work.path(place)))
    entries: dict[str, Entry] = {name: entry for name, entry in work.index.items() if name != place}
    for name in [name for name in entries if name == path or name.startswith(path + "/")]:
        entries[place + name[len(path) :]] = entries.pop(name)._replace(seen=None)
    work.stage(entries)
