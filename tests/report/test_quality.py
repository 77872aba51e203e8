"""Measures of quality, and the tables besides the objectives."""

from __future__ import annotations

import json
import os
from pathlib import Path

from guard.loop import alerts
from guard.loop.facts import Files, Plan, Verification
from guard.report import history, measures, page, plain, quality, tables
from guard.report.history import Happening, History, Iteration, Run
from guard.report.measures import Measure, Record
from guard.report.summary import summary, values
from tests.loop.rig import START, It, times
from tests.report.test_history import RUN, written

END = START + 86_400_000
COMMIT = "0123456789abcdef"


def record(*feedback: tuple[str, str], happenings: list[Happening] | None = None) -> Record:
    """Two accepted runs and one that was not; the first one's second iteration has a commit, and verified tests."""
    runs = [
        Run(name, START, END, ended=END, status=status) for name, status in (("a", "complete"), ("b", "complete"), ("c", "limit"))
    ]
    work = [
        Iteration("a", 1, START, task="t", attempt=2, outcome="ok", plan=Plan(1, 0, 0, (), ("t",)), tokens=300),
        Iteration("a", 2, START, outcome="ok", files=Files(commits=(COMMIT,)), tests=Verification(True, 3), tokens=100),
        Iteration("c", 1, START, outcome="failed", tokens=200),
    ]
    return Record(
        (History("/x", "x", iterations=work, runs=runs, happenings=happenings or []),), feedback=feedback, since=START, until=END
    )


def found(record: Record) -> dict[str, Measure]:
    return {one.name: one for one in quality.measures(record)}


def test_feedback_counts_against_the_completion_that_it_names() -> None:
    assert quality.completions(record()) == (2, 0)
    for reference in ("a", "a#1", COMMIT[:8]):
        assert quality.completions(record(("reverted", reference), ("same_failure", reference))) == (2, 1)
    assert quality.completions(record(("reverted", "ffffffff"))) == (2, 0)  # a commit of somebody else
    assert quality.completions(record(("rejected", "c#1"))) == (2, 0)  # that run was not accepted
    assert quality.completions(record(("rejected", "PR 7"), ("overridden", "PR 7"))) == (2, 1)
    both = found(record(("rejected", "a")))
    assert (both["completion accuracy"].value, both["false completions"].value, both["false completions"].met) == (50, 50, False)


def test_a_verifier_misses_what_is_taken_back_later() -> None:
    assert quality.missed(record()) == (1, 0)
    assert found(record(("reverted", COMMIT)))["verifier miss rate"].value == 100
    assert found(record(("reverted", "0123")))["verifier miss rate"].value == 0  # too short to name a commit


def test_escalations_are_right_unless_a_person_says_otherwise() -> None:
    asked = [
        Happening(START, "a", 1, "hold", {"from": "", "to": "paused", "actor": "guard"}),
        Happening(START, "a", 1, "hold", {"from": "", "to": "paused", "actor": "person"}),
        Happening(START, "c", 1, "breaker", {"from": "CLOSED", "to": "OPEN", "recovery": "explicit"}),
        Happening(START, "c", 1, "breaker", {"from": "CLOSED", "to": "OPEN", "recovery": "auto"}),
    ]
    assert quality.escalations(record(happenings=asked)) == (2, 0)
    assert found(record(("overridden", "c#1"), happenings=asked))["escalation accuracy"].value == 50
    assert found(record())["escalation accuracy"].value is None


def test_attempts_tokens_and_what_people_lift() -> None:
    lifted = [Happening(START, "a", 1, "hold", {"from": "paused", "to": "", "actor": "person"})]
    seen = found(record(happenings=lifted))
    assert (seen["attempts per completed task"].value, seen["tokens per run"].value) == (2, 300)
    assert round(seen["human overrides per 100 iterations"].value or 0, 1) == 33.3
    assert found(Record((History("/x"),), root_causes=((80, 5), (50, 10))))["root cause mended"].value == 60


def test_every_alert_of_the_iterations_is_a_row_with_its_threshold(tmp_path: Path) -> None:
    assert {one.kind for one in tables.WATCHES} == {row.kind for row in alerts.TABLE} - {"test_share"}
    past, _ = written(tmp_path, times(3, It()))
    rows = {row[0]: row for row in tables.watches(Record((past,))).rows}
    assert rows["files modified"][1:] == ("0; 3 iterations in a row without", "none in 3", "1")
    assert rows["API calls left"][1] == "98 of 100 at the fewest"
    assert rows["progress score"][1] == "-3.0 on average; 3 in a row below 0"
    assert tables.watches(Record(())).rows == ()


def test_several_loops_are_shown_one_by_one_too(tmp_path: Path) -> None:
    past, _ = written(tmp_path, RUN)
    assert tables.loops(Record((past,))) is None
    section = tables.loops(Record((past, History("/y", "quiet"))))
    assert section is not None
    assert [row[:3] for row in section.rows] == [(past.loop, "3", "67 %"), ("quiet", "0", "-")]


def test_what_evaluations_led_to_is_in_every_form() -> None:
    made = summary(Record((History("/x"),), linked=((START, "pause", "the <baseline> | fell"),), since=START, until=END), "x")
    assert "the &lt;baseline&gt; | fell" in page.html(made)
    assert "the \\<baseline\\> \\| fell" in plain.markdown(made)
    assert [one["action"] for one in json.loads(json.dumps(values(made)))["linked"]] == ["pause"]


def test_journals_of_any_kind_are_read_as_far_as_they_go(tmp_path: Path) -> None:
    past, _ = written(tmp_path, RUN)
    path = Path(past.directory, "journal.jsonl")
    strange = [
        '{"v":9,"t":"2026-12-01T00:00:00.000Z","run":"r","n":9,"ev":"from_later","new":{"a":[1]}}',
        '{"v":1,"t":"2026-12-01T00:00:00.000Z","run":"r","n":null,"ev":"recovered","lost_events":"many"}',
        '{"v":1,"t":"2026-12-01T00:00:00.000Z","run":"r","n":1,"ev":"control_refused","count":-3}',
        '{"v":1,"t":"2026-12-01T00:00:00.000Z","run":"r","n":1,"ev":"_class__"}',
        '{"v":1,"t":"never","run":"r","n":1,"ev":"alert"}',
        "[]",
        '{"v":1,"t":"2026-12-01T00:00:00.000Z"',
    ]
    path.write_bytes(path.read_bytes() + "\n".join(strange).encode() + b"\n\xff\xfe\n")
    seen = history.read(past.directory)
    assert (len(seen.iterations), seen.unread) == (len(past.iterations), 5)
    made = Record((seen,), since=START, until=END)
    numbers = {one.name: one.value for one in measures.measures(made)}
    assert (numbers["state loss"], numbers["attempts beyond authority"]) == (0, 1)
    assert "5 lines of the journals could not be read" in plain.text(summary(made, "x"))
    path.write_bytes(b"")
    assert history.read(past.directory).iterations == []


def test_files_that_nothing_was_added_to_since_are_left_out(tmp_path: Path) -> None:
    past, _ = written(tmp_path, RUN)
    os.utime(Path(past.directory, "journal.jsonl"), (START / 1000, START / 1000))
    assert history.read(past.directory, START).iterations
    assert not history.read(past.directory, START + 1).iterations
