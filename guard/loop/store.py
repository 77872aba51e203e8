"""A loop on the disk: its lock, journal, checkpoint and derived files behind one door.

    with Store.open(state_dir, root, t) as store:
        for command in store.record(body, t, run): ...

`record` writes the event, steps, writes every conclusion that follows, and gives what is left to do.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from guard.errors import USAGE, GuardError
from guard.loop import breaker as circuit
from guard.loop import checkpoint, journal, machine, recovery
from guard.loop.checkpoint import Checkpoint
from guard.loop.command import Command, Write
from guard.loop.events import Alert, Body, BreakerChanged, Event, Recovered
from guard.loop.files import Derived
from guard.loop.identity import place
from guard.loop.journal import Journal
from guard.loop.lock import Lock
from guard.loop.names import STATUS
from guard.loop.record import replace
from guard.loop.state import State

REAL, TEST = "real", "test"
POINTS = ("measured", "run_started", "run_ended", "breaker", "hold")  # events after which a checkpoint is written
PEEKS = 3  # times that a state is read before an error counts
Step = tuple[State, Event, State]
Hear = Callable[[Event, str, str], None]


def peek(directory: str) -> State | None:
    """The state of a loop without its lock, for those who only look; None where it has never run. Raises GuardError."""
    for attempt in range(PEEKS):
        if not os.path.isdir(directory) or not journal.files(directory):
            return None
        try:
            return recovery.load(directory, os.path.basename(directory)).state
        except GuardError:
            if attempt == PEEKS - 1:  # not only because its writer began a new file just now
                raise
    return None


class Store:
    """The one writer of a loop. Made by `open`."""

    def __init__(self, directory: str, root: str, clock: str, secrets: tuple[str, ...]) -> None:
        self.directory = directory
        self.hear: Hear = lambda event, loop, root: None
        self.state = State(os.path.basename(directory), clock=clock)
        self._lock = Lock(directory)
        self._journal = Journal(directory, clock, secrets)
        self._files = Derived(directory, os.path.realpath(root))

    @classmethod
    def open(
        cls,
        state_dir: str | None,
        root: str,
        t: int,
        clock: str = REAL,
        secrets: tuple[str, ...] = (),
        hear: Hear | None = None,
    ) -> Store:
        """Takes the loop's lock and brings its state back. `secrets` are texts that must not be written anywhere.

        `hear` is called with every event that has been written, the loop's id and its tree.

        Raises GuardError: BUSY where another process has it, STATE where it cannot be read or written, USAGE where its time
        comes from elsewhere (`clock`).
        """
        directory = place(state_dir, root)
        store = cls(directory, root, clock, secrets)
        store.hear = hear or store.hear
        try:
            os.makedirs(directory, 0o700, exist_ok=True)
        except OSError as error:
            raise journal.unwritable(error, directory) from error
        store._lock.take()
        try:
            store._recover(t, os.path.realpath(root))
        except BaseException:
            store.close()
            raise
        return store

    def record(self, body: Body, t: int, run: str = "", n: int | None = None) -> list[Command]:
        """Writes an event and all conclusions from it, and gives what is left to do. Raises GuardError; then nothing changed."""
        if not self._journal.intact():
            self._put_back(t)
        rest = self._write(body, t, run, n)
        if body.name in POINTS:
            self.save(t)
        self._files.show(self.state)
        return rest

    def save(self, t: int) -> None:
        """Writes a checkpoint, and begins a new file of the journal when one is full. A checkpoint that fails stops nothing."""
        if self._journal.full:
            self._begin(t)
            self._journal.expire(t)
        try:
            point = Checkpoint(self.state, self._journal.place, dict(self._files.sizes), self._files.lists)
            checkpoint.write(self.directory, point, t)
        except OSError as error:
            self._files.failed = str(error)

    @property
    def failed(self) -> str:
        """Why derived files could not be written, "" where all is well."""
        return self._files.failed

    def pulse(self, t: int) -> None:
        """Writes how far the call under way is into the files that others look at."""
        self._files.pulse(self.state, t)

    def close(self) -> None:
        """Gives the loop back."""
        self._journal.close()
        self._lock.release()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _write(self, body: Body, t: int, run: str, n: int | None) -> list[Command]:
        """Writes an event with its conclusions, flushed once. Raises GuardError; then nothing has changed."""
        place, before = self._journal.place, self.state
        steps: list[Step] = []
        try:
            rest = self._stepped(body, t, run, n, steps)
            self._journal.flush()
        except BaseException:
            self._journal.cut(place)
            self.state = before
            raise
        for step in steps:
            self._files.follow(*step)
            self.hear(step[1], self.state.loop, self.state.root)
        return rest

    def _stepped(self, body: Body, t: int, run: str, n: int | None, steps: list[Step]) -> list[Command]:
        event = self._journal.append(body, t, run, n)
        before = self.state
        self.state, commands = machine.step(before, event)
        steps.append((before, event, self.state))
        rest: list[Command] = []
        for command in commands:
            rest += self._stepped(command.body, t, run, n, steps) if isinstance(command, Write) else [command]
        return rest

    def _begin(self, t: int) -> Event:
        event = self._journal.begin(self.state, t)
        self.state = machine.step(self.state, event)[0]
        return event

    def _recover(self, t: int, root: str) -> None:
        found = recovery.load(self.directory, self.state.loop)
        _check_clock(found.state, self.state.clock, found.source, self.directory)
        self.state = replace(found.state, root=root, clock=self.state.clock) if not found.state.seq else found.state
        if found.place is not None:
            self._journal.open(found.place)
        else:
            self._begin(t)
        self._derive(found)
        if found.state_lost:
            self._lose(t, "the journal is gone")
        if found.alerts or found.lost:
            for alert in found.alerts:
                self._write(alert, t, "", None)
            self._write(Recovered(found.source, found.lost, journal.NAME), t, "", None)
        for command in machine.unwritten(self.state):
            if isinstance(command, Write):
                self._write(command.body, t, self.state.run.id if self.state.run else "", None)
        self.save(t)
        self._files.show(self.state)

    def _derive(self, found: recovery.Loaded) -> None:
        """Brings the derived files to where the journal is."""
        whole = os.path.lexists(f"{self.directory}/{STATUS}") or found.source == recovery.NOTHING
        if found.sizes is not None and whole and self._files.restore(found.sizes, found.lists):
            for before, line, after in found.tail:
                self._files.follow(before, line.event, after)
            return
        try:
            self._files.rebuild()
        except OSError as error:
            self._files.failed = str(error)

    def _put_back(self, t: int) -> None:
        """The journal vanished or was replaced: it is written again from memory, and the loop stops."""
        data = self._journal.content()
        try:
            os.makedirs(self.directory, 0o700, exist_ok=True)
        except OSError as error:
            raise journal.unwritable(error, self.directory) from error
        self._lock.again()
        if data is not None:
            self._journal.put_back(data)
        else:
            self._begin(t)
        self._lose(t, "the journal vanished or was replaced while the loop ran")
        try:
            self._files.rebuild()
        except OSError as error:
            self._files.failed = str(error)
        self.save(t)

    def _lose(self, t: int, why: str) -> None:
        run = self.state.run.id if self.state.run else ""
        lost = circuit.lost(self.state.breaker, self.state.config.cooldown_s, t)
        body: BreakerChanged = circuit.changed(self.state.breaker, lost, reason=why)
        self._write(body, t, run, None)
        self._write(Alert("state_lost", "critical", why), t, run, None)


def _check_clock(state: State, clock: str, source: str, directory: str) -> None:
    """Raises GuardError where the loop's time comes from elsewhere."""
    if source == recovery.NOTHING or state.clock == clock:
        return
    what = (
        "its time comes from a file, for tests"
        if state.clock == TEST
        else "it is a real loop, and time must not come from a file"
    )
    raise GuardError(what, directory, "use another state directory (GUARD_STATE_DIR)", USAGE)
