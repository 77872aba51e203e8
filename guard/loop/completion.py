"""When the work is done: claims, evidence, the vote, and the reason that a run ends with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import field

from guard.loop.facts import Plan, Reply
from guard.loop.record import Record, replace
from guard.loop.state import Run, State

if TYPE_CHECKING:
    from guard.loop.outcome import Seen

NEEDED = 60  # points of the vote at which a run ends
HIGH = 40  # confidence that is logged as high, and decides nothing
WEIGHTS = {"plan_complete": 40, "done_signals": 25, "test_focus": 20, "strong_signal": 15}
DONE, NO_WORK = 10, 15  # points of confidence
REMEMBERED = 20  # ok iterations of the run whose signals are remembered
ECONOMY = 1  # the level at which only claims are verified
SHARE_FROM = 5  # iterations from which on the share of test-focused ones is looked at


class Vote(Record, frozen=True):
    """What each signal gives, and the signals' values."""

    points: dict[str, int] = field(default_factory=dict)
    values: dict[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """The sum of the points."""
        return sum(self.points.values())


def is_claim(reply: Reply) -> bool:
    """Does the reply claim that all is done? An explicit false never does."""
    if reply.explicit is not None:
        return reply.explicit
    return reply.claim or reply.says("STATUS") == "complete"


def is_complete(plan: Plan | None) -> bool:
    """At least one required task, all of them ticked, none missing."""
    return plan is not None and plan.required > 0 and plan.open == 0 and plan.missing == 0


def objections(reply: Reply) -> tuple[str, ...]:
    """What the reply itself says against completion."""
    blocked = ("blocked",) if reply.says("STATUS") == "blocked" else ()
    return blocked + (("tests_failing",) if reply.says("TESTS_STATUS") == "failing" else ())


def weigh(state: State, seen: Seen, good: bool, plan: Plan | None) -> Seen:
    """The iteration with its vote, whether it is held, and whether completion is accepted."""
    run = state.run
    verified = _verified(state, seen)
    against = evidence_against(state, seen.reply, good, plan, verified)
    vote = _vote(state, seen, good, plan)
    counted = is_complete(plan) or (plan is None and not state.config.plan and _ends_without_plan(seen, vote))
    accepted = _reason(seen, vote) if counted and not against else ""
    held = ""
    if good and not seen.progress:
        first_claim = seen.claim and not (run.claimed if run else False)
        held = "question" if seen.reply.question else "claim" if first_claim else ""
    return replace(seen, vote=vote, accepted=accepted, against=against, held=held)


def _verified(state: State, seen: Seen) -> bool | None:
    """What the verify commands say of the tree as it is now: in the economy they do not run after every change."""
    if seen.measured.tests is not None:
        return seen.measured.tests.ok
    stale = state.level == ECONOMY and bool(seen.measured.files.meaningful or seen.completed)
    return None if stale or state.run is None else state.run.verified


def evidence_against(state: State, reply: Reply, good: bool, plan: Plan | None, verified: bool | None) -> tuple[str, ...]:
    """What is missing of the evidence, as codes: outcome, tasks_open, tasks_missing, no_tasks, verify, blocked, tests_failing."""
    found = [] if good else ["outcome"]
    if plan is not None:
        found += ["tasks_open"] * (plan.open > 0) + ["tasks_missing"] * (plan.missing > 0) + ["no_tasks"] * (plan.required == 0)
    elif state.config.plan:
        found.append("no_tasks")
    if state.config.verify and verified is not True:
        found.append("verify")
    return (*found, *objections(reply))


def standing(state: State) -> bool:
    """Before a call: is the plan complete and verified, and did the last iteration say nothing against it?"""
    run = state.run
    if run is None or run.objected or not is_complete(run.plan):
        return False
    return run.verified is True or not state.config.verify


def _ends_without_plan(seen: Seen, vote: Vote) -> bool:
    return seen.claim or (seen.explicit is None and vote.total >= NEEDED)


def _vote(state: State, seen: Seen, good: bool, plan: Plan | None) -> Vote:
    run = state.run or Run("", 0, "", 0, "")
    done = (*run.done, bool(seen.reply.done)) if good else run.done
    tested = (*run.tested, seen.test_focused) if good else run.tested
    values = {
        "plan_complete": int(is_complete(plan)),
        "done_signals": trailing(done),
        "test_focus": trailing(tested),
        "strong_signal": int(seen.reply.strong),
    }
    needed = thresholds(state)
    points = {name: WEIGHTS[name] if values[name] >= needed[name] else 0 for name in WEIGHTS}
    return Vote(points, values)


def thresholds(state: State) -> dict[str, int]:
    """From which value on each signal gives its points."""
    test_loops = state.config.thresholds.test_loops
    return {"plan_complete": 1, "done_signals": state.config.done, "test_focus": test_loops, "strong_signal": 1}


def trailing(flags: tuple[bool, ...]) -> int:
    """How many at the end are true."""
    count = 0
    for flag in reversed(flags):
        if not flag:
            break
        count += 1
    return count


def _reason(seen: Seen, vote: Vote) -> str:
    if seen.explicit is True:
        return "project_complete"
    if vote.points["test_focus"]:
        return "test_saturation"
    if vote.points["done_signals"]:
        return "completion_signals"
    return "plan_complete" if vote.points["plan_complete"] else "weighted_vote"


def confidence(seen: Seen) -> int:
    """0 to 100, to be recorded."""
    if seen.explicit is not None:
        return 100 if seen.explicit else 0
    kinds = seen.reply.done
    return min(100, DONE * ("done" in kinds) + NO_WORK * ("no_work" in kinds) + seen.vote.total)


def glimpsed(run: Run, seen: Seen) -> Run:
    """The run after an iteration that counts for nothing: only what there is to see is known of it."""
    plan, tests = seen.measured.plan, seen.measured.tests
    known = replace(run, verified=tests.ok) if tests is not None else run
    if plan is None:
        return known
    return replace(known, plan=plan, objected=True, seen_open=tuple(dict.fromkeys((*run.seen_open, *plan.opened))))


def remembered(state: State, run: Run, seen: Seen) -> Run:
    """The run with this iteration's signals in mind."""
    plan = seen.measured.plan
    changes: dict[str, object] = {
        "claimed": (run.claimed and not seen.progress) or (seen.claim and not seen.progress and seen.good),
        "objected": not seen.good or bool(objections(seen.reply)),
        "test_focused": run.test_focused + seen.test_focused,
        "counted_done": (*run.counted_done, *seen.completed),
    }
    if seen.good:
        changes["done"] = (*run.done, bool(seen.reply.done))[-REMEMBERED:]
        changes["tested"] = (*run.tested, seen.test_focused)[-REMEMBERED:]
    if plan is not None:
        changes |= {"plan": plan, "seen_open": tuple(dict.fromkeys((*run.seen_open, *plan.opened)))}
    return replace(run, verified=_verified(state, seen), **changes)
