"""Shell patterns: matching of strings, and pathname expansion against the tree.

A pattern is text in which a backslash makes the next character literal; quoted parts of a word are written so.
"""

from __future__ import annotations

from guard import expressions as re
from guard.effects import join, unknown
from guard.paths import child, physical
from guard.world import LISTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from guard.effects import Text
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
NAMED_LIMIT = 4000  # paths of one expansion that are named; what else a directory holds is one that is known in part


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


def expand(pattern: str, cwd: str, view: View, shopt: Iterable[str] = ()) -> list[Text]:
    """The existing paths that a pattern names, as the shell would write them, sorted. Empty when none does.

    Of very many, some are named, and behind them stand all others, in as few words with holes as there are directories.
    """
    options = frozenset(shopt)
    absolute = pattern.startswith("/")
    parts = [part for part in pattern.split("/") if part]
    wants_directory = pattern.endswith("/")
    search = _Expansion(view, options)
    search.descend("/" if absolute else "", "/" if absolute else cwd, parts)
    found = search.found
    if wants_directory:
        found = [path + "/" for path in found if view.is_dir(_absolute(path, cwd))]
    return [*sorted(set(found)), *search.others]


def _absolute(path: str, cwd: str) -> str:
    return path if path.startswith("/") else child(cwd, path)


class _Expansion:
    """One expansion: the paths found so far, and the words that stand for those that are not named."""

    def __init__(self, view: View, options: frozenset[str]) -> None:
        self.view = view
        self.options = options
        self.found: list[str] = []
        self.others: list[Text] = []

    def descend(self, shown: str, directory: str, parts: list[str]) -> None:
        """Finds what the parts name below `directory` (physical or not), each path written behind `shown`."""
        if not parts:
            self.found += [shown] if shown else []
            return
        part, rest = parts[0], parts[1:]
        if is_glob(part):
            self.look(shown, physical(self.view, directory), part, rest)
            return
        plain = unescape(part)
        below = child(directory, plain)
        if plain in (".", "..") or _there(below, self.view):
            self.descend(shown + plain + ("/" if rest else ""), below, rest)

    def look(self, shown: str, directory: str, part: str, rest: list[str]) -> None:
        """Finds what a part with wildcards and the rest name in a physical directory."""
        everywhere = part == "**" and "globstar" in self.options
        if everywhere and rest:
            self.descend(shown, directory, rest)
        names = self.named(directory, part)
        self.view.budget.spend(len(names) // LISTED)
        if everywhere or rest:
            self.go_on(shown, directory, names, [part, *rest] if everywhere else rest, everywhere)
            return
        room = max(0, NAMED_LIMIT - len(self.found))
        self.found += [shown + name for name in names[:room]]
        if len(names) > room:
            self.others.append(self.loose(shown, [part]))

    def go_on(self, shown: str, directory: str, names: list[str], parts: list[str], everywhere: bool) -> None:
        """Finds what further parts name in the directories among these names."""
        for name in names:
            below = child(directory, name)
            if len(self.found) >= NAMED_LIMIT:
                self.others.append(self.loose(shown, parts if everywhere else ["*", *parts]))
                return
            if everywhere and len(parts) == 1:
                self.found.append(shown + name)
            if self.view.kind(below) == "directory" if everywhere else self.view.is_dir(below):
                self.descend(f"{shown}{name}/", below, parts)

    def named(self, directory: str, part: str) -> list[str]:
        """The names in a physical directory that a part with wildcards matches."""
        names = self.view.listdir(directory) or []
        if "dotglob" not in self.options and not unescape(part).startswith("."):
            names = [name for name in names if not name.startswith(".")]
        if part.strip("*") == "":
            return names
        match = compiled(part, ignore_case="nocaseglob" in self.options).match
        return [name for name in names if match(name)]

    def loose(self, shown: str, parts: list[str]) -> Text:
        """One word for all that the parts may name behind `shown`: its wildcards are holes."""
        pieces: list[Text] = [shown]
        for at, part in enumerate(parts):
            everywhere = part == "**" and "globstar" in self.options
            pieces += [unescape(part)] if not is_glob(part) else self.holes(part)
            pieces += ["/"] if at + 1 < len(parts) and not everywhere else []
        return join(*pieces)

    def holes(self, part: str) -> list[Text]:
        """A part with wildcards as its plain beginning, a hole, and its plain end."""
        hole = unknown("unknown-argument", part)
        if "nocaseglob" in self.options:
            return [hole]
        beginning = re.match(r"[^*?\[\]\\!+@()|]*", part)
        end = re.search(r"[^*?\[\]\\!+@()|]*\Z", part)
        return [beginning[0] if beginning else "", hole, end[0] if end else ""]


def _there(path: str, view: View) -> bool:
    return view.kind(view.at(path)) is not None
