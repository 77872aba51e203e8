"""A loop on the disk: nothing that was recorded is lost, and nothing that was lost lets an open breaker close."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from guard.errors import BUSY, STATE, USAGE, GuardError
from guard.loop import entries, journal, lock, recovery
from guard.loop.command import Call
from guard.loop.entries import line
from guard.loop.events import Alert, BreakerChanged, Entered, Event, Steered
from guard.loop.facts import Reply, Tokens
from guard.loop.files import NAMES
from guard.loop.identity import identity, place
from guard.loop.journal import Bad, Good
from guard.loop.reading import Reading
from guard.loop.record import Invalid
from guard.loop.spending import spent
from guard.loop.state import OPEN, Spent, State
from guard.loop.status import status
from guard.loop.store import Store, peek
from tests.loop.rig import START, It, Rig, times

IDLE = It(message="i looked at it once more and then again", errors=("Error: x",))


@pytest.fixture
def state_dir(tmp_path: Path) -> str:
    return str(tmp_path / "state")


def opened(state_dir: str, t: int = START, **more: Any) -> Store:
    return Store.open(state_dir, "/r", t, **more)


def ran(state_dir: str, *iterations: It, **asked: Any) -> Store:
    """A loop that was run and closed."""
    with opened(state_dir) as store:
        Rig(asked, store=store, state=store.state).start("r1").play(iterations)
    return store


def shown(store: Store) -> Any:
    return json.loads(Path(store.directory, "status.json").read_text())


def contents(store: Store, names: tuple[str, ...] = (*NAMES, "status.json")) -> dict[str, str]:
    found = {name: Path(store.directory, name) for name in names}
    return {name: path.read_text() for name, path in found.items() if path.exists()}


def lines_of(store: Store) -> list[str]:
    return Path(store.directory, journal.NAME).read_text().splitlines(keepends=True)


def test_the_state_survives_a_restart(state_dir: str) -> None:
    store = ran(state_dir, It(edit=1), IDLE, IDLE)
    with opened(state_dir) as again:
        assert again.state == store.state
    assert peek(store.directory) == store.state


def test_identity_is_the_name_and_the_beginning_of_a_digest() -> None:
    assert identity("/some/where/app").startswith("app-")
    assert len(identity("/some/where/app")) == len("app-") + 8
    assert identity("/a/app") != identity("/b/app")
    with pytest.raises(GuardError, match="GUARD_STATE_DIR"):
        place(None, "/r")


def test_derived_files_are_made_again(state_dir: str) -> None:
    store = ran(state_dir, It(edit=1), *times(3, IDLE))
    before = contents(store)
    for name in (*before, "state.json"):
        os.unlink(f"{store.directory}/{name}")
    shutil.rmtree(f"{store.directory}/backups")
    with opened(state_dir) as again:
        assert again.state == store.state
    assert contents(store) == before


@pytest.mark.parametrize("name", [*NAMES, "status.json", "state.json"])
def test_each_derived_file_is_made_again(state_dir: str, name: str) -> None:
    store = ran(state_dir, It(edit=1), *times(3, IDLE))
    before = contents(store)
    os.unlink(f"{store.directory}/{name}")
    opened(state_dir).close()
    assert contents(store) == before


def test_a_derived_file_that_is_ahead_or_behind_is_put_right(state_dir: str) -> None:
    store = ran(state_dir, It(edit=1), *times(3, IDLE))
    before = contents(store)
    with open(f"{store.directory}/iterations.md", "a") as file:
        file.write("## Iteration 9 half wri")
    os.truncate(f"{store.directory}/loop.log", 20)
    opened(state_dir).close()
    assert contents(store) == before


def test_any_prefix_of_the_journal_gives_the_state_of_that_moment(state_dir: str, tmp_path: Path) -> None:
    """Killed after any line, or in the middle of one: what was recorded is there, and so is what follows from it."""
    store = ran(state_dir, It(edit=1), It(exit=1), *times(3, replace(IDLE, tokens=5)))
    whole = lines_of(store)
    live = list(_states(f"{store.directory}/{journal.NAME}"))
    for count in range(1, len(whole) + 1):
        for torn in ("", *(text[: len(text) // 2] for text in whole[count : count + 1])):
            there = tmp_path / f"cut{count}{bool(torn)}"
            directory = there / "loops" / os.path.basename(store.directory)
            directory.mkdir(parents=True)
            (directory / journal.NAME).write_text("".join(whole[:count]) + torn)
            with opened(str(there)) as again:
                state = again.state
            assert not state.pending
            expected = live[count - 1]
            assert (state.breaker, state.memory, state.run, state.hold, state.window) == (
                *(expected.breaker, expected.memory, expected.run, expected.hold, expected.window),
            )
            assert ("torn_line" in [alert["kind"] for alert in state.alerts]) == bool(torn)
            opened(str(there)).close()  # and once more, without anything to say


def _states(path: str) -> Iterator[State]:
    found = recovery.Loaded(State("r"), "")
    for one in journal.read(path):
        assert isinstance(one, Good)
        found.state = recovery._stepped(found.state, one)
        yield found.state


def test_a_damaged_line_never_closes_the_breaker(state_dir: str) -> None:
    """Whichever line is damaged, and whatever else is left of the state, what was open stays open."""
    store = ran(state_dir, *times(3, IDLE))
    whole = lines_of(store)
    path = Path(store.directory, journal.NAME)
    saved = {name: Path(store.directory, name).read_bytes() for name in ("state.json",)}
    for number in range(1, len(whole)):
        for good_checkpoint in (True, False):
            damaged = [*whole]
            damaged[number] = damaged[number].replace('"v":1', '"v":2', 1)
            for old in journal.files(store.directory):
                os.unlink(old)
            path.write_text("".join(damaged))
            shutil.rmtree(f"{store.directory}/backups", ignore_errors=True)
            data = saved["state.json"] if good_checkpoint else b"{"
            Path(store.directory, "state.json").write_bytes(data)
            with opened(state_dir) as again:
                if good_checkpoint:
                    assert again.state.breaker.state == OPEN, number
                else:
                    kinds = {alert["kind"] for alert in again.state.alerts}
                    assert "state_rebuilt" in kinds
                    assert "bad_line" in kinds


def test_a_conclusion_that_was_damaged_is_drawn_again(state_dir: str) -> None:
    store = ran(state_dir, *times(3, IDLE))
    whole = lines_of(store)
    at = next(number for number, text in enumerate(whole) if '"ev":"breaker"' in text)
    whole[at] = whole[at].replace('"to":"OPEN"', '"to":"CLOSED"')
    Path(store.directory, journal.NAME).write_text("".join(whole))
    os.unlink(f"{store.directory}/state.json")
    shutil.rmtree(f"{store.directory}/backups")
    with opened(state_dir) as again:
        assert again.state.breaker.state == OPEN
        assert again.state.breaker.cause == store.state.breaker.cause


def test_a_newer_checkpoint_than_the_journal_keeps_the_stricter(state_dir: str) -> None:
    store = ran(state_dir, *times(3, IDLE))
    whole = lines_of(store)
    Path(store.directory, journal.NAME).write_text("".join(whole[:6]))
    with opened(state_dir) as again:
        assert again.state.breaker.state == OPEN
        assert "checkpoint_ahead" in {alert["kind"] for alert in again.state.alerts}
    with opened(state_dir) as again:
        assert again.state.breaker.state == OPEN


def test_a_damaged_checkpoint_gives_way_to_the_newest_good_one(state_dir: str) -> None:
    store = ran(state_dir, It(edit=1), *times(3, IDLE))
    Path(store.directory, "state.json").write_text('{"v":1')
    backups = sorted(os.listdir(f"{store.directory}/backups"))
    assert 2 < len(backups) <= 10
    Path(store.directory, "backups", backups[-1]).write_text("x" * 50)
    with opened(state_dir) as again:
        assert again.state.breaker == store.state.breaker
        assert again.state.memory == store.state.memory
        assert again.state.alerts[-1]["kind"] == "state_rollback"


def test_without_journal_the_breaker_is_open(state_dir: str) -> None:
    store = ran(state_dir, It(edit=1))
    os.unlink(f"{store.directory}/{journal.NAME}")
    with opened(state_dir) as again:
        breaker = again.state.breaker
        assert (breaker.state, breaker.cause, breaker.recovery, breaker.exit) == (OPEN, "state_lost", "explicit", 1)
    with opened(state_dir) as again:
        rig = Rig(store=again, state=again.state).start("r2")
        rig.check()
        assert rig.end is not None
        assert (rig.end.exit, rig.end.reason) == (1, "state_lost")


@pytest.mark.parametrize("damage", ["unlink", "replace", "truncate", "overwrite", "append", "rmtree"])
def test_x80_a_journal_that_is_lost_under_a_living_runner_stops_it(state_dir: str, damage: str) -> None:
    with opened(state_dir) as store:
        rig = Rig(store=store, state=store.state).start("r1").play(times(2, It(edit=1)))
        rig.check()
        rig.reserve(It(edit=1))
        path = f"{store.directory}/{journal.NAME}"
        _damage(path, damage)
        rig.finish(It(edit=1))
        assert rig.end is not None
        assert (rig.end.exit, rig.end.reason, store.state.breaker.recovery) == (1, "state_lost", "explicit")
    with opened(state_dir, START + 10_000_000) as again:
        assert again.state.breaker.cause == "state_lost"
        assert again.state.run is not None
        assert again.state.run.counted == 3
        assert again.state.calls == 3
        rig = Rig(store=again, state=again.state, t=START + 10_000_000).start("r2")
        rig.check()
        assert rig.end is not None
        assert rig.end.exit == 1


def _damage(path: str, kind: str) -> None:
    data = Path(path).read_bytes()
    if kind == "unlink":
        os.unlink(path)
    elif kind == "replace":
        os.unlink(path)
        Path(path).write_bytes(data)
    elif kind == "truncate":
        os.truncate(path, 100)
    elif kind == "overwrite":
        Path(path).write_bytes(data[:-40] + b"x" * 39 + b"\n")
    elif kind == "append":
        Path(path).write_bytes(data + b"{}\n")
    else:
        shutil.rmtree(os.path.dirname(path))


def test_one_writer_at_a_time(state_dir: str) -> None:
    with opened(state_dir) as store:
        code = f"from guard.loop.store import Store; Store.open({state_dir!r}, '/r', 1)"
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
        assert f"process {os.getpid()} runs this loop" in run.stderr
        with pytest.raises(GuardError) as error:
            opened(state_dir)
        assert error.value.code == BUSY
        assert lock.owner(store.directory) == (os.getpid(), lock.started(os.getpid()))
    assert lock.owner(store.directory) is None
    opened(state_dir).close()


def test_x82_a_lock_that_was_left_behind_hinders_nobody(state_dir: str) -> None:
    store = ran(state_dir)
    Path(store.directory, lock.NAME).write_text("1 1\n")
    opened(state_dir).close()
    assert not lock.alive(os.getpid(), "1")
    assert lock.alive(os.getpid(), lock.started(os.getpid()))


def test_a_full_file_makes_room_for_a_new_one(state_dir: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "FULL", 20_000)
    store = ran(state_dir, *times(30, It(edit=1)))
    assert len(journal.files(store.directory)) > 3
    before = contents(store)
    with opened(state_dir) as again:
        assert again.state == store.state
    for name in (*before, "state.json"):
        os.unlink(f"{store.directory}/{name}")
    shutil.rmtree(f"{store.directory}/backups")
    with opened(state_dir) as again:
        assert again.state == store.state
    assert contents(store) == before
    for old in journal.files(store.directory)[:-1]:
        os.utime(old, (0, 0))
    with opened(state_dir) as again:
        again._journal.expire(START)
    assert len(journal.files(store.directory)) == 1


def test_secrets_reach_no_file(state_dir: str) -> None:
    secret, own = "sk-" + "a1B2" * 8, "correct horse battery"
    with opened(state_dir, secrets=(own,)) as store:
        rig = Rig(store=store, state=store.state).start("r1")
        text = f"Error: key {secret} and {own}"
        rig.play(times(5, It(edit=1, message=text, errors=(text,), gaps=(text,), refused=(f"/r/{own}",))))
    with opened(state_dir) as again:
        assert again.state == store.state
    for directory, _, names in os.walk(store.directory):
        for name in names:
            data = Path(directory, name).read_text()
            assert secret not in data
            assert own not in data


def test_time_from_a_file_and_real_time_do_not_mix(state_dir: str) -> None:
    with opened(state_dir, clock="test") as store:
        store.record(Steered("x", "person"), START)
    assert '"clock":"test"' in lines_of(store)[0]
    with pytest.raises(GuardError) as error:
        opened(state_dir)
    assert error.value.code == USAGE
    opened(state_dir, clock="test").close()
    other = f"{state_dir}2"
    opened(other).close()
    with pytest.raises(GuardError):
        opened(other, clock="test")


def test_a_later_version_is_refused_not_dropped(state_dir: str) -> None:
    store = ran(state_dir, It(edit=1))
    whole = lines_of(store)
    before = entries.stated(whole[-1][:-1])
    assert before is not None
    text = '{"v":2,"seq":99,"t":"x","run":"","n":null,"ev":"new"}'
    total = entries.chained(before, text)
    with open(f"{store.directory}/{journal.NAME}", "a") as file:
        file.write(f'{text[:-1]},"sum":"{total}"}}\n')
    with pytest.raises(GuardError, match="later version"):
        opened(state_dir)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EIO])
def test_what_cannot_be_written_changes_nothing(state_dir: str, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(state_dir) as store:
        Rig(store=store, state=store.state).start("r1").play(times(2, IDLE))
        before, size = store.state, os.path.getsize(f"{store.directory}/{journal.NAME}")
        real = os.pwrite

        def half(fd: int, data: bytes, offset: int) -> int:
            if len(data) > 20:
                return real(fd, data[:10], offset)
            raise OSError(number, os.strerror(number))

        with monkeypatch.context() as patch:
            patch.setattr(os, "pwrite", lambda fd, data, at: (_ for _ in ()).throw(OSError(number, "no")))
            with pytest.raises(GuardError) as error:
                store.record(Entered("CHECK", START), START)
            patch.setattr(os, "pwrite", lambda fd, data, at: half(fd, data, at) if at == size else half(fd, b"", at))
            with pytest.raises(GuardError):
                store.record(Entered("CHECK", START), START)
        assert error.value.code == STATE
        assert (store.state, os.path.getsize(f"{store.directory}/{journal.NAME}")) == (before, size)
        store.record(Entered("CHECK", START), START)
    opened(state_dir).close()


def test_a_flush_that_fails_takes_the_conclusions_back_too(state_dir: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(state_dir) as store:
        rig = Rig(store=store, state=store.state).start("r1").play(times(2, IDLE))
        rig.check()
        rig.reserve(IDLE)
        with monkeypatch.context() as patch:
            patch.setattr(os, "fdatasync", lambda fd: (_ for _ in ()).throw(OSError(errno.EIO, "no")))
            before, text = store.state, contents(store)
            with pytest.raises(GuardError):
                rig.finish(IDLE)
            assert (store.state, contents(store)) == (before, text)
        rig.finish(IDLE)
        assert store.state.breaker.state == OPEN
    with opened(state_dir) as again:
        assert again.state == store.state


def test_a_line_says_what_is_wrong_with_it(tmp_path: Path) -> None:
    event = Event(1, START, "r", None, Alert("x", "info", "y"))
    text, total = line(event, "")
    assert entries.read(text, "") == event
    for change in ({"extra": 1}, {"kind": 3}, {"v": 0}, {"ev": "no"}, {"t": "noon"}, {"seq": -1}):
        values = json.loads(text) | change
        del values["sum"]
        plain = json.dumps(values, separators=(",", ":"))
        with pytest.raises(Invalid):
            entries.read(f'{plain[:-1]},"sum":"{entries.chained("", plain)}"}}', "")
    for name in ("v", "seq", "kind", "run"):
        values = {key: value for key, value in json.loads(text).items() if key not in ("sum", name)}
        plain = json.dumps(values, separators=(",", ":"))
        with pytest.raises(Invalid):
            entries.read(f'{plain[:-1]},"sum":"{entries.chained("", plain)}"}}', "")
    with pytest.raises(Invalid):
        entries.read(text, total)
    path = tmp_path / "j"
    path.write_bytes(b"\xff\x00\n" + b"x" * 1000)
    assert [type(found) for found in journal.read(str(path))] == [Bad, Bad]


def test_status_on_the_disk_is_that_of_the_state(state_dir: str) -> None:
    store = ran(state_dir, It(edit=1), *times(3, IDLE))
    assert shown(store) == json.loads(json.dumps(status(store.state)))


def test_ralph_finds_its_files_where_its_directory_is(tmp_path: Path) -> None:
    root, state = tmp_path / "app", str(tmp_path / "state")
    (root / ".ralph").mkdir(parents=True)
    with Store.open(state, str(root), START) as store:
        rig = Rig(store=store, state=store.state).start("r1").play(times(2, It(question=True)))
        assert json.loads((root / ".ralph/.circuit_breaker_state").read_text())["state"] == "CLOSED"
        rig.play(times(1, It(edit=1)))
        rig.play(times(2, IDLE))
        breaker = json.loads((root / ".ralph/.circuit_breaker_state").read_text())
        assert (breaker["state"], breaker["monitoring"], breaker["consecutive_no_progress"]) == ("HALF_OPEN", True, 2)
        rig.play(times(1, IDLE))
    made = {
        path.relative_to(root / ".ralph").as_posix(): path.read_text() for path in (root / ".ralph").rglob("*") if path.is_file()
    }
    assert set(made) == set(
        """status.json progress.json .call_count .last_reset .exit_signals .response_analysis .circuit_breaker_state
        .circuit_breaker_history .ralph_session .ralph_session_history logs/ralph.log logs/ralph_error.log
        logs/metrics.jsonl logs/exit_decisions.log""".split()
    )
    assert json.loads(made["status.json"])["status"] == "circuit_open"
    assert made[".call_count"] == "6\n"
    assert made[".last_reset"] == "2026113012\n"
    assert [entry["to_state"] for entry in json.loads(made[".circuit_breaker_history"])] == ["OPEN"]
    shutil.rmtree(root / ".ralph")
    (root / ".ralph").mkdir()
    Store.open(state, str(root), START).close()
    for name, text in made.items():
        assert (root / ".ralph" / name).read_text() == text, name


def test_x63_what_stands_beside_the_prompt_is_never_read(tmp_path: Path) -> None:
    root, state = tmp_path / "app", str(tmp_path / "state")
    (root / ".ralph").mkdir(parents=True)
    with Store.open(state, str(root), START) as store:
        Rig(store=store, state=store.state).start("r1").play(times(3, IDLE))
    (root / ".ralph/.circuit_breaker_state").write_text('{"state":"CLOSED"}')
    with Store.open(state, str(root), START) as again:
        assert again.state.breaker.state == OPEN


def test_the_log_has_the_words_that_are_looked_for(state_dir: str) -> None:
    script = (It(tests_edit=1), It(edit=1, exit_signal=True, errors=("Error: x",)), It(edit=1, errors=("Error: x",)))
    store = ran(state_dir, *script, It(edit=1), It(), It(), It(edit=1), *times(3, It()))
    text = Path(store.directory, "loop.log").read_text()
    for words in (
        "exit signal refused, not complete: tasks_open",
        "circuit breaker: monitoring mode, no progress in 2 consecutive loops",
        "circuit recovered",
        "same error in 2 consecutive loops",
        "test loop 1: testing focus",
        "circuit breaker CLOSED -> OPEN: No progress detected in 3 consecutive loops",
        "Execution halted",
        "Calls: 10/100",
        "Circuit breaker enabled — monitoring stagnation, rate limits and protected files.",
    ):
        assert words in text, words
    with opened(state_dir, START + 3_600_000) as again:
        rig = Rig(store=again, state=again.state, t=START + 3_600_000).start("r2")
        assert isinstance(rig.check(), Call)
        rig.reserve(It())
        rig.finish(It(edit=1))
    with open(f"{store.directory}/loop.log") as file:
        assert "call counter reset for new hour" in file.read()


def test_who_looks_at_a_lock_keeps_nobody_from_it(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("1 1\n")
    with open(tmp_path / "lock", "rb") as looker:
        fcntl.flock(looker, fcntl.LOCK_SH)
        timer = threading.Timer(0.015, lambda: fcntl.flock(looker, fcntl.LOCK_UN))
        timer.start()
        taken = lock.Lock(str(tmp_path))
        taken.take()
        timer.join()
    assert lock.owner(str(tmp_path)) == (os.getpid(), lock.started(os.getpid()))
    taken.release()
    assert lock.owner(str(tmp_path)) is None


def test_what_a_session_has_cost_outlives_runs_and_lost_calls(state_dir: str) -> None:
    """The client counts on: what a call took of which no end was recorded is in the difference of the next one."""
    ran(state_dir, It(edit=1, session="a", cost=0.5, tokens=100), It(edit=1, session="a", cost=0.25, tokens=50), It(edit=1))
    with opened(state_dir) as again:
        assert again.state.spent == Spent("a", 0.75, Tokens(input=150))
        rig = Rig(store=again, state=again.state).start("r2")
        rig.check()
        rig.reserve(It())  # and no end
    with opened(state_dir) as again:
        assert spent(Reading(Reply(), session="a", cost_usd=1.5), again.state.spent)[1] == 0.75
        rig = Rig(store=again, state=again.state).start("r3").play((It(edit=1, session="b", cost=0.125),))
        assert again.state.spent == Spent("b", 0.125)
        rig.record(BreakerChanged("CLOSED", "CLOSED", actor="person", reason="the session is forgotten, what it took is not"))
        assert again.state.session == ""
        assert again.state.spent.session == "b"
