"""Iteration: copies, calls and measures, as the machine says, and has the facts judged."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field

from guard import sandbox
from guard.errors import STATE, GuardError
from guard.loop import call, gatekeeper, lifecycle, output, processes, prompt
from guard.loop.command import Command, Do, End
from guard.loop.completion import is_claim
from guard.loop.configuration import Settings
from guard.loop.desk import Desk
from guard.loop.events import Alert, CallEnded, CallReserved, Measured
from guard.loop.facts import Files, Plan, Protected, Verification
from guard.loop.invocation import PROMPT_FILE, Invocation
from guard.loop.plan import Progress, Tasks
from guard.loop.protection import Event, Guardian
from guard.loop.reading import Reader, Reading
from guard.loop.state import OPEN
from guard.loop.tree import Tree
from guard.loop.verifying import Verifier
from guard.world import Budget, World

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
    sandboxed: str = sandbox.NONE
    secrets: tuple[str, ...] = ()
    verify_timeout_s: float = 600.0


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

    def __init__(self, job: Job, desk: Desk, guardian: Guardian, tree: Tree, progress: Progress | None) -> None:
        self.job, self._desk, self._guardian, self._tree, self._progress = job, desk, guardian, tree, progress
        self._last = prompt.Last(desk.store.directory)
        self._tail: tuple[str, ...] = ()
        self._costs: dict[str, float] = {}
        environ = job.invocation.environ
        self._verifier = Verifier(job.settings.verify, job.top, environ, job.verify_timeout_s, self._attend)

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
        harm = self._harm_between()
        if harm is not None:
            return harm
        try:
            self._guardian.copy()
        except GuardError as error:
            self._desk.record(Alert("snapshot", "critical", str(error)))
            return End("error", STATE, "snapshot")
        tasks = self._progress.before() if self._progress is not None else Tasks()
        run = self._desk.state.run
        missing = run.plan.missing if run is not None and run.plan is not None else 0
        under = Under((run.n if run else 0) + 1, self._tree.before(), tasks, self._tree.digest, missing)
        forced = self._desk.forced()
        return forced or self._called(under)

    def _harm_between(self) -> Command | None:
        """What happened to protected files between two iterations, unless people had the loop in their hands."""
        if self._desk.state.parted:
            return None
        found = self._guardian.look("between two iterations", [])
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
            self._desk.record(body, under.n)
            self._last.keep(text)
            rest = self._executed(under, body, text)
            if not rest or not isinstance(rest[-1], Do):
                return rest[-1] if rest else None
            if rest[-1].what != "retry" or not self._waited(rest[-1].after_s) or not self._tree.unchanged():
                return self._measured(under)

    def _waited(self, seconds: float) -> bool:
        """Lets time pass before a call is repeated. False where somebody wants the run to end."""
        until = self._desk.now + int(seconds * 1000)
        while (left := until - self._desk.now) > 0:
            self._desk.beat()
            self._desk.listen()
            if self._desk.state.run is not None and self._desk.state.run.asked is not None:
                return False
            self._desk.pause(min(self._desk.clock.step_s, left / 1000))
        return True

    def _text(self, under: Under) -> str:
        if self.job.prompt is None:
            return ""
        if not self.job.context:
            return self.job.prompt
        task = under.tasks.current
        attempt = gatekeeper.attempt(self._desk.state, task)
        where = self._desk.store.directory
        context = prompt.Context(
            self._desk.state, self._desk.now, task, attempt, under.tasks.open, under.missing, self._tail, where
        )
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
            prompt_similar=self._last.similar(text),
            command=self.job.invocation.words,
        )

    def _executed(self, under: Under, made: CallReserved, text: str) -> list[Command]:
        """Makes one call and records how it ended."""
        job, config = self.job, self._desk.state.config
        self._desk.enter(lifecycle.EXECUTE, self._desk.now + lifecycle.execute_s(self._desk.state) * 1000)
        name = f"{output.DIRECTORY}/{under.n}-{made.call}.log"
        file = output.File(f"{self._desk.store.directory}/{name}", job.secrets)
        reader = Reader(job.invocation.name, bool(job.invocation.name), job.promise, job.invocation.allowed)
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
        given = text.encode("utf-8", "replace") if job.invocation.reads_input else b""
        ended = call.run(argv, environ, job.top, given, limits, self._desk.clock, sink, asked, self._desk.signals.wake)
        self._desk.view.output(file.close())
        under.events = self._guardian.events()
        early = ended.how in (call.TIMEOUT, call.IDLE)
        refused = self._guardian.refused(under.events)
        reading = reader.finish(ended.exit, early, self._desk.now, commands=refused)
        under.reading = reading
        self._troubled(ended, file)
        return self._desk.record(self._ended(made, ended, reading, name, file.size), under.n)

    def _command(self, under: Under, text: str) -> tuple[list[str], dict[str, str]]:
        state, invocation = self._desk.state, self.job.invocation
        marks = {
            "GUARD_LOOP": state.loop,
            "GUARD_RUN": self._desk.run,
            "GUARD_ITERATION": str(under.n),
            "GUARD_LEVEL": str(state.level),
        }
        environ = {**invocation.environ, **marks}
        path = f"{self._desk.store.directory}/prompt"
        if any(PROMPT_FILE in word for word in invocation.words):
            _put(path, text)
        argv = invocation.argv(text, path)
        if self.job.sandboxed == sandbox.NONE:
            return argv, environ
        tree = World(environ, Budget(SANDBOX_S, 50_000_000))
        made = sandbox.prepare(self.job.sandboxed, argv, self._guardian.policy, self._guardian.roots, tree)
        return list(made.argv), environ

    def _troubled(self, ended: call.Ended, file: output.File) -> None:
        """Tells what went wrong around a call."""
        if ended.survivors:
            pids = ", ".join(map(str, ended.survivors))
            self._desk.record(Alert("survivors", "critical", f"processes of the call could not be ended: {pids}"))
        if file.failed:
            self._desk.record(Alert("output", "warning", f"the output could not be kept: {file.failed}"))
        if self._desk.store.failed:
            self._desk.view.say(f"[WARN] files made from the journal could not be written: {self._desk.store.failed}")

    def _ended(self, made: CallReserved, ended: call.Ended, reading: Reading, name: str, size: int) -> CallEnded:
        return CallEnded(
            call=made.call,
            exit=ended.exit,
            signal=ended.signal,
            ended=ended.how,
            duration_s=round(ended.duration_s, 3),
            output=name,
            out_bytes=size,
            tokens=reading.tokens,
            cost_usd=self._cost(reading),
            session=reading.session,
            api_status=ended.error if ended.error in call.PASSING.values() else reading.api_status,
            failure=reading.failure or ("error" if ended.error else ""),
            limit=reading.limit,
        )

    def _cost(self, reading: Reading) -> float:
        """What this call cost: the client's sum goes on where it resumes a session."""
        if not reading.session:
            return reading.cost_usd
        before = self._costs.get(reading.session, 0.0)
        self._costs[reading.session] = max(before, reading.cost_usd)
        return max(0.0, reading.cost_usd - before)

    def _measured(self, under: Under) -> Command | None:
        """Takes the facts of the iteration and has them judged."""
        self._desk.enter(lifecycle.MEASURE, lifecycle.deadline(lifecycle.MEASURE, self._desk.now))
        self._desk.listen(surely=True)
        words = " ".join(self.job.invocation.words)
        found = self._guardian.look(words, under.events)
        lost = self._desk.state.breaker.state == OPEN and self._desk.state.breaker.cause == "state_lost"
        # With the state the copies have gone. That nothing can be told of the files says nothing against them then.
        protected = Protected() if lost and found.unchecked else found.protected
        self._noted(found.note)
        files = self._tree.after(under.external)
        plan = self._progress.after() if self._progress is not None else None
        tests = self._tests(under, files, plan)
        self._tail = tests.tail if tests is not None else self._tail
        reply = under.reading.reply
        rest = self._desk.record(Measured(files=files, plan=plan, tests=tests, reply=reply, protected=protected), under.n)
        try:
            self._guardian.copy()
        except GuardError as error:
            self._desk.record(Alert("snapshot", "critical", str(error)))
        output.expire(self._desk.store.directory)
        return rest[-1] if rest else None

    def _tests(self, under: Under, files: Files, plan: Plan | None) -> Verification | None:
        """Runs the verify commands where something has changed, or is claimed."""
        if not self.job.settings.verify or self._desk.killed():
            return None
        changed = files.tree != under.tree or bool(plan is not None and plan.completed)
        claims = is_claim(under.reading.reply) or bool(plan is not None and plan.required and not plan.open)
        return self._verified() if claims or (changed and self._desk.state.level > 1) else None

    def _verified(self) -> Verification | None:
        lasts_s = int(self.job.verify_timeout_s * len(self.job.settings.verify)) + lifecycle.VERIFY_GRACE_S
        self._desk.enter(lifecycle.VERIFY, lifecycle.deadline(lifecycle.VERIFY, self._desk.now, lasts_s))
        found = self._verifier.measure()
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


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
