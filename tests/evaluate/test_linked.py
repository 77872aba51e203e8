"""Linked actions: the table, and what a loop does about it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from guard.errors import GuardError
from guard.evaluate import book, linking, starting
from guard.evaluate.linked import DAY_MS, Known, Thresholds, actions, strictest
from guard.evaluate.thresholds import thresholds
from guard.loop import configuration, store
from guard.loop.events import Budgeted, LevelChanged
from guard.loop.identity import place
from guard.loop.state import State
from guard.loop.store import Store
from guard.world import Budget, World
from tests.loop.bench import EDIT, Bench, step
from tests.loop.rig import START, It, Rig

ALL = Thresholds(reverts=10, baseline=80, audit=3.0, classification=20)
COMMITS = tuple(f"{number:040x}" for number in range(1, 5))


@pytest.mark.parametrize(
    ("known", "name"),
    [
        (Known(commits=20, reverted=COMMITS[:2]), None),  # 10 %
        (Known(commits=20, reverted=COMMITS[:3]), "level 2"),
        (Known(commits=9, reverted=COMMITS), None),  # too few to say
        (Known(baseline=(1, 80.0)), None),
        (Known(baseline=(1, 79.9)), "pause"),
        (Known(audits=[(0, 2.0)]), None),  # one week
        (Known(audits=[(0, 2.0), (7 * DAY_MS, 3.0)]), None),
        (Known(audits=[(0, 2.0), (7 * DAY_MS, 2.9)]), "level 2"),
        (Known(audits=[(0, 2.0), (7 * DAY_MS, 2.9)], level=2), "level 1"),
        (Known(audits=[(0, 2.0), (7 * DAY_MS, 2.9)], level=1), "level 1"),
        (Known(audits=[(0, 2.0), (3 * DAY_MS, 4.0), (7 * DAY_MS, 2.9)]), None),  # a good one between them
        (Known(audits=[(0, 2.0), (DAY_MS, 2.0)]), None),  # the same week
        (Known(audits=[(0, 2.0), (30 * DAY_MS, 2.0)]), None),  # not successive
        (Known(apart=0.2), None),
        (Known(apart=0.21), "alert"),
        (Known(), None),
    ],
)
def test_each_row_acts_beyond_its_threshold(known: Known, name: str | None) -> None:
    found = actions(ALL, known)
    assert [one.name for one in found] == ([name] if name else [])
    assert actions(Thresholds(), known) == []


def test_the_strictest_of_several_files_holds() -> None:
    assert not Thresholds()
    assert strictest([]) == Thresholds()
    found = strictest([Thresholds(10, 80), Thresholds(20, 90, 3.5), Thresholds(classification=5)])
    assert found == Thresholds(10, 90, 3.5, 5)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("reverts = 101", "from 1 to 100"),
        ("audit = 9", "from 1 to 5"),
        ("revert = 10", 'did you mean "reverts"'),
        ("baseline = true", "baseline"),
    ],
)
def test_thresholds_are_read_strictly(tmp_path: Path, text: str, wrong: str) -> None:
    (tmp_path / "guard.toml").write_text(f"[loop.linked]\n{text}\n")
    with pytest.raises(GuardError) as error:
        thresholds(str(tmp_path), {"HOME": str(tmp_path / "home")}, World({}, Budget(60, 1000)))
    assert "guard.toml:2" in str(error.value)
    assert wrong in f"{error.value} {error.value.todo}"


def loop(tmp_path: Path) -> tuple[str, str]:
    """A loop that has run: its directory and its tree."""
    top = tmp_path / "tree"
    top.mkdir()
    with Store.open(str(tmp_path / "state"), str(top), START) as kept:
        rig = Rig(store=kept, state=kept.state).start("r")
        rig.one(It(edit=1))
    return place(str(tmp_path / "state"), str(top)), str(top)


def standing(directory: str) -> State:
    found = store.peek(directory)
    assert found is not None
    return found


def test_a_bad_baseline_pauses_once(tmp_path: Path) -> None:
    directory, top = loop(tmp_path)
    book.add(directory, book.Baseline("cmd", "cases", "d", 7, 10))
    assert linking.act(directory, top, Thresholds(reverts=10), START) == []
    (done,) = linking.act(directory, top, ALL, START)
    hold = standing(directory).hold
    assert hold is not None
    assert "the baseline is at 70.0 %, below 80 %: investigate" in hold.reason
    assert linking.act(directory, top, ALL, START) == []
    (recorded,) = [one for _, one in book.read(directory, book.LinkedAction)]
    assert (recorded.rule, recorded.action, done.said) == ("baseline", "pause", "")
    assert recorded.said.startswith("paused (linked: the baseline")


def test_poor_audits_lower_the_level_and_no_budget_lifts_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory, top = loop(tmp_path)
    for days in (0, 7):
        monkeypatch.setattr("time.time", lambda days=days: START / 1000 + 86_400 * days)
        book.add(directory, book.Audited({"r#1": 2}, 2.0, 0, 0, 0))
    (done,) = linking.act(directory, top, ALL, START)
    state = standing(directory)
    assert (done.action.name, state.level, state.config.level) == ("level 2", 2, 2)
    assert state.alerts[-1]["kind"] == "linked"
    left, (reason,) = linking.level(ALL, linking.known(directory, top, START))
    assert (left, "audits of two weeks" in reason) == (2, True)


def test_a_curb_never_raises_a_level() -> None:
    rig = Rig({"level": 3}).start()
    rig.record(LevelChanged(3, 1, "budget", "spent", "guard"))
    rig.record(LevelChanged(1, 2, "linked", "reverts", "person"))
    assert (rig.state.level, rig.state.config.level) == (1, 2)
    rig.record(Budgeted("tokens", 10, 0, 0, 0, "normal", "ordinary", 2, rig.t))
    rig.record(LevelChanged(1, 2, "budget", "room again", "guard"))
    assert rig.state.level == 2


def test_a_configuration_that_was_not_tried_out_is_told(tmp_path: Path) -> None:
    directory, top = loop(tmp_path)
    same = standing(directory).config
    tree, environ = World({}, Budget(60, 1000)), {"HOME": str(tmp_path / "home")}

    def told(**changes: int) -> tuple[str, ...]:
        from guard.loop.record import replace

        found = configuration.Settings(replace(same, **changes))
        return starting.settled(found, directory, top, environ, tree, START).warnings

    assert told() == ()
    assert told(no_progress=2) == (starting.UNTRIED,)
    book.add(directory, book.Replayed("a", "b", "d", 1, 1, 1, 0, 0, 0))
    assert told(no_progress=2) == ()
    assert not starting.untried(f"{directory}-other", same)  # nothing has run there


def test_through_the_command_line(tmp_path: Path) -> None:
    bench = Bench(tmp_path, clock=False)
    bench.write("cases.yaml", "cases: [{id: one, input: 1, expected: {a: 1}}]\n")
    bench.write("guard.toml", "[loop.linked]\nbaseline = 80\n")
    bench.loop([step(EDIT)], "-n", "1")
    found = bench.guard("eval", "baseline", "cases.yaml", "--cmd", "echo '{}'", "--save")
    assert (found.code, "linked pause: the baseline is at 0.0 %" in found.out) == (0, True)
    status = json.loads(bench.guard("loop", "status", "--json").out)
    assert (status["mode"], "below 80 %" in status["pause"]["reason"]) == ("paused", True)
    rehearsed = bench.guard("loop", "--dry-run", "-n", "7", *bench.agent([step(EDIT)]))
    assert "guard eval replay A B" in rehearsed.out
    shown = json.loads(bench.guard("loop", "report", "--format", "json").out)
    assert [one["action"] for one in shown["linked"]] == ["pause"]
