"""What a supervisor does with runners that die, hang, and do not want to end: the runners are scripts here."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from guard.loop import journal
from guard.loop.journal import Good
from guard.supervise import notebook
from guard.supervise.notebook import Down, Hang, Restarted

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks at /proc")
ROOT = Path(__file__).parent.parent.parent
# A heartbeat: now, the state, and the milliseconds that it may still last.
BEAT = 'beat() { at=$(date +%s%3N); echo "$at $1 $((at + $2))" > "$LOOP/new"; mv "$LOOP/new" "$LOOP/heartbeat"; }; '
STUBBORN = "trap '' TERM HUP INT; (setsid sh -c 'trap \"\" TERM; echo $$ > child; while :; do sleep 1; done' &) ; "


def until(true: Callable[[], object], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False


class Place:
    """A directory with a loop, and the supervisors that were started there."""

    def __init__(self, tmp: Path) -> None:
        self.tmp, self.loop = tmp, tmp / "state/loops/x"
        self.started: list[subprocess.Popen[bytes]] = []
        self.notify = ""

    def start(self, script: str, *settings: str) -> subprocess.Popen[bytes]:
        environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(self.tmp)}
        if self.notify:
            environ["NOTIFY_SOCKET"] = self.notify
        argv = [sys.executable, "-m", "tests.supervise.drive", str(self.tmp), script, *settings]
        self.started.append(
            subprocess.Popen(
                argv, cwd=self.tmp, env=environ, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
            )
        )
        return self.started[-1]

    def run(self, script: str, *settings: str) -> int:
        return self.start(script, *settings).wait(30)

    def noted(self) -> list[object]:
        return [event.body for event in notebook.read(str(self.loop))]

    def kinds(self) -> list[str]:
        return [event.body.name for event in notebook.read(str(self.loop))]

    def pid(self, name: str = "child") -> int:
        until(lambda: (self.tmp / name).exists() and (self.tmp / name).read_text().strip())
        return int((self.tmp / name).read_text())

    def alerts(self) -> list[str]:
        """The alerts in the loop's own journal."""
        lines = [line for path in journal.files(self.directory) for line in journal.read(path)]
        return [line.event.body.kind for line in lines if isinstance(line, Good) and line.event.body.name == "alert"]

    @property
    def directory(self) -> str:
        """Where the supervisor's alerts are: the loop's directory, named by its tree."""
        (found,) = [path for path in self.loop.parent.iterdir() if path.name != "x"]
        return str(found)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    for process in made.started:
        if process.poll() is None:
            process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


def test_a_runner_that_dies_at_once_every_time_is_given_up(place: Place) -> None:
    assert place.run("kill -9 $$") == 70
    assert place.kinds() == ["down", "alert", "restarted"] * 3 + ["down", "alert", "alert"]
    assert place.alerts() == ["restart"] * 4 + ["gave_up"]
    assert {body.why for body in place.noted() if isinstance(body, Down)} == {"signal 9"}
    assert place.run("exit 5") == 70  # the hour counts on, whoever supervises
    assert place.kinds()[-3:] == ["down", "alert", "alert"]


def test_what_a_run_says_is_passed_on_and_nothing_else_is_an_end(place: Place) -> None:
    script = "case $STARTS in 1) exit 5;; 2) exit 126;; *) exit 4;; esac"
    assert place.run(script) == 4
    assert [body.why for body in place.noted() if isinstance(body, Down)] == ["exit 5", "exit 126"]


def test_a_runner_that_cannot_be_started_is_not_tried_again(place: Place) -> None:
    assert place.run("exit 0", "program=/nowhere/sh") == 69
    assert not place.kinds()


def test_v44_a_runner_that_hangs_is_killed_with_all_that_it_has_started_and_replaced(place: Place) -> None:
    """It ignores signals, has stopped itself, and has left a process in a session of its own."""
    hang = BEAT + STUBBORN + "beat EXECUTE 200; while [ ! -s child ]; do sleep 0.02; done; echo $$ > runner; kill -STOP $$"
    began = time.monotonic()
    assert place.run(f"[ $STARTS = 1 ] || exit 0; {hang}") == 0
    assert time.monotonic() - began < 30
    assert not alive(place.pid())
    assert not alive(place.pid("runner"))
    assert place.kinds() == ["hang", "down", "alert", "restarted"]
    hung, down, _, again = place.noted()
    assert isinstance(hung, Hang)
    assert (hung.state, hung.deadline) == ("EXECUTE", hung.beat + 200)
    assert 0.3 <= hung.overdue_s < 3
    assert {place.pid(), place.pid("runner")} <= set(hung.killed)
    assert not hung.left
    assert isinstance(down, Down)
    assert (down.why, down.at) == ("hang", hung.beat)
    assert isinstance(again, Restarted)
    assert again.after_s < 5
    assert place.alerts() == ["hang"]


def test_what_a_runner_leaves_behind_when_it_dies_goes_before_the_next_starts(place: Place) -> None:
    script = f"[ $STARTS = 1 ] || exit 0; {STUBBORN} while [ ! -s child ]; do sleep 0.02; done; kill -SEGV $$"
    assert place.run(script) == 0
    assert not alive(place.pid())
    assert [body.why for body in place.noted() if isinstance(body, Down)] == ["signal 11"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)])
def test_a_signal_is_passed_on_and_the_run_ends_well(number: signal.Signals, code: int, place: Place) -> None:
    name = number.name.removeprefix("SIG")
    process = place.start(
        f"trap 'sleep 0.2; exit {code}' {name}; (setsid sleep 60 & echo $! > child); while :; do sleep 0.05; done"
    )
    pid = place.pid()
    process.send_signal(number)
    assert process.wait(15) == code
    assert not alive(pid)
    assert not place.kinds()


def test_a_run_that_does_not_end_when_it_is_told_to_is_killed(place: Place) -> None:
    process = place.start(BEAT + STUBBORN + "while :; do beat EXECUTE 90000; sleep 0.1; done", "ending=0.5")
    pid = place.pid()
    process.terminate()
    assert process.wait(15) == 143
    assert not alive(pid)
    assert place.kinds() == ["hang"]


def test_a_signal_ends_the_wait_before_a_restart(place: Place) -> None:
    process = place.start("kill -9 $$", "delay=60")
    until(lambda: place.loop.exists() and "down" in place.kinds())
    process.terminate()
    assert process.wait(10) == 143


def test_at_a_terminal_the_first_interrupt_is_a_gentle_one(place: Place) -> None:
    script = "trap 'echo drain >> came' USR2; trap 'echo int >> came; exit 130' INT; echo 1 > child; while :; do sleep 0.05; done"
    process = place.start(script, "tty=1")
    place.pid()
    for said in ("drain\n", "drain\nint\n"):
        process.send_signal(signal.SIGINT)
        until(lambda said=said: (place.tmp / "came").exists() and (place.tmp / "came").read_text() == said)
    assert process.wait(10) == 130


def test_of_two_supervisors_the_second_is_refused_even_when_the_lock_was_removed(place: Place) -> None:
    first = place.start("echo $$ > child; while :; do sleep 0.05; done")
    place.pid()
    second = place.start("exit 0")
    assert second.wait(15) == 75
    assert second.stderr is not None
    assert f"process {first.pid} supervises this loop" in second.stderr.read().decode()
    (place.loop / "supervisor/lock").unlink()
    until(lambda: (place.loop / "supervisor/lock").exists())  # it puts it back
    assert place.run("exit 0") == 75
    assert first.poll() is None


def test_a_supervisor_that_is_killed_tells_its_runner(place: Place) -> None:
    script = "trap 'echo alone > came; exit 0' USR1; echo $$ > child; while :; do sleep 0.05; done"
    process = place.start(script)
    pid = place.pid()
    process.kill()
    until(lambda: not alive(pid))
    assert (place.tmp / "came").read_text() == "alone\n"


def test_the_service_manager_hears_of_a_runner_that_is_in_time_and_of_no_other(place: Place) -> None:
    place.notify = str(place.tmp / "notify")
    heard: list[tuple[float, str]] = []

    def listen() -> None:
        while not heard or heard[-1][1] != "STOPPING=1":
            heard.append((time.time() * 1000, manager.recv(4096).decode()))

    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(place.notify)
        manager.settimeout(20)
        listener = threading.Thread(target=listen)
        listener.start()
        script = "[ -z $NOTIFY_SOCKET ] || exit 1; sleep 0.4; beat EXECUTE 300; [ $STARTS = 2 ] && exit 3; kill -STOP $$"
        assert place.run(BEAT + script, "delay=1") == 3
        listener.join(20)
    said = [text for _, text in heard]
    assert said.index("STATUS=the runner starts") < said.index("READY=1") < said.index("STATUS=the runner is in EXECUTE")
    assert said.count("READY=1") == 1
    hung = next(body for body in place.noted() if isinstance(body, Hang))
    assert hung.deadline is not None
    waits = next(at for at, text in heard if text == "STATUS=the runner is started again soon")
    killed = hung.deadline + 300
    assert sum(text == "WATCHDOG=1" and killed + 150 < at < waits - 50 for at, text in heard) == 0
    assert sum(text == "WATCHDOG=1" and hung.beat < at <= killed for at, text in heard) >= 2
