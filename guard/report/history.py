"""History: the journal of a loop as a table, one row an iteration, read in one pass.

Reports and comparisons start from here. Lines that cannot be read are counted, not believed: a report says how many there were.
Sums are not checked; that is for whoever goes on with the loop.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from guard.loop import journal, outcome
from guard.loop.facts import Files, Plan, Protected, Reply, Tokens, UsageLimit, Verification
from guard.loop.moments import milliseconds

LINE_LIMIT = journal.LINE_LIMIT
_SKIPPED = (b'"ev":"entered"', b'"ev":"base"')  # the most frequent one, and the largest: neither says what was done
_NO_FILES, _NO_REPLY, _NO_HARM = Files(), Reply(), Protected()


@dataclass
class Iteration:
    """One iteration. Times are UTC milliseconds; lists are empty where nothing of the kind happened."""

    run: str
    n: int
    began: int
    ended: int = 0
    task: str = ""
    attempt: int = 1
    level: int = 3
    probe: bool = False
    calls: int = 0
    used: int = 0  # reservations of the hour before its first call
    limit: int = 0
    duration_s: float = 0.0
    tokens: int = 0
    cost_usd: float = 0.0
    limited: UsageLimit | None = None
    files: Files = _NO_FILES
    plan: Plan | None = None
    tests: Verification | None = None
    reply: Reply = _NO_REPLY
    protected: Protected = _NO_HARM
    outcome: str = ""
    progress: bool = False
    held: str = ""
    score: int = 0
    risk: str = ""
    matched: tuple[str, ...] = ()
    decision: str = ""
    reason: str = ""
    over: int = 0  # calls that were reserved when as many as allowed had been

    @property
    def void(self) -> bool:
        """It counts for nothing: a limit of the client's or a stop ended it."""
        return self.outcome in outcome.VOID

    @property
    def good(self) -> bool:
        """It came to its end, with whatever result."""
        return self.outcome in ("ok", "partial")

    @property
    def completed(self) -> tuple[str, ...]:
        """The tasks that were completed in it."""
        return self.plan.completed if self.plan is not None else ()

    @property
    def work(self) -> str:
        """What the work was: task, tests, files or nothing."""
        if self.completed:
            return "task"
        if self.files.meaningful and 100 * self.files.test_lines > outcome.TEST_SHARE * self.files.lines:
            return "tests"
        return "files" if self.files.meaningful else "nothing"


@dataclass
class Run:
    """One run. `ended` is None for one that is at work, or whose end was never recorded."""

    id: str
    began: int
    last: int  # time of its last event
    agent: str = ""
    config_digest: str = ""
    head: str = ""
    supervised: bool = False
    ended: int | None = None
    status: str = ""
    exit: int | None = None
    reason: str = ""
    started: int = 1  # how often it was started; more than 1 where it was resumed


@dataclass(frozen=True)
class Happening:
    """An event that is no part of an iteration's facts: its kind, and its fields as the journal has them."""

    t: int
    run: str
    n: int | None
    kind: str
    fields: dict[str, Any]


@dataclass
class History:
    """What one journal tells. `unread`: lines that are no events of this version."""

    directory: str
    loop: str = ""
    root: str = ""
    iterations: list[Iteration] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    happenings: list[Happening] = field(default_factory=list)
    unread: int = 0

    def of(self, *kinds: str) -> Iterator[Happening]:
        """The happenings of some kinds, oldest first."""
        return (one for one in self.happenings if one.kind in kinds)

    def within(self, since: int, until: int) -> History:
        """The part of it that lies between two moments: iterations by their beginning, runs as far as they touch it."""
        return History(
            self.directory,
            self.loop,
            self.root,
            [one for one in self.iterations if since <= one.began < until],
            [one for one in self.runs if one.began < until and (one.ended or one.last) >= since],
            [one for one in self.happenings if since <= one.t < until],
            self.unread,
        )


class _Line(msgspec.Struct):
    t: str
    ev: str
    run: str = ""
    n: int | None = None


class _Reserved(msgspec.Struct):
    used: int = 0
    limit: int = 0
    probe: bool = False
    level: int = 3
    task: str = ""
    attempt: int = 1


class _Ended(msgspec.Struct):
    duration_s: float = 0
    tokens: Tokens = Tokens()
    cost_usd: float = 0
    limit: UsageLimit | None = None


class _Measured(msgspec.Struct):
    files: Files = Files()
    plan: Plan | None = None
    tests: Verification | None = None
    reply: Reply = Reply()
    protected: Protected = Protected()


class _Judged(msgspec.Struct):
    outcome: str
    progress: bool
    held: str
    score: int
    risk: str
    matched: tuple[str, ...]
    decision: str
    reason: str


_LINE = msgspec.json.Decoder(_Line)
_RESERVED, _ENDED = msgspec.json.Decoder(_Reserved), msgspec.json.Decoder(_Ended)
_MEASURED, _JUDGED = msgspec.json.Decoder(_Measured), msgspec.json.Decoder(_Judged)
_FIELDS = msgspec.json.Decoder(dict[str, Any])
_ENVELOPE = ("v", "seq", "t", "run", "n", "ev", "sum")


def read(directory: str, since: int = 0) -> History:
    """The history of the loop whose directory this is. A loop that never ran has an empty one. Raises OSError.

    Of a loop with many files, those that nothing was added to after `since` (UTC milliseconds) may be left out.
    """
    found = _Reading(History(directory, os.path.basename(directory)))
    for path in journal.files(directory):
        if since and os.stat(path).st_mtime * 1000 < since:
            continue
        with open(path, "rb") as file:
            found.add(iter(lambda file=file: file.readline(LINE_LIMIT), b""))  # type: ignore[misc]
    return found.history


class _Reading:
    """Puts lines together."""

    def __init__(self, history: History) -> None:
        self.history = history
        self._runs: dict[str, Run] = {}
        self._at: dict[tuple[str, int], Iteration] = {}

    def add(self, lines: Iterable[bytes]) -> None:
        """Reads lines, oldest first."""
        for line in lines:
            head = line[:160]
            if any(kind in head for kind in _SKIPPED):
                continue
            try:
                self._line(line)
            except (msgspec.DecodeError, ValueError, UnicodeDecodeError, RecursionError, TypeError):
                self.history.unread += 1

    def _line(self, line: bytes) -> None:
        place = _LINE.decode(line)
        t = milliseconds(place.t)
        if place.run in self._runs:
            self._runs[place.run].last = t
        handler = getattr(self, f"_{place.ev}", None)
        if handler is not None:
            handler(line, place, t)
        else:
            fields = {name: value for name, value in _FIELDS.decode(line).items() if name not in _ENVELOPE}
            self.history.happenings.append(Happening(t, place.run, place.n, place.ev, fields))

    def _iteration(self, place: _Line, t: int) -> Iteration | None:
        if place.n is None:
            return None
        key = (place.run, place.n)
        if key not in self._at:
            self._at[key] = Iteration(place.run, place.n, t)
            self.history.iterations.append(self._at[key])
        return self._at[key]

    def _call_reserved(self, line: bytes, place: _Line, t: int) -> None:
        one, body = self._iteration(place, t), _RESERVED.decode(line)
        if one is None:
            return
        if not one.calls:
            one.task, one.attempt, one.level, one.probe = body.task, body.attempt, body.level, body.probe
            one.used, one.limit = body.used, body.limit
        one.calls += 1
        one.over += body.used >= body.limit
        one.ended = t

    def _call_ended(self, line: bytes, place: _Line, t: int) -> None:
        one, body = self._iteration(place, t), _ENDED.decode(line)
        if one is not None:
            one.duration_s += body.duration_s
            one.tokens += body.tokens.counted
            one.cost_usd += body.cost_usd
            one.limited = body.limit or one.limited
            one.ended = t

    def _measured(self, line: bytes, place: _Line, t: int) -> None:
        body = _MEASURED.decode(line)
        one = self._iteration(place, t)
        if one is not None:
            one.files, one.plan, one.tests, one.reply, one.protected = (
                body.files,
                body.plan,
                body.tests,
                body.reply,
                body.protected,
            )
            one.ended = t
        elif body.protected.violations:
            harm = {"violations": [msgspec.to_builtins(each) for each in body.protected.violations]}
            self.history.happenings.append(Happening(t, place.run, None, "measured", harm))

    def _judged(self, line: bytes, place: _Line, t: int) -> None:
        one, body = self._iteration(place, t), _JUDGED.decode(line)
        if one is not None:
            one.outcome, one.progress, one.held, one.score = body.outcome, body.progress, body.held, body.score
            one.risk, one.matched, one.decision, one.reason = body.risk, body.matched, body.decision, body.reason
            one.ended = t

    def _run_started(self, line: bytes, place: _Line, t: int) -> None:
        fields = _FIELDS.decode(line)
        self.history.root = str(fields.get("root", "")) or self.history.root
        if place.run in self._runs:
            self._runs[place.run].started += 1
            self._runs[place.run].ended = None
            return
        run = Run(
            place.run, t, t, str(fields.get("agent", "")), str(fields.get("config_digest", "")), str(fields.get("head", ""))
        )
        run.supervised = fields.get("supervised") is True
        self._runs[place.run] = run
        self.history.runs.append(run)

    def _run_ended(self, line: bytes, place: _Line, t: int) -> None:
        run, fields = self._runs.get(place.run), _FIELDS.decode(line)
        if run is not None:
            run.ended, run.status, run.reason = t, str(fields.get("status", "")), str(fields.get("reason", ""))
            run.exit = fields.get("exit") if isinstance(fields.get("exit"), int) else None
