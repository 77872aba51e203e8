"""The loop's smaller parts: settings, limits, retries, score, risk, lifecycle, texts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from guard.errors import GuardError
from guard.loop import gatekeeper, lifecycle, limits, similarity, texts
from guard.loop.breaker import cooldown
from guard.loop.command import Call, Do, End, Enter, Write
from guard.loop.derived import iteration, lines
from guard.loop.events import Alert, BreakerChanged, CallReserved, Entered, HoldChanged, LevelChanged, ModeChanged
from guard.loop.facts import Directive, Verification
from guard.loop.settings import STRICTER, Config, settle
from guard.loop.state import CLOSED, OPEN, Breaker
from tests.loop.rig import MINUTE, START, It, Rig, times


@pytest.mark.parametrize(
    ("asked", "name", "value"),
    [
        ({"no_progress": 2}, "no_progress", 2),
        ({"no_progress": 9}, "no_progress", 3),
        ({"permission": 3}, "permission", 2),
        ({"cooldown_s": 60}, "cooldown_s", 1800),
        ({"cooldown_s": 7200}, "cooldown_s", 7200),
        ({"profile": "complex"}, "test_loops", 4),
        ({"profile": "simple"}, "test_loops", 2),
        ({"profile": "complex", "test_loops": 5}, "test_loops", 4),
        ({"output_decline": 90}, "output_decline", 70),
        ({"output_decline": 50}, "output_decline", 50),
        ({"done": 1}, "done", 2),
        ({"calls_per_hour": 5000}, "calls_per_hour", 5000),
    ],
)
def test_thresholds_may_be_stricter_never_looser(asked: dict[str, Any], name: str, value: int) -> None:
    found = settle(asked)
    assert getattr(found.config, name) == value
    assert bool(found.warnings) == (name in asked and asked[name] != value)
    assert found.loosened == ()


def test_unsafe_loosens_and_says_so_but_never_the_cooldown() -> None:
    found = settle({"no_progress": 9, "cooldown_s": 1, "same_error": 4}, unsafe=True)
    assert (found.config.no_progress, found.config.cooldown_s, found.config.same_error) == (9, 1800, 4)
    assert found.loosened == ("no_progress=9",)
    assert len(found.warnings) == 1


@pytest.mark.parametrize(
    "asked",
    [
        *({"calls_per_hour": value} for value in (0, -1, "abc", 1.5, True, None)),
        *({name: 0} for name in ("no_progress", "iterations", "timeout_s", "runtime_s")),
        *(
            {"profile": "huge"},
            {"on_limit": "no"},
            {"wait": 1},
            {"cost_usd": -1},
            {"cost_usd": "x"},
            {"no_such": 1},
            {"timeout_s": 7201},
        ),
    ],
)
def test_a_value_that_makes_no_sense_says_so(asked: dict[str, Any]) -> None:
    with pytest.raises(GuardError) as error:
        settle(asked, sources=dict.fromkeys(asked, "guard.toml:3"))
    assert error.value.code == 64
    assert error.value.todo
    assert error.value.where == "guard.toml:3"


def test_everything_is_finite_by_default() -> None:
    config = Config()
    for name in (*STRICTER, "calls_per_hour", "iterations", "runtime_s", "timeout_s"):
        assert 0 < getattr(config, name) < 10**9


def test_the_window_rolls_and_never_admits_more() -> None:
    rig = Rig({"calls_per_hour": 3, "iterations": 1000}).start()
    admitted = []
    for _ in range(400):
        answer = rig.check()
        if isinstance(answer, Call):
            rig.reserve(It(edit=1))
            admitted.append(rig.t)
            rig.finish(It(edit=1, minutes=0))
        rig.wait(1)
    for at in admitted:
        assert sum(at - 60 * MINUTE < other <= at for other in admitted) <= 3
    assert len(admitted) >= 19


def test_reservations_in_the_future_count() -> None:
    rig = Rig({"calls_per_hour": 2}).start().play(times(2, It(edit=1)))
    rig.wait(-500)
    assert isinstance(rig.check(), Enter)


def test_tokens_are_limited_in_the_same_window() -> None:
    rig = Rig({"tokens_per_hour": 1000}).start().play((It(edit=1, tokens=600), It(edit=1, tokens=600)))
    answer = rig.check()
    assert isinstance(answer, Enter)
    assert (answer.state, answer.why, answer.until) == ("WAIT_CALLS", "tokens", START + 60 * MINUTE)
    rig.t = START + 60 * MINUTE
    assert isinstance(rig.check(), Call)


def test_a_transport_error_is_repeated_three_times_within_the_iteration() -> None:
    rig = Rig().start()
    lost = It(exit=1, api_status="529", minutes=0)
    assert isinstance(rig.check(), Call)
    rig.reserve(lost)
    for delay in limits.RETRIES_S:
        assert rig.finish(lost) == Do("retry", delay)
        rig.reserve(lost, retry=True)
    rig.finish(lost)
    assert len(rig.judged()) == 1
    assert rig.judged()[-1].counters["execution_failure"] == 1
    assert rig.state.calls == 4
    assert rig.state.run is not None
    assert rig.state.run.n == 1


@pytest.mark.parametrize(
    "status", ["408", "425", "429", "500", "503", "529", "overloaded", "refused", "reset", "EAGAIN", "ETXTBSY"]
)
def test_what_a_transport_error_is(status: str) -> None:
    rig = Rig().start()
    rig.check()
    rig.reserve(It())
    assert rig.finish(It(exit=1, api_status=status)) == Do("retry", 5)


@pytest.mark.parametrize(
    "it", [It(exit=1), It(exit=1, api_status="400"), It(exit=124, ended="timeout", api_status="529"), It(api_status="529")]
)
def test_what_none_is(it: It) -> None:
    rig = Rig().start()
    rig.check()
    rig.reserve(It())
    assert not isinstance(rig.finish(it), Do)


def test_no_retries_once_calls_are_scarce() -> None:
    rig = Rig({"calls_per_hour": 5, "iterations": 50}).start().play(times(3, It(edit=1)))
    rig.check()
    rig.reserve(It())
    assert not isinstance(rig.finish(It(exit=1, api_status="529")), Do)


def test_economy_leaves_ten_minutes_between_calls() -> None:
    rig = Rig().start().play((It(edit=1, minutes=0),))
    rig.record(LevelChanged(3, 1))
    answer = rig.check()
    assert isinstance(answer, Enter)
    assert answer.until == START + 10 * MINUTE
    rig.wait(10)
    assert rig.check() == Call(probe=False, level=1)


def test_confirm_holds_after_each_change() -> None:
    rig = Rig().start()
    rig.record(LevelChanged(3, 2))
    answer = rig.one(It(edit=1))
    assert isinstance(answer, Enter)
    assert (answer.state, answer.why) == ("HELD", "confirm")


@pytest.mark.parametrize("verb", ["pause", "mode", ""])
def test_what_the_agent_asks_for_spares_nobody_the_confirmation_of_its_changes(verb: str) -> None:
    rig = Rig({"level": 2}).start()
    asked = (Directive(verb, "tea"),) if verb else ()
    rig.one(It(edit=1, directives=asked))
    assert rig.state.hold is not None
    assert (rig.state.hold.kind, rig.state.hold.reason) == ("user", "confirm")
    assert rig.state.mode == ("manual" if verb == "mode" else "auto")


def test_a_rescue_ranks_higher_than_a_confirmation() -> None:
    rig = Rig({"level": 2}).start()
    rig.one(It(edit=1, directives=(Directive("rescue", "lost"),)))
    assert rig.state.hold is not None
    assert (rig.state.hold.value, rig.state.hold.reason) == ("rescue_wait", "lost")


def test_the_changes_of_a_probe_are_confirmed_too() -> None:
    rig = Rig({"level": 2}).start().play(times(3, It())).wait(30).start()
    answer = rig.one(It(edit=1))
    assert isinstance(answer, Enter)
    assert (rig.state.breaker.state, answer.state, answer.why) == (CLOSED, "HELD", "confirm")


@pytest.mark.parametrize(("it", "state"), [(It(), CLOSED), (It(question=True), OPEN), (It(claim=True), OPEN)])
def test_a_probe_that_is_held_has_failed_whatever_its_score(it: It, state: str) -> None:
    rig = Rig().start().play(times(3, It())).wait(30).start()
    rig.one(replace(it, tests_edit=1, tests=Verification(False, resolved=2)))
    assert (rig.judged()[-1].score, rig.state.breaker.state) == (4, state)


def test_a_manual_loop_waits_for_each_iteration() -> None:
    rig = Rig()
    rig.record(ModeChanged("auto", "manual", reason="x", actor="person"))
    answer = rig.start().check()
    assert isinstance(answer, Enter)
    assert answer.state == "HELD"
    rig.record(HoldChanged("", "", "user", "once", "person"))
    rig.one(It(edit=1))
    assert len(rig.judged()) == 1
    assert isinstance(rig.check(), Enter)


@pytest.mark.parametrize(
    ("asked", "played", "reason"),
    [
        ({"iterations": 2}, times(5, It(edit=1)), "iterations"),
        ({"runtime_s": 120}, times(5, It(edit=1)), "runtime"),
        ({"cost_usd": 1.0}, times(5, It(edit=1, cost=0.6)), "cost"),
    ],
)
def test_each_limit_ends_the_run(asked: dict[str, Any], played: list[It], reason: str) -> None:
    rig = Rig(asked).start().play(played)
    assert rig.end == End("limit", 2, reason)
    assert len(rig.judged()) == 2


def test_a_reservation_is_refused_when_the_limit_came_in_between() -> None:
    rig = Rig({"calls_per_hour": 1}).start()
    assert isinstance(rig.check(), Call)
    rig.reserve(It())
    rig.finish(It(edit=1))
    assert isinstance(gatekeeper.reservation(rig.state, rig.t, CallReserved(0, 0, 0)), Enter)


def test_a_pause_for_a_time_ends_with_it() -> None:
    rig = Rig().start()
    rig.record(HoldChanged("", "paused", "user", "lunch", "person", rig.t + 30 * MINUTE))
    answer = rig.check()
    assert isinstance(answer, Enter)
    assert answer.until == rig.t + 30 * MINUTE
    rig.wait(30)
    *_, answer = rig.record(Entered("CHECK", rig.t))
    assert isinstance(answer, Call)
    assert rig.state.hold is None


def test_a_later_hold_replaces_only_what_ranks_lower() -> None:
    rig = Rig()
    for value, kind, stands in (
        *(("paused", "agent", "agent"), ("paused", "user", "user"), ("paused", "agent", "user"), ("paused", "rescue", "rescue")),
        *(("paused", "user", "rescue"), ("rescue_wait", "agent", "agent"), ("paused", "rescue", "agent")),
    ):
        rig.record(HoldChanged("", value, kind, "x", "y"))
        assert rig.state.hold is not None
        assert rig.state.hold.kind == stands


def test_every_state_has_a_deadline_and_what_follows() -> None:
    for name, phase in lifecycle.TABLE.items():
        assert phase.forced in lifecycle.TABLE, name
        assert phase.status or name == "END"


def test_a_passed_deadline_forces_what_the_table_says() -> None:
    rig = Rig().start()
    assert gatekeeper.forced(rig.state, rig.t + 60_000) == []
    assert gatekeeper.forced(rig.state, rig.t + 60_001) == [End("error", 70, "start_overdue")]
    rig.play((It(edit=1),))
    rig.record(HoldChanged("", "paused", "user", "lunch", "person"))
    rig.check()
    assert gatekeeper.forced(rig.state, rig.t + 24 * 60 * MINUTE - 61_000) == []
    write, end = gatekeeper.forced(rig.state, rig.t + 25 * 60 * MINUTE)
    assert isinstance(write, Write)
    assert end == End("paused", 3, "lunch")
    rig.record(write.body)
    assert rig.state.hold is not None
    assert rig.state.hold.value == "rescue_wait"


@pytest.mark.parametrize(
    ("it", "parts"),
    [
        (It(), {"unchanged": -3}),
        (It(edit=9), {"changed": 5}),
        (
            It(edit=1, tests=Verification(True, 9, newly_passing=2, resolved=7)),
            {"newly_passing": 6, "changed": 1, "resolved": 10},
        ),
        (It(tests_edit=2, tests=Verification(True, 9, newly_passing=2)), {}),
        (It(done=("one",)), {"completed": 5, "unchanged": -3}),
        (It(edit=1, reverted=True), {"changed": 1, "reverted": -1}),
        (It(tests_edit=4, edit=1), {"changed": 5}),
        (It(tests_edit=9, edit=2), {}),
    ],
)
def test_each_part_of_the_score(it: It, parts: dict[str, int]) -> None:
    assert Rig().start().play((it,)).judged()[-1].parts == parts


def test_the_second_same_error_costs_two() -> None:
    rig = Rig().start().play(times(2, It(edit=1, errors=("Error: x",))))
    assert [judged.score for judged in rig.judged()] == [1, -1]


@pytest.mark.parametrize(
    ("played", "risk"),
    [
        ((It(edit=1, done=("one",)),), "LOW"),
        ((It(edit=1), It(exit=1)), "LOW"),
        ((It(edit=1), It(edit=1, exit=1, hints=("try again later",))), "LOW"),
        ((It(edit=1, exit=1), It(edit=1, exit=1)), "MEDIUM"),
        ((It(),), "MEDIUM"),
        ((It(), It()), "HIGH"),
        ((It(edit=1, gaps=("x",)),), "MEDIUM"),
        ((*times(3, It(edit=1, exit=1)), It(edit=1, exit=1)), "HIGH"),
        ((*times(2, It(edit=1, exit=1)), It(edit=1, exit=1, hints=("x",))), "HIGH"),
    ],
)
def test_risk_is_the_largest_share_of_a_threshold(played: tuple[It, ...], risk: str) -> None:
    assert Rig().start().play(played).judged()[-1].risk == risk


def test_the_entry_of_an_iteration_has_its_exact_form() -> None:
    rig = Rig().start().play((It(edit=2, done=("one",), tests=Verification(False, 12, 1)),))
    assert rig.state.last is not None
    assert iteration(rig.state.last, 1_796_062_502_123) == (
        "## Iteration 1 — 2026-11-30T18:15:02Z\n"
        "- Circuit state: CLOSED\n"
        "- Tasks completed: 1\n"
        "- Files modified: src/0.py, src/1.py\n"
        "- Tests: 12 passed, 1 failed, 0 skipped\n"
        "- Errors encountered: none\n"
        "- Progress score: +7\n"
        "- API calls remaining: 99\n"
        "- Stagnation risk: LOW\n\n"
    )


def test_what_was_not_measured_says_so() -> None:
    rig = Rig().start().play((It(errors=("Error: a\nb",)),))
    assert rig.state.last is not None
    text = iteration(rig.state.last, START)
    assert "- Files modified: none\n- Tests: 0 passed, 0 failed, 0 skipped (not run)\n- Errors encountered: Error: a b\n" in text


def test_nothing_that_an_agent_says_forges_a_line_of_the_log_or_reaches_a_terminal() -> None:
    forged = "tea\x1b]0;x\x07\x1b[31m\u202e\n[2026-11-30T12:00:00Z] [INFO] exit 0 (complete)"
    rig = Rig().start().play((It(edit=1, errors=(forged,), directives=(Directive("pause", forged),)),))
    written = [text for event in rig.events for _, text in lines(rig.state, event, rig.state) if not text.startswith("{")]
    assert any("\\x1b]0;x" in text for text in written)
    told = "".join(written)
    assert not set("\x1b\x07\u202e") & set(told)
    assert not any(line.startswith("[") and "[INFO] exit 0" in line[:40] for line in told.split("\n"))


@pytest.mark.parametrize(("doublings", "minutes"), [(0, 30), (1, 60), (2, 120), (6, 1440), (10_000, 1440)])
def test_the_cooldown_doubles_up_to_a_day(doublings: int, minutes: int) -> None:
    assert cooldown(1800, doublings) == 60 * minutes


def test_four_failed_probes_ask_the_user_and_three_good_iterations_start_over() -> None:
    rig = Rig().start().play(times(3, It()))
    seen = []
    for _ in range(3):
        rig.wait(rig.state.breaker.cooldown_s / 60 + 1).start().play((It(),))
        breaker = rig.state.breaker
        seen.append((breaker.strategy, breaker.cooldown_s // 60, breaker.escalated))
    assert seen == [(2, 60, False), (3, 120, False), (4, 240, True)]
    assert rig.end is not None
    assert rig.end.exit == 3
    rig = Rig().start().play(times(3, It())).wait(30).start().play((It(),)).wait(60).start()
    rig.play(times(4, It(edit=1)))
    assert rig.state.breaker == Breaker(opens=1)


def test_every_kind_of_advice_has_four_strategies() -> None:
    from guard.loop.detectors import TABLE

    assert {row.advice for row in TABLE} - {""} == set(texts.STRATEGIES)
    assert all(len(found) == 4 and all(found) for found in texts.STRATEGIES.values())
    assert "three" in texts.strategy(Breaker(cause="no_progress", strategy=2))
    assert texts.strategy(Breaker(cause="integrity", strategy=1)) == ""


def test_fixed_texts() -> None:
    assert texts.tripped("same_error", 5) == "Same error repeated in 5 consecutive loops"
    assert texts.tripped("no_progress", 3) == "No progress detected in 3 consecutive loops"
    assert texts.countdown(3909) == "01:05:09"
    assert texts.START.endswith("断路器已启用——正在监控停滞、速率限制和文件保护。")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("/a/b/x.py:12: Error: boom 3.5", "/c/x.py:99: Error: boom 4", True),
        ("2026-11-30 10:00:00 Error: at 0xdeadbeef", "2026-12-01T11:22:33Z Error: at 0xcafe", True),
        ("\x1b[31mError:\x1b[0m  boom", "error: boom", True),
        ("(see /a/b/c.log) Error: x", "(see /d/c.log) Error: x", True),
        ("Error: one", "Error: two", False),
        ("TypeError: x", "ValueError: x", False),
        (
            "Error: the parser did not find the closing bracket of a list in line",
            "Error: the parser did not find the closing bracket of a list in",
            True,
        ),
        ("e" * 10_000, "e" * 9_000, True),
    ],
)
def test_fingerprints_of_errors(one: str, other: str, same: bool) -> None:
    assert similarity.same_error(similarity.fingerprint(one), similarity.fingerprint(other)) == same


def test_a_run_that_goes_on_keeps_its_counts_and_a_new_one_does_not() -> None:
    rig = Rig({"iterations": 3}).start("r").play(times(2, It(edit=1)))
    rig.start("r", resumed=True).play(times(5, It(edit=1)))
    assert rig.end is not None
    assert len(rig.judged()) == 3
    rig.start("s").play(times(5, It(edit=1)))
    assert len(rig.judged()) == 6


def test_an_iteration_whose_facts_are_missing_has_failed() -> None:
    rig = Rig().start()
    rig.check()
    rig.reserve(It())
    rig.finish(replace(It(), exit=1, api_status="529"))
    rig.start()
    assert rig.judged()[-1].outcome == "failed"


def rate(passed: int) -> It:
    """An iteration whose tests pass so often out of a hundred."""
    return It(edit=1, tests=Verification(False, passed, 100 - passed))


def mistakes(count: int) -> It:
    """An iteration with so many error lines, none of which was there before."""
    return It(edit=1, errors=tuple(f"Error{'x' * number}{count}: {chr(97 + number)}" for number in range(count)))


ALERTS: dict[str, tuple[tuple[It, ...], tuple[It, ...]]] = {
    "same_task": (times(20, It(edit=1)), times(1, It(edit=1))),
    "nothing_completed": (times(2, It(edit=1)), times(1, It(edit=1))),
    "no_file": ((It(question=True), It(exit=1)), (It(exit=1),)),
    "pass_rate": ((rate(90), rate(80), rate(70)), (rate(60),)),
    "errors": ((mistakes(1), mistakes(2), mistakes(3)), (mistakes(4),)),
    "output": (times(3, It(edit=1, lines=400)), (It(edit=1, lines=120),)),
    "score": ((It(exit=1), It(question=True)), (It(exit=1),)),
    "test_share": (times(3, It(edit=1)) + times(1, It(tests_edit=1)), (It(tests_edit=1),)),
}


@pytest.mark.parametrize("kind", ALERTS)
def test_each_alert_comes_at_its_threshold_and_once_an_episode(kind: str) -> None:
    before, last = ALERTS[kind]
    rig = Rig({"iterations": 500}).start().play(before)

    def told() -> int:
        return sum(isinstance(event.body, Alert) and event.body.kind == kind for event in rig.events)

    assert told() == 0
    rig.play(last)
    assert told() == 1
    if kind in ("same_task", "nothing_completed", "test_share"):
        rig.play(last)
        assert told() == 1
    rig.play((It(edit=1, done=("one",)), It(edit=1, done=("two",)), *before, *last))
    assert told() == (1 if kind == "test_share" else 2)


def test_changes_by_others_are_told_unless_the_loop_stood_still() -> None:
    def told(rig: Rig) -> int:
        return sum(isinstance(event.body, Alert) and event.body.kind == "external_change" for event in rig.events)

    other = It(edit=1, external=("README.md",))
    rig = Rig().start().play((other,))
    assert told(rig) == 0
    rig.play((other,))
    assert told(rig) == 1
    rig.record(HoldChanged("", "paused", "user", "lunch", "person"))
    rig.record(HoldChanged("paused", "", "user", "back", "person"))
    rig.play((other,))
    assert told(rig) == 1
    assert told(rig.start().play((other, other))) == 2


def test_a_violation_between_iterations_counts_like_one_inside() -> None:
    harmed = It(harmed=("CLAUDE.md",)).measured(None)
    rig = Rig().start()
    (end,) = rig.record(harmed)
    assert end == End("integrity", 4, "integrity")
    assert (rig.state.breaker.state, rig.state.breaker.recovery) == ("OPEN", "explicit")
    rig = Rig().start()
    rig.record(HoldChanged("", "paused", "user", "lunch", "person"))
    assert rig.record(harmed) == []
    assert rig.state.breaker.state == "CLOSED"


def test_harm_while_the_breaker_is_open_needs_a_person() -> None:
    rig = Rig().start().play(times(3, It()))
    rig.start()
    rig.record(It(harmed=("CLAUDE.md",)).measured(None))
    breaker = rig.state.breaker
    assert (breaker.cause, breaker.recovery, breaker.exit) == ("integrity", "explicit", 4)
    assert "no_progress" in breaker.also


@pytest.mark.parametrize(
    ("cause", "recovery"), [(It(exit=1), "explicit"), (It(harmed=("CLAUDE.md",)), "explicit"), (It(), "auto")]
)
def test_a_reset_and_a_probe_that_fails_leave_what_needs_a_person_to_a_person(cause: It, recovery: str) -> None:
    rig = Rig().start().play(times(5, cause))
    rig.record(BreakerChanged("OPEN", "HALF_OPEN", actor="person", reason="looked at it"))
    before = rig.state.breaker.cause
    rig.start().play((It(),))
    breaker = rig.state.breaker
    assert (breaker.state, breaker.cause, breaker.recovery) == ("OPEN", before, recovery)
    assert isinstance(rig.wait(24 * 60).start().check(), End if recovery == "explicit" else Call)


def test_harm_in_a_probe_opens_again_and_needs_a_person() -> None:
    rig = Rig().start().play(times(3, It())).wait(31).start().play((It(edit=1, harmed=("CLAUDE.md",)),))
    breaker = rig.state.breaker
    assert (breaker.state, breaker.cause, breaker.recovery, breaker.cooldown_s) == ("OPEN", "integrity", "explicit", 3600)
    assert rig.end == End("integrity", 4, "integrity")


def test_harm_in_an_interrupted_iteration_is_harm() -> None:
    rig = Rig().start().play((It(exit=None, ended="stop", harmed=("CLAUDE.md",)),))
    assert rig.end == End("integrity", 4, "integrity")
