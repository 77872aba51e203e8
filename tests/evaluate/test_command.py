"""`guard eval` through the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.loop.bench import EDIT, Bench, step

CASES = """
cases:
  - {id: one, input: 1, expected: {double: 2}}
  - {id: two, input: 2, expected: {double: 4}}
  - {id: three, input: 3, expected: {double: 6}}
  - {id: four, input: 4, expected: {double: 8}}
"""
GOOD = """python3 -c 'import json,sys; print(json.dumps({"double": 2 * json.load(sys.stdin)}))'"""
BAD = """python3 -c 'import json,sys; n = json.load(sys.stdin); print(json.dumps({"double": n if n > 2 else 2 * n}))'"""


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    found = Bench(tmp_path, clock=False)
    found.write("cases.yaml", CASES)
    return found


def test_a_baseline_and_its_trend(bench: Bench) -> None:
    first = bench.guard("eval", "baseline", "cases.yaml", "--cmd", GOOD, "--save")
    assert (first.code, "100.0 % (4 of 4 cases)" in first.out) == (0, True)
    second = bench.guard("eval", "baseline", "cases.yaml", "--cmd", BAD, "--fail-under", "80")
    assert second.code == 1
    assert "three: double: expected 6, got 3" in second.out
    shown = json.loads(bench.guard("eval", "baseline", "cases.yaml", "--cmd", GOOD, "--json").out)
    assert (shown["score"], shown["trend"], len(shown["cases"])) == (100.0, [100.0], 4)
    bench.write("cases.yaml", CASES + "  - {id: five, input: 5}\n")
    wrong = bench.guard("eval", "baseline", "cases.yaml", "--cmd", GOOD)
    assert (wrong.code, "cases.yaml:7: this case has no expected" in wrong.err) == (64, True)


def test_a_replay_says_which_is_worse(bench: Bench) -> None:
    same = bench.guard("eval", "replay", GOOD, GOOD, "--cases", "cases.yaml", "--json")
    assert (same.code, json.loads(same.out)["points"]) == (0, 0)
    never = "echo '{}'"
    worse = bench.guard("eval", "replay", GOOD, never, "--cases", "cases.yaml")
    assert worse.code == 1
    assert "-100.0 points" in worse.out
    assert "worse  one, two, three, four" in " ".join(worse.out.split()).replace("worse one", "worse  one")
    assert bench.git("status", "--porcelain").split() == ["??", "cases.yaml"]


def test_an_audit_from_the_sheet_to_the_mean(bench: Bench) -> None:
    assert bench.guard("eval", "audit").code == 64  # nothing has run
    bench.loop([step(EDIT)] * 3, "-n", "3")
    sheet = bench.guard("eval", "audit", "--sample", "2", "--seed", "7")
    assert sheet.out == bench.guard("eval", "audit", "--sample", "2", "--seed", "7").out
    head, *rows = csv.reader(sheet.out.splitlines())
    assert len(rows) == 2
    assert rows[0][3] == "src/a.py"
    filled = bench.top / "filled.csv"
    with filled.open("w", newline="") as file:
        csv.writer(file).writerows([head, [*rows[0][:4], "yes", "yes", "no", "5"], [*rows[1][:4], "no", "no", "yes", "1"]])
    found = bench.guard("eval", "audit", "--fill", "filled.csv")
    assert found.code == 0
    assert "3.00 of 5 over 2 items" in found.out
    assert f"{rows[1][0]}: investigate" in found.out
    assert "(the last one: 3.00)" in bench.guard("eval", "audit", "--fill", "filled.csv").out
    filled.write_text(filled.read_text().replace(",5", ",9"))
    assert "filled.csv:2: the score is 9" in bench.guard("eval", "audit", "--fill", "filled.csv").err


def test_feedback_and_drift(bench: Bench) -> None:
    commit = f'{EDIT}; git add -A; git -c user.name=a -c user.email=a@example.invalid commit -qm "work"'
    bench.loop([step(commit)], "-n", "1")
    bench.git("revert", "--no-edit", "HEAD")
    first = json.loads(bench.guard("eval", "feedback", "--scan", "--json").out)
    assert [one["kind"] for one in first["new"]] == ["reverted"]
    assert first["against"]["correctness"] == 1
    assert json.loads(bench.guard("eval", "feedback", "--scan", "--json").out)["new"] == []
    assert "alignment 1" in bench.guard("eval", "feedback", "--add", "overridden", "--ref", "PR 7").out
    assert bench.guard("eval", "feedback", "--add", "rejected").code == 64
    found = bench.guard("eval", "drift", "--exit-code")
    assert (found.code, "Too few items" in found.out) == (0, True)
    assert bench.guard("eval", "drift", "--period", "nonsense").code == 64
    shown = json.loads(bench.guard("eval", "drift", "--period", "1d..", "--baseline", "2d..1d", "--json").out)
    assert (shown["items"][0], shown["drift"], shown["probability"]) == (0, False, None)
