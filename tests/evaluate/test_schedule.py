"""The evaluation that a service manager runs from time to time."""

from __future__ import annotations

import os
import plistlib
import shlex
from pathlib import Path

import pytest

from guard.commands import service_eval
from guard.errors import GuardError
from guard.loop.identity import identity
from guard.service import schedule
from guard.service.job import job
from guard.service.manager import LAUNCHD, SYSTEMD, manager
from guard.service.schedule import CALENDARS, SPANS, Schedule

ODD = 'a "b" $c %d'


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [each for each in os.environ if each.startswith("XDG_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GUARD_STATE_DIR", str(tmp_path / "state"))
    (tmp_path / "state").mkdir()
    (tmp_path / "shop").mkdir()
    return tmp_path / "shop"


def made(every: str) -> Schedule:
    return Schedule(every, tuple(job("x", ("/bin/echo", word, ODD), "/", {"PATH": "/bin"}) for word in ("one", "two")))


@pytest.mark.parametrize("every", CALENDARS)
def test_systemd_has_a_timer_that_starts_a_unit(top: Path, every: str) -> None:
    chosen = manager(os.environ, SYSTEMD)
    (unit, text), (timer, when) = schedule.files(chosen, made(every)).items()
    assert (unit, timer) == (chosen.path("x"), chosen.path("x").replace(".service", ".timer"))
    assert schedule.paths(chosen, "x") == [unit, timer]
    runs = [line for line in text.splitlines() if line.startswith("ExecStart=-")]
    assert [shlex.split(line.partition("-")[2])[1] for line in runs] == ["one", "two"]
    assert '"a \\"b\\" $$c %%d"' in runs[0]
    assert "[Install]" not in text  # the timer alone starts it
    assert f"OnCalendar={every}\nPersistent=yes" in when
    assert schedule.starts(chosen, "x")[-1][-1] == schedule.ends(chosen, "x")[0][-1] == "guard-x.timer"


def test_launchd_has_a_calendar(top: Path) -> None:
    chosen = manager(os.environ, LAUNCHD)
    ((_, text),) = schedule.files(chosen, made("weekly")).items()
    values = plistlib.loads(text.encode())
    assert values["StartCalendarInterval"] == {"Weekday": 1, "Hour": 0, "Minute": 0}
    shell, option, line = values["ProgramArguments"]
    assert (shell, option) == ("/bin/sh", "-c")
    assert shlex.split(line) == ["/bin/echo", "one", f"{ODD};", "/bin/echo", "two", ODD]
    assert "KeepAlive" not in values


def test_it_looks_for_feedback_judges_drift_and_writes_a_report(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert SPANS.keys() == CALENDARS.keys()
    assert service_eval.install("daily", "", str(top), SYSTEMD, dry_run=True) == 0
    told = capsys.readouterr().out
    lines = [shlex.split(line.partition("=-")[2])[4:] for line in told.splitlines() if line.startswith("ExecStart=-")]
    output = f"{top.parent}/state/reports/{identity(str(top))}-eval.html"
    report = ["loop", "report", "--since", "1d", "--format", "html", "-o", output]
    assert lines == [["eval", "feedback", "--scan"], ["eval", "drift"], report]
    assert not (top.parent / "home").exists()
    assert service_eval.uninstall("", str(top), SYSTEMD) == 0
    assert "There is no service" in capsys.readouterr().out
    with pytest.raises(GuardError):
        service_eval.install("daily", "a/b", str(top), SYSTEMD, dry_run=True)
