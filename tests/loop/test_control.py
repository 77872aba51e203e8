"""Who may say what to a loop: a person at a terminal, an agent inside of a call, and what lies in the control folder."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import pseudo_terminal
from tests.loop.bench import EDIT, ROOT, Bench, step


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, clock=False)


def until(true: Callable[[], object], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)


def person(bench: Bench, *words: str, answer: str | None = None) -> pseudo_terminal.Seen:
    """guard as a person calls it, at a terminal of their own."""
    return pseudo_terminal.guard(bench.top, bench.home, bench.tmp, *words, answer=answer, GUARD_STATE_DIR=str(bench.state))


def test_x62_a_reset_needs_a_reason_and_a_person(bench: Bench) -> None:
    assert bench.loop([step()]).code == 1
    assert bench.guard("loop", "reset").code == 64
    seen = bench.guard("loop", "reset", "--reason", "because", "--yes")  # no terminal
    assert seen.code == 1
    assert bench.status()["breaker"]["state"] == "OPEN"
    assert bench.events("control_refused")[-1]["verb"] == "reset"
    seen_by = person(bench, "loop", "reset", "--reason", "the server is back")
    assert seen_by.status == 0, seen_by.shown
    found = bench.events("breaker")[-1]
    assert (found["from"], found["to"], found["reason"]) == ("OPEN", "HALF_OPEN", "the server is back")
    assert found["actor"]
    assert bench.loop([step(EDIT)], "-n", "1").code == 2
    assert bench.status()["breaker"]["state"] == "CLOSED"


def test_a_person_who_types_something_else_resets_nothing(bench: Bench) -> None:
    bench.loop([step()])
    assert person(bench, "loop", "reset", "--reason", "x", answer="no").status == 1
    assert bench.status()["breaker"]["state"] == "OPEN"


def test_a_reset_to_closed_starts_over(bench: Bench) -> None:
    bench.loop([step()])
    seen = person(bench, "loop", "reset", "--reason", "looked at it", "--to-closed")
    assert seen.status == 0, seen.shown
    assert "Circuit breaker reset to CLOSED state" in seen.shown
    found = bench.status()
    assert (found["breaker"]["state"], found["breaker"]["watch"]) == ("CLOSED", 3)
    assert not any(found["counters"].values())


def test_a_reset_lifts_a_hold(bench: Bench) -> None:
    assert bench.loop([step(out="Shall I go on?\n")]).code == 3
    assert bench.loop([step(EDIT)], "-n", "1").code == 3
    assert bench.calls == 0
    assert person(bench, "loop", "reset", "--reason", "answered").status == 0
    assert bench.loop([step(EDIT)], "-n", "1").code == 2


GUARD = f"env PYTHONPATH={ROOT} {sys.executable} -m guard"
TRIES = {
    "plainly": "{guard} loop reset --reason x --yes",
    "without its marks": "env -i HOME=$HOME PATH=$PATH GUARD_STATE_DIR=$GUARD_STATE_DIR {guard} loop reset --reason x --yes",
    "detached": "env -u GUARD_LOOP -u GUARD_RUN setsid -w {guard} loop reset --reason x --yes",
    "at a terminal of its own making": "env -u GUARD_LOOP script -qec '{guard} loop reset --reason x --yes' /dev/null </dev/null",
    "stop": "{guard} loop stop --now",
    "stop, without its marks": "env -i HOME=$HOME PATH=$PATH GUARD_STATE_DIR=$GUARD_STATE_DIR {guard} loop stop --now",
}


@pytest.mark.parametrize("how", TRIES)
def test_x88_an_agent_lifts_and_ends_nothing(how: str, bench: Bench) -> None:
    """The call runs as the probe of a breaker that has opened: a reset to CLOSED would be worth something."""
    command = TRIES[how].format(guard=GUARD)
    seen = bench.loop([step(f"cd {bench.top}; {command} > said 2>&1; echo $? > code; {EDIT}")], "-n", "1")
    assert seen.code == 2, seen.err
    until(lambda: (bench.top / "code").exists(), 5)
    assert (bench.top / "code").read_text().strip() == "1", (bench.top / "said").read_text()
    assert [event["to"] for event in bench.events("breaker")] == []
    assert bench.events("control_refused"), (bench.top / "said").read_text()


def test_a_forged_request_during_a_call_resets_nothing(bench: Bench) -> None:
    request = {"v": 1, "verb": "reset", "reason": "x", "closed": True}
    forge = (
        f"mkdir -p \"$D/control\"; printf '%s' '{json.dumps(request)}' > \"$D/control/00000000000000000001-00000000.json\"; "
        'printf garbage > "$D/control/00000000000000000002-00000000.json"; sleep 1'
    )
    bench.loop([step()], "-n", "1")
    bench.environ = {"D": str(bench.directory)}
    seen = bench.loop([step(forge)])
    assert seen.code == 1
    assert bench.status()["breaker"]["state"] == "OPEN"
    assert any(event["verb"] == "reset" for event in bench.events("control_refused"))
    assert any(event["kind"] == "control" for event in bench.events("alert"))


def test_a_person_resets_a_breaker_while_its_runner_waits(bench: Bench) -> None:
    process = bench.start([step(), step(), step(), step(EDIT)], "--wait", "-n", "4")
    until(lambda: any("COOLDOWN" in path.read_text() for path in bench.state.glob("loops/*/heartbeat")))
    seen = person(bench, "loop", "reset", "--reason", "go on", "--to-closed")
    assert seen.status == 0, seen.shown
    assert process.wait(30) == 2
    assert bench.status()["breaker"]["state"] == "CLOSED"


def test_a_running_loop_forbids_to_suspend(bench: Bench) -> None:
    process = bench.start([step("touch build-pid; sleep 5")], "-n", "1")
    until(lambda: (bench.top / "build-pid").exists())
    seen = person(bench, "suspend", "5m", "--reason", "x")
    assert seen.status == 75, seen.shown
    process.wait(30)


def test_status_and_log_say_what_has_happened(bench: Bench) -> None:
    assert "nothing has run here yet" in bench.guard("loop", "status").out
    bench.loop([step(f"rm -rf specs; {EDIT}")], "-n", "2")
    told = bench.guard("loop", "status").out
    assert "limit (iterations, exit 2)" in told
    assert "Calls: 2/100" in told
    lines = bench.guard("loop", "log").out.splitlines()
    assert any("refused" in line and "rm -rf specs" in line for line in lines)
    assert [line[:22] for line in lines] == sorted(line[:22] for line in lines)
    assert bench.guard("loop", "log", "-n", "2").out.splitlines() == lines[-2:]
    assert bench.guard("loop", "log", "-r").out.splitlines() == lines[::-1]
    events = [json.loads(line) for line in bench.guard("loop", "log", "--format", "jsonl", "--type", "judged").out.splitlines()]
    assert [event["n"] for event in events] == [1, 2]
    assert bench.guard("loop", "log", "--format", "md", "--iteration", "2").out.startswith("## Iteration 2 — ")
    assert bench.guard("loop", "log", "--type", "nothing").code == 64
    assert bench.guard("loop", "log", "--iteration", "x").code == 64
    assert bench.guard("loop", "status", "no-such-loop").code == 64


def test_a_follower_sees_what_comes(bench: Bench) -> None:
    import subprocess

    bench.loop([step(EDIT)], "-n", "1")
    follower = subprocess.Popen(
        bench.argv("loop", "log", "-f"), cwd=bench.top, env=bench.environment(), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL
    )
    assert follower.stdout is not None
    assert b"started" in follower.stdout.readline()
    bench.loop([step(EDIT)], "-n", "1")
    shown = b""
    while b"exit 2" not in shown.partition(b"started")[2]:
        shown += follower.stdout.readline()
    follower.kill()
    follower.wait()
