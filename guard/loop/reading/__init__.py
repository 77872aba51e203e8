"""Reading what an agent has put out: its final text, what that says, what the call cost, and what went wrong.

Output comes in pieces, is read once, and only so much of it is kept as is needed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from guard.loop.facts import Reply, Tokens, UsageLimit
from guard.loop.reading import claude, codex, copilot, gemini, opencode, plain, trouble
from guard.loop.reading.gaps import allow_list, gaps
from guard.loop.reading.lines import Lines, Recoder, Tail
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
    "qwen": (claude.qwen,),
    "codex": (codex.read,),
    "opencode": (opencode.read,),
    "gemini": (gemini.read,),
    "copilot": (copilot.read,),
}
ANY: tuple[Read, ...] = (claude.read, codex.read, opencode.read, gemini.read)
_MOST_EVENTS = 1 << 20  # in an array
_MOST_ON_A_LINE = 1000


class _Kind(msgspec.Struct):
    """The first look at an event: what decides whether it is read in full."""

    type: str = ""


_kind = msgspec.json.Decoder(_Kind)
_PASSED_OVER = frozenset(claude.TYPES) - claude.READ
_decoder = json.JSONDecoder()
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Reading:
    """What a call's output says. `cost_usd` is the client's own sum, which goes on where a session is resumed; so do the tokens
    where `goes_on`.

    `api_status`, `failure` and `limit` are as CallEnded has them. `text` is the final text.
    """

    reply: Reply
    text: str = ""
    tokens: Tokens = field(default_factory=Tokens)
    cost_usd: float = 0.0
    goes_on: bool = False
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
        self._agent = agent
        self._recoders = Recoder(), Recoder()
        self._lines, self._tail, self._errors = Lines(), Tail(), Tail(_STDERR_KEPT)

    def feed(self, data: bytes) -> None:
        """The next piece of standard output."""
        self._take(self._recoders[0].feed(data))

    def _take(self, data: bytes) -> None:
        self._tail.feed(data)
        for line in self._lines.feed(data):
            self._line(line)

    def feed_error(self, data: bytes) -> None:
        """The next piece of standard error."""
        self._errors.feed(self._recoders[1].feed(data))

    def feed_usage(self, data: bytes) -> None:
        """What the client has written into its file of tokens, where it has one."""
        found = _parsed(data)
        if isinstance(found, dict):
            copilot.usage(found, self._said)

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
        self._take(self._recoders[0].end())
        self._errors.feed(self._recoders[1].end())
        self._line(self._lines.end())
        self._lines = Lines()
        if not self._said.known:
            self._document()
        said, early = self._said, early or exit == EARLY_EXIT
        failed = exit != 0 or bool(said.failure)
        stderr = _text(self._errors.text()[0])
        status = trouble.api_status(said, failed, stderr, exit if self._agent == "gemini" else None)
        text, form, earlier = self._final(failed)
        reply = plain.reply(
            text,
            self._promise,
            said.errors if failed else (),
            stderr.splitlines()[-STDERR_LINES:] if failed and not early else (),
            said.asked,
            form,
            earlier,
            gaps(said.denials.values(), self._allowed, refused, commands, self._agent),
        )
        return Reading(
            reply=reply,
            text=text,
            tokens=said.tokens,
            cost_usd=said.cost_usd,
            goes_on=said.goes_on,
            session=said.session,
            api_status=status,
            failure=said.failure,
            limit=trouble.limit(said, failed, early, stderr, now, status),
        )

    def _final(self, failed: bool) -> tuple[str, str, int]:
        """The final text, its form, and how many non-empty lines stood in front of what was kept."""
        if self._said.known and (self._said.final is not None or failed):
            return self._said.final or "", JSON, 0
        kept, earlier = self._tail.text()
        return _text(kept), RAW if self._promised else TEXT, earlier

    def _line(self, line: bytes) -> None:
        """One line, which is an event if it is JSON."""
        line = line.removeprefix(_BOM)
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
        for event in _documents(line):
            self._event(event)

    def _array(self, text: bytes) -> None:
        events = _parsed(text)
        for event in events[:_MOST_EVENTS] if isinstance(events, list) else ():
            self._event(event)

    def _event(self, event: object) -> None:
        if isinstance(event, dict) and any(read(event, self._said) for read in self._forms):
            self._said.known = True

    def _document(self) -> None:
        """An output that is one JSON document, perhaps over several lines."""
        text = self._tail.text()[0].strip() if self._tail.whole else b""
        if text[:1] + text[-1:] == b"[]":
            self._array(text)
        elif text[:1] + text[-1:] == b"{}":
            found = _parsed(text)
            self._event(found)
            if not self._said.known and isinstance(found, dict) and claude.read in self._forms:
                self._said.known = claude.bare(found, self._said)


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


def _documents(line: bytes) -> Iterator[object]:
    """The JSON values that stand on a line one after the other, up to what is none."""
    found = _parsed(line)
    if found is not None:
        yield found
        return
    text, at = line.decode("utf-8", "replace").lstrip(), 0
    for _ in range(_MOST_ON_A_LINE):
        try:
            found, at = _decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        yield found
        at += len(text[at : at + 64]) - len(text[at : at + 64].lstrip())


def _text(data: bytes) -> str:
    return data.removeprefix(_BOM).decode("utf-8", "replace")
