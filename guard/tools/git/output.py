"""git commands that leave the tree alone but write what they have to say into a file that their options name."""

from __future__ import annotations

from guard.effects import EDIT, OVERWRITE, Effect
from guard.tools.git.options import read, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.effects import Text
    from guard.tools.call import Call

_LOGS = frozenset(
    "diff log show whatchanged shortlog diff-tree diff-index diff-files range-diff reflog format-patch stash".split()
)
ARCHIVE = table(
    flags="lv0123456789",
    values="o",
    long="format= prefix= output=/o worktree-attributes list/l verbose/v remote= exec= add-file= add-virtual-file= mtime=",
)
BUNDLE = table(flags="q", long="quiet progress all-progress all-progress-implied version=")
MERGE_FILE = table(
    flags="pq", values="L", long="stdout/p diff3 zdiff3 ours theirs union marker-size= quiet/q object-id diff-algorithm="
)
TRAILERS = table(
    long="in-place trim-empty where= if-exists= if-missing= only-trailers only-input unfold parse no-divider trailer="
)
BLOBS = table(
    values="f", long="file=/f blob= get get-all get-regexp get-urlmatch list unset unset-all replace-all add edit", flags="lez"
)


def written(call: Call, name: str, args: tuple[Text, ...]) -> list[Effect]:
    """The files that one of these commands writes over, or changes."""
    if name in _LOGS:
        return [_over(call, path) for path in _named(args)]
    if name == "archive":
        path = read(args, ARCHIVE).value("o")
        return [] if path is None else [_over(call, path)]
    if name == "bundle" and args and args[0] == "create":
        operands = read(args[1:], BUNDLE).operands
        return [_over(call, operands[0])] if operands and operands[0] != "-" else []
    if name == "merge-file":
        merging = read(args, MERGE_FILE)
        return [Effect(EDIT, call.through(merging.operands[0]))] if merging.operands and not merging.on("p") else []
    if name == "interpret-trailers":
        trailers = read(args, TRAILERS)
        return [Effect(EDIT, call.through(path)) for path in trailers.operands] if trailers.on("in-place") else []
    if name == "config":
        given = read(args, BLOBS)
        path = given.value("f")
        asking = given.on("get", "get-all", "get-regexp", "get-urlmatch", "list", "l") or len(given.operands) < 2 - given.on(
            "unset"
        )
        return [] if path is None or asking else [Effect(EDIT, call.through(path))]
    return []


def _over(call: Call, path: Text) -> Effect:
    return Effect(OVERWRITE, call.through(path))


def _named(args: tuple[Text, ...]) -> list[Text]:
    """The values of --output, which needs no "=" in front of its value."""
    found: list[Text] = []
    for at, word in enumerate(args):
        if word == "--":
            break
        if word == "--output" and at + 1 < len(args):
            found.append(args[at + 1])
        start = word if isinstance(word, str) else word.prefix
        if start.startswith("--output="):
            found.append(read((word,), table(long="output=")).value("output") or "")
    return found
