"""git sparse-checkout: only some directories of the branch stand in the work tree."""

from __future__ import annotations

from guard.effects import Pattern
from guard.tools.git.ignore import rules
from guard.tools.git.options import read, table
from guard.tools.git.transition import LOSE, arrive, go

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.effects import Text
    from guard.tools.git.ignore import Rule
    from guard.tools.git.work import Work


SPARSE = table(long="cone sparse-index stdin skip-checks")


def sparse_checkout(work: Work, args: tuple[Text, ...]) -> int | None:
    """git sparse-checkout: tracked files outside of the chosen directories leave the tree."""
    verb, given = (args[0] if args else None), read(args[1:], SPARSE)
    if verb not in ("set", "init", "add", "disable", "reapply"):
        return None
    if verb == "reapply":
        return None
    operands = given.operands
    if given.on("stdin"):
        text = work.call.stdin
        operands = tuple(text.split("\n")) if isinstance(text, str) else () if text is None else (text,)
    unclear = any(isinstance(word, Pattern) for word in operands)
    names = [word for word in operands if isinstance(word, str) and word]
    if verb == "disable":
        wanted = list(work.index)
    elif given.off("cone") or (work.config("core.sparsecheckoutcone") == "false" and not given.on("cone")):
        wanted = _by_patterns(work, names)
    else:
        wanted = _by_directories(work, names)
    if verb == "add":
        wanted += [path for path, entry in work.index.items() if not entry.absent]
    work.certain = not unclear
    _make_sparse(work, set(wanted))
    return 0


def _by_patterns(work: Work, names: list[str]) -> list[str]:
    found = rules("\n".join(names))
    return [path for path in work.index if _chosen(found, path)]


def _chosen(found: tuple[Rule, ...], path: str) -> bool:
    parts = path.split("/")
    for end in range(len(parts), 0, -1):
        here = "/".join(parts[:end])
        for rule in found:
            if (end < len(parts) or not rule.directory) and rule.match(here if rule.anchored else parts[end - 1]):
                return not rule.negated
    return False


def _by_directories(work: Work, names: list[str]) -> list[str]:
    """Cone mode: the directories with all below them, and the files that stand in directories above them."""
    directories = [n.strip("/") if n.startswith("/") or not work.prefix else f"{work.prefix}/{n.strip('/')}" for n in names]
    above = {""}
    for directory in directories:
        while directory := directory.rpartition("/")[0]:
            above.add(directory)
    inside = tuple(directory + "/" for directory in directories if directory)
    return [path for path in work.index if path.rpartition("/")[0] in above or path.startswith(inside)]


def _make_sparse(work: Work, wanted: set[str]) -> None:
    entries = dict(work.index)
    for path, entry in work.index.items():
        if path in wanted:
            if entry.absent:
                entries[path] = entry._replace(absent=False)
                if work.blob(path) is None:
                    arrive(work, path, entry.item, LOSE)
        elif not entry.absent and not entry.stage and not work.dirty(path) and not work.stale(path):
            go(work, path, LOSE)
            entries[path] = entry._replace(absent=True)
    work.stage(entries)
