"""`guard log` shows a line an event; `guard wrong` writes a report without anything personal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from guard import log
from guard.commands.log import kind, moment, settled
from guard.errors import GuardError
from tests.test_grants import check, environment, execute, give, refused, state, top

__all__ = ["top"]


def guard(top: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "guard", *words]
    return subprocess.run(argv, cwd=top, env=environment(top, **more), capture_output=True, text=True, timeout=60)


def test_a_line_for_each_event_the_last_ones(top: Path) -> None:
    names = [refused(top, f"rm specs/{name}.md") for name in "abab"]
    lines = guard(top, "log", "-n", "2").stdout.splitlines()
    assert [any(name in line for line in lines) for name in names] == [False, False, True, True]
    assert "refused" in lines[0]
    assert "delete-kept: specs/a.md" in lines[0]
    assert guard(top, "log", "-n", "0").stdout == ""


def test_kinds(top: Path) -> None:
    refused(top, "rm CLAUDE.md")
    check(top, "touch x")
    give(top, "CLAUDE.md")
    check(top, "rm CLAUDE.md")
    execute(top, sys.executable, "-c", "import os; os.unlink('specs/a.md')")
    for name, number in (("refused", 1), ("passed", 1), ("allowed", 1), ("restored", 1), ("override", 0)):
        rows = [json.loads(line) for line in guard(top, "log", "--json", "--kind", name).stdout.splitlines()]
        assert [row["kind"] for row in rows] == [name] * number, name
    rows = [json.loads(line) for line in guard(top, "log", "--json").stdout.splitlines()]
    assert all(row["v"] == 1 and row["id"] for row in rows)


def test_by_client_and_time(top: Path) -> None:
    check(top, "rm CLAUDE.md", CLAUDECODE="1")
    check(top, "rm specs/a.md")
    assert guard(top, "log", "--client", "claude").stdout.count("\n") == 1
    assert guard(top, "log", "--since", "1h").stdout.count("\n") == 2
    assert "Nothing is on record" in guard(top, "log", "--since", "2999-01-01").stdout


def test_the_client_is_the_one_whose_hook_it_was(top: Path) -> None:
    name = refused(top, "rm CLAUDE.md")
    event = next(log.read(state(top)))
    log.append({**event, "id": "a2bc", "layer": "hook:claude:Bash", "actor": ["agent", "codex", ""]}, state(top))
    assert [json.loads(line)["id"] for line in guard(top, "log", "--json", "--client", "claude").stdout.splitlines()] == ["a2bc"]
    assert name not in guard(top, "log", "--client", "claude").stdout
    assert guard(top, "wrong", "a2bc").returncode == 0
    assert json.loads(Path(f"{state(top)}/reports/a2bc.json").read_text())["client"] == "claude"


def test_what_two_hooks_of_git_say_of_one_commit_is_one_line(top: Path) -> None:
    refused(top, "rm CLAUDE.md")
    event = {**next(log.read(state(top))), "layer": "git-hook", "command": "git commit"}
    for name, later in (("a2bc", 0.0), ("b3cd", 1.0), ("c4de", 3600.0)):
        log.append({**event, "id": name, "time": event["time"] + later}, state(top))
    said = guard(top, "log").stdout
    assert [name in said for name in ("a2bc", "b3cd", "c4de")] == [True, False, True]
    assert "b3cd" in guard(top, "log", "--json").stdout


def test_what_a_person_has_let_pass_afterwards_is_settled(top: Path) -> None:
    refused(top, "rm CLAUDE.md")
    event = {**next(log.read(state(top))), "layer": "git-hook"}
    leave = {**event, "decision": "allow", "code": "excepted", "victims": []}
    assert settled(event, [{**leave, "reasons": [["excepted", "allow", "Guard-Allow: CLAUDE.md (0123abc)"]]}])
    assert not settled(event, [{**leave, "reasons": [["excepted", "allow", "Guard-Allow: specs/a.md"]]}])
    assert not settled(event, [{**leave, "cwd": "/", "reasons": [["excepted", "allow", "Guard-Allow: CLAUDE.md"]]}])
    assert not settled(event, [])


def test_of_this_project_alone(top: Path) -> None:
    refused(top, "rm CLAUDE.md")
    other = top.parent / "other"
    (other / ".git").mkdir(parents=True)
    assert "Nothing is on record" in guard(other, "log").stdout
    assert "CLAUDE.md" in guard(other, "log", "--all").stdout


def test_names_cannot_inject_anything(top: Path) -> None:
    (top / "specs/\x1b[31m\nevil").write_text("x\n")
    check(top, "rm -rf specs", CLAUDECODE="1")
    out = guard(top, "log").stdout
    assert "\x1b" not in out
    assert out.count("\n") == 1


@pytest.mark.parametrize("words", [["--kind", "nonsense"], ["--since", "soon"], ["--since", "25:99"], ["-n", "-1"], ["-n", "x"]])
def test_wrong_usage(top: Path, words: list[str]) -> None:
    assert guard(top, "log", *words).returncode == 64


def test_moments() -> None:
    now = time.mktime((2026, 11, 30, 12, 0, 0, 0, 0, -1))
    assert moment("2h", now) == now - 7200
    assert moment("3d", now) == now - 3 * 86400
    assert moment("10:30", now) == now - 5400
    assert moment("2026-11-30 11:00", now) == now - 3600
    assert moment("1970-01-02T00:00:00Z", now) == 86400
    for text in ("", "x", "2026-13-01", "99999999d", "-1h"):
        with pytest.raises(GuardError):
            moment(text, now)


def test_odd_events_have_a_kind() -> None:
    assert kind({}) == "refused"
    assert kind({"layer": None, "decision": "allow"}) == "allowed"


def test_a_damaged_log_shows_what_is_whole(top: Path) -> None:
    name = refused(top, "rm CLAUDE.md")
    with open(f"{state(top)}/decisions.jsonl", "ab") as file:
        file.write(b'{"crc":"00000000","id":"x"}\n\xff\xfe\n{"half')
    assert name in guard(top, "log").stdout


# --- wrong


def test_a_report_holds_nothing_personal(top: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    command = f"rm -rf specs; echo mallory@example.com {secret} {top}/x {environment(top)['HOME']}/y"
    name = refused(top, command)
    run = guard(top, "wrong", name, "--reason", f"see {top}", USER="mallory")
    assert run.returncode == 0, run.stderr
    path = Path(state(top)) / "reports" / f"{name}.json"
    assert str(path) in run.stdout
    text = path.read_text()
    report = json.loads(text)
    assert report["v"] == 1
    assert report["id"] == name
    assert report["decision"] == "deny"
    assert report["victims"][0][0] == "/project/specs/a.md"
    for personal in (secret, "mallory", str(top), environment(top)["HOME"], os.uname().nodename):
        assert personal not in text, personal
    assert "false-alarm" in guard(top, "log", "--kind", "override").stdout


def test_an_id_that_is_none(top: Path) -> None:
    for name in ("zzzz", "r7f3", "../../x"):
        assert guard(top, "wrong", name).returncode == 64
    assert not (Path(state(top)) / "reports").exists()
