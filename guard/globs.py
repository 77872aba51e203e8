"""Globs: .gitignore patterns of a configuration, checked strictly and made into matchers with pathspec's expressions."""

from __future__ import annotations

import re

from guard.matching import DIRECTORY, PATH, REGEX, Matcher, Rule

WILD = re.compile(r"[*?\[]")
CLASS = re.compile(r"\[[!^]?\]?[^\]]*\]")
AMBIGUOUS = ("[", "\\", "--", "&&", "||", "~~")  # inside [...]: git, pathspec and re read them differently


def check(glob: str) -> str | None:
    """What is wrong with a glob, with the remedy; None when it is good.

    git and pathspec pass over most of these in silence, and what was to be protected is not.
    """
    body = glob.removeprefix("!")
    if not body.strip("/ \t"):
        return "it names nothing"
    if any(c in glob for c in "\0\n\r"):
        return "it holds a control character"
    if glob.startswith("#"):
        return 'it is a comment to git; write "\\\\#" for a name that starts with "#"'
    if glob != glob.rstrip() and not glob.endswith("\\ "):
        return "it ends with a blank, which git ignores"
    return _check_parts(body)


def _check_parts(body: str) -> str | None:
    parts = body.removeprefix("/").removesuffix("/").split("/")
    for part in parts:
        if not part:
            return 'it holds "//", and so never matches'
        if part in (".", ".."):
            return f'it holds "{part}" as a component, and so never matches; start it with "/" to mean the root'
        if len(part) - len(part.rstrip("\\")) & 1:
            return 'it ends a component with a "\\" that escapes nothing'
        if error := _check_classes(part):
            return error
    if parts[0] == "~":
        return '"~" is not expanded; patterns are relative to the root'
    return None


def _check_classes(part: str) -> str | None:
    bare = re.sub(r"\\.", "", part) if "[" not in part else _unescaped(part)
    rest = CLASS.sub("", bare)
    if "[" in rest:
        return 'a "[" is never closed (inside one component); write "\\\\[" for a plain one'
    for found in CLASS.findall(bare):
        inner = found[1:-1].lstrip("!^")
        if any(mark in inner for mark in AMBIGUOUS):
            return f'"{found}" is read differently by different programs; use a plainer one'
        try:
            re.compile("[" + inner.replace("]", "\\]").replace("^", "\\^") + "]")
        except re.error:
            return f'"{found}" is no range'
    return None


def _unescaped(part: str) -> str:
    """The part without the escaped characters that stand outside brackets."""
    return re.sub(r"(\[[!^]?\]?[^\]]*\])|\\.", lambda m: m.group(1) or "", part)


def matcher(rule: Rule) -> Matcher:
    """The rule (its glob must pass check()) as a matcher."""
    include = not rule.glob.startswith("!")
    literal, how, depth = _shape(rule.glob.removeprefix("!"))
    return Matcher(rule, include, how, literal, depth, _regex(rule.glob) if how == REGEX else "")


def _shape(body: str) -> tuple[str, str, int]:
    """The plain beginning of an anchored glob, how it is decided, and the depth of what it names."""
    if "/" not in body[:-1]:
        return "", REGEX, 0
    parts = body.removeprefix("/").removesuffix("/").split("/")
    plain = next((i for i, part in enumerate(parts) if WILD.search(re.sub(r"\\.", "", part))), len(parts))
    literal = "/".join(re.sub(r"\\(.)", r"\1", part) for part in parts[:plain])
    if plain == len(parts):
        return literal, DIRECTORY if body.endswith("/") else PATH, len(parts)
    return literal, REGEX, 0 if "**" in parts else len(parts)


def _regex(glob: str) -> str:
    """pathspec's own expression, with an end that a name's trailing newline does not pass for."""
    from pathspec import GitIgnoreSpec

    pattern = next(iter(GitIgnoreSpec.from_lines([glob]).patterns))
    expression = getattr(pattern, "regex", None)
    if expression is None:
        raise ValueError(f"{glob!r} matches nothing")
    text: str = expression.pattern
    return text[:-2] + r"\Z)" if text.endswith("|$)") else text


def table() -> str:
    """The source text of builtin_rules.MATCHERS."""
    from guard.builtin_rules import LISTS

    rows = {name: tuple(tuple(matcher(Rule(name, glob))[2:]) for glob in globs) for name, globs in LISTS.items()}
    body = "".join(f'    "{name}": (\n' + "".join(f"        {row!r},\n" for row in of) + "    ),\n" for name, of in rows.items())
    return "MATCHERS: dict[str, tuple[tuple[str, str, int, str], ...]] = {\n" + body.replace("'", '"') + "}\n"


if __name__ == "__main__":
    print(table(), end="")
