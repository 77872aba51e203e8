"""Verifying: the --verify commands, run in the tree, and what they say against what they said the last time."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from guard.loop.error_lines import error_lines
from guard.loop.facts import TAIL, Verification
from guard.loop.similarity import fingerprint, same_error
from guard.loop.test_output import FAILED, PASSED, Counts, Results

TIMEOUT_S = 600.0
GRACE_S = 5.0  # between asking the processes of a command to end and ending them
DRAIN_S = 1.0  # for output of processes that outlive their command
BEAT_S = 0.5  # at most, between two calls of `beat`
FINGERPRINTS = 500  # errors that are remembered of a command
_LINE = 1 << 16  # bytes of a line that are read; the rest of it is passed over
_SHOWN = 1000  # characters of a line that are kept
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


class Verifier:
    """The verify commands of a run; the first measurement is the base of the next."""

    def __init__(
        self,
        commands: Sequence[str],
        top: str,
        environ: Mapping[str, str],
        timeout_s: float = TIMEOUT_S,
        beat: Callable[[], None] = lambda: None,
    ) -> None:
        self._commands, self._top, self._environ = tuple(commands), top, dict(environ)
        self._timeout_s, self._beat = timeout_s, beat
        self._last: dict[int, Run] = {}

    def measure(self) -> Verification:
        """Runs all commands, each through `sh -c`, and compares with the last measurement."""
        started = time.monotonic()
        runs = {
            at: run(command, self._top, self._environ, self._timeout_s, self._beat) for at, command in enumerate(self._commands)
        }
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
    """How many errors of the old run's output are gone."""
    if not new.ran:
        return 0
    there = set(new.errors)
    gone = [error for error in old.errors if error not in there]
    return sum(not any(same_error(error, other) for other in new.errors) for error in gone)


@dataclass
class _Output:
    """What a command writes, read line by line."""

    results: Results = field(default_factory=Results)
    errors: dict[str, None] = field(default_factory=dict)
    tail: deque[str] = field(default_factory=lambda: deque(maxlen=TAIL))
    rest: bytes = b""
    long: bool = False  # the rest of a line that is too long is passed over

    def feed(self, data: bytes) -> None:
        """Reads the next piece."""
        *lines, rest = data.split(b"\n")
        for line in lines:
            if not self.long:
                self._line(self.rest + line)
            self.rest, self.long = b"", False
        if not self.long:
            self.rest += rest
        if len(self.rest) > _LINE:
            self._line(self.rest)
            self.rest, self.long = b"", True

    def end(self) -> None:
        """Reads what no line feed ended."""
        if self.rest:
            self._line(self.rest)

    def _line(self, raw: bytes) -> None:
        line = raw[:_LINE].decode("utf-8", "replace").rstrip("\r")
        self.results.line(line)
        if line.strip():
            self.tail.append(line[:_SHOWN])
        if len(self.errors) < FINGERPRINTS:
            self.errors.update(dict.fromkeys(map(fingerprint, error_lines([line]))))


def run(command: str, top: str, environ: Mapping[str, str], timeout_s: float, beat: Callable[[], None]) -> Run:
    """Runs one command. Output of unknown form counts as one test; a command that cannot be started has failed."""
    output = _Output()
    try:
        process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            cwd=top,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        output.tail.append(str(error))
        return _finished(command, 127, output)
    with process:
        status = _followed(process, output, time.monotonic() + timeout_s, beat)
    output.end()
    if status is None:
        output.tail.append(f"it took longer than {timeout_s:g} s")
    return _finished(command, status, output)


def _finished(command: str, status: int | None, output: _Output) -> Run:
    counts, names = output.results.counts(), output.results.names()
    if not counts.total:
        counts = Counts(int(status == 0), int(status != 0))
        names = {command: PASSED if status == 0 else FAILED}
    return Run(command, status, counts, names, tuple(output.errors), tuple(output.tail))


def _followed(process: subprocess.Popen[bytes], output: _Output, deadline: float, beat: Callable[[], None]) -> int | None:
    """Reads until the command and its output end. None where that takes too long; then none of its processes is left."""
    assert process.stdout is not None
    stream = process.stdout.fileno()
    os.set_blocking(stream, False)
    ended: float | None = None
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while True:
            beat()
            now = time.monotonic()
            if ended is None and process.poll() is not None:
                ended = now
            if now >= deadline and ended is None:
                _end(process, beat)
                return None
            if ended is not None and now >= ended + DRAIN_S:
                break
            if not _read(selector, stream, output, 0.02 if ended is None else 0.1):
                break
    status = _waited(process, deadline, beat)
    if ended is not None or status is not None:
        _signal(process, signal.SIGKILL)  # what the command left behind
    return status


def _read(selector: selectors.BaseSelector, stream: int, output: _Output, patience_s: float) -> bool:
    """Reads what is there. False at the end of the output."""
    if not selector.select(max(patience_s, BEAT_S / 5)):
        return True
    try:
        data = os.read(stream, 1 << 16)
    except BlockingIOError:
        return True
    output.feed(data)
    return bool(data)


def _waited(process: subprocess.Popen[bytes], deadline: float, beat: Callable[[], None]) -> int | None:
    """The status of a command that has closed its output."""
    while process.poll() is None:
        if time.monotonic() >= deadline:
            _end(process, beat)
            return None
        beat()
        with suppress(subprocess.TimeoutExpired):
            process.wait(BEAT_S)
    return process.returncode


def _end(process: subprocess.Popen[bytes], beat: Callable[[], None]) -> None:
    """Ends all processes of the command's session."""
    _signal(process, signal.SIGTERM)
    until = time.monotonic() + GRACE_S
    while process.poll() is None and time.monotonic() < until:
        beat()
        with suppress(subprocess.TimeoutExpired):
            process.wait(BEAT_S / 5)
    _signal(process, signal.SIGKILL)
    process.wait()


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
