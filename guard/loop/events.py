"""The events of the journal: one record a kind, their envelope, and the line that each becomes.

Facts are events, and conclusions are recorded too. A line is one JSON object: the envelope (v, seq, t, run, n, ev), the fields
of its kind, and `sum`, which hangs on the line before it. Three kinds are guard's own addition: `base` begins every file with
the state that the events before it have led to, `asked` records a stop that was asked for, and `call_ended.failure` says how
the client reported a failure that its exit status does not show.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from guard.loop.facts import Count, Files, Plan, Protected, Reply, Seconds, Tokens, UsageLimit, Verification
from guard.loop.record import Invalid, Record, dump, parse
from guard.loop.settings import Config
from guard.redact import HIDDEN, redactor, suspicious

VERSION = 1
SECRET = 8  # characters that a text has at least that is taken out wherever it stands
_SUM = ',"sum":"'
_SUM_LENGTH = 16
_TAIL = len(_SUM) + _SUM_LENGTH + len('"}')
_ENVELOPE = ("v", "seq", "t", "run", "n", "ev")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class TooNew(Exception):
    """The line was written by a later version of guard."""


class Body(Record, frozen=True):
    """What an event says besides its envelope."""

    name: ClassVar[str]


class Base(Body, frozen=True):
    """The first event of a file: the state before it. `clock` is "test" where time comes from a file."""

    name: ClassVar[str] = "base"
    loop: str
    clock: str
    state: dict[str, Any]


class StartPlan(Record, frozen=True):
    """The plan as a run found it."""

    path: str
    required: Count
    open: tuple[str, ...]


class RunStarted(Body, frozen=True):
    """A run begins, or goes on (`resumed`)."""

    name: ClassVar[str] = "run_started"
    loop: str
    root: str
    pid: int
    pid_start: str
    boot: str
    version: str
    argv: tuple[str, ...]
    agent: str
    config: Config
    config_digest: str
    policy_digest: str = ""
    head: str = ""
    resumed: bool = False
    supervised: bool = False
    loosened: tuple[str, ...] = ()
    plan: StartPlan | None = None


class Entered(Body, frozen=True):
    """The run is in another state. `deadline`: UTC milliseconds, None for the last one."""

    name: ClassVar[str] = "entered"
    state: str
    deadline: int | None
    why: str = ""


class CallReserved(Body, frozen=True):
    """A call is about to start. `used` counts the reservations in the window before this one."""

    name: ClassVar[str] = "call_reserved"
    call: Count
    used: Count
    limit: Count
    probe: bool = False
    level: int = 3
    task: str = ""
    attempt: Count = 1
    tree: str = ""
    prompt_digest: str = ""
    prompt_bytes: Count = 0
    prompt_similar: bool = False
    command: tuple[str, ...] = ()


class CallEnded(Body, frozen=True):
    """A call's last process is gone.

    `ended`: self, timeout, idle or stop. `failure`: "" or how the client said it failed: error, turns (its limit of turns),
    money (its limit of money). `api_status`: an HTTP status, or overloaded, server_error, refused, reset, EAGAIN, ENOMEM,
    ETXTBSY; "" where nothing is known.
    """

    name: ClassVar[str] = "call_ended"
    call: Count
    exit: int | None
    signal: int | None = None
    ended: str = "self"
    duration_s: Seconds = 0
    output: str = ""
    out_bytes: Count = 0
    tokens: Tokens = Tokens()
    cost_usd: Seconds = 0
    session: str = ""
    api_status: str = ""
    failure: str = ""
    limit: UsageLimit | None = None


class Measured(Body, frozen=True):
    """The facts of an iteration. With `n` null: what was found before the first one."""

    name: ClassVar[str] = "measured"
    files: Files = Files()
    plan: Plan | None = None
    tests: Verification | None = None
    reply: Reply = Reply()
    protected: Protected = Protected()


class Judged(Body, frozen=True):
    """What an iteration was. `decision`: continue complete trip hold probe_ok probe_failed limit stop."""

    name: ClassVar[str] = "judged"
    outcome: str
    progress: bool
    held: str
    score: int
    parts: dict[str, int]
    counters: dict[str, int]
    window: tuple[int, ...]
    risk: str
    confidence: int
    vote: int
    matched: tuple[str, ...]
    decision: str
    reason: str


class BreakerChanged(Body, frozen=True):
    """The breaker goes from one state to another, or from OPEN to OPEN by a resume."""

    name: ClassVar[str] = "breaker"
    before: str
    after: str
    cause: str = ""
    also: tuple[str, ...] = ()
    recovery: str = ""
    cooldown_s: Count = 0
    opens: Count = 0
    strategy: Count = 0
    escalated: bool = False
    watch: Count = 0
    last_error: str = ""
    count: Count = 0
    actor: str = ""
    reason: str = ""


class HoldChanged(Body, frozen=True):
    """A hold is placed or lifted. `before` and `after`: "", paused or rescue_wait. `kind`: user, agent or rescue."""

    name: ClassVar[str] = "hold"
    before: str
    after: str
    kind: str
    reason: str
    actor: str
    until: int | None = None


class ModeChanged(Body, frozen=True):
    """The mode is set: auto or manual."""

    name: ClassVar[str] = "mode"
    before: str
    after: str
    kind: str = "user"
    reason: str = ""
    actor: str = ""
    until: int | None = None


class LevelChanged(Body, frozen=True):
    """The level is set: 3 as configured, 2 confirm, 1 economy."""

    name: ClassVar[str] = "level"
    before: int
    after: int
    kind: str = "system"
    reason: str = ""
    actor: str = ""
    until: int | None = None


class Steered(Body, frozen=True):
    """A person says something to the agent. Empty text: what was kept is forgotten."""

    name: ClassVar[str] = "steered"
    text: str
    actor: str
    keep: bool = False


class Asked(Body, frozen=True):
    """An end is asked for. `verb`: stop or drain (after this iteration), kill (now). `why`: the signal's name, or a reason."""

    name: ClassVar[str] = "asked"
    verb: str
    actor: str
    why: str = ""


class ControlRefused(Body, frozen=True):
    """Somebody asked for what they may not have."""

    name: ClassVar[str] = "control_refused"
    verb: str
    actor: str
    why: str


class Alert(Body, frozen=True):
    """Something that a person should know. `severity`: info, warning or critical."""

    name: ClassVar[str] = "alert"
    kind: str
    severity: str
    detail: str


class Recovered(Body, frozen=True):
    """The state was put together again. `source`: checkpoint, backup, replay or memory."""

    name: ClassVar[str] = "recovered"
    source: str
    lost_events: Count
    file: str


class RunEnded(Body, frozen=True):
    """A run is over. `status`: complete circuit_open limit paused integrity stopped interrupted error."""

    name: ClassVar[str] = "run_ended"
    status: str
    exit: int
    reason: str
    iterations: Count = 0
    calls: Count = 0
    duration_s: Seconds = 0
    tokens: Count = 0
    cost_usd: Seconds = 0
    changed_files: Count = 0
    head: str = ""


KINDS: dict[str, type[Body]] = {
    kind.name: kind
    for kind in (
        *(Base, RunStarted, Entered, CallReserved, CallEnded, Measured, Judged, BreakerChanged, HoldChanged, ModeChanged),
        *(LevelChanged, Steered, Asked, ControlRefused, Alert, Recovered, RunEnded),
    )
}
# Field names that Python or the envelope will not have.
_WRITTEN = {
    "breaker": {"before": "from", "after": "to"},
    "hold": {"kind": "class"},
    "mode": {"kind": "class"},
    "level": {"kind": "class"},
}
_READ = {name: {there: here for here, there in names.items()} for name, names in _WRITTEN.items()}


class Event(Record, frozen=True):
    """A body with its place: the sequence number, the time (UTC, milliseconds), the run and the iteration that it belongs to."""

    seq: int
    t: int
    run: str
    n: int | None
    body: Body


def moment(t: int) -> str:
    """A time as text: 2026-11-30T18:15:02.123Z."""
    return (_EPOCH + timedelta(milliseconds=t)).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def second(t: int) -> str:
    """A time as text without its milliseconds: 2026-11-30T18:15:02Z."""
    return moment(t)[:-5] + "Z"


def milliseconds(text: str) -> int:
    """The time that `moment` wrote. Raises Invalid."""
    try:
        found = datetime.fromisoformat(text)
        return (found - _EPOCH) // timedelta(milliseconds=1)
    except (ValueError, TypeError, OverflowError) as error:
        raise Invalid(f"{text!r} is no time") from error


def line(event: Event, before: str) -> tuple[str, str]:
    """The event as a line of the journal without its end, and its sum. `before` is the sum of the line before it."""
    renamed = _WRITTEN.get(event.body.name, {})
    fields = {renamed.get(name, name): value for name, value in dump(event.body).items()}
    place = {"v": VERSION, "seq": event.seq, "t": moment(event.t), "run": event.run, "n": event.n, "ev": event.body.name}
    text = json.dumps(place | fields, separators=(",", ":"), allow_nan=False)
    total = chained(before, text)
    return f'{text[:-1]}{_SUM}{total}"}}', total


def chained(before: str, text: str) -> str:
    """The sum of a line, given without sum, after the line whose sum is `before`."""
    return hashlib.sha256((before + text).encode()).hexdigest()[:_SUM_LENGTH]


def stated(text: str) -> str | None:
    """The sum that a line states, right or not."""
    found = text[-_TAIL:]
    total = found[len(_SUM) : -2]
    good = found.startswith(_SUM) and found.endswith('"}') and len(total) == _SUM_LENGTH and set(total) <= set("0123456789abcdef")
    return total if good else None


def read(text: str, before: str | None) -> Event:
    """The event of a line (without its end). `before` is the sum of the line before it.

    Raises Invalid where the sum or the form is wrong, and TooNew for a line of a later version whose sum is right.
    """
    total, plain = stated(text), text[:-_TAIL] + "}"
    if total is None or before is None or chained(before, plain) != total:
        raise Invalid("its checksum does not fit")
    try:
        values = json.loads(plain)
    except (ValueError, RecursionError) as error:
        raise Invalid(f"it is not JSON ({error})") from None
    if not isinstance(values, dict):
        raise Invalid("it is no object")
    if isinstance(values.get("v"), int) and values["v"] > VERSION:
        raise TooNew(values["v"])
    return _event(values)


def _event(values: dict[str, Any]) -> Event:
    missing = [name for name in _ENVELOPE if name not in values]
    if missing:
        raise Invalid(f"it has no {missing[0]}")
    place = {name: values.pop(name) for name in _ENVELOPE}
    kind = KINDS.get(place["ev"]) if isinstance(place["ev"], str) else None
    if kind is None or place["v"] != VERSION:
        raise Invalid(f"there is no event {place['ev']!r} in version {place['v']!r}")
    renamed = _READ.get(kind.name, {})
    wrong = values.keys() & set(_WRITTEN.get(kind.name, {}))
    if wrong:
        raise Invalid(f"it has an unknown field {sorted(wrong)[0]}")
    body = parse(kind, {renamed.get(name, name): value for name, value in values.items()})
    where = parse(_Place, {"seq": place["seq"], "run": place["run"], "n": place["n"]})
    return Event(where.seq, milliseconds(place["t"]), where.run, where.n, body)


class _Place(Record, frozen=True):
    seq: Count
    run: str
    n: int | None


def redacted(body: Body, secrets: tuple[str, ...] = ()) -> Body:
    """The body with every secret taken out: what looks like one, and these texts (8 characters or more) wherever they stand."""
    secrets = tuple(secret for secret in secrets if len(secret) >= SECRET)
    values = dump(body)
    text = json.dumps(values, ensure_ascii=False)
    if not suspicious(text) and not any(secret in text or json.dumps(secret)[1:-1] in text for secret in secrets):
        return body
    clean = redactor()

    def take_out(value: str) -> str:
        for secret in secrets:
            value = value.replace(secret, HIDDEN)
        return clean(value)

    return parse(type(body), _mapped(values, take_out))


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {name: _mapped(inner, change) for name, inner in value.items()}  # names are guard's own
    return [_mapped(inner, change) for inner in value] if isinstance(value, list | tuple) else value
