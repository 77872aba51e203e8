"""Invocation: the argument vector and the environment with which an agent is started."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from guard.errors import MISSING, GuardError
from guard.loop.call import program
from guard.loop.reading import FORMS

PROMPT, PROMPT_FILE, USAGE_FILE, SESSION = "{prompt}", "{prompt_file}", "{usage_file}", "{session}"
LONGEST = 120_000  # bytes of one argument that Linux takes
STREAM_IDLE_S = 600  # seconds that an agent whose output streams may be silent


@dataclass(frozen=True)
class Invocation:
    """How calls are made. `name` is the client that was told to print JSON, "" for any program; `form` the client whose output
    it may be. `words` may hold {prompt}, {prompt_file} and {usage_file}, a file for the client to tell its tokens in.

    `streams`: it says something while it works; `allowed` is the allow list that it was given, `notes` what people should know of
    it. `resuming`: words with {session} by which it goes on with a session, and at which place of `words` they stand.
    """

    name: str
    words: tuple[str, ...]
    environ: Mapping[str, str]
    streams: bool = False
    allowed: tuple[str, ...] = ()
    form: str = ""
    notes: tuple[str, ...] = ()
    resuming: tuple[tuple[str, ...], int] = ((), 0)

    @property
    def shown(self) -> str:
        """The agent's name for people."""
        return self.name or os.path.basename(self.words[0])

    @property
    def reads_input(self) -> bool:
        """Does it get its prompt on standard input?"""
        return not self.has(PROMPT) and not self.has(PROMPT_FILE)

    def has(self, mark: str) -> bool:
        """Does a mark such as {prompt} stand in its words?"""
        return any(mark in word for word in self.words)

    def resumed(self, session: str) -> Invocation:
        """The same, going on with a session; this one where there is none, or the agent cannot."""
        words, at = self.resuming
        if not session or not words:
            return self
        filled = tuple(word.replace(SESSION, session) for word in words)
        return replace(self, words=(*self.words[:at], *filled, *self.words[at:]))

    def argv(self, prompt: str, path: str, usage: str = "") -> list[str]:
        """The argument vector for a prompt, which also stands in the file at `path`. Raises GuardError."""
        found = [
            word.replace(USAGE_FILE, usage).replace(PROMPT_FILE, path).replace(PROMPT, prompt) if "{" in word else word
            for word in self.words
        ]
        if any("\0" in word for word in found):
            raise GuardError("the prompt holds a NUL byte", PROMPT, "take it out, or let the agent read standard input")
        if any(len(os.fsencode(word)) > LONGEST for word in found):
            raise GuardError("the prompt is too long for an argument", PROMPT, f"use {PROMPT_FILE}, or standard input")
        return found


def plain(argv: Sequence[str], environ: Mapping[str, str], allowed: tuple[str, ...] = ()) -> Invocation:
    """An agent that is any program. Raises GuardError where it cannot be found."""
    check(argv[0], environ)
    name = os.path.basename(argv[0])
    return Invocation("", tuple(argv), environ, allowed=allowed, form=name if name in FORMS else "")


def check(name: str, environ: Mapping[str, str]) -> None:
    """Raises GuardError where a program cannot be found."""
    if not program([name], environ.get("PATH", os.defpath)):
        raise GuardError(f"the agent's program {name!r} cannot be found", "AGENT", "install it, or correct PATH", MISSING)
