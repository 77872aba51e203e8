"""A runner without processes and clocks: scripted iterations, driven through the machine as the real one is."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from guard.loop import detectors, gatekeeper, machine
from guard.loop.command import Call, Command, Do, End, Enter, Write
from guard.loop.events import (
    Body,
    CallEnded,
    CallReserved,
    Entered,
    Event,
    Judged,
    Measured,
    RunStarted,
    StartPlan,
)
from guard.loop.facts import (
    Directive,
    Files,
    Plan,
    Protected,
    Refusal,
    Reply,
    Tokens,
    UsageLimit,
    Verification,
    Violation,
)
from guard.loop.judge import ending
from guard.loop.lifecycle import CHECK
from guard.loop.settings import settle
from guard.loop.state import State
from guard.loop.store import Store

START = 1_796_040_000_000  # a Monday, 12:00 UTC
MINUTE = 60_000
TASKS = ("one", "two", "three")
_numbers = itertools.count()
made: list[Rig] = []  # those of the present test, which tests/loop/conftest.py looks at when it is over


@dataclass(frozen=True)
class It:
    """An iteration: what the agent says, how its call ends, and what changes. By default it is ok and changes nothing."""

    edit: int = 0  # paths changed meaningfully, outside tests
    tests_edit: int = 0  # paths changed in tests
    done: tuple[str, ...] = ()  # tasks ticked
    opened: tuple[str, ...] = ()  # tasks unticked or added
    gone: tuple[str, ...] = ()  # tasks removed from the plan
    status: str = ""
    exit_signal: bool | None = None
    claim: bool = False
    failing: bool = False  # TESTS_STATUS FAILING
    testing: bool = False
    question: bool = False
    signals: tuple[str, ...] = ()  # done, no_work
    strong: bool = False
    hints: tuple[str, ...] = ()
    message: str = ""
    lines: int = 5
    errors: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    harmed: tuple[str, ...] = ()
    approach: tuple[str, ...] | None = None
    reverted: bool = False
    external: tuple[str, ...] = ()
    directives: tuple[Directive, ...] = ()
    format: str = "text"
    similar: bool = False
    tests: Verification | None = None
    exit: int | None = 0
    ended: str = "self"
    failure: str = ""
    api_status: str = ""
    limit: UsageLimit | None = None
    tokens: int = 0
    cost: float = 0
    session: str = ""
    minutes: int = 1

    def measured(self, plan: Plan | None) -> Measured:
        """The facts, with the plan as it is after the iteration."""
        changed = self.edit + self.tests_edit
        approach = self.approach
        if approach is None:
            approach = tuple(f"{path}@{next(_numbers)}" for path in range(changed))
        changed = changed or len(approach)
        block = {"STATUS": self.status} if self.status else {}
        files = Files(
            meaningful=changed,
            lines=10 * changed,
            test_lines=10 * self.tests_edit,
            external=self.external,
            reverted=self.reverted,
            paths=tuple(f"src/{number}.py" for number in range(changed)),
            approach=approach,
        )
        reply = Reply(
            format=self.format,
            lines=self.lines,
            message=self.message,
            block=block | ({"TESTS_STATUS": "failing"} if self.failing else {}),
            explicit=self.exit_signal,
            claim=self.claim,
            done=self.signals,
            strong=self.strong,
            question=self.question,
            testing=self.testing,
            hints=self.hints,
            errors=self.errors,
            gaps=self.gaps,
            directives=self.directives,
        )
        protected = Protected(
            tuple(Violation(path, "missing", True) for path in self.harmed),
            tuple(Refusal(path, "hook") for path in self.refused),
        )
        return Measured(files=files, plan=plan, tests=self.tests, reply=reply, protected=protected)


def times(count: int, one: It) -> list[It]:
    """The same iteration several times."""
    return [one] * count


@dataclass
class Rig:
    """One loop. `play` runs iterations until they are used up or the run ends (`end`)."""

    asked: dict[str, Any] = field(default_factory=dict)
    tasks: tuple[str, ...] | None = TASKS
    unsafe: bool = False
    store: Store | None = None
    t: int = START
    state: State = field(default_factory=lambda: State("loop"))
    events: list[Event] = field(default_factory=list)
    end: End | None = None
    waits: list[Enter] = field(default_factory=list)
    run: str = ""
    open: list[str] = field(default_factory=list)
    most: int = 0

    def __post_init__(self) -> None:
        self.first, self.table = self.state, detectors.TABLE
        made.append(self)

    def record(self, body: Body, n: int | None = None) -> list[Command]:
        """Writes an event with its conclusions, and gives what is left to do."""
        if self.store is not None:
            rest = self.store.record(body, self.t, self.run, n)
            self.state = self.store.state
            return rest
        event = Event(self.state.seq + 1, self.t, self.run, n, body)
        self.events.append(event)
        self.state, commands = machine.step(self.state, event)
        rest = []
        for command in commands:
            rest += self.record(command.body, n) if isinstance(command, Write) else [command]
        return rest

    def start(self, run: str = "", resumed: bool = False) -> Rig:
        """Begins a run, or goes on with it."""
        self.run = run or f"r{next(_numbers)}"
        self.end = None
        if self.tasks is not None and not self.most:
            self.open, self.most = list(self.tasks), len(self.tasks)
        plan = None if self.tasks is None else StartPlan("plan.md", self.most, tuple(self.open))
        asked = {"plan": self.tasks is not None} | self.asked
        settled = settle(asked, self.unsafe)
        body = RunStarted(
            loop="loop",
            root="/r",
            pid=1,
            pid_start="1",
            boot="b",
            version="0",
            argv=("guard", "run"),
            agent="agent",
            config=settled.config,
            config_digest="d",
            resumed=resumed,
            loosened=settled.loosened,
            plan=plan,
        )
        self.record(body)
        return self

    def wait(self, minutes: float) -> Rig:
        """Lets time pass."""
        self.t += int(minutes * MINUTE)
        return self

    def check(self, why: str = "") -> Command:
        """Goes through CHECK: what the machine answers. A run that ends is ended."""
        (command,) = self.record(Entered(CHECK, self.t + 10_000, why))
        return self._followed(command)

    def one(self, it: It) -> Command | None:
        """Runs one iteration if one may start; waits that the machine asks for are only noted."""
        answer = self.check()
        if not isinstance(answer, Call):
            return answer
        self.reserve(it)
        return self.finish(it)

    def reserve(self, it: It, retry: bool = False) -> None:
        """Reserves a call."""
        run = self.state.run
        assert run is not None
        n = run.n if retry else run.n + 1
        task = self.open[0] if self.open else ""
        made = CallReserved(0, 0, 0, task=task, attempt=gatekeeper.attempt(self.state, task), prompt_similar=it.similar)
        body = gatekeeper.reservation(self.state, self.t, made)
        assert isinstance(body, CallReserved), body
        self.record(body, n)

    def finish(self, it: It) -> Command | None:
        """Ends the call and measures."""
        run = self.state.run
        assert run is not None
        self.wait(it.minutes)
        tokens = Tokens(input=it.tokens)
        body = CallEnded(
            self.state.calls,
            it.exit,
            ended=it.ended,
            failure=it.failure,
            api_status=it.api_status,
            limit=it.limit,
            tokens=tokens,
            cost_usd=it.cost,
            session=it.session,
            duration_s=60 * it.minutes,
        )
        (command,) = self.record(body, run.n)
        if isinstance(command, Do) and command.what == "retry":
            return command
        return self.measure(it)

    def measure(self, it: It) -> Command | None:
        """Records the facts, which ends the iteration."""
        run = self.state.run
        assert run is not None
        rest = self.record(it.measured(self._plan(it)), run.n)
        return self._followed(rest[-1]) if rest else None

    def play(self, iterations: Iterable[It]) -> Rig:
        """Runs iterations until the run ends or waits."""
        for it in iterations:
            answer = self.one(it)
            if self.end is not None or (isinstance(answer, Enter) and answer.state != CHECK):
                break
        return self

    def judged(self) -> list[Judged]:
        """Every judgement so far."""
        return [event.body for event in self.events if isinstance(event.body, Judged)]

    def _followed(self, command: Command) -> Command:
        if isinstance(command, End):
            self.end = command
            self.record(ending(self.state, command, self.t))
        elif isinstance(command, Enter) and command.state != CHECK:
            self.waits.append(command)
            self.record(Entered(command.state, command.deadline, command.why))
        return command

    def _plan(self, it: It) -> Plan | None:
        if self.tasks is None:
            return None
        for task in it.done:
            if task in self.open:
                self.open.remove(task)
        for task in it.gone:
            if task in self.open:
                self.open.remove(task)
        fresh = [task for task in it.opened if task not in self.open]
        self.open += fresh
        known = self.state.run.plan if self.state.run else None
        before = known.required if known else 0
        now = before - len(it.gone) + len([task for task in fresh if task not in TASKS])
        high = before + (known.missing if known else 0)
        return Plan(now, len(self.open), max(0, high - now), tuple(fresh), it.done)
