"""The decision log keeps what it is given, from many writers, and gives back only what is whole."""

from __future__ import annotations

import multiprocessing
import os
import re
import stat
import time
from pathlib import Path

import pytest

from guard import log
from guard.actor import Actor
from guard.decision import Decision, Request, new_id
from guard.effects import Analysis, At, Below, Cause, Effect, Hole, Matching, Pattern, Somewhere, Step, Unknown, unknown
from guard.policy import Rule
from guard.redact import HIDDEN, redactor
from guard.verdict import Reason, Verdict, Victim

CAUSE = Cause("rm -rf specs", "/r")
PATTERN = Pattern(("/r/", Hole("unknown-variable", "$X"), ".md"))
DECISION = Decision(
    Request("rm -rf specs\n\udcff", "/r", "r7f3", "check", Actor("agent", "claude", "CLAUDECODE")),
    Analysis(
        (
            Effect("delete", At("/r/specs"), True, CAUSE),
            Effect("move", Below("/r/a"), False, None, "/r/b", None, "/r/s"),
            Effect("delete", Matching("/r", PATTERN)),
            Effect("overwrite", Somewhere("/r")),
        ),
        (Unknown("too-deep", "x", None, CAUSE), Unknown("unknown-command", "y", At("/r"))),
        unknown("unknown-output", "ls"),
        1,
        (Step("/r", "rm -rf specs", "4 files"),),
    ),
    Verdict(
        "deny",
        (Reason("delete-kept", "deny", "", CAUSE, 4),),
        (Victim("/r/specs/a\udcff", "keep", "delete", "delete-kept", "deny", CAUSE, Rule("keep", "/specs/", "guard.toml", 6)),),
        4,
        "guard.toml:3",
    ),
    1.5,
    "rm -rf build",
)


def test_a_decision_survives_the_log(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    assert log.append(log.encode(DECISION), state)
    event = log.find(state, "r7f3")
    assert event is not None
    assert log.decode(event) == DECISION


def test_contents_of_files_stay_out(tmp_path: Path) -> None:
    effect = Effect("overwrite", At("/r/x"), content=b"the secret plan")
    event = log.encode(DECISION._replace(analysis=Analysis((effect,))))
    assert "secret plan" not in repr(event)


@pytest.mark.parametrize("event", [{}, {"command": 1}, {"id": "x", "effects": 3}, log.encode(DECISION) | {"reasons": [["x"]]}])
def test_what_is_no_decision_says_so(event: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="not a decision"):
        log.decode(event)


def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    state = tmp_path / "deep" / "state"
    assert log.append({"id": "a"}, str(state))
    assert stat.S_IMODE((state / log.NAME).stat().st_mode) == 0o600
    assert stat.S_IMODE(state.stat().st_mode) == 0o700


def test_torn_and_damaged_lines_are_left_out(tmp_path: Path) -> None:
    state = str(tmp_path)
    file = tmp_path / log.NAME
    log.append({"id": "one"}, state)
    with file.open("ab") as out:
        out.write(b'{"crc":"00000000","id":"torn')
    log.append({"id": "two"}, state)
    log.append({"id": "three"}, state)
    file.write_bytes(file.read_bytes().replace(b"three", b"threx") + b"\xff\xfe\n[]\n\n{}\n")
    log.append({}, state)
    assert [event.get("id") for event in log.read(state)] == ["one", "two", None]


def test_nowhere_to_write_is_no_error(tmp_path: Path) -> None:
    assert not log.append({"id": "x"}, None)
    assert not log.append({"id": "x"}, "")
    assert not log.append({"id": "x"}, "/dev/null/state")
    assert not log.append({"id": "x"}, "/\0")
    assert not log.append({"id": object()}, str(tmp_path))
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / log.NAME)
    assert not log.append({"id": "x"}, str(tmp_path / "pipe"))
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / log.NAME).symlink_to(tmp_path / "elsewhere")
    assert not log.append({"id": "x"}, str(tmp_path / "link"))
    assert list(log.read(None)) == list(log.read("/nowhere")) == list(log.read(str(tmp_path / "pipe"))) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "write", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
    assert not log.append({"id": "x"}, str(tmp_path))


def _many(state: str, name: str) -> None:
    for n in range(200):
        assert log.append({"id": f"{name}{n}", "command": "x" * 3000}, state)


def test_many_processes_write_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "FULL", 1 << 20)
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_many, args=(str(tmp_path), name)) for name in "abcd"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0] * 4
    found = [event["id"] for event in log.read(str(tmp_path))]
    assert len(found) == len(set(found))
    assert (tmp_path / f"{log.NAME}.1").exists()
    # What stood in a file that was moved aside twice is gone; nothing else is.
    assert len(found) > 250


def test_rotation_keeps_the_last_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "FULL", 500)
    for n in range(20):
        log.append({"id": f"e{n:02}", "pad": "x" * 90}, str(tmp_path))
    found = [event["id"] for event in log.read(str(tmp_path))]
    assert found == sorted(found)
    assert found[-1] == "e19"
    assert len(found) >= 4


def test_find_takes_a_unique_beginning_and_the_newest(tmp_path: Path) -> None:
    state = str(tmp_path)
    for event in ({"id": "r7f3", "n": 1}, {"id": "r7f4", "n": 2}, {"id": "a2bc", "n": 3}, {"id": "r7f3", "n": 4}, {"other": 1}):
        log.append(event, state)
    assert log.find(state, "r7f3") == {"id": "r7f3", "n": 4}
    assert log.find(state, "a2") == {"id": "a2bc", "n": 3}
    assert log.find(state, "r7") is None
    assert log.find(state, "zz") is None
    assert log.find(state, "") is None


def test_an_enormous_event_is_cut_to_what_matters(tmp_path: Path) -> None:
    big = DECISION._replace(request=DECISION.request._replace(command="x" * 2_000_000))
    assert log.append(log.encode(big), str(tmp_path))
    event = log.find(str(tmp_path), "r7f3")
    assert event is not None
    assert event["cut"] is True
    assert len(event["command"]) < log.LINE_LIMIT
    assert log.decode(event).verdict.decision == "deny"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("aws configure set AKIAIOSFODNN7EXAMPLE x", "AKIAIOSFODNN7EXAMPLE"),
        ("git clone https://ghp_abcdefghijklmnopqrstuvwxyz0123456789@github.com/a/b", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"),
        ("export OPENAI_API_KEY=sk-proj-abcdefghijklmnop1234", "sk-proj-abcdefghijklmnop1234"),
        ('curl -H "Authorization: Bearer abc.def.ghi" x', "abc.def.ghi"),
        ("curl -H 'authorization: Basic dXNlcjpwYXNz' x", "dXNlcjpwYXNz"),
        ("mysql --password=hunter2 db", "hunter2"),
        ("mysql --password hunter2 db", "hunter2"),
        ("DB_PASSWORD='two words' ./run", "two words"),
        ('echo {"api_key": "0123456789abcdef"}', "0123456789abcdef"),
        ("psql postgres://me:hunter2@host/db", "hunter2"),
        ("x github_pat_11ABCDEFG0123456789abcdef", "github_pat_11ABCDEFG0123456789abcdef"),
        ("x xoxb-123456789012-abcdef", "xoxb-123456789012-abcdef"),
        ("x eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc", "eyJzdWIiOiIxMjM0In0"),
        ("echo '-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----'", "abc\n"),
    ],
)
def test_secrets_are_taken_out(tmp_path: Path, text: str, secret: str) -> None:
    log.append({"id": "x", "command": text, "trace": [[text]]}, str(tmp_path))
    written = (tmp_path / log.NAME).read_text()
    assert secret not in redactor()(text)
    assert HIDDEN in written
    assert secret.replace("\n", "\\n") not in written


def test_secrets_of_the_environment_are_taken_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", 'kf83-"jWq02"-very')
    monkeypatch.setenv("SOME_NAME", "an-ordinary-value")
    log.append({"id": "x", "command": 'rm -rf specs # kf83-"jWq02"-very an-ordinary-value'}, str(tmp_path))
    (event,) = log.read(str(tmp_path))
    assert event["command"] == f"rm -rf specs # {HIDDEN} an-ordinary-value"


@pytest.mark.parametrize(
    "text", ["rm -rf specs", "git commit -m 'token parser'", "PWD=/home/x ls", "sort-keys", "https://host:80/a@b"]
)
def test_other_text_stays(text: str) -> None:
    assert redactor()(text) == text


def test_ids_are_short_and_never_words() -> None:
    ids = {new_id() for _ in range(500)}
    assert all(re.fullmatch(r"[a-z][0-9][a-z0-9]{2}", name) for name in ids)
    assert len(ids) > 480


@pytest.mark.parametrize(
    "piece",
    [
        "x",
        "token",
        "token=",
        'token="',
        "eyJ-",
        "eyJaaaaaaaaaaa.",
        "a://",
        "a.",
        "bearer ",
        "authorization",
        "sk-",
        " ",
        "-----BEGIN PRIVATE KEY-----",
        "--token ",
    ],
)
def test_no_text_takes_long_to_clean(piece: str) -> None:
    start = time.process_time()
    redactor()((piece * 200_000)[: log.LINE_LIMIT])
    assert time.process_time() - start < 1.5
