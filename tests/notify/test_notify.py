"""Notices: which events tell, what goes out, and that nothing stops a loop or floods a person."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from guard.errors import GuardError
from guard.loop.events import (
    Alert,
    Body,
    BreakerChanged,
    Entered,
    Event,
    HoldChanged,
    LevelChanged,
    Measured,
    Recovered,
    RunEnded,
)
from guard.loop.facts import Protected, Violation
from guard.notify import delivery, outbox
from guard.notify.notice import CODES, Notice, of
from guard.notify.settings import Channel, channels
from guard.notify.storms import QUIET_MS, Calm
from guard.vault.snapshot import world

T = 1_796_040_000_000


@pytest.mark.parametrize(
    ("body", "code", "part"),
    [
        (BreakerChanged("CLOSED", "OPEN", "no_progress", last_error="boom"), "trip", "no_progress"),
        (BreakerChanged("HALF_OPEN", "OPEN", "same_error"), "trip", "same_error"),
        (BreakerChanged("OPEN", "OPEN", "same_error"), "", ""),
        (BreakerChanged("OPEN", "HALF_OPEN"), "", ""),
        (HoldChanged("", "paused", "user", "lunch", "ann"), "pause", "ann"),
        (HoldChanged("", "paused", "agent", "question", "guard"), "person", "question"),
        (HoldChanged("paused", "", "user", "x", "ann"), "", ""),
        (
            Measured(protected=Protected((Violation("specs/a.md", "missing", True),))),
            "restore",
            "1 protected file lost, all restored",
        ),
        (
            Measured(protected=Protected((Violation("a", "missing", False), Violation("b", "missing", True)))),
            "restore",
            "not all",
        ),
        (Measured(), "", ""),
        (Recovered("replay", 3, "journal.jsonl"), "rebuild", "together"),
        (Recovered("checkpoint", 0, "x"), "", ""),
        (LevelChanged(3, 1, "budget", "80 % of the day"), "budget", "level 1"),
        (LevelChanged(3, 2, "user", "x"), "", ""),
        (Entered("WAIT_BUDGET", 1, "x"), "budget", "used up"),
        (Entered("EXECUTE", 1), "", ""),
        (RunEnded("complete", 0, "project_complete", 3), "completion", "done"),
        (RunEnded("paused", 3, "question"), "person", "question"),
        (RunEnded("limit", 2, "cost"), "limit", "cost"),
        (RunEnded("error", 70, "fault"), "error", "fault"),
        (RunEnded("stopped", 130, "stop"), "", ""),
        (Alert("hang", "critical", "late"), "hang", "hang"),
        (Alert("clock", "info", "x"), "", ""),
    ],
)
def test_which_events_tell(body: Body, code: str, part: str) -> None:
    found = of(Event(1, T, "run", 4, body), "app-1234", "/home/ann/app")
    assert (found.code if found else "") == code
    if found is not None:
        assert part in found.title
        assert found.title.startswith("app: ")
        assert (found.run, found.iteration, found.root) == ("run", 4, "/home/ann/app")
        assert found.todo.endswith("-C /home/ann/app")
        assert found.to_json()["time"] == "2026-11-30T12:00:00.000Z"


def test_every_code_has_an_event() -> None:
    rows = test_which_events_tell.pytestmark[0].args[1]  # type: ignore[attr-defined]
    assert {code for _, code, _ in rows} - {""} == set(CODES)


def notice(t: int = 0, code: str = "trip", loop: str = "app", text: str = "x") -> Notice:
    return Notice(code, "critical", "app: stopped", text, T + t, loop, "/r", reason="no_progress", todo="guard loop status")


def test_the_same_one_goes_out_once_in_ten_minutes_then_one_digest() -> None:
    calm = Calm()
    assert calm.admit(notice()) == notice()
    assert [calm.admit(notice(t)) for t in (1, 60_000, QUIET_MS - 1)] == [None] * 3
    assert calm.admit(notice(5, loop="other")) is not None  # each loop is named
    assert calm.admit(notice(5, code="restore")) is not None
    assert calm.next_due() == T + QUIET_MS
    assert not list(calm.due(T + QUIET_MS - 1))
    [digest] = calm.due(T + QUIET_MS)
    assert (digest.count, digest.t) == (3, T + QUIET_MS - 1)
    assert calm.admit(notice(QUIET_MS + 1)) is None  # the digest has ten minutes of its own
    [again] = calm.due(T + 2 * QUIET_MS)
    assert again.count == 1
    assert not list(calm.due(T + 4 * QUIET_MS))
    assert calm.next_due() is None


def test_a_clock_that_is_set_back_silences_nothing() -> None:
    calm = Calm()
    assert calm.admit(notice())
    assert calm.admit(notice(-1)) is not None


class Server(ThreadingHTTPServer):
    answers: list[int]
    bodies: list[dict[str, object]]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.server.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        code = self.server.answers.pop(0) if self.server.answers else 200
        if code == 0:
            time.sleep(1)
            return
        self.send_response(code)
        if code == 302:
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/elsewhere")
        self.end_headers()
        self.wfile.write(b"x" * (200_000 if code == 200 else 1))

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server(("127.0.0.1", 0), Handler)
    found.answers, found.bodies = [], []
    thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield found
    found.shutdown()
    found.server_close()
    thread.join()


def webhook(server: Server, form: str = "json", events: tuple[str, ...] = tuple(CODES)) -> Channel:
    return Channel("user", (), f"http://127.0.0.1:{server.server_port}/hook", form, events)


def test_webhooks(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "sk-ant-" + "api03-0123456789abcdefghijklmnop"
    assert delivery.deliver(notice(text=f"key {secret}"), webhook(server), {}) == []
    assert secret not in json.dumps(server.bodies)
    assert server.bodies[0]["code"] == "trip"
    assert delivery.deliver(notice(), webhook(server, "slack"), {}) == []
    assert server.bodies[1] == {"text": "app: stopped\nx\n-> guard loop status"}
    server.answers = [500]
    assert delivery.deliver(notice(), webhook(server), {}) == ["webhook: it answered 500"]
    server.answers = [302]
    assert delivery.deliver(notice(), webhook(server), {}) == ["webhook: it answered 302"]
    assert len(server.bodies) == 4
    monkeypatch.setattr(delivery, "WEBHOOK_S", 0.1)
    server.answers = [0]
    assert delivery.deliver(notice(), webhook(server), {})[0].startswith("webhook: ")
    gone = Channel("user", (), "http://127.0.0.1:9/x", "json", ())
    assert "refused" in delivery.deliver(notice(), gone, {})[0]


def command(*words: str) -> Channel:
    return Channel("user", words, "", "json", tuple(CODES))


def test_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    script = f'{{ echo "$GUARD_NOTICE_CODE $1"; cat; }} > {out}'
    assert delivery.deliver(notice(), command("/bin/sh", "-c", script, "sh", "a b; echo pwned"), dict(os.environ)) == []
    first, second = out.read_text().splitlines()
    assert first == "trip a b; echo pwned"
    assert json.loads(second)["title"] == "app: stopped"
    assert delivery.deliver(notice(), command("/bin/sh", "-c", "exit 3"), dict(os.environ)) == ["command /bin/sh: exit 3"]
    assert "cannot be started" in delivery.deliver(notice(), command("/no/such"), {})[0]
    monkeypatch.setattr(delivery, "COMMAND_S", 0.1)
    assert "longer" in delivery.deliver(notice(), command("/bin/sh", "-c", "sleep 60"), dict(os.environ))[0]


class Clock:
    """Time that passes by sleeping only."""

    def __init__(self, t: int) -> None:
        self.t, self.slept = t, 0.0

    def now(self) -> int:
        return self.t

    def sleep(self, seconds: float) -> None:
        self.t += int(seconds * 1000)
        self.slept += seconds


def drained(state: Path, channel: Channel, t: int = T) -> Clock:
    clock = Clock(t)
    outbox.drain(str(state), (channel,), dict(os.environ), clock.now, clock.sleep)
    return clock


def test_what_fails_is_tried_again_three_times_and_kept(server: Server, tmp_path: Path) -> None:
    server.answers = [500, 503]
    outbox.put(str(tmp_path), notice())
    drained(tmp_path, webhook(server))
    assert len(server.bodies) == 3
    server.answers = [500] * 9
    outbox.put(str(tmp_path), notice(code="restore"))
    assert drained(tmp_path, webhook(server)).slept >= sum(outbox.WAITS_S)
    assert len(server.bodies) == 7
    [line] = (tmp_path / "notify/failed.jsonl").read_text().splitlines()
    assert json.loads(line)["failed"] == ["webhook: it answered 500"]


def test_a_hundred_of_the_same_are_two(server: Server, tmp_path: Path) -> None:
    for n in range(100):
        assert outbox.put(str(tmp_path), notice(n))
    drained(tmp_path, webhook(server))
    assert [body["count"] for body in server.bodies] == [1, 99]
    outbox.put(str(tmp_path), notice(QUIET_MS + 10_000))  # another sender, later: it remembers
    clock = drained(tmp_path, webhook(server), T + QUIET_MS + 10_000)
    assert len(server.bodies) == 3
    assert clock.slept > 500


def test_a_queue_that_is_full_or_damaged_stops_nothing(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "MOST", 2)
    assert [outbox.put(str(tmp_path), notice(n, code)) for n, code in enumerate(("trip", "restore", "pause"))] == [
        True,
        True,
        False,
    ]
    (tmp_path / "notify/queue/0.json").write_text("{")
    (tmp_path / "notify/calm.json").write_text("[[1]]")
    drained(tmp_path, webhook(server))
    assert len(server.bodies) == 2
    (tmp_path / "file").touch()
    assert not outbox.put(str(tmp_path / "file"), notice())


def test_only_what_was_asked_for(server: Server, tmp_path: Path) -> None:
    for code in ("trip", "pause"):
        outbox.put(str(tmp_path), notice(code=code))
    drained(tmp_path, webhook(server, events=("pause",)))
    assert [body["code"] for body in server.bodies] == ["pause"]


def test_the_sender_is_a_process_of_its_own(server: Server, tmp_path: Path) -> None:
    config = tmp_path / "config/guard/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'[notify]\nwebhook = "http://127.0.0.1:{server.server_port}/hook"\n')
    outbox.put(str(tmp_path / "state"), notice())
    sender = outbox.start(str(tmp_path / "state"), {**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config")})
    assert sender is not None
    assert sender.wait(30) == 0
    assert [body["code"] for body in server.bodies] == ["trip"]


def configured(tmp_path: Path, text: str) -> tuple[Channel, ...]:
    path = tmp_path / "guard/config.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return channels({"XDG_CONFIG_HOME": str(tmp_path), "HOME": str(tmp_path)}, world())


def test_the_users_file_says_where(tmp_path: Path) -> None:
    text = """[notify]
command = ["notify-send", "guard"]
webhook = "https://example.invalid/x"
format = "slack"
events = ["trip"]
"""
    assert configured(tmp_path, text) == (
        Channel("user", ("notify-send", "guard"), "https://example.invalid/x", "slack", ("trip",)),
    )
    assert configured(tmp_path, "") == ()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('[notify]\nevents = ["trip"]\n', "neither command nor webhook"),
        ('[notify]\nwebhook = "http://example.invalid/"\n', "https"),
        ('[notify]\nwebhook = "file:///etc/passwd"\n', "https"),
        ('[notify]\ncommand = "notify-send"\n', "list"),
        ('[notify]\ncommand = ["x"]\nevents = ["tripp"]\n', "unknown event"),
        ('[notify]\ncommand = ["x"]\nformat = "xml"\n', "format"),
        ("[notify]\nurl = 1\n", "unknown key"),
    ],
)
def test_what_is_wrong_there_is_said(text: str, what: str, tmp_path: Path) -> None:
    with pytest.raises(GuardError, match=what):
        configured(tmp_path, text)


def test_a_project_may_not_say_where(tmp_path: Path) -> None:
    from guard.config import parse

    with pytest.raises(GuardError, match="only the user's and the system's file"):
        parse(str(tmp_path / "guard.toml"), b'[notify]\ncommand = ["touch", "pwned"]\n')


def test_a_loop_that_is_stopped_tells_and_does_not_wait(server: Server, tmp_path: Path) -> None:
    from tests.loop.bench import Bench, step

    bench = Bench(tmp_path)
    bench.home.joinpath(".config/guard").mkdir(parents=True)
    config = bench.home / ".config/guard/config.toml"
    config.write_text(f'[notify]\nwebhook = "http://127.0.0.1:{server.server_port}/hook"\nevents = ["trip", "restore"]\n')
    server.answers = [500, 500]
    bench.loop([step("python3 -c 'import os; os.unlink(\"CLAUDE.md\")'")])
    end = time.monotonic() + 30
    while {str(body["code"]) for body in server.bodies} < {"restore", "trip"} and time.monotonic() < end:
        time.sleep(0.05)
    by_code = {str(body["code"]): body for body in server.bodies}
    assert by_code["restore"]["title"] == "project: 1 protected file lost, all restored"
    assert by_code["trip"]["reason"] == "integrity"
    shown = bench.guard("notify", "--json")
    assert json.loads(shown.out)["channels"][0]["webhook"] == f"127.0.0.1:{server.server_port}"
    assert bench.guard("notify", "--test").code == 0
    config.write_text("[notify]\nwebhook = 3\n")
    assert bench.loop([step()]).code == 64


def test_who_is_told_of_nothing_hears_how(tmp_path: Path) -> None:
    from tests.loop.bench import Bench

    shown = Bench(tmp_path, clock=False).guard("notify", "--test")
    assert shown.code == 64
    assert "[notify]" in shown.err
