"""A person may let a project's protection rest for a while."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from guard import granting, grants, running
from guard.commands import integrity, suspend
from guard.errors import GuardError
from guard.grants import SUSPENSION
from tests.test_allow import guard
from tests.test_grants import check, environment, execute, give, state, top

__all__ = ["top"]


def test_everything_passes_but_what_is_guards_own(top: Path) -> None:
    other = top.parent / "other"
    (other / "specs").mkdir(parents=True)
    (other / "specs/a.md").write_text("x\n")
    subprocess.run(["git", "init", "-q", other], check=True)
    seen = guard(top, "suspend", "5m", "--reason", "big clean-up")
    assert (seen.status, seen.answered) == (0, 1)
    assert "snapshot" in seen.shown
    for _ in range(2):
        assert check(top, "rm -rf specs CLAUDE.md") == 0
    (other / "guard.toml").write_text("")
    for command in ("echo > guard.toml", f"rm -rf {state(top)}", "guard suspend 5m", f"rm {other}/specs/a.md"):
        assert check(top, command) == 1, command
    assert check(other, "rm -rf specs") == 1


def test_what_goes_meanwhile_is_not_brought_back(top: Path) -> None:
    assert guard(top, "suspend", "5m", "--reason", "x").status == 0
    assert execute(top, sys.executable, "-c", "import os; os.unlink('CLAUDE.md')").returncode == 0
    assert not (top / "CLAUDE.md").exists()


def test_it_ends_early_and_by_itself(top: Path) -> None:
    assert guard(top, "suspend", "5m", "--reason", "x").status == 0
    run = subprocess.run(
        [sys.executable, "-m", "guard", "suspend", "--end"], cwd=top, env=environment(top), capture_output=True, timeout=60
    )
    assert run.returncode == 0
    assert check(top, "rm CLAUDE.md") == 1
    now = time.time()
    give(top, kind=SUSPENSION, victims={}, created=now - 100, expires=now - 1)
    assert check(top, "rm CLAUDE.md") == 1


def test_never_while_a_loop_of_this_project_runs(top: Path) -> None:
    with subprocess.Popen(["sleep", "60"], cwd=top, env=environment(top, GUARD_LOOP="1")) as process:
        try:
            assert running.loop(str(top), state(top)) == f"process {process.pid}"
            seen = guard(top, "suspend", "5m", "--reason", "x")
            assert seen.status == 75
            assert "a loop of this project is running" in seen.shown
        finally:
            process.kill()
    assert running.loop(str(top), state(top)) == ""


def test_a_status_line_names_it(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment(top).items():
        monkeypatch.setenv(name, value)
    policy = integrity.here(str(top)).policy
    assert suspend.line(policy, str(top), environment(top)) == ""
    give(top, kind=SUSPENSION, victims={}, reason="big clean-up")
    assert suspend.line(policy, str(top), environment(top)) == "protection suspended, 10 min left: big clean-up"


@pytest.mark.parametrize(("text", "seconds"), [("15m", 900), ("90s", 90), ("1h", 3600), ("60m", 3600), ("5", 300)])
def test_times(text: str, seconds: float) -> None:
    assert granting.duration(text, "TIME") == seconds


@pytest.mark.parametrize("text", ["", "m", "0m", "61m", "2h", "-5m", "1.5h", "5 m", "٣m", "9999999999m", "5d"])
def test_times_that_are_none(text: str) -> None:
    with pytest.raises(GuardError):
        granting.duration(text, "TIME")


@pytest.mark.parametrize("words", [["5m"], ["61m", "--reason", "x"], [], ["5m", "--reason", " "]])
def test_wrong_usage(top: Path, words: list[str]) -> None:
    assert guard(top, "suspend", *words).status == 64
    assert grants.known(state(top), False) == []
