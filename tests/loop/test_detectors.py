"""Each detector trips at its threshold and not before, is needed, and is what its row says: mutants of the rows are found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from guard.loop import detectors
from guard.loop.detectors import HOLD, TABLE, Detector
from guard.loop.facts import Verification
from guard.loop.state import AUTO, CLOSED, EXPLICIT, OPEN
from tests.loop.rig import It, Rig, times

EDIT = It(edit=1)
IDLE = It()
BROKEN = It(exit=1)
USEFUL = It(tests=Verification(True, resolved=2))  # no progress, and a score above 0
CLEAR = It(edit=1, done=("one",), minutes=90)  # sets every count to 0
BOOM = "src/parse.py:{}: Error: boom in parser after {}.5 s"


def boom(edit: int = 1, minute: int = 0) -> It:
    """An iteration with always the same error, in other words each time."""
    return It(edit=edit, errors=(BOOM.format(minute, minute),))


@dataclass(frozen=True)
class Proof:
    """Iterations after which the cause has tripped, and others that are about as bad, after which nothing has."""

    trips: tuple[It, ...]
    spares: tuple[tuple[It, ...], ...]
    exit: int
    recovery: str
    also: tuple[str, ...] = ()
    alone: bool = True  # nothing else stops these iterations


def circle(*letters: str, **other: object) -> tuple[It, ...]:
    """Iterations that each change one path to what the letter says."""
    return tuple(replace(It(approach=(letter,)), **other) if letter else It(edit=1, done=("one",)) for letter in letters)


MESSAGE = "i have looked at the parser again and it is fine attempt {}"
PROOFS: dict[str, Proof] = {
    "integrity": Proof((replace(EDIT, harmed=("CLAUDE.md",)),), ((EDIT,),), 4, EXPLICIT),
    "permission_denied": Proof(
        (It(gaps=("Bash(rm)",), edit=1),) * 3,
        (
            (It(gaps=("Bash(rm)",), edit=1),) * 2,
            (It(gaps=("x",)), EDIT, It(gaps=("x",)), EDIT, It(gaps=("x",))),
            (It(gaps=("x",), edit=1), It(gaps=("x",), edit=1), EDIT, It(gaps=("x",), edit=1), It(gaps=("x",), edit=1)),
        ),
        3,
        EXPLICIT,
    ),
    "repeated_refusal": Proof(
        (It(refused=("specs",), edit=1),) * 3,
        (
            (It(refused=("specs",), edit=1),) * 2,
            (It(refused=("a",), edit=1), It(refused=("b",), edit=1), It(refused=("c",), edit=1)),
            (
                It(refused=("a",), edit=1),
                It(refused=("a",), edit=1),
                EDIT,
                It(refused=("a",), edit=1),
                It(refused=("a",), edit=1),
            ),
        ),
        1,
        EXPLICIT,
    ),
    "question": Proof(
        (It(question=True),) * 3,
        (
            (It(question=True),) * 2,
            (It(question=True), It(question=True), EDIT, It(question=True), It(question=True)),
            (It(question=True, edit=1),) * 6,
        ),
        3,
        HOLD,
    ),
    "blocked": Proof(
        (It(status="blocked", edit=1),) * 3,
        ((It(status="blocked", edit=1),) * 2, (*(It(status="blocked", edit=1),) * 2, EDIT, *(It(status="blocked", edit=1),) * 2)),
        3,
        HOLD,
    ),
    "safety_circuit_breaker": Proof(
        (It(exit_signal=True, edit=1),) * 5,
        ((It(exit_signal=True, edit=1),) * 4, (*(It(exit_signal=True, edit=1),) * 4, EDIT, *(It(exit_signal=True, edit=1),) * 4)),
        3,
        HOLD,
    ),
    "execution_failure": Proof(
        (replace(BROKEN, edit=1),) * 5,
        ((replace(BROKEN, edit=1),) * 4, (*(replace(BROKEN, edit=1),) * 4, EDIT, *(replace(BROKEN, edit=1),) * 4)),
        1,
        EXPLICIT,
    ),
    "circular": Proof(
        circle("A", "B", "A", "B"),
        (
            circle("A", "B", "A"),
            circle("A", "B", "C", "A", "B"),
            circle("A", "B", "A", "", "B"),
            circle("A", "A", "A", "A", "A", "A"),
            circle("A", "B", "C", "D", "E", "F", "G"),
        ),
        1,
        AUTO,
    ),
    "test_fix_loop": Proof(
        (It(tests_edit=1),) * 3,
        ((It(tests_edit=1),) * 2, (It(tests_edit=1), It(tests_edit=1), EDIT, It(tests_edit=1), It(tests_edit=1))),
        1,
        AUTO,
        also=("no_progress",),
        alone=False,
    ),
    "same_error": Proof(
        tuple(boom(minute=n) for n in range(5)),
        (
            tuple(boom(minute=n) for n in range(4)),
            (*(boom(minute=n) for n in range(4)), EDIT, *(boom(minute=n) for n in range(4))),
            tuple(It(edit=1, errors=(("Error: boom in parser", "TypeError: no such thing")[n % 2],)) for n in range(8)),
        ),
        1,
        AUTO,
    ),
    "repeated_message": Proof(
        tuple(It(message=MESSAGE.format(n)) for n in range(3)),
        (
            tuple(It(message=MESSAGE.format(n)) for n in range(2)),
            tuple(It(message=MESSAGE.format(n), edit=1) for n in range(6)),
            (It(message=MESSAGE), It(message=MESSAGE), EDIT, It(message=MESSAGE), It(message=MESSAGE)),
        ),
        1,
        EXPLICIT,
        also=("no_progress", "negative_score"),
        alone=False,
    ),
    "output_decline": Proof(
        (*times(3, It(edit=1, lines=400)), It(lines=120)),
        (
            (*times(3, It(edit=1, lines=400)), It(lines=121)),
            (*times(3, It(edit=1, lines=15)), It(lines=1)),
            tuple(times(3, It(edit=1, lines=400)) + times(1, It(lines=10, edit=1))),
        ),
        1,
        AUTO,
    ),
    "no_progress": Proof(
        (USEFUL, USEFUL, USEFUL),
        (
            (USEFUL, USEFUL),
            (USEFUL, USEFUL, EDIT, USEFUL, USEFUL),
            (USEFUL, USEFUL, replace(BROKEN, edit=1), USEFUL, USEFUL),
            (USEFUL, BROKEN, BROKEN, USEFUL),
            (USEFUL, USEFUL, It(question=True), BROKEN),
        ),
        1,
        AUTO,
    ),
    "repeated_renewal": Proof(
        (It(question=True), *(It(exit=1, similar=True), It(question=True, similar=True)), *(It(exit=1, similar=True),) * 2),
        (
            (It(question=True), It(exit=1, similar=True), It(question=True, similar=True), It(exit=1, similar=True)),
            (It(question=True), It(exit=1, similar=True), EDIT, *(It(exit=1, similar=True),) * 4),
            (It(exit=1), It(question=True), It(exit=1), It(question=True), It(exit=1)),
        ),
        1,
        EXPLICIT,
    ),
    "negative_score": Proof(
        (boom(1, 0), boom(1, 1), boom(1, 2), It(errors=(BOOM.format(3, 3),))),
        ((IDLE, EDIT, IDLE), (boom(1, 0), boom(1, 1), boom(1, 2), boom(1, 3)), (EDIT, IDLE, IDLE)),
        1,
        AUTO,
    ),
}


def prove(cause: str) -> None:
    """Raises AssertionError where a row does not do what its proof says."""
    proof = PROOFS[cause]
    for spare in proof.spares:
        rig = Rig().start().play(spare)
        assert rig.end is None, f"{cause} stopped {len(spare)} iterations: {rig.end}"
        assert rig.state.breaker.state == CLOSED
        assert rig.state.hold is None
    rig = Rig().start().play((*proof.spares[0], CLEAR))
    assert rig.judged()[-1].counters[cause] == 0
    rig = Rig().start().play(proof.trips)
    assert rig.end is not None, f"{cause} did not stop"
    assert len(rig.judged()) == len(proof.trips), f"{cause} stopped after {len(rig.judged())}"
    last = rig.judged()[-1]
    assert rig.end.exit == proof.exit
    assert last.reason == cause
    assert last.matched == (cause, *proof.also)
    if proof.recovery == HOLD:
        assert rig.state.breaker.state == CLOSED
        assert rig.state.hold is not None
        assert (rig.state.hold.value, rig.state.hold.reason) == ("paused", cause)
    else:
        assert rig.state.breaker.state == OPEN
        assert rig.state.breaker.recovery == proof.recovery
        _falls_again(cause, rig)


def _falls_again(cause: str, rig: Rig) -> None:
    """After a resume and a good probe nothing of the cause is left; in a probe that fails for another reason neither."""
    from guard.loop.events import BreakerChanged

    other = It(exit=1) if cause != "execution_failure" else It(tests_edit=1)
    if rig.state.breaker.recovery == EXPLICIT:
        rig.record(BreakerChanged("OPEN", "OPEN", recovery=AUTO, actor="person", reason="again"))
    rig.wait(31).start().play([other])
    after = rig.judged()[-1]
    assert after.decision == "probe_failed"
    if cause == "integrity":
        assert after.counters[cause] == 0
        assert rig.state.breaker.also == ()


@pytest.mark.parametrize("cause", [row.cause for row in TABLE])
def test_each_trips_at_its_threshold_and_not_before(cause: str) -> None:
    prove(cause)


# Harm to a protected file is decided on before any row is looked at.
@pytest.mark.parametrize("cause", [cause for cause, proof in PROOFS.items() if proof.alone and cause != "integrity"])
def test_each_is_what_stops_its_iterations(cause: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detectors, "TABLE", tuple(row for row in TABLE if row.cause != cause))
    rig = Rig().start().play(PROOFS[cause].trips)
    assert rig.end is None


SINGLE = {
    "test_fix_loop": (It(tests_edit=1, question=True),) * 2 + (It(tests_edit=1),),
    "repeated_message": (It(message=MESSAGE, question=True), It(message=MESSAGE, question=True), It(message=MESSAGE)),
}


@pytest.mark.parametrize("cause", SINGLE)
def test_the_others_stop_something_alone_too(cause: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig().start().play(SINGLE[cause])
    assert rig.end is not None
    assert rig.judged()[-1].matched[0] == cause
    assert len(rig.judged()) == len(SINGLE[cause])
    monkeypatch.setattr(detectors, "TABLE", tuple(row for row in TABLE if row.cause != cause))
    assert Rig().start().play(SINGLE[cause]).end is None


def _never(before: object, after: object, seen: object) -> int:
    return 0


def _stuck(row: Detector) -> Detector:
    return replace(row, count=lambda before, after, seen: max(before.count(row.cause), row.count(before, after, seen)))


def _moved(row: Detector, by: int) -> Detector:
    return replace(row, threshold=lambda config, seen: row.threshold(config, seen) + by)


def _swapped(row: Detector) -> Detector:
    return replace(row, recovery={AUTO: EXPLICIT, EXPLICIT: AUTO, HOLD: AUTO}[row.recovery])


MUTANTS: dict[str, Callable[[Detector], Detector]] = {
    "never rises": lambda row: replace(row, count=_never),
    "one later": lambda row: _moved(row, 1),
    "one earlier": lambda row: _moved(row, -1),
    "reset dropped": _stuck,
    "recovery swapped": _swapped,
    "another exit": lambda row: replace(row, exit=row.exit + 1),
}
# It trips as soon as it counts, so that there is nothing to fall.
EQUAL = {("negative_score", "reset dropped")}


@pytest.mark.parametrize("mutant", MUTANTS)
@pytest.mark.parametrize("cause", [row.cause for row in TABLE])
def test_a_mutant_of_a_row_is_found(cause: str, mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if (cause, mutant) in EQUAL:
        pytest.skip("it trips at once, so there is nothing to fall")
    changed = tuple(MUTANTS[mutant](row) if row.cause == cause else row for row in TABLE)
    monkeypatch.setattr(detectors, "TABLE", changed)
    with pytest.raises((AssertionError, IndexError)):
        prove(cause)


def test_every_row_has_a_proof() -> None:
    assert set(PROOFS) == {row.cause for row in TABLE}


def test_the_table_stands_in_the_order_of_precedence() -> None:
    order = """integrity permission_denied repeated_refusal question blocked safety_circuit_breaker execution_failure circular
    test_fix_loop same_error repeated_message output_decline no_progress repeated_renewal negative_score"""
    assert [row.cause for row in TABLE] == order.split()
