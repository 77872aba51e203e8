"""Work that outlasts the state that it belongs to is broken off where it is, and what the state's row says comes next."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from guard.loop import deadline, split_work
from guard.loop.command import End
from guard.loop.configuration import Settings
from guard.loop.deadline import Overdue
from guard.loop.desk import Desk
from guard.loop.events import Judged, RunStarted
from guard.loop.invocation import Invocation
from guard.loop.iteration import Job
from guard.loop.journal import Good, read
from guard.loop.plan import Progress
from guard.loop.protection import UNCHECKED, Guardian
from guard.loop.runner import Runner
from guard.loop.settings import settle
from guard.loop.signals import Signals
from guard.loop.state import OPEN, State
from guard.loop.store import Store
from guard.loop.tree import Tree
from guard.loop.verifying import Verifier
from guard.loop.view import View
from guard.policy import Policy
from tests.loop.rig import START


class Clock:
    """Stands still until somebody moves it."""

    kind, step_s = "test", 0.01

    def __init__(self) -> None:
        self.t = START

    def now(self) -> int:
        return self.t

    def elapsed(self) -> float:
        return self.t / 1000 + time.monotonic()

    def sleep(self, seconds: float) -> None:
        self.t += int(seconds * 1000)


def endless(clock: Clock, minutes: float) -> Callable[..., Any]:
    """Work that takes minutes, and goes on after any error that it could handle."""

    def work(*values: object) -> Any:
        clock.t += int(minutes * 60_000)
        for _ in range(400):
            try:
                time.sleep(0.01)
            except Exception:
                continue
        raise AssertionError("nobody broke it off")

    return work


@dataclass
class Loop:
    """One run over a small tree, with an agent that does nothing."""

    top: Path
    store: Store
    clock: Clock

    def run(self, verify: tuple[str, ...] = ()) -> tuple[End, State]:
        settings = Settings(settle({"iterations": 1, "plan": True}).config, verify=verify)
        words = ("/bin/sh", "-c", "echo more >> src/a.py")
        job = Job(str(self.top), settings, Invocation("", words, {"PATH": os.defpath}), None, "plan.md")
        guardian = Guardian(job.top, (job.top,), Policy(()), str(self.top.parent / "state"), {})
        started = RunStarted("", job.top, 1, "1", "b", "0", (), "sh", settings.config, "d")
        with Signals().caught() as signals:
            desk = Desk(self.store, self.clock, View(self.store.directory, quiet=True), signals, "r1", False)
            return Runner(job, desk, guardian, Tree(job.top, "plan.md")).run(started), desk.state

    def events(self) -> list[Any]:
        return [line.event.body for line in read(f"{self.store.directory}/journal.jsonl") if isinstance(line, Good)]

    @property
    def entered(self) -> list[str]:
        return [f"{body.state} {body.why}".strip() for body in self.events() if body.name == "entered"]


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[Loop]:
    top = tmp_path / "project"
    (top / "src").mkdir(parents=True)
    (top / "src/a.py").write_text("a\n")
    (top / "plan.md").write_text("- [ ] one\n")
    with Store.open(str(tmp_path / "state"), str(top), START, "test") as store:
        yield Loop(top, store, Clock())


def test_nothing_is_broken_off_in_time(loop: Loop) -> None:
    end, state = loop.run()
    assert (end.exit, end.reason) == (2, "iterations")
    assert state.last is not None
    assert state.last.progress
    assert "DECIDE measure_overdue" not in loop.entered


@pytest.mark.parametrize(("owner", "name"), [(Guardian, "copy"), (Tree, "_list"), (Progress, "before")])
def test_without_copies_in_time_there_is_no_call(loop: Loop, owner: type, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = getattr(owner, name)
    slow = endless(loop.clock, 5.1)

    def late(*values: Any) -> Any:  # at the start of the run it is as fast as ever
        return slow() if loop.store.state.lifecycle == "SNAPSHOT" else real(*values)

    monkeypatch.setattr(owner, name, late)
    end, state = loop.run()
    assert (end.status, end.exit, end.reason) == ("error", 74, "snapshot_overdue")
    assert (state.calls, state.iteration) == (0, None)


@pytest.mark.parametrize("plan", ["- [ ] one\n", "- [x] one\n"])
def test_what_is_not_measured_in_time_counts_as_failed(loop: Loop, plan: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def late(tree: Tree, *values: object) -> Any:
        (loop.top / "plan.md").write_text(plan)
        return endless(loop.clock, 5.1)()

    monkeypatch.setattr(Tree, "after", late)
    end, state = loop.run(verify=("true",))
    assert (end.exit, end.reason) == (2, "iterations")
    assert state.last is not None
    assert not state.last.progress
    assert state.last.tests is not None
    assert not state.last.tests.ok  # it was not even run
    assert "DECIDE measure_overdue" in loop.entered
    assert [body.detail for body in loop.events() if body.name == "alert" and body.kind == "overdue"]
    assert state.run is not None
    assert state.run.plan is not None
    assert state.run.plan.open == 1  # nobody has seen that it is complete


def test_protected_files_that_cannot_be_looked_at_in_time_count_as_harmed(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Guardian.look
    monkeypatch.setattr(
        Guardian,
        "look",
        lambda own, command, events: endless(loop.clock, 6)() if loop.store.state.iteration else real(own, command, events),
    )
    end, state = loop.run()
    assert (end.exit, state.breaker.state, state.breaker.cause) == (4, OPEN, "integrity")
    assert state.last is not None
    assert [one.kind for one in state.last.violations] == [UNCHECKED]
    assert [body.matched for body in loop.events() if isinstance(body, Judged)] == [("integrity",)]


def test_verify_commands_that_outlast_all_their_time_have_failed(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Verifier.measure
    slow = endless(loop.clock, 11)
    monkeypatch.setattr(Verifier, "measure", lambda own: slow() if loop.store.state.iteration else real(own))
    _, state = loop.run(verify=("true",))
    assert state.last is not None
    assert state.last.tests is not None
    assert not state.last.tests.ok
    assert "DECIDE verify_overdue" in loop.entered


def test_a_tree_is_whole_again_after_a_look_that_was_broken_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_text("1")
    tree = Tree(str(tmp_path))
    tree.before()
    before = tree.digest
    (tmp_path / "b").write_text("2")
    with monkeypatch.context() as patch:
        patch.setattr(Tree, "_odd", lambda own: (_ for _ in ()).throw(Overdue))
        with pytest.raises(Overdue):
            tree.after()
    (tmp_path / "b").unlink()
    assert tree.before() == ()
    assert tree.digest == before
    (tmp_path / "a").write_text("3")
    assert tree.after().paths == ("a",)


def test_the_second_process_of_a_work_that_is_broken_off_ends_with_it() -> None:
    clock = Clock()
    own = os.getpid()

    def work(start: int, end: int) -> list[int]:
        if os.getpid() != own:
            time.sleep(60)
        clock.t += 2
        return []

    began = time.monotonic()
    with pytest.raises(Overdue), deadline.kept(START + 1, clock):
        split_work._shared(10, work)
    assert time.monotonic() - began < 30
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def _within(ends: int, clock: Clock, work: Callable[[], object]) -> None:
    with deadline.kept(ends, clock):
        work()


def test_afterwards_the_signal_and_its_handler_are_as_before() -> None:
    clock = Clock()
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(Overdue):
        _within(START, clock, endless(clock, 1))
    with deadline.kept(None, clock), deadline.kept(clock.t + 10, clock):
        pass
    with pytest.raises(Overdue):
        _within(START, clock, pytest.fail)
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
