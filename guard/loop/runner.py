"""Runner: does what the machine says. It holds no rules of its own, and the state is the journal's alone."""

from __future__ import annotations

from guard.errors import FAULT, STATE, GuardError
from guard.git import Git
from guard.loop import control, gatekeeper, judge, lifecycle, processes
from guard.loop.command import Call, Command, End, Enter
from guard.loop.desk import BEAT_MS, Desk
from guard.loop.economy import Economy
from guard.loop.events import RunStarted
from guard.loop.iteration import Iterations, Job
from guard.loop.plan import Progress
from guard.loop.protection import Guardian
from guard.loop.tree import Tree


class Runner:
    """One run, from its start until its end."""

    def __init__(self, job: Job, desk: Desk, guardian: Guardian, tree: Tree, economy: Economy | None = None) -> None:
        self.job, self._desk, self._guardian, self._tree = job, desk, guardian, tree
        self._economy = economy
        self._iterations = Iterations(job, desk, guardian, tree, None, economy)

    def run(self, started: RunStarted) -> End:
        """Runs until the end, and records it. Raises GuardError where the state cannot be written."""
        try:
            command = self._begin(started)
            while not isinstance(command, End):
                command = self._follow(command)
        except GuardError as error:
            if error.code != STATE:
                self._end(End("error", error.code, "error"))
            raise
        except BaseException:
            self._end(End("error", FAULT, "fault"))
            raise
        self._end(command)
        return command

    def _begin(self, started: RunStarted) -> Command:
        self._desk.record(started)
        self._desk.beat()
        control.clear(self._desk.store.directory)  # what was asked of an earlier run
        progress = self._progress(started.resumed) if self.job.plan is not None else None
        self._iterations = Iterations(self.job, self._desk, self._guardian, self._tree, progress, self._economy)
        found = self._iterations.baseline()
        return found[-1] if found else self._check()

    def _progress(self, resumed: bool) -> Progress:
        run = self._desk.state.run
        before = run.plan if run is not None and resumed else None
        seen = run.seen_open if run is not None else ()
        found = Progress(self.job.top, self.job.plan or "", self.job.settings.optional_sections, seen, before)
        found.before()
        return found

    def _end(self, end: End) -> None:
        self._desk.closing()
        processes.end(processes.living)
        self._desk.listen(surely=True)
        self._guardian.end()
        if self._economy is not None:
            self._economy.close()
        self._desk.settle()
        head = Git(self.job.top).line("rev-parse", "--verify", "-q", "HEAD")
        self._desk.record(judge.ending(self._desk.state, end, self._desk.now, head))

    def _check(self) -> Command:
        """Goes through CHECK: control first, then whatever the machine says."""
        self._desk.listen(surely=True)
        if self._economy is not None:
            self._economy.look()
        why = gatekeeper.CLOSED if self._desk.closed() else ""
        rest = self._desk.enter(lifecycle.CHECK, lifecycle.deadline(lifecycle.CHECK, self._desk.now), why)
        return rest[-1] if rest else End("error", FAULT, "no_answer")

    def _follow(self, command: Command) -> Command:
        if isinstance(command, Call):
            return self._iterations.one() or self._check()
        if isinstance(command, Enter) and command.state != lifecycle.CHECK:
            return self._wait(command)
        return self._check()

    def _standing(self, enter: Enter) -> tuple[object, ...]:
        """What ends a wait when it changes. At the machine's gate that is the gate alone: what is held stays so behind it."""
        if enter.state == lifecycle.WAIT_GATE:
            return (self._desk.closed(),)
        state = self._desk.state
        return state.breaker, state.hold, state.mode, state.permits

    def _wait(self, enter: Enter) -> Command:
        """Waits until a moment, or until something changes, or until the wait is over by force."""
        before = self._standing(enter)
        self._desk.enter(enter.state, enter.deadline, enter.why)
        self._desk.settle()
        began = self._desk.now
        if enter.state == lifecycle.WAIT_USAGE and self._desk.state.config.on_limit == "ask" and self._desk.declines():
            return End("limit", 2, "usage_limit")
        while True:
            self._desk.beat()
            self._desk.listen()
            now = self._desk.now
            asked = self._desk.state.run.asked if self._desk.state.run else None
            changed = self._standing(enter) != before
            if asked is not None or changed or (enter.until is not None and now >= enter.until) or now < began - BEAT_MS:
                return self._check()
            forced = self._desk.forced()
            if forced is not None:
                return forced
            ends = enter.until if enter.until is not None else enter.deadline
            self._desk.pause(min(self._desk.clock.step_s, max(0.01, (ends - now) / 1000)))
