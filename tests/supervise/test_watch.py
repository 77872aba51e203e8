"""When a runner counts as hung: by its heartbeats, the clock of the machine, and the one that only goes forward."""

from __future__ import annotations

import pytest

from guard.loop import heartbeat
from guard.loop.heartbeat import Beat
from guard.supervise.watch import GRACE_S, LONGEST_S, STALE_S, Overdue, Watch

T = 1_796_040_000_000


class Times:
    """A watch with its clocks: `now` is the machine's, `elapsed` the one that only goes forward."""

    def __init__(self, old: Beat | None = None) -> None:
        self.now, self.elapsed = T, 100.0
        self.watch = Watch(self.elapsed, old)

    def pass_(self, seconds: float, beat: Beat | None = None, alive: bool = False) -> Overdue | None:
        """Lets time pass, with a look every second. `alive`: the heartbeat is renewed all the while."""
        found = None
        for _ in range(round(seconds)):
            self.now += 1000
            self.elapsed += 1
            if alive and beat is not None:
                beat = Beat(self.now, beat.state, beat.deadline)
            found = self.watch.look(beat, self.now, self.elapsed)
            if found is not None:
                break
        return found


def test_a_runner_is_late_five_seconds_after_its_deadline_and_not_before() -> None:
    times = Times()
    beat = Beat(T, "EXECUTE", T + 60_000)
    assert times.pass_(60 + GRACE_S, beat) is None
    assert times.pass_(2, beat) == Overdue("EXECUTE", T, T + 60_000, GRACE_S + 1)


def test_a_heartbeat_with_the_same_deadline_gives_no_more_time() -> None:
    times = Times()
    found = times.pass_(100, Beat(T, "SNAPSHOT", T + 30_000), alive=True)
    assert found is not None
    assert times.elapsed - 100 == 30 + GRACE_S + 1


def test_the_next_state_has_its_own_time() -> None:
    times = Times()
    assert times.pass_(30, Beat(T, "SNAPSHOT", T + 31_000)) is None
    assert times.pass_(30, Beat(T + 30_000, "EXECUTE", T + 60_000)) is None


@pytest.mark.parametrize("text", [None, "", "nonsense", "\0\0", "1 EXECUTE", "x EXECUTE 5", "1 A 2 3", "9" * 150])
def test_without_a_heartbeat_a_start_takes_a_minute_at_most(text: str | None, tmp_path: object) -> None:
    if text is not None:
        with open(f"{tmp_path}/{heartbeat.NAME}", "w") as file:
            file.write(text)
    times = Times()
    beat = heartbeat.read(str(tmp_path))
    assert times.pass_(60 + GRACE_S, beat) is None
    assert times.pass_(2, beat) == Overdue("START", 0, None, GRACE_S + 1)


def test_what_an_earlier_runner_left_behind_is_no_heartbeat() -> None:
    old = Beat(T - 5000, "EXECUTE", T + 3_000_000)
    assert Times(old).pass_(70, old) is not None


def test_a_heartbeat_that_is_gone_or_damaged_leaves_the_deadline_as_it_was() -> None:
    times = Times()
    assert times.pass_(10, Beat(T, "EXECUTE", T + 40_000)) is None
    assert times.pass_(35) is None
    found = times.pass_(2)
    assert found is not None
    assert found.deadline == T + 40_000


def test_a_machine_that_slept_does_not_make_a_runner_late() -> None:
    times = Times()
    working, waiting = Beat(T, "EXECUTE", T + 60_000), Beat(T, "WAIT_CALLS", T + 60_000)
    for beat in (working, waiting):
        times = Times()
        assert times.pass_(10, beat) is None
        times.now += 8 * 3_600_000  # the clock that only goes forward does not count sleep
        assert times.pass_(4, beat) is None


def test_neither_does_a_stop_of_the_watch_itself() -> None:
    """A container that was frozen, a virtual machine, SIGSTOP: both clocks have gone on."""
    times = Times()
    beat = Beat(T, "EXECUTE", T + 60_000)
    assert times.pass_(10, beat) is None
    times.now += 3_600_000
    times.elapsed += 3600
    assert times.pass_(40, beat) is None
    assert times.pass_(20, beat) is not None


@pytest.mark.parametrize("hours", [-5, 5])
def test_a_clock_that_is_set_changes_nothing_for_work(hours: int) -> None:
    times = Times()
    beat = Beat(T, "EXECUTE", T + 60_000)
    assert times.pass_(10, beat) is None
    times.now += hours * 3_600_000
    assert times.pass_(50 + GRACE_S, beat) is None
    assert times.pass_(2, beat) is not None


def test_a_wait_lasts_until_its_moment_whatever_the_clock_is_set_to() -> None:
    times = Times()
    beat = Beat(T, "WAIT_CALLS", T + 60_000)
    assert times.pass_(10, beat) is None
    times.now -= 600_000
    assert times.pass_(640, beat, alive=True) is None
    assert times.pass_(30, Beat(times.now, beat.state, beat.deadline), alive=True) is not None


def test_a_wait_whose_moment_has_passed_has_the_grace_from_when_it_could_act() -> None:
    times = Times()
    beat = Beat(T, "COOLDOWN", T + 3_600_000)
    assert times.pass_(10, beat) is None
    times.now += 7_200_000  # set forward, or slept
    assert times.pass_(GRACE_S, beat) is None
    assert times.pass_(2, beat) is not None


def test_a_heartbeat_from_before_the_clock_was_set_back_counts_for_as_long_as_its_state_lasts() -> None:
    times = Times()
    times.now -= 3_600_000
    beat = Beat(T, "SNAPSHOT", T + 300_000)
    assert times.pass_(300 + GRACE_S, beat) is None
    assert times.pass_(2, beat) is not None


def test_no_heartbeat_buys_more_than_a_day() -> None:
    times = Times()
    beat = Beat(T, "EXECUTE", T + 10**12)
    assert times.pass_(STALE_S + GRACE_S, beat) is None
    assert times.pass_(2, beat) is not None  # it has not been renewed
    watch = Watch(0.0, most_s=LONGEST_S * 2)
    assert watch.look(Beat(T, "MEASURE", T + 10**12), T, 0.0) is None
    assert watch.look(None, T, LONGEST_S + GRACE_S + 1) is not None


@pytest.mark.parametrize("state", ["WAIT_USAGE", "HELD", "COOLDOWN", "EXECUTE", "VERIFY"])
def test_states_with_a_heartbeat_every_second_are_late_without_one(state: str) -> None:
    """Long before their deadline: a runner that was stopped while it waits for the night."""
    times = Times()
    beat = Beat(T, state, T + 36_000_000)
    assert times.pass_(STALE_S + GRACE_S, beat) is None
    assert times.pass_(2, beat) is not None
    assert Times().pass_(2000, beat, alive=True) is None


def test_an_end_takes_a_minute_at_most() -> None:
    assert Times().pass_(60, Beat(T, "END", None)) is None
    assert Times().pass_(70, Beat(T, "END", None)) is not None


def test_a_state_of_a_later_version_is_known_by_its_deadline() -> None:
    assert Times().pass_(30, Beat(T, "DREAM", T + 60_000)) is None
    assert Times().pass_(70, Beat(T, "DREAM", T + 60_000)) is not None
