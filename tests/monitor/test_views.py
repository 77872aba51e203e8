"""The ways of showing loops: lines, a table, one loop with its output, on terminals of any width."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from guard.loop import gate
from guard.monitor import rows, terminal
from guard.monitor.gather import NEW, Gathering, Machine
from guard.monitor.plain import Plain
from tests.loop.rig import START, It, times
from tests.monitor.test_gather import T, run

TRIPPED = [It(edit=1, message="x"), *times(3, It())]


def machine(state: Path, *names: str) -> Machine:
    return Gathering(str(state)).look(T, names or None)


def drawn(machine: Machine, width: int, height: int = 30) -> str:
    screen = Console(file=io.StringIO(), width=width, height=height, color_system=None, force_terminal=False)
    single = len(machine.loops) == 1
    screen.print(terminal.closeup(machine, height) if single else terminal.picture(machine, width))
    text = screen.file.getvalue()  # type: ignore[attr-defined]
    assert all(len(line) <= width for line in text.splitlines())
    return str(text)


def test_an_open_breaker_is_told_with_its_reason_and_what_comes(tmp_path: Path) -> None:
    run(tmp_path, "/a", TRIPPED)
    [view] = machine(tmp_path).loops
    [row] = [row for row in rows.detail(view, T) if row.label == "breaker"]
    assert row.meaning == rows.BAD
    assert row.text.startswith("OPEN: no_progress, probe in ")
    assert "Execution halted" in row.text
    assert "no_progress" in drawn(machine(tmp_path), 80)


def test_what_happened_to_protected_files(tmp_path: Path) -> None:
    run(tmp_path, "/a", [It(edit=1, refused=("specs/a.md", "CLAUDE.md")), It(edit=1, harmed=("specs/b.md",))])
    [view] = machine(tmp_path).loops
    texts = {row.label: row.text for row in rows.detail(view, T)}
    assert texts["protected"] == "0 files, 1 lost (1 restored), 2 times refused"
    assert texts["you"] == 'guard loop reset --reason "..." -C /r'


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_both_levels_are_seen_at_any_width(width: int, tmp_path: Path) -> None:
    run(tmp_path, "/a", TRIPPED)
    run(tmp_path, "/b", [It(edit=1, harmed=("specs/b.md",))])
    gate.close(str(tmp_path), "lunch", "ann", START)
    text = drawn(machine(tmp_path), width)
    assert "gate paused" in text
    assert "circuit" in text
    assert "waits for you" in text


def test_one_loop_with_its_output(tmp_path: Path) -> None:
    run(tmp_path, "/a", [It(edit=1)])
    [view] = machine(tmp_path).loops
    outputs = Path(view.directory, "outputs")
    outputs.mkdir(exist_ok=True)
    (outputs / "1-1.log").write_text("".join(f"line {n}\n" for n in range(100)) + "\x1b[2Jred \x1b[31m\n")
    text = drawn(machine(tmp_path, view.loop), 80, 34)
    assert "line 99" in text
    assert "line 1\n" not in text
    assert "\x1b" not in text


def test_nothing_has_run_yet(tmp_path: Path) -> None:
    assert NEW in drawn(Machine((), {"state": "running"}, T), 80)
    assert list(Plain().lines(Machine((), {"state": "running"}, T))) == [NEW]
    [view] = machine(tmp_path, "app-12345678").loops
    assert [row.text for row in rows.detail(view, T)] == ["app-12345678  ready", NEW]


def test_plain_lines_come_only_when_something_has_changed(tmp_path: Path) -> None:
    run(tmp_path, "/a", TRIPPED)
    plain = Plain()
    [line] = plain.lines(machine(tmp_path))
    assert "circuit_open" in line
    assert "Calls: 4/100" in line
    assert list(plain.lines(machine(tmp_path))) == []
    gate.close(str(tmp_path), "lunch", "ann", START)
    assert any("gate paused: lunch" in line for line in plain.lines(machine(tmp_path)))


def test_sparklines() -> None:
    assert rows.sparkline([]) == ""
    assert rows.sparkline([0, 0]) == "▁▁"
    assert rows.sparkline([-3, 0, 5]) == "▁▄█"
    assert rows.sparkline([1, "x", None, 7]) == "▂█"


def test_moments() -> None:
    moment = "2026-11-30T12:10:00.000Z"
    assert rows.ahead(moment, START) == "in 10 min"
    assert rows.ahead(moment, START + 630_000) == "30 s ago"
    assert rows.ahead("nonsense", START) == rows.ahead(None, START) == ""
