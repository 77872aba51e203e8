"""The events of the journal: one record a kind, and their envelope.

Facts are events, and conclusions are recorded too. Three kinds are guard's own addition: `base` begins every file with
the state that the events before it have led to, `asked` records a stop that was asked for, and `call_ended.failure` says how
the client reported a failure that its exit status does not show.
"""

from __future__ import annotations

from typing import Any, ClassVar

from guard.loop.facts import Count, Files, Plan, Protected, Reply, Seconds, Tokens, UsageLimit, Verification
from guard.loop.record import Record
from guard.loop.settings import Config


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
    """A run begins, or goes on (`resumed`). `label`: the loop's second name, "" where the run gives it none."""

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
    label: str = ""
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
    """A hold is placed or lifted. `before` and `after`: "", paused or rescue_wait. `kind`: user, agent or rescue.

    With both "" one iteration of a manual loop is let through.
    """

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


class Budgeted(Body, frozen=True):
    """What the day's budget leaves to the loop. Amounts are tokens or, where `unit` is cost, US dollars.

    `spent` by all loops, `own` by this one; `percent` of what ordinary calls share. `pool` pays: ordinary or reserve. `allowed`
    is the level, 0 for no call until the day ends at `until` (UTC milliseconds).
    """

    name: ClassVar[str] = "budget"
    unit: str
    total: Seconds
    spent: Seconds
    own: Seconds
    percent: Count
    role: str
    pool: str
    allowed: Count
    until: int
    why: str = ""


class FleetChanged(Body, frozen=True):
    """The ledger that loops share answers (`shared`), or does not (`away`): then the loop keeps to `share` calls an hour."""

    name: ClassVar[str] = "fleet"
    before: str
    after: str
    loops: Count
    share: Count = 0
    why: str = ""


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
    """Somebody asked for what they may not have, `count` times."""

    name: ClassVar[str] = "control_refused"
    verb: str
    actor: str
    why: str
    count: Count = 1


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
        *(LevelChanged, Budgeted, FleetChanged, Steered, Asked, ControlRefused, Alert, Recovered, RunEnded),
    )
}


class Event(Record, frozen=True):
    """A body with its place: the sequence number, the time (UTC, milliseconds), the run and the iteration that it belongs to."""

    seq: int
    t: int
    run: str
    n: int | None
    body: Body
