"""Desk: what a run has at hand wherever it is: its state, the time, and what comes from outside meanwhile."""

from __future__ import annotations

import os
import select
from collections import Counter

from guard.loop import asking, authority, control, gate, gatekeeper, heartbeat, lifecycle, orders
from guard.loop.clock import Clock
from guard.loop.command import Command, Write
from guard.loop.events import Alert, Asked, Body, ControlRefused, Entered
from guard.loop.heartbeat import Beat
from guard.loop.signals import DRAINING, ORPHANED, Signals
from guard.loop.state import State
from guard.loop.store import Store
from guard.loop.view import View

BEAT_MS = 1000  # between two heartbeats of one state
END_S = 60  # for a run to end
KILL, DRAIN, STOP = "kill", "drain", "stop"
USER = "user"


class Desk:
    """One run's. `interactive`: somebody sits at the terminal, so that the first Ctrl-C is a gentle one."""

    def __init__(self, store: Store, clock: Clock, view: View, signals: Signals, run: str, interactive: bool) -> None:
        self.store, self.clock, self.view, self.signals = store, clock, view, signals
        self.run, self._interactive = run, interactive
        self._beaten: tuple[int, str] = (0, "")
        self._listened = -BEAT_MS
        self._interrupted = False  # the call under way is to end, the run is not
        self._machine = os.path.dirname(os.path.dirname(store.directory))
        self._gate = gate.Watch(self._machine, store.state.gate != gate.RUNNING)
        self._damage = ""

    @property
    def state(self) -> State:
        """The loop's state."""
        return self.store.state

    @property
    def now(self) -> int:
        """The time, UTC milliseconds."""
        return self.clock.now()

    def record(self, body: Body, n: int | None = None) -> list[Command]:
        """Writes an event with its conclusions; gives what is left to do."""
        rest = self.store.record(body, self.clock.now(), self.run, n)
        self.view.follow()
        return rest

    def enter(self, state: str, deadline: int, why: str = "") -> list[Command]:
        """Goes into a state, which has to be over at a moment; gives what is left to do."""
        self._interrupted &= state == lifecycle.EXECUTE
        rest = self.record(Entered(state, deadline, why))
        self.beat()
        return rest

    def forced(self) -> Command | None:
        """What passing the deadline of the present state forces; None while it has not passed."""
        found: Command | None = None
        for command in gatekeeper.forced(self.state, self.clock.now()):
            if isinstance(command, Write):
                self.record(command.body)
            else:
                found = command
        return found

    def beat(self) -> None:
        """Says that the main flow is alive: at each change of state, else once a second."""
        now, state = self.clock.now(), self.state.lifecycle
        if state != self._beaten[1] or not 0 <= now - self._beaten[0] < BEAT_MS:
            self._beaten = (now, state)
            heartbeat.write(self.store.directory, Beat(now, state, self.state.deadline))
            if state == lifecycle.EXECUTE:
                self.store.pulse(now)

    def closing(self) -> None:
        """Says that the run ends now, and when it has to be over."""
        heartbeat.write(self.store.directory, Beat(self.clock.now(), lifecycle.END, self.clock.now() + END_S * 1000))

    def killed(self) -> bool:
        """Is what runs to end at once? Looks at what has come meanwhile."""
        self.listen()
        asked = self.state.run.asked if self.state.run else None
        if asked is not None and asked.verb == KILL:
            return True
        cut = self._interrupted or (self.closed() and self._gate.gate.now)
        return cut and self.state.lifecycle == lifecycle.EXECUTE

    def closed(self) -> bool:
        """Is the machine's gate closed? One that cannot be read is, which is told once."""
        found = self._gate.look()
        if found.damaged and found.damaged != self._damage:
            self.record(Alert("gate", "critical", f"the machine's gate counts as closed: {found.damaged}"))
        self._damage = found.damaged
        return found.closed(self.now)

    def settle(self) -> None:
        """Notes that this loop is not at work any more, where the gate waits for that."""
        gate.settle(self._machine, self.store.directory, self.now)

    def listen(self, surely: bool = False) -> None:
        """Takes in signals, and requests: twice a second, or `surely`."""
        for name in self.signals.take():
            asked = self.state.run.asked if self.state.run else None
            gentle = name == "SIGINT" and self._interactive and asked is None
            drains = gentle or name in (ORPHANED.name, DRAINING.name)
            self.record(Asked(DRAIN if drains else KILL, USER, name))
            if gentle:
                self.view.say("guard: the run ends after this iteration; press Ctrl-C again to end it at once")
        now = int(self.clock.elapsed() * 1000)
        if surely or now - self._listened >= BEAT_MS // 2:
            self._listened = now
            self._take()

    def _take(self) -> None:
        """Obeys the requests that wait. What is refused, or is none, is told once for all that are alike."""
        refused: Counter[ControlRefused] = Counter()
        strange: list[str] = []
        for taken in control.waiting(self.store.directory):
            if taken.request is None:
                strange.append(taken.error)
                control.done(self.store.directory, taken)
                continue
            order = orders.of(self.state, taken.request, self._asker(taken), self.now)
            for body in order.bodies:
                if isinstance(body, ControlRefused):
                    refused[body] += 1
                else:
                    self.record(body)
            self._interrupted |= order.interrupts and self.state.lifecycle == lifecycle.EXECUTE
            control.done(self.store.directory, taken, order.answer)
        for body, count in refused.items():
            self.record(ControlRefused(body.verb, body.actor, body.why, count))
        if strange:
            self.record(Alert("control", "warning", f"{len(strange)} requests have no known form: {strange[0]}"))

    def _asker(self, taken: control.Taken) -> authority.Asker:
        """Who holds a request, as the kernel and the process itself tell; whatever is in the file counts for nothing."""
        if not taken.sender:
            return authority.NOBODY
        found = authority.of(taken.sender, self.state.loop, os.getpid())
        return found if control.holds(self.store.directory, taken) else authority.NOBODY

    def pause(self, seconds: float) -> None:
        """Sleeps, but not through a signal."""
        if self.clock.kind != "real":
            self.clock.sleep(seconds)
            return
        if select.select([self.signals.wake], [], [], seconds)[0]:
            os.read(self.signals.wake, 512)

    def declines(self) -> bool:
        """Does whoever sits at the terminal say that the client's limit is not to be waited for?"""
        return asking.declines(self.signals.wake)
