"""When a run is complete: claims, evidence, the vote, profiles, and what is written down of each decision."""

from __future__ import annotations

import json
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.loop import derived, machine
from guard.loop.completion import WEIGHTS, standing
from guard.loop.derived import EXITS
from guard.loop.events import LevelChanged, Measured
from guard.loop.facts import Plan, UsageLimit, Verification
from guard.loop.settings import PROFILES
from guard.loop.state import State
from tests.loop.rig import START, TASKS, It, Rig

GOOD, BAD = Verification(True, 9), Verification(False, 8, 1)
# What an iteration leaves of the plan, and whether it is complete then.
PLANS: dict[str, tuple[dict[str, object], bool]] = {
    "none": ({}, False),
    "open": ({"done": ("one",)}, False),
    "complete": ({"done": TASKS}, True),
    "missing": ({"done": ("one", "two"), "gone": ("three",)}, False),
    "gone": ({"gone": TASKS}, False),
}
SAYS = list(product((True, False, None), ("", "complete", "in_progress", "blocked"), (False, True)))


@pytest.mark.parametrize("verify", [None, GOOD, BAD], ids=["no command", "ok", "bad"])
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("status", [0, 1])
def test_completion_is_accepted_with_evidence_and_only_then(plan: str, verify: Verification | None, status: int) -> None:
    left, complete = PLANS[plan]
    for explicit, word, failing in SAYS:
        it = It(exit=status, exit_signal=explicit, status=word, failing=failing, tests=verify, edit=1, **left)  # type: ignore[arg-type]
        rig = Rig({"verify": verify is not None}, None if plan == "none" else TASKS).start().play((it,))
        claim = explicit is True or (explicit is None and word == "complete")
        evidence = status == 0 and verify is not BAD and word != "blocked" and not failing
        wanted = evidence and (complete if plan != "none" else claim)
        case = (explicit, word, failing)
        assert (rig.end is not None and rig.end.status == "complete") is wanted, case
        if not wanted and claim:
            assert rig.state.last is not None
            assert rig.state.last.refused, case
        if wanted:
            assert rig.end is not None
            assert rig.end.reason == ("project_complete" if explicit else "plan_complete" if complete else "weighted_vote")


STEP = st.tuples(st.booleans(), st.booleans(), st.booleans(), st.sampled_from([None, None, None, False]))


@given(st.lists(STEP, max_size=7), st.sampled_from(sorted(PROFILES)))
def test_without_a_plan_the_vote_decides_as_it_is_defined(steps: list[tuple[bool, bool, bool, bool | None]], name: str) -> None:
    profile = PROFILES[name]
    rig = Rig({"profile": name}, None).start()
    for at, (done, tested, strong, explicit) in enumerate(steps, 1):
        signals = ("done",) if done else ()
        rig.play((It(edit=not tested, tests_edit=tested, signals=signals, strong=strong, exit_signal=explicit),))
        recent = steps[:at]
        vote = 25 * (at >= profile.done and all(one[0] for one in recent[-profile.done :]))
        vote += 20 * (at >= profile.test_loops and all(one[1] for one in recent[-profile.test_loops :])) + 15 * strong
        assert rig.judged()[-1].vote == vote
        assert rig.judged()[-1].confidence == (0 if explicit is False else min(100, 10 * done + vote))
        complete = rig.end is not None and rig.end.status == "complete"
        assert complete is (vote >= 60 and explicit is None)
        if rig.end is not None:
            assert not complete or rig.end.reason == "test_saturation"
            return


def test_the_reasons_of_a_complete_plan() -> None:
    done = It(signals=("done",))
    tested = It(tests_edit=1)
    last = It(done=TASKS)
    for iterations, reason in (
        ((last,), "plan_complete"),
        ((done, It(done=TASKS, signals=("done",))), "completion_signals"),
        ((done, It(done=TASKS, exit_signal=True)), "project_complete"),
        ((tested, tested, It(done=TASKS, signals=("done",))), "plan_complete"),  # a task was completed: not test-focused
    ):
        rig = Rig().start().play(iterations)
        assert rig.end is not None
        assert (rig.end.exit, rig.end.reason) == (0, reason)


def decisions(rig: Rig) -> list[dict[str, object]]:
    """The lines of exit_decisions.log."""
    state, found = State("loop"), []
    for event in rig.events:
        before = state
        state, _ = machine.step(before, event)
        found += [json.loads(text) for name, text in derived.lines(before, event, state) if name == EXITS]
    return found


def test_each_decision_is_written_down_with_all_that_it_looked_at() -> None:
    rig = Rig({"verify": True}).start()
    rig.play((It(edit=1, signals=("done",)), It(signals=("done",), strong=True, exit_signal=True, done=TASKS, tests=BAD)))
    rig.play((It(edit=1, tests=GOOD),))
    first, second, third = decisions(rig)
    assert first["signals"] == {
        "plan_complete": {"value": 0, "threshold": 1, "weight": 40, "points": 0},
        "done_signals": {"value": 1, "threshold": 2, "weight": 25, "points": 0},
        "test_focus": {"value": 0, "threshold": 3, "weight": 20, "points": 0},
        "strong_signal": {"value": 0, "threshold": 1, "weight": 15, "points": 0},
    }
    assert (first["total"], first["explicit"], first["claim"], first["decision"]) == (0, None, False, "continue")
    assert first["plan"] == {"required": 3, "open": 3, "missing": 0}
    assert (second["total"], second["confidence"], second["high_confidence"]) == (80, 100, True)
    assert (second["explicit"], second["claim"], second["refused"], second["verify"]) == (True, True, ["verify"], False)
    assert second["reason"] == "claim refused: verify"
    assert (third["decision"], third["reason"], third["verify"]) == ("exit", "plan_complete", True)
    assert [one["n"] for one in (first, second, third)] == [1, 2, 3]


def test_v22_the_decision_before_the_first_call_is_written_down_too() -> None:
    rig = Rig(tasks=())
    rig.most = 3
    rig.start().check()
    (found,) = decisions(rig)
    assert (found["n"], found["decision"], found["reason"], found["total"]) == (None, "exit", "plan_complete", 40)
    assert found["plan"] == {"required": 3, "open": 0, "missing": 0}
    assert set(found["signals"]) == set(WEIGHTS)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("last", "ends"),
    [(It(edit=1), True), (It(exit=1), False), (It(status="blocked"), False), (It(failing=True, edit=1), False)],
)
def test_a_plan_that_others_complete_ends_the_run_unless_the_last_iteration_spoke_against_it(last: It, ends: bool) -> None:
    rig = Rig().start().play((last,))
    rig.record(Measured(plan=Plan(3, 0)))
    assert standing(rig.state) is ends
    rig.check()
    assert (rig.end is not None and rig.end.reason == "plan_complete") is ends


def test_in_the_economy_only_a_measurement_of_the_tree_as_it_is_counts() -> None:
    rig = Rig({"verify": True}).start()
    rig.record(Measured(tests=GOOD))
    rig.record(LevelChanged(3, 1, reason="budget"))
    rig.play((It(edit=1),))
    assert rig.state.run is not None
    assert rig.state.run.verified is None
    rig.record(Measured(plan=Plan(3, 0)))
    assert not standing(rig.state)
    rig.wait(10).play((It(done=TASKS, tests=GOOD),))
    assert rig.end is not None
    assert rig.end.reason == "plan_complete"


def test_an_iteration_that_counts_for_nothing_leaves_what_was_seen() -> None:
    rig = Rig().start()
    limit = UsageLimit("5h", START - 1, "event")
    rig.one(It(limit=limit, opened=("four",), exit=1))
    assert rig.state.run is not None
    assert "four" in rig.state.run.seen_open
    assert rig.state.run.plan == Plan(4, 4, 0, ("four",))
    rig.wait(5)
    rig.one(It(done=("four",)))
    assert rig.judged()[-1].progress
    rig = Rig().start()
    rig.one(It(limit=limit, done=TASKS, exit=1))
    assert not standing(rig.state)  # its outcome is no evidence


def test_completion_in_the_last_iteration_is_completion_and_a_trip_at_the_same_time_is_none() -> None:
    rig = Rig({"iterations": 3}).start().play((It(), It(), It(done=TASKS)))
    assert rig.end is not None
    assert (rig.end.exit, rig.end.reason) == (0, "plan_complete")
    rig = Rig({"iterations": 1, "verify": True}).start().play((It(done=TASKS, exit_signal=True, tests=BAD),))
    assert rig.end is not None
    assert rig.end.exit == 2
