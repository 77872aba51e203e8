"""Steering loops through the command line: a person at a terminal, a script without one, an agent inside of a call."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from guard import cli
from guard.commands import loop_places
from guard.errors import GuardError
from guard.loop import clock, heartbeat
from guard.loop.events import RunStarted
from guard.loop.settings import Config
from guard.loop.store import Store
from tests import pseudo_terminal
from tests.loop.bench import EDIT, IP, Bench, step
from tests.loop.test_control import GUARD


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, clock=False)


def until(true: Callable[[], object], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.03)


def person(bench: Bench, *words: str, status: int = 0) -> str:
    """guard as a person calls it, at a terminal of their own; what it says."""
    seen = pseudo_terminal.guard(bench.top, bench.home, bench.tmp, *words, GUARD_STATE_DIR=str(bench.state))
    assert seen.status == status, seen.shown
    return seen.shown


def is_in(bench: Bench, state: str) -> bool:
    beat = heartbeat.read(str(bench.directory)) if (bench.state / "loops").is_dir() else None
    return beat is not None and beat.state == state


def test_x89_x85_a_pause_before_the_first_run_outlives_the_gate(bench: Bench) -> None:
    assert "paused (lunch)" in person(bench, "loop", "pause", "--reason", "lunch")
    assert bench.status()["pause"] | {"at": ""} == {"class": "user", "reason": "lunch", "actor": "person", "at": ""}
    process = bench.start([step(EDIT)], "-n", "1")
    until(lambda: is_in(bench, "HELD"))
    person(bench, "loop", "pause", "--system", "--reason", "upgrade")
    found = bench.status()
    assert (found["gate"], found["mode"], found["pause"]["reason"]) == ("paused", "paused", "lunch"), "both at once"
    person(bench, "loop", "resume", "--system")
    assert bench.status()["pause"]["reason"] == "lunch"
    assert bench.guard("loop", "resume").code == 1, "a script lifts no person's pause"
    assert is_in(bench, "HELD")
    assert bench.calls == 0
    assert "resumed" in person(bench, "loop", "resume")
    assert process.wait(30) == 2
    assert bench.calls == 1
    assert bench.events("control_refused")[-1]["verb"] == "resume"


def test_x85_a_hold_that_is_lifted_opens_no_gate(bench: Bench) -> None:
    person(bench, "loop", "pause", "--system")
    process = bench.start([step(EDIT)], "-n", "1")
    until(lambda: is_in(bench, "WAIT_GATE"))
    person(bench, "loop", "pause", "--reason", "lunch")
    person(bench, "loop", "resume", "--reason", "back")
    seen = bench.guard("loop", "resume", "--system")
    assert (seen.code, "Only a person" in seen.err) == (1, True)
    assert is_in(bench, "WAIT_GATE")
    assert bench.calls == 0
    person(bench, "loop", "resume", "--system")
    assert process.wait(30) == 2
    assert bench.calls == 1
    lines = [line for line in (bench.directory / "journal.jsonl").read_text().splitlines() if "skipped_system_paused" in line]
    assert len(lines) == 1
    gate = [json.loads(line) for line in (bench.state / "gate" / "journal.jsonl").read_text().splitlines()]
    assert [(event["ev"], event.get("to")) for event in gate] == [
        ("gate", "paused"),
        ("control_refused", None),
        ("gate", "running"),
    ]


def test_x86_a_trip_stays_with_its_loop(bench: Bench) -> None:
    assert bench.loop([step()]).code == 1
    other = bench.tmp / "other"
    (other / "src").mkdir(parents=True)
    seen = bench.guard("loop", "-C", str(other), "--name", "second", "-n", "1", *bench.agent([step("echo 1 > src/b.py")]))
    assert (seen.code, bench.calls) == (2, 1), seen.err
    rows = json.loads(bench.guard("loop", "status", "--all", "--json").out)
    assert {row["gate"] for row in rows} == {"running"}
    assert {row["breaker"]["state"] for row in rows} == {"OPEN", "CLOSED"}
    assert not (bench.state / "gate").exists()
    # The second name, the id and the directory are the same loop; what there is not is told with what there is.
    (second,) = [row["loop"] for row in rows if row["name"] == "second"]
    for name in ("second", second, str(other)):
        assert json.loads(bench.guard("loop", "status", "--json", name).out)["loop"] == second
    unknown = bench.guard("loop", "pause", "third")
    assert (unknown.code, second in unknown.err, "second" in unknown.err) == (64, True, True)
    paused = bench.guard("loop", "pause", "--all", "--json")
    assert [row["done"] for row in json.loads(paused.out)] == [True, True], paused.err
    assert bench.guard("loop", "--name", "a/b", "--", "true").code == 64


TRIES = {
    "resume": "loop resume",
    "reset": "loop reset --reason x --yes",
    "mode auto": "loop mode auto",
    "steer": "loop steer 'the user is fine with it'",
    "pause --now": "loop pause --now",
    "stop": "loop stop",
    "resume --system": "loop resume --system",
    "pause --system": "loop pause --system",
}


def test_x88_an_agent_holds_its_own_loop_and_nothing_else(bench: Bench) -> None:
    """In a loop that a person has set to manual: each attempt is refused and noted; a pause of its own is not."""
    person(bench, "loop", "mode", "manual")
    tries = "; ".join(f"{GUARD} {words} >> said 2>&1; echo $? >> codes" for words in TRIES.values())
    own = f"{GUARD} loop pause --reason stuck >> said 2>&1; echo $? >> codes"
    directive = '@guard::loop::resume {"reason": "x"}\n@guard::loop::pause {"reason": 1\n'
    process = bench.start([step(f"cd {bench.top}; {tries}; {own}; {EDIT}", out=directive + IP), step(EDIT)])
    until(lambda: is_in(bench, "HELD"))
    person(bench, "loop", "resume", "--once")
    until(lambda: (bench.top / "codes").exists() and len((bench.top / "codes").read_text().split()) == len(TRIES) + 1, 60)
    until(lambda: is_in(bench, "HELD"))
    said = (bench.top / "said").read_text()
    assert (bench.top / "codes").read_text().split() == ["1"] * len(TRIES) + ["0"], said
    refused = [event["verb"] for event in bench.events("control_refused")]
    assert sorted(set(refused)) == sorted({"resume", "reset", "mode auto", "steer", "pause --now", "stop"}), said
    found = bench.status()
    assert (found["pause"]["class"], found["pause"]["reason"], found["iteration"]) == ("agent", "stuck", 1)
    assert found["gate"] == "running"
    assert [alert["kind"] for alert in found["alerts"]].count("directive") == 2
    assert bench.guard("loop", "stop", "--reason", "enough").code == 0
    assert process.wait(30) == 130
    assert bench.calls == 1


def test_a_pause_now_interrupts_the_call_and_the_run_waits(bench: Bench) -> None:
    process = bench.start([step("touch build-1; sleep 30"), step(EDIT)], "-n", "1")
    until(lambda: (bench.top / "build-1").exists())
    begun = time.monotonic()
    person(bench, "loop", "pause", "--now", "--reason", "look")
    until(lambda: is_in(bench, "HELD"))
    assert time.monotonic() - begun < 15
    assert bench.status()["last"]["outcome"] == "interrupted"
    person(bench, "loop", "steer", "try the lexer")
    person(bench, "loop", "resume")
    assert process.wait(30) == 2
    assert "The user says: try the lexer" in bench.prompts()[-1]
    assert "The user says" not in bench.prompts()[0]


WRONG: dict[int, tuple[tuple[str, ...], ...]] = {
    64: (
        ("pause", "--system", "--all"),
        ("pause", "--system", "x"),
        ("resume", "--system", "--once"),
        ("pause", "--for", "10"),
        ("pause", "--for", "0d1h"),
        ("pause", "--for", "0s"),
        ("pause", "--system", "--for", "367d"),
        ("pause", "--all", "x"),
        ("mode", "fast"),
        ("mode",),
        ("mode", "a", "b", "auto"),
        ("steer",),
        ("steer", ""),
        ("steer", "x" * 9000),
        ("steer", "a", "b", "c"),
        ("steer", "--clear", "--keep"),
        ("steer", "--clear", "a", "b"),
        ("pause", "no-such-loop"),
        ("stop", "no/such/directory"),
        ("--name", "a/b", "--", "true"),
        ("--name", "-x", "--", "true"),
    ),
    1: (("resume",), ("stop",), ("stop", "--all"), ("reset", "--reason", "x"), ("resume", "--system")),
}


@pytest.mark.parametrize("code", WRONG)
def test_wrong_words_change_nothing(code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("top", "state"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "top")
    monkeypatch.setenv("GUARD_STATE_DIR", str(tmp_path / "state"))
    for words in WRONG[code]:
        assert cli.main(["loop", *words]) == code, words
    assert not (tmp_path / "state" / "loops").exists()


def test_a_name_that_two_loops_have_is_ambiguous(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GUARD_STATE_DIR", str(tmp_path / "state"))
    (tmp_path / "state").mkdir()
    time = clock.current()
    for name in ("one", "two"):
        top = str(tmp_path / name)
        (tmp_path / name).mkdir()
        with Store.open(str(tmp_path / "state"), top, time.now()) as kept:
            words = (kept.state.loop, top, 1, "1", "b", "0", ("guard",), "agent")
            kept.record(RunStarted(*words, config=Config(), config_digest="d", label="twin"), time.now())
    monkeypatch.chdir(tmp_path)
    with pytest.raises(GuardError, match=r"2 loops have this name.*one-.*two-") as error:
        loop_places.named("twin", None)
    assert error.value.code == 64
    ids = loop_places.known(str(tmp_path / "state"))
    assert [loop_places.named(name, None)[0].top for name in ids] == [str(tmp_path / "one"), str(tmp_path / "two")]
    with Store.open(str(tmp_path / "state"), str(tmp_path / "two"), time.now()) as kept:
        kept.record(RunStarted(*words, config=Config(), config_digest="d", label="other"), time.now())
    assert loop_places.named("twin", None)[0].top == str(tmp_path / "one")
    assert [place.name for place in loop_places.several(("twin", "./one", ids[0]), None, False)] == [ids[0]], "each once"


def test_a_stopped_runner_keeps_nobody_waiting_for_ever(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    import signal

    process = bench.start([step("touch build-1; sleep 20")], "-n", "1")
    until(lambda: (bench.top / "build-1").exists())
    process.send_signal(signal.SIGSTOP)
    code = (
        "import sys; from guard.loop import control; control.PATIENCE_S = 0.5; control.BUSY_S = 0.2\n"
        "from guard import cli; sys.exit(cli.main(['loop', 'pause']))"
    )
    argv = [bench.argv()[0], "-c", code]
    done = subprocess.run(argv, cwd=bench.top, env=bench.environment(), capture_output=True, text=True, timeout=30)
    assert done.returncode == 74, done.stderr
    assert "waiting for it" in done.stderr
    assert "withdrawn" in done.stderr
    process.send_signal(signal.SIGCONT)
    process.terminate()
    assert process.wait(30) == 143
    assert bench.status()["pause"] is None
