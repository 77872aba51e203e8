"""Laws that hold for every sequence of iterations, waits, controls and crashes."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guard.loop import machine, similarity
from guard.loop.command import Call, End, Write
from guard.loop.entries import line, read
from guard.loop.events import BreakerChanged, CallReserved, Event, HoldChanged, Judged
from guard.loop.facts import Directive, UsageLimit, Verification
from guard.loop.record import dump, parse
from guard.loop.state import CLOSED, HALF_OPEN, OPEN, State
from guard.loop.status import status
from tests.loop.rig import START, TASKS, It, Rig

REFUSED = (Directive("resume", "x", "an agent may not resume"), Directive("pause", error="it is not JSON"))
ITERATIONS = st.builds(
    It,
    edit=st.integers(0, 3),
    tests_edit=st.integers(0, 2),
    done=st.sampled_from([(), (), ("one",), TASKS]),
    opened=st.sampled_from([(), (), ("one",), ("four",)]),
    status=st.sampled_from(["", "in_progress", "complete", "blocked"]),
    exit_signal=st.sampled_from([None, False, True]),
    question=st.booleans(),
    signals=st.sampled_from([(), ("done",), ("no_work",)]),
    strong=st.booleans(),
    message=st.sampled_from(["", "i looked at the parser and it is fine", "the lexer had to be rewritten today"]),
    lines=st.sampled_from([0, 5, 400]),
    errors=st.sampled_from([(), ("Error: boom",), ("src/a.py:7: TypeError: x",)]),
    gaps=st.sampled_from([(), (), ("rm",)]),
    refused=st.sampled_from([(), (), ("specs",)]),
    harmed=st.sampled_from([()] * 20 + [("CLAUDE.md",)]),
    approach=st.sampled_from([None, (), ("A",), ("B",)]),
    similar=st.booleans(),
    tests=st.sampled_from([None, Verification(True, 5), Verification(False, 3, 2, resolved=1)]),
    exit=st.sampled_from([0, 0, 0, 1, 124, None]),
    failure=st.sampled_from(["", "", "error", "turns"]),
    api_status=st.sampled_from(["", "529"]),
    directives=st.sampled_from(
        [()] * 6 + [(Directive("pause", "x"),), (Directive("rescue", "x"),), (Directive("mode", "x"),), REFUSED]
    ),
    limit=st.sampled_from([None] * 8 + [UsageLimit("5h", START + 10_000_000, "event"), UsageLimit("5h", None, "text")]),
    tokens=st.integers(0, 1000),
    minutes=st.integers(0, 5),
)
ACTIONS = st.one_of(
    st.tuples(st.just("run"), ITERATIONS),
    st.tuples(st.just("run"), ITERATIONS),
    st.tuples(st.just("run"), ITERATIONS),
    st.tuples(st.just("crash"), ITERATIONS),
    st.tuples(st.just("wait"), st.sampled_from([1, 31, 61, 600, -30])),
    st.tuples(st.just("start"), st.booleans()),
    st.tuples(st.sampled_from(["pause", "lift", "resume", "reset", "close"]), st.none()),
)
SCRIPTS = st.lists(ACTIONS, max_size=25)


def driven(script: list[tuple[str, Any]]) -> Rig:
    """A loop to which all that was done; after an end a new run begins."""
    rig = Rig({"calls_per_hour": 12, "iterations": 40, "wait": len(script) % 2 == 0}).start()
    for verb, value in script:
        if rig.end is not None and verb in ("run", "crash"):
            rig.start()
        _do(rig, verb, value)
    return rig


def _do(rig: Rig, verb: str, value: Any) -> None:
    breaker = rig.state.breaker.state
    if verb == "run":
        rig.one(value)
    elif verb == "crash" and isinstance(rig.check(), Call):
        rig.reserve(value)
        rig.start()
    elif verb == "wait":
        rig.wait(value)
    elif verb == "start":
        rig.start(rig.run if value else "", resumed=value)
    elif verb == "pause":
        rig.record(HoldChanged("", "paused", "user", "lunch", "person"))
    elif verb == "lift" and (rig.state.hold or rig.state.mode == "manual"):
        before = rig.state.hold.value if rig.state.hold else ""
        rig.record(HoldChanged(before, "", "user", "back", "person"))
    elif verb in ("resume", "reset", "close") and breaker == OPEN:
        after = {"resume": OPEN, "reset": HALF_OPEN, "close": CLOSED}[verb]
        rig.record(BreakerChanged(OPEN, after, recovery="auto", actor="person", reason="x"))


LAW = settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])


@LAW
@given(SCRIPTS)
def test_a_replay_gives_the_live_state(script: list[tuple[str, Any]]) -> None:
    rig = driven(script)
    state, total = State("loop"), ""
    for event in rig.events:
        text, after = line(event, total)
        assert read(text, total) == event
        total = after
        state = machine.step(state, event)[0]
        state = parse(State, json.loads(json.dumps(dump(state))))
    assert state == rig.state
    assert status(state) == status(rig.state)
    assert not state.pending
    assert not [alert for alert in state.alerts if alert["kind"] in ("replay_differs", "not_allowed", "protocol")]


@LAW
@given(SCRIPTS, st.data())
def test_a_crash_between_any_two_events_loses_no_conclusion(script: list[tuple[str, Any]], data: st.DataObject) -> None:
    events = driven(script).events
    count = data.draw(st.integers(1, len(events)))
    state = State("loop")
    for event in events[:count]:
        state = machine.step(state, event)[0]
    rest = [command.body for command in machine.unwritten(state) if isinstance(command, Write)]
    following = [event.body for event in events[count : count + len(rest)]]
    assert rest == following
    for body in rest:
        state = machine.step(state, Event(state.seq + 1, state.t, "", None, body))[0]
    assert not state.pending


@LAW
@given(SCRIPTS)
def test_the_breaker_has_no_other_edges_and_no_call_passes_it(script: list[tuple[str, Any]]) -> None:
    rig = driven(script)
    state = State("loop")
    for event in rig.events:
        before, body = state, event.body
        state = machine.step(state, event)[0]
        edge = (before.breaker.state, state.breaker.state)
        if edge[0] != edge[1]:
            assert edge in {(CLOSED, OPEN), (OPEN, HALF_OPEN), (HALF_OPEN, OPEN), (HALF_OPEN, CLOSED), (OPEN, CLOSED)}
            if edge == (OPEN, CLOSED):
                assert isinstance(body, BreakerChanged)
                assert body.actor == "person"
        if isinstance(body, CallReserved):
            assert before.breaker.state != OPEN
            assert before.hold is None
            assert before.mode == "auto" or before.permits or before.iteration is not None
            assert body.used < body.limit
            fresh = before.iteration is None
            assert not (before.breaker.state == HALF_OPEN and fresh and before.breaker.probe_used)
        if isinstance(body, Judged) and body.decision == "complete":
            assert state.breaker.state == CLOSED


@LAW
@given(SCRIPTS)
def test_every_end_has_an_exit_status_of_the_table(script: list[tuple[str, Any]]) -> None:
    rig = driven(script)
    for event in rig.events:
        if event.body.name == "run_ended":
            assert event.body.exit in (0, 1, 2, 3, 4)
    assert rig.end is None or isinstance(rig.end, End)


def _longest(one: str, other: str) -> int:
    row = [0] * (len(other) + 1)
    for character in one:
        above, row = row, [0]
        for at, there in enumerate(other):
            row.append(above[at] + 1 if character == there else max(above[at + 1], row[at]))
    return row[-1]


@given(st.text("ab c", max_size=150), st.text("ab c", max_size=150), st.sampled_from([50, 75, 90, 100]))
def test_similar_is_the_longest_common_subsequence(one: str, other: str, percent: int) -> None:
    expected = 200 * _longest(one, other) >= percent * (len(one) + len(other))
    assert similarity.similar(one, other, percent) == expected


@given(st.text("ab c", min_size=30, max_size=200), st.integers(0, 199), st.text("xyz", max_size=12))
def test_a_small_change_is_seen_as_one(text: str, at: int, more: str) -> None:
    changed = text[: at % len(text)] + more + text[at % len(text) :]
    expected = 200 * len(text) >= 90 * (len(text) + len(changed))
    assert similarity.similar(text, changed) == expected


def test_long_texts_are_compared_to_the_character() -> None:
    """Of 4,000 characters 727 may be missing, so that what both have is 90 % of their mean length."""
    text = "".join(chr(0x4E00 + number % 997) + "\udcff"[: number % 50 == 0] for number in range(3922))[:4000]
    for gone, alike in ((727, True), (728, False)):
        shorter = text[: 4000 - gone] if gone % 2 else text[gone:]
        assert similarity.similar(text, shorter) is alike
        assert similarity.similar(shorter, text) is alike
