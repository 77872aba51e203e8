"""git worktree and submodule: other work trees, beside this one and inside it."""

from __future__ import annotations

from guard.effects import CREATE, DELETE, LEAVE, MOVE, At, Effect, Pattern
from guard.overlay import DIRECTORY
from guard.paths import child, name, parent
from guard.tools.git.index import Entry
from guard.tools.git.options import read, table
from guard.tools.git.repository import Globals, Repository
from guard.tools.git.state import State
from guard.tools.git.untracked import untracked
from guard.tools.git.work import SUBMODULE, Work

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from guard.effects import Text
    from guard.tools.git.options import Given
    from guard.tools.git.questions import Item

FILES = 2000  # of a work tree larger than this, made by the command line, nothing is known
WORKTREE = table(
    flags="fdqnv",
    values="bB",
    long="""
    force/f detach/d checkout lock reason= orphan quiet/q track guess-remote guess dry-run/n verbose/v expire= porcelain
    """,
)
SUBMODULES = table(
    flags="qfN",
    values="bj",
    long="""
    quiet/q force/f all init remote no-fetch checkout merge rebase recursive reference= depth= jobs=/j cached files
    recommend-shallow name= branch=/b progress dissociate single-branch filter=
    """,
)


def worktree(work: Work, args: tuple[Text, ...]) -> int | None:
    """git worktree: linked work trees come and go."""
    verb, rest = (args[0] if args else None), args[1:]
    given = read(rest, WORKTREE)
    if verb == "add":
        return _add(work, given)
    if verb == "move" and len(given.operands) == 2:
        return _move(work, given)
    if verb == "remove" and given.operands:
        return _remove(work, given)
    return None if verb in ("list", "prune", "lock", "unlock", "repair") else 129


def _add(work: Work, given: Given) -> int | None:
    if not given.operands or isinstance(given.operands[0], Pattern):
        return None
    place = work.call.where(given.operands[0])
    if place is None or (work.view.kind(place) is not None and work.view.listdir(place)):
        return 128
    chosen = given.value("b", "B")
    operand = given.operands[1] if len(given.operands) > 1 else None
    if isinstance(chosen, Pattern) or isinstance(operand, Pattern):
        return None
    short = chosen if chosen is not None else operand if operand is not None else name(place)
    branch = None if given.on("d") else f"refs/heads/{short}"
    if branch is not None and chosen is None and not work.at(branch):
        branch = None if operand is not None else branch
    known = branch is not None and chosen is None and work.at(branch) is not None
    target = work.at(branch) if known and branch is not None else work.resolve(operand) if operand is not None else work.head
    if target is None or (branch is not None and branch == work.branch and not given.on("f")):
        return None if given.on("orphan") else 128
    if branch is not None:
        if given.on("b") and work.at(branch):
            return 128
        work.state = work.state._replace(refs={**work.state.refs, branch: target})
    _appear(work, place, branch or target, work.tree(target) if given.options.last("no-checkout") is None else {})
    return None


def _appear(work: Work, place: str, head: str, tree: Mapping[str, Item]) -> None:
    """A new linked work tree stands at `place`: its files, and what ties it to the repository."""
    view, common = work.view, work.repository.common
    directory = child(child(common, "worktrees"), name(place))
    for above in (child(common, "worktrees"), directory, place):
        if view.kind(above) is None:
            view.make_dir(above)
    large = len(tree) > FILES
    _write(work, child(directory, "HEAD"), f"ref: {head}\n" if head.startswith("refs/") else f"{head}\n")
    _write(work, child(directory, "gitdir"), f"{place}/.git\n")
    if not large:
        _write(work, child(directory, "commondir"), "../..\n")
    _write(work, child(place, ".git"), f"gitdir: {directory}\n")
    entries = {} if large else {path: Entry(item) for path, item in tree.items()}
    view.notes[f"git:{directory}"] = State(head=head, entries=entries, new=large)
    for path in entries:
        for n in range(1, path.count("/") + 1):
            inner = child(place, "/".join(path.split("/")[:n]))
            if view.kind(inner) is None:
                view.make_dir(inner)
        view.apply(Effect(CREATE, At(child(place, path)), source=f"{directory}/@objects/{tree[path].blob}"))
    view.budget.spend(len(entries))


def _write(work: Work, path: str, text: str) -> None:
    work.view.apply(Effect(CREATE, At(path), content=text.encode("utf-8", "surrogateescape")))


def _move(work: Work, given: Given) -> int | None:
    source, target = given.operands
    place, to = work.call.where(source), work.call.where(target)
    if place is None or to is None:
        return None
    other = _linked(work, place)
    if other is None:
        return 128
    to = child(to, name(place)) if work.view.kind(to) == DIRECTORY else to
    work.effect(Effect(MOVE, At(place), to=to))
    return 0


def _linked(work: Work, place: str) -> Repository | None:
    """The linked work tree at a path; the main one is none."""
    common = work.repository.common
    for entry in work.view.listdir(child(common, "worktrees")) or ():
        directory = child(child(common, "worktrees"), entry)
        pointer = (work.view.read(child(directory, "gitdir")) or b"").decode("utf-8", "surrogateescape").strip()
        if pointer and work.view.through(parent(pointer)) == place and work.view.kind(place) == DIRECTORY:
            return Repository(directory, common, place, "", child(directory, "index"))
    return None


def _remove(work: Work, given: Given) -> int | None:
    target = given.operands[0]
    place = work.call.where(target)
    if place is None:
        work.certain = False
        work.found.append(Effect(DELETE, work.call.at(target), certain=False))
        return None
    repository = _linked(work, place)
    if repository is None:
        return 128
    forced = sum(option == "f" for option, _ in given.options.given)
    if work.view.kind(child(repository.dir, "locked")) is not None and forced < 2:
        return 128
    other = _other(work, repository)
    if not forced and not _tidy(other):
        return 128
    take_all(work, other)
    work.effect(Effect(DELETE, At(child(repository.dir, "HEAD"))))
    return 0


def _other(work: Work, repository: Repository) -> Work:
    call = work.call._replace(cwd=repository.top or "/")
    return Work(Globals(call, (), None, None, work.given.config, work.given.pathspecs, False, False), repository)


def _tidy(work: Work) -> bool:
    """Whether nothing is modified, and nothing untracked but what is ignored."""
    if any(work.dirty(path) for path in work.index) or any(e.item != work.head_tree.get(p) for p, e in work.index.items()):
        return False
    return all(found.ignored for found in untracked(work, work.ignores()))


def take_all(work: Work, other: Work) -> None:
    """The whole of another work tree goes; what its branch holds of it is still to be had."""
    for path in list(other.index):
        blob = other.blob(path)
        if blob is not None:
            held = other.still_held(path, blob)
            work.effect(Effect(LEAVE if held else DELETE, At(other.path(path))))
    for found in untracked(other, other.ignores(), nested=True):
        work.effect(Effect(DELETE, At(other.path(found.path))))


def submodule(work: Work, args: tuple[Text, ...]) -> int | None:
    """git submodule: repositories inside the work tree."""
    words = list(args)
    while words and isinstance(words[0], str) and words[0].startswith("-"):
        words.pop(0)
    verb, rest = (words[0] if words else "status"), tuple(words[1:])
    paths = [path for path, entry in work.index.items() if entry.item.mode == SUBMODULE]
    if verb == "foreach":
        return _foreach(work, paths, rest)
    given = read(rest, SUBMODULES)
    chosen = [path for path in paths if not given.operands or work.pathspec(given.operands).match(path)]
    if verb == "deinit":
        return _deinit(work, given, chosen)
    if verb == "update":
        for path in chosen:
            if given.on("f") and _repository(work, path):
                work.run(("git", "reset", "--hard", "-q", work.index[path].item.blob), cwd=work.path(path))
        return None
    return None


def _repository(work: Work, path: str) -> bool:
    return work.view.kind(child(work.path(path), ".git")) is not None


def _foreach(work: Work, paths: list[str], rest: tuple[Text, ...]) -> int | None:
    words = list(rest)
    while words and words[0] in ("--recursive", "-q", "--quiet"):
        words.pop(0)
    status: int | None = 0
    for path in paths:
        if not words or not _repository(work, path):
            continue
        place = work.path(path)
        status = work.run_text(words[0], cwd=place) if len(words) == 1 else work.run(tuple(words), cwd=place)
    return status


def _deinit(work: Work, given: Given, chosen: list[str]) -> int | None:
    if not given.operands and not given.on("all"):
        return 128
    for path in chosen:
        if not _repository(work, path):
            continue
        view = work.view
        place = work.path(path)
        dot = child(place, ".git")
        directory = dot
        if view.kind(dot) != DIRECTORY:
            pointer = (view.read(dot) or b"").decode("utf-8", "surrogateescape").removeprefix("gitdir:").strip()
            directory = view.through(pointer if pointer.startswith("/") else child(place, pointer))
        other = _other(work, Repository(directory, directory, place, "", child(directory, "index")))
        if not given.on("f") and not _tidy(other):
            return 1
        take_all(work, other)
    return 0
