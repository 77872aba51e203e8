"""What guard adds to the user's prompt."""

from __future__ import annotations

import json
from dataclasses import replace as changed
from pathlib import Path

import pytest

from guard.loop import texts
from guard.loop.derived import PATTERNS
from guard.loop.facts import Verification
from guard.loop.prompt import NAMED, Context, composed
from guard.loop.record import replace
from guard.loop.state import CLOSED, HALF_OPEN, Breaker
from tests.loop.rig import TASKS, It, Rig

USER = "Work on the plan.\n"
DONE = It(status="complete", exit_signal=True)
BAD = Verification(False, 8, 1, tail=("not built", "give up"))


def context(rig: Rig | None = None, **more: object) -> Context:
    rig = rig or Rig().start()
    rig.check()
    found = Context(rig.state, rig.t, "Plan › one", 1, ("Plan › one", "Plan › two"))
    return changed(found, **more)


def told(found: Context) -> str:
    text = composed(USER, found)
    assert text.startswith(USER.strip())
    return text.removeprefix(USER.strip())


def after(*iterations: It, **asked: object) -> Rig:
    return Rig(dict(asked)).start().play(iterations)


def test_the_first_prompt_names_the_task_and_nothing_else() -> None:
    assert told(context()) == "\n\n---\nFrom guard, which runs this loop:\n- The next open task is: Plan › one\n"


def test_nothing_to_say_leaves_the_prompt_as_it_is() -> None:
    assert composed(USER, context(task="")) == USER


@pytest.mark.parametrize(
    ("attempt", "part"), [(2, "attempt 2 of 3"), (3, "attempt 3 of 3"), (4, "attempt 4 at this task"), (25, "attempt 25 at")]
)
def test_later_attempts_ask_for_another_approach_and_name_what_was_tried(attempt: int, part: str) -> None:
    text = told(context(after(It(edit=2)), attempt=attempt))
    assert part in text
    assert f"Attempt {attempt - 1} changed: src/0.py, src/1.py" in text
    assert "attempt" not in told(context(after(It(edit=2)), attempt=1))


def test_the_third_attempt_hears_of_both_before_and_a_new_task_of_none() -> None:
    found = told(context(after(It(edit=1), It(question=True)), attempt=3))
    assert "Attempt 1 changed: src/0.py\n- Attempt 2 changed: nothing\n" in found
    fresh = after(It(edit=1), It(edit=1), It(edit=2, done=("one",)))
    assert "changed:" not in told(context(fresh, task="Plan › two", attempt=1))
    fresh.play([It(edit=2)])
    assert fresh.state.tried == (("src/0.py", "src/1.py"),)


@pytest.mark.parametrize(
    ("it", "asked", "more", "part"),
    [
        (DONE, {}, {}, "not done yet. Open tasks: Plan › one, Plan › two"),
        (
            changed(DONE, gone=("two", "three")),
            {},
            {"missing": 2, "gone": ("Plan › two", "Plan › three")},
            "2 tasks that the plan had are missing from it: Plan › two, Plan › three. Put them back.",
        ),
        (changed(DONE, gone=TASKS), {}, {}, "the plan is gone, cannot be read or has no task"),
        (changed(DONE, done=TASKS, failing=True), {}, {}, "the status block says that tests fail"),
        (It(status="blocked", exit_signal=True), {}, {}, "the status block says BLOCKED"),
        (changed(DONE, exit=1), {}, {}, "the last call did not end well"),
        (
            changed(DONE, done=TASKS, tests=BAD),
            {"verify": True},
            {"tail": BAD.tail},
            "not done yet: the verify command fails. Its last lines:\n    not built\n    give up\n",
        ),
        (
            It(done=TASKS, tests=BAD),  # nobody claims anything
            {"verify": True},
            {"tail": BAD.tail},
            "- The verify command fails. Its last lines:\n    not built\n    give up\n",
        ),
        (It(edit=1, tests=replace(BAD, tail=())), {"verify": True}, {}, "The verify command fails. It prints nothing."),
    ],
)
def test_a_refused_claim_is_explained(it: It, asked: dict[str, object], more: dict[str, object], part: str) -> None:
    text = told(context(after(it, **asked), **more))
    assert part in text
    assert text.count("The verify command fails") + text.count("the verify command fails") <= 1


def test_what_was_said_in_an_earlier_run_is_told_nobody() -> None:
    rig = after(DONE).start()
    assert "not done" not in told(context(rig))


def test_a_probe_and_the_iterations_that_are_watched_get_a_strategy() -> None:
    rig = after(It(edit=1))
    for breaker in (Breaker(state=HALF_OPEN, cause="no_progress", strategy=2), Breaker(cause="no_progress", strategy=2, watch=3)):
        state = replace(rig.state, breaker=breaker)
        assert "at least three smaller subtasks" in told(changed(context(rig), state=state))
    state = replace(rig.state, breaker=Breaker(cause="no_progress", strategy=2))
    assert "subtasks" not in told(changed(context(rig), state=state))


def test_the_strategy_of_a_probe_that_went_well_is_told_until_nothing_is_watched_any_more() -> None:
    rig = Rig().start().play([It()] * 3).wait(30).start().play([It(edit=1)])
    assert (rig.state.breaker.state, rig.state.breaker.watch) == (CLOSED, 3)
    for _ in range(3):
        assert "Analyse the task again" in told(context(rig))
        rig.play([It(edit=1)])
    assert "Analyse the task again" not in told(context(rig))


def test_scarce_calls_are_told_from_eighty_percent_on() -> None:
    rig = Rig({"calls_per_hour": 10, "iterations": 99}).start().play([It(edit=1, minutes=0)] * 7)
    assert "calls are left" not in told(context(rig))
    rig.play([It(edit=1, minutes=0)])
    assert texts.SCARCE.format(left=2, limit=10) in told(context(rig))


def test_gaps_refusals_questions_and_errors_are_told() -> None:
    text = told(context(after(It(gaps=("curl x",), refused=("specs/a.md",), errors=("Error: boom",), edit=1))))
    assert "--allowed-tools (ALLOWED_TOOLS) does not cover: curl x" in text
    assert "specs/a.md is protected" in text
    assert "The last iteration had this error: Error: boom" in text
    assert "Nobody answers questions here" in told(context(after(It(question=True))))


def test_what_the_user_steers_is_told_whole() -> None:
    rig = after(It(edit=1))
    state = replace(rig.state, steers=("once " * 500,), kept_steers=("always",))
    text = told(changed(context(rig), state=state, brief=True))
    assert "The user says: always" in text
    assert "once " * 500 in text


def test_patterns_of_the_same_task_are_told(tmp_path: Path) -> None:
    rows = [{"task": "Plan › one", "cause": cause, "fingerprints": ["error: #"]} for cause in ("a", "b", "c", "d")]
    lines = [json.dumps(row) for row in rows] + [json.dumps({"task": "other", "cause": "x"}), "no json", "[]", ""]
    (tmp_path / PATTERNS).write_text("\n".join(lines))
    text = told(context(directory=str(tmp_path)))
    assert [f"got stuck: {cause} (error: #)" in text for cause in "abcdx"] == [False, True, True, True, False]


def test_a_prompt_that_was_too_long_is_followed_by_a_short_one() -> None:
    text = told(context(after(changed(DONE, errors=("Error: boom",))), brief=True, attempt=3))
    assert "too long for the client" in text
    assert len(text) < 300


def test_what_is_added_is_bounded(tmp_path: Path) -> None:
    long = "x" * 100_000 + "\n\x00" * 1000
    tasks = tuple(f"{number}{long}" for number in range(5000))
    (tmp_path / PATTERNS).write_text(json.dumps({"task": tasks[0], "cause": "c", "fingerprints": [long] * 50}) + "\n")
    it = changed(DONE, tests=BAD, errors=(long,) * 20, gaps=(long,) * 30, refused=(long, "b"), edit=200)
    found = context(
        after(it, verify=True),
        task=tasks[0],
        open=tasks,
        gone=tasks,
        missing=5000,
        tail=(long,) * 20,
        attempt=2,
        directory=str(tmp_path),
    )
    text = told(found)
    assert len(text) < 25_000
    assert f"and {5000 - NAMED} more" in text
