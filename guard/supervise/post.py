"""Post: what a supervisor has at hand wherever it is: what it is charged with, what it was asked for, and whom it tells."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from guard.errors import GuardError
from guard.loop import heartbeat, processes
from guard.loop.clock import Clock
from guard.loop.events import Alert, Body
from guard.loop.heartbeat import Beat
from guard.loop.signals import DRAINING, ORPHANED, Signals
from guard.loop.store import Hear, Store
from guard.supervise import notify, runners
from guard.supervise.notebook import Notebook
from guard.supervise.notify import Notify
from guard.supervise.pace import DELAY_S, MOST
from guard.supervise.runners import Own, Runner


@dataclass(frozen=True)
class Charge:
    """What is supervised. `start` starts a runner; its argument says whether it goes on with the last run.

    `top`: the tree. `state`: guard's state directory; `directory`: the loop's in there. `attended`: somebody sits at the
    terminal, so that the first Ctrl-C is a gentle one.
    """

    top: str
    state: str
    directory: str
    start: Callable[[bool], Own]
    delay_s: float = DELAY_S
    most: int = MOST
    attended: bool = False


class Post:
    """One supervisor's. `asked` is the signal that ended it, `asked_at` when that came."""

    def __init__(self, charge: Charge, clock: Clock, signals: Signals, told: Notify, say: Callable[[str], None]) -> None:
        self.charge, self.clock, self.signals, self.notify, self.say = charge, clock, signals, told, say
        self.notebook = Notebook(charge.directory)
        self.asked: signal.Signals | None = None
        self.asked_at = 0.0
        self.beat: Beat | None = None  # the last one of a runner that is, or was, looked after here
        self.hear: Hear | None = None  # of what is written to the loop's journal here
        self._gentle = self._ready = False
        self._before = {each.pid for each in processes.descendants()}  # what this process has from another life

    def spare(self, pid: int) -> None:
        """Notes a process that is none of a runner's, though it is below this one."""
        self._before.add(pid)

    def heed(self, runner: Runner | None) -> None:
        """Passes the signals that have come on to the runner."""
        for name in self.signals.take():
            number = signal.Signals[name]
            interrupted = number == signal.SIGINT and self.charge.attended and not self._gentle
            if runner is not None and (interrupted or number in (ORPHANED, DRAINING)):
                self._gentle = True
                self.say("the run ends after this iteration" + ("; press Ctrl-C again to end it at once" if interrupted else ""))
                runners.pass_on(runner, DRAINING)
                continue
            if self.asked is None:
                self.asked, self.asked_at = number, self.clock.elapsed()
                self.notify.send(notify.STOPPING)
            if runner is not None:
                runners.pass_on(runner, number)

    def ready(self, beat: Beat | None) -> None:
        """Tells the service manager that all is well. Nobody but the supervisor's own pass does, and none for a late runner."""
        if beat is not None and not self._ready:
            self._ready = self.notify.send(notify.READY)
        self.notify.send(notify.ALIVE)
        self.notify.status(f"the runner is in {beat.state}" if beat is not None else "the runner starts")

    def ours(self) -> list[int]:
        """What runners have started: what is below this process, and whatever bears the marks of the run's calls."""
        found = runners.state(self.charge.directory)
        marked: list[int] = []
        if found is not None and found.run is not None:
            marked = processes.marked({os.fsencode(f"GUARD_LOOP={found.loop}"), os.fsencode(f"GUARD_RUN={found.run.id}")})
        return sorted({*processes.living(), *marked} - self._before)

    def sleep(self, seconds: float, fd: int = -1) -> None:
        """Waits, but not through a signal or the end of the runner whose descriptor this is."""
        wanted = [each for each in (self.signals.wake, fd) if each >= 0]
        with suppress(OSError):
            if self.signals.wake in select.select(wanted, [], [], max(0.0, seconds))[0]:
                os.read(self.signals.wake, 512)

    def heard(self) -> int:
        """When the last runner was last heard of, UTC milliseconds; now where none ever was."""
        now, last = self.clock.now(), heartbeat.read(self.charge.directory)
        return max((beat.at for beat in (last, self.beat) if beat is not None and beat.at <= now), default=now)

    def run_id(self) -> str:
        """The run that is under way, or was the last."""
        found = runners.state(self.charge.directory)
        return found.run.id if found is not None and found.run is not None else ""

    def note(self, body: Body) -> None:
        """Adds to the supervisor's journal."""
        self.notebook.add(body, self.clock.now(), self.run_id())
        if self.notebook.failed:
            self.say(f"the supervisor's journal cannot be written: {self.notebook.failed}")

    def alert(self, alert: Alert) -> None:
        """Has the loop's journal tell of it, too: without a runner nobody else writes there."""
        self.note(alert)
        charge, now = self.charge, self.clock.now()
        try:
            with Store.open(charge.state, charge.top, now, self.clock.kind, hear=self.hear) as kept:
                kept.record(alert, now, kept.state.run.id if kept.state.run else "")
        except (GuardError, OSError) as error:
            self.say(f"the loop's journal does not have it: {error}")
