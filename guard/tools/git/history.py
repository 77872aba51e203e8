"""git bisect, filter-branch and filter-repo: other commits are gone to, or all of them rewritten."""

from __future__ import annotations

from guard.effects import EDIT, LEAVE, MOVE, At, Effect, Pattern, Somewhere
from guard.tools.git.options import read, table
from guard.tools.git.transition import LOSE, SWITCH, go, go_over
from guard.tools.git.wildmatch import matcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from guard.effects import Text
    from guard.tools.git.options import Given
    from guard.tools.git.work import Work


FILTER_BRANCH = table(
    flags="f",
    values="d",
    long="""
    setup= subdirectory-filter= env-filter= tree-filter= index-filter= parent-filter= msg-filter= commit-filter= tag-name-
    filter= prune-empty original= force/f state-branch= remap-to-ancestor
    """,
)
FILTER_REPO = table(
    flags="fh",
    long="""
    force/f path= path-match=/path path-glob= path-regex= invert-paths use-base-name paths-from-file= path-rename=
    subdirectory-filter= to-subdirectory-filter= strip-blobs-bigger-than= strip-blobs-with-ids= replace-text= analyze dry-
    run refs= partial mailmap= replace-message= commit-callback= blob-callback= filename-callback= tag-rename= prune-
    empty= replace-refs= quiet debug help/h version
    """,
)


def bisect(work: Work, args: tuple[Text, ...]) -> int | None:
    """git bisect: other commits are checked out; `run` runs a command at each of them."""
    verb = args[0] if args else None
    if verb in ("start", "good", "bad", "new", "old", "skip", "next", "reset", "replay"):
        work.found.append(Effect(LEAVE, Somewhere(work.top), certain=False))
        if verb == "reset" and len(args) > 1 and isinstance(args[1], str):
            target = work.resolve(args[1])
            return 1 if target is None or not go_over(work, work.head_tree, work.tree(target), SWITCH) else 0
        return None
    if verb == "run" and len(args) > 1:
        work.run(args[1:])
    return None


def filter_branch(work: Work, args: tuple[Text, ...]) -> int | None:
    """git filter-branch: history is rewritten, then the work tree follows it."""
    given = read(args, FILTER_BRANCH)
    if any(work.dirty(path) for path in work.index):
        return 1
    for option in ("tree-filter", "index-filter"):
        for text in given.options.values(option):
            work.run_text(text)
    directory = given.value("subdirectory-filter")
    if directory is not None:
        for path in list(work.index):
            if isinstance(directory, Pattern) or not path.startswith(f"{directory.strip('/')}/"):
                work.certain = not isinstance(directory, Pattern)
                go(work, path, LOSE)
            else:
                work.effect(Effect(MOVE, At(work.path(path)), to=work.path(path[len(directory.strip("/")) + 1 :])))
    return None


def filter_repo(work: Work, args: tuple[Text, ...]) -> int | None:
    """git filter-repo: only the chosen paths stay in history, or with --invert-paths only the others."""
    given = read(args, FILTER_REPO)
    if given.on("analyze", "n", "dry-run", "h", "version"):
        return 0
    work.certain = given.on("f")
    wanted = _filtered(given)
    for path in list(work.index):
        if wanted is None:
            if not given.on("replace-text", "blob-callback", "filename-callback", "commit-callback"):
                continue
            work.effect(Effect(EDIT, At(work.path(path))))
        elif wanted(path) == given.on("invert-paths"):
            go(work, path, LOSE)
    return None


def _filtered(given: Given) -> Callable[[str], bool] | None:
    """The test whether a path is among those that the options name, None without such an option."""
    tests: list[Callable[[str], bool]] = []
    for option, value in given.options.given:
        text = str(value).rstrip("/")
        if option == "path":
            tests += [text.__eq__, _below(text)]
        elif option == "path-glob":
            tests.append(matcher(text, False))
        elif option == "subdirectory-filter":
            tests.append(_below(text))
        elif option in ("path-regex", "paths-from-file"):
            tests.append(lambda path: True)
    return (lambda path: any(test(path) for test in tests)) if tests else None


def _below(directory: str) -> Callable[[str], bool]:
    return lambda path: path.startswith(directory + "/")
