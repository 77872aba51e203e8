"""What an iteration was: its outcome, whether it made progress, whether it is held, and all that detectors look at."""

from __future__ import annotations

from guard.loop import completion
from guard.loop.events import CallEnded, Measured
from guard.loop.facts import Plan, Reply
from guard.loop.record import Record
from guard.loop.similarity import fingerprint
from guard.loop.state import Iteration, Run, State

INTERRUPTED, LOST, LIMITED, PARTIAL = "interrupted", "lost", "limited", "partial"
TIMEOUT, FAILED, OK = "timeout", "failed", "ok"
VOID = (LIMITED, INTERRUPTED)
TEST_SHARE = 80  # percent of the changed lines above which an iteration is test-focused
TIMED_OUT = 124  # the exit status of an agent that ended because of the time
EARLY = ("turns", "money")  # limits of the client itself


class Seen(Record, frozen=True):
    """An iteration as it is judged."""

    outcome: str
    progress: bool
    held: str  # "", question or claim
    test_focused: bool
    completed: tuple[str, ...]
    measured: Measured
    errors: tuple[str, ...]  # fingerprints of the error lines
    similar: bool  # its prompt is similar to that of the one before
    open_tasks: bool  # required tasks are open
    explicit: bool | None
    claim: bool
    accepted: str  # the reason for which completion is accepted, ""
    against: tuple[str, ...]  # what speaks against completion
    vote: completion.Vote

    @property
    def void(self) -> bool:
        """It counts for nothing."""
        return self.outcome in VOID

    @property
    def good(self) -> bool:
        """Its outcome is ok or partial."""
        return self.outcome in (OK, PARTIAL)

    @property
    def reply(self) -> Reply:
        """What the final text says."""
        return self.measured.reply

    @property
    def refused_claim(self) -> bool:
        """It said explicitly that all is done, and that was not accepted."""
        return self.explicit is True and not self.accepted


def see(state: State, iteration: Iteration, measured: Measured | None) -> Seen:
    """The iteration that just ended, with the facts that were measured; without them what is missing counts as failed."""
    facts = measured or Measured()
    run = state.run
    completed = newly_completed(run, facts.plan)
    focused = _test_focused(facts, completed)
    progress = bool(completed) or (not focused and (facts.files.meaningful > 0 or _newly_passing(facts) > 0))
    outcome = _outcome(iteration.ended, measured is not None, progress)
    good = outcome in (OK, PARTIAL)
    plan = facts.plan or (run.plan if run else None)
    seen = Seen(
        outcome=outcome,
        progress=progress,
        held="",
        test_focused=focused,
        completed=completed,
        measured=facts,
        errors=tuple(dict.fromkeys(fingerprint(line) for line in facts.reply.errors)),
        similar=iteration.similar,
        open_tasks=plan is not None and plan.open > 0,
        explicit=facts.reply.explicit,
        claim=completion.is_claim(facts.reply),
        accepted="",
        against=(),
        vote=completion.Vote(),
    )
    return completion.weigh(state, seen, good, plan)


def newly_completed(run: Run | None, plan: Plan | None) -> tuple[str, ...]:
    """The tasks that were ticked now, seen open earlier in this run, and not counted before."""
    if plan is None or run is None:
        return ()
    known = {*run.seen_open, *plan.opened}
    return tuple(task for task in dict.fromkeys(plan.completed) if task in known and task not in run.counted_done)


def _newly_passing(facts: Measured) -> int:
    return facts.tests.newly_passing if facts.tests else 0


def _test_focused(facts: Measured, completed: tuple[str, ...]) -> bool:
    files = facts.files
    if completed:
        return False
    if files.meaningful:
        return 100 * files.test_lines > TEST_SHARE * files.lines
    return facts.reply.testing


def _outcome(ended: CallEnded | None, measured: bool, progress: bool) -> str:
    if ended is None:
        return LOST
    if ended.ended == "stop":
        return INTERRUPTED
    if _is_limited(ended):
        return LIMITED
    if _early(ended):
        return PARTIAL if progress else TIMEOUT
    return FAILED if is_failed(ended) or not measured else OK


def _early(ended: CallEnded) -> bool:
    return ended.exit == TIMED_OUT or ended.ended in ("timeout", "idle") or ended.failure in EARLY


def is_failed(ended: CallEnded) -> bool:
    """Did a call fail, by its status or by what the client says?"""
    return ended.exit != 0 or bool(ended.failure)


def _is_limited(ended: CallEnded) -> bool:
    """Is the evidence good enough? A time-out is a limit only by the client's event, a text only on an error run."""
    if ended.limit is None:
        return False
    if ended.limit.evidence == "event":
        return True
    return not _early(ended) and (ended.limit.evidence == "status" or is_failed(ended))
