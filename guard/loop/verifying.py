"""Verifying: the --verify commands, run in the tree, and what they say against what they said the last time."""

from __future__ import annotations

import os
import secrets
import selectors
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from guard.loop import processes
from guard.loop.facts import Verification
from guard.loop.similarity import same_error
from guard.loop.test_output import FAILED, PASSED, Counts, Results
from guard.loop.verify_output import FINGERPRINTS, Output

TIMEOUT_S = 600.0
GRACE_S = 5.0  # between asking the processes of a command to end and ending them
LEFT_S = 1.0  # the same for what a command leaves behind
MARK = "GUARD_VERIFY"  # in the environment of all of them, so that they are found
DRAIN_S = 1.0  # for output of processes that outlive their command
BEAT_S = 0.5  # at most, between two calls of `beat`
_NOT_RUN = (126, 127)  # the shell's statuses for what cannot be started


@dataclass(frozen=True)
class Run:
    """One command's run. `exit` is None where it took too long."""

    command: str
    exit: int | None
    counts: Counts
    names: Mapping[str, str]
    errors: tuple[str, ...]  # fingerprints
    tail: tuple[str, ...]

    @property
    def ran(self) -> bool:
        """It ran to its end, so that what it does not report any more is gone."""
        return self.exit is not None and self.exit not in _NOT_RUN


@dataclass(frozen=True)
class Place:
    """Where commands run, for how long, and whom to tell meanwhile."""

    top: str
    environ: Mapping[str, str]
    timeout_s: float
    beat: Callable[[], None]
    others: Callable[[], list[int]]


class Verifier:
    """The verify commands of a run; the first measurement is the base of the next."""

    def __init__(
        self,
        commands: Sequence[str],
        top: str,
        environ: Mapping[str, str],
        timeout_s: float = TIMEOUT_S,
        beat: Callable[[], None] = lambda: None,
        others: Callable[[], list[int]] = list,
    ) -> None:
        """`others` gives processes that can only be a command's, though they have lost its mark."""
        self._commands = tuple(commands)
        self._place = Place(top, dict(environ), timeout_s, beat, others)
        self._last: dict[int, Run] = {}

    def measure(self) -> Verification:
        """Runs all commands, each through `sh -c`, and compares with the last measurement."""
        started = time.monotonic()
        runs = {at: run(command, self._place) for at, command in enumerate(self._commands)}
        bad = [one for one in runs.values() if one.exit != 0]
        pairs = [(self._last[at], one) for at, one in runs.items() if at in self._last]
        found = Verification(
            ok=not bad,
            passed=sum(one.counts.passed for one in runs.values()),
            failed=sum(one.counts.failed for one in runs.values()),
            skipped=sum(one.counts.skipped for one in runs.values()),
            newly_passing=sum(newly_passing(old, new) for old, new in pairs),
            resolved=sum(resolved(old, new) for old, new in pairs),
            duration_s=round(time.monotonic() - started, 3),
            tail=bad[0].tail if bad else (),
        )
        self._last |= {at: one for at, one in runs.items() if one.ran}
        return found


def newly_passing(old: Run, new: Run) -> int:
    """How many tests failed in the old run and pass in the new one.

    A failure that is not named any more may be a test that was taken away: it counts only as far as more tests pass.
    """
    if not new.ran:
        return 0
    failed = [name for name, state in old.names.items() if state == FAILED]
    passing = sum(new.names.get(name) == PASSED for name in failed)
    vanished = sum(name not in new.names for name in failed)
    return passing + min(vanished, max(0, new.counts.passed - old.counts.passed - passing))


def resolved(old: Run, new: Run) -> int:
    """How many errors of the old run's output are gone. Where there are too many to remember, nobody can tell."""
    if not new.ran or len(new.errors) >= FINGERPRINTS:
        return 0
    there = set(new.errors)
    gone = [error for error in old.errors if error not in there]
    return sum(not any(same_error(error, other) for other in new.errors) for error in gone)


def run(command: str, place: Place) -> Run:
    """Runs one command. Output of unknown form counts as one test; a command that cannot be started has failed."""
    output, mark, started = Output(), secrets.token_hex(8), time.time_ns()
    output.reports.look(command)
    try:
        process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            cwd=place.top,
            env={**place.environ, MARK: mark},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        output.tail.append(str(error))
        return _finished(command, 127, output, Results())
    with process:
        status = _Command(process, f"{MARK}={mark}", place).followed(output)
    output.end()
    if status is None:
        output.tail.append(f"it took longer than {place.timeout_s:g} s")
    return _finished(command, status, output, output.reports.read(place.top, started))


def _finished(command: str, status: int | None, output: Output, reports: Results) -> Run:
    """The run with its tests: those of the files that it has written, where they tell of more. A failure that no test
    explains is one of the command itself."""
    counts, names = output.results.counts(), output.results.names()
    if reports.counts().total >= max(1, counts.total):
        counts, names = reports.counts(), reports.names()
    if not counts.total:
        counts = Counts(int(status == 0), int(status != 0))
    elif status != 0 and not counts.failed:
        counts = counts.plus(Counts(failed=1))
    else:
        return Run(command, status, counts, names | ({command: PASSED} if status == 0 else {}), *_said(output))
    return Run(command, status, counts, names | {command: PASSED if status == 0 else FAILED}, *_said(output))


def _said(output: Output) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(output.errors), tuple(output.tail)


@dataclass
class _Command:
    """A command that runs, with all processes that it has started."""

    process: subprocess.Popen[bytes]
    mark: str
    place: Place

    def followed(self, output: Output) -> int | None:
        """Reads until the command and its output end. None where that takes too long. Then none of its processes is left."""
        deadline = time.monotonic() + self.place.timeout_s
        status = self._read_all(output, deadline)
        self._end(GRACE_S if status is None else LEFT_S)
        self.process.wait()
        return status

    def _read_all(self, output: Output, deadline: float) -> int | None:
        assert self.process.stdout is not None
        stream = self.process.stdout.fileno()
        os.set_blocking(stream, False)
        ended: float | None = None
        with selectors.DefaultSelector() as selector:
            selector.register(stream, selectors.EVENT_READ)
            while True:
                self.place.beat()
                now = time.monotonic()
                if ended is None and self.process.poll() is not None:
                    ended = now
                if now >= deadline and ended is None:
                    return None
                if ended is not None and now >= ended + DRAIN_S:
                    return self.process.returncode
                if not _read(selector, stream, output, 0.02 if ended is None else 0.1):
                    return self._waited(deadline)

    def _waited(self, deadline: float) -> int | None:
        """The status of a command that has closed its output."""
        while self.process.poll() is None:
            if time.monotonic() >= deadline:
                return None
            self.place.beat()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(BEAT_S)
        return self.process.returncode

    def _end(self, grace_s: float) -> None:
        """Ends what is left: also what has gone into a session of its own."""
        processes.end(self._left, grace_s, self.place.beat, main=self.process.pid)

    def _left(self) -> list[int]:
        """The living processes of the command: those below it, those that bear its mark, and those that can be nobody else's."""
        top = [self.process.pid] if self.process.poll() is None else []
        below = [one.pid for one in processes.descendants(self.process.pid) if one.state not in "ZX"]
        marked = processes.marked({os.fsencode(self.mark)})
        return sorted({*top, *below, *marked, *self.place.others()})


def _read(selector: selectors.BaseSelector, stream: int, output: Output, patience_s: float) -> bool:
    """Reads what is there. False at the end of the output."""
    if not selector.select(max(patience_s, BEAT_S / 5)):
        return True
    try:
        data = os.read(stream, 1 << 16)
    except BlockingIOError:
        return True
    output.feed(data)
    return bool(data)
