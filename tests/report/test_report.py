"""Reports: numbers that follow from the journal, and forms that hold nothing but them."""

from __future__ import annotations

import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

from guard.loop.events import Event
from guard.report import measures, page, plain, quality
from guard.report.history import Happening, History, Iteration, Run
from guard.report.measures import Measure, Record
from guard.report.summary import shown, summary, values
from guard.supervise.notebook import Down, Hang, Restarted
from tests.loop.bench import EDIT, Bench, step, tick
from tests.loop.rig import START, It, times
from tests.report.test_history import RUN, written

END = START + 86_400_000


def record(tmp_path: Path, iterations: list[It], **more: object) -> Record:
    history, _ = written(tmp_path, iterations)
    return Record((history,), since=START, until=END, **more)  # type: ignore[arg-type]


def by_name(record: Record) -> dict[str, Measure]:
    return {one.name: one for one in (*measures.measures(record), *quality.measures(record))}


def test_numbers_of_a_run(tmp_path: Path) -> None:
    found = by_name(record(tmp_path, RUN))
    assert found["loop success rate"].value == pytest.approx(200 / 3)
    assert found["loop success rate"].met is False
    assert found["loop success rate"].mends
    assert found["mean loop time"].value == 60
    assert found["limit compliance"].value == 100
    assert found["first-fix rate"].value == 50
    assert found["tokens per completed task"].value == 500
    assert found["refusals per 100 iterations"].value == pytest.approx(100 / 3)
    assert found["waste after a trip"].value == 0
    assert found["availability"].value is None
    assert found["availability"].met is None


def test_trips_harm_and_what_people_lift(tmp_path: Path) -> None:
    found = record(tmp_path, [*times(2, It(edit=1)), It(edit=1, harmed=("specs/a.md", "CLAUDE.md"))])
    assert measures.trips(found) == {"integrity": 1}
    assert measures.harm(found) == (2, 2)
    assert by_name(found)["protected files restored"].value == 100
    assert measures.alerts(found)["trip"] == 1


def test_calls_behind_an_open_breaker_are_waste() -> None:
    opened = [Happening(START + 10, "r", 1, "breaker", {"from": "CLOSED", "to": "OPEN"})]
    opened.append(Happening(START + 50, "r", None, "breaker", {"from": "OPEN", "to": "HALF_OPEN"}))
    work = [Iteration("r", n, START + t, tokens=10**n, outcome="ok") for n, t in enumerate((5, 20, 40, 60))]
    assert measures.waste(Record((History("/x", iterations=work, happenings=opened),))) == 110


def test_feedback_counts_against_completions_and_commits() -> None:
    runs = [Run(str(n), START, END, ended=END, status="complete") for n in range(4)]
    found = by_name(Record((History("/x", runs=runs),), feedback=(("rejected", "PR 7"),), since=START, until=END))
    assert (found["completion accuracy"].value, found["completion accuracy"].met) == (75, False)


def supervised(*bodies: tuple[int, object]) -> tuple[Event, ...]:
    return tuple(Event(seq, START + t * 1000, "", None, body) for seq, (t, body) in enumerate(bodies, 1))  # type: ignore[arg-type]


def test_availability_counts_from_the_last_heartbeat() -> None:
    runs = [Run("a", START, END, supervised=True), Run("b", START, END)]
    events = supervised(
        (100, Down(START + 40_000, "signal 9")),
        (105, Restarted(5, 1)),
        (200, Hang("EXECUTE", START, None, 4, ())),
        (200, Down(START + 190_000, "hang")),
        (205, Restarted(5, 2)),
        (900, Hang("EXECUTE", START, None, 400, ())),
    )
    found = by_name(Record((History("/x", runs=runs),), events, since=START, until=END))
    wanted = 86_400
    assert found["availability"].value == pytest.approx(100 * (wanted - 80) / wanted)
    assert found["mean time to recovery"].value == 40
    assert (found["hangs found within 5 min"].value, found["hangs found within 5 min"].met) == (50, False)


def test_values_for_people() -> None:
    def one(value: float | None, unit: str) -> str:
        return shown(Measure("x", value, unit, ""))

    assert [one(None, "%"), one(99.95, "%"), one(12.0, "tokens"), one(61.0, "s"), one(1234.5, "")] == [
        "-",
        "100.0 %",
        "12 tokens",
        "61 s",
        "1,234.5",
    ]


HOSTILE = "<script>alert(1)</script>|`x`"


class Reader(HTMLParser):
    """Collects what a page holds."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.links += [str(value) for name, value in attrs if name in ("src", "href", "action", "onload")]


def test_the_page_needs_nothing_else_and_runs_nothing(tmp_path: Path) -> None:
    found = record(tmp_path, [*RUN[:3], It(edit=1, refused=(HOSTILE,)), It(edit=1)])
    text = page.html(summary(found, f"on {HOSTILE}"))
    reader = Reader()
    reader.feed(text)
    assert (reader.tags["script"], reader.links) == (0, [])
    assert not re.search(r"https?:|@import|url\(", text)
    assert "&lt;script&gt;" in text
    assert reader.tags["svg"] >= 3
    assert reader.tags["th"] > 10
    assert "@media print" in text


def test_text_and_markdown(tmp_path: Path) -> None:
    found = summary(record(tmp_path, [*RUN[:3], It(edit=1, refused=(HOSTILE,))]), "r")
    text = plain.text(found)
    assert "loop success rate" in text
    assert "Refusals" in text
    table = plain.markdown(found)
    assert "\\<script\\>" in table
    assert {line.count(" | ") for line in table.splitlines() if line.startswith("| ") and "loop success" in line} == {5}


def test_an_empty_report(tmp_path: Path) -> None:
    found = summary(Record((), since=START, until=END), "nothing")
    assert json.dumps(values(found))
    assert "none" in plain.text(found)
    assert page.html(found).count("<svg") == 0


def test_through_the_command_line(tmp_path: Path) -> None:
    bench = Bench(tmp_path, clock=False)
    bench.loop([step(f"{EDIT}; {tick('one')}"), step(EDIT)], "-n", "2")
    shown = json.loads(bench.guard("loop", "report", "--format", "json").out)
    rates = {one["name"]: one["value"] for one in shown["measures"]}
    assert (rates["loop success rate"], rates["first-fix rate"]) == (100, 100)
    assert shown["counts"]["exit reasons"] == {"limit: iterations": 1}
    assert bench.guard("loop", "report", "--all", "--format", "html", "-o", "r.html").code == 0
    assert (bench.top / "r.html").read_text().startswith("<!doctype html>")
    assert bench.guard("loop", "report", "--fail-on", "slo,alerts").code == 0
    for wrong in (["--since", "nonsense"], ["--since", "1d", "--until", "2d"], ["--fail-on", "x"], ["nowhere"]):
        found = bench.guard("loop", "report", *wrong)
        assert (found.code, found.out) == (64, ""), wrong
    assert bench.guard("loop", "report", "-o", "none/r.html").code == 74
    assert list(bench.top.glob("r.html.*")) == []
