"""Judging many past calls as guard would judge them now, by several processes, in bounded time."""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from guard.agents import read, table
from guard.decision import Decision
from guard.hot import hook, judgement, limits
from guard.sessions.call import Call, Question, hook_call
from guard.shell import quick

PROCESSES = 8  # at most
SECONDS = 600.0  # for all of it; what is not judged then is counted as such
ONE = 3.0  # seconds for one command, above which its process is at fault
STALLED = 60.0  # seconds without any answer, after which a process must have been ended from outside
FEW = 16  # commands for which another process is not worth its start
_NONE: dict[str, Any] = {"v": 1, "effects": [], "total": 0}
UNTIMELY = {**_NONE, "decision": "deny", "code": "out-of-time", "reason": "it could not be judged in time"}
HARMLESS = {**_NONE, "decision": "allow", "code": "allowed", "reason": "it only reads"}

Answer = dict[str, Any]  # a verdict, with the fields of `guard check --json`


class _TimeIsUp(BaseException):
    """No Exception, so that nothing on the way takes it for its own."""


@dataclass
class Judged:
    """The verdicts on the calls: `answers` by what makes calls the same; of what is not surely harmless, `gone` are the calls
    whose directory is not there any more, `nowhere` those whose log names none, `late` those that time did not suffice for."""

    answers: dict[Question, Answer] = field(default_factory=dict)
    gone: list[Call] = field(default_factory=list)
    nowhere: list[Call] = field(default_factory=list)
    late: list[Call] = field(default_factory=list)

    def answer(self, call: Call) -> Answer | None:
        """The verdict on a call; None where there is none."""
        return self.answers.get(call.question)


def judge(
    calls: Sequence[Call], environ: Mapping[str, str], report: Callable[[int, int], None], seconds: float = SECONDS
) -> Judged:
    """Judges the calls, newest first, those that are the same once; nothing is run and nothing is logged.

    `report` is called with the number of questions that are answered and of all.
    """
    found = Judged()
    hard: dict[Question, None] = {}
    for call in sorted(calls, key=lambda call: -call.time):
        if not call.tool and quick.harmless(call.command):
            found.answers[call.question] = HARMLESS
        elif not call.cwd:
            found.nowhere.append(call)
        elif not os.path.isdir(call.cwd):
            found.gone.append(call)
        else:
            hard[call.question] = None
    report(0, len(hard))
    for done, (question, answer) in enumerate(_answers(list(hard), dict(environ), seconds), 1):
        found.answers[question] = answer
        report(done, len(hard))
    missing = hard.keys() - found.answers.keys()
    found.late = [call for call in calls if call.question in missing]
    return found


def _answers(questions: Sequence[Question], environ: dict[str, str], seconds: float) -> Iterator[tuple[Question, Answer]]:
    """The answers as they come, until time is up."""
    count = min(PROCESSES, os.cpu_count() or 1, len(questions) // FEW + 1)
    end = time.monotonic() + seconds
    if not questions:
        return
    with multiprocessing.get_context("fork").Pool(count, _start, (environ,)) as pool:
        waiting = pool.imap(_answer, questions)
        for question in questions:
            try:
                yield question, waiting.next(max(0.0, min(STALLED, end - time.monotonic())))
            except multiprocessing.TimeoutError:
                return


_environ: dict[str, str] = {}


def _start(environ: dict[str, str]) -> None:
    """Sets up a process: it leaves interruptions to its parent and has no more memory than a hook has."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, _interrupt)
    _environ.update(environ)
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if soft == resource.RLIM_INFINITY or soft > limits.MEMORY:
        resource.setrlimit(resource.RLIMIT_DATA, (limits.MEMORY, hard))


def _interrupt(number: int, frame: object) -> None:
    raise _TimeIsUp


def _answer(question: Question) -> Answer:
    """The verdict on one call, while observing what it would have been; what fails is refused, as every layer does."""
    try:
        signal.setitimer(signal.ITIMER_REAL, ONE)
        found = _decided(question)
        return {**judgement.fields(found), "decision": found.verdict.observed or found.verdict.decision}
    except _TimeIsUp:
        return UNTIMELY
    except read.Malformed as error:
        return {**UNTIMELY, "code": "malformed", "reason": str(error)}
    except Exception as error:
        return {**UNTIMELY, "code": "fault", "reason": f"guard failed ({type(error).__name__}); this is its own fault"}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _decided(question: Question) -> Decision:
    command, cwd, client, tool, arguments = question
    if not tool:
        return judgement.decide(command, cwd, _environ, record=False)
    call = hook_call(client, tool, json.loads(arguments), cwd)
    return hook.decide(table.CLIENTS[client], call, record=False)[0]
