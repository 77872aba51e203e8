"""`guard supervise` with a real run below it, and `guard service`."""

from __future__ import annotations

import json
import os
import plistlib
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from guard.errors import GuardError
from guard.loop.identity import place
from guard.loop.lock import owner
from guard.loop.moments import moment
from guard.service import plist, unit
from guard.service.job import Job, job
from guard.service.manager import LAUNCHD, SYSTEMD, manager, written
from guard.supervise import notebook, runners
from tests import client
from tests.loop.bench import EDIT, START, Bench, step

linux = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks at /proc")
BEHIND = "(setsid sh -c 'trap \"\" TERM; echo $$ > build/pid; while :; do sleep 1; done' >/dev/null 2>&1 &); "


def until(true: Callable[[], object], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    made = Bench(tmp_path, clock=False)
    (made.top / "build").mkdir()
    return made


def supervised(bench: Bench, steps: list[dict[str, Any]], *options: str) -> subprocess.Popen[bytes]:
    """A supervisor that was started; nobody waits for it."""
    return subprocess.Popen(
        bench.argv("supervise", *options, *bench.agent(steps)),
        cwd=bench.top,
        env=bench.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def left_behind(bench: Bench) -> int:
    """The process that the agent has left behind."""
    path = bench.top / "build/pid"
    until(lambda: path.exists() and path.read_text().strip())
    return int(path.read_text())


def runner(bench: Bench) -> int:
    found = owner(str(bench.directory))
    assert found is not None
    return found[0]


@linux
def test_x83_a_runner_that_is_killed_goes_on_where_it_was(bench: Bench) -> None:
    """In its second call; while it is gone the status says crashed, and a kill opens and closes no breaker."""
    process = supervised(bench, [step(EDIT), step(f"{BEHIND} sleep 60"), step(EDIT)], "-n", "3", "--restart-delay", "2s")
    pid, second = left_behind(bench), bench.guard("supervise", "--", "true")
    assert second.code == 75
    assert "supervises this loop" in second.err
    killed = runner(bench)
    os.kill(killed, signal.SIGKILL)
    until(lambda: not alive(killed))
    found = bench.status()
    assert (found["status"], found["iteration"], found["breaker"]["state"]) == ("crashed", 2, "CLOSED")
    assert process.wait(30) == 2
    assert not alive(pid)
    started = bench.events("run_started")
    assert [(event["supervised"], event["resumed"]) for event in started] == [(True, False), (True, True)]
    assert len({event["run"] for event in started}) == 1
    assert [event["outcome"] for event in bench.events("judged")] == ["ok", "lost", "ok"]
    assert not bench.events("breaker")
    assert [event["kind"] for event in bench.events("alert") if event["kind"] == "restart"] == ["restart"]
    down, _, restarted = notebook.read(str(bench.directory))
    assert isinstance(down.body, notebook.Down)
    assert moment(down.body.at) <= moment(down.t) < started[1]["t"]
    assert isinstance(restarted.body, notebook.Restarted)
    assert restarted.body.after_s <= 2


@linux
def test_v44_a_stopped_runner_with_a_silent_call_is_replaced(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    (bench.top / "build").mkdir()
    process = supervised(bench, [step(f"{BEHIND} sleep 300"), step(EDIT)], "-n", "2", "-t", "60s", "--restart-delay", "1s")
    pid, stopped = left_behind(bench), runner(bench)
    os.kill(stopped, signal.SIGSTOP)
    bench.time.write_text(str(START + 60 + 10))
    time.sleep(1.2)
    assert alive(stopped)
    bench.time.write_text(str(START + 60 + 15 + 30))
    assert process.wait(30) == 2
    assert not alive(stopped)
    assert not alive(pid)
    hung = next(event.body for event in notebook.read(str(bench.directory)) if isinstance(event.body, notebook.Hang))
    assert (hung.state, round(hung.overdue_s, -1)) == ("EXECUTE", 30)
    assert [event["severity"] for event in bench.events("alert") if event["kind"] == "hang"] == ["critical"]
    assert [event["outcome"] for event in bench.events("judged")] == ["lost", "ok"]


@linux
def test_a_run_whose_supervisor_was_killed_ends_its_iteration_and_the_next_supervisor_goes_on(bench: Bench) -> None:
    first = supervised(bench, [step(f"echo 1 > build/pid; while [ ! -e build/go ]; do sleep 0.05; done; {EDIT}")], "-n", "2")
    left_behind(bench)
    first.kill()
    assert bench.guard("loop", "--", "true").code == 75  # it is at work yet
    second = supervised(bench, [step(EDIT)], "-n", "2")
    assert second.stderr is not None
    assert b"its supervisor is gone" in second.stderr.readline()
    (bench.top / "build/go").touch()
    assert second.wait(60) == 2
    assert [event["reason"] for event in bench.events("run_ended")] == ["drain", "iterations"]
    assert [event["outcome"] for event in bench.events("judged")] == ["ok", "ok"]
    assert len({event["run"] for event in bench.events("run_started")}) == 1


@linux
def test_a_runner_whose_lock_was_removed_is_at_work_all_the_same(bench: Bench) -> None:
    process = bench.start([step("echo 1 > build/pid; sleep 60")])
    left_behind(bench)
    (bench.directory / "lock").unlink()
    for words in (("loop", "--", "true"), ("supervise", "--", "true")):
        seen = bench.guard(*words)
        assert (seen.code, f"process {process.pid} runs this loop" in seen.err) == (75, True), seen.err
    process.terminate()
    assert process.wait(20) == 143


def test_a_dead_runner_whose_number_another_process_has_is_dead(bench: Bench) -> None:
    bench.loop([step(EDIT)], "-n", "1")
    state = runners.state(str(bench.directory))
    assert state is not None
    from guard.loop.record import replace

    run = replace(state.run, ended=False, supervised=True, pid=os.getpid(), pid_start="7") if state.run else None
    assert runners.goes_on(run)
    assert runners.at_work(str(bench.directory)) is None
    (bench.directory / "lock").write_text(f"{os.getpid()} 7\n")
    assert runners.at_work(str(bench.directory)) is None


@linux
def test_what_becomes_of_one_loop_does_not_touch_another(bench: Bench, tmp_path: Path) -> None:
    """One has a disk on which files cannot grow, one is killed again and again, and the third is not touched."""
    others = []
    for name in ("full", "killed"):
        (tmp_path / name).mkdir()
        other = Bench(tmp_path / name, clock=False, environ={"GUARD_STATE_DIR": str(bench.state)})
        others.append(other)
    full, killed = others
    assert full.guard("shims", "install", "--wide").code == 0  # larger files than the one may write
    argv = full.argv("supervise", "-q", "-n", "99", *full.agent([step(EDIT)]))
    limited = ["sh", "-c", 'ulimit -f 60; exec "$@"', "sh", *argv]
    started = [
        subprocess.Popen(limited, cwd=full.top, env=full.environment(), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL),
        supervised(
            killed,
            [step(f"kill -9 $(cut -d ' ' -f 1 {place(str(bench.state), str(killed.top))}/lock); sleep 5")],
            "-q",
            "--restart-delay",
            "0s",
            "--max-restarts",
            "1",
        ),
    ]
    assert bench.loop([step(f"sleep 0.3; {EDIT}")], "-n", "3").code == 2
    assert [process.wait(60) for process in started] == [74, 70]
    mine = next(
        path for path in (bench.state / "loops").iterdir() if path.name.startswith("project-") and _is_of(path, bench.top)
    )
    lines = [json.loads(line) for line in (mine / "journal.jsonl").read_text().splitlines()]
    assert [line["outcome"] for line in lines if line["ev"] == "judged"] == ["ok"] * 3
    assert not [line for line in lines if line["ev"] in ("recovered", "breaker")]


def _is_of(directory: Path, top: Path) -> bool:
    return json.loads((directory / "status.json").read_text())["root"] == str(top)


def test_wrong_words_start_nothing(bench: Bench) -> None:
    for words in (
        ("--restart-delay", "5", "--", "true"),
        ("--max-restarts", "-1", "--", "true"),
        ("--no-such", "--", "true"),
        ("-p", "-", "--", "cat"),
        ("-C", "nowhere", "--", "true"),
    ):
        assert bench.guard("supervise", *words).code == 64, words
    assert not list(bench.state.glob("loops/*/journal.jsonl"))


JOB = job(
    "a-b.c",
    ("/usr/bin/py thon", "-m", "guard", 'it\'s "50%" $HOME \\n', "--"),
    "/pro ject/50%",
    {"PATH": "/bin:/a b", "KEY": "x"},
)


def test_the_unit_says_what_was_meant(tmp_path: Path) -> None:
    found = unit.text(JOB)
    assert 'ExecStart="/usr/bin/py thon" "-m" "guard" "it\'s \\"50%%\\" $$HOME \\\\n" "--"\n' in found
    assert "WorkingDirectory=/pro ject/50%%\n" in found
    assert 'Environment="PATH=/bin:/a b"\n' in found
    assert "KEY" not in found
    assert {int(word) for word in _value(found, "RestartPreventExitStatus").split()} | {0} == runners.DOCUMENTED


def _value(text: str, key: str) -> str:
    return next(line.partition("=")[2] for line in text.splitlines() if line.startswith(f"{key}="))


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    path = tmp_path / unit.file_name("x")
    here = job("x", ("/bin/sh", "-c", 'echo "50%" $HOME'), "/tmp", {"PATH": "/bin:/a b"})
    path.write_text(unit.text(here))
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", str(path)], env=environ, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_property_list_says_what_was_meant() -> None:
    values = plistlib.loads(plist.text(JOB, "/logs/x").encode())
    assert values["ProgramArguments"] == list(JOB.argv)
    assert values["WorkingDirectory"] == JOB.directory
    assert values["EnvironmentVariables"] == {"PATH": "/bin:/a b"}
    assert values["KeepAlive"] == {"Crashed": True}


@pytest.mark.parametrize("name", ["", "a/b", "../x", "-x", ".x", "a b", "x" * 101, "ä", "a%b", "a@b"])
def test_a_name_that_is_no_file_name_is_refused(name: str) -> None:
    with pytest.raises(GuardError, match="is no name"):
        job(name, (), "/", {})


@pytest.mark.parametrize("word", ["a\nb", "a\0b", "\udcff", "\x1b"])
def test_words_that_no_file_can_hold_are_refused(word: str) -> None:
    with pytest.raises(GuardError, match="a service cannot have"):
        job("x", (word,), "/", {})


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "deep/unit"
    assert written(str(path), "one")
    assert not written(str(path), "one")
    assert written(str(path), "two")
    assert [each.name for each in path.parent.iterdir()] == ["unit"]
    path.unlink()
    path.mkdir()
    with pytest.raises(GuardError):
        written(str(path), "three")
    assert [each.name for each in path.parent.iterdir()] == ["unit"]


def test_the_files_stand_where_the_managers_look() -> None:
    assert manager({"HOME": "/h"}, SYSTEMD).path("x") == "/h/.config/systemd/user/guard-x.service"
    assert manager({"HOME": "/h", "XDG_CONFIG_HOME": "/c"}, SYSTEMD).path("x") == "/c/systemd/user/guard-x.service"
    assert manager({"HOME": "/h"}, LAUNCHD).path("x") == "/h/Library/LaunchAgents/guard.x.plist"
    with pytest.raises(GuardError, match="no home"):
        manager({}, SYSTEMD)


def test_a_service_is_installed_once_shown_and_not_removed_by_an_agent(bench: Bench) -> None:
    folder = bench.home / ".config/systemd/user"
    words = (
        "service",
        "install",
        "--manager",
        "systemd",
        "--restart-delay",
        "3s",
        "-n",
        "5",
        "--no-plan",
        "--",
        "sh",
        "-c",
        "true",
    )
    seen = bench.guard(*words[:2], "--dry-run", *words[2:])
    assert (seen.code, folder.exists()) == (0, False)
    assert '"supervise" "--restart-delay" "3s" "-n" "5" "--no-plan" "--" "sh" "-c" "true"' in seen.out
    assert bench.guard("service", "status", "--manager", "systemd").code == 1
    assert bench.guard(*words[:-3], "/nowhere/agent").code != 0
    assert bench.guard("service", "install", "--manager", "systemd", "--no-such", "--", "sh").code == 64
    assert not folder.exists()
    for said in ("written", "as it was"):  # below nothing that has an agent's mark, as CI has
        done = client.run(bench.argv(*words), bench.top, bench.environment(), bench.tmp / "caller", name="launcher")
        assert (done.returncode, said in done.stdout) == (0, True), done.stdout + done.stderr
    marked = client.run(bench.argv(*words), bench.top, bench.environment(), bench.tmp / "caller", started={"CI": "true"})
    assert (marked.returncode, "Only a person" in marked.stderr) == (1, True)
    (path,) = folder.glob("*.service")
    assert f"WorkingDirectory={bench.top}\n" in path.read_text()
    found = json.loads(bench.guard("service", "status", "--manager", "systemd", "--json").out)
    assert (found["installed"], found["active"], found["path"]) == (True, False, str(path))
    assert bench.guard("service", "uninstall", "--manager", "systemd").code == 1  # nobody at a terminal
    assert path.exists()
    assert Job(found["name"], (), "").name in path.name
