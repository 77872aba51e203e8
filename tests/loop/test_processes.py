"""Nothing that an agent starts outlives its call; signals, time-outs and the terminal do what the manual says."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.loop.bench import EDIT, IP, Bench, step, tick

linux = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks at /proc")
# Programs that try to outlive the call: each writes its process id, and then does nothing for long.
STUBBORN = {
    "in the background": "sleep 300 & echo $! > build/pid",
    "ignores SIGTERM": "sh -c 'trap \"\" TERM; echo $$ > build/pid; while :; do sleep 1; done' &",
    "a session of its own": "setsid sh -c 'echo $$ > build/pid; exec sleep 300' >/dev/null 2>&1 </dev/null &",
    "forked twice": (
        '(setsid sh -c \'(trap "" TERM HUP; sh -c "echo \\$PPID > build/pid"; while :; do sleep 1; done) &\' '
        ">/dev/null 2>&1 &); sleep 0.3"
    ),
    "stopped": "sh -c 'echo $$ > build/pid; kill -STOP $$' &",
    "keeps the output open": "sleep 301 2>&1 & echo $! > build/pid",
    "without its environment": "env -i PATH=$PATH setsid sh -c 'echo $$ > build/pid; exec sleep 300' &",
}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    made = Bench(tmp_path, clock=False)
    (made.top / "build").mkdir()
    return made


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False


def until(true: Callable[[], object], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)


def beat(bench: Bench) -> str:
    """The heartbeat of the loop, "" while there is none."""
    return next((path.read_text() for path in bench.state.glob("loops/*/heartbeat")), "")


def pid_of(bench: Bench, seconds: float = 30) -> int:
    until(lambda: (bench.top / "build/pid").exists() and (bench.top / "build/pid").read_text().strip(), seconds)
    return int((bench.top / "build/pid").read_text())


@linux
@pytest.mark.parametrize("how", STUBBORN)
def test_what_a_call_leaves_behind_is_ended_before_it_is_measured(how: str, bench: Bench) -> None:
    seen = bench.loop([step(f"{STUBBORN[how]}\nwhile [ ! -s build/pid ]; do sleep 0.05; done; {EDIT}")], "-n", "1")
    assert seen.code == 2, seen.err
    assert not alive(pid_of(bench))
    assert json.loads((bench.directory / "metrics.jsonl").read_text())["outcome"] == "ok"


@linux
def test_x78_a_call_that_never_ends_is_ended_at_its_time_out(bench: Bench) -> None:
    start = time.monotonic()
    seen = bench.loop([step("trap '' TERM; echo $$ > build/pid; while :; do sleep 1; done")], "-n", "1", "--timeout", "2s")
    assert seen.code == 2, seen.err
    assert time.monotonic() - start < 2 + 15 + 10
    assert not alive(pid_of(bench))
    found = bench.status()
    assert (found["last"]["outcome"], found["counters"]["execution_failure"]) == ("timeout", 1)
    (ended,) = bench.events("call_ended")
    assert ended["ended"] == "timeout"


def test_a_silent_call_is_ended_and_a_talking_one_is_not(bench: Bench) -> None:
    bench.loop([step("sleep 60")], "-n", "1", "--idle-timeout", "1s")
    assert bench.events("call_ended")[0]["ended"] == "idle"
    agent = ["sh", "-c", "for i in 1 2 3 4 5 6; do sleep 0.4; echo still here; done"]
    assert bench.guard("loop", "-n", "1", "--idle-timeout", "1s", "--", *agent).code == 2
    assert bench.events("call_ended")[-1]["ended"] == "self"


@linux
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_v37_a_signal_ends_a_run_and_its_call_at_once(number: signal.Signals, code: int, bench: Bench) -> None:
    process = bench.start([step("(setsid sleep 300 & echo $! > build/pid); sleep 300")])
    pid = pid_of(bench)
    start = time.monotonic()
    process.send_signal(number)
    assert process.wait(30) == code
    assert time.monotonic() - start < 15
    until(lambda: not alive(pid), 3)
    found = bench.status()
    assert (found["status"], found["exit"]["code"]) == ("interrupted", code)
    assert not any(found["counters"].values())
    assert bench.events()[-1]["ev"] == "run_ended"


def test_x73_a_signal_ends_a_wait_within_a_second(bench: Bench) -> None:
    process = bench.start([step(EDIT)], "--calls", "1")
    until(lambda: "WAIT_CALLS" in beat(bench))
    start = time.monotonic()
    process.terminate()
    assert process.wait(10) == 143
    assert time.monotonic() - start < 9
    assert bench.events()[-1]["ev"] == "run_ended"


def test_x73_stop_ends_a_wait_and_is_forgotten_afterwards(bench: Bench) -> None:
    process = bench.start([step(EDIT)], "--calls", "1")
    until(lambda: "WAIT_CALLS" in beat(bench))
    assert bench.guard("loop", "stop", "--reason", "enough").code == 0
    assert process.wait(10) == 130
    assert bench.status()["status"] == "stopped"
    assert not list((bench.directory / "control").iterdir())
    assert bench.guard("loop", "stop").code == 1  # nothing runs


def test_stop_lets_the_iteration_end_and_now_does_not(bench: Bench) -> None:
    for words, outcome in (((), "ok"), (("--now",), "interrupted")):
        (bench.top / "build/pid").unlink(missing_ok=True)
        process = bench.start([step(f"echo 1 > build/pid; sleep 3; {EDIT}")])
        pid_of(bench)
        assert bench.guard("loop", "stop", *words).code == 0
        assert process.wait(30) == 130
        assert bench.status()["last"]["outcome"] == outcome


def test_v43_a_second_runner_is_refused_and_the_first_is_not_touched(bench: Bench) -> None:
    process = bench.start([step(f"echo 1 > build/pid; sleep 2; {EDIT}")], "-n", "1")
    pid_of(bench)
    seen = bench.guard("loop", "--", "true")
    assert seen.code == 75, seen.err
    assert process.wait(30) == 2
    assert [event["ev"] for event in bench.events("run_started", "run_ended")] == ["run_started", "run_ended"]


@linux
def test_x83_a_runner_that_was_killed_shows_as_crashed_and_its_call_dies_with_it(bench: Bench) -> None:
    process = bench.start([step(EDIT), step("(setsid sh -c 'echo $$ > build/pid; exec sleep 300' &); sleep 300")])
    pid = pid_of(bench)
    process.kill()
    process.wait()
    found = bench.status()
    assert (found["status"], found["iteration"], found["breaker"]["state"]) == ("crashed", 2, "CLOSED")
    bench.loop([step(EDIT)], "-n", "1")
    assert not alive(pid)
    outcomes = [event["outcome"] for event in bench.events("judged")]
    assert outcomes == ["ok", "lost", "ok"]


def test_x82_a_lock_that_was_left_behind_stops_nobody(bench: Bench) -> None:
    bench.loop([step(EDIT)], "-n", "1")
    (bench.directory / "lock").write_text(f"{os.getpid()} 1\n")
    assert bench.loop([step(EDIT)], "-n", "1").code == 2


@linux
def test_x79_much_output_costs_no_memory_and_its_end_is_read(bench: Bench) -> None:
    program = "import sys\nline = b'x' * 99 + b'\\n'\nfor _ in range(2000): sys.stdout.buffer.write(line * 1000)\n"
    out = "---RALPH_STATUS---\\nSTATUS: COMPLETE\\nEXIT_SIGNAL: true\\n---END_RALPH_STATUS---\\n"
    agent = [sys.executable, "-c", f"{program}sys.stdout.write('{out}')"]
    process = subprocess.Popen(
        bench.argv("loop", "-n", "1", "--no-plan", "--no-context", "--", *agent),
        cwd=bench.top, env=bench.environment(), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    peak = 0
    while process.poll() is None:
        try:
            lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
            peak = max([peak, *(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))])
        except OSError:
            pass
        time.sleep(0.1)
    assert process.returncode == 0, process.communicate()[1]
    assert peak < 200_000  # kB
    assert bench.events("call_ended")[0]["out_bytes"] > 200_000_000


def test_output_of_any_kind_is_taken(bench: Bench) -> None:
    for agent in (
        ["head", "-c", "3000000", "/dev/urandom"],
        ["true"],
        [sys.executable, "-c", "print('y' * 4_000_000)"],
        [sys.executable, "-c", "import os; os.close(1); os.close(2)"],
        ["sh", "-c", "kill -9 $$"],
    ):
        bench.write("src/a.py", f"# {len(agent[-1])}\n")
        seen = bench.guard("loop", "-n", "1", "--", "sh", "-c", 'echo >> src/b.py x$$; exec "$@"', "sh", *agent)
        assert seen.code == 2, seen.err
    assert [event["outcome"] for event in bench.events("judged")] == ["ok", "ok", "ok", "ok", "failed"]


def test_a_program_without_an_interpreter_line_runs_as_a_shell_would_run_it(bench: Bench) -> None:
    script = bench.tmp / "agent"
    script.write_text("echo 'print(1)' >> src/a.py\n")
    script.chmod(0o755)
    assert bench.guard("loop", "-n", "1", "--", str(script)).code == 2
    assert bench.status()["last"]["progress"] is True


def test_the_prompt_comes_on_standard_input_or_where_it_is_asked_for(bench: Bench) -> None:
    words = {"input": [], "argument": ["{prompt}"], "file": ["{prompt_file}"]}
    for kind, more in words.items():
        program = {"input": "cat", "argument": 'printf %s "$1"', "file": 'cat "$1"'}[kind]
        bench.guard("loop", "-n", "1", "--no-context", "--", "sh", "-c", f"{program} > told-{kind}", "sh", *more)
        assert (bench.top / f"told-{kind}").read_text() == "Work on the next task of the plan.\n"


def test_a_call_knows_where_it_runs_and_has_the_shims_first(bench: Bench) -> None:
    script = 'echo "$GUARD_LOOP $GUARD_RUN $GUARD_ITERATION $GUARD_LEVEL" > marks; command -v rm > which; ps -o sid= -p $$ > sid'
    bench.guard("loop", "-n", "1", "--", "sh", "-c", script)
    loop, run, iteration, level = (bench.top / "marks").read_text().split()
    assert (loop, iteration, level) == (bench.directory.name, "1", "3")
    assert run == bench.status()["run"]
    assert "/guard/" in (bench.top / "which").read_text()


def test_an_interrupted_iteration_counts_for_nothing(bench: Bench) -> None:
    process = bench.start([step("echo 1 > build/pid; sleep 60")])
    pid_of(bench)
    process.terminate()
    assert process.wait(30) == 143
    assert bench.loop([step(tick("one", "two", "three"))]).code == 0
    assert bench.events("judged")[0]["outcome"] == "interrupted"


@linux
def test_ctrl_c_at_a_terminal_ends_after_the_iteration_and_the_second_at_once(bench: Bench) -> None:
    for presses, outcome in ((1, "ok"), (2, "interrupted")):
        (bench.top / "build/pid").unlink(missing_ok=True)
        argv = bench.argv("loop", *bench.agent([step(f"echo 1 > build/pid; sleep 4; {EDIT}")]))
        child, fd = pty.fork()
        if child == 0:
            os.chdir(bench.top)
            os.execve(argv[0], argv, bench.environment())
        shown: list[bytes] = []

        def read(fd: int = fd, shown: list[bytes] = shown) -> bool:
            while select.select([fd], [], [], 0.05)[0]:
                try:
                    data = os.read(fd, 65536)
                except OSError:
                    return False
                if not data:
                    return False
                shown.append(data)
            return True

        until(lambda read=read: read() and (bench.top / "build/pid").exists())
        os.write(fd, b"\x03")
        until(lambda read=read, shown=shown: read() and b"press Ctrl-C again" in b"".join(shown))
        if presses == 2:
            os.write(fd, b"\x03")
        until(lambda read=read: not read(), 40)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.close(fd)
        assert status == 130, b"".join(shown).decode()
        assert bench.status()["last"]["outcome"] == outcome


def test_the_agents_output_is_kept_and_shown_with_live(bench: Bench) -> None:
    seen = bench.loop([step(EDIT, out=f"hello from the agent\n{IP}", err="and its trouble\n")], "-n", "1", "--live")
    assert "hello from the agent" in seen.out
    kept = bench.guard("loop", "log", "--output").out
    assert "hello from the agent" in kept
    assert "and its trouble" in kept
