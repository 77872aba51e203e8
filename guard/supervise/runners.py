"""Runners: the process of a run as its supervisor has it, one of its own or one that an earlier supervisor has left behind."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from guard.errors import BUSY, FAULT, MISSING, STATE, USAGE, GuardError
from guard.loop import lock, processes, store
from guard.loop.signals import ORPHANED
from guard.loop.state import Run, State
from guard.supervise import mark

# The statuses by which a run says how it ended: passed on, never a reason to start it again.
DOCUMENTED = frozenset([0, 1, 2, 3, 4, USAGE, MISSING, FAULT, STATE, BUSY, 129, 130, 143])


class Runner(Protocol):
    """A runner. `fd` becomes readable when it ends, -1 where there is no such thing."""

    pid: int
    fd: int

    def ended(self) -> bool:
        """Is it over?"""
        ...

    def code(self) -> int | None:
        """How it ended: the status of a run that ended by itself, None for one that was cut off."""
        ...

    def why(self) -> str:
        """How it ended, in words."""
        ...


class Own:
    """A runner that was started here."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process, self.pid, self.fd = process, process.pid, _pidfd(process.pid)

    def ended(self) -> bool:
        """Is it over?"""
        over = self._process.poll() is not None
        if over and self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
        return over

    def code(self) -> int | None:
        """Its exit status, where it is one of those that a run ends with."""
        code = self._process.returncode
        return code if code in DOCUMENTED else None

    def why(self) -> str:
        """signal N, or exit N."""
        code = self._process.returncode
        return f"signal {-code}" if code < 0 else f"exit {code}"


class Left:
    """A runner whose supervisor is gone. It ends after its iteration; how, its loop's state says."""

    def __init__(self, directory: str, pid: int, start: str) -> None:
        self._directory, self.pid, self._start, self.fd = directory, pid, start, -1

    def ended(self) -> bool:
        """Is it over?"""
        return not lock.alive(self.pid, self._start)

    def code(self) -> int | None:
        """The status with which its run has ended; None where that goes on, or was cut off."""
        run = _run(self._directory)
        return run.exit if run is not None and run.ended and run.pid == self.pid and not goes_on(run) else None

    def why(self) -> str:
        """What is known of it."""
        return "its supervisor was gone"


def start(argv: Sequence[str], cwd: str, environ: dict[str, str]) -> Own:
    """Starts a runner in a session of its own. It ends after its iteration when this process is gone.

    Raises GuardError where its program is missing, OSError where it cannot be started now.
    """
    try:
        process = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env=environ | {mark.NAME: mark.value()},
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=processes.tied(ORPHANED),
        )
    except (FileNotFoundError, PermissionError, NotADirectoryError) as error:
        todo = "install guard again, or go to a directory that is there"
        raise GuardError(
            f"the runner cannot be started ({error.strerror})", str(error.filename or argv[0]), todo, MISSING
        ) from error
    return Own(process)


def at_work(directory: str) -> Left | None:
    """The runner of a loop whose supervisor is gone; None where nobody is at work.

    Raises GuardError (BUSY) where one is at work that is not ours to take over. One whose lock somebody has removed is at work.
    """
    run = _run(directory)
    owner = lock.owner(directory)
    known = (run.pid, run.pid_start) if run is not None and not run.ended and lock.alive(run.pid, run.pid_start) else None
    pid, begun = known or owner or (0, "")
    if not pid:
        return None
    if mark.attended(pid) is False:  # also one that is not in the state yet, or has just ended its run
        return Left(directory, pid, begun)
    todo = "wait for it, or end it with: guard loop stop"
    raise GuardError(f"process {pid} runs this loop", directory, todo, BUSY)


def goes_on(run: Run | None) -> bool:
    """Is it a run that another runner has to go on with: cut off, or ended only because its supervisor was gone?"""
    if run is None or not run.supervised:
        return False
    return not run.ended or (run.asked is not None and run.asked.why == ORPHANED.name)


def state(directory: str) -> State | None:
    """The loop's state, None where there is none that can be read."""
    try:
        return store.peek(directory)
    except GuardError:
        return None


def _run(directory: str) -> Run | None:
    found = state(directory)
    return found.run if found is not None else None


def kill(runner: Runner, wanted: Callable[[], list[int]], grace_s: float = 0.0) -> tuple[list[int], list[int]]:
    """Kills a runner with everything that it has started. Gives the processes that were there, and those that are there still."""

    def all_of_them() -> list[int]:
        below = [each.pid for each in processes.descendants(runner.pid) if each.state not in "ZX"]
        own = [] if runner.ended() else [runner.pid]
        return sorted({*own, *below, *wanted()} - {os.getpid()})

    before = all_of_them()
    return before, list(processes.end(all_of_them, grace_s, main=runner.pid))


def pass_on(runner: Runner, number: int) -> None:
    """Sends a signal to a runner; one that is stopped gets to see it."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(runner.pid, number)
        if number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            os.kill(runner.pid, signal.SIGCONT)


def _pidfd(pid: int) -> int:
    try:
        return os.pidfd_open(pid)
    except (OSError, AttributeError):
        return -1
