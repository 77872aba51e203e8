"""Prompt: what the agent is told, which is the user's text and what has come of the iterations so far."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from guard.errors import GuardError
from guard.loop import limits, texts
from guard.loop.derived import PATTERNS
from guard.loop.similarity import PROMPT, normalised, similar
from guard.loop.state import CLOSED, HALF_OPEN, State
from guard.vault.content import Unreadable, read

NAMES = (".ralph/PROMPT.md", "PROMPT.md")
LAST = "last_prompt"  # the file in the state directory that has the last one
LARGEST = 4 << 20  # bytes
TRIES = 3  # attempts at a task before a failure counts
REMEMBERED = 3  # patterns of the task that are told
_TAIL = 64 << 10  # bytes at the end of the file of patterns that are read
_AGAIN = {
    2: "This is attempt 2 of 3 at this task. The first one did not complete it: take another approach, and say which.",
    3: "This is attempt 3 of 3 at this task. Two did not complete it: name what they tried, and do something else.",
}


@dataclass(frozen=True)
class Context:
    """What goes into the part that guard adds. `open` are the open required tasks, `tail` the last lines of what failed."""

    state: State
    t: int
    task: str
    attempt: int
    open: Sequence[str] = ()
    missing: int = 0
    tail: Sequence[str] = ()
    directory: str = ""


def find(top: str) -> str:
    """The prompt's file in a tree, "" where there is none."""
    return next((f"{top}/{name}" for name in NAMES if os.path.lexists(f"{top}/{name}")), "")


def load(path: str) -> str:
    """The text of a prompt. Raises GuardError where it cannot be read or says nothing."""
    data = b""
    try:
        for piece in read(os.path.realpath(path)):
            data += piece
            if len(data) > LARGEST:
                raise GuardError(f"the prompt is larger than {LARGEST >> 20} MiB", path, "make it shorter")
    except Unreadable as error:
        raise GuardError(f"the prompt cannot be read ({error})", path, "name one with --prompt FILE") from None
    return checked(data, path)


def checked(data: bytes, path: str) -> str:
    """The text of a prompt that was read. Raises GuardError."""
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    if not text.strip() or "\0" in text:
        what = "the prompt is empty" if not text.strip() else "the prompt is no text"
        raise GuardError(what, path, "write into it what is to be done")
    return text


def composed(text: str, context: Context) -> str:
    """The prompt of an iteration: the user's text, and below it what guard has to say."""
    told = "\n".join(f"- {one}" for one in _told(context))
    return f"{text.rstrip()}\n\n---\nFrom guard, which runs this loop:\n{told}\n" if told else text


def _told(context: Context) -> Iterator[str]:
    state, run = context.state, context.state.run
    last = state.last if run is not None and state.last is not None and state.last.run == run.id else None
    if context.task:
        yield f"The next open task is: {context.task}"
    yield from (_AGAIN[number] for number in (min(context.attempt, TRIES),) if number in _AGAIN and context.task)
    if state.breaker.state == HALF_OPEN or (state.breaker.state == CLOSED and state.breaker.watch):
        yield from filter(None, (texts.strategy(state.breaker),))
    if last is not None:
        yield from _refused(context, last.refused)
        if last.gaps:
            yield texts.PERMISSION.format(gaps=", ".join(last.gaps))
        for refusal in last.refusals[:5]:
            yield f"{refusal.path} is protected: it may be edited, not deleted, moved out or overwritten."
        if last.held == "question":
            yield "Nobody answers questions here. Decide yourself, and say what you decided."
        for error in last.errors[:3]:
            yield f"The last iteration had this error: {error[:300]}"
    yield from _patterns(context)
    if limits.warned(state, context.t):
        yield texts.SCARCE.format(left=limits.left(state, context.t), limit=state.config.calls_per_hour)
    yield from (f"The user says: {text}" for text in (*state.kept_steers, *state.steers))


def _refused(context: Context, reasons: Sequence[str]) -> Iterator[str]:
    """Why a claim that all is done was not accepted."""
    if "tasks_open" in reasons:
        yield f"It is not done yet. Open tasks: {', '.join(context.open[:20])}"
    if "tasks_missing" in reasons:
        yield f"It is not done yet. {context.missing} tasks that the plan had are missing from it: put them back."
    if "verify" in reasons:
        yield "It is not done yet: the verify command fails. Its last lines:\n" + "\n".join(f"    {one}" for one in context.tail)
    if "tests_failing" in reasons:
        yield "It is not done yet: the status block says that tests fail."


def _patterns(context: Context) -> Iterator[str]:
    """How earlier work on the task got stuck."""
    if not context.task:
        return
    try:
        with open(f"{context.directory}/{PATTERNS}", "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return
    found = []
    for line in lines:
        try:
            values = json.loads(line)
        except ValueError:
            continue
        if isinstance(values, dict) and values.get("task") == context.task:
            errors = ", ".join(map(str, values.get("fingerprints") or ()))
            found.append(f"Earlier work on this task got stuck: {values.get('cause')}" + (f" ({errors[:300]})" if errors else ""))
    yield from dict.fromkeys(found[-REMEMBERED:])


class Last:
    """The last prompt of a loop, to tell whether the next one says the same."""

    def __init__(self, directory: str) -> None:
        self._path = f"{directory}/{LAST}"

    def similar(self, text: str) -> bool:
        """Is a prompt like the last one?"""
        try:
            with open(self._path, encoding="utf-8", errors="replace") as file:
                before = file.read(PROMPT)
        except OSError:
            return False
        return similar(before, normalised(text)[:PROMPT])

    def keep(self, text: str) -> None:
        """Remembers a prompt. An error of the disk stops nothing."""
        temporary = f"{self._path}.tmp"
        try:
            with open(temporary, "w", encoding="utf-8", errors="replace") as file:
                file.write(normalised(text)[:PROMPT])
            os.rename(temporary, self._path)
        except OSError:
            pass
