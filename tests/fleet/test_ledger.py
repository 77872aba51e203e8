"""The ledger, in a file and on a server: never more calls than the limit, whatever happens in between."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guard.errors import GuardError
from guard.fleet import sqlite as file_of
from guard.fleet.ledger import CRITICAL, HOUR_MS, NORMAL, ORDINARY, RESERVE, Ask, Away, Entry, Ledger, Lost, free_at
from guard.fleet.sqlite import Sqlite
from tests.fleet.conftest import Opened, Server

FULL = bool(os.environ.get("GUARD_FLEET_FULL"))


def test_it_admits_its_limit_and_says_when_the_next_may_start(opened: Opened) -> None:
    ledger = opened()
    answers = [ledger.reserve(Ask(f"a{number}", "a", 3)) for number in range(3)]
    refused = opened().reserve(Ask("b0", "b", 3))
    assert [answer.used for answer in answers] == [0, 1, 2]
    assert all(answer.ok for answer in answers)
    assert (refused.ok, refused.used, refused.free_at, refused.loops) == (False, 3, answers[0].t + HOUR_MS, 2)
    assert ledger.count() == 3


def test_calls_of_an_hour_ago_do_not_count_and_those_of_the_future_do(opened: Opened) -> None:
    ledger = opened()
    now = ledger.now()
    ledger.put(
        [Entry("old", "a", now - HOUR_MS - 1), Entry("new", "a", now - HOUR_MS + 60_000), Entry("ahead", "a", now + 10**8)]
    )
    assert ledger.count() == 2
    assert not ledger.reserve(Ask("x", "a", 2)).ok
    assert ledger.reserve(Ask("x", "a", 3)).ok


def test_without_a_limit_each_call_is_noted_all_the_same(opened: Opened) -> None:
    ledger = opened()
    assert all(ledger.reserve(Ask(str(number), "a", 0)).ok for number in range(5))
    assert ledger.count() == 5


def test_spending_is_summed_by_pool_and_loop_and_twice_is_once(opened: Opened) -> None:
    ledger = opened()
    for name, loop, pool in (("1", "a", ORDINARY), ("2", "b", ORDINARY), ("3", "b", RESERVE)):
        ledger.reserve(Ask(name, loop, 0, pool))
    now = ledger.now()
    paid = [Entry("1", "a", now, 10, 100), Entry("2", "b", now, 20, 200), Entry("3", "b", now, 40, 400, RESERVE)]
    for _ in range(2):
        ledger.put(paid)
    ledger.put([Entry("0", "a", now - 10 * HOUR_MS, 1000, 1000)])
    found = ledger.standing("b", NORMAL, now - HOUR_MS)
    assert (found.ordinary, found.reserve, found.own) == ((30, 300), (40, 400), (60, 600))
    assert (found.critical, found.loops) == (False, 2)
    assert ledger.standing("c", CRITICAL, now).critical
    assert ledger.standing("b", NORMAL, now)[4:] == (True, 3)


def test_a_ledger_that_has_forgotten_a_call_says_so(opened: Opened) -> None:
    ledger = opened()
    assert ledger.reserve(Ask("1", "a", 5)).ok
    assert ledger.reserve(Ask("2", "a", 5, before="1")).ok
    with pytest.raises(Lost):
        ledger.reserve(Ask("3", "a", 5, before="none"))
    assert ledger.count() == 2


def test_a_call_that_is_reserved_again_counts_once(opened: Opened) -> None:
    ledger = opened()
    assert ledger.reserve(Ask("1", "a", 2)).ok
    assert ledger.reserve(Ask("1", "a", 2)).ok
    assert ledger.count() == 1


def test_many_at_once_never_get_more_than_the_limit(opened: Opened) -> None:
    def ask(loop: int) -> int:
        ledger = opened()
        found = sum(ledger.reserve(Ask(f"{loop}:{number}", str(loop), 20)).ok for number in range(8))
        ledger.close()
        return found

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(ask, range(8))) == 20


RUNNER = """
import os, sys
from tests.fleet.judged import runner
runner(*sys.argv[1:])
"""


def test_two_runners_that_are_killed_at_random_never_pass_the_limit(opened: Opened, tmp_path: Path) -> None:
    """The judge is what the ledger itself admitted, and what was launched: a line in a file, written after the reservation."""
    count, limit = (1000, 1000) if FULL else (60, 25)
    first = opened()
    where = first.path if isinstance(first, Sqlite) else first._server.connection_pool.connection_kwargs["path"]  # type: ignore[attr-defined]
    kind = "sqlite" if isinstance(first, Sqlite) else "redis"
    runs = [0, 0]

    def start(number: int) -> subprocess.Popen[bytes]:
        runs[number] += 1
        argv = [sys.executable, "-c", RUNNER, kind, str(where), f"{number}.{runs[number]}", str(limit), str(count), str(tmp_path)]
        return subprocess.Popen(argv, cwd=Path(__file__).parent.parent.parent)

    living = [start(0), start(1)]
    kills = 0
    for number in (0, 1):
        while True:
            code = living[number].wait(120)
            if code == 0:
                break
            assert code == -signal.SIGKILL
            kills += 1
            living[number] = start(number)
    launched = (tmp_path / "launched").read_text().split()
    assert kills >= 2
    assert first.count() == limit
    assert limit - kills <= len(launched) <= limit
    assert len(set(launched)) == len(launched)
    if FULL:
        print(f"{kind}: {len(launched)} launched, {first.count()} reserved, limit {limit}, {kills} kills")


MOVES = st.lists(st.tuples(st.integers(-2 * HOUR_MS, 2 * HOUR_MS), st.integers(1, 4)), max_size=25)


@settings(max_examples=25, deadline=None)
@given(MOVES)
def test_no_clock_move_admits_more(moves: list[tuple[int, int]]) -> None:
    """Fewer than the limit lie in the hour before each call that is admitted, or after it, whatever the clock did before."""
    t, made = 10**12, list[int]()
    with tempfile.TemporaryDirectory() as directory:
        ledger = Sqlite(directory, lambda: t)
        for number, (move, limit) in enumerate(moves):
            t += move
            counting = sum(one > t - HOUR_MS for one in made)
            answer = ledger.reserve(Ask(str(number), "a", limit))
            assert answer.ok == (counting < limit)
            made += [t] * answer.ok
            if not answer.ok:
                assert answer.free_at == free_at([one for one in made if one > t - HOUR_MS], limit)
        ledger.close()


def test_of_very_many_calls_the_newest_are_kept_and_decide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_of, "KEPT", 5)
    monkeypatch.setattr(file_of, "SURPLUS", 2)
    t = 10**12
    ledger = Sqlite(str(tmp_path), lambda: t)
    for number in range(20):
        t += HOUR_MS
        assert ledger.reserve(Ask(str(number), "a", 5)).ok
    t -= 10 * HOUR_MS  # the clock is set back: the calls that count are all there
    assert not ledger.reserve(Ask("x", "a", 5)).ok


@pytest.mark.parametrize("damage", [b"", b"no file of this kind" * 40, None, b"middle"])
def test_a_damaged_file_is_put_aside_and_made_anew(tmp_path: Path, damage: bytes | None) -> None:
    told: list[str] = []
    now = 10**12
    kept = [Entry("1", "a", now - 1, 7), Entry("2", "b", now - 1)]
    ledger = Sqlite(str(tmp_path), lambda: now, lambda: kept, told.append)
    other = Sqlite(str(tmp_path), lambda: now, lambda: kept, told.append)
    told.clear()
    assert ledger.reserve(Ask("3", "a", 9)).ok
    assert other.count() == 3
    path = Path(ledger.path)
    whole = path.read_bytes()
    if damage is None:
        path.unlink()
    elif damage == b"middle":
        path.write_bytes(whole[:4096] + b"\xff" * 4096 + whole[8192:])
    else:
        path.write_bytes(damage)
    ledger.close()
    assert ledger.reserve(Ask("4", "b", 3)).used == 2
    assert ledger.standing("a", NORMAL, 0).ordinary == (7, 0)
    assert other.count() == 3
    assert len(told) == 1
    assert bool(list(path.parent.glob("*.damaged-1"))) == (damage is not None)


def test_a_disk_that_cannot_be_written_admits_nothing(tmp_path: Path) -> None:
    ledger = Sqlite(str(tmp_path), lambda: 10**12)
    assert ledger.reserve(Ask("1", "a", 9)).ok
    assert ledger._base is not None
    ledger._base.execute("pragma max_page_count = 1")
    with pytest.raises(GuardError) as caught:
        ledger.put(Entry(f"{number} {'x' * 500}", "a", 10**12) for number in range(2000))
    assert ledger.count() == 1
    assert caught.value.code == 74
    assert "room" in caught.value.todo


def test_a_file_that_others_hold_is_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_of, "BUSY_S", 0.05)
    one, other = Sqlite(str(tmp_path), lambda: 10**12), Sqlite(str(tmp_path), lambda: 10**12)
    assert one.reserve(Ask("1", "a", 9)).ok
    assert one._base is not None
    one._base.execute("begin immediate")
    with pytest.raises(Away, match="others hold it"):
        other.reserve(Ask("2", "b", 9))
    one._base.execute("rollback")
    assert other.reserve(Ask("2", "b", 9)).ok


def test_a_server_that_is_stopped_is_away_within_a_second_and_comes_back(server: Server) -> None:
    from guard.fleet.redis import Redis

    ledger: Ledger = Redis(server.url)
    assert ledger.reserve(Ask("1", "a", 9)).ok
    server.stop()
    began = time.monotonic()
    with pytest.raises(Away, match="no answer within 1 s"):
        ledger.reserve(Ask("2", "a", 9))
    assert 0.9 < time.monotonic() - began < 15
    server.go_on()
    assert ledger.reserve(Ask("3", "a", 9)).ok


def test_no_error_shows_the_password() -> None:
    redis = pytest.importorskip("guard.fleet.redis")
    with pytest.raises(Away) as away:
        redis.Redis("redis://user:hunter2@127.0.0.1:1/0").now()
    with pytest.raises(GuardError) as wrong:
        redis.Redis("redis://user:hunter2@127.0.0.1:port/0")
    assert "hunter2" not in f"{away.value!r} {wrong.value!r} {wrong.value}"
