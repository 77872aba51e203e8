"""What a run makes of the ledger: calls that are shared, the day's budget, and a ledger that is away."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from guard.fleet import day, history
from guard.fleet.ledger import HOUR_MS, MILLIONTHS, Answer, Ask, Away, Entry, Ledger, Standing
from guard.fleet.sqlite import Sqlite
from guard.loop import gatekeeper, status
from guard.loop.command import Command, Do, End, Enter
from guard.loop.economy import Economy
from guard.loop.events import Alert, Budgeted, CallEnded, CallReserved, FleetChanged, LevelChanged
from guard.loop.facts import Tokens
from guard.loop.lifecycle import WAIT_BUDGET, WAIT_CALLS
from guard.loop.store import Store
from tests.loop.rig import START, It, Rig


class Switch:
    """A ledger that can be taken away."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger, self.away = ledger, False

    def _at(self) -> Ledger:
        if self.away:
            raise Away("it was taken away")
        return self.ledger

    def now(self) -> int:
        return self._at().now()

    def reserve(self, ask: Ask) -> Answer:
        return self._at().reserve(ask)

    def put(self, entries: Iterable[Entry]) -> None:
        self._at().put(entries)

    def standing(self, loop: str, role: str, since: int) -> Standing:
        return self._at().standing(loop, role, since)

    def count(self) -> int:
        return self._at().count()

    def close(self) -> None:
        self.ledger.close()


class Loop:
    """A loop with an economy: `work` does an iteration as the runner does it."""

    def __init__(self, tmp_path: Path, name: str, **asked: Any) -> None:
        self.store = Store.open(str(tmp_path), str(tmp_path / name), START, "real")
        self.rig = Rig(asked, None, store=self.store)
        self.rig.start()
        self.ledger = Switch(Sqlite(str(tmp_path), lambda: self.rig.t))
        self.told: list[Any] = []
        self.economy = self.opened()

    def opened(self) -> Economy:
        outer = self

        class Desk:
            """What an economy sees of the desk."""

            @property
            def state(self) -> Any:
                return outer.store.state

            @property
            def now(self) -> int:
                return outer.rig.t

            run, store = outer.rig.run, outer.store

            def record(self, body: Any) -> list[Command]:
                outer.told.append(body)
                return outer.rig.record(body)

        return Economy(Desk(), self.ledger)  # type: ignore[arg-type]

    def check(self) -> Command:
        self.economy.look()
        return self.rig.check()

    def work(self, tokens: int = 0, cost: float = 0) -> Command | None:
        """What is done instead of the call; None where it was made."""
        answer = self.check()
        if isinstance(answer, Enter | End):
            return answer
        run = self.store.state.run
        assert run is not None
        made = gatekeeper.reservation(self.store.state, self.rig.t, CallReserved(0, 0, 0))
        assert isinstance(made, CallReserved), made
        instead = self.economy.reserve(made)
        if instead is not None:
            return instead
        self.rig.record(made, run.n + 1)
        self.rig.wait(1)
        ended = CallEnded(made.call, 0, tokens=Tokens(input=tokens), cost_usd=cost)
        self.rig.record(ended, run.n + 1)
        self.economy.charge(made, ended)
        self.rig.measure(It(edit=1))
        return None

    def bodies(self, kind: type) -> list[Any]:
        return [body for body in self.told if isinstance(body, kind)]


def test_two_loops_share_the_calls_of_an_hour(tmp_path: Path) -> None:
    one, other = Loop(tmp_path, "one", fleet_calls=4), Loop(tmp_path, "other", fleet_calls=4)
    assert [one.work(), other.work(), one.work(), other.work()] == [None] * 4
    other.rig.t = one.rig.t = max(one.rig.t, other.rig.t)
    answer = one.work()
    assert isinstance(answer, Enter)
    assert (answer.state, answer.why, answer.until) == (WAIT_CALLS, "fleet", START + HOUR_MS)
    one.rig.t = START + HOUR_MS
    assert one.work() is None
    shown = status.status(one.store.state)["fleet"]
    assert shown == {"state": "shared", "loops": 2, "share": 2, "limit": 4, "why": ""}


def test_the_own_limit_holds_as_well(tmp_path: Path) -> None:
    one = Loop(tmp_path, "one", fleet_calls=50, calls_per_hour=2)
    assert [one.work(), one.work()] == [None, None]
    answer = one.work()
    assert isinstance(answer, Enter)
    assert answer.why == "calls"
    assert one.ledger.count() == 2


def test_a_call_that_is_repeated_and_finds_none_left_is_measured(tmp_path: Path) -> None:
    one = Loop(tmp_path, "one", fleet_calls=1)
    one.check()
    one.rig.reserve(It())
    assert gatekeeper.shared(one.store.state, START + HOUR_MS) == Do("measure")


def test_the_day_degrades_at_80_percent_waits_at_100_and_begins_anew(tmp_path: Path) -> None:
    one, other = Loop(tmp_path, "one", day_tokens=1000), Loop(tmp_path, "other", day_tokens=1000, role="cheapest")
    assert other.work(tokens=799) is None
    one.check()
    assert one.store.state.level == 3
    assert one.work(tokens=1) is None
    one.rig.wait(1)
    one.check()
    assert one.store.state.level == 1
    assert one.bodies(LevelChanged)[-1].kind == "budget"
    one.rig.wait(10)
    assert one.work(tokens=300) is None
    one.rig.wait(1)
    answer = one.check()
    midnight = day.end(one.rig.t)
    assert isinstance(answer, Enter)
    assert (answer.state, answer.until, answer.deadline) == (WAIT_BUDGET, midnight, midnight + 5000)
    assert [alert.kind for alert in one.bodies(Alert)] == ["over_budget"]
    shown = status.status(one.store.state)
    assert (shown["state"], shown["level"]) == (WAIT_BUDGET, 1)
    assert (shown["cost"]["day"]["spent"], shown["cost"]["day"]["own"], shown["cost"]["day"]["percent"]) == (1100, 301, 110)
    other.rig.t = one.rig.t + 11 * 60_000
    assert other.work() is None  # the cheapest goes on, slowly
    assert other.store.state.level == 1
    one.rig.t = midnight
    assert one.work() is None
    assert one.store.state.level == 3
    assert status.status(one.store.state)["cost"]["day"]["spent"] == 0


def test_a_critical_loop_has_a_fifth_for_itself(tmp_path: Path) -> None:
    one, critical = Loop(tmp_path, "one", day_cost=10.0), Loop(tmp_path, "critical", day_cost=10.0, role="critical")
    critical.check()
    assert one.work(cost=8.0) is None
    one.rig.wait(11)
    assert isinstance(one.check(), Enter)
    critical.rig.t = one.rig.t
    assert critical.work(cost=1.99) is None
    critical.rig.wait(11)
    assert critical.work(cost=0.01) is None
    critical.rig.wait(11)
    answer = critical.work()
    assert isinstance(answer, Enter)
    assert answer.state == WAIT_BUDGET
    found = critical.store.state.budget
    assert found is not None
    assert (found.spent, found.total, critical.bodies(Alert)) == (10.0, 10.0, [])
    paid = critical.ledger.standing("x", "normal", 0)
    assert (paid.ordinary[1], paid.reserve[1]) == (8 * MILLIONTHS, 2 * MILLIONTHS)


def test_while_the_ledger_is_away_a_loop_keeps_to_its_share_and_says_so_once(tmp_path: Path) -> None:
    one, other = Loop(tmp_path, "one", fleet_calls=8), Loop(tmp_path, "other", fleet_calls=8)
    other.check()
    assert one.work() is None
    one.ledger.away = True
    made = 0
    while (answer := one.work()) is None:
        made += 1
    assert made == 3  # with the one before it, half of eight
    assert isinstance(answer, Enter)
    assert (answer.state, answer.why) == (WAIT_CALLS, "fleet")
    assert [alert.severity for alert in one.bodies(Alert)] == ["warning"]
    shown = status.status(one.store.state)["fleet"]
    assert (shown["state"], shown["share"], shown["why"]) == ("away", 4, "it was taken away")
    one.ledger.away = False
    one.rig.wait(1)
    assert one.work() is None
    assert [alert.severity for alert in one.bodies(Alert)] == ["warning", "info"]
    assert [change.after for change in one.bodies(FleetChanged)][-2:] == ["away", "shared"]
    assert one.ledger.count() == 5  # what was called meanwhile has been told


def test_a_ledger_that_was_never_heard_leaves_nothing_to_share(tmp_path: Path) -> None:
    one = Loop(tmp_path, "one", fleet_calls=8)
    one.ledger.away = True
    answer = one.work()
    assert isinstance(answer, Enter)
    assert answer.why == "fleet"


def test_a_budget_that_nobody_can_tell_is_kept_by_economy_and_guessing(tmp_path: Path) -> None:
    one, other = Loop(tmp_path, "one", day_tokens=1000), Loop(tmp_path, "other", day_tokens=1000)
    other.check()
    assert one.work(tokens=300) is None
    one.check()
    assert one.store.state.level == 3
    one.ledger.away = True
    one.rig.wait(11)
    assert one.work(tokens=200) is None
    one.rig.wait(11)
    one.check()
    found = one.store.state.budget
    assert found is not None
    assert (found.allowed, found.spent, found.own) == (1, 700, 500)  # the other one may have spent as much
    assert one.work(tokens=100) is None
    one.rig.wait(11)
    assert isinstance(one.check(), Enter)


def test_what_a_dead_run_did_not_tell_is_told_by_the_next(tmp_path: Path) -> None:
    one = Loop(tmp_path, "one", day_tokens=1000)
    one.economy.charge = lambda made, ended: None  # type: ignore[method-assign]
    assert one.work(tokens=70) is None
    assert one.ledger.standing("x", "normal", 0).ordinary == (0, 0)
    one.economy = one.opened()
    one.check()
    assert one.ledger.standing("x", "normal", 0).ordinary == (70, 0)
    assert one.ledger.count() == 1


def test_a_lost_ledger_is_made_from_the_journals_of_all_loops(tmp_path: Path) -> None:
    one, other = Loop(tmp_path, "one", fleet_calls=9, day_tokens=10**6), Loop(tmp_path, "other", fleet_calls=9)
    for loop in (one, one, other):
        assert loop.work(tokens=5) is None
    found = history.machine(str(tmp_path), one.rig.t)
    assert sorted(entry.tokens for entry in found) == [0, 0, 5, 5, 5]  # one more for each that is at work
    (tmp_path / "fleet" / "ledger.sqlite").unlink()
    ledger = Sqlite(str(tmp_path), lambda: one.rig.t, lambda: history.machine(str(tmp_path), one.rig.t))
    assert ledger.count() == 5


def test_a_run_begins_at_the_level_that_the_day_has_left(tmp_path: Path) -> None:
    one = Loop(tmp_path, "one", day_tokens=1000)
    assert one.work(tokens=850) is None
    one.check()
    told = len(one.bodies(LevelChanged))
    one.rig.start()
    one.economy = one.opened()
    assert one.store.state.level == 1
    one.check()
    assert len(one.bodies(LevelChanged)) == told
    one.rig.asked = {}
    one.rig.start()
    assert (one.store.state.level, one.store.state.budget) == (3, None)


@pytest.mark.parametrize(("level", "budget_level", "held"), [(3, 3, False), (2, 2, True), (2, 1, True), (1, 1, False)])
def test_level_2_is_held_for_a_person_after_a_change_also_in_the_economy(level: int, budget_level: int, held: bool) -> None:
    rig = Rig({"level": level}, None).start()
    if budget_level != level:
        rig.record(LevelChanged(level, budget_level, "budget", "80 %", "guard"))
    rig.one(It(edit=1))
    assert (rig.state.hold is not None and rig.state.hold.reason == gatekeeper.CONFIRM) == held


def test_level_1_waits_ten_minutes_between_calls_and_says_why() -> None:
    rig = Rig({"level": 1}, None).start()
    rig.one(It(edit=1, minutes=1))
    answer = rig.check()
    assert isinstance(answer, Enter)
    assert (answer.why, answer.until) == ("economy", START + 600_000)


def test_a_budget_is_an_event_that_the_journal_gives_back(tmp_path: Path) -> None:
    one = Loop(tmp_path, "one", day_tokens=1000, fleet_calls=5)
    assert one.work(tokens=900) is None
    one.check()
    expected = one.store.state
    one.store.close()
    again = Store.open(str(tmp_path), str(tmp_path / "one"), START, "real")
    assert (again.state.budget, again.state.fleet, again.state.level) == (expected.budget, expected.fleet, 1)
    assert isinstance(again.state.budget, Budgeted)
    again.close()
