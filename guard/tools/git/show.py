"""git commands that only show something: what they print, where it can be told without running them."""

from __future__ import annotations

from guard import expressions as re
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
    from guard.tools.git.options import Given
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
CHECK_IGNORE = table(flags="qvzn", long="quiet/q verbose/v stdin non-matching/n index")
_FORMAT = r"-s|--no-patch|--(?:format|pretty)=(?:(?!%G|%\().)*"
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
        if name == "format-patch":
            from guard.tools.git.mails import written

            text, effects = written(work, words)
            return Analysis(tuple(effects), output=unknown("unknown-output", name) if text is None else text)
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
    if any(":" in str(word)[1:] and "*" not in str(word) for word in given.before):
        return None
    if not quiet and (not given.on("name-only") or names - _DIFF_KNOWN or given.options.strange):
        return _patches(work, words, given)
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


def _patches(work: Work, words: list[str], given: Given) -> Answer | None:
    """The patch that diff prints: between commits by asking, else from what stands on both sides."""
    from guard.tools.git import diffs

    end = words.index("--") if "--" in words else len(words)
    options = [word for word in words[:end] if word.startswith("-") and word not in ("--cached", "--staged")]
    if not all(diffs.PLAIN.fullmatch(word) for word in options) or not diffs.usual(work):
        return None
    commits, paths = _compared(work, given.before, given.after)
    if commits is None:
        return 128, ""
    plain = [path for path in paths if isinstance(path, str)]
    if len(commits) > 1 and not any(commit in work.state.commits for commit in commits):
        told = diffs.between(work, commits[0], commits[1], options, plain)
        return None if told is None else (0, told)
    if not diffs.own(options) or given.options.value("U") is not None or work.line_ends_differ:
        return None
    return _own_patches(work, [work.tree(commit) for commit in commits], paths, given)


def _own_patches(work: Work, trees: list[Mapping[str, Item]], paths: tuple[Text, ...], given: Given) -> Answer | None:
    from guard.tools.git import diffs

    spec = work.pathspec(paths)
    old, new = _sides(work, trees, given.on("cached"))
    changed = [p for p in _ordered(old.keys() | new.keys()) if spec.match(p) and _differ(work, p, old, new)]
    if len(changed) > diffs.FILES or any(work.index[path].stage for path in changed if path in work.index):
        return None
    if any(path not in old for path in changed) and any(path not in new for path in changed) and not given.on("no-renames"):
        return None
    here = len(trees) < 2 and not given.on("cached")
    found = []
    for path in changed:
        entry = work.index.get(path)
        mode = entry.item.mode if entry is not None else "100644"
        item = trees[0].get(path) if trees else entry.item if entry is not None and not entry.intent else None
        if given.on("cached") and not trees:
            item = work.head_tree.get(path)
        before = diffs.stored(work, path, item.mode, item.blob) if item is not None else None
        after = None
        if path in new:
            after = diffs.standing(work, path, mode) if here else diffs.stored(work, path, mode, new[path])
        if (before is None) != (item is None) or (after is None) != (path not in new):
            return None
        found.append(diffs.patch(path, before, after, given.on("R")))
    return 0, "".join(found)


def _differ(work: Work, path: str, old: Mapping[str, str], new: Mapping[str, str]) -> bool:
    entry = work.index.get(path)
    return old.get(path) != new.get(path) or (entry is not None and (entry.intent or (path in new and work.modified(path))))


def _wanted(kind: str, kinds: str) -> bool:
    chosen = [letter for letter in kinds if letter.isupper()]
    return (not chosen or kind in chosen) and kind.lower() not in kinds


def _revisions(
    work: Work, before: tuple[Text, ...], after: tuple[Text, ...] | None
) -> tuple[list[Mapping[str, Item]] | None, tuple[Text, ...]]:
    commits, paths = _compared(work, before, after)
    return (None if commits is None else [work.tree(commit) for commit in commits]), paths


def _compared(work: Work, before: tuple[Text, ...], after: tuple[Text, ...] | None) -> tuple[list[str] | None, tuple[Text, ...]]:
    """The commits that are compared, None where git takes a word for neither a revision nor a path; and the paths."""
    commits: list[str] = []
    rest = list(before)
    while rest and len(commits) < 2:
        word = str(rest[0])
        one, dots, other = word.partition("...") if "..." in word else word.partition("..")
        ends = [one or "HEAD", other or "HEAD"] if dots else [word]
        found = [work.resolve(end) for end in ends]
        if dots == "..." and found[0] and found[1]:
            found[0] = work.base(found[0], found[1])
        known = [commit for commit in found if commit is not None]
        if len(known) < len(found):
            break
        commits += known
        rest.pop(0)
    if after is not None and rest:
        return None, ()
    if after is None and any(
        work.call.kind(word) is None and not str(word).startswith(":") and "*" not in str(word) for word in rest
    ):
        return None, ()
    return commits, (*rest, *(after or ()))


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
        if len(names) == 1 and "--verify" in flags and work.resolve(names[0]) is None and ":" not in names[0]:
            return (1 if {"-q", "--quiet"} & set(flags) else 128), ""
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


def _show(work: Work, words: list[str]) -> Answer | None:
    """`show` of REVISION:PATH, or of a commit with its patch."""
    from guard.tools.git import diffs

    end = words.index("--") if "--" in words else len(words)
    options = [word for word in words[:end] if word.startswith("-")]
    names = [word for word in words[:end] if not word.startswith("-")]
    if any(":" in name for name in names):
        return _blob(work, words)
    plain = all(diffs.PLAIN.fullmatch(word) or re.fullmatch(_FORMAT, word) for word in options)
    if not plain or not diffs.usual(work) or (len(names) > 1 and end == len(words)):
        return None
    commit = work.resolve(names[0] if names else "HEAD")
    if commit is None or commit in work.state.commits or len(names) > 1 or len(work.parents(commit)) > 1:
        return None
    if names and work.questions.object(names[0]) != commit and names[0] not in work.state.refs:
        return None  # an annotated tag is shown itself, too
    told = diffs.shown(work, commit, options, words[end + 1 :])
    return None if told is None else (0, told)


def _stash(work: Work, words: list[str]) -> Answer | None:
    """`stash show` with a patch, of a stash that was there before."""
    from guard.tools.git import diffs

    options, names = [w for w in words[1:] if w.startswith("-")], [w for w in words[1:] if not w.startswith("-")]
    if words[:1] != ["show"] or work.state.stashes or work.state.dropped or len(names) > 1:
        return None
    number = names[0] if names else "0"
    commit = work.questions.commit(f"stash@{{{number}}}" if number.isdigit() else number)
    if commit is None:
        return (1, "") if not work.questions.failed or work.questions.commit("HEAD") else None
    if not {"-p", "-u", "--patch"} & set(options) or not all(diffs.PLAIN.fullmatch(w) for w in options) or not diffs.usual(work):
        return None
    told = diffs.between(work, work.parents(commit)[0], commit, options, ())
    return None if told is None else (0, told)


def _cat_file(work: Work, words: list[str]) -> Answer | None:
    """`cat-file` of a blob, or -e: whether an object is there."""
    if len(words) != 2 or words[0] != "-e":
        return _blob(work, words)
    revision, colon, path = words[1].partition(":")
    if colon and revision:
        commit = work.resolve(revision)
        inside = normal(path, work.prefix if path.startswith(("./", "../")) else "", work.top)
        there = (
            commit is not None
            and inside is not None
            and any(entry == inside or entry.startswith(inside + "/") or not inside for entry in work.tree(commit))
        )
        return (0 if there else 128), ""
    if colon:
        return None
    return (0 if work.resolve(revision) or work.questions.object(revision) else 1), ""


def _check_ignore(work: Work, words: list[str]) -> Answer | None:
    """The paths that are ignored; those of the index are not."""
    given = read(words, CHECK_IGNORE)
    if given.on("v", "n", "stdin") or given.options.strange or not given.operands:
        return None
    found = []
    for name in given.operands:
        path = normal(str(name), work.prefix, work.top)
        if path is None:
            return 128, ""
        tracked = any(entry == path or entry.startswith(path + "/") for entry in work.index) and not given.off("index")
        if path and not tracked and work.ignores().hidden(path, work.kind(path) == "directory" or str(name).endswith("/")):
            found.append(str(name))
    return int(not found), "" if given.on("q") else _lines(found, given.on("z"))


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
    "cat-file": _cat_file,
    "check-ignore": _check_ignore,
    "config": _config,
    "diff": _diff,
    "ls-files": _ls_files,
    "rev-parse": _rev_parse,
    "show": _show,
    "stash": _stash,
    "status": _status,
    "symbolic-ref": _symbolic_ref,
}
