"""How loops stand, from the files of their runners, whatever is wrong with them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from guard.loop.heartbeat import Beat, write
from guard.loop.store import Store
from guard.monitor.gather import CRASHED, READY, UNREADABLE, Gathering, history, output, tail
from tests.loop.rig import START, It, Rig, times

T = START + 60_000


def loops(state: Path) -> Path:
    return state / "loops"


def run(state: Path, root: str, iterations: list[It]) -> Rig:
    with Store.open(str(state), root, START) as store:
        rig = Rig(store=store, state=store.state).start()
        rig.play(iterations)
    return rig


def test_a_loop_as_its_files_say(tmp_path: Path) -> None:
    run(tmp_path, "/home/ann/app", times(3, It()))
    [view] = Gathering(str(tmp_path)).look(T).loops
    assert (view.name, view.root, view.status, view.live) == ("r", "/r", "circuit_open", False)
    assert (view.at("breaker", "cause"), view.at("iteration"), view.at("no", "such")) == ("no_progress", 3, None)
    assert [row["n"] for row in history(view)] == [1, 2, 3]
    assert [row["n"] for row in history(view, 2)] == [2, 3]
    assert view.person == ""  # it probes by itself
    json.dumps(Gathering(str(tmp_path)).look(T).to_json())


def test_those_that_wait_for_a_person_come_first(tmp_path: Path) -> None:
    run(tmp_path, "/a", times(3, It()))
    run(tmp_path, "/b", [It(edit=1, harmed=("specs/a.md",))])
    machine = Gathering(str(tmp_path)).look(T)
    assert [view.loop[0] for view in machine.loops] == ["b", "a"]
    assert machine.loops[0].person == 'guard loop reset --reason "..."'
    assert machine.gate["state"] == "running"


def test_a_runner_that_is_gone_and_one_that_is_late(tmp_path: Path) -> None:
    rig = run(tmp_path, "/a", [It(edit=1)])
    assert rig.end is None
    [view] = Gathering(str(tmp_path)).look(T).loops
    assert (view.status, view.live, view.person) == (CRASHED, False, "guard loop log")
    with Store.open(str(tmp_path), "/a", START):
        write(view.directory, Beat(T, "EXECUTE", T + 5000))
        early, late = (Gathering(str(tmp_path)).look(T + after).loops[0] for after in (5000, 5001))
    assert (early.status, early.live, early.overdue, late.overdue) == ("running", True, False, True)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff", b'{"v":1' + b"[" * 50_000, b"x" * (5 << 20)])
def test_what_is_damaged_is_said(data: bytes, tmp_path: Path) -> None:
    run(tmp_path, "/a", [It(edit=1)])
    run(tmp_path, "/b", [It(edit=1)])
    directory = next(loops(tmp_path).glob("a-*"))
    (directory / "status.json").write_bytes(data)
    (directory / "metrics.jsonl").write_bytes(data + b"\n")
    machine = Gathering(str(tmp_path)).look(T)
    broken = next(view for view in machine.loops if view.loop.startswith("a-"))
    assert broken.status == UNREADABLE
    assert broken.trouble
    assert history(broken) == []
    assert len(machine.loops) == 2


def test_what_is_no_file_is_not_followed(tmp_path: Path) -> None:
    directory = loops(tmp_path) / "a-1"
    (directory / "outputs").mkdir(parents=True)
    os.mkfifo(directory / "metrics.jsonl")
    (directory / "outputs/1-1.log").symlink_to("/etc/passwd")
    (loops(tmp_path) / "linked").symlink_to(directory)
    [view] = Gathering(str(tmp_path)).look(T).loops
    assert view.status == READY
    assert (history(view), output(view)) == ([], "")
    assert Gathering(str(tmp_path / "none")).look(T).loops == ()


def test_only_what_has_changed_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from guard.monitor import gather

    run(tmp_path, "/a", [It(edit=1)])
    read: list[str] = []
    parsed = gather._parsed
    monkeypatch.setattr(gather, "_parsed", lambda path: read.append(path) or parsed(path))
    gathering = Gathering(str(tmp_path))
    for _ in range(3):
        gathering.look(T)
    assert len(read) == 1
    run(tmp_path, "/a", [It(edit=1)])
    gathering.look(T)
    assert len(read) == 2


def test_the_end_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"one\ntwo\nthree\n")
    assert [tail(str(path), size) for size in (100, 10, 6)] == ["one\ntwo\nthree\n", "three\n", "three\n"[:6]]
    assert tail(str(tmp_path / "none"), 5) == ""


def test_looking_needs_neither_rich_nor_click() -> None:
    code = "import sys, guard.monitor.gather; print(sorted({'rich', 'click', 'tomlkit', 'asyncio'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip() == "[]"
