"""What may be asked of a loop, by whom, and what it does to it: a table of actor, verb and state, and mutants of the rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.loop import authority, control, gatekeeper, judge, lifecycle, orders, status
from guard.loop import breaker as circuit
from guard.loop.authority import INSIDE, OTHER, PERSON, Asker
from guard.loop.command import Call, End, Enter, Write
from guard.loop.control import Request
from guard.loop.detectors import HOLD, by_cause
from guard.loop.events import (
    BreakerChanged,
    CallReserved,
    ControlRefused,
    Entered,
    HoldChanged,
    LevelChanged,
    ModeChanged,
    Steered,
)
from guard.loop.facts import Directive, UsageLimit
from guard.loop.state import EXPLICIT, OPEN, State
from tests.loop.rig import MINUTE, It, Rig, times

ASKERS = (Asker(PERSON, "person"), Asker(OTHER, "ai"), Asker(INSIDE, "agent"))
HOUR = 60 * MINUTE
EDIT = It(edit=1)


def held(value: str, kind: str, reason: str = "lunch", actor: str = "x") -> Rig:
    rig = Rig().start()
    rig.record(HoldChanged("", value, kind, reason, actor))
    return rig


def lost() -> Rig:
    rig = Rig().start()
    rig.record(circuit.changed(rig.state.breaker, circuit.lost(rig.state.breaker, 1800, rig.t)))
    return rig


def manual() -> Rig:
    rig = Rig().start()
    rig.record(ModeChanged("auto", "manual"))
    return rig


STATES: dict[str, Callable[[], Rig]] = {
    "plain": lambda: Rig().start(),
    "user": lambda: held("paused", "user"),
    "agent": lambda: held("paused", "agent"),
    "rescue": lambda: held("paused", "rescue", "question", "guard"),
    "rescue_wait": lambda: held("rescue_wait", "rescue"),
    "user waits": lambda: held("rescue_wait", "user", "lunch", "guard"),
    "auto trip": lambda: Rig().start().play(times(3, It())).start(),
    "explicit trip": lambda: Rig().start().play(times(5, It(exit=1))).start(),
    "integrity": lambda: Rig().start().play((It(harmed=("CLAUDE.md",)),)).start(),
    "state_lost": lost,
    "manual": manual,
}
REQUESTS = {
    "pause": Request(control.PAUSE),
    "pause --now": Request(control.PAUSE, now=True),
    "resume": Request(control.RESUME),
    "resume --once": Request(control.RESUME, once=True),
    "mode manual": Request(control.MODE, value="manual"),
    "mode auto": Request(control.MODE, value="auto"),
    "stop": Request(control.STOP),
    "steer": Request(control.STEER, value="look at the tests first"),
    "curb": Request(control.CURB, "x", value="2"),
    "reset": Request(control.RESET, "x"),
    "reset --to-closed": Request(control.RESET, "x", closed=True),
}
# For a person, another program and an agent in a call: + it is done, 0 nothing changes, - it is refused, and that is noted.
TABLE: dict[str, dict[str, str]] = {
    "pause": dict.fromkeys(STATES, "+++")
    | {"user": "000", "agent": "+00", "rescue": "000", "rescue_wait": "000", "user waits": "000"},
    "pause --now": dict.fromkeys(STATES, "+--") | {"user": "0--", "rescue": "0--", "rescue_wait": "0--", "user waits": "0--"},
    "resume": {
        "plain": "000",
        "user": "+--",
        "agent": "++-",
        "rescue": "++-",
        "rescue_wait": "++-",
        "user waits": "+--",
        "auto trip": "000",
        "explicit trip": "++-",
        "integrity": "+--",
        "state_lost": "+--",
        "manual": "000",
    },
    "resume --once": {"plain": "000", "manual": "+--"},
    "mode manual": dict.fromkeys(STATES, "+++") | {"manual": "000"},
    "mode auto": dict.fromkeys(STATES, "0--") | {"manual": "+--"},
    "stop": dict.fromkeys(STATES, "++-"),
    "steer": dict.fromkeys(STATES, "+--"),
    "curb": dict.fromkeys(STATES, "+++"),
    "reset": dict.fromkeys(STATES, "+--") | {"plain": "0--", "manual": "0--"},
    "reset --to-closed": dict.fromkeys(STATES, "+--") | {"plain": "0--", "manual": "0--"},
}
_MADE: dict[str, State] = {}


@pytest.fixture(autouse=True, scope="module")
def _made_without_mutants() -> None:
    for name in STATES:
        state_of(name)


def state_of(name: str) -> State:
    if name not in _MADE:
        _MADE[name] = STATES[name]().state
    return _MADE[name]


def outcome(state: State, request: Request, asker: Asker) -> str:
    """What comes of it, as the table has it."""
    order = orders.of(state, request, asker, state.t)
    refused = [body for body in order.bodies if isinstance(body, ControlRefused)]
    if refused:
        assert len(order.bodies) == 1
        assert not order.answer.done
        assert not order.interrupts
        assert refused[0].actor == asker.name
        return "-"
    assert order.answer.said
    assert order.answer.done or not order.bodies
    return "+" if order.bodies else "0"


def the_table() -> None:
    for verb, row in TABLE.items():
        for name, expected in row.items():
            found = "".join(outcome(state_of(name), REQUESTS[verb], asker) for asker in ASKERS)
            assert found == expected, (verb, name)


def test_who_may_what_in_which_state() -> None:
    the_table()


def test_what_is_in_no_row_nobody_may() -> None:
    assert not any(authority.may(verb, asker, "user") for verb in ("reset", "fly", "") for asker in ASKERS)
    assert not authority.may("resume", ASKERS[0], "another cause")
    assert {verb for verb, _ in authority.RULES} >= set("pause rescue resume manual stop reset steer".split())


# --- holds


def ranks() -> None:
    order = [("paused", "agent"), ("paused", "user"), ("paused", "rescue"), ("rescue_wait", "agent")]
    for low, one in enumerate(order):
        for high, other in enumerate(order):
            rig = held(*one)
            rig.record(HoldChanged("", *other, "later", "y"))
            assert rig.state.hold is not None
            assert (rig.state.hold.reason == "later") == (high > low), (one, other)


def longer() -> None:
    rig = Rig().start()
    for until, stands in ((10, 10), (5, 10), (20, 20), (None, None), (30, None)):
        end = None if until is None else rig.t + until * MINUTE
        rig.record(HoldChanged("", "paused", "user", "lunch", "person", end))
        assert rig.state.hold is not None
        assert rig.state.hold.until == (None if stands is None else rig.t + stands * MINUTE)


def counters() -> None:
    """Lifting sets the counter that caused a hold to 0, and no other; a person's reason is no cause."""
    for cause, it in {
        "question": It(question=True),
        "blocked": It(status="blocked"),
        "safety_circuit_breaker": It(edit=1, status="complete", exit_signal=True, claim=True),
    }.items():
        rig = Rig().start().play(times(5, it))
        assert rig.state.hold is not None, cause
        assert rig.state.hold.reason == cause
        before = dict(rig.state.memory.counts)
        assert before[cause] > 0
        rig.record(HoldChanged("paused", "", "rescue", "settled", "person"))
        assert rig.state.memory.counts == before | {cause: 0}
    rig = Rig().start().play(times(2, It(question=True)))
    counts = dict(rig.state.memory.counts)
    assert counts["question"] == 2
    for kind, actor in (("user", "person"), ("agent", "agent"), ("rescue", "agent")):
        rig.record(HoldChanged("", "paused", kind, "question", actor))
        rig.record(HoldChanged("paused", "", kind, "on", "person"))
        assert rig.state.memory.counts == counts, kind


def deadlines() -> None:
    """How long each is waited for, and what that forces: it waits for rescue, and the run ends with 3."""
    for kind, reason, wait, minutes in (
        ("user", "lunch", False, 24 * 60),
        ("user", "confirm", False, 24 * 60),
        ("agent", "help", False, 30),
        ("rescue", "question", True, 30),
        ("rescue", "question", False, 0),
    ):
        rig = Rig({"wait": wait, "runtime_s": 48 * 3600}).start()
        rig.record(HoldChanged("", "paused", kind, reason, "guard"))
        answer = rig.check()
        if not minutes:
            assert answer == End("paused", 3, reason)
            continue
        assert isinstance(answer, Enter)
        assert (answer.state, answer.deadline) == ("HELD", rig.t + minutes * MINUTE)
        assert gatekeeper.forced(rig.state, answer.deadline) == []
        write, end = gatekeeper.forced(rig.state, answer.deadline + 1)
        assert isinstance(write, Write)
        rig.record(write.body)
        assert rig.state.hold is not None
        assert (rig.state.hold.value, rig.state.hold.kind, status.mode(rig.state)) == ("rescue_wait", kind, "rescue_wait")
        assert end == End("paused", 3, reason)
        assert rig.start().check() == End("paused", 3, reason)


def manual_waits() -> None:
    rig = Rig({"runtime_s": 48 * 3600})
    rig.record(ModeChanged("auto", "manual"))
    answer = rig.start().check()
    assert isinstance(answer, Enter)
    assert (answer.state, answer.deadline) == ("HELD", rig.t + 24 * HOUR)
    write, end = gatekeeper.forced(rig.state, answer.deadline + 1)
    assert (end, isinstance(write, Write)) == (End("paused", 3, "manual"), True)
    for _ in range(2):  # twice is not two iterations
        rig.record(HoldChanged("", "", "user", "once", "person"))
    assert isinstance(rig.check(), Call)
    rig.one(EDIT)
    assert isinstance(rig.check(), Enter)
    rig.record(HoldChanged("", "", "user", "once", "person"))
    limited = It(exit=1, limit=UsageLimit("5h", rig.t + HOUR, "event"))
    rig.one(limited)
    rig.wait(70)
    assert isinstance(rig.check(), Call), "an iteration that the client did not do has used up no permission"


def confirms() -> None:
    rig = Rig().start()
    rig.record(LevelChanged(3, 2))
    rig.one(EDIT)
    assert rig.state.hold is not None
    assert (rig.state.hold.kind, rig.state.hold.reason) == ("user", "confirm")
    assert outcome(rig.state, REQUESTS["resume"], ASKERS[1]) == "-"
    rig.record(HoldChanged("paused", "", "user", "fine", "person"))
    assert rig.one(It()) is not None
    assert rig.state.hold is None, "nothing has changed"


def modes_shown() -> None:
    expected = {
        "plain": "auto",
        "user": "paused",
        "agent": "paused",
        "rescue": "paused",
        "rescue_wait": "rescue_wait",
        "user waits": "rescue_wait",
        "auto trip": "paused",
        "explicit trip": "paused",
        "integrity": "rescue_wait",
        "state_lost": "paused",
        "manual": "manual",
    }
    assert {name: status.mode(state_of(name)) for name in STATES} == expected
    escalated = replace_breaker(state_of("auto trip"), escalated=True)
    assert status.mode(escalated) == "rescue_wait"


def replace_breaker(state: State, **values: Any) -> State:
    from guard.loop.record import replace as changed

    return changed(state, breaker=changed(state.breaker, **values))


def resuming() -> None:
    """An open breaker that a person resumes probes by itself from then on, after the rest of its cooldown."""
    rig = Rig().start().play(times(5, It(exit=1)))
    before = rig.state.breaker
    assert before.recovery == EXPLICIT
    order = orders.of(rig.state, REQUESTS["resume"], ASKERS[1], rig.t)
    rig.record(order.bodies[0])
    after = rig.state.breaker
    assert (after.state, after.recovery, after.cooldown_s, after.opened_at) == (OPEN, "auto", before.cooldown_s, before.opened_at)
    assert isinstance(rig.start().check(), End)
    rig.wait(31)
    assert isinstance(rig.start().check(), Call)


def after_a_time() -> None:
    """A pause for a time ends by itself, and what people did meanwhile is no harm."""
    rig = Rig().start().play((EDIT,))
    order = orders.of(rig.state, Request(control.PAUSE, "lunch", lasts_s=600), ASKERS[0], rig.t)
    rig.record(order.bodies[0])
    assert isinstance(rig.check(), Enter)
    rig.wait(9)
    assert isinstance(rig.check(), Enter)
    rig.wait(1)
    assert isinstance(rig.record(Entered("CHECK", rig.t))[-1], Call)
    assert rig.state.hold is None
    assert rig.state.parted


def the_gate_first() -> None:
    """Control, then the gate, then the hold; each as it was when the other is gone."""
    for name in ("user", "manual", "auto trip", "plain"):
        rig = STATES[name]()
        hold = rig.state.hold
        answer = rig.check(gatekeeper.CLOSED)
        assert isinstance(answer, Enter)
        assert (answer.state, answer.why, answer.deadline) == ("WAIT_GATE", "skipped_system_paused", rig.t + 24 * HOUR), name
        assert status.status(rig.state)["gate"] == "paused"
        assert rig.state.hold == hold
        assert gatekeeper.forced(rig.state, answer.deadline) == []
        assert gatekeeper.forced(rig.state, answer.deadline + 1) == [End("paused", 3, "wait_gate_overdue")]
    rig = Rig().start()
    rig.record(orders.of(rig.state, REQUESTS["stop"], ASKERS[0], rig.t).bodies[0])
    assert rig.check(gatekeeper.CLOSED) == End("stopped", 130, "stop")


def interrupted() -> None:
    """A pause --now: the call counts for nothing, and the run waits instead of ending."""
    rig = Rig().start().play(times(2, It()))
    counts = dict(rig.state.memory.counts)
    assert isinstance(rig.check(), Call)
    rig.reserve(It())
    rig.record(HoldChanged("", "paused", "user", "lunch", "person"))
    answer = rig.finish(It(exit=None, ended="stop"))
    assert isinstance(answer, Enter)
    assert answer.state == "CHECK"
    assert rig.state.last is not None
    assert (rig.state.last.outcome, rig.state.memory.counts) == ("interrupted", counts)
    answer = rig.check()
    assert isinstance(answer, Enter)
    assert (answer.state, answer.why) == ("HELD", "lunch")


def directed() -> None:
    """One reply, one decision; what an agent may not have is refused, noted and counted, whatever else the iteration was."""
    rig = Rig().start()
    rig.one(replace(EDIT, directives=(Directive("pause", "first"), Directive("rescue", "second"))))
    assert rig.state.hold is not None
    assert (rig.state.hold.value, rig.state.hold.reason, rig.state.hold.kind) == ("paused", "first", "agent")
    wrong = (Directive("resume", "x", "an agent may ask for pause, rescue, mode only"), Directive("pause", error="not JSON"))
    for it in (replace(EDIT, directives=wrong), It(exit=1, directives=wrong), It(harmed=("CLAUDE.md",), directives=wrong)):
        rig = Rig().start().play((it,))
        refused = [event.body for event in rig.events if isinstance(event.body, ControlRefused)]
        assert [(body.verb, body.actor) for body in refused] == [("resume", "agent")]
        assert rig.state.refused == 1
        assert [alert["kind"] for alert in rig.state.alerts].count("directive") == 2
        assert rig.state.hold is None
        assert not rig.state.pending
    for verb in ("pause", "rescue", "manual"):
        assert authority.may(verb, ASKERS[2])


def steered() -> None:
    """A person's words stay until a call has heard them: also through a call that is repeated, or that the client did not do."""
    from guard.loop.prompt import steered as told

    rig = Rig().start()
    rig.record(Steered("look at the tests", "person"))
    rig.record(Steered("be brief", "person", keep=True))
    assert told("work", rig.state).count("The user says: ") == 2
    assert isinstance(rig.check(), Call)
    rig.reserve(It())
    assert "look at the tests" in told("work", rig.state), "a call that is repeated"
    rig.record(Steered("and the lexer", "person"))
    assert told("work", rig.state).count("The user says: ") == 3
    rig.finish(It(exit=1, limit=UsageLimit("5h", rig.t + HOUR, "event")))
    assert told("work", rig.state).count("The user says: ") == 3
    rig.wait(70).one(EDIT)
    assert told("work", rig.state) == "work\n\n---\n- The user says: be brief\n"
    rig.record(orders.of(rig.state, Request(control.STEER), ASKERS[0], rig.t).bodies[0])
    assert told("work", rig.state) == "work"


CHECKS: dict[str, Callable[[], None]] = {
    check.__name__: check
    for check in (
        *(the_table, ranks, longer, counters, deadlines, manual_waits, confirms, modes_shown, resuming, after_a_time),
        *(the_gate_first, interrupted, directed, steered),
    )
}


@pytest.mark.parametrize("check", [name for name in CHECKS if name != "the_table"])
def test_holds_modes_and_gate(check: str) -> None:
    CHECKS[check]()


# --- mutants of these rules


def _any_cause(hold: Any) -> Any:
    row = by_cause(hold.reason)
    return row if row is not None and row.recovery == HOLD else None


def _gate_after_hold(state: State, t: int) -> Any:
    from guard.loop.record import replace as changed

    if state.hold is not None and state.why == gatekeeper.CLOSED:
        return CHECK(changed(state, why=""), t)
    return CHECK(state, t)


def _all_counters(state: State) -> State:
    from guard.loop.record import replace as changed

    return changed(state, hold=None, memory=changed(state.memory, counts=dict.fromkeys(state.memory.counts, 0)))


def _no_counter(state: State) -> State:
    from guard.loop.record import replace as changed

    return changed(state, hold=None)


CHECK = gatekeeper.check
MUTANTS: dict[str, tuple[Any, str, Any]] = {
    "an agent's hold ranks above a user's": (gatekeeper, "RANKS", {"agent": 2, "user": 1, "rescue": 3}),
    "a user's hold ranks above rescue": (gatekeeper, "RANKS", {"agent": 1, "user": 3, "rescue": 2}),
    "the last hold stands": (gatekeeper, "replaces", lambda standing, hold: True),
    "the first hold stands": (gatekeeper, "replaces", lambda standing, hold: False),
    "any reason is a cause": (gatekeeper, "cause", _any_cause),
    "no reason is a cause": (gatekeeper, "cause", lambda hold: None),
    "lifting forgets all": (gatekeeper, "lifted", _all_counters),
    "lifting forgets nothing": (gatekeeper, "lifted", _no_counter),
    "the hold comes before the gate": (gatekeeper, "check", _gate_after_hold),
    "people are waited for half an hour": (lifecycle, "PERSON_S", lifecycle.HUMAN_S),
    "agents are waited for a day": (lifecycle, "HUMAN_S", lifecycle.PERSON_S),
    "an escalated breaker is a pause": (circuit, "GRAVE", ()),
    "the breaker forgets its cooldown": (circuit, "ends_at", lambda breaker: breaker.opened_at),
    "a directive is not refused": (judge, "_refused", lambda seen: ()),
    "overdue holds are left as they are": (gatekeeper, "forced", lambda state, t: []),
}
ROWS = [(row, change) for row in authority.RULES for change in ("wider", "narrower")]
SAME = {(row, "wider") for row, who in authority.RULES.items() if who == authority.ALL} | {
    # asked at the gate's own door (test_control_gate), and by a directive
    *(((verb, ""), change) for verb in (authority.CLOSE, authority.OPEN) for change in ("wider", "narrower")),
}


def is_found(first: str = "") -> bool:
    for name in sorted(CHECKS, key=lambda name: name != first):
        try:
            CHECKS[name]()
        except Exception:
            return True
    return False


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_of_a_rule_is_found(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, name, value = MUTANTS[mutant]
    monkeypatch.setattr(where, name, value)
    assert is_found()


@pytest.mark.parametrize(("row", "change"), [one for one in ROWS if one not in SAME])
def test_a_mutant_of_who_may_is_found(row: tuple[str, str], change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    who = authority.RULES[row]
    mutated = authority.ALL if change == "wider" else who[:-1]
    monkeypatch.setitem(authority.RULES, row, mutated)
    assert is_found("directed" if row == (authority.RESCUE, "") else "the_table")


# --- a law


@given(
    st.sampled_from(["user", "user waits", "integrity", "state_lost", "manual"]),
    st.lists(st.tuples(st.sampled_from(list(REQUESTS)), st.sampled_from(ASKERS[1:])), max_size=12),
)
def test_nothing_that_is_no_person_lifts_what_a_person_has_to(name: str, asked: list[tuple[str, Asker]]) -> None:
    rig = STATES[name]()
    before = rig.state
    for verb, asker in asked:
        for body in orders.of(rig.state, REQUESTS[verb], asker, rig.t).bodies:
            rig.record(body)
    after = rig.state
    if before.hold is not None:
        assert after.hold == before.hold
    if before.mode == "manual":
        assert (after.mode, after.permits) == ("manual", 0)
    assert (after.breaker.state, after.breaker.recovery) == (before.breaker.state, before.breaker.recovery)
    assert not any(isinstance(event.body, CallReserved | BreakerChanged) and event.seq > before.seq for event in rig.events)
