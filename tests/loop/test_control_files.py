"""Requests in the control folder: who holds them, what is half written, planted, too much, or no file at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from guard import actor, ancestry
from guard.actor import Process, Surroundings
from guard.errors import GuardError
from guard.loop import authority, clock, control, delivery, store
from guard.loop.control import Answer, Request
from guard.loop.desk import Desk
from guard.loop.events import HoldChanged
from guard.loop.identity import place
from guard.loop.signals import Signals
from guard.loop.store import Store
from guard.loop.view import View

NAME = "00000000000000000001-00000000.json"
PAUSE = {"v": 1, "verb": "pause", "reason": "x"}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "control").mkdir()
    return tmp_path


def put(directory: Path, data: object, name: str = NAME) -> Path:
    path = directory / "control" / name
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


# --- the folder


def test_a_request_gets_its_answer_and_nothing_stays(directory: Path) -> None:
    seen: list[control.Taken] = []

    def serve() -> None:
        while not seen:
            for taken in control.waiting(str(directory)):
                seen.append(taken)
                control.done(str(directory), taken, Answer(True, "paused"))
            time.sleep(0.01)

    server = threading.Thread(target=serve)
    server.start()
    told = control.ask(str(directory), Request("pause", "lunch", now=True), lambda: False)
    server.join()
    assert seen[0].request == Request("pause", "lunch", now=True)
    assert seen[0].sender == 0, "a process does not see its own locks"
    assert told == Answer(True, "paused")
    assert not list((directory / "control").iterdir())


SENDER = """
import sys
sys.path.insert(0, {root!r})
from guard.loop import control
print(control.ask({directory!r}, control.Request("pause", "lunch"), lambda: {gone}), flush=True)
"""


@pytest.fixture
def sender(directory: Path) -> Iterator[subprocess.Popen[str]]:
    root = str(Path(__file__).parent.parent.parent)
    code = SENDER.format(root=root, directory=str(directory), gone="not __import__('os').path.exists('here')")
    (directory / "here").touch()
    process = subprocess.Popen([sys.executable, "-c", code], cwd=directory, stdout=subprocess.PIPE, text=True)
    end = time.monotonic() + 20
    while not [name for name in os.listdir(directory / "control") if not name.startswith(".")]:
        assert time.monotonic() < end
        time.sleep(0.01)
    yield process
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def test_the_kernel_names_who_holds_a_request(directory: Path, sender: subprocess.Popen[str]) -> None:
    control.clear(str(directory))
    (taken,) = control.waiting(str(directory))
    assert taken.sender == sender.pid
    assert control.holds(str(directory), taken)
    control.done(str(directory), taken, Answer(True, "paused"))
    assert sender.communicate(timeout=20)[0].strip() == "Answer(done=True, said='paused')"
    assert not list((directory / "control").iterdir())
    assert not control.holds(str(directory), taken)


def test_a_request_whose_runner_is_gone_is_taken_back(directory: Path, sender: subprocess.Popen[str]) -> None:
    (directory / "here").unlink()
    assert sender.communicate(timeout=20)[0].strip() == "None"
    assert not list((directory / "control").iterdir())


def test_a_runner_that_does_not_answer(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "PATIENCE_S", 0.1)
    monkeypatch.setattr(control, "BUSY_S", 0.05)
    told: list[bool] = []
    with pytest.raises(GuardError) as error:
        control.ask(str(directory), Request("pause"), lambda: False, lambda: told.append(True))
    assert error.value.code == 74
    assert "withdrawn" in str(error.value)
    assert error.value.todo
    assert told == [True]
    assert not list((directory / "control").iterdir())


STRANGE = {
    "half written": '{"v": 1, "verb": "pau',
    "empty": "",
    "garbage": "\0\1\2",
    "a list": "[]",
    "deep": "[" * 50_000,
    "too long": json.dumps(PAUSE | {"reason": "x" * (1 << 16)}),
    "a long reason": json.dumps(PAUSE | {"reason": "x" * 501}),
    "another version": json.dumps(PAUSE | {"v": 2}),
    "no verb": json.dumps({"v": 1}),
    "an unknown verb": json.dumps(PAUSE | {"verb": "fly"}),
    "an unknown field": json.dumps(PAUSE | {"actor": "person"}),
    "a flag that is none": json.dumps(PAUSE | {"now": "yes"}),
    "a number that is a flag": json.dumps(PAUSE | {"lasts_s": True}),
    "a time that is over": json.dumps(PAUSE | {"lasts_s": -1}),
    "a long time": json.dumps(PAUSE | {"lasts_s": 1 << 60}),
}


@pytest.mark.parametrize("how", STRANGE)
def test_what_is_no_request_is_told_and_goes(how: str, directory: Path) -> None:
    put(directory, STRANGE[how])
    (taken,) = control.waiting(str(directory))
    assert taken.request is None
    assert taken.error
    control.done(str(directory), taken)
    assert not list((directory / "control").iterdir())


def test_a_file_by_another_name_is_none(directory: Path) -> None:
    for name in ("pause.json", "1.json", "x" * 250, "00000000000000000001-0000000G.json"):
        put(directory, PAUSE, name)
    assert [taken.request for taken in control.waiting(str(directory))] == [None] * 4
    assert not list((directory / "control").iterdir())


def test_files_that_are_not_finished_are_left_until_a_run_begins(directory: Path) -> None:
    for name in (f".{NAME}", f".{NAME}.taken", f"{NAME}.answer", NAME):
        os.utime(put(directory, PAUSE, name), (1, 1))
    control.clear(str(directory))
    assert not list((directory / "control").iterdir())


def test_links_and_pipes_lead_nowhere(directory: Path, tmp_path: Path) -> None:
    """Neither the folder nor a file in it has guard read or delete anything outside."""
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / NAME).write_text(json.dumps(PAUSE))
    (directory / "control" / NAME).symlink_to(precious / NAME)
    os.mkfifo(directory / "control" / "00000000000000000002-00000000.json")
    (directory / "control" / "00000000000000000003-00000000.json").mkdir()
    assert [taken.request for taken in _done(directory)] == [None, None]
    assert [path.name for path in (directory / "control").iterdir()] == ["00000000000000000003-00000000.json"]
    (directory / "control" / "00000000000000000003-00000000.json").rmdir()
    (directory / "control").rmdir()
    (directory / "control").symlink_to(precious)
    assert _done(directory) == []
    control.clear(str(directory))
    assert (precious / NAME).exists()
    assert control.ask(str(directory), Request("pause"), lambda: True) is None
    assert (precious / NAME).exists()
    assert list(precious.iterdir()) == [precious / NAME]
    assert not (directory / "control").is_symlink()


def _done(directory: Path) -> list[control.Taken]:
    found = list(control.waiting(str(directory)))
    for taken in found:
        control.done(str(directory), taken)
    return found


def test_a_thousand_requests_are_taken_in_order(directory: Path) -> None:
    for number in range(1500):
        put(directory, PAUSE | {"reason": str(number)}, f"{number:020d}-00000000.json")
    for expected in (range(1000), range(1000, 1500), range(0)):
        found = [taken.request.reason for taken in _done(directory) if taken.request is not None]
        assert found == [str(number) for number in expected]


def test_no_room_for_a_request(directory: Path) -> None:
    (directory / "control").rmdir()
    with pytest.raises(GuardError) as error:
        control.ask(str(directory / "nowhere"), Request("pause"), lambda: True)
    assert (error.value.code, bool(error.value.todo)) == (74, True)


# --- what a runner does with them


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    top = tmp_path / "top"
    top.mkdir()
    time = clock.current()
    with Store.open(str(tmp_path / "state"), str(top), time.now()) as kept:
        view = View(kept.directory, True, False)
        yield Desk(kept, time, view, Signals(), "r1", False)


def test_what_nobody_holds_is_the_agents(desk: Desk) -> None:
    """Planted in the folder, with a name from the future: it may hold the loop, as an agent, and lift nothing."""
    folder = Path(desk.store.directory)
    (folder / "control").mkdir()
    desk.record(HoldChanged("", "paused", "user", "lunch", "person"))
    future = "99999999999999999999-00000000.json"
    for number, verb in enumerate(("resume", "reset", "steer", "stop")):
        put(folder, {"v": 1, "verb": verb, "reason": "x", "value": "x"}, future.replace("-0", f"-{number}"))
    desk.listen(surely=True)
    assert desk.state.hold is not None
    assert (desk.state.hold.reason, desk.state.refused) == ("lunch", 4)
    assert not list((folder / "control").glob("*.json"))
    desk.record(HoldChanged("paused", "", "user", "back", "person"))
    put(folder, PAUSE)
    desk.listen(surely=True)
    assert (desk.state.hold.kind, desk.state.hold.actor) == ("agent", "unknown")


def test_a_thousand_of_them_are_one_line(desk: Desk) -> None:
    folder = Path(desk.store.directory)
    (folder / "control").mkdir()
    for number in range(1000):
        text = "garbage" if number % 2 else json.dumps({"v": 1, "verb": "reset", "reason": "x"})
        put(folder, text, f"{number:020d}-00000000.json")
    before = desk.state.seq
    desk.listen(surely=True)
    assert desk.state.seq == before + 2
    assert desk.state.refused == 500
    assert desk.state.alerts[-1]["detail"].startswith("500 requests")


def test_without_a_runner_the_request_is_written_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top, state = tmp_path / "top", str(tmp_path / "state")
    top.mkdir()
    directory = place(state, str(top))
    monkeypatch.setattr(authority, "here", lambda loop, runner=0: authority.Asker("ai", "script"))
    assert delivery.deliver(directory, str(top), Request("resume")) == Answer(False, "nothing has run there")
    assert not os.path.exists(directory)
    assert delivery.deliver(directory, str(top), Request("pause", "lunch")).done
    found = store.peek(directory)
    assert found is not None
    assert found.hold is not None
    assert (found.hold.kind, found.hold.reason, found.hold.actor) == ("agent", "lunch", "script")
    assert not delivery.deliver(directory, str(top), Request("steer", value="x")).done
    found = store.peek(directory)
    assert found is not None
    assert found.refused == 1
    with pytest.raises(GuardError, match="not known"):
        delivery.deliver(directory, "", Request("pause"))


# --- who a process is


SHELL = Process(30, ("bash",), "bash", {}, 30)
XTERM = Process(20, ("xterm",), "xterm", {}, 5)
INIT = Process(1, ("init",), "init", {}, 1)


def around(*line: Process) -> Surroundings:
    return Surroundings((Process(40, ("python3", "guard"), "python3", {}, line[0].session), *line), True, True, "/dev/pts/1")


RUNNER = Process(25, ("python3", "python3", "/usr/bin/guard"), "python3", {}, 25)
BASH = Process(26, ("bash",), "bash", {"GUARD_LOOP": "top-1"}, 26)
PLAIN = Process(26, ("bash",), "bash", {}, 26)
WHO = {
    "at a terminal": ({}, around(SHELL, XTERM, INIT), "person", "person"),
    "an AI's shell": ({"CLAUDECODE": "1"}, around(SHELL, XTERM, INIT), "ai", "claude"),
    "a script": ({}, around(SHELL, INIT)._replace(foreground=False), "ai", "ai"),
    "with the loop's mark": ({"GUARD_LOOP": "top-1"}, around(SHELL, XTERM, INIT), "agent", "agent"),
    "below a call": ({}, around(BASH, RUNNER, INIT), "agent", "agent"),
    "without marks, below the runner": ({}, around(PLAIN, RUNNER, INIT), "agent", "agent"),
    "with a false mark, below the runner": ({"GUARD_LOOP": "x"}, around(PLAIN, RUNNER, INIT), "agent", "agent"),
    "without marks, below another guard": ({}, around(PLAIN, RUNNER._replace(number=24), INIT), "agent", "agent"),
    "in another loop": ({"GUARD_LOOP": "x"}, around(PLAIN, RUNNER._replace(number=24), INIT), "ai", "guard"),
    "below guard exec": ({"GUARD_EXEC": "1"}, around(PLAIN, RUNNER._replace(number=24), INIT), "ai", "guard"),
}


@pytest.mark.parametrize("how", WHO)
def test_who_asks(how: str) -> None:
    environ, where, kind, name = WHO[how]
    assert authority.told(environ, where, "top-1", RUNNER.number) == authority.Asker(kind, name)


def test_a_process_is_looked_at_from_outside() -> None:
    found = ancestry.of(os.getpid())
    own = ancestry.surroundings()
    assert [each.number for each in found.line] == [each.number for each in own.line]
    assert (found.whole, found.foreground) == (own.whole, own.foreground)
    assert ancestry.of(2**22 + 1).line == ()
    assert authority.of(2**22 + 1, "top-1", 0) == authority.NOBODY
    assert actor.who({}, found).kind in ("person", "agent")
