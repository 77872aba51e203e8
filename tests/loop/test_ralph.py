"""What Ralph's own tools find beside its prompt: the keys that they read, with the values that they mean."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from guard.loop import beside, ralph
from guard.loop.beside import Beside
from guard.loop.events import BreakerChanged, Entered, RunEnded
from guard.loop.lifecycle import EXECUTE
from guard.loop.state import CLOSED, OPEN
from guard.loop.store import Store
from tests.loop.rig import MINUTE, START, It, Rig, times

# The paths that ralph-monitor, `ralph --status`, `--circuit-status` and ralph-stats give to jq, and what type each expects.
READ: dict[str, dict[str, type]] = {
    "status.json": {
        **dict.fromkeys(("loop_count", "calls_made_this_hour", "max_calls_per_hour"), int),
        **dict.fromkeys(("tokens_used_this_hour", "max_tokens_per_hour"), int),
        **dict.fromkeys(("status", "last_action", "exit_reason", "timestamp", "next_reset", "sandbox.provider"), str),
    },
    "progress.json": {"status": str},
    ".circuit_breaker_state": {
        **dict.fromkeys(("state", "reason", "last_change"), str),
        **dict.fromkeys(("consecutive_no_progress", "consecutive_same_error", "consecutive_permission_denials"), int),
        **dict.fromkeys(("last_progress_loop", "current_loop", "total_opens"), int),
    },
    ".exit_signals": dict.fromkeys(("test_only_loops", "done_signals", "completion_indicators"), list),
    ".response_analysis": {
        "loop_number": int,
        **{f"analysis.{key}": bool for key in ("exit_signal", "has_completion_signal", "is_test_only", "is_stuck")},
        **{f"analysis.{key}": bool for key in ("has_progress", "has_permission_denials")},
        **{f"analysis.{key}": int for key in ("files_modified", "confidence_score", "output_length", "permission_denial_count")},
        "analysis.denied_commands": list,
    },
    ".ralph_session": dict.fromkeys(("session_id", "created_at", "last_used"), str),
}
HISTORY = {"timestamp", "loop", "from_state", "to_state", "reason"}
SESSIONS = {"timestamp", "from_state", "to_state", "reason", "loop_number"}


def jq(value: Any, path: str) -> Any:
    """What jq gives for a path."""
    for key in path.split("."):
        value = value[key]
    return value


class Tree:
    """A tree with Ralph's directory, and a loop in it."""

    def __init__(self, tmp_path: Path) -> None:
        self.root, self.state = tmp_path / "app", str(tmp_path / "state")
        self.place = self.root / ".ralph"
        self.place.mkdir(parents=True)

    def open(self, t: int = START) -> Store:
        """The loop's store."""
        return Store.open(self.state, str(self.root), t)

    def text(self, name: str) -> str:
        """A file's content."""
        return (self.place / name).read_text()

    def read(self, name: str) -> Any:
        """A file's value."""
        return json.loads(self.text(name))


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_every_path_that_ralph_reads_is_there(tree: Tree) -> None:
    with tree.open() as store:
        Rig(store=store, state=store.state).start("r1").play([It(edit=2), It(exit_signal=True, gaps=("Bash(x)",)), It(edit=1)])
        for name, paths in READ.items():
            for path, kind in paths.items():
                assert type(jq(tree.read(name), path)) is kind, (name, path)
        assert tree.read("status.json")["loop_count"] == 3
        assert tree.read(".exit_signals")["completion_indicators"] == [2]
        assert tree.read(".circuit_breaker_state")["last_progress_loop"] == 3
        assert tree.text(".call_count") == "3\n"
        assert tree.text(".last_reset") == "2026113012\n"


def test_the_breaker_is_shown_as_ralph_calls_it(tree: Tree) -> None:
    with tree.open() as store:
        rig = Rig(store=store, state=store.state).start("r1").play([It(edit=1), It(), It()])
        found = tree.read(".circuit_breaker_state")
        assert (found["state"], found["consecutive_no_progress"], found["reason"]) == ("HALF_OPEN", 2, "monitoring mode")
        assert "opened_at" not in found
        rig.play([It()])
        found = tree.read(".circuit_breaker_state")
        assert (found["state"], found["total_opens"], found["current_loop"]) == ("OPEN", 1, 4)
        assert found["reason"] == "No progress detected in 3 consecutive loops"
        assert found["last_progress_loop"] == 1
        (entry,) = tree.read(".circuit_breaker_history")
        assert set(entry) == HISTORY
        assert (entry["from_state"], entry["to_state"], entry["loop"]) == ("CLOSED", "OPEN", 4)
        assert found["last_change"] == entry["timestamp"] == found["opened_at"]
        assert tree.read("status.json")["status"] == "circuit_open"


def test_progress_is_executing_while_a_call_runs_and_its_seconds_go_on(tree: Tree) -> None:
    with tree.open() as store:
        rig = Rig(store=store, state=store.state).start("r1")
        rig.check()
        rig.reserve(It())
        store.record(Entered(EXECUTE, rig.t + 15 * MINUTE, ""), rig.t, "r1")
        assert tree.read("progress.json")["status"] == "executing"
        store.pulse(rig.t + 7_000)
        found = tree.read("progress.json")
        assert (found["elapsed_seconds"], found["indicator"] != "", found["last_output"]) == (7, True, "")


@pytest.mark.parametrize(("one", "status"), [(It(edit=1), "completed"), (It(exit=1), "failed"), (It(exit=124), "failed")])
def test_progress_between_calls_is_what_became_of_the_last_one(tree: Tree, one: It, status: str) -> None:
    with tree.open() as store:
        Rig(store=store, state=store.state).start("r1").play([one])
        assert tree.read("progress.json")["status"] == status


def test_metrics_are_what_ralph_stats_sums(tree: Tree) -> None:
    with tree.open() as store:
        Rig(store=store, state=store.state).start("r1").play([It(edit=1, minutes=2), It(exit=1), It(edit=1)])
    lines = [json.loads(line) for line in tree.text("logs/metrics.jsonl").splitlines()]
    assert [sorted(line) for line in lines] == [["calls", "duration", "loop", "success", "timestamp"]] * 3
    assert [line["success"] for line in lines] == [True, False, True]
    assert [line["loop"] for line in lines] == [1, 2, 3]
    assert max(line["calls"] for line in lines) == 3
    assert lines[0]["duration"] == 120


def test_signals_are_the_last_five_of_the_run(tree: Tree) -> None:
    with tree.open() as store:
        claim = It(edit=1, exit_signal=True, signals=("done",))
        rig = Rig(store=store, state=store.state).start("r1").play([*times(4, claim), It(edit=1), *times(4, claim)])
        found = tree.read(".exit_signals")
        assert found["completion_indicators"] == [4, 6, 7, 8, 9]
        assert 0 < len(found["done_signals"]) <= 5
        store.record(RunEnded("limit", 2, "iterations"), rig.t, "r1")
        Rig(store=store, state=store.state, t=rig.t).start("r2")
        assert tree.read(".exit_signals")["completion_indicators"] == []


def test_sessions_begin_are_reset_and_end(tree: Tree) -> None:
    with tree.open() as store:
        rig = Rig(store=store, state=store.state).start("r1").play(times(3, It()))
        store.record(BreakerChanged(OPEN, CLOSED, actor="me", reason="mended"), rig.t)
    found = tree.read(".ralph_session_history")
    assert all(set(entry) == SESSIONS for entry in found)
    assert [(entry["to_state"], entry["reason"]) for entry in found][:1] == [("active", "started")]
    assert found[-1]["reason"] == "manual_circuit_reset"
    assert tree.read(".circuit_breaker_history")[-1]["reason"] == "mended"


def test_histories_keep_fifty(tmp_path: Path) -> None:
    (tmp_path / ".ralph").mkdir()
    kept = Beside(str(tmp_path))
    with Tree(tmp_path).open() as store:
        Rig(store=store, state=store.state).start("r1")
        for n in range(60):
            kept._add(ralph.SESSIONS, {"n": n})
        kept.show(store.state, store.directory)
    assert [entry["n"] for entry in json.loads((tmp_path / ".ralph/.ralph_session_history").read_text())] == list(range(10, 60))


def test_what_goes_missing_or_is_changed_is_written_again(tree: Tree) -> None:
    with tree.open() as store:
        rig = Rig(store=store, state=store.state).start("r1").play(times(2, It()))
        before = {name: tree.text(name) for name in (".circuit_breaker_history", "logs/metrics.jsonl", "logs/ralph.log")}
        (tree.place / "status.json").unlink()
        (tree.place / ".circuit_breaker_state").write_text('{"state": "OPEN"}')
        for name in before:
            (tree.place / name).unlink()
        rig.play([It(edit=1)])
    assert tree.read("status.json")["loop_count"] == 3
    assert tree.read(".circuit_breaker_state")["state"] == "CLOSED"
    for name, text in before.items():
        assert tree.text(name).startswith(text.rstrip("]\n")), name
    with tree.open(rig.t):
        assert tree.read(".circuit_breaker_state")["last_progress_loop"] == 3


def test_links_and_other_things_in_their_place_lead_nowhere(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    for name in ("status.json", ".exit_signals", "progress.json.guard-tmp"):
        (tmp_path / "elsewhere" / name).write_text("mine\n")
        (tree.place / name).symlink_to(tmp_path / "elsewhere" / name)
    os.mkfifo(tree.place / ".call_count")
    (tree.place / "logs").mkdir()
    (tree.place / "logs/ralph.log").symlink_to(tmp_path / "elsewhere/ralph.log")
    with tree.open() as store:
        Rig(store=store, state=store.state).start("r1").play([It(edit=1)])
        assert store.failed == ""
    assert all(path.read_text() == "mine\n" for path in (tmp_path / "elsewhere").iterdir())
    assert tree.read("status.json")["loop_count"] == 1
    assert not (tree.place / "status.json").is_symlink()
    assert (tree.place / "logs/ralph.log").is_file()
    assert not (tree.place / "logs/ralph.log").is_symlink()


@pytest.mark.parametrize("name", [".ralph", ".ralph/logs"])
def test_a_directory_that_is_a_link_is_left_alone(tmp_path: Path, name: str) -> None:
    root, other = tmp_path / "app", tmp_path / "elsewhere"
    other.mkdir()
    (root / name).parent.mkdir(parents=True)
    (root / name).symlink_to(other)
    with Store.open(str(tmp_path / "state"), str(root), START) as store:
        Rig(store=store, state=store.state).start("r1").play([It(edit=1)])
    assert list(other.iterdir()) == []


def test_what_stands_as_it_was_written_is_not_written_again(tree: Tree) -> None:
    with tree.open() as store:
        Rig(store=store, state=store.state).start("r1").play([It(edit=1)])
        before = (tree.place / ".circuit_breaker_history").stat().st_mtime_ns, (tree.place / ".ralph_session").stat().st_ino
        store._files.show(store.state)
        after = (tree.place / ".circuit_breaker_history").stat().st_mtime_ns, (tree.place / ".ralph_session").stat().st_ino
    assert before == after


def test_without_its_directory_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    with Store.open(str(tmp_path / "state"), str(tmp_path / "app"), START) as store:
        Rig(store=store, state=store.state).start("r1").play([It(edit=1)])
        assert store.failed == ""
    assert list((tmp_path / "app").iterdir()) == []


def test_a_directory_that_takes_nothing_stops_nothing(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with tree.open() as store:
        kept = Beside(str(tree.root))
        monkeypatch.setattr(beside.os, "rename", full)
        kept.show(store.state, store.directory)
        monkeypatch.undo()
        assert "No space left" in kept.failed
