"""git commands that only show something: what they print, where it can be told without running them."""

from __future__ import annotations

from guard.effects import Analysis, unknown
from guard.paths import child
from guard.tools.git.options import read, table
from guard.tools.git.pathspec import normal
from guard.tools.git.reading import quoted
from guard.tools.git.untracked import untracked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from guard.effects import Text
    from guard.tools.git.questions import Item
    from guard.tools.git.work import Work

LS_FILES = table(
    flags="zcdmoisuktvf",
    values="xX",
    long="""
    cached/c deleted/d modified/m others/o ignored/i stage/s directory no-empty-directory empty-directory unmerged/u
    killed/k exclude=/x exclude-from= exclude-per-directory= exclude-standard error-unmatch full-name recurse-submodules
    abbrev? debug deduplicate eol with-tree= sparse format=
    """,
)
_LS_KNOWN = {"z", "c", "d", "m", "o", "i", "x", "exclude-standard", "full-name", "deduplicate", "error-unmatch"}
DIFF = table(
    flags="zpuaRwbBMC",
    values="GSO",
    optional="MCBUl",
    long="""
    name-only name-status cached staged/cached diff-filter= quiet exit-code renames relative? merge-base stat? color? no-
    index ext-diff textconv
    """,
)
_DIFF_KNOWN = {"z", "name-only", "cached", "diff-filter", "no-renames", "no-ext-diff", "no-textconv", "no-color"}
STATUS = table(
    flags="svbz",
    optional="uM",
    long="""
    short/s branch/b porcelain? long verbose/v untracked-files?/u ignored? null/z ignore-submodules? column? show-stash
    ahead-behind renames find-renames?
    """,
)
_REV_PARSE = {"--abbrev-ref", "--short", "--verify", "-q", "--quiet", "--symbolic-full-name", "--symbolic"}
# Commands that read objects and refs only, and do what they do whatever is configured.
_PLAIN = {"merge-base", "for-each-ref", "ls-tree", "rev-list", "show-ref"}


def output(work: Work, name: str, args: tuple[Text, ...]) -> Analysis:
    """What a harmless command prints and its status, as far as both can be told."""
    words = [word for word in args if isinstance(word, str)]
    answer = None
    if len(words) == len(args):
        if name in _SHOWN:
            answer = _SHOWN[name](work, words)
        elif name in _PLAIN and not (work.state.refs or work.state.head or work.state.new) and "--output" not in " ".join(words):
            answer = _asked(work, [name, *words])
    if answer is None:
        return Analysis(output=unknown("unknown-output", " ".join(["git", name, *map(str, args)])))
    status, text = answer
    return Analysis(output=text, status=status)


Answer = tuple[int | None, "Text"]


def _asked(work: Work, words: list[str]) -> Answer | None:
    found = work.questions.here(work.call.where(".") or work.top).answer(*words)
    return None if found is None else (found[0], found[1].decode("utf-8", "surrogateescape"))


def _lines(paths: Iterable[str], nul: bool) -> str:
    return "".join(path + "\0" if nul else quoted(path) + "\n" for path in paths)


def _ordered(paths: Iterable[str]) -> list[str]:
    return sorted(paths, key=lambda path: path.encode("utf-8", "surrogateescape"))


def _ls_files(work: Work, words: list[str]) -> Answer | None:
    given = read(words, LS_FILES)
    names = {name for name, _ in given.options.given}
    if names - _LS_KNOWN or given.options.strange:
        return None
    spec = work.pathspec(given.operands)
    if spec.outside:
        return 128, ""
    cached = given.on("c") or not names & {"o", "d", "m"}
    found: list[str] = []
    if given.on("o"):
        ignores = work.ignoring([str(v) for v in given.options.values("x")], given.on("exclude-standard"))
        narrowed = given.on("exclude-standard", "x")
        shown = (entry for entry in untracked(work, ignores) if not narrowed or entry.ignored == given.on("i"))
        found = [entry.path + "/" * entry.nested for entry in shown]
    listed = []
    for path in work.index:
        times = cached + (given.on("d") and work.blob(path) is None) + (given.on("m") and work.dirty(path))
        listed += [path] * (min(times, 1) if given.on("deduplicate") else times)
    if given.on("i") and cached:
        return None
    here = (".",) if not given.operands and work.prefix else given.operands
    spec = work.pathspec(here)
    chosen = [path for path in _ordered(found) + _ordered(listed) if spec.match(path.rstrip("/"))]
    if given.on("error-unmatch") and spec.unmatched(chosen):
        return 1, ""
    return 0, _lines([path if given.on("full-name") else relative(path, work.prefix) for path in chosen], given.on("z"))


def relative(path: str, prefix: str) -> str:
    """A path of the repository as seen from the directory `prefix`."""
    if not prefix:
        return path
    one, other = path.split("/"), prefix.split("/")
    same = 0
    while same < min(len(one) - 1, len(other)) and one[same] == other[same]:
        same += 1
    return "/".join([".."] * (len(other) - same) + one[same:])


def _diff(work: Work, words: list[str]) -> Answer | None:
    given = read(words, DIFF)
    names = {name for name, _ in given.options.given}
    quiet = given.on("quiet") and names <= {"quiet", "cached"}
    if not quiet and (not given.on("name-only") or names - _DIFF_KNOWN or given.options.strange):
        return None
    trees, paths = _revisions(work, given.before, given.after)
    if trees is None:
        return 128, ""
    spec = work.pathspec(paths)
    old, new = _sides(work, trees, given.on("cached"))
    kinds = given.value("diff-filter")
    chosen = []
    for path in _ordered(old.keys() | new.keys()):
        before, after = old.get(path), new.get(path)
        kind = "A" if before is None else "D" if after is None else "M"
        if before != after and spec.match(path) and _wanted(kind, str(kinds or "")):
            chosen.append(path)
    if not quiet and "no-renames" not in names and any(p not in old for p in chosen) and any(p not in new for p in chosen):
        return None
    return (int(bool(chosen)), "") if quiet else (0, _lines(chosen, given.on("z")))


def _wanted(kind: str, kinds: str) -> bool:
    chosen = [letter for letter in kinds if letter.isupper()]
    return (not chosen or kind in chosen) and kind.lower() not in kinds


def _revisions(
    work: Work, before: tuple[Text, ...], after: tuple[Text, ...] | None
) -> tuple[list[Mapping[str, Item]] | None, tuple[Text, ...]]:
    trees: list[Mapping[str, Item]] = []
    rest = list(before)
    while rest and len(trees) < 2:
        word = str(rest[0])
        one, dots, other = word.partition("..")
        ends = [one or "HEAD", other or "HEAD"] if dots and not other.startswith(".") else [word]
        commits = [work.resolve(end) for end in ends]
        if any(commit is None for commit in commits):
            break
        trees += [work.tree(commit) for commit in commits]
        rest.pop(0)
    if after is not None and rest:
        return None, ()
    if after is None and any(
        work.call.kind(word) is None and not str(word).startswith(":") and "*" not in str(word) for word in rest
    ):
        return None, ()
    return trees, (*rest, *(after or ()))


def _sides(work: Work, trees: list[Mapping[str, Item]], cached: bool) -> tuple[dict[str, str], dict[str, str]]:
    """The contents' ids by path on both sides."""
    index = {path: entry.item.blob for path, entry in work.index.items()}
    if len(trees) > 1:
        return _blobs(trees[0]), _blobs(trees[1])
    if cached:
        return _blobs(trees[0] if trees else work.head_tree), index
    there = {path: blob for path in index if (blob := index[path] if work.index[path].absent else work.blob(path)) is not None}
    return (_blobs(trees[0]) if trees else index), there


def _blobs(tree: Mapping[str, Item]) -> dict[str, str]:
    return {path: item.blob for path, item in tree.items()}


def _status(work: Work, words: list[str]) -> Answer | None:
    given = read(words, STATUS)
    names = {name for name, _ in given.options.given}
    version = given.value("porcelain")
    if not given.on("s", "porcelain") or names - {"s", "porcelain", "z", "u"} or version not in (None, "", "v1", "1"):
        return None
    spec = work.pathspec(given.operands)
    index, head = work.index, work.head_tree
    rows = []
    staged = {}
    for path in _ordered(index.keys() | head.keys()):
        entry, item = index.get(path), head.get(path)
        x = " " if entry is not None and entry.item == item else "A" if item is None else "D" if entry is None else "M"
        staged[path] = x
        y = " " if entry is None or not work.dirty(path) else "D" if work.blob(path) is None else "M"
        if (x, y) != (" ", " ") and spec.match(path):
            rows.append((f"{x}{y} ", path))
    if {"A", "D"} <= set(staged.values()) or any(entry.stage for entry in index.values()):
        return None
    if given.value("u") not in ("no", "false"):
        rows += [("?? ", path) for path in _collapsed(work, given.value("u") == "all") if spec.match(path.rstrip("/"))]
    whole = given.on("porcelain") or given.on("z")
    shown = [(mark, path if whole else relative(path, work.prefix)) for mark, path in rows]
    if given.on("z"):
        return 0, "".join(f"{mark}{path}\0" for mark, path in shown)
    return 0, "".join(
        mark + (f'"{path}"' if " " in path and quoted(path) == path else quoted(path)) + "\n" for mark, path in shown
    )


def _collapsed(work: Work, every: bool) -> list[str]:
    """The untracked files that are not ignored, directories with nothing else in them as such."""
    tracked = {"/".join(path.split("/")[:n]) for path in work.index for n in range(1, path.count("/") + 1)}
    found = set()
    for entry in untracked(work, work.ignores()):
        if entry.ignored:
            continue
        path = entry.path + "/" * entry.nested
        parts = path.split("/")
        above = next(("/".join(parts[:n]) for n in range(1, len(parts)) if "/".join(parts[:n]) not in tracked), None)
        found.add(path if every or above is None else above + "/")
    return _ordered(found)


def _git_dir(work: Work) -> str:
    directory = work.repository.dir
    return ".git" if not work.prefix and directory == child(work.top, ".git") else directory


def _place(work: Work, question: str) -> str | None:
    """The answers to questions about where the command stands."""
    prefix = work.prefix
    return {
        "--show-prefix": prefix + "/" if prefix else "",
        "--show-cdup": "../" * (prefix.count("/") + 1) if prefix else "",
        "--show-toplevel": work.top,
        "--git-dir": _git_dir(work),
        "--absolute-git-dir": work.repository.dir,
        "--is-inside-work-tree": "true" if work.repository.prefix is not None else "false",
        "--is-bare-repository": "false",
        "--is-inside-git-dir": "false",
    }.get(question)


def _rev_parse(work: Work, words: list[str]) -> Answer | None:
    if len(words) == 1 and (place := _place(work, words[0])) is not None:
        return 0, place + "\n"
    flags = [word for word in words if word.startswith("-")]
    names = [word for word in words if not word.startswith("-")]
    if any(flag.partition("=")[0] not in _REV_PARSE for flag in flags):
        return None
    state = work.state
    if state.refs or state.head or state.new or state.earlier:
        if names in (["HEAD"], ["@"]) and flags == ["--abbrev-ref"]:
            return 0, (work.branch or "HEAD").removeprefix("refs/heads/") + "\n"
        return None if names else _asked(work, ["rev-parse", *words])
    return _asked(work, ["rev-parse", *words])


def _branch(work: Work, words: list[str]) -> Answer | None:
    if words != ["--show-current"]:
        return None
    return 0, work.branch.removeprefix("refs/heads/") + "\n" if work.branch else ""


def _symbolic_ref(work: Work, words: list[str]) -> Answer | None:
    if [word for word in words if word not in ("-q", "--quiet", "--short")] != ["HEAD"]:
        return None
    if work.branch is None:
        return 1 if "-q" in words or "--quiet" in words else 128, ""
    return 0, (work.branch.removeprefix("refs/heads/") if "--short" in words else work.branch) + "\n"


def _config(work: Work, words: list[str]) -> Answer | None:
    names = [word for word in words if not word.startswith("-")]
    if [word for word in words if word.startswith("-")] not in ([], ["--get"]) or len(names) != 1 or "." not in names[0]:
        return None
    first, _, rest = names[0].partition(".")
    middle, dot, last = rest.rpartition(".")
    value = work.config(f"{first.lower()}.{middle}{dot}{last.lower()}")
    return (1, "") if value is None else (0, value + "\n")


def _blob(work: Work, words: list[str]) -> Answer | None:
    """`cat-file -p` and `show` of REVISION:PATH."""
    names = [word for word in words if word not in ("-p", "blob")]
    if len(names) != 1 or names[0].startswith(("-", ":")) or ":" not in names[0]:
        return None
    revision, _, path = names[0].partition(":")
    commit = work.resolve(revision)
    inside = normal(path, work.prefix if path.startswith(("./", "../")) else "", work.top)
    item = work.tree(commit).get(inside) if commit is not None and inside is not None else None
    if item is None:
        return (128, "") if commit is None or inside not in {p[: len(inside or "")] for p in work.tree(commit)} else None
    content = work.questions.content(item.blob)
    return None if content is None else (0, content.decode("utf-8", "surrogateescape"))


_SHOWN = {
    "branch": _branch,
    "cat-file": _blob,
    "config": _config,
    "diff": _diff,
    "ls-files": _ls_files,
    "rev-parse": _rev_parse,
    "show": _blob,
    "status": _status,
    "symbolic-ref": _symbolic_ref,
}
