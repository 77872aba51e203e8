"""What a loop knows: everything that its events have led to. Times are UTC milliseconds, durations seconds.

What belongs to the loop outlives runs: breaker, counters, holds, calls. What belongs to the run (`Run`) ends with it.
"""

from __future__ import annotations

from msgspec import field

from guard.loop.events import Budgeted, CallEnded, FleetChanged
from guard.loop.facts import Plan, Refusal, Tokens, Verification, Violation
from guard.loop.record import Record
from guard.loop.settings import Config

CLOSED, OPEN, HALF_OPEN = "CLOSED", "OPEN", "HALF_OPEN"
AUTO, EXPLICIT = "auto", "explicit"
PAUSED, RESCUE_WAIT = "paused", "rescue_wait"
MANUAL = "manual"
HISTORY = 60  # scores that are shown
KEPT_ALERTS = 20  # alerts that are shown


class Breaker(Record, frozen=True):
    """The breaker, and why it is as it is."""

    state: str = CLOSED
    cause: str = ""
    also: tuple[str, ...] = ()
    recovery: str = ""
    exit: int = 0
    opened_at: int = 0
    cooldown_s: int = 0
    doublings: int = 0  # k
    opens: int = 0
    strategy: int = 0
    escalated: bool = False
    watch: int = 0
    probe_used: bool = False
    last_error: str = ""
    count: int = 0


class Hold(Record, frozen=True):
    """A pause that stays until it is lifted. `value`: paused or rescue_wait; `kind`: user, agent or rescue."""

    value: str
    kind: str
    reason: str
    actor: str
    at: int
    until: int | None = None


class Memory(Record, frozen=True):
    """What the detectors remember of the iterations before."""

    counts: dict[str, int] = field(default_factory=dict)
    approaches: tuple[tuple[str, ...], ...] = ()  # the last six that are not empty
    errors: tuple[str, ...] = ()  # fingerprints of the error streak's first iteration
    messages: tuple[str, ...] = ()  # of the last five ok iterations since progress
    lines: tuple[int, ...] = ()  # of the last three ok iterations
    refusals: dict[str, int] = field(default_factory=dict)  # path -> iterations in a row
    window: tuple[int, ...] = ()  # the last three scores that count

    def count(self, cause: str) -> int:
        """How far a detector has counted."""
        return self.counts.get(cause, 0)


class Trends(Record, frozen=True):
    """What the alerts remember."""

    idle_tasks: int = 0  # iterations in a row in which nothing was completed
    idle_files: int = 0  # iterations in a row in which no file changed meaningfully
    rates: tuple[int, ...] = ()  # the last four pass rates, in thousandths
    errors: tuple[int, ...] = ()  # the last four numbers of error lines
    negatives: int = 0  # scores below 0 in a row
    history: tuple[int, ...] = ()  # the last HISTORY scores
    active: tuple[str, ...] = ()  # alerts whose episode goes on


class Reservation(Record, frozen=True):
    """A call that was started, or was about to be, and its tokens once they are known."""

    t: int
    call: int
    tokens: int = 0


class Spent(Record, frozen=True):
    """How far the client has counted in its last session, as far as that is recorded."""

    session: str = ""
    cost_usd: float = 0.0
    tokens: Tokens = Tokens()


class Iteration(Record, frozen=True):
    """The iteration that is under way."""

    n: int
    run: str
    started: int
    task: str
    attempt: int
    probe: bool
    similar: bool  # its prompt is similar to that of the one before
    calls: int = 1
    ended: CallEnded | None = None  # how the last call ended
    duration_s: float = 0
    tokens: int = 0
    cost_usd: float = 0
    steers: tuple[str, ...] = ()  # what a person told it


class Last(Record, frozen=True):
    """The last iteration that was judged, as the files and views show it."""

    n: int
    run: str
    outcome: str
    progress: bool
    held: str
    claim: bool
    explicit: bool | None
    refused: tuple[str, ...]  # what speaks against its claim
    score: int
    parts: dict[str, int]
    counters: dict[str, int]
    thresholds: dict[str, int]
    matched: tuple[str, ...]
    risk: str
    confidence: int
    vote: int
    signals: dict[str, int]  # what each signal gave to the vote
    decision: str
    reason: str
    completed: int
    paths: tuple[str, ...]
    tests: Verification | None
    errors: tuple[str, ...]
    lines: int
    refusals: tuple[Refusal, ...]
    violations: tuple[Violation, ...]
    gaps: tuple[str, ...]
    calls: int
    calls_left: int
    duration_s: float
    tokens: int
    cost_usd: float
    fingerprints: tuple[str, ...]
    values: dict[str, int]  # the value of each signal of the vote
    breaker: str  # the breaker's state after it
    task: str
    recovered: bool  # progress, one iteration before the breaker would have opened


class Asked(Record, frozen=True):
    """An end that was asked for."""

    verb: str
    actor: str
    why: str


TRIED, TRIED_PATHS = 3, 5


class Guarded(Record, frozen=True):
    """What happened to protected files in a run so far: paths under watch, paths harmed, of them restored, harm refused."""

    files: int = 0
    lost: int = 0
    restored: int = 0
    refused: int = 0


class Run(Record, frozen=True):
    """The run that is under way, or the last one."""

    id: str
    started: int
    agent: str
    pid: int
    pid_start: str
    supervised: bool = False
    start: str = ""  # the commit that it began with, also where it goes on
    n: int = 0  # the last iteration's number
    counted: int = 0  # iterations that are not void
    calls: int = 0
    duration_s: float = 0
    tokens: int = 0
    cost_usd: float = 0
    changed: int = 0  # files that changed meaningfully, counted each time
    done: tuple[bool, ...] = ()  # of the last ok iterations: was there a done signal?
    tested: tuple[bool, ...] = ()  # were they test-focused?
    test_focused: int = 0  # how many of `counted` were
    claimed: bool = False  # a claim was held since the last progress
    seen_open: tuple[str, ...] = ()  # tasks that were seen open in this run
    counted_done: tuple[str, ...] = ()  # tasks whose completion was counted
    plan: Plan | None = None
    verified: bool | None = None  # what the verify commands said last
    objected: bool = False  # the last iteration spoke against completion
    asked: Asked | None = None
    guarded: Guarded = Guarded()
    head: str = ""
    ended: bool = False
    exit: int | None = None
    status: str = ""
    reason: str = ""


class State(Record, frozen=True):
    """All of it."""

    loop: str
    root: str = ""
    label: str = ""  # its second name
    clock: str = "real"
    seq: int = 0
    t: int = 0
    config: Config = Config()
    breaker: Breaker = Breaker()
    hold: Hold | None = None
    mode: str = "auto"
    permits: int = 0  # iterations that manual mode lets through
    level: int = 3
    budget: Budgeted | None = None  # the day's, where there is one
    fleet: FleetChanged | None = None  # how the ledger that loops share answered last
    gate: str = "running"
    memory: Memory = Memory()
    trends: Trends = Trends()
    calls: int = 0  # the last call's number
    window: tuple[Reservation, ...] = ()  # the calls of the last hour
    task: str = ""  # the task of the last iteration that is not void
    attempts: int = 0  # how many in a row were on it
    tried: tuple[tuple[str, ...], ...] = ()  # what the last TRIED of them changed, the first paths of each
    usage_until: int | None = None  # the client's limit is used up until then
    usage_kind: str = ""
    usage_waits: int = 0  # short waits for it in a row
    limited: bool = False  # the last iteration was `limited`
    session: str = ""  # the agent's own session
    spent: Spent = Spent()
    lifecycle: str = ""
    entered: int = 0
    deadline: int | None = None
    why: str = ""
    iteration: Iteration | None = None
    run: Run | None = None
    last: Last | None = None
    parted: bool = True  # held or stopped since the last iteration, so that people may have changed things
    steers: tuple[str, ...] = ()  # for the next prompt
    kept_steers: tuple[str, ...] = ()  # for every prompt
    alerts: tuple[dict[str, str], ...] = ()
    refused: int = 0  # control that was refused, counted
    pending: tuple[str, ...] = ()  # conclusions that are not recorded yet, as JSON
