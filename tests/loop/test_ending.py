"""How runs are verified and how they end, through the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.loop.bench import EDIT, START, Bench, block, step, tick

DONE = block("COMPLETE", True)
COMMIT = f"{EDIT}; git commit -qam 'work on a'"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def decisions(bench: Bench) -> list[dict[str, object]]:
    return [json.loads(line) for line in (bench.directory / "exit_decisions.log").read_text().splitlines()]


def test_a_run_ends_by_naming_its_commits_also_where_it_goes_on(bench: Bench) -> None:
    start = bench.git("rev-parse", "HEAD").strip()
    assert bench.loop([step(COMMIT)], "-n", "1").code == 2
    seen = bench.loop([step(COMMIT)], "-n", "2", "--resume", "--json")
    head = bench.git("rev-parse", "HEAD").strip()
    command = f"git log --stat {start[:12]}..{head[:12]}"
    for part in (f"2 commits: {start[:12]}..{head[:12]}", "work on a", "1 files changed, 2 lines added, 0 removed", command):
        assert part in seen.err
    found = json.loads(seen.out)["commits"]
    assert (found["start"], found["head"], found["count"], found["command"]) == (start, head, 2, command)
    assert [one["subject"] for one in found["commits"]] == ["work on a"] * 2
    assert bench.git(*command.split()[1:]).count("work on a") == 2


def test_a_plan_that_others_complete_ends_the_run_before_the_next_call(bench: Bench) -> None:
    others = "sed -i 's/\\[ \\]/[x]/' .ralph/fix_plan.md"
    seen = bench.loop([step(EDIT)], "--verify", others)
    assert (seen.code, bench.calls) == (0, 0)
    assert "所有任务已完成" in seen.err
    (last,) = decisions(bench)
    assert (last["n"], last["decision"], last["reason"]) == (None, "exit", "plan_complete")
    assert (last["plan"], last["verify"]) == ({"required": 3, "open": 0, "missing": 0}, True)


def test_a_verify_command_that_takes_too_long_fails_and_its_processes_die(bench: Bench) -> None:
    command = "setsid sh -c 'echo $$ > build.pid; exec sleep 600' & sleep 600"
    seen = bench.loop(
        [step(tick("one", "two", "three"), out=DONE)],
        "-n",
        "1",
        "--verify",
        "true",
        "--verify",
        command,
        "--verify-timeout",
        "1s",
    )
    assert seen.code == 2, seen.err
    last = decisions(bench)[-1]
    assert (last["refused"], last["verify"]) == (["verify"], False)
    pid = int((bench.top / "build.pid").read_text())
    path = Path(f"/proc/{pid}/stat")
    assert not path.exists() or path.read_text().rpartition(")")[2].split()[0] in "ZX"
    measured = [event["tests"] for event in bench.events("measured")]
    assert [(tests["passed"], tests["failed"]) for tests in measured] == [(1, 1), (1, 1)]
    assert measured[0]["tail"] == ["it took longer than 1 s"]


def test_missing_tasks_are_named_in_the_next_prompt_and_what_is_verified_is_counted(bench: Bench) -> None:
    report = "echo 1..2; echo ok 1 - a; test -e fixed && echo ok 2 - b || { echo not ok 2 - b; false; }"
    steps = [step(f"sed -i '/two/d' .ralph/fix_plan.md; {tick('one', 'three')}", out=DONE), step("touch fixed"), step(EDIT)]
    seen = bench.loop(steps, "-n", "3", "--verify", report)
    assert seen.code == 2
    prompt = bench.prompts()[1]
    assert "1 tasks that the plan had are missing from it: Plan › two. Put them back." in prompt
    assert "the verify command fails. Its last lines:\n    1..2\n    ok 1 - a\n    not ok 2 - b\n" in prompt
    assert "verify" not in bench.prompts()[2]
    judged = bench.events("judged")
    assert (judged[1]["parts"]["newly_passing"], judged[1]["progress"]) == (3, True)
    assert decisions(bench)[0]["refused"] == ["tasks_missing", "verify"]


def test_v36_minute_08_and_second_09_are_numbers_like_others(bench: Bench) -> None:
    bench.time.write_text(str(START + 8 * 60 + 9))
    seen = bench.loop([step(EDIT)], "--calls", "1", "-n", "2")
    assert (seen.code, bench.calls) == (2, 2)
    assert next(event["t"][:19] for event in bench.events("call_reserved")) == "2026-11-30T12:08:09"
    assert "Rate limit reached. Waiting 01:00:00..." in seen.err
