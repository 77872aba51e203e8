"""Invocation: the argument vector and the environment with which an agent is started."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from guard.errors import MISSING, GuardError
from guard.loop.call import program

PROMPT, PROMPT_FILE = "{prompt}", "{prompt_file}"
LONGEST = 120_000  # bytes of one argument that Linux takes
RETRIES = "2"  # of the client's own, for one request
STREAM_IDLE_S = 600  # seconds that an agent whose output streams may be silent
# What may be used without asking. No shell but for looking: what more an agent needs, its user says.
NARROW = (
    *("Read", "Edit", "Write", "Glob", "Grep", "TodoWrite"),
    *(f"Bash({words} *)" for words in ("git status", "git diff", "git log", "git add", "git commit", "ls", "cat")),
    *("Bash(git status)", "Bash(git diff)", "Bash(git log)", "Bash(ls)"),
)


@dataclass(frozen=True)
class Invocation:
    """How calls are made. `name` is the client whose output is read, "" for a plain program; `words` may hold {prompt} and
    {prompt_file}; `streams`: it says something while it works; `allowed` is the allow list that it was given."""

    name: str
    words: tuple[str, ...]
    environ: Mapping[str, str]
    streams: bool = False
    allowed: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """The agent's name for people."""
        return self.name or os.path.basename(self.words[0])

    @property
    def reads_input(self) -> bool:
        """Does it get its prompt on standard input?"""
        return not any(PROMPT in word or PROMPT_FILE in word for word in self.words)

    def argv(self, prompt: str, path: str) -> list[str]:
        """The argument vector for a prompt, which also stands in the file at `path`. Raises GuardError."""
        found = [word.replace(PROMPT_FILE, path).replace(PROMPT, prompt) for word in self.words]
        if any("\0" in word for word in found):
            raise GuardError("the prompt holds a NUL byte", PROMPT, "take it out, or let the agent read standard input")
        if any(len(os.fsencode(word)) > LONGEST for word in found):
            raise GuardError("the prompt is too long for an argument", PROMPT, f"use {PROMPT_FILE}, or standard input")
        return found


def plain(argv: Sequence[str], environ: Mapping[str, str], allowed: tuple[str, ...] = ()) -> Invocation:
    """An agent that is any program. Raises GuardError where it cannot be found."""
    _check(argv[0], environ)
    return Invocation("", tuple(argv), environ, allowed=allowed)


def claude(more: Sequence[str], environ: Mapping[str, str], hook: str, allowed: tuple[str, ...] = ()) -> Invocation:
    """Claude Code, its hooks given by flag, which no settings file switches off. `hook` is the command of guard's hook."""
    _check("claude", environ)
    allowed = allowed or NARROW
    words: tuple[str, ...] = ("claude", "-p", "--output-format", "stream-json", "--verbose", "--settings", hooks(hook))
    words = (*words, "--allowedTools", ",".join(allowed), *more)
    bounded = {"CLAUDE_CODE_MAX_RETRIES": RETRIES, **environ}
    return Invocation("claude", words, bounded, streams=True, allowed=allowed)


CLIENTS = {"claude": claude}


def hooks(command: str) -> str:
    """The settings that wire guard's hook into Claude Code, as one argument."""
    from guard.agents import settings, wiring
    from guard.agents.wirings import JSON

    document = wiring.wired("claude", settings.read("--settings", JSON, b'{"disableAllHooks": false}'), command)
    return json.dumps(document.value, separators=(",", ":"))


def _check(name: str, environ: Mapping[str, str]) -> None:
    if not program([name], environ.get("PATH", os.defpath)):
        raise GuardError(f"the agent's program {name!r} cannot be found", "AGENT", "install it, or correct PATH", MISSING)
