"""The loop's behaviour, case by case: what the agent says and changes, and what the loop does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from guard.loop import status
from guard.loop.command import Call, Enter
from guard.loop.events import Alert, BreakerChanged, HoldChanged
from guard.loop.facts import Directive, UsageLimit, Verification
from guard.loop.state import CLOSED, HALF_OPEN, OPEN
from tests.loop.rig import MINUTE, START, TASKS, It, Rig, times

IP = It(status="in_progress", exit_signal=False)
EDIT = replace(IP, edit=1)
DONE = It(status="complete", exit_signal=True)
FAIL = It(exit=1)
TIMEOUT = It(exit=124)
QUESTION = It(question=True)
BOOM = It(errors=("Error: boom in parser",))
GOOD, BAD = Verification(True, 9), Verification(False, 8, 1)


@dataclass(frozen=True)
class Case:
    """Iterations, and how the run stands after them: exit (None: it goes on), the reason, breaker and hold."""

    iterations: tuple[It, ...]
    exit: int | None = None
    reason: str = ""
    calls: int | None = None  # all of the iterations, unless said
    breaker: str = CLOSED
    hold: str = ""
    tasks: tuple[str, ...] | None = TASKS
    asked: dict[str, Any] = field(default_factory=dict)
    more: Callable[[Rig], bool] = lambda rig: True


def counters(rig: Rig) -> dict[str, int]:
    return rig.judged()[-1].counters


def monitored(rig: Rig) -> bool:
    flags = [judged.counters["no_progress"] == 2 and judged.decision == "continue" for judged in rig.judged()]
    return flags == [False, True, False, False, True, False]


def refused(rig: Rig) -> bool:
    last = rig.state.last
    return last is not None and last.claim and last.refused == ("tasks_open",)


def circle(letters: str, at: int = -1) -> tuple[It, ...]:
    made = [replace(IP, approach=(letter,)) for letter in letters]
    return tuple(replace(one, done=("one",)) if number == at else one for number, one in enumerate(made))


CASES: dict[str, Case] = {
    "V01": Case((IP,) * 3, 1, "no_progress", breaker=OPEN),
    "V02": Case((EDIT,) * 6),
    "V06": Case((FAIL,) * 5, 1, "execution_failure", breaker=OPEN),
    "V10": Case((FAIL,), more=lambda rig: counters(rig)["execution_failure"] == 1),
    "V11": Case(
        (replace(TIMEOUT, limit=UsageLimit("5h", None, "text")),), more=lambda rig: rig.judged()[-1].outcome == "timeout"
    ),
    "V13": Case((TIMEOUT,), more=lambda rig: counters(rig)["execution_failure"] == 1),
    "V15": Case((It(status="complete", edit=1),), more=refused),
    "V16": Case((It(status="complete", exit_signal=False, edit=1),) * 5),
    "V18": Case((replace(DONE, edit=1),), more=refused),
    "V23": Case((replace(BOOM, edit=1),) * 5, 1, "same_error", breaker=OPEN),
    "V25": Case((*times(3, It(edit=1, lines=400)), It(lines=100)), 1, "output_decline", breaker=OPEN),
    "V26": Case((It(tests_edit=1, testing=True),) * 3, 1, "test_fix_loop", breaker=OPEN),
    "V27": Case(circle("ABAB"), 1, "circular", breaker=OPEN),
    "V29": Case((It(gaps=("rm -rf x",)),), more=lambda rig: status.status(rig.state)["last"]["gaps"] == ["rm -rf x"]),
    "V30": Case((QUESTION,) * 3, 3, "question", hold="question"),
    "V31": Case((It(harmed=(".ralph/fix_plan.md",)),), 4, "integrity", breaker=OPEN),
    "V41": Case((replace(DONE, edit=1, done=TASKS),), 0, "project_complete", asked={"iterations": 1}),
    "X01": Case((IP, IP, EDIT, IP, IP, IP), 1, "no_progress", breaker=OPEN, more=monitored),
    "X03": Case((QUESTION, FAIL, QUESTION, FAIL, QUESTION), 3, "question", hold="question"),
    "X03 similar": Case(
        (QUESTION, *(replace(one, similar=True) for one in (FAIL, QUESTION, FAIL, QUESTION))), 3, "question", hold="question"
    ),
    "X04": Case((replace(FAIL, edit=1),) * 5, 1, "execution_failure", breaker=OPEN),
    "X05": Case((FAIL,) * 4 + (EDIT,) + (FAIL,) * 4),
    "X06": Case((replace(TIMEOUT, edit=1),) * 6, more=lambda rig: {one.outcome for one in rig.judged()} == {"partial"}),
    "X11": Case(
        (
            replace(EDIT, edit=0, done=("one",)),
            replace(IP, opened=("one",)),
            replace(IP, done=("one",)),
            replace(IP, opened=("one",)),
        ),
        1,
        "no_progress",
        breaker=OPEN,
        more=lambda rig: sum(one.parts.get("completed", 0) for one in rig.judged()) == 5,
    ),
    "X15": Case((IP,) * 3, 1, "no_progress", breaker=OPEN, more=lambda rig: {one.score for one in rig.judged()} == {-3}),
    "X16": Case((*(replace(BOOM, edit=1),) * 4, EDIT, *(replace(BOOM, edit=1),) * 4)),
    "X17": Case(tuple(It(edit=1, errors=(f"{kind}Error: no",)) for kind in ("Type", "Value") * 4)),
    "X20": Case(
        (replace(FAIL, errors=("Error: no",)),) * 5,
        1,
        "execution_failure",
        breaker=OPEN,
        more=lambda rig: rig.state.breaker.also == ("same_error",) and rig.state.breaker.recovery == "explicit",
    ),
    "X21": Case(
        (*(replace(BOOM, edit=1),) * 3, BOOM),
        1,
        "negative_score",
        breaker=OPEN,
        more=lambda rig: [one.score for one in rig.judged()] == [1, -1, -1, -5],
    ),
    "X22": Case((*times(3, It(edit=1, lines=400)), It(lines=121))),
    "X22 trips": Case((*times(3, It(edit=1, lines=400)), It(lines=120)), 1, "output_decline", breaker=OPEN),
    "X23": Case((*times(3, It(edit=1, lines=15)), It(lines=1))),
    "X24": Case(
        (*times(3, It(edit=1, lines=400)), It(edit=1, lines=10)),
        more=lambda rig: "output" in rig.state.trends.active,
    ),
    "X26": Case((It(edit=1, testing=True),) * 4),
    "X27": Case((It(tests_edit=1),) * 3, 1, "test_fix_loop", breaker=OPEN),
    "X29": Case((It(tests_edit=1, testing=True, done=("one",)), It(tests_edit=1, testing=True, done=("two",)))),
    "X30": Case(circle("ABAB"), 1, "circular", breaker=OPEN),
    "X31": Case(circle("ABCABC"), 1, "circular", breaker=OPEN),
    "X33": Case(circle("ABAB", at=2)),
    "X34": Case(tuple(replace(IP, approach=(f"lock{n % 2}", f"src{n}")) for n in range(6))),
    "X36": Case((replace(QUESTION, edit=1),) * 6),
    "X38": Case((It(status="blocked", exit_signal=False),) * 3, 3, "blocked", hold="blocked"),
    "X39": Case((It(gaps=("x",)),) * 2, 3, "permission_denied", breaker=OPEN),
    "X39 edits": Case((It(gaps=("x",), edit=1),) * 3, 3, "permission_denied", breaker=OPEN),
    "X39 clean": Case((It(gaps=("x",), edit=1), EDIT, It(gaps=("x",), edit=1))),
    "X41": Case((It(refused=("specs",), edit=1),) * 3, 1, "repeated_refusal", breaker=OPEN),
    "X42": Case((replace(DONE, edit=1),) * 5, 3, "safety_circuit_breaker", hold="safety_circuit_breaker"),
    "X43": Case(
        (DONE,) * 4, 1, "no_progress", breaker=OPEN, more=lambda rig: [one.held for one in rig.judged()] == ["claim", "", "", ""]
    ),
    "X45": Case(
        (
            replace(IP, done=("one", "two"), gone=("three",), opened=("three a", "three b")),
            replace(DONE, done=("three a", "three b")),
        ),
        0,
        "project_complete",
    ),
    "X46": Case(
        (replace(DONE, done=TASKS, tests=BAD), replace(DONE, edit=1, tests=GOOD)), 0, "project_complete", asked={"verify": True}
    ),
    "X47": Case((replace(EDIT, done=TASKS),), 0, "plan_complete"),
    "X48": Case(
        (It(edit=1, signals=("done",)),) * 6, more=lambda rig: [one.vote for one in rig.judged()] == [0, 25, 25, 25, 25, 25]
    ),
    "X49": Case((replace(DONE, done=TASKS, tests=BAD),), 2, "iterations", asked={"iterations": 1, "verify": True}),
    "X53": Case((replace(DONE, done=TASKS, failing=True),)),
    "X64": Case((IP,) * 3, 1, "no_progress", breaker=OPEN, asked={"iterations": 3}),
    "X68": Case((EDIT,)),
    "X74": Case((replace(DONE, done=TASKS, harmed=("CLAUDE.md",)),), 4, "integrity", breaker=OPEN),
    "X78": Case((It(exit=None, ended="timeout"),), more=lambda rig: counters(rig)["execution_failure"] == 1),
    "vote without plan": Case(
        (
            It(edit=1, signals=("done",)),
            It(tests_edit=1, signals=("done",), strong=True),
            *(It(tests_edit=1, signals=("done",), strong=True),) * 2,
        ),
        0,
        "test_saturation",
        tasks=None,
    ),
    "claim without plan": Case((It(status="complete"),), 0, "weighted_vote", tasks=None),
    "claim without plan, verify fails": Case((replace(DONE, tests=BAD),), tasks=None, asked={"verify": True}),
    "explicit false blocks the vote": Case(
        (It(tests_edit=1, question=True, signals=("done",), strong=True, exit_signal=False),) * 3,
        3,
        "question",
        hold="question",
        tasks=None,
    ),
    "a plan without its file": Case((replace(DONE, edit=1, gone=TASKS),)),
}


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    case = CASES[name]
    rig = Rig(case.asked, case.tasks).start().play(case.iterations)
    assert (rig.end and rig.end.exit) == case.exit, rig.end
    assert not rig.end or rig.end.reason == case.reason
    assert len(rig.judged()) == len(case.iterations)
    assert rig.state.breaker.state == case.breaker
    assert (rig.state.hold.reason if rig.state.hold else "") == case.hold
    assert not rig.state.pending
    assert case.more(rig)


def tripped(**asked: Any) -> Rig:
    """A loop whose breaker is open since now."""
    return Rig(asked).start().play((IP,) * 3)


def test_v22_a_complete_plan_ends_before_the_first_call() -> None:
    rig = Rig(tasks=())
    rig.most = 3
    rig.start().check()
    assert rig.end is not None
    assert (rig.end.exit, rig.end.reason, rig.state.calls) == (0, "plan_complete", 0)


def test_a_complete_plan_whose_verification_fails_is_worked_on() -> None:
    rig = Rig({"verify": True}, tasks=())
    rig.most = 3
    assert isinstance(rig.start().check(), Call)


def test_v32_an_open_breaker_refuses_until_its_cooldown_is_over() -> None:
    rig = tripped().wait(29.9).start()
    rig.check()
    assert rig.end is not None
    assert (rig.end.exit, rig.end.reason) == (1, "no_progress")
    rig.wait(0.2).start()
    assert rig.check() == Call(probe=True, level=3)
    assert rig.state.breaker.state == HALF_OPEN


def test_v34_warning_and_wait_at_the_calls_of_an_hour() -> None:
    rig = Rig({"calls_per_hour": 10, "iterations": 1000}).start()
    for _ in range(10):
        rig.one(replace(EDIT, minutes=0))
    assert "calls_left" in rig.state.trends.active
    answer = rig.wait(10).check()
    assert isinstance(answer, Enter)
    assert (answer.state, answer.until) == ("WAIT_CALLS", START + 60 * MINUTE)
    assert answer.deadline == START + 60 * MINUTE + 5000
    rig.t = START + 60 * MINUTE - 1
    assert isinstance(rig.check(), Enter)
    rig.t += 1
    assert isinstance(rig.check(), Call)
    assert all(event.body.used < event.body.limit for event in rig.events if event.body.name == "call_reserved")


def test_x50_signals_of_an_earlier_run_end_nothing() -> None:
    rig = Rig(tasks=None).start().play((It(edit=1, signals=("done",), strong=True),) * 2)
    rig.start().play((It(edit=1, signals=("done",), strong=True),))
    assert rig.end is None
    assert rig.judged()[-1].vote == 15


def test_x55_a_probe_that_was_lost_opens_again_for_twice_as_long() -> None:
    rig = tripped().wait(30).start()
    assert isinstance(rig.check(), Call)
    rig.reserve(IP)
    rig.start().check()
    assert rig.judged()[-1].outcome == "lost"
    assert rig.end is not None
    assert rig.end.exit == 1
    assert (rig.state.breaker.state, rig.state.breaker.cooldown_s) == (OPEN, 3600)


def test_x58_a_trip_while_it_is_watched_escalates() -> None:
    rig = tripped().wait(30).start().play((EDIT,))
    assert (rig.state.breaker.state, rig.state.breaker.watch) == (CLOSED, 3)
    rig.play((IP,) * 3)
    assert rig.end is not None
    assert (rig.end.exit, rig.state.breaker.escalated, status.mode(rig.state)) == (3, True, "rescue_wait")
    rig.wait(600).start().check()
    assert rig.end is not None
    assert rig.end.exit == 3
    rig.record(BreakerChanged(OPEN, OPEN, recovery="auto", actor="person", reason="fixed"))
    assert status.mode(rig.state) == "paused"
    assert rig.start().check() == Call(probe=True, level=3)


def test_x60_a_clock_that_goes_back_never_opens_the_way() -> None:
    rig = tripped().wait(-120).start()
    rig.check()
    assert rig.end is not None
    assert rig.state.breaker.opened_at == rig.t
    assert rig.state.alerts[-1]["kind"] == "clock"
    assert rig.wait(30).start().check() == Call(probe=True, level=3)


def test_x62_a_reset_allows_one_probe_and_to_closed_starts_over() -> None:
    rig = tripped()
    rig.record(BreakerChanged(OPEN, HALF_OPEN, actor="person", reason="looked at it"))
    assert rig.start().check() == Call(probe=True, level=3)
    rig = tripped()
    rig.record(BreakerChanged(OPEN, CLOSED, actor="person", reason="looked at it"))
    assert (rig.state.breaker.state, rig.state.breaker.watch, rig.state.breaker.opens) == (CLOSED, 3, 1)
    assert rig.state.memory.count("no_progress") == 0


def test_nobody_resets_without_a_name() -> None:
    rig = tripped()
    for after in (HALF_OPEN, CLOSED, OPEN):
        rig.record(BreakerChanged(OPEN, after, recovery="auto"))
        assert rig.state.breaker.state == OPEN


def test_x65_with_wait_one_process_sleeps_probes_and_goes_on() -> None:
    rig = tripped(wait=True)
    assert rig.end is None
    assert rig.waits[-1].state == "COOLDOWN"
    assert rig.waits[-1].until == rig.t + 30 * MINUTE
    rig.wait(30).play((EDIT, EDIT))
    assert (rig.end, rig.state.breaker.state) == (None, CLOSED)


def test_x67_a_limit_that_should_be_over_is_waited_for_twelve_times() -> None:
    rig = Rig({"iterations": 1000}).start()
    for _ in range(20):
        answer = rig.one(replace(FAIL, minutes=0, limit=UsageLimit("5h", START - 1, "text")))
        if rig.end is not None:
            break
        assert isinstance(answer, Enter)
        assert answer.until == rig.t + 5 * MINUTE
        rig.wait(5)
    assert rig.end is not None
    assert (rig.end.exit, len(rig.waits), rig.state.calls) == (2, 12, 12)
    assert not any(counters(rig).values())


def test_v07_a_usage_limit_is_waited_for_until_its_time() -> None:
    rig = Rig().start()
    answer = rig.one(replace(FAIL, limit=UsageLimit("5h", START + 90 * MINUTE, "event")))
    assert isinstance(answer, Enter)
    assert answer.state == "WAIT_USAGE"
    assert answer.until is not None
    assert START + 90 * MINUTE <= answer.until < START + 91 * MINUTE
    assert rig.judged()[-1].outcome == "limited"
    rig.t = START + 89 * MINUTE
    assert isinstance(rig.check(), Enter)
    assert isinstance(rig.start("again").check(), Enter)
    rig.t = answer.until
    assert isinstance(rig.check(), Call)


@pytest.mark.parametrize("resets", [None, START + 9 * 24 * 60 * MINUTE])
def test_an_unknown_reset_time_is_an_hour_then_five_minutes(resets: int | None) -> None:
    rig = Rig().start()
    for minutes in (60, 5, 5):
        answer = rig.one(replace(FAIL, minutes=0, limit=UsageLimit("5h", resets, "event")))
        assert isinstance(answer, Enter)
        assert answer.until == rig.t + minutes * MINUTE
        rig.wait(minutes)


def test_x72_a_wait_beyond_the_run_ends_it_at_once() -> None:
    rig = Rig({"calls_per_hour": 2, "runtime_s": 600}).start().play((EDIT,) * 2)
    rig.check()
    assert rig.end is not None
    assert (rig.end.exit, rig.end.reason) == (2, "runtime")


def test_x85_a_hold_and_the_gate_never_overwrite_each_other() -> None:
    rig = Rig().start()
    rig.record(HoldChanged("", "paused", "user", "lunch", "person"))
    answer = rig.check("gate_closed")
    assert isinstance(answer, Enter)
    assert (answer.state, answer.why) == ("WAIT_GATE", "skipped_system_paused")
    assert status.pause(rig.state) is not None
    assert status.status(rig.state)["gate"] == "paused"
    answer = rig.check()
    assert isinstance(answer, Enter)
    assert (answer.state, answer.why) == ("HELD", "lunch")
    rig.record(HoldChanged("paused", "", "user", "back", "person"))
    assert isinstance(rig.check("gate_closed"), Enter)
    assert isinstance(rig.check(), Call)


def test_x88_directives_do_what_an_agent_may() -> None:
    rig = Rig().start()
    rig.one(replace(EDIT, directives=(Directive("resume", "x", "an agent may not resume"),)))
    assert rig.state.hold is None
    assert rig.state.alerts[-1]["kind"] == "directive"
    answer = rig.one(replace(EDIT, directives=(Directive("pause", "lunch"),)))
    assert isinstance(answer, Enter)
    assert answer.state == "HELD"
    assert rig.state.hold is not None
    assert (rig.state.hold.kind, rig.state.hold.value) == ("agent", "paused")
    rig = Rig().start().play((replace(EDIT, directives=(Directive("rescue", "help"),)),))
    assert rig.end is not None
    assert (rig.end.exit, status.mode(rig.state)) == (3, "rescue_wait")
    rig = Rig().start()
    rig.one(replace(EDIT, directives=(Directive("mode", "careful"),)))
    assert rig.state.mode == "manual"
    assert isinstance(rig.check(), Enter)


def test_x89_a_pause_before_the_first_run_is_obeyed() -> None:
    rig = Rig()
    rig.record(HoldChanged("", "paused", "user", "not yet", "person"))
    answer = rig.start().check()
    assert isinstance(answer, Enter)
    assert (answer.state, answer.deadline) == ("HELD", rig.t + 24 * 60 * MINUTE)
    rig.record(HoldChanged("paused", "", "user", "now", "person"))
    assert isinstance(rig.check(), Call)


def test_x90_status_after_a_trip() -> None:
    found = status.status(tripped().state)
    assert (found["status"], found["mode"]) == ("circuit_open", "paused")
    assert (found["pause"]["class"], found["pause"]["reason"]) == ("error_loop", "no_progress")
    assert found["breaker"]["recovery"] == "auto"
    assert found["breaker"]["probe_at"] == "2026-11-30T12:33:00.000Z"
    assert found["exit"] == {"code": 1, "reason": "no_progress"}


def test_v37_an_interrupted_iteration_counts_for_nothing() -> None:
    from guard.loop.events import Asked

    rig = tripped().wait(30).start()
    assert isinstance(rig.check(), Call)
    rig.reserve(IP)
    rig.record(Asked("kill", "person", "SIGINT"), rig.state.run.n if rig.state.run else None)
    rig.finish(replace(IP, exit=None, ended="stop"))
    assert rig.end is not None
    assert (rig.end.exit, rig.end.status) == (130, "interrupted")
    assert (rig.state.breaker.state, rig.state.breaker.probe_used) == (HALF_OPEN, False)


@pytest.mark.parametrize(("verb", "why", "code"), [("stop", "", 130), ("drain", "SIGINT", 130), ("kill", "SIGTERM", 143)])
def test_an_end_that_was_asked_for_comes_after_the_iteration(verb: str, why: str, code: int) -> None:
    from guard.loop.events import Asked

    rig = Rig().start()
    rig.check()
    rig.reserve(EDIT)
    rig.record(Asked(verb, "person", why))
    rig.finish(EDIT)
    assert rig.end is not None
    assert rig.end.exit == code
    assert rig.judged()[-1].decision == "stop"


def test_alerts_come_once_an_episode() -> None:
    rig = Rig().start().play((*(QUESTION,) * 2, It(edit=1, tests=GOOD), *times(2, QUESTION), EDIT))
    assert [event.body.kind for event in rig.events if isinstance(event.body, Alert)].count("no_file") == 0
    rig = Rig({"iterations": 99}).start().play((QUESTION, FAIL, QUESTION, FAIL, EDIT, FAIL, FAIL, FAIL))
    kinds = [event.body.kind for event in rig.events if isinstance(event.body, Alert)]
    assert kinds.count("no_file") == 2
