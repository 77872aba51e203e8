"""git's wildmatch as a regular expression, for pathspecs and ignore patterns."""

from __future__ import annotations

from guard import expressions as re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_CLASSES = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "digit": "0-9", "lower": "a-z", "upper": "A-Z", "space": r"\s",
    "xdigit": "0-9A-Fa-f", "blank": r" \t", "punct": r"!-/:-@\[-`{-~", "word": r"\w", "cntrl": r"\x00-\x1f\x7f",
    "print": r" -~", "graph": "!-~",
}  # fmt: skip
_CLASS = re.compile(r"\[([!^]?)(\]?(?:\[:[a-z]*:\]|\\.|[^\]\\])*)\]", re.DOTALL)
_STAR, _FIX = "star", "fix"


def special(pattern: str) -> bool:
    """True when the pattern holds a character that wildmatch does not take literally."""
    return any(c in "*?[\\" for c in pattern)


def matcher(pattern: str, by_component: bool, fold: bool = False) -> Callable[[str], bool]:
    """The test whether a whole string matches. `by_component`: "*" and "?" stop at "/", and "**" spans components."""
    if pattern[:1] == "*" and not special(pattern[1:]) and not fold:
        return _ending(pattern[1:], by_component)
    try:
        match = re.compile(_expression(_tokens(pattern, by_component)), re.DOTALL | (re.IGNORECASE if fold else 0)).fullmatch
    except (re.error, OverflowError, RecursionError):
        return lambda text: True
    return lambda text: match(text) is not None


def _ending(end: str, by_component: bool) -> Callable[[str], bool]:
    """The most frequent kind, "*.log"."""
    return lambda text: text.endswith(end) and not (by_component and "/" in text[: len(text) - len(end)])


def _expression(tokens: list[tuple[str, str]]) -> str:
    """Only the last star may give back what it took: the first fit of what follows an earlier one is as good as any.

    That keeps matching from taking exponential time.
    """
    groups: list[tuple[str, str]] = [("", "")]
    for kind, text in tokens:
        if kind == _STAR:
            groups.append((text, ""))
        else:
            groups[-1] = (groups[-1][0], groups[-1][1] + text)
    parts = [groups[0][1]]
    parts += [f"(?>{star}?{fix})" for star, fix in groups[1:-1]]
    if len(groups) > 1:
        parts.append("".join(groups[-1]))
    return "".join(parts)


def _tokens(pattern: str, by_component: bool) -> list[tuple[str, str]]:
    tokens: list[tuple[str, str]] = []
    one = "[^/]" if by_component else "."
    at = 0
    while at < len(pattern):
        c = pattern[at]
        if c == "*":
            end = at
            while end < len(pattern) and pattern[end] == "*":
                end += 1
            at, token = _stars(pattern, at, end, by_component)
            if token[0] != _STAR or not tokens or tokens[-1] != token:
                tokens.append(token)
            continue
        found = _CLASS.match(pattern, at) if c == "[" else None
        if found:
            tokens.append((_FIX, _class(found.group(1), found.group(2), by_component)))
            at = found.end()
            continue
        if c == "\\" and at + 1 < len(pattern):
            at += 1
        tokens.append((_FIX, one if c == "?" else "(?!)" if c == "[" else re.escape(pattern[at])))
        at += 1
    return tokens


def _stars(pattern: str, start: int, end: int, by_component: bool) -> tuple[int, tuple[str, str]]:
    """A run of stars: where it ends, and what it stands for."""
    if not by_component:
        return end, (_STAR, ".*")
    first = start == 0 or pattern[start - 1] == "/"
    if end - start == 2 and first and pattern[end : end + 1] == "/":
        return end + 1, (_FIX, "(?:.*/)?")
    if end - start == 2 and first and end == len(pattern):
        return end, (_FIX, ".*")
    return end, (_STAR, "[^/]*")


def _class(negated: str, body: str, by_component: bool) -> str:
    inner = ""
    at = 0
    while at < len(body):
        named = re.compile(r"\[:([a-z]*):\]").match(body, at)
        if named:
            inner += _CLASSES.get(named.group(1), "")
            at = named.end()
            continue
        c = body[at]
        if c == "\\" and at + 1 < len(body):
            at += 1
            c = body[at]
            inner += re.escape(c)
        else:
            inner += c if c == "-" and 0 < at < len(body) - 1 else re.escape(c)
        at += 1
    if not inner:
        return "(?!)" if not negated else "[^/]"
    slash = "(?!/)" if by_component else ""
    return f"{slash}[{'^' if negated else ''}{inner}]"
