"""Linking: has done what evaluations lead to, once for the same evidence, through the loop's own control.

A level that was gone down to holds for as long as its evidence does: each start goes by what is known then.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass

from guard.errors import STATE, GuardError
from guard.evaluate import book, drift, feedback, linked, period
from guard.evaluate.linked import Action, Known, Thresholds
from guard.evaluate.thresholds import thresholds
from guard.loop import control, delivery
from guard.report import history
from guard.world import World

WEEK_MS, WEEKS_AGO = period.WEEK_MS, 4


@dataclass(frozen=True)
class Done:
    """An action, and what the loop said where it had nothing to do; "" where it did it."""

    action: Action
    said: str


def known(directory: str, top: str, now: int, level: int = 3) -> Known:
    """What has been found about a loop until now (UTC milliseconds). Raises GuardError where a journal cannot be read."""
    try:
        past = history.read(directory, now - (WEEKS_AGO + 1) * WEEK_MS)
    except OSError as error:
        raise GuardError(f"its journal cannot be read ({error.strerror})", directory, "make it readable", STATE) from error
    week = past.within(now - WEEK_MS, now + 1)
    commits = {commit for one in week.iterations for commit in one.files.commits}
    taken = {one.reference for _, one in book.read(directory, book.Feedback) if one.kind == feedback.REVERTED}
    taken |= {one.reference for one in feedback.reverted(past.root or top, week.iterations)} if commits else set()
    baselines = [(t, 100 * one.passed / one.total) for t, one in book.read(directory, book.Baseline) if one.total]
    return Known(
        level=level,
        commits=len(commits),
        reverted=sorted(commits & taken),
        baseline=baselines[-1] if baselines else None,
        audits=[(t, one.mean) for t, one in book.read(directory, book.Audited)],
        apart=_apart(past, now),
        week=time.strftime("%G-W%V", time.gmtime(now / 1000)),
    )


def _apart(past: history.History, now: int) -> float | None:
    """How far the kinds of work of this week and of the one four weeks ago are apart; None with too few iterations."""
    ends = (now - WEEKS_AGO * WEEK_MS, now + 1)
    sides = [period.items(past.within(end - WEEK_MS, end)) for end in ends]
    kinds = tuple(row for row in drift.ROWS if row.name == "work types")
    (found,) = drift.compare(sides[0], sides[1], rows=kinds, rounds=1).findings
    return found.shift if found.p is not None else None


def level(wanted: Thresholds, found: Known) -> tuple[int, list[str]]:
    """The highest level that is left, and why."""
    lower = [one for one in linked.actions(wanted, found) if one.level is not None]
    return min([found.level, *(one.level for one in lower if one.level is not None)]), [one.reason for one in lower]


def act(directory: str, top: str, wanted: Thresholds, now: int, level: int = 3) -> list[Done]:
    """Does what has to be done at a time and was not yet done for the same evidence, and records it. Raises GuardError."""
    if not wanted:
        return []
    found = linked.actions(wanted, known(directory, top, now, level))
    return [_done(directory, top, action) for action in _new(found, directory)]


def _new(found: Sequence[Action], directory: str) -> list[Action]:
    before = {(one.rule, one.evidence) for _, one in book.read(directory, book.LinkedAction)}
    return [one for one in found if (one.rule, one.evidence) not in before]


def _done(directory: str, top: str, action: Action) -> Done:
    """Asks the loop first and records then: what was not recorded is asked for again, which changes nothing."""
    verb = control.PAUSE if action.pause else control.CURB
    value = str(action.level) if action.level is not None else ""
    reason = (f"linked: {action.reason}" if action.pause else action.reason)[: control.LONGEST_REASON]
    answer = delivery.deliver(directory, top, control.Request(verb, reason, value=value))
    book.add(directory, book.LinkedAction(action.rule, action.name, action.reason, action.evidence, answer.said))
    return Done(action, "" if answer.done else answer.said)


def here(directory: str, top: str, tree: World) -> list[Done]:
    """The same with the thresholds of the tree and this process's environment."""
    return act(directory, top, thresholds(top, os.environ, tree), int(time.time() * 1000)) if top else []
