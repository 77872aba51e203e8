"""Desk: what a run has at hand wherever it is: its state, the time, and what comes from outside meanwhile."""

from __future__ import annotations

import os
import select

from guard.loop import asking, control, gatekeeper, heartbeat, lifecycle
from guard.loop.clock import Clock
from guard.loop.command import Command, Write
from guard.loop.events import Alert, Asked, Body, ControlRefused, Entered
from guard.loop.heartbeat import Beat
from guard.loop.signals import Signals
from guard.loop.state import State
from guard.loop.store import Store
from guard.loop.view import View

BEAT_MS = 1000  # between two heartbeats of one state
KILL, DRAIN, STOP = "kill", "drain", "stop"
USER = "user"
_WAITS = tuple(name for name, phase in lifecycle.TABLE.items() if phase.waits)


class Desk:
    """One run's. `interactive`: somebody sits at the terminal, so that the first Ctrl-C is a gentle one."""

    def __init__(self, store: Store, clock: Clock, view: View, signals: Signals, run: str, interactive: bool) -> None:
        self.store, self.clock, self.view, self.signals = store, clock, view, signals
        self.run, self._interactive = run, interactive
        self._beaten: tuple[int, str] = (0, "")
        self._listened = -BEAT_MS

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

    def killed(self) -> bool:
        """Is the run to end at once? Looks at what has come meanwhile."""
        self.listen()
        asked = self.state.run.asked if self.state.run else None
        return asked is not None and asked.verb == KILL

    def listen(self, surely: bool = False) -> None:
        """Takes in signals, and requests: twice a second, or `surely`."""
        for name in self.signals.take():
            asked = self.state.run.asked if self.state.run else None
            gentle = name == "SIGINT" and self._interactive and asked is None
            self.record(Asked(DRAIN if gentle else KILL, USER, name))
            if gentle:
                self.view.say("guard: the run ends after this iteration; press Ctrl-C again to end it at once")
        now = int(self.clock.elapsed() * 1000)
        if surely or now - self._listened >= BEAT_MS // 2:
            self._listened = now
            for taken in control.waiting(self.store.directory):
                self._obey(taken)
                control.done(taken)

    def _obey(self, taken: control.Taken) -> None:
        request = taken.request
        if request is None:
            self.record(Alert("control", "warning", f"a request has no known form: {taken.error}"))
        elif request.verb == control.REFUSED:
            self.record(ControlRefused(request.reason, request.actor, "only a person may"))
        elif request.run and request.run != self.run:
            return
        elif request.verb == control.STOP:
            self.record(Asked(KILL if request.now else STOP, request.actor, request.reason))
        elif self.state.lifecycle in _WAITS:
            for body in control.reset(self.state, request.closed, request.actor, request.reason):
                self.record(body)
        else:  # while a call runs, what lies there may be the agent's
            self.record(ControlRefused(request.verb, request.actor, "not while an iteration runs"))

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
