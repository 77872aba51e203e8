"""Trials: a command is given cases, one at a time, and what it answers is compared with what is expected.

The command runs through `sh -c` in a session of its own, gets the case's input as JSON on standard input, and prints one JSON
value. Whatever goes wrong is a failed case with its reason, never the end of the evaluation.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from guard.evaluate.cases import Case, passes
from guard.loop import processes
from guard.shown import visible

TIMEOUT_S = 120.0
MARK = "GUARD_EVAL"  # in the environment of every process of a command, so that all of them are found
GRACE_S = 2.0  # between asking the processes of a command to end and ending them
LARGEST = 16 << 20  # bytes of an answer
_SAID = 200  # characters of standard error that a reason quotes


@dataclass(frozen=True)
class Result:
    """What became of one case. `reason` says why it failed, "" where it passed."""

    case: str
    passed: bool
    reason: str
    duration_s: float


@dataclass(frozen=True)
class Trial:
    """All results of one command over the same cases, in their order."""

    command: str
    results: tuple[Result, ...]

    @property
    def passed(self) -> int:
        """How many passed."""
        return sum(one.passed for one in self.results)

    @property
    def score(self) -> float:
        """Points of 100."""
        return 100 * self.passed / len(self.results) if self.results else 0.0


def run(
    command: str,
    cases: Sequence[Case],
    environ: Mapping[str, str],
    cwd: str,
    timeout_s: float = TIMEOUT_S,
    told: Callable[[Result], None] = lambda result: None,
) -> Trial:
    """Runs a command over the cases; `told` hears of each result."""
    results = []
    for case in cases:
        began = time.monotonic()
        reason = _reason(command, case, environ, cwd, timeout_s)
        results.append(Result(case.id, not reason, reason, round(time.monotonic() - began, 3)))
        told(results[-1])
    return Trial(command, tuple(results))


def _reason(command: str, case: Case, environ: Mapping[str, str], cwd: str, timeout_s: float) -> str:
    """Why a case fails, "" where it passes."""
    mark = secrets.token_hex(8)
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as answer, tempfile.TemporaryFile() as said:
        given.write(json.dumps(case.input).encode())
        given.seek(0)
        try:
            process = subprocess.Popen(
                ["/bin/sh", "-c", command],
                cwd=cwd,
                env={**environ, MARK: mark},
                stdin=given,
                stdout=answer,
                stderr=said,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return f"it cannot be started: {error}"
        try:
            status = _ended(process, answer.fileno(), timeout_s)
        finally:
            processes.end(lambda: _left(mark, process), GRACE_S, main=process.pid)
            process.wait()
        if status is None:
            return f"it took longer than {timeout_s:g} s, or printed more than {LARGEST >> 20} MiB"
        if status:
            said.seek(max(0, said.seek(0, os.SEEK_END) - 4 * _SAID))
            last = said.read().decode("utf-8", "replace").strip()[-_SAID:]
            how = f"exit {status}" if status > 0 else f"signal {-status}"
            return f"{how}: {visible(last)}" if last else how
        answer.seek(0)
        return _difference(case, answer.read())


def _ended(process: subprocess.Popen[bytes], answer: int, timeout_s: float) -> int | None:
    """The exit status; None where it takes too long or prints too much."""
    until = time.monotonic() + timeout_s
    while (left := until - time.monotonic()) > 0 and os.fstat(answer).st_size <= LARGEST:
        try:
            return process.wait(min(left, 0.5))
        except subprocess.TimeoutExpired:
            continue
    return None


def _left(mark: str, process: subprocess.Popen[bytes]) -> list[int]:
    """The processes of a command that are alive: those below it, and those that went away and carry its mark."""
    main = [process.pid] if process.poll() is None else []
    own = [one.pid for one in processes.below(processes.everything(), process.pid)] if main else []
    return [*main, *own, *processes.marked([f"{MARK}={mark}".encode()], [*main, *own])]


def _difference(case: Case, answer: bytes) -> str:
    try:
        value = json.loads(answer)
    except (ValueError, RecursionError):
        return f"it printed no JSON: {visible(answer[:_SAID].decode('utf-8', 'replace'))}"
    if passes(case.expected, value):
        return ""
    if not isinstance(value, dict):
        return "it printed no object"
    wrong = [key for key in case.expected if not passes({key: case.expected[key]}, value)]
    return "; ".join(f"{key}: expected {_short(case.expected[key])}, got {_short(value.get(key))}" for key in wrong)


def _short(value: object) -> str:
    text = visible(json.dumps(value, ensure_ascii=False, sort_keys=True))
    return text if len(text) <= 80 else f"{text[:77]}..."
