"""The journal as a table: what the events of a run become."""

from __future__ import annotations

import json
from pathlib import Path

from guard.evaluate import period
from guard.loop import breaker as circuit
from guard.loop.facts import UsageLimit, Verification
from guard.loop.identity import place
from guard.loop.prompt import Context, composed
from guard.loop.store import Store
from guard.report.history import History, read
from tests.loop.rig import MINUTE, START, It, Rig


def written(state: Path, iterations: list[It]) -> tuple[History, str]:
    with Store.open(str(state), "/r", START) as store:
        rig = Rig(store=store, state=store.state).start("first")
        for it in iterations:
            rig.one(it)
    return read(place(str(state), "/r")), rig.run


RUN = [
    It(edit=2, done=("one",), tokens=700, cost=0.5, tests=Verification(True, 12)),
    It(exit=1, errors=("Error: boom",), tokens=100),
    It(edit=1, done=("two",), tokens=200, refused=("specs/a.md",)),
    It(exit=1, limit=UsageLimit("5h", None, "text")),
]


def test_iterations_have_what_the_events_say(tmp_path: Path) -> None:
    history, run = written(tmp_path, RUN)
    assert (history.unread, [one.id for one in history.runs], history.root) == (0, [run], "/r")
    first, second, third, fourth = history.iterations
    assert [one.n for one in history.iterations] == [1, 2, 3, 4]
    assert [one.outcome for one in history.iterations] == ["ok", "failed", "ok", "limited"]
    assert (first.completed, first.tokens, first.cost_usd, first.score > 0) == (("one",), 700, 0.5, True)
    assert (first.tests.passed if first.tests else 0) == 12
    assert (first.task, first.attempt, third.task, third.attempt) == ("one", 1, "two", 2)
    assert (first.work, second.work) == ("task", "nothing")
    assert [each.path for each in third.protected.refusals] == ["specs/a.md"]
    assert fourth.void
    assert not first.over
    assert first.ended - first.began == MINUTE


def test_a_part_of_it(tmp_path: Path) -> None:
    history, _ = written(tmp_path, RUN)
    part = history.within(history.iterations[1].began, history.iterations[3].began)
    assert [one.n for one in part.iterations] == [2, 3]
    assert len(part.runs) == 1
    assert not history.within(0, START).iterations


def test_what_cannot_be_read_is_counted(tmp_path: Path) -> None:
    history, _ = written(tmp_path, RUN)
    path = Path(history.directory, "journal.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    judged = next(at for at, line in enumerate(lines) if b'"ev":"judged"' in line)
    lines[judged] = b'{"v":1,"t":"2026-11-30T12:00:00.000Z","run":"first","n":1,"ev":"judged","outcome":7}\n'
    path.write_bytes(b"".join(lines) + b'\xff\xfe\n{"v":9}\n' + b"[" * 10_000 + b'\n{"v":1,"ev":"judg')
    again = read(history.directory)
    assert again.unread == 5
    assert [one.outcome for one in again.iterations] == ["", "failed", "ok", "limited"]


def test_a_loop_that_never_ran(tmp_path: Path) -> None:
    assert read(str(tmp_path / "none")).iterations == []


def test_items_to_compare(tmp_path: Path) -> None:
    history, _ = written(tmp_path, RUN)
    found = period.items(history, cases=[True, False])
    by_sort = {sort: [one for one in found if one.sort == sort] for sort in ("iteration", "task", "case")}
    assert [len(one) for one in by_sort.values()] == [3, 2, 2]  # the void one is none
    assert [one.values["first-fix rate"] for one in by_sort["task"]] == [1.0, 0.0]
    assert [one.values["tokens per completed task"] for one in by_sort["task"]] == [700, 300]
    assert [one.values["refusals per 100 iterations"] for one in by_sort["iteration"]] == [0, 0, 1]
    assert [one.kinds["work types"] for one in by_sort["iteration"]] == ["task", "nothing", "task"]


def test_what_stopped_a_loop_is_told_to_the_next_run(tmp_path: Path) -> None:
    def trip(store: Store, cause: str, *iterations: It) -> None:
        rig = Rig(store=store, state=store.state, t=max(START, store.state.t)).start(cause).play(iterations)
        assert rig.state.breaker.cause == cause
        rig.record(circuit.changed(rig.state.breaker, circuit.reset(rig.state.breaker, True), actor="person", reason="mended"))

    with Store.open(str(tmp_path), "/r", START) as store:
        trip(store, "no_progress", *[It(minutes=0)] * 3)
        trip(store, "same_error", *[It(edit=1, errors=("Error: boom in a.py",), minutes=0)] * 5)
        lines = Path(store.directory, "patterns.jsonl").read_text().splitlines()
        rig = Rig(store=store, state=store.state, t=store.state.t).start("third")
        text = composed("work", Context(rig.state, rig.t, "one", 1, directory=store.directory))
    kept = [json.loads(line) for line in lines]
    assert [(one["task"], one["cause"], bool(one["approaches"])) for one in kept] == [
        ("one", "no_progress", False),
        ("one", "same_error", True),
    ]
    assert "Earlier work on this task got stuck: no_progress" in text
    assert "Earlier work on this task got stuck: same_error (error: boom in a.py)" in text
    assert "got stuck" not in composed("work", Context(rig.state, rig.t, "two", 1, directory=store.directory))
