"""Patches that git prints, as text for what reads them next: by a question between two trees, else by reading both sides."""

from __future__ import annotations

from guard import expressions as re
from guard.tools.git.pathspec import normal
from guard.tools.git.reading import quoted
from guard.tools.git.work import SUBMODULE, digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NamedTuple

    from guard.tools.git.work import Work
else:
    from guard.record import NamedTuple

FILES, SIZE = 12, 1 << 16  # as many changed files, of as many bytes each, are compared here
CONTEXT = 3
# Options of diff that only say how to compare and what to print, whatever is configured.
PLAIN = re.compile(
    r"-[puRawbMBCD]|-[UM]\d+|--(?:unified=\d+|patch|binary|full-index|text|minimal|patience|histogram|diff-algorithm=\w+"
    r"|no-color|no-ext-diff|no-textconv|no-renames|find-renames|find-copies|ignore-space-change|ignore-all-space"
    r"|ignore-blank-lines|ignore-space-at-eol|diff-filter=\w+|no-prefix|default-prefix|(?:src|dst)-prefix=.*|no-indent-heuristic"
    r"|stat|numstat|shortstat|summary|name-only|name-status|patch-with-stat|raw|abbrev=\d+|no-abbrev|no-relative|ita-.*)"
)
_OWN = re.compile(r"-[puR]|-U\d+|--(?:patch|no-color|no-ext-diff|no-textconv|no-renames|unified=\d+)")
_SAFE = ("--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=none")
# With one of these set, git prints its patches otherwise than asked for here.
_CHANGING = """
    diff.noprefix diff.mnemonicprefix diff.srcprefix diff.dstprefix diff.context diff.interhunkcontext diff.orderfile
    diff.relative diff.ignoresubmodules diff.submodule diff.suppressblankempty diff.external diff.algorithm core.quotepath
    color.ui color.diff
""".split()
_HEADING = re.compile(r"[A-Za-z_$][^\n]*")


class Side(NamedTuple):
    """A file on one side of a comparison."""

    mode: str
    blob: str
    content: bytes


def usual(work: Work) -> bool:
    """Whether no setting and no variable makes git print patches in another way than it does by itself."""
    env = work.call.env
    if env.get("GIT_EXTERNAL_DIFF") or env.get("GIT_DIFF_OPTS"):
        return False
    if any(work.config(name) is not None for name in _CHANGING):
        return False
    return not any(name.startswith("diff.") and name.endswith((".textconv", ".command")) for name in work.settings())


def between(work: Work, one: str, other: str, options: Iterable[str], paths: Iterable[str]) -> str | None:
    """What `git diff` prints about two commits of the repository; None where it cannot be told."""
    words = [*_renames(work, options), *options]
    words = words if any(_prints(word) for word in options) else ["-p", *words]
    return _asked(work, ["diff-tree", "-r", *_SAFE, *words, one, other], paths)


def shown(work: Work, commit: str, options: Iterable[str], paths: Iterable[str], style: str = "medium") -> str | None:
    """What `git show` prints about a commit that is no merge; None where it cannot be told."""
    words = [*_renames(work, options), *options]
    words = words if any(_prints(word) for word in options) else ["-p", *words]
    pretty = () if any(word.startswith(("--pretty", "--format")) for word in options) else (f"--pretty={style}",)
    return _asked(work, ["diff-tree", "-r", "--root", "--no-notes", *_SAFE, *pretty, *words, commit], paths)


def subject(work: Work, commit: str) -> str | None:
    """A commit's subject as it serves for a file's name."""
    found = work.questions.answer("rev-list", "-n", "1", "--format=%f", commit, "--")
    lines = found[1].decode("utf-8", "surrogateescape").splitlines() if found is not None and found[0] == 0 else []
    return lines[1] if len(lines) > 1 else None


def _prints(option: str) -> bool:
    """Whether an option chooses what is printed."""
    return option in ("-p", "-u", "-s", "--raw") or option.startswith(
        ("--patch", "--stat", "--numstat", "--shortstat", "--summary", "--name-", "--no-patch", "--unified", "-U", "--binary")
    )


def _renames(work: Work, options: Iterable[str]) -> list[str]:
    if any(word.startswith(("-M", "-C", "--no-renames", "--find-")) for word in options):
        return []
    value = (work.config("diff.renames") or "true").lower()
    return ["-C"] if value in ("copies", "copy") else ["-M"] if value in ("true", "yes", "on", "1") else ["--no-renames"]


def _asked(work: Work, words: list[str], paths: Iterable[str]) -> str | None:
    places = []
    for path in paths:
        place = path if path.startswith(":") and not work.prefix else normal(path, work.prefix, work.top)
        if place is None or (path.startswith(":") and work.prefix):
            return None
        places.append(place or ".")
    found = work.questions.answer(*words, "--", *places)
    return found[1].decode("utf-8", "surrogateescape") if found is not None and found[0] == 0 else None


def own(options: Iterable[str]) -> bool:
    """Whether the options are such that a comparison made here prints what git does."""
    return all(_OWN.fullmatch(option) for option in options)


def stored(work: Work, path: str, mode: str, blob: str) -> Side | None:
    """A file as the index or a tree has it; None where its content cannot be had."""
    content = work.content(path, blob) if mode != SUBMODULE else None
    return None if content is None or len(content) > SIZE else Side(mode, blob, content)


def standing(work: Work, path: str, mode: str) -> Side | None:
    """A file as it stands in the work tree; None where it cannot be read."""
    content = work.view.read(work.path(path)) if work.kind(path) == "file" else None
    if content is None or len(content) > SIZE:
        return None
    status = work.view.lstat(work.path(path))
    if status is not None and mode in ("100644", "100755") and work.flag("core.filemode", True):
        mode = "100755" if status.st_mode & 0o100 else "100644"
    return Side(mode, digest(content), content)


def patch(path: str, old: Side | None, new: Side | None, reverse: bool = False, context: int = CONTEXT) -> str:
    """The patch of one file as git prints it; "" for no difference."""
    before, after = ("b/", "a/") if reverse else ("a/", "b/")
    old, new = (new, old) if reverse else (old, new)
    if old == new:
        return ""
    head = [f"diff --git {quoted(before + path)} {quoted(after + path)}\n"]
    if old is None and new is not None:
        head.append(f"new file mode {new.mode}\n")
    elif new is None and old is not None:
        head.append(f"deleted file mode {old.mode}\n")
    elif old is not None and new is not None and old.mode != new.mode:
        head.append(f"old mode {old.mode}\nnew mode {new.mode}\n")
    one, other = (old.content if old else b""), (new.content if new else b"")
    if old is not None and new is not None and one == other:
        return "".join(head)
    same = f" {old.mode}" if old is not None and new is not None and old.mode == new.mode else ""
    head.append(f"index {(old.blob if old else '0' * 40)[:7]}..{(new.blob if new else '0' * 40)[:7]}{same}\n")
    names = (quoted(before + path) if old else "/dev/null", quoted(after + path) if new else "/dev/null")
    if b"\0" in one[:8000] + other[:8000]:
        return "".join([*head, f"Binary files {names[0]} and {names[1]} differ\n"])
    if one != other:
        tabs = ["\t" if " " in name else "" for name in names]
        head += [f"--- {names[0]}{tabs[0]}\n", f"+++ {names[1]}{tabs[1]}\n", *_hunks(_lines(one), _lines(other), context)]
    return "".join(head)


def _lines(content: bytes) -> list[str]:
    return content.decode("utf-8", "surrogateescape").replace("\n", "\n\0").rstrip("\0").split("\0") if content else []


def _hunks(old: list[str], new: list[str], context: int) -> list[str]:
    from difflib import SequenceMatcher

    found = []
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(context):
        first, last = group[0], group[-1]
        above = next((m[0] for line in reversed(old[: first[1]]) if (m := _HEADING.match(line))), "")
        heading = " " + above[:80].rstrip() if above else ""
        found.append(f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@{heading}\n")
        for kind, i1, i2, j1, j2 in group:
            found += [_line(" " if kind == "equal" else "-", line) for line in old[i1:i2]]
            found += [_line("+", line) for line in new[j1:j2] if kind != "equal"]
    return found


def _range(start: int, end: int) -> str:
    count = end - start
    return str(start + 1) if count == 1 else f"{start + 1 if count else start},{count}"


def _line(sign: str, line: str) -> str:
    return f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"
