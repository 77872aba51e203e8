"""Real gaps: tool calls that the client denied, guard did not refuse, and the allow list does not cover."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from guard.loop.facts import ERRORS
from guard.loop.reading.said import SHELLS, Denial

_RULE = re.compile(r"\s*([\w*.-]+)(?:\((.*)\))?\s*", re.DOTALL)
_LONGEST = 200  # characters of a gap


def allow_list(text: str) -> tuple[str, ...]:
    """The entries of a list such as `Bash(git status *), Read`, separated by commas or blanks outside brackets."""
    found, depth, start = [], 0, 0
    for at, character in enumerate(text + ","):
        depth += (character == "(") - (character == ")" and depth > 0)
        if not depth and (character == "," or character.isspace()):
            found.append(text[start:at].strip())
            start = at + 1
    return tuple(filter(None, found))


def gaps(
    denials: Iterable[Denial], allowed: Iterable[str], refused: Collection[str] = (), commands: Collection[str] = ()
) -> tuple[str, ...]:
    """The real gaps, as `Bash(command)` or the tool's name. `refused`: ids of tool calls that guard refused itself, and
    `commands` the commands, for what has no id in common."""
    patterns = tuple(_shell_patterns(allowed))
    found = []
    for one in denials:
        command = one.command
        if (one.id and one.id in refused) or (command is not None and command in commands):
            continue
        if command is None:
            found.append(one.tool or "a tool")
        elif not covered(command, patterns):
            found.append(f"{one.tool}({' '.join(command.split())[:_LONGEST]})")
    return tuple(dict.fromkeys(found))[:ERRORS]


def _shell_patterns(allowed: Iterable[str]) -> Iterator[re.Pattern[str]]:
    for entry in allowed:
        found = _RULE.fullmatch(entry)
        if found is not None and found[1] in SHELLS:
            yield _pattern((found[2] or "*").strip())


def _pattern(rule: str) -> re.Pattern[str]:
    """`git status:*` and `git status *` are the command with or without more words; a star elsewhere is any text."""
    open_end = rule.endswith((":*", " *"))
    body = rule[:-2] if open_end else rule
    text = ".*".join(map(re.escape, body.split("*")))
    return re.compile(text + (r"(?:\s.*)?" if open_end else ""), re.DOTALL)


def covered(command: str, patterns: Collection[re.Pattern[str]]) -> bool:
    """Is each simple command of a shell command covered? One that cannot be read never is."""
    simple = simple_commands(command)
    return simple is not None and bool(simple) and all(any(one.fullmatch(text) for one in patterns) for text in simple)


def simple_commands(command: str, depth: int = 0) -> list[str] | None:
    """The simple commands of a shell text, those inside substitutions included; None where it cannot be read."""
    from guard.shell.syntax import parse

    parsed = parse(command)
    if parsed.error is not None or depth > 10:
        return None
    found: list[str] = []
    for kind, text in _walk(parsed.body):
        if kind == "simple":
            found.append(text)
            continue
        inner = simple_commands(text, depth + 1)
        if inner is None:
            return None
        found += inner
    return found


def _walk(node: Any) -> Iterator[tuple[str, str]]:
    """Every simple command of a tree, and the text of every substitution."""
    from guard.shell.nodes import Process, Simple, Substitution

    todo = [node]
    while todo:
        one = todo.pop()
        if isinstance(one, Simple):
            words = " ".join(word.raw for word in one.words)
            if words:
                yield "simple", words
        elif isinstance(one, Substitution | Process):
            yield "inner", one.text
        if isinstance(one, tuple):
            todo += reversed(one)
