"""Reading what an agent has put out: its final text, what that says, what the call cost, and what went wrong.

Output comes in pieces, is read once, and only so much of it is kept as is needed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from guard.loop.facts import Reply, Tokens, UsageLimit
from guard.loop.reading import claude, clients, plain, trouble
from guard.loop.reading.gaps import allow_list, gaps
from guard.loop.reading.lines import Lines, Tail
from guard.loop.reading.said import Said

__all__ = ["FORMS", "TEXT", "Reader", "Reading", "allow_list"]

TEXT, JSON, RAW = "text", "json", "raw"
EARLY_EXIT = 124
STDERR_LINES = 20
_STDERR_KEPT = 64 << 10
Read = Callable[[dict[str, Any], Said], bool]
# By the agent's name. What is not there may print any of these forms, or text.
FORMS: dict[str, tuple[Read, ...]] = {
    "claude": (claude.read,),
    "qwen": (claude.read,),
    "codex": (clients.codex,),
    "opencode": (clients.opencode,),
    "gemini": (clients.gemini,),
    "copilot": (clients.copilot,),
}
ANY: tuple[Read, ...] = (claude.read, clients.codex, clients.opencode, clients.gemini)
_MOST_EVENTS = 1 << 20  # in an array


class _Kind(msgspec.Struct):
    """The first look at an event: what decides whether it is read in full."""

    type: str = ""


_kind = msgspec.json.Decoder(_Kind)
_PASSED_OVER = frozenset(claude.TYPES) - claude.READ


@dataclass(frozen=True)
class Reading:
    """What a call's output says. `cost_usd` is the client's own sum, which goes on where a session is resumed.

    `api_status`, `failure` and `limit` are as CallEnded has them. `text` is the final text.
    """

    reply: Reply
    text: str = ""
    tokens: Tokens = field(default_factory=Tokens)
    cost_usd: float = 0.0
    session: str = ""
    api_status: str = ""
    failure: str = ""
    limit: UsageLimit | None = None


class Reader:
    """Reads one call's output. `agent`: its name where it is known; `promised`: it was told to print JSON.

    `promise`: the line that stands for "all is done"; `allowed`: the allow list that the agent was given.
    """

    def __init__(self, agent: str = "", promised: bool = False, promise: str = "", allowed: Iterable[str] = ()) -> None:
        self._forms = FORMS.get(agent, ANY)
        self._promised, self._promise, self._allowed = promised, promise, tuple(allowed)
        self._said = Said()
        self._lines, self._tail, self._errors = Lines(), Tail(), Tail(_STDERR_KEPT)

    def feed(self, data: bytes) -> None:
        """The next piece of standard output."""
        self._tail.feed(data)
        for line in self._lines.feed(data):
            self._line(line)

    def feed_error(self, data: bytes) -> None:
        """The next piece of standard error."""
        self._errors.feed(data)

    @property
    def session(self) -> str:
        """The client's session, as soon as it has named it."""
        return self._said.session

    def finish(
        self,
        exit: int | None,
        early: bool = False,
        now: int = 0,
        refused: Collection[str] = (),
        commands: Collection[str] = (),
    ) -> Reading:
        """What all of it says. `exit`: the call's status, None where a signal ended it; `early`: it took too long.

        `now`: UTC milliseconds; `refused` and `commands`: ids and commands of tool calls that guard refused itself.
        """
        self._line(self._lines.end())
        self._lines = Lines()
        if not self._said.known:
            self._document()
        said, early = self._said, early or exit == EARLY_EXIT
        failed = exit != 0 or bool(said.failure)
        stderr = _text(self._errors.text()[0])
        text, form, earlier = self._final(failed)
        reply = plain.reply(
            text,
            self._promise,
            said.errors if failed else (),
            stderr.splitlines()[-STDERR_LINES:] if failed else (),
            said.asked,
            form,
            earlier,
            gaps(said.denials.values(), self._allowed, refused, commands),
        )
        return Reading(
            reply=reply,
            text=text,
            tokens=said.tokens,
            cost_usd=said.cost_usd,
            session=said.session,
            api_status=trouble.api_status(said, failed, stderr),
            failure=said.failure,
            limit=trouble.limit(said, failed, early, stderr, now),
        )

    def _final(self, failed: bool) -> tuple[str, str, int]:
        """The final text, its form, and how many non-empty lines stood in front of what was kept."""
        if self._said.known and (self._said.final is not None or failed):
            return self._said.final or "", JSON, 0
        kept, earlier = self._tail.text()
        return _text(kept), RAW if self._promised else TEXT, earlier

    def _line(self, line: bytes) -> None:
        """One line, which is an event if it is JSON."""
        start = line[:64].lstrip()[:1]
        if start != b"{":
            if start == b"[" and line.rstrip()[-1:] == b"]":
                self._array(line)
            return
        try:
            if _kind.decode(line).type in _PASSED_OVER:
                return
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            pass  # it may be an event all the same
        self._event(_parsed(line))

    def _array(self, text: bytes) -> None:
        events = _parsed(text)
        for event in events[:_MOST_EVENTS] if isinstance(events, list) else ():
            self._event(event)

    def _event(self, event: object) -> None:
        if isinstance(event, dict) and any(read(event, self._said) for read in self._forms):
            self._said.known = True

    def _document(self) -> None:
        """An output that is one JSON document over several lines."""
        text = self._tail.text()[0].strip() if self._tail.whole else b""
        if text[:1] + text[-1:] == b"[]":
            self._array(text)
        elif text[:1] + text[-1:] == b"{}" and b"\n" in text:
            self._event(_parsed(text))


def _parsed(text: bytes) -> object:
    """The JSON value, None for what is none."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return json.loads(text.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
