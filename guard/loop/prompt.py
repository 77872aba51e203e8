"""Prompt: what the agent is told, which is the user's text and what has come of the iterations so far."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from guard.errors import GuardError
from guard.loop import limits, texts
from guard.loop.derived import PATTERNS
from guard.loop.similarity import PROMPT, normalised, similar
from guard.loop.state import CLOSED, HALF_OPEN, Last, State
from guard.vault.content import Unreadable, read

NAMES = (".ralph/PROMPT.md", "PROMPT.md")
LAST = "last_prompt"  # the file in the state directory that has the last one
LARGEST = 4 << 20  # bytes
REMEMBERED = 3  # patterns of the task that are told
_TAIL = 64 << 10  # bytes at the end of the file of patterns that are read
NAME, LINE = 200, 300  # characters that are told of a task, and of a line of output
NAMED = 20  # tasks that are named
_AGAIN = {
    2: "This is attempt 2 of 3 at this task. The first one did not complete it: take another approach, and say which.",
    3: "This is attempt 3 of 3 at this task. Two did not complete it: name what they tried, and do something else.",
}
_LATER = "This is attempt {attempt} at this task. Three should be enough: divide it, or say in the plan why it cannot be done."


@dataclass(frozen=True)
class Context:
    """What goes into the part that guard adds.

    `open` are the open required tasks, `gone` those that are missing, `tail` the last lines of what failed. `brief`: the last
    prompt was too long for the client.
    """

    state: State
    t: int
    task: str
    attempt: int
    open: Sequence[str] = ()
    missing: int = 0
    tail: Sequence[str] = ()
    directory: str = ""
    gone: Sequence[str] = ()
    brief: bool = False


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
        yield f"The next open task is: {cut(context.task, NAME)}"
    if context.brief:
        yield "The last prompt was too long for the client. Read no more than the task needs."
    else:
        yield from _history(context, last)
    if limits.warned(state, context.t):
        yield texts.SCARCE.format(left=limits.left(state, context.t), limit=state.config.calls_per_hour)
    yield from _said(state)


def _said(state: State) -> Iterator[str]:
    """What people say to the agent; a call that is repeated says again what the first one did."""
    given = state.iteration.steers if state.iteration is not None else ()
    yield from (f"The user says: {text}" for text in (*state.kept_steers, *given, *state.steers))


def steered(text: str, state: State) -> str:
    """The user's text with what people say to the agent meanwhile, and nothing else."""
    said = "\n".join(f"- {one}" for one in _said(state))
    return f"{text.rstrip()}\n\n---\n{said}\n" if said else text


def _history(context: Context, last: Last | None) -> Iterator[str]:
    """What has come of the iterations so far."""
    breaker = context.state.breaker
    if context.task and context.attempt > 1:
        yield _AGAIN.get(context.attempt) or _LATER.format(attempt=context.attempt)
        tried = context.state.tried[1 - context.attempt :]
        for number, paths in enumerate(tried, context.attempt - len(tried)):
            yield f"Attempt {number} changed: {_listed(paths, len(paths)) if paths else 'nothing'}"
    if breaker.state == HALF_OPEN or (breaker.state == CLOSED and breaker.watch):
        yield from filter(None, (texts.strategy(breaker),))
    if last is not None:
        yield from _refused(context, last)
        if last.gaps:
            yield texts.PERMISSION.format(gaps=_listed(last.gaps, 5))
        for refusal in last.refusals[:5]:
            yield f"{cut(refusal.path, NAME)} is protected: it may be edited, not deleted, moved out or overwritten."
        if last.held == "question":
            yield "Nobody answers questions here. Decide yourself, and say what you decided."
        for error in last.errors[:3]:
            yield f"The last iteration had this error: {cut(error, LINE)}"
    yield from _patterns(context)


def _refused(context: Context, last: Last) -> Iterator[str]:
    """Why a claim that all is done was not accepted, and what the verify commands say in any case."""
    for reason in last.refused:
        if reason in _REFUSED:
            yield "It is not done yet" + _REFUSED[reason](context)
    run = context.state.run
    if "verify" not in last.refused and run is not None and run.verified is False:
        yield "The verify command fails." + _tail(context)


def _tasks_open(context: Context) -> str:
    return f". Open tasks: {_listed(context.open, NAMED)}"


def _tasks_missing(context: Context) -> str:
    which = f": {_listed(context.gone, NAMED)}" if context.gone else ""
    return f". {context.missing} tasks that the plan had are missing from it{which}. Put them back."


def _tail(context: Context) -> str:
    if not context.tail:
        return " It prints nothing."
    return " Its last lines:\n" + "\n".join(f"    {cut(line, LINE)}" for line in context.tail)


_REFUSED: dict[str, Callable[[Context], str]] = {
    "outcome": lambda context: ": the last call did not end well.",
    "tasks_open": _tasks_open,
    "tasks_missing": _tasks_missing,
    "no_tasks": lambda context: ": the plan is gone, cannot be read or has no task. Put it back as it was.",
    "verify": lambda context: ": the verify command fails." + _tail(context),
    "blocked": lambda context: ": the status block says BLOCKED. Say what is missing, or go on.",
    "tests_failing": lambda context: ": the status block says that tests fail.",
}


def _listed(names: Sequence[str], most: int) -> str:
    """Names in a row, the first ones, and how many there are beyond them."""
    told = ", ".join(cut(name, NAME) for name in names[:most])
    return f"{told} and {len(names) - most} more" if len(names) > most else told


def cut(text: str, most: int) -> str:
    """A text on one line that is not longer than so many characters."""
    flat = " ".join(text[: 4 * most].split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"


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


class Earlier:
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
