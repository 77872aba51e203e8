"""What an agent may use without asking, in the words of each client. Lists are in Claude Code's: `Edit`, `Bash(git status *)`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from guard.loop.reading.said import SHELLS

# What may be used where nobody says what. No shell but for looking and committing: what more an agent needs, its user says.
NARROW = (
    *("Read", "Edit", "Write", "Glob", "Grep", "TodoWrite"),
    *(f"Bash({words} *)" for words in ("git status", "git diff", "git log", "git add", "git commit", "ls", "cat")),
    *("Bash(git status)", "Bash(git diff)", "Bash(git log)", "Bash(ls)"),
)
READS = frozenset("Read Glob Grep LS NotebookRead TodoRead TodoWrite BashOutput".split())  # every client may do that anyway
WRITES = frozenset("Edit Write MultiEdit NotebookEdit".split())
_ENTRY = re.compile(r"([\w*.-]+)(?:\((.*)\))?", re.DOTALL)
_TWO_WORDS = ("git", "gh")  # programs of which Copilot tells one subcommand from another


class Entry(NamedTuple):
    """One entry: `words` are those of a shell command, "" for all of them, None where the tool is no shell. `open`: more words
    may follow. `whole` is the entry as it was written."""

    tool: str
    words: str | None
    open: bool
    whole: str


@dataclass(frozen=True)
class Given:
    """What a client is given: its words, whether it may write files, the entries that it was given, those that it cannot be."""

    words: tuple[str, ...]
    writes: bool
    entries: tuple[str, ...]
    left_out: tuple[str, ...] = ()


def entry(text: str) -> Entry:
    """An entry, read."""
    found = _ENTRY.fullmatch(text)
    if found is None or found[1] not in SHELLS:
        return Entry(found[1] if found else text, None, False, text)
    words = (found[2] or "").strip()
    rest = next((words.removesuffix(end) for end in (":*", " *") if words.endswith(end)), None)
    return Entry(found[1], "" if words == "*" else words if rest is None else rest.strip(), rest is not None, text)


def given(allowed: Iterable[str], spell: Callable[[Entry], str | None]) -> Given:
    """The list for a client. `spell` gives an entry for a shell, or for a tool of the client's own, in the client's words; None
    where that has none."""
    words: list[str] = []
    entries: list[str] = []
    out: list[str] = []
    writes = False
    for one in map(entry, allowed):
        writes = writes or one.tool in WRITES
        spelled = "" if one.words is None and one.tool in READS | WRITES else spell(one)
        if spelled is None:
            out.append(one.whole)
            continue
        entries.append(one.whole)
        if spelled:
            words.append(spelled)
    return Given(tuple(dict.fromkeys(words)), writes, tuple(entries), tuple(out))


def prefix(one: Entry) -> str | None:
    """For Gemini and Qwen: a command stands for itself with whatever follows."""
    if one.words is None:
        return one.whole
    return None if "*" in one.words else f"run_shell_command({one.words})" if one.words else "run_shell_command"


def copilot(one: Entry) -> str | None:
    """For Copilot, which goes by a program's name, with git and gh by that of the subcommand, and takes any words after it."""
    if one.words is None:
        return one.whole
    parts = one.words.split()
    if not parts:
        return "shell"
    known = len(parts) == 1 or (len(parts) == 2 and parts[0] in _TWO_WORDS)
    return f"shell({one.words}:*)" if known and "*" not in one.words else None


def opencode(allowed: Iterable[str]) -> tuple[dict[str, object], Given]:
    """OpenCode's `permission`: what is not named is denied, because whatever it would have to ask about ends its turn."""
    shell: dict[str, str] = {"*": "deny"}
    others: dict[str, object] = {}

    def spell(one: Entry) -> str:
        if one.words is None:
            others[one.whole] = "allow"
        else:
            shell[f"{one.words} *" if one.open else one.words or "*"] = "allow"
        return ""

    found = given(allowed, spell)
    edit = "allow" if found.writes else "deny"
    return {"edit": edit, "external_directory": "deny", **others, "bash": shell}, found
