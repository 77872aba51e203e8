"""Supervisor: has a loop's runner at work until its run is over: starts it, and starts it again when it has died or hung."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from guard.errors import BUSY, FAULT, GuardError
from guard.loop import heartbeat, lock, processes
from guard.loop.events import Alert
from guard.loop.heartbeat import Beat
from guard.loop.lock import Lock
from guard.supervise import care, notify, runners
from guard.supervise.notebook import FOLDER, Down, Restarted
from guard.supervise.pace import Pace
from guard.supervise.post import Post
from guard.supervise.runners import Runner
from guard.supervise.watch import Overdue

START_S = 0.5  # that a start takes: it begins so much earlier, so that the runner is there when the delay is over
LEFT_S = 1.0  # between asking what a dead runner has left behind to end, and ending it
HANG, RESTART, GAVE_UP = "hang", "restart", "gave_up"  # the kinds of alerts


class Supervisor:
    """One supervisor, from its start until its end."""

    def __init__(self, post: Post) -> None:
        self._post, self._charge = post, post.charge
        self._folder = f"{post.charge.directory}/{FOLDER}"
        self._lock = Lock(self._folder)
        self._pace = Pace(post.charge.delay_s, post.charge.most, post.notebook.restarts)
        self._old: Beat | None = None
        self._lost: float | None = None  # since when a runner is missing that should be there

    def run(self) -> int:
        """Supervises until the run is over; gives the exit status.

        Raises GuardError: BUSY where somebody else supervises or runs the loop, MISSING where no runner can be started.
        """
        self._take()
        processes.adopt()
        try:
            return self._supervise(self._first())
        finally:
            self._post.notify.send(notify.STOPPING)
            self._lock.release()

    def _take(self) -> None:
        with suppress(OSError):  # the lock says what is wrong
            os.makedirs(self._folder, 0o700, exist_ok=True)
        try:
            self._lock.take()
        except GuardError as error:
            if error.code != BUSY:
                raise
            found = lock.owner(self._folder)
            who = f"process {found[0]}" if found and found[0] else "another process"
            raise GuardError(f"{who} supervises this loop", self._folder, "end that one first", BUSY) from None

    def _first(self) -> Runner | None:
        """The runner that an earlier supervisor has left behind; None where one has to be started."""
        post, directory = self._post, self._charge.directory
        left = runners.at_work(directory)
        if left is not None:
            post.say(f"process {left.pid} runs this loop, and its supervisor is gone: it is looked after until it ends")
            return left
        found = runners.state(directory)
        if found is not None and found.run is not None and runners.goes_on(found.run):
            post.say(f"the run {found.run.id} was cut off; it goes on")
            post.note(Down(post.heard(), "found dead"))
            self._lost = post.clock.elapsed()
        return None

    def _supervise(self, runner: Runner | None) -> int:
        post = self._post
        while True:
            begun = post.clock.elapsed()
            runner = runner or self._start()
            hung = care.follow(post, runner, self._old, self._keep) if runner is not None else None
            lived_s, ended = post.clock.elapsed() - begun, time.monotonic()
            self._lost = post.clock.elapsed()
            left = processes.end(post.ours, LEFT_S)
            if left:
                post.say(f"processes could not be ended: {', '.join(map(str, left))}")
            code = runner.code() if runner is not None and hung is None else None
            if code is not None and not (code == BUSY and self._is_free()):
                return code
            if post.asked is not None:
                return 128 + post.asked
            self._tell(runner, hung)
            delay_s = self._pace.after(lived_s, post.clock.now())
            if delay_s is None:
                return self._gave_up()
            if not self._waited(ended + delay_s - START_S, delay_s):
                return 128 + (post.asked or 0)
            runner = None

    def _is_free(self) -> bool:
        """Does nobody run the loop? Then somebody had it for a moment only, to ask for something."""
        try:
            return runners.at_work(self._charge.directory) is None
        except GuardError:
            return False

    def _start(self) -> Runner | None:
        """Starts a runner; None where that cannot be done now. Raises GuardError where it never can."""
        post, directory = self._post, self._charge.directory
        found = runners.state(directory)
        self._old = heartbeat.read(directory)
        with suppress(OSError):
            os.unlink(f"{directory}/{heartbeat.NAME}")
        try:
            runner = self._charge.start(runners.goes_on(found.run if found is not None else None))
        except OSError as error:
            post.say(f"the runner cannot be started: {error.strerror or error}")
            return None
        if self._lost is not None:
            self._pace.restarted(post.clock.now())
            post.note(Restarted(round(max(0.0, post.clock.elapsed() - self._lost), 3), runner.pid))
            post.say(f"the runner is started again (process {runner.pid})")
        return runner

    def _tell(self, runner: Runner | None, hung: Overdue | None) -> None:
        """Notes that the runner is down, and tells people."""
        post = self._post
        why = HANG if hung is not None else runner.why() if runner is not None else "no start"
        post.note(Down(hung.beat if hung is not None and hung.beat else post.heard(), why))
        if hung is not None:
            late = f"{hung.overdue_s:.0f} s late in {hung.state}"
            post.alert(Alert(HANG, "critical", f"the runner hung ({late}); it was killed with all that it had started"))
        else:
            post.alert(Alert(RESTART, "warning", f"the runner died ({why})"))

    def _waited(self, until: float, delay_s: float) -> bool:
        """Waits before the next start. False where somebody wants the end."""
        post = self._post
        post.say(f"the runner is started again within {delay_s:g} s")
        while (left := until - time.monotonic()) > 0:
            post.notify.send(notify.ALIVE)
            post.notify.status("the runner is started again soon")
            self._keep()
            post.sleep(min(care.LOOK_S, left))
            post.heed(None)
            if post.asked is not None:
                return False
        return True

    def _gave_up(self) -> int:
        text = f"the runner was started again {self._charge.most} times within an hour; that is enough"
        self._post.say(text)
        self._post.alert(Alert(GAVE_UP, "critical", text))
        return FAULT

    def _keep(self) -> None:
        """Puts the lock back where somebody has removed it."""
        with suppress(GuardError):
            self._lock.again()
