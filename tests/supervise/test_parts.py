"""The parts of a supervisor: its pace, its journal, what it tells the service manager, the command line of its runner."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from guard.commands import supervise
from guard.commands.supervise_cli import parted
from guard.errors import GuardError
from guard.loop import entries
from guard.loop.events import Alert
from guard.supervise import mark, notebook
from guard.supervise.notebook import Down, Hang, Notebook, Restarted
from guard.supervise.notify import ALIVE, READY, Notify
from guard.supervise.pace import Pace

T = 1_796_040_000_000


def test_delays_double_up_to_five_minutes_and_begin_anew_after_a_minute_of_life() -> None:
    pace = Pace(5, 100)
    assert [pace.after(1, T) for _ in range(9)] == [5, 10, 20, 40, 80, 160, 300, 300, 300]
    assert [pace.after(lived, T) for lived in (59.9, 60, 1, 1)] == [300, 5, 10, 20]
    assert [Pace(0, 9).after(0, T) for _ in range(3)] == [0, 0, 0]
    long = Pace(900, 9)
    assert [long.after(0, T) for _ in range(2)] == [900, 900]


def test_more_restarts_than_an_hour_may_have_are_given_up() -> None:
    pace = Pace(5, 3, before=[T - 3_600_001, T - 3_599_000])
    found = []
    for at in range(4):
        found.append(pace.after(0, T + at))
        if found[-1] is not None:
            pace.restarted(T + at)
    assert found == [5, 10, None, None]
    assert pace.after(100, T + 3_600_010) == 5  # an hour later
    assert Pace(5, 1, before=[T + 10_000_000]).after(0, T) is None  # the clock was set back
    assert Pace(5, 0).after(0, T) is None


def test_the_journal_has_the_form_of_a_loops(tmp_path: Path) -> None:
    book = Notebook(str(tmp_path))
    bodies = [
        Down(T, "signal 9"),
        Hang("EXECUTE", T, T + 1, 5.5, (1, 2)),
        Alert("hang", "critical", "x"),
        Restarted(4.5, 77),
    ]
    for body in bodies:
        book.add(body, T, "r1")
    lines = (tmp_path / "supervisor/journal.jsonl").read_text().splitlines()
    assert [json.loads(line)["seq"] for line in lines] == [1, 2, 3, 4]
    hang = json.loads(lines[1])
    assert {name: hang[name] for name in ("ev", "state", "beat", "deadline", "overdue_s", "killed", "run")} == {
        "ev": "hang", "state": "EXECUTE", "beat": T, "deadline": T + 1, "overdue_s": 5.5, "killed": [1, 2], "run": "r1"
    }  # fmt: skip
    total = ""
    for line in lines:
        entries.read(line, total, notebook.KINDS)
        total = entries.stated(line) or ""
    assert [event.body for event in notebook.read(str(tmp_path))] == bodies
    assert Notebook(str(tmp_path)).restarts == [T]


@pytest.mark.parametrize("end", ["", '{"v":1,"seq":3,"ev":"down"', "\0\0\0"])
def test_a_line_without_end_is_cut_off_and_what_was_written_stays(end: str, tmp_path: Path) -> None:
    Notebook(str(tmp_path)).add(Down(T, "hang"), T)
    path = tmp_path / "supervisor/journal.jsonl"
    path.write_bytes(path.read_bytes() + end.encode())
    Notebook(str(tmp_path)).add(Restarted(1, 7), T)
    assert [event.seq for event in notebook.read(str(tmp_path))] == [1, 2]
    assert len(path.read_text().splitlines()) == 2


def test_a_damaged_line_loses_no_other_and_no_number_comes_twice(tmp_path: Path) -> None:
    book = Notebook(str(tmp_path))
    for number in range(3):
        book.add(Down(T, f"signal {number}"), T)
    path = tmp_path / "supervisor/journal.jsonl"
    path.write_text(path.read_text().replace("signal 1", "signal 7"))
    Notebook(str(tmp_path)).add(Restarted(1, 7), T)
    assert [event.seq for event in notebook.read(str(tmp_path))] == [1, 3, 4]
    assert len(list((tmp_path / "supervisor").glob("journal*.jsonl"))) == 2


def test_a_disk_that_takes_nothing_stops_nothing_and_gets_it_later(tmp_path: Path) -> None:
    book = Notebook(str(tmp_path))
    (tmp_path / "supervisor").write_text("in the way")
    book.add(Down(T, "hang"), T)
    assert book.failed
    (tmp_path / "supervisor").unlink()
    book.add(Restarted(1, 7), T)
    assert not book.failed
    assert [event.body.name for event in notebook.read(str(tmp_path))] == ["down", "restarted"]


def test_a_journal_that_vanishes_begins_anew(tmp_path: Path) -> None:
    book = Notebook(str(tmp_path))
    book.add(Down(T, "hang"), T)
    (tmp_path / "supervisor/journal.jsonl").unlink()
    book.add(Restarted(1, 7), T)
    assert [event.seq for event in notebook.read(str(tmp_path))] == [2]


@pytest.mark.parametrize("abstract", [False, True])
def test_the_service_manager_is_told_over_its_socket(abstract: bool, tmp_path: Path) -> None:
    name = f"@guard-test-{os.getpid()}" if abstract else str(tmp_path / "notify")
    if abstract and sys.platform != "linux":
        pytest.skip("names without a file are Linux's")
    environ = {"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "60000000", "WATCHDOG_PID": str(os.getpid()), "PATH": "/bin"}
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind("\0" + name[1:] if abstract else name)
        manager.settimeout(5)
        told = Notify(environ)
        assert environ == {"PATH": "/bin"}  # no child speaks in its name
        assert told.send(READY, ALIVE)
        assert manager.recv(4096) == b"READY=1\nWATCHDOG=1"
        told.status("the runner\nis in EXECUTE")
        told.status("the runner\nis in EXECUTE")  # once
        told.status("it waits")
        assert [manager.recv(4096), manager.recv(4096)] == [b"STATUS=the runner is in EXECUTE", b"STATUS=it waits"]


@pytest.mark.parametrize("name", ["", "relative", "vsock:2:1234", "/nowhere/at/all", "@", "/" + "x" * 300])
def test_where_nobody_listens_nothing_happens(name: str) -> None:
    assert not Notify({"NOTIFY_SOCKET": name}).send(READY)


def test_the_options_of_the_supervisor_are_told_from_those_of_the_run() -> None:
    words = "--restart-delay 2s -n 5 --max-restarts=3 --verify --max-restarts -p P -- agent --max-restarts 1".split()
    own, rest = parted(words)
    assert own == ["--restart-delay", "2s", "--max-restarts=3"]
    assert rest == "-n 5 --verify --max-restarts -p P -- agent --max-restarts 1".split()
    assert parted(["agent", "--restart-delay", "1s"]) == ([], ["agent", "--restart-delay", "1s"])


def test_a_prompt_that_can_be_read_once_is_refused() -> None:
    with pytest.raises(GuardError, match="standard input can be read once"):
        supervise.run(["-p", "-", "--", "agent"], prompt="-")


def test_the_runner_is_started_as_the_supervisor_was(monkeypatch: pytest.MonkeyPatch) -> None:
    for orig, argv, wanted in (
        (["python3", "/bin/guard", "supervise", "x"], ["/bin/guard", "supervise", "x"], ["-P", "/bin/guard"]),
        (["python3", "-m", "guard", "supervise"], ["guard", "supervise"], ["-P", "-m", "guard"]),
        (
            ["python3", "-m", "guard.testing", "--clock", "F", "--", "supervise"],
            ["t", "--clock", "F", "--", "supervise"],
            ["-P", "-m", "guard.testing", "--clock", "F", "--"],
        ),
        (["python3", "-c", "x"], ["-c", "other", "words"], ["-P", "-m", "guard"]),
    ):
        monkeypatch.setattr(sys, "orig_argv", orig)
        monkeypatch.setattr(sys, "argv", argv)
        assert supervise.runner_argv() == [sys.executable, *wanted]


def test_only_the_child_of_a_supervisor_is_supervised() -> None:
    assert not mark.supervised({})
    assert not mark.supervised({mark.NAME: "1 2" if os.getppid() != 1 else "3 2"})
    assert mark.supervised({mark.NAME: f"{os.getppid()} 5"})


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks at /proc")
def test_a_runner_tells_whether_its_supervisor_is_there() -> None:
    def asked(value: str | None) -> bool | None:
        environ = {mark.NAME: value} if value is not None else {}
        with subprocess.Popen(["/bin/sleep", "60"], env=environ) as process:
            try:
                time.sleep(0.05)  # it has just been started
                return mark.attended(process.pid)
            finally:
                process.kill()

    assert asked(mark.value()) is True
    assert asked(f"{os.getpid()} 12") is False  # another process has the number now
    assert asked(None) is None
    assert asked("nonsense") is None
