"""Shell patterns: matching of strings, and pathname expansion against the tree.

A pattern is text in which a backslash makes the next character literal; quoted parts of a word are written so.
"""

from __future__ import annotations

from guard import expressions as re
from guard.paths import child, physical

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from guard.overlay import View

SPECIAL = frozenset("*?[]\\!+@()|")
CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\s",
    "upper": "A-Z",
    "word": r"\w",
    "xdigit": "0-9A-Fa-f",
}
FOUND_LIMIT = 20_000  # paths of one expansion


def escape(text: str) -> str:
    """The text as a pattern that matches only itself."""
    return "".join("\\" + c if c in SPECIAL else c for c in text)


def unescape(pattern: str) -> str:
    """The text that a pattern without special characters stands for."""
    return re.sub(r"\\(.)", r"\1", pattern, flags=re.S)


def is_glob(pattern: str) -> bool:
    """True when pathname expansion would look for matches: an unescaped *, ?, [..] or extended group."""
    bare = re.sub(r"\\.", "", pattern, flags=re.S)
    return "*" in bare or "?" in bare or ("[" in bare and "]" in bare) or re.search(r"[@!+]\(", bare) is not None


def expression(pattern: str, slash: bool = True, shortest: bool = False) -> str:
    """The pattern as a regular expression; `slash` tells whether * and ? match "/", `shortest` makes * lazy."""
    return _Translator("." if slash else "[^/]", "?" if shortest else "").all(pattern)


class _Translator:
    def __init__(self, any_character: str, lazy: str) -> None:
        self.any = any_character
        self.lazy = lazy

    def all(self, pattern: str) -> str:
        out = []
        at = 0
        while at < len(pattern):
            piece, at = self.one(pattern, at)
            out.append(piece)
        return "".join(out)

    def one(self, pattern: str, at: int) -> tuple[str, int]:
        """The expression of the element at a position, and the position behind it."""
        character = pattern[at]
        if character == "\\" and at + 1 < len(pattern):
            return re.escape(pattern[at + 1]), at + 2
        if character in "?*+@!" and pattern[at + 1 : at + 2] == "(":
            end = _group_end(pattern, at + 2)
            if end is not None:
                return self.group(character, pattern[at + 2 : end], pattern[end + 1 :]), end + 1
        if character == "*":
            while pattern[at + 1 : at + 2] == "*":
                at += 1
            return f"{self.any}*{self.lazy}", at + 1
        if character == "?":
            return self.any, at + 1
        if character == "[":
            found = _bracket(pattern, at)
            if found is not None:
                return found
        return re.escape(character), at + 1

    def group(self, kind: str, inner: str, rest: str) -> str:
        choices = "|".join(self.all(choice) for choice in _choices(inner))
        if kind == "!":
            return f"(?!(?:{choices}){self.all(rest)}\\Z){self.any}*{self.lazy}"
        return f"(?:{choices})" + {"?": "?", "*": "*", "+": "+", "@": ""}[kind]


def _group_end(pattern: str, at: int) -> int | None:
    depth = 1
    while at < len(pattern):
        if pattern[at] == "\\":
            at += 1
        elif pattern[at] == "(":
            depth += 1
        elif pattern[at] == ")":
            depth -= 1
            if not depth:
                return at
        at += 1
    return None


def _choices(inner: str) -> list[str]:
    choices, depth, start, at = [], 0, 0, 0
    while at < len(inner):
        if inner[at] == "\\":
            at += 1
        elif inner[at] == "(":
            depth += 1
        elif inner[at] == ")":
            depth -= 1
        elif inner[at] == "|" and not depth:
            choices.append(inner[start:at])
            start = at + 1
        at += 1
    return [*choices, inner[start:]]


def _bracket(pattern: str, at: int) -> tuple[str, int] | None:
    """A bracket expression as a character class; None when it never closes (then "[" is itself)."""
    end = at + 1
    negated = pattern[end : end + 1] in ("!", "^") and pattern[end : end + 1] != ""
    end += negated
    out = ""
    first = True
    while end < len(pattern):
        character = pattern[end]
        if character == "]" and not first:
            if not out:
                return None
            return f"[{'^' if negated else ''}{out}]", end + 1
        first = False
        if pattern.startswith("[:", end) and ":]" in pattern[end:]:
            close = pattern.index(":]", end)
            out += CLASSES.get(pattern[end + 2 : close], "")
            end = close + 2
            continue
        if character == "\\" and end + 1 < len(pattern):
            end += 1
            character = pattern[end]
        elif character == "-" and out and pattern[end + 1 : end + 2] not in ("]", ""):
            out += "-"
            end += 1
            continue
        out += re.escape(character)
        end += 1
    return None


def compiled(pattern: str, slash: bool = True, ignore_case: bool = False) -> re.Pattern[str]:
    """The pattern as a compiled expression that must match a whole string. A pattern that makes no sense matches itself."""
    flags = re.S | (re.I if ignore_case else 0)
    try:
        return re.compile(expression(pattern, slash) + r"\Z", flags)
    except (re.error, OverflowError, RecursionError):
        return re.compile(re.escape(unescape(pattern)) + r"\Z", flags)


def matches(pattern: str, text: str) -> bool:
    """True when the whole text matches, as in `case` and [[ == ]]."""
    return compiled(pattern).match(text) is not None


def expand(pattern: str, cwd: str, view: View, shopt: Iterable[str] = ()) -> list[str]:
    """The existing paths that a pattern names, as the shell would write them, sorted. Empty when none does."""
    options = frozenset(shopt)
    absolute = pattern.startswith("/")
    parts = [part for part in pattern.split("/") if part]
    wants_directory = pattern.endswith("/")
    found = _descend("/" if absolute else "", "/" if absolute else cwd, parts, view, options)
    if wants_directory:
        found = [path + "/" for path in found if view.is_dir(_absolute(path, cwd))]
    return sorted(set(found))


def _absolute(path: str, cwd: str) -> str:
    return path if path.startswith("/") else child(cwd, path)


def _descend(shown: str, directory: str, parts: list[str], view: View, options: frozenset[str]) -> list[str]:
    """Paths below `directory` (physical or not) that the parts name, each written behind `shown`."""
    if not parts:
        return [shown] if shown else []
    part, rest = parts[0], parts[1:]
    if not is_glob(part):
        plain = unescape(part)
        below = child(directory, plain)
        if plain not in (".", "..") and not _there(below, view):
            return []
        return _descend(shown + plain + ("/" if rest else ""), below, rest, view, options)
    real = physical(view, directory)
    names = view.listdir(real) or []
    found: list[str] = []
    if part == "**" and "globstar" in options:
        found += _descend(shown, directory, rest, view, options) if rest else []
        for name in names:
            if name.startswith(".") and "dotglob" not in options:
                continue
            below = child(real, name)
            if not rest:
                found.append(shown + name)
            if view.kind(below) == "directory":
                found += _descend(f"{shown}{name}/", below, parts, view, options)
        return found
    test = compiled(part, ignore_case="nocaseglob" in options)
    hidden = "dotglob" in options or unescape(part).startswith(".")
    for name in names:
        if (name.startswith(".") and not hidden) or test.match(name) is None:
            continue
        if rest and not view.is_dir(child(real, name)):
            continue
        found += _descend(shown + name + ("/" if rest else ""), child(real, name), rest, view, options)
        view.budget.spend()
        if len(found) > FOUND_LIMIT:
            view.budget.spend(1 << 60)
    return found


def _there(path: str, view: View) -> bool:
    return view.kind(view.at(path)) is not None
