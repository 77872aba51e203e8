"""Budget, levels and a shared ledger through the command line, with a client on disk and time from a file."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from guard import config
from guard.errors import GuardError
from guard.loop.configuration import settings
from guard.world import Budget, World
from tests.fleet.conftest import Server
from tests.loop.bench import IP, Bench
from tests.loop.test_claude import install

WORK = 'echo $$ >> src/a.py; echo "$GUARD_LEVEL $*" >> ../levels'


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    found = Bench(tmp_path)
    install(found, IP, WORK)
    found.environ["TZ"] = "UTC"
    return found


def configure(bench: Bench, text: str) -> None:
    directory = bench.home / ".config/guard"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.toml").write_text(text)


def test_a_day_that_is_spent_slows_the_loop_then_stops_it_until_midnight(bench: Bench) -> None:
    configure(bench, '[loop.budget]\nday_tokens = 300\neconomy = ["--model", "haiku"]\n')
    assert bench.guard("loop", "--agent", "claude", "-n", "4").code == 2
    times = [datetime.fromisoformat(event["t"]) for event in bench.events("call_reserved")]
    assert [(one - times[0]).total_seconds() < 60 for one in times] == [True, True, False, False]
    assert 600 <= (times[2] - times[1]).total_seconds() < 660
    assert "2026-12-01T00:00:00" <= times[3].isoformat()[:19] <= "2026-12-01T00:00:05"
    assert [event["level"] for event in bench.events("call_reserved")] == [3, 3, 1, 3]
    lines = (bench.tmp / "levels").read_text().splitlines()
    assert [line[0] for line in lines] == ["3", "3", "1", "3"]
    assert ["haiku" in line for line in lines] == [False, False, True, False]
    assert [event["why"] for event in bench.events("entered") if event["state"] == "WAIT_BUDGET"] == ["the day's budget is spent"]
    levels = [(event["before"], event["after"], event["class"]) for event in bench.events("level")]
    assert levels == [(3, 1, "budget"), (1, 3, "budget")]
    shown = bench.guard("loop", "status").out
    assert "of 300 tokens" in shown
    assert bench.status()["cost"]["day"]["total"] == 300


def test_a_server_that_is_away_leaves_a_share_and_no_file_has_its_password(bench: Bench) -> None:
    pytest.importorskip("redis")
    configure(bench, '[fleet]\nurl = "redis://:hunter2@127.0.0.1:1/0"\ncalls_per_hour = 4\nloops = 2\n')
    seen = bench.guard("loop", "--agent", "claude", "-n", "3", "--max-runtime", "4m")
    assert seen.code == 2
    assert len(bench.events("call_reserved")) == 2
    assert "the server cannot be reached" in bench.status()["fleet"]["why"]
    files = [path for path in bench.state.rglob("*") if path.is_file()]
    assert not [path for path in files if b"hunter2" in path.read_bytes()]
    assert "hunter2" not in seen.out + seen.err


def test_a_server_shares_the_calls(bench: Bench, server: Server) -> None:
    from guard.fleet.redis import Redis

    configure(bench, f'[fleet]\nurl = "{server.url}"\nname = "line"\n')
    assert bench.guard("loop", "--agent", "claude", "-n", "1", "-c", "7").code == 2
    assert bench.status()["fleet"] == {"state": "shared", "loops": 1, "share": 7, "limit": 7, "why": ""}
    assert Redis(server.url, "line").count() == 1


def test_a_project_cannot_loosen_the_users_budget_nor_name_a_server(tmp_path: Path) -> None:
    home, top = tmp_path / "home", tmp_path / "project"
    (home / ".config/guard").mkdir(parents=True)
    top.mkdir()
    environ = {"HOME": str(home)}
    (home / ".config/guard/config.toml").write_text("[loop.budget]\nday_cost = 5.0\n[fleet]\n")
    (top / "guard.toml").write_text('[loop.budget]\nday_cost = 50.0\nrole = "cheapest"\n')
    found = settings(str(top), {}, environ, World(environ, Budget(5, 10**6)), False)
    assert (found.config.day_cost, found.config.role, found.config.fleet_calls) == (5.0, "cheapest", 100)
    assert any("day_cost = 50.0 is looser" in warning for warning in found.warnings)
    with pytest.raises(GuardError, match="only the user's"):
        config.parse(str(top / "guard.toml"), b'[fleet]\nurl = "redis://x"\n')


@pytest.mark.parametrize(
    "text",
    ['[loop.budget]\nrole = "king"', "[loop.budget]\nday_tokens = 0", '[fleet]\nurl = "http://x"', "[fleet]\nloops = -1",
     "[loop.budget]\nday_cost = 0"],
)  # fmt: skip
def test_what_makes_no_sense_is_an_error_with_its_line(text: str) -> None:
    with pytest.raises(GuardError) as caught:
        config.parse("/c/config.toml", text.encode(), "user")
    assert ":2" in caught.value.where


def test_a_day_has_one_budget(tmp_path: Path) -> None:
    (tmp_path / "guard.toml").write_text("[loop.budget]\nday_cost = 5.0\nday_tokens = 7\n")
    environ = {"HOME": str(tmp_path / "home")}
    with pytest.raises(GuardError, match="two budgets"):
        settings(str(tmp_path), {}, environ, World(environ, Budget(5, 10**6)), False)


def test_a_spent_day_is_what_status_would_exit_with(bench: Bench) -> None:
    configure(bench, "[loop.budget]\nday_tokens = 100\n")
    assert bench.guard("loop", "--agent", "claude", "--max-runtime", "1h").code == 2
    assert len(bench.events("call_reserved")) == 1
    seen = bench.guard("loop", "status", "--exit-code")
    assert seen.code == 2
    assert "127 of 100 tokens, 127 %" in seen.out
    (alert,) = [event for event in bench.events("alert") if event["kind"] == "over_budget"]
    assert alert["severity"] == "critical"


def test_where_the_ledger_cannot_be_written_no_call_is_made(bench: Bench) -> None:
    configure(bench, "[fleet]\n")
    (bench.state / "fleet").write_text("a file in its place")
    seen = bench.guard("loop", "--agent", "claude", "-n", "1")
    assert seen.code == 74, seen.err
    assert not bench.events("call_reserved")


def test_a_level_is_given_on_the_command_line(bench: Bench) -> None:
    assert bench.guard("loop", "--agent", "claude", "--level", "2", "--max-runtime", "30s").code == 3
    assert (bench.tmp / "levels").read_text()[0] == "2"
    assert next(event["reason"] for event in bench.events("hold")) == "confirm"
