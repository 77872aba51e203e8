"""Iteration: copies, calls and measures, as the machine says, and has the facts judged."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

from guard import project, sandbox
from guard.errors import STATE, GuardError
from guard.loop import call, credentials, deadline, gatekeeper, lifecycle, limits, output, processes, prompt, protection, texts
from guard.loop.command import Command, Do, End, Enter
from guard.loop.completion import is_claim, standing
from guard.loop.configuration import Settings
from guard.loop.deadline import Overdue
from guard.loop.desk import Desk
from guard.loop.economy import Economy
from guard.loop.events import Alert, CallEnded, CallReserved, Measured
from guard.loop.facts import Files, Plan, Protected, Verification
from guard.loop.invocation import PROMPT_FILE, Invocation
from guard.loop.names import OUTPUTS
from guard.loop.outcome import OK, PARTIAL
from guard.loop.plan import Progress, Tasks
from guard.loop.protection import Event, Guardian
from guard.loop.reading import Reader, Reading
from guard.loop.reading.said import PROMPT
from guard.loop.record import replace
from guard.loop.spending import Meter, spent
from guard.loop.state import OPEN
from guard.loop.tree import Tree
from guard.loop.verifying import Verifier
from guard.world import Budget, World

Kind = TypeVar("Kind")
SANDBOX_S = 30.0  # for planning a sandbox


@dataclass(frozen=True)
class Job:
    """What a run is to do. `prompt` is the user's text, None where the agent takes none; `plan` relative to the tree."""

    top: str
    settings: Settings
    invocation: Invocation
    prompt: str | None = None
    plan: str | None = None
    promise: str = ""
    context: bool = True
    continues: bool = False  # each call goes on with the agent's own session
    sandboxed: str = sandbox.NONE
    secrets: tuple[str, ...] = ()
    verify_timeout_s: float = 600.0
    economy: Invocation | None = None  # in place of `invocation` at level 1


@dataclass
class Under:
    """What is known of the iteration under way."""

    n: int
    external: tuple[str, ...]
    tasks: Tasks
    tree: str
    missing: int = 0
    reading: Reading = field(default_factory=lambda: Reader().finish(0))  # of its last call
    events: list[Event] = field(default_factory=list)


class Iterations:
    """Does iterations of one run, one after the other."""

    def __init__(
        self, job: Job, desk: Desk, guardian: Guardian, tree: Tree, progress: Progress | None, economy: Economy | None = None
    ) -> None:
        self.job, self._desk, self._guardian, self._tree, self._progress = job, desk, guardian, tree, progress
        self._economy = economy
        self._last = prompt.Earlier(desk.store.directory)
        self._tail: tuple[str, ...] = ()
        self._too_long = False  # the client could not take the last prompt
        # In a sandbox, nothing else of the state can be written.
        spool = f"{os.path.dirname(os.path.dirname(desk.store.directory))}/{project.SPOOL}"
        self._meter = Meter(desk.store.directory, "" if job.sandboxed == sandbox.NONE else spool)
        environ = job.invocation.environ
        self._verifier = Verifier(job.settings.verify, job.top, environ, job.verify_timeout_s, self._attend, processes.living)

    def baseline(self) -> list[Command]:
        """Measures before the first one; gives what is left to do."""
        plan = self._progress.after() if self._progress is not None else None
        tests = self._verified() if self.job.settings.verify else None
        return self._desk.record(Measured(plan=plan, tests=tests)) if plan is not None or tests is not None else []

    def one(self) -> Command | None:
        """Does one, and gives what comes next: a command, None for whatever the next look at the state says."""
        entered = self._desk.enter(lifecycle.SNAPSHOT, lifecycle.deadline(lifecycle.SNAPSHOT, self._desk.now))
        if entered:
            return entered[-1]
        try:
            under = self._prepared()
        except Overdue:
            return self._desk.forced() or End("error", STATE, "snapshot_overdue")
        return self._called(under) if isinstance(under, Under) else under

    def _prepared(self) -> Under | Command | None:
        """Copies the protected files and looks at the tree, before the call. Raises Overdue."""
        harm = self._harm_between()
        if harm is not None:
            return harm
        try:
            self._within(self._guardian.copy)
        except GuardError as error:
            self._desk.record(Alert("snapshot", "critical", str(error)))
            return End("error", STATE, "snapshot")
        tasks = self._tasks_before()
        if standing(self._desk.state):
            return None
        run = self._desk.state.run
        missing = run.plan.missing if run is not None and run.plan is not None else 0
        external = self._within(self._tree.before)
        return self._desk.forced() or Under((run.n if run else 0) + 1, external, tasks, self._tree.digest, missing)

    def _within(self, work: Callable[[], Kind]) -> Kind:
        """What some work gives. Raises Overdue where the present state has to be over before that."""
        with deadline.kept(self._desk.state.deadline, self._desk.clock):
            return work()

    def _in_time(self, work: Callable[[], Kind], missing: Kind) -> Kind:
        """What some work gives, or what counts in its place where the present state has to be over before that."""
        try:
            return self._within(work)
        except Overdue:
            self._desk.record(Alert("overdue", "critical", f"{self._desk.state.lifecycle}: {texts.BROKEN_OFF}"))
            return missing

    def _tasks_before(self) -> Tasks:
        """The plan before an iteration. What others have done to it is recorded: they may have completed it."""
        if self._progress is None:
            return Tasks()
        tasks = self._within(self._progress.before)
        plan = self._progress.external()
        if plan is not None:
            self._desk.record(Measured(plan=plan))
        return tasks

    def _harm_between(self) -> Command | None:
        """What happened to protected files between two iterations, unless people had the loop in their hands."""
        if self._desk.state.parted:
            return None
        found = self._within(lambda: self._guardian.look("between two iterations", []))
        if not found.protected.violations:
            return None
        self._noted(found.note)
        rest = self._desk.record(Measured(protected=found.protected))
        return rest[-1] if rest else None

    def _noted(self, note: str) -> None:
        if note:
            self._desk.record(Alert("protected", "critical", note))

    def _called(self, under: Under) -> Command | None:
        """Makes the calls of one iteration, then measures."""
        while True:
            text = self._text(under)
            body = gatekeeper.reservation(self._desk.state, self._desk.now, self._reservation(under, text))
            if not isinstance(body, CallReserved):
                return self._measured(under) if isinstance(body, Do) else body
            instead = self._economy.reserve(body) if self._economy is not None else None
            if instead is not None:
                return self._measured(under) if isinstance(instead, Do) else instead
            self._desk.record(body, under.n)
            self._last.keep(credentials.cleaned(text, self.job.secrets))
            rest = self._executed(under, body, text)
            if not rest or not isinstance(rest[-1], Do):
                return rest[-1] if rest else None
            if rest[-1].what != "retry" or not self._waited(rest[-1].after_s) or not self._tree.unchanged():
                return self._measured(under)

    def _waited(self, seconds: float) -> bool:
        """Lets time pass before a call is repeated. False where somebody wants the run to end."""
        until = self._desk.now + int(seconds * 1000)
        self._desk.enter(lifecycle.EXECUTE, until + lifecycle.GRACE_S * 1000, "retry")
        while (left := until - self._desk.now) > 0:
            self._desk.beat()
            self._desk.listen()
            if (self._desk.state.run is not None and self._desk.state.run.asked is not None) or self._desk.killed():
                return False
            self._desk.pause(min(self._desk.clock.step_s, left / 1000))
        return True

    def _text(self, under: Under) -> str:
        if self.job.prompt is None:
            return ""
        if not self.job.context:
            return prompt.steered(self.job.prompt, self._desk.state)
        task = under.tasks.current
        attempt = gatekeeper.attempt(self._desk.state, task)
        where = self._desk.store.directory
        context = prompt.Context(
            self._desk.state, self._desk.now, task, attempt, under.tasks.open, under.missing, self._tail, where,
            self._progress.gone() if self._progress is not None else (), self._too_long,
        )  # fmt: skip
        return prompt.composed(self.job.prompt, context)

    def _reservation(self, under: Under, text: str) -> CallReserved:
        data, task = text.encode("utf-8", "replace"), under.tasks.current
        return CallReserved(
            0,
            0,
            0,
            task=task,
            attempt=gatekeeper.attempt(self._desk.state, task),
            tree=under.tree,
            prompt_digest=hashlib.sha256(data).hexdigest(),
            prompt_bytes=len(data),
            prompt_similar=self._last.similar(credentials.cleaned(text, self.job.secrets)),
            command=self._invocation.words,
        )

    def _executed(self, under: Under, made: CallReserved, text: str) -> list[Command]:
        """Makes one call and records how it ended."""
        job, config = self.job, self._desk.state.config
        self._desk.enter(lifecycle.EXECUTE, self._desk.now + lifecycle.execute_s(self._desk.state) * 1000)
        name = f"{OUTPUTS}/{under.n}-{made.call}.log"
        file = output.File(f"{self._desk.store.directory}/{name}", job.secrets)
        invocation = self._invocation
        reader = Reader(invocation.form, bool(invocation.name), job.promise, invocation.allowed)
        feeds: tuple[Callable[[bytes], None], ...] = (reader.feed, reader.feed_error)

        def sink(data: bytes, stream: int) -> None:
            feeds[stream](data)
            self._desk.view.output(file.write(data, stream))
            self._desk.beat()

        def asked() -> bool:
            self._desk.beat()
            return self._desk.killed()

        limits = call.Limits(config.timeout_s, config.idle_timeout_s)
        argv, environ = self._command(under, text)
        given = text.encode("utf-8", "replace") if invocation.reads_input else b""
        ended = call.run(argv, environ, job.top, given, limits, self._desk.clock, sink, asked, self._desk.signals.wake)
        self._desk.view.output(file.close())
        _remove(self._prompt_file)
        under.events = self._guardian.events()
        early = ended.how in (call.TIMEOUT, call.IDLE)
        reader.feed_usage(self._meter.told())
        refused = self._guardian.refused(under.events)
        reading = reader.finish(ended.exit, early, self._desk.now, commands=refused)
        under.reading = reading
        self._troubled(ended, file, reading)
        told = self._ended(made, ended, reading, name, file.size)
        rest = self._desk.record(told, under.n)
        if self._economy is not None:
            self._economy.charge(made, told)
        return rest

    @property
    def _invocation(self) -> Invocation:
        """How the agent is called at the present level."""
        economy = self.job.economy if self._desk.state.level == limits.ECONOMY else None
        return economy or self.job.invocation

    def _command(self, under: Under, text: str) -> tuple[list[str], dict[str, str]]:
        state, invocation = self._desk.state, self._invocation.resumed(self._session())
        marks = {
            "GUARD_LOOP": state.loop,
            "GUARD_RUN": self._desk.run,
            "GUARD_ITERATION": str(under.n),
            "GUARD_LEVEL": str(state.level),
        }
        environ = {**invocation.environ, **marks}
        path = self._prompt_file
        if any(PROMPT_FILE in word for word in invocation.words):
            _put(path, text)
        self._meter.told()  # by an earlier call
        argv = invocation.argv(text, path, self._meter.usage)
        if self.job.sandboxed == sandbox.NONE:
            return argv, environ
        tree = World(environ, Budget(SANDBOX_S, 50_000_000))
        made = sandbox.prepare(self.job.sandboxed, argv, self._guardian.policy, self._guardian.roots, tree)
        return list(made.argv), environ

    @property
    def _prompt_file(self) -> str:
        """Where the prompt stands while a call reads it from a file. It may hold what is kept nowhere else."""
        return f"{self._desk.store.directory}/prompt"

    def _session(self) -> str:
        """The agent's session to go on with; "" for a new one, also after a call that went wrong."""
        last, run = self._desk.state.last, self._desk.state.run
        if not self.job.continues or last is None or run is None or last.run != run.id:
            return ""
        return self._desk.state.session if last.outcome in (OK, PARTIAL) else ""

    def _troubled(self, ended: call.Ended, file: output.File, reading: Reading) -> None:
        """Tells what went wrong around a call."""
        self._too_long = reading.failure == PROMPT
        if self._too_long:
            self._desk.record(Alert("prompt_too_long", "warning", texts.TOO_LONG))
        if ended.survivors:
            pids = ", ".join(map(str, ended.survivors))
            self._desk.record(Alert("survivors", "critical", f"processes of the call could not be ended: {pids}"))
        if file.failed:
            self._desk.record(Alert("output", "warning", f"the output could not be kept: {file.failed}"))
        if self._desk.store.failed:
            self._desk.view.say(f"[WARN] files made from the journal could not be written: {self._desk.store.failed}")

    def _ended(self, made: CallReserved, ended: call.Ended, reading: Reading, name: str, size: int) -> CallEnded:
        tokens, cost = spent(reading, self._desk.state.spent)
        return CallEnded(
            call=made.call,
            exit=ended.exit,
            signal=ended.signal,
            ended=ended.how,
            duration_s=round(ended.duration_s, 3),
            output=name,
            out_bytes=size,
            tokens=tokens,
            cost_usd=cost,
            session=reading.session,
            api_status=ended.error if ended.error in call.PASSING.values() else reading.api_status,
            failure=reading.failure or ("error" if ended.error else ""),
            limit=reading.limit,
        )

    def _measured(self, under: Under) -> Command | None:
        """Takes the facts of the iteration and has them judged."""
        self._desk.enter(lifecycle.MEASURE, lifecycle.deadline(lifecycle.MEASURE, self._desk.now))
        self._desk.listen(surely=True)
        words = " ".join(self._invocation.words)
        found = self._in_time(lambda: self._guardian.look(words, under.events), protection.untold(texts.BROKEN_OFF))
        lost = self._desk.state.breaker.state == OPEN and self._desk.state.breaker.cause == "state_lost"
        # With the state the copies have gone. That nothing can be told of the files says nothing against them then.
        protected = Protected() if lost and found.unchecked else found.protected
        self._noted(found.note)
        files = self._in_time(lambda: self._tree.after(under.external), Files(external=under.external, tree=under.tree))
        plan = self._in_time(self._progress.after, self._unread()) if self._progress is not None else None
        tests = self._tests(under, files, plan)
        reply = under.reading.reply
        if self._tree.documentation:
            reply = replace(reply, strong=True)
        rest = self._desk.record(Measured(files=files, plan=plan, tests=tests, reply=reply, protected=protected), under.n)
        try:
            with deadline.kept(lifecycle.deadline(lifecycle.SNAPSHOT, self._desk.now), self._desk.clock):
                self._guardian.copy()
        except (GuardError, Overdue) as error:
            self._desk.record(Alert("snapshot", "critical", str(error) or texts.BROKEN_OFF))
        output.expire(self._desk.store.directory)
        return rest[-1] if rest else None

    def _unread(self) -> Plan | None:
        """What counts where the plan could not be read in time: as before, but it is not complete."""
        run = self._desk.state.run
        plan = run.plan if run is not None else None
        return plan and replace(plan, open=max(1, plan.open), opened=(), completed=())

    def _tests(self, under: Under, files: Files, plan: Plan | None) -> Verification | None:
        """Runs the verify commands where something has changed, or is claimed."""
        under_way = self._desk.state.iteration
        stopped = under_way is not None and under_way.ended is not None and under_way.ended.ended == call.STOP
        late = self._is_late()
        if not self.job.settings.verify or stopped or self._desk.killed():
            return None
        if late:
            return Verification(False)
        changed = files.tree != under.tree or bool(plan is not None and plan.completed)
        claims = is_claim(under.reading.reply) or bool(plan is not None and plan.required and not plan.open)
        if not claims and (not changed or self._desk.state.level <= 1):
            return None
        found = self._verified()
        self._desk.enter(lifecycle.MEASURE, lifecycle.deadline(lifecycle.MEASURE, self._desk.now))
        return found

    def _is_late(self) -> bool:
        """Should the present state be over by now? Then the next one is entered."""
        forced = self._desk.forced()
        if isinstance(forced, Enter):
            self._desk.enter(forced.state, forced.deadline, forced.why)
        return forced is not None

    def _verified(self) -> Verification | None:
        lasts_s = (int(self.job.verify_timeout_s) + lifecycle.VERIFY_GRACE_S) * len(self.job.settings.verify)
        self._desk.enter(lifecycle.VERIFY, lifecycle.deadline(lifecycle.VERIFY, self._desk.now, lasts_s))
        found = self._in_time(self._verifier.measure, Verification(False))
        self._is_late()
        self._tail = tuple(credentials.cleaned(line, self.job.secrets) for line in found.tail)
        return None if self._desk.killed() else found

    def _attend(self) -> None:
        """While verify commands run: whoever is to end at once ends them."""
        self._desk.beat()
        if self._desk.killed():
            processes.end(processes.living, grace_s=1.0)


def _put(path: str, text: str) -> None:
    temporary = f"{path}.tmp"
    try:
        with open(temporary, "w", encoding="utf-8", errors="replace", opener=_private) as file:
            file.write(text)
        os.rename(temporary, path)
    except OSError as error:
        raise GuardError(f"the prompt cannot be written ({error.strerror})", path, "make room there", STATE) from error


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
