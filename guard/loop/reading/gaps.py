"""Real gaps: tool calls that the client denied, guard did not refuse, and the allow list does not cover."""

from __future__ import annotations

import os
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
    denials: Iterable[Denial],
    allowed: Iterable[str],
    refused: Collection[str] = (),
    commands: Collection[str] = (),
    agent: str = "",
) -> tuple[str, ...]:
    """The real gaps, as `Bash(command)` or the tool's name. `refused`: ids of tool calls that guard refused itself, and
    `commands` the commands as its log has them, for what has no id in common; `agent` is the client, where it is known."""
    patterns = tuple(_shell_patterns(allowed))
    found = []
    for one in denials:
        command = one.command
        if (one.id and one.id in refused) or _is_guards(one, commands, agent):
            continue
        if command is None:
            found.append(one.tool or "a tool")
        elif not covered(command, patterns):
            found.append(f"{one.tool}({' '.join(command.split())[:_LONGEST]})")
    return tuple(dict.fromkeys(found))[:ERRORS]


def _is_guards(denial: Denial, commands: Collection[str], agent: str) -> bool:
    """Does guard's log have this very call among what it refused? There, secrets are taken out."""
    if not commands:
        return False
    from guard.redact import named, redactor

    shown = denial.command if denial.command is not None else _described(denial, agent)
    return bool(shown) and (shown in commands or redactor(named(os.environ))(shown) in commands)


def _described(denial: Denial, agent: str) -> str:
    """The line that stands in guard's log for the call of a tool that is no shell."""
    from guard.agents import files, read, table

    client = table.CLIENTS.get(agent or "claude")
    if client is None:
        return ""
    kind = table.kind(client, denial.tool, denial.arguments)
    try:
        return files.described(read.Call(table.BEFORE, "", denial.tool, kind, denial.arguments, "", "", denial.id, ""))
    except read.Malformed:
        return ""


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
