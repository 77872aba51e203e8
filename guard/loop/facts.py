"""What was measured of an iteration: the values between those who look at trees, plans, tests and replies, and the machine."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from guard.loop.record import Record

Count = Annotated[int, Meta(ge=0)]
Seconds = Annotated[float, Meta(ge=0)]

PATHS = 200  # paths and pairs of an approach that are kept
ERRORS = 20  # error lines that are kept
MESSAGE = 4000  # characters of the final text that are kept
TAIL = 20  # lines of a failed verify command that are kept


class Files(Record, frozen=True):
    """How the tree after the iteration differs from the tree before it (paths relative to the tree)."""

    meaningful: Count = 0  # paths that changed meaningfully
    lines: Count = 0  # lines added and removed in them
    test_lines: Count = 0  # of these, lines in test paths
    external: tuple[str, ...] = ()  # paths that changed between the last iteration and this one
    reverted: bool = False  # some path went back to what it had been before
    paths: tuple[str, ...] = ()  # the paths that changed meaningfully, at most PATHS
    approach: tuple[str, ...] = ()  # a digest of each pair of path and content, at most PATHS
    tree: str = ""  # digest of the fingerprint after the iteration
    head: str = ""
    commits: tuple[str, ...] = ()  # commits that the iteration made, oldest first


class Plan(Record, frozen=True):
    """The required tasks of the plan after the iteration. Tasks are named by their identity."""

    required: Count
    open: Count
    missing: Count = 0  # fewer than the most that this run has seen: the most is always required + missing
    opened: tuple[str, ...] = ()  # open now, and not seen open before in this run
    completed: tuple[str, ...] = ()  # ticked now and not before, and seen open earlier


class Verification(Record, frozen=True):
    """What the verify commands said. None in its place: they were not run."""

    ok: bool
    passed: Count = 0
    failed: Count = 0
    skipped: Count = 0
    newly_passing: Count = 0
    resolved: Count = 0  # errors of the last measurement's output that are gone
    duration_s: Seconds = 0
    tail: tuple[str, ...] = ()  # the last lines of the first command that failed, at most TAIL


class Directive(Record, frozen=True):
    """A line `@guard::loop::VERB {json}` of the final text. `error` says why it has no effect."""

    verb: str
    reason: str = ""
    error: str = ""


class Reply(Record, frozen=True):
    """What the agent's final text says."""

    format: str = "text"  # raw: the promised form could not be read, the text was saved
    lines: Count = 0  # non-empty lines outside the status block
    message: str = ""  # the normalised text without block, at most MESSAGE characters
    block: dict[str, str] = field(default_factory=dict)  # the status block: keys in capitals, values in lower case
    explicit: bool | None = None
    claim: bool = False
    done: tuple[str, ...] = ()  # "done" and "no_work", whichever kind of signal the text has
    strong: bool = False
    question: bool = False
    testing: bool = False  # WORK_TYPE says tests; without a block, the text does
    hints: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()  # error lines as they stood there, at most ERRORS
    gaps: tuple[str, ...] = ()  # denied calls that the allow list does not cover
    directives: tuple[Directive, ...] = ()

    def says(self, key: str) -> str:
        """The value of a key of the block in lower case, "" where it has none."""
        return self.block.get(key, "")


class Violation(Record, frozen=True):
    """A protected file that was harmed. `kind` as guard.change names it; `aside` is where what stood in the way was put."""

    path: str
    kind: str
    restored: bool
    aside: str = ""


class Refusal(Record, frozen=True):
    """Harm to a path that guard refused, how often, and in which layer."""

    path: str
    layer: str
    count: Count = 1


class Protected(Record, frozen=True):
    """What happened to the protected files."""

    violations: tuple[Violation, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    approved: tuple[str, ...] = ()  # rewritten by an approved tool
    files: Count = 0  # paths under watch


class Tokens(Record, frozen=True):
    """Tokens of a call as the client counts them."""

    input: Count = field(default=0, name="in")
    output: Count = field(default=0, name="out")
    cache_read: Count = 0
    cache_write: Count = 0

    def plus(self, other: Tokens) -> Tokens:
        """Both together."""
        read, written = self.cache_read + other.cache_read, self.cache_write + other.cache_write
        return Tokens(self.input + other.input, self.output + other.output, read, written)

    @property
    def counted(self) -> int:
        """What counts against the hour's limit: everything but what came out of the cache."""
        return self.input + self.output + self.cache_write


class UsageLimit(Record, frozen=True):
    """The client says that its limit is used up. `resets_at`: UTC milliseconds, None where it does not say.

    `evidence`, the strongest first: event (a rate_limit_event without success after it), status (an error result with status
    429 and such a text), text (an error run that says so).
    """

    kind: str
    resets_at: int | None
    evidence: str
