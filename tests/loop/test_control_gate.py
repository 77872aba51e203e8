"""The machine's gate: what is recorded, what is damaged and counts as closed, and what a run sees of it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from guard.errors import GuardError
from guard.loop import gate, heartbeat
from guard.loop.gate import DRAINING, PAUSED, RUNNING, Watch
from guard.loop.heartbeat import Beat
from guard.loop.lock import Lock

T = 1_796_040_000_000
PERSON = "person"


@pytest.fixture
def state(tmp_path: Path) -> str:
    return str(tmp_path)


def journal(state: str) -> Path:
    return Path(state) / "gate" / "journal.jsonl"


def events(state: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in journal(state).read_text().splitlines()]


def at_work(state: str, name: str, where: str = "EXECUTE") -> Lock:
    """A loop whose runner is at work."""
    directory = Path(state) / "loops" / name
    directory.mkdir(parents=True, exist_ok=True)
    heartbeat.write(str(directory), Beat(T, where, None))
    lock = Lock(str(directory))
    lock.take()
    return lock


def test_one_that_was_never_closed_is_open_and_leaves_no_trace(state: str) -> None:
    assert not gate.read(state).closed(T)
    assert gate.reopen(state, "x", PERSON, T) is None
    assert not journal(state).exists()
    assert not Watch(state).look().closed(T)


def test_it_closes_and_opens_and_says_why(state: str) -> None:
    assert gate.close(state, "upgrade", PERSON, T).state == PAUSED
    found = gate.read(state)
    assert (found.closed(T), found.reason, found.actor, found.at) == (True, "upgrade", PERSON, T)
    assert gate.close(state, "again", PERSON, T + 1) == found, "closed already, it keeps its reason"
    assert gate.reopen(state, "", PERSON, T + 2) is not None
    assert not gate.read(state).closed(T + 2)
    told = [(event["ev"], event["from"], event["to"], event["reason"]) for event in events(state)]
    assert told == [("gate", RUNNING, PAUSED, "upgrade"), ("gate", PAUSED, RUNNING, "resumed")]
    assert [event["seq"] for event in events(state)] == [1, 2]


def test_it_drains_while_an_iteration_is_at_work_and_is_paused_then(state: str) -> None:
    one, other = at_work(state, "one"), at_work(state, "other", "HELD")
    assert gate.close(state, "x", PERSON, T).state == DRAINING
    assert gate.read(state).closed(T), "nothing new starts meanwhile"
    gate.settle(state, f"{state}/loops/other", T)
    assert gate.shown(state, T).state == DRAINING
    gate.settle(state, f"{state}/loops/one", T)
    assert gate.read(state).state == PAUSED
    assert [event["to"] for event in events(state)] == [DRAINING, PAUSED]
    one.release()
    other.release()


def test_a_runner_that_died_drains_nothing(state: str) -> None:
    lock = at_work(state, "one")
    gate.close(state, "x", PERSON, T)
    lock.release()
    assert gate.shown(state, T).state == PAUSED
    assert gate.view(state, T)["state"] == PAUSED


def test_now_does_not_drain(state: str) -> None:
    lock = at_work(state, "one")
    gate.close(state, "x", PERSON, T)
    found = gate.close(state, "y", PERSON, T, now=True)
    assert (found.state, found.now) == (PAUSED, True)
    lock.release()


def test_for_a_time(state: str) -> None:
    gate.close(state, "x", PERSON, T, until=T + 1000)
    assert gate.read(state).closed(T + 999)
    assert not gate.read(state).closed(T + 1000)
    assert gate.shown(state, T + 1000).state == RUNNING
    gate.close(state, "shorter", PERSON, T, until=T + 500)
    assert gate.read(state).until == T + 1000
    gate.close(state, "longer", PERSON, T)
    assert gate.read(state).until is None
    gate.close(state, "for a time", PERSON, T, until=T + 5)
    assert gate.read(state).until is None, "what stays closed is not shortened"


def _cut(state: str) -> None:
    lines = journal(state).read_bytes().splitlines(keepends=True)
    journal(state).write_bytes(b"".join(lines[:-1]))


def _forge(state: str) -> None:
    text = journal(state).read_text()
    journal(state).write_text(text.replace('"to":"paused"', '"to":"running"'))


DAMAGE: dict[str, Callable[[str], object]] = {
    "deleted": lambda state: journal(state).unlink(),
    "emptied": lambda state: journal(state).write_bytes(b""),
    "the last line cut off": _cut,
    "the last line turned round": _forge,
    "garbage": lambda state: journal(state).write_bytes(b"\0garbage\n" * 3),
    "a line that is no event": lambda state: journal(state).write_bytes(journal(state).read_bytes() + b"{}\n"),
    "a directory": lambda state: (journal(state).unlink(), journal(state).mkdir()),
    "forbidden form": lambda state: journal(state).write_bytes(b'{"v":1}\n'),
}


@pytest.mark.parametrize("how", DAMAGE)
def test_what_is_damaged_counts_as_closed_until_a_person_opens_it(how: str, state: str) -> None:
    gate.close(state, "first", PERSON, T)
    gate.reopen(state, "", PERSON, T)
    gate.close(state, "second", PERSON, T)
    DAMAGE[how](state)
    found = gate.read(state)
    assert found.closed(T), how
    assert found.damaged
    assert gate.view(state, T)["damaged"]
    before = sorted(journal(state).parent.iterdir())
    opened = gate.reopen(state, "looked at it", PERSON, T)
    assert opened is not None
    assert not gate.read(state).damaged
    assert not gate.read(state).closed(T)
    assert len(sorted(journal(state).parent.iterdir())) >= len(before), "nothing is thrown away"


def test_a_line_without_end_was_told_to_nobody(state: str) -> None:
    gate.close(state, "x", PERSON, T)
    whole = journal(state).read_bytes()
    gate.reopen(state, "", PERSON, T)
    line = journal(state).read_bytes()[len(whole) :]
    (Path(state) / "gate" / "gate.json").unlink()
    for end in (1, len(line) // 2, len(line) - 1):
        journal(state).write_bytes(whole + line[:end])
        assert gate.read(state).closed(T)
        assert not gate.read(state).damaged
    assert gate.reopen(state, "", PERSON, T) is not None
    assert not gate.read(state).closed(T)
    assert len(events(state)) == 2


def test_a_full_disk_leaves_it_as_it_was(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    gate.close(state, "x", PERSON, T)
    before = journal(state).read_bytes()

    def some(fd: int, data: bytes, offset: int) -> int:
        return write(fd, data[:10], offset)

    write = os.pwrite
    monkeypatch.setattr(os, "pwrite", some)
    with pytest.raises(GuardError) as error:
        gate.reopen(state, "", PERSON, T)
    assert error.value.code == 74
    assert error.value.todo
    assert journal(state).read_bytes() == before
    monkeypatch.undo()
    assert gate.read(state).closed(T)


def test_refusals_are_noted_and_change_nothing(state: str) -> None:
    gate.refuse(state, "resume --system", "agent", T)
    assert not gate.read(state).closed(T)
    gate.close(state, "x", PERSON, T)
    gate.refuse(state, "resume --system", "agent", T)
    assert gate.read(state).closed(T)
    assert [event["ev"] for event in events(state)] == ["gate", "control_refused", "gate", "control_refused"]


def test_a_full_journal_begins_anew_and_goes_on(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "FULL", 600)
    gate.close(state, "upgrade", PERSON, T)
    for _ in range(12):
        gate.refuse(state, "resume --system", "agent", T)
    found = gate.read(state)
    assert (found.closed(T), found.reason, found.damaged) == (True, "upgrade", "")
    files = sorted(path.name for path in journal(state).parent.glob("journal.*"))
    assert len(files) > 2
    assert journal(state).stat().st_size < 1500


def test_a_run_reads_only_what_has_changed_and_does_not_forget(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch(state)
    gate.close(state, "x", PERSON, T)
    assert watch.look().closed(T)
    monkeypatch.setattr(gate, "read", lambda state: pytest.fail("nothing has changed"))
    assert watch.look().closed(T)
    monkeypatch.undo()
    for path in journal(state).parent.iterdir():
        path.unlink()
    journal(state).parent.rmdir()
    assert not gate.read(state).closed(T), "nobody else can know"
    assert watch.look().closed(T)
    assert watch.look().damaged
    assert Watch(state, closed=True).look().closed(T), "a run that begins knows it from its own state"
    gate.close(state, "y", PERSON, T)
    gate.reopen(state, "", PERSON, T)
    assert not watch.look().closed(T)


MUTANTS: dict[str, tuple[object, str, object]] = {
    "never closed": (gate.Gate, "closed", lambda gate, t: False),
    "for ever": (gate.Gate, "closed", lambda gate, t: gate.state != RUNNING),
    "draining lets through": (
        gate.Gate,
        "closed",
        lambda gate, t: gate.state == PAUSED and (gate.until is None or t < gate.until),
    ),
    "damage opens": (gate, "_doubted", lambda found, why: gate.Gate(damaged=why)),
    "nobody is at work": (gate, "working", lambda state, besides="": False),
    "everybody is at work": (gate, "working", lambda state, besides="": True),
}
CHECKS = (
    test_it_closes_and_opens_and_says_why,
    test_it_drains_while_an_iteration_is_at_work_and_is_paused_then,
    test_a_runner_that_died_drains_nothing,
    test_for_a_time,
)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_of_the_gate_is_found(mutant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where, name, value = MUTANTS[mutant]
    monkeypatch.setattr(where, name, value)
    found = False
    for number, check in enumerate(CHECKS):
        (tmp_path / str(number)).mkdir()
        try:
            check(str(tmp_path / str(number)))
        except Exception:
            found = True
    try:
        (tmp_path / "damage").mkdir()
        test_what_is_damaged_counts_as_closed_until_a_person_opens_it("emptied", str(tmp_path / "damage"))
    except Exception:
        found = True
    assert found
