"""The five sub-goals of a loop (S1-10): for each, a test of the line that says success, and of the line that says failure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from guard.loop.command import Call, End, Enter
from guard.loop.lifecycle import WAIT_CALLS
from guard.loop.state import CLOSED, OPEN, State
from guard.loop.status import status
from guard.loop.store import Store
from tests.loop.rig import MINUTE, START, TASKS, It, Rig, times

HOUR = 60 * MINUTE
IDLE = It()


class Loop:
    """A loop on the disk in a tree with Ralph's directory."""

    def __init__(self, tmp_path: Path) -> None:
        self.root = tmp_path / "app"
        (self.root / ".ralph").mkdir(parents=True)
        self.store = Store.open(str(tmp_path / "state"), str(self.root), START)

    def rig(self, **asked: Any) -> Rig:
        """A run of it."""
        return Rig(asked=asked, store=self.store, state=self.store.state).start("r1")

    @property
    def state(self) -> State:
        """How it stands."""
        return self.store.state

    def text(self, name: str) -> str:
        """A file of its state."""
        return Path(self.store.directory, name).read_text()


@pytest.fixture
def loop(tmp_path: Path) -> Any:
    made = Loop(tmp_path)
    yield made
    made.store.close()


def ended(rig: Rig) -> tuple[int, str]:
    """Exit status and reason of a run that is over."""
    assert isinstance(rig.end, End)
    return rig.end.exit, rig.end.reason


def test_goal_1_iterations_change_files_and_complete_tasks(loop: Loop) -> None:
    loop.rig().play([It(edit=2, done=("one",)), It(edit=1, done=("two",))])
    assert loop.state.last is not None
    assert (loop.state.last.progress, loop.state.last.completed, loop.state.breaker.state) == (True, 1, CLOSED)
    assert loop.text("iterations.md").count("- Tasks completed: 1\n") == 2
    assert json.loads((loop.root / ".ralph/status.json").read_text())["status"] == "running"


def test_goal_1_iterations_that_change_nothing_score_below_zero_and_say_so(loop: Loop) -> None:
    loop.rig().play([IDLE, IDLE])
    assert loop.state.last is not None
    assert (loop.state.last.progress, loop.state.last.score) == (False, -3)
    assert "no progress in 2 consecutive loops" in loop.text("loop.log")
    assert "- Files modified: none\n" in loop.text("iterations.md")


def test_goal_2_a_run_ends_with_a_summary_when_all_is_done(loop: Loop) -> None:
    rig = loop.rig().play([It(edit=1, done=TASKS, exit_signal=True)])
    assert ended(rig) == (0, "project_complete")
    assert status(loop.state)["status"] == "complete"
    assert "exit 0 (complete): project_complete, 1 iterations, 1 calls" in loop.text("loop.log")
    assert json.loads(loop.text("exit_decisions.log").splitlines()[-1])["decision"] == "exit"


def test_goal_2_no_run_goes_on_when_the_work_is_done_and_none_ends_while_it_is_not(loop: Loop) -> None:
    rig = loop.rig().play(times(2, It(edit=1, exit_signal=True, status="COMPLETE")))
    assert rig.end is None
    assert loop.state.last is not None
    assert loop.state.last.refused == ("tasks_open",)
    rig.play([It(edit=1, done=TASKS)])
    assert ended(rig)[0] == 0
    assert loop.state.run is not None
    assert loop.state.run.calls == 3


def test_goal_3_a_run_that_stagnates_is_halted(loop: Loop) -> None:
    rig = loop.rig().play(times(9, IDLE))
    assert ended(rig) == (1, "no_progress")
    assert loop.state.breaker.state == OPEN
    assert loop.state.run is not None
    assert loop.state.run.calls == 3
    assert "No progress detected in 3 consecutive loops" in loop.text("loop.log")


def test_goal_3_nothing_burns_tokens_for_ever_and_an_open_breaker_costs_none(loop: Loop) -> None:
    mixed = [It(exit=1, tokens=500), It(question=True, tokens=500), It(exit=1, tokens=500), It(question=True, tokens=500)]
    rig = loop.rig().play([It(edit=1, tokens=500), *mixed * 3])
    assert rig.end is not None
    assert loop.state.run is not None
    spent = loop.state.run.tokens
    assert spent <= 500 * 8
    again = Rig(store=loop.store, state=loop.state, t=rig.t + MINUTE).start("r2")
    assert isinstance(again.check(), End)
    assert loop.state.run.tokens == 0


def test_goal_4_a_run_waits_for_the_hour_and_goes_on(loop: Loop) -> None:
    rig = loop.rig(calls_per_hour=2).play([It(edit=1), It(edit=1)])
    command = rig.check()
    assert isinstance(command, Enter)
    assert command.state == WAIT_CALLS
    rig.t = START + HOUR + MINUTE
    assert isinstance(rig.check(), Call)


def test_goal_4_no_call_beyond_the_limit_is_ever_made(loop: Loop, tmp_path: Path) -> None:
    rig = loop.rig(calls_per_hour=2).play([It(edit=1), It(edit=1)])
    loop.store.close()
    loop.store = Store.open(str(tmp_path / "state"), str(loop.root), rig.t)
    again = Rig(asked={"calls_per_hour": 2}, store=loop.store, state=loop.state, t=rig.t).start("r2")
    assert not isinstance(again.check(), Call)
    assert status(loop.state)["calls"]["left"] == 0


def test_goal_5_a_look_from_outside_shows_where_it_is(loop: Loop) -> None:
    loop.rig().play([It(edit=1, done=("one",)), IDLE])
    own = json.loads(loop.text("status.json"))
    assert (own["iteration"], own["calls"]["used"], own["plan"]) == (2, 2, {"required": 3, "open": 2})
    assert own["counters"]["no_progress"] == 1
    beside = json.loads((loop.root / ".ralph/status.json").read_text())
    assert (beside["loop_count"], beside["calls_made_this_hour"]) == (2, 2)


def test_goal_5_a_stop_is_never_silent(loop: Loop) -> None:
    loop.rig().play(times(3, IDLE))
    own = json.loads(loop.text("status.json"))
    assert (own["status"], own["pause"]["reason"], own["breaker"]["state"]) == ("circuit_open", "no_progress", "OPEN")
    assert own["breaker"]["probe_at"] is not None
    assert "Execution halted" in (loop.root / ".ralph/logs/ralph.log").read_text()
    assert json.loads((loop.root / ".ralph/status.json").read_text())["exit_reason"] == "no_progress"


def test_the_steps_of_an_iteration_come_in_order(loop: Loop) -> None:
    loop.rig().play([It(edit=1, done=("one",))])
    events = [json.loads(line)["ev"] for line in loop.text("journal.jsonl").splitlines()]
    begun = events.index("run_started")
    assert events[begun:] == ["run_started", "entered", "call_reserved", "call_ended", "measured", "judged"]
    assert loop.text("metrics.jsonl").count("\n") == loop.text("exit_decisions.log").count("\n") == 1
    for name in (".exit_signals", ".circuit_breaker_state", ".call_count", "status.json", "logs/ralph.log"):
        assert (loop.root / ".ralph" / name).stat().st_size > 0


def test_before_a_call_the_breaker_is_asked_first_then_the_plan_then_the_limit(loop: Loop) -> None:
    rig = loop.rig(calls_per_hour=3).play(times(3, IDLE))
    assert ended(rig) == (1, "no_progress")
    again = Rig(asked={"calls_per_hour": 3}, store=loop.store, state=loop.state, t=rig.t + MINUTE, tasks=TASKS).start("r2")
    assert isinstance(again.check(), End)
    assert ended(again) == (1, "no_progress")
    assert [wait.state for wait in again.waits] == []


def test_a_complete_plan_needs_no_free_call(loop: Loop) -> None:
    rig = loop.rig(calls_per_hour=2).play([It(edit=1), It(edit=1, done=TASKS)])
    assert ended(rig)[0] == 0
    again = Rig(asked={"calls_per_hour": 2}, store=loop.store, state=loop.state, t=rig.t + MINUTE, most=3).start("r2")
    assert isinstance(again.check(), End)
    assert ended(again) == (0, "plan_complete")
