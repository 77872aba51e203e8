"""The loop through its command line, with an agent on disk and time from a file: what a run does, case by case."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.loop.bench import EDIT, IP, START, Bench, block, step, tick

Steps = list[dict[str, Any]]
DONE = block("COMPLETE", True)
COMMIT = f"{EDIT}; git commit -qam work"
LOSE = "python3 -c 'import os; os.unlink(\"CLAUDE.md\")'"
TESTING = block("IN_PROGRESS", False, WORK_TYPE="TESTING")
EDIT_TESTS = 'echo "# $N$$" >> tests/test_a.py'
BOOM = f"Error: boom in parser\n{IP}"
PATCH, UNPATCH = "echo patch >> src/a.py", "git checkout -q src/a.py"
QUESTION = "Shall I go on with the second part?"


def text(count: int, rest: str = IP) -> str:
    return "".join(f"line {number} of the reply\n" for number in range(count)) + rest


def result(**values: Any) -> str:
    """A final result as Claude prints it."""
    plain = {"type": "result", "subtype": "success", "is_error": False, "result": IP, "session_id": "s", "total_cost_usd": 0.1}
    return json.dumps(plain | values) + "\n"


def limited(at: int) -> str:
    return result(is_error=True, result=f"Claude AI usage limit reached|{at}", api_error_status=429)


def rejected(at: int, **values: Any) -> str:
    info = {"status": "rejected", "resetsAt": at, "rateLimitType": "five_hour"}
    return json.dumps({"type": "rate_limit_event", "rate_limit_info": info}) + "\n"


def assistant(said: str) -> str:
    return json.dumps({"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": said}]}}) + "\n"


def tool_result(said: str) -> str:
    content = [{"type": "tool_result", "tool_use_id": "t", "content": said}]
    return json.dumps({"type": "user", "message": {"role": "user", "content": content}}) + "\n"


def denied(command: str) -> str:
    denial = {"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": command}}
    return result(permission_denials=[denial])


@dataclass(frozen=True)
class Case:
    """Steps, options, and what is expected: exit status, breaker and cause, how many calls; `limit` bounds the run."""

    steps: Steps
    code: int
    calls: int
    breaker: str = "CLOSED"
    reason: str = ""
    options: tuple[str, ...] = ()
    sh: str = ""
    status: str = ""
    counters: dict[str, int] = field(default_factory=dict)


def times(count: int, one: dict[str, Any]) -> Steps:
    return [one] * count


def bounded(count: int) -> tuple[str, ...]:
    return ("-n", str(count))


LIMIT = {"code": 2, "reason": "iterations"}
CASES: dict[str, Case] = {
    "V01": Case([step()], 1, 3, "OPEN", "no_progress"),
    "V02": Case([step("echo x > new$N.py")], 2, 6, options=bounded(6)),
    "V03": Case([step()], 1, 3, "OPEN", "no_progress", sh="echo dirty >> src/a.py; echo new > other.py"),
    "V04": Case([step(COMMIT)], 2, 6, options=bounded(6)),
    "V06": Case([step(exit=1, out="")], 1, 5, "OPEN", "execution_failure"),
    "V10": Case(
        [step(out=assistant("usage limit reached"), exit=1)], 2, 1, options=("--once",), counters={"execution_failure": 1}
    ),
    "V11": Case([step(out=tool_result("5-hour limit"), exit=124)], 2, 1, options=("--once",), counters={"execution_failure": 1}),
    "V13": Case([step(exit=124)], 2, 1, options=("--once",), counters={"execution_failure": 1}),
    "V14": Case([step(COMMIT, out=block("IN_PROGRESS", False, TASKS_COMPLETED_THIS_LOOP="1"))], 2, 6, options=bounded(6)),
    "V15": Case([step(COMMIT, out="RALPH_STATUS:\n  STATUS: COMPLETE\n  TESTS_STATUS: PASSING\n")], 2, 1, options=("--once",)),
    "V16": Case([step(COMMIT, out=block("COMPLETE", False))], 2, 5, options=bounded(5)),
    "V20": Case([step(EDIT)], 2, 1, options=("--once",), sh="printf -- '- [x] a\\n* [ ] b\\n1. [ ] c\\n' > .ralph/fix_plan.md"),
    "V22": Case([step()], 0, 0, reason="plan_complete", sh="printf -- '- [x] a\\n# Optional\\n- [ ] b\\n' > .ralph/fix_plan.md"),
    "V23": Case(
        [step(EDIT, out=f"Error: boom in parser at line 1{n}, 2026-11-30T10:00:0{n}\n{IP}") for n in range(6)],
        1,
        5,
        "OPEN",
        "same_error",
    ),
    "V25": Case([*times(3, step(EDIT, out=text(400))), step(out=text(100))], 1, 4, "OPEN", "output_decline"),
    "V26": Case([step(EDIT_TESTS, out=TESTING)], 1, 3, "OPEN", "test_fix_loop"),
    "V27": Case(
        [step(PATCH), step(UNPATCH), step(PATCH), step(UNPATCH)],
        1,
        4,
        "OPEN",
        "circular",
    ),
    "V30": Case([step(out=QUESTION)], 3, 3, reason="question", status="paused"),
    "V31": Case([step("/bin/rm .ralph/fix_plan.md")], 4, 1, "OPEN", "integrity", status="integrity"),
    "V41": Case(
        [step(tick("one", "two", "three"), out="all there\nDONE-FOR-GOOD\n")],
        0,
        1,
        options=("--once", "--promise", "DONE-FOR-GOOD"),
    ),
    "X01": Case([step(), step(), step(EDIT), step(), step(), step()], 1, 6, "OPEN", "no_progress"),
    "X03": Case([step(out=QUESTION), step(exit=1)] * 3, 3, 5, reason="question", status="paused"),
    "X04": Case([step(COMMIT, exit=1, out="")], 1, 5, "OPEN", "execution_failure"),
    "X05": Case([*times(4, step(exit=1)), step(EDIT), *times(4, step(exit=1))], 2, 9, options=bounded(9)),
    "X06": Case([step(EDIT, exit=124)], 2, 6, options=bounded(6)),
    "X07": Case(
        [
            step("sed -i 's/^print/  print/' src/a.py"),
            step("echo >> src/a.py"),
            step("sed -i 's/updated 2026-11-30 10:00/updated 2026-11-30 11:30/' src/a.py"),
        ],
        1,
        3,
        "OPEN",
        "no_progress",
        sh="echo '# updated 2026-11-30 10:00' >> src/a.py",
    ),
    "X08": Case([step("git commit -q --allow-empty -m nothing")], 1, 3, "OPEN", "no_progress"),
    "X09": Case([step("mkdir -p build; echo $N > build/out$N")], 1, 3, "OPEN", "no_progress"),
    "X11": Case([step(tick("one")), step("sed -i 's/\\[x\\] one/[ ] one/' .ralph/fix_plan.md")] * 2, 1, 4, "OPEN", "no_progress"),
    "X15": Case([step("chmod +x src/a.py"), step("touch src/a.py"), step(": > src/empty")], 1, 3, "OPEN", "no_progress"),
    "X16": Case(
        [*times(4, step(EDIT, out=BOOM)), step(EDIT), *times(4, step(EDIT, out=BOOM))],
        2,
        9,
        options=bounded(9),
    ),
    "X17": Case([step(EDIT, out=BOOM), step(EDIT, out=f"Error: no such table users\n{IP}")] * 4, 2, 8, options=bounded(8)),
    "X19": Case(
        [step(EDIT, out=tool_result("Error: boom in parser") + result())], 2, 6, options=bounded(6), counters={"same_error": 0}
    ),
    "X20": Case([step(exit=1, out="", err="Error: no database\n")], 1, 5, "OPEN", "execution_failure"),
    "X21": Case([*times(3, step(EDIT, out=BOOM)), step(out=BOOM)], 1, 4, "OPEN", "negative_score"),
    "X22": Case([*times(3, step(EDIT, out=text(400))), step(out=text(121))], 2, 4, options=bounded(4)),
    "X22 declines": Case([*times(3, step(EDIT, out=text(400))), step(out=text(120))], 1, 4, "OPEN", "output_decline"),
    "X23": Case([*times(3, step(EDIT, out=text(15))), step(out=text(1))], 2, 4, options=bounded(4)),
    "X24": Case([*times(3, step(EDIT, out=text(400))), step(EDIT, out=text(10))], 2, 4, options=bounded(4)),
    "X25": Case(
        [*times(3, step(EDIT, out=result(padding="x" * 40_000))), step(out=result(padding="x" * 2_000))], 2, 4, options=bounded(4)
    ),
    "X26": Case([step(EDIT, out=TESTING)], 2, 4, options=bounded(4)),
    "X27": Case([step(EDIT_TESTS, out=block("IN_PROGRESS", False, WORK_TYPE="IMPLEMENTATION"))], 1, 3, "OPEN", "test_fix_loop"),
    "X29": Case(
        [step(f"{EDIT_TESTS}; {tick('one')}", out=TESTING), step(f"{EDIT_TESTS}; {tick('two')}", out=TESTING)],
        2,
        2,
        options=bounded(2),
    ),
    "X30": Case([step("echo A > src/a.py"), step("echo B > src/a.py")] * 2, 1, 4, "OPEN", "circular"),
    "X31": Case([step(f"echo {one} > src/a.py") for one in "ABCABC"], 1, 6, "OPEN", "circular"),
    "X33": Case(
        [
            step("echo A > src/a.py"),
            step("echo B > src/a.py"),
            step(f"echo A > src/a.py; {tick('one')}"),
            step("echo B > src/a.py"),
        ],
        2,
        4,
        options=bounded(4),
    ),
    "X34": Case([step(f"echo $((N % 2)) > a.lock; {EDIT}")], 2, 6, options=bounded(6)),
    "X35": Case([step("git mv src/a.py src/b.py"), step("git mv src/b.py src/a.py")] * 2, 1, 4, "OPEN", "circular"),
    "X36": Case([step(EDIT, out=f"{QUESTION}\n{IP}")], 2, 6, options=bounded(6)),
    "X37": Case(
        [step(EDIT, out=f'Added the label "Should I remember you?" to the form.\n{IP}')],
        2,
        4,
        options=bounded(4),
        counters={"question": 0},
    ),
    "X38": Case([step(out=block("BLOCKED", False))], 3, 3, reason="blocked", status="paused"),
    "X39": Case([step(out=denied("curl x"))], 3, 2, "OPEN", "permission_denied"),
    "X39 edits": Case([step(EDIT, out=denied("curl x"))], 3, 3, "OPEN", "permission_denied"),
    "X39 between": Case(
        [step(EDIT, out=denied("curl x")), step(EDIT), step(EDIT, out=denied("curl x"))], 2, 3, options=bounded(3)
    ),
    "X41": Case([step(f"rm -rf specs; {EDIT}")], 1, 3, "OPEN", "repeated_refusal"),
    "X42": Case([step(EDIT, out=DONE)], 3, 5, reason="safety_circuit_breaker", status="paused"),
    "X43": Case([step(out=DONE)], 1, 4, "OPEN", "no_progress"),
    "X45": Case(
        [
            step(f"{tick('one', 'two')}; sed -i 's/- \\[ \\] three/- [ ] three a\\n- [ ] three b/' .ralph/fix_plan.md"),
            step(tick("three a", "three b"), out=DONE),
        ],
        0,
        2,
        reason="project_complete",
    ),
    "X46": Case(
        [step(tick("one", "two", "three"), out=DONE), step("touch build-ok; echo x >> src/a.py", out=DONE)],
        0,
        2,
        reason="project_complete",
        options=("--verify", "test -e build-ok || { echo not built; false; }"),
    ),
    "X47": Case([step(f"{EDIT}; {tick('one', 'two', 'three')}")], 0, 1, reason="plan_complete"),
    "X48": Case([step(EDIT, out="The parser is complete, done and finished.\n")], 2, 6, options=bounded(6)),
    "X49": Case([step(tick("one", "two", "three"), out=DONE)], 2, 1, options=("-n", "1", "--verify", "false")),
    "X52": Case(
        [step(EDIT, out=f"{DONE}and later\n{block('IN_PROGRESS', False)}---RALPH_STATUS---\nSTATUS: COMPLETE\n")],
        2,
        2,
        options=bounded(2),
    ),
    "X53": Case(
        [step(tick("one", "two", "three"), out=block("COMPLETE", True, TESTS_STATUS="FAILING"))], 2, 2, options=bounded(2)
    ),
    "X64": Case([step()], 1, 3, "OPEN", "no_progress", options=bounded(3)),
    "X74": Case([step(f"{tick('one', 'two', 'three')}; {LOSE}", out=DONE)], 4, 1, "OPEN", "integrity"),
    "X76": Case([step('python3 -c \'open("CLAUDE.md", "w")\'')], 4, 1, "OPEN", "integrity"),
    "X76 link": Case(
        [step('python3 -c \'import os; os.unlink("CLAUDE.md"); os.symlink("src/a.py", "CLAUDE.md")\'')], 4, 1, "OPEN", "integrity"
    ),
    "X76 overwritten": Case([step('python3 -c \'open("CLAUDE.md", "w").write("x")\'')], 4, 1, "OPEN", "integrity"),
    "no plan, a claim": Case([step(EDIT, out=DONE)], 0, 1, reason="project_complete", options=("--no-plan",)),
}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.parametrize("name", CASES)
def test_a_run(name: str, bench: Bench) -> None:
    case = CASES[name]
    if case.sh:
        subprocess.run(["/bin/sh", "-c", case.sh], cwd=bench.top, check=True)
    seen = bench.loop(case.steps, *case.options)
    assert seen.code == case.code, seen.err
    assert bench.calls == case.calls, seen.err
    found = bench.status()
    assert found["breaker"]["state"] == case.breaker
    if case.reason:
        assert case.reason in (found["exit"]["reason"], found["breaker"]["cause"])
    if case.status:
        assert found["status"] == case.status
    for counter, count in case.counters.items():
        assert found["counters"][counter] == count
    agrees(bench, found)


def agrees(bench: Bench, found: dict[str, Any]) -> None:
    """status.json, the command and a replay of the journal without the checkpoint say the same."""
    own = json.loads((bench.directory / "status.json").read_text())
    assert {key: value for key, value in own.items() if key != "updated"} == {
        key: value for key, value in found.items() if key != "updated"
    }
    for path in bench.directory.glob("state.json*"):
        path.unlink()
    assert bench.status()["counters"] == found["counters"]


def test_v32_an_open_breaker_refuses_until_its_cooldown_is_over_and_probes_once(bench: Bench) -> None:
    assert bench.loop([step()]).code == 1
    bench.later(29)
    assert bench.loop([step(EDIT)]).code == 1
    assert bench.calls == 0
    bench.later(1)
    seen = bench.loop([step(EDIT)], "-n", "1")
    assert (seen.code, bench.calls) == (2, 1)
    assert bench.status()["breaker"]["state"] == "CLOSED"


def test_v34_call_101_is_never_made_within_an_hour(bench: Bench) -> None:
    seen = bench.loop([step(f"{EDIT}; [ $N -ne 0 ] || true")], "--calls", "3", "-n", "7")
    assert seen.code == 2
    times = [event["t"] for event in bench.events("call_reserved")]
    assert len(times) == 7
    assert times[3] >= "2026-11-30T13:00:00"
    assert times[6] >= "2026-11-30T14:00:00"
    assert "Rate limit reached. Waiting 01:00:00..." in seen.err
    assert "calls left this hour" in seen.err


@pytest.mark.parametrize(
    "out",
    [result(is_error=True, result=f"Claude AI usage limit reached|{START + 1800}", api_error_status=429), rejected(START + 1800)],
)
def test_v07_v08_a_usage_limit_is_waited_for(bench: Bench, out: str) -> None:
    seen = bench.loop([step(out=out, exit=1), step(EDIT)], "-n", "1")
    assert (seen.code, bench.calls) == (2, 2)
    first, second = (event["t"] for event in bench.events("call_reserved"))
    assert second >= "2026-11-30T12:30:00"
    assert bench.status()["counters"]["execution_failure"] == 0
    assert first < second


def test_x67_a_limit_that_never_ends_ends_the_run(bench: Bench) -> None:
    out = limited(START - 60)
    seen = bench.loop([step(out=out, exit=1)])
    assert (seen.code, bench.calls) == (2, 12)
    assert not any(bench.status()["counters"].values())


def test_x68_a_rejection_with_a_success_after_it_is_no_limit(bench: Bench) -> None:
    seen = bench.loop([step(EDIT, out=rejected(START + 1800) + result())], "-n", "2")
    assert (seen.code, bench.calls) == (2, 2)
    assert all(event["t"] < "2026-11-30T12:10" for event in bench.events("call_reserved"))


def test_x65_with_wait_one_process_sleeps_probes_and_goes_on(bench: Bench) -> None:
    seen = bench.loop([*times(3, step()), step(EDIT)], "--wait", "-n", "5")
    assert (seen.code, bench.calls) == (2, 5)
    changes = [(event["from"], event["to"]) for event in bench.events("breaker")]
    assert changes == [("CLOSED", "OPEN"), ("OPEN", "HALF_OPEN"), ("HALF_OPEN", "CLOSED")]
    assert bench.events("call_reserved")[3]["t"] >= "2026-11-30T12:30:00"


def test_x42_the_next_prompt_names_what_is_open(bench: Bench) -> None:
    bench.loop([step(EDIT, out=DONE)], "-n", "2")
    assert "Open tasks: Plan › one, Plan › two, Plan › three" in bench.prompts()[1]


def test_x46_the_next_prompt_has_the_last_lines_of_the_verify_command(bench: Bench) -> None:
    bench.loop([step(tick("one", "two", "three"), out=DONE), step(EDIT)], "-n", "2", "--verify", "echo not built; false")
    assert "not built" in bench.prompts()[1]
    assert "not built" not in bench.prompts()[0]


@pytest.mark.parametrize("signal", ["true", "True", "**true**"])
def test_v18_v19_a_claim_is_recorded_and_refused_while_tasks_are_open(bench: Bench, signal: str) -> None:
    out = f"EXIT_SIGNAL: false | true\n{block('IN_PROGRESS', False)}later\n{block('COMPLETE', signal)}"
    assert bench.loop([step(COMMIT, out=out)], "-n", "1").code == 2
    last = json.loads((bench.directory / "exit_decisions.log").read_text().splitlines()[-1])
    assert (last["claim"], last["explicit"], last["decision"]) == (True, True, "continue")
    assert "tasks_open" in last["refused"]


def test_v29_a_gap_in_a_compound_command_counts_and_is_told(bench: Bench) -> None:
    seen = bench.loop([step(out=denied("git status; rm -rf x"))], "-n", "1", "--allowed-tools", "Bash(git status *)")
    assert bench.status()["counters"]["permission_denied"] == 1
    assert "--allowed-tools" in seen.err
    assert "ALLOWED_TOOLS" in seen.err


def test_x50_signals_of_an_earlier_run_end_nothing(bench: Bench) -> None:
    bench.loop([step(EDIT, out="All is done.\n")], "-n", "2")
    seen = bench.loop([step(EDIT)], "-n", "1")
    assert (seen.code, bench.calls) == (2, 1)


def test_x58_a_trip_while_it_is_watched_needs_a_person(bench: Bench) -> None:
    bench.loop([step()])
    bench.later(30)
    seen = bench.loop([step(EDIT), step(), step(), step()])
    assert seen.code == 3
    assert bench.status()["breaker"]["escalated"]
    bench.later(600)
    assert bench.loop([step(EDIT)]).code == 3
    assert bench.calls == 0


def test_x60_a_clock_that_is_set_back_shortens_nothing(bench: Bench) -> None:
    bench.loop([step()])
    bench.later(-120)
    assert bench.loop([step(EDIT)]).code == 1
    bench.later(29)
    assert bench.loop([step(EDIT)]).code == 1
    assert bench.calls == 0
    bench.later(1.1)
    assert bench.loop([step(EDIT)], "-n", "1").code == 2
    assert any(event["kind"] == "clock" for event in bench.events("alert"))


def test_x61_a_short_cooldown_is_raised_and_an_automatic_reset_refused(bench: Bench) -> None:
    bench.write(".ralphrc", "CB_COOLDOWN_MINUTES=0\n")
    seen = bench.loop([step()])
    assert seen.code == 1
    assert "CB_COOLDOWN_MINUTES" in seen.err or "cooldown_s = 0" in seen.err
    assert bench.status()["breaker"]["cooldown_s"] == 1800
    bench.write(".ralphrc", "# mine\nCB_AUTO_RESET=true\n")
    seen = bench.loop([step()])
    assert (seen.code, bench.calls) == (64, 0)
    assert ".ralphrc:2" in seen.err


def test_x63_a_file_of_ralph_is_no_state(bench: Bench) -> None:
    bench.loop([step()])
    bench.write(".ralph/.circuit_breaker_state", '{"state": "CLOSED"}\n')
    assert bench.loop([step(EDIT)]).code == 1
    assert bench.calls == 0


@pytest.mark.parametrize(
    "words",
    [
        ("--calls", "0"),
        ("--calls", "abc"),
        ("--timeout", "30"),
        ("--no-such-option",),
        ("--timeout", "3h"),
        ("-n", "0"),
        ("--profile", "x"),
    ],
)
def test_x70_a_wrong_option_starts_nothing(bench: Bench, words: tuple[str, ...]) -> None:
    seen = bench.loop([step()], *words)
    assert (seen.code, bench.calls) == (64, 0), seen.err
    assert not (bench.state / "loops").exists()


def test_x70_an_option_without_its_value_starts_nothing(bench: Bench) -> None:
    assert bench.guard("loop", "--calls").code == 64
    assert bench.guard("loop").code == 64
    assert "guard exec" in bench.guard("loop").err


def test_x71_ralphrc_is_data(bench: Bench) -> None:
    bench.write(
        ".ralphrc", 'MAX_CALLS_PER_HOUR=100\nX=$(touch pwned)\nMAX_CONSECUTIVE_TEST_LOOPS="${MAX_CONSECUTIVE_TEST_LOOPS:-08}"\n'
    )
    seen = bench.loop([step(EDIT)], "--calls", "1", "-n", "1")
    assert seen.code == 2
    assert bench.status()["calls"]["limit"] == 1
    assert not (bench.top / "pwned").exists()
    assert ".ralphrc:2" in seen.err


def test_x72_a_wait_beyond_the_run_is_not_begun(bench: Bench) -> None:
    seen = bench.loop([step(EDIT)], "--calls", "1", "--max-runtime", "10m")
    assert (seen.code, bench.calls) == (2, 1)
    assert float(bench.time.read_text()) < START + 120


def test_x80_a_deleted_state_is_noticed_and_stops_the_loop(bench: Bench) -> None:
    seen = bench.loop([step(f"{EDIT}; python3 -c 'import shutil; shutil.rmtree(\"{bench.state}\")'")])
    assert seen.code == 1, seen.err
    found = bench.status()["breaker"]
    assert (found["state"], found["cause"], found["recovery"]) == ("OPEN", "state_lost", "explicit")
    assert bench.loop([step(EDIT)]).code == 1
    assert bench.calls == 0


def test_x84_a_key_is_written_nowhere(bench: Bench) -> None:
    key = "kf83-jWq02-very-secret-value"
    bench.environ = {"SOME_API_KEY": key, "OTHER": "sk-ant-0123456789abcdefghij"}
    bench.loop(
        [step(f'{EDIT}; echo "Error: $SOME_API_KEY $OTHER"; echo "$SOME_API_KEY" >&2', out=f"Error: no access\n{IP}", exit=1)],
        "-n",
        "2",
    )
    for path in [*bench.state.rglob("*"), *(bench.top / ".ralph").rglob("*")]:
        if path.is_file():
            content = path.read_bytes()
            assert key.encode() not in content, path
            assert b"sk-ant-0123456789" not in content, path


def test_x90_status_after_a_trip(bench: Bench) -> None:
    bench.loop([step()])
    found = bench.status()
    assert (found["status"], found["mode"]) == ("circuit_open", "paused")
    assert (found["pause"]["class"], found["pause"]["reason"]) == ("error_loop", "no_progress")
    assert found["breaker"]["probe_at"] == "2026-11-30T12:30:00.000Z"
    assert bench.guard("loop", "status", "--exit-code").code == 1


def test_the_files_beside_ralphs_prompt_are_written(bench: Bench) -> None:
    bench.loop([step(EDIT)], "-n", "1")
    assert json.loads((bench.top / ".ralph/status.json").read_text())["status"] == "limit"
    assert "exit 2" in (bench.top / ".ralph/logs/ralph.log").read_text()


def test_a_resumed_run_goes_on_and_a_complete_one_does_not(bench: Bench) -> None:
    bench.loop([step(EDIT)], "-n", "2")
    first = bench.status()["run"]
    assert bench.loop([step(EDIT)], "-n", "3", "--resume").code == 2
    assert (bench.status()["run"], bench.status()["iteration"], bench.calls) == (first, 3, 1)
    assert bench.loop([step(tick("one", "two", "three"))], "--resume", "-n", "9").code == 0
    seen = bench.loop([step()], "--resume", "-n", "9")
    assert "this is a new one" in seen.err


def test_a_dry_run_starts_and_writes_nothing(bench: Bench) -> None:
    seen = bench.loop([step(EDIT)], "--dry-run", "--verify", "make test")
    assert (seen.code, bench.calls) == (0, 0)
    assert "Work on the next task" in seen.out
    assert "3 of 3 required tasks" in seen.out
    assert "make test" in seen.out
    assert not list(bench.state.iterdir())


def test_what_is_missing_is_named(bench: Bench) -> None:
    seen = bench.guard("loop", "--", "no-such-agent-program")
    assert (seen.code, "no-such-agent-program" in seen.err) == (69, True)
    (bench.top / ".ralph/PROMPT.md").write_text("  \n")
    seen = bench.loop([step()])
    assert (seen.code, "the prompt is empty" in seen.err) == (64, True)
    (bench.top / ".ralph/PROMPT.md").unlink()
    assert bench.loop([step()]).code == 64
    bench.write(".ralph/PROMPT.md", "go on\n")
    (bench.top / ".ralph/fix_plan.md").write_text("nothing to do\n")
    seen = bench.loop([step()])
    assert (seen.code, "no task" in seen.err) == (64, True)
    assert not (bench.state / "loops").exists()


def test_an_edit_of_the_policy_is_a_violation_while_a_loop_runs(bench: Bench) -> None:
    bench.write("guard.toml", '[protect]\nkeep = ["/CLAUDE.md"]\n')
    bench.write(".ralphrc", "MAX_CALLS_PER_HOUR=50\n")
    for path, name in ((bench.top / "guard.toml", "guard.toml"), (bench.top / ".ralphrc", ".ralphrc")):
        before = path.read_text()
        seen = bench.loop([step(f'python3 -c \'open("{name}", "a").write("# x\\n")\'')])
        assert seen.code == 4, seen.err
        assert path.read_text() == before
        bench = Bench(fresh(bench.tmp, name))
        bench.write("guard.toml", '[protect]\nkeep = ["/CLAUDE.md"]\n')
        bench.write(".ralphrc", "MAX_CALLS_PER_HOUR=50\n")


def fresh(tmp: Path, name: str) -> Path:
    made = tmp / f"again-{name}"
    made.mkdir()
    return made


def test_settings_of_guard_toml_count_and_those_of_an_unaccepted_table_do_not(bench: Bench) -> None:
    bench.write("pyproject.toml", "[tool.guard.loop]\nmax_iterations = 1\n")
    assert bench.loop([step(EDIT)], "-n", "2").code == 2
    assert bench.calls == 2
    (bench.top / "pyproject.toml").unlink()
    bench.write(
        "guard.toml",
        '[loop]\nmax_iterations = 1\nverify = "true"\n[loop.limits]\ntimeout = "5m"\n[loop.breaker]\nno_progress = 9\n',
    )
    seen = bench.loop([step(EDIT)])
    assert (seen.code, bench.calls) == (2, 1)
    assert "no_progress" in seen.err  # looser than allowed
    config = bench.events("run_started")[-1]["config"]
    assert (config["timeout_s"], config["no_progress"], config["verify"]) == (300, 3, True)


def test_external_changes_are_told_and_count_for_nothing(bench: Bench) -> None:
    # Between two iterations, while the run waits for its hour.
    seen = bench.loop([step(f"{EDIT}; (sleep 0.1; true) & ")], "-n", "1")
    assert seen.code == 2
    bench.write("src/other.py", "x = 1\n")
    assert bench.loop([step()]).code == 1
    assert bench.calls == 3


def test_a_real_loop_refuses_a_clock_from_a_file_and_the_other_way_round(bench: Bench) -> None:
    bench.loop([step(EDIT)], "-n", "1")
    bench.clock = False
    seen = bench.loop([step(EDIT)], "-n", "1")
    assert (seen.code, bench.calls) == (64, 0)
    other = Bench(fresh(bench.tmp, "real"), clock=False)
    assert other.loop([step(EDIT)], "-n", "1").code == 2
    other.clock = True
    assert other.loop([step(EDIT)], "-n", "1").code == 64
    assert other.calls == 0
    del other


def test_files_and_programs_are_seen_from_where_the_command_is_given(bench: Bench) -> None:
    bench.write("src/agent.sh", "#!/bin/sh\ncat > ../told\necho x >> src/a.py\n")
    bench.write("src/what.md", "the other prompt\n")
    bench.write("src/tasks.md", "- [x] all of it\n- [ ] the rest\n")
    (bench.top / "src/agent.sh").chmod(0o755)
    words = ("-C", "src", "-n", "1", "-p", "what.md", "--plan", "tasks.md", "--", "./agent.sh")
    seen = bench.guard("loop", *words)
    assert seen.code == 2, seen.err
    assert (bench.tmp / "told").read_text().startswith("the other prompt")
    assert bench.status()["plan"] == {"required": 2, "open": 1}


def test_x14_a_tree_without_git_is_looked_after_and_measured(bench: Bench) -> None:
    shutil.rmtree(bench.top / ".git")
    seen = bench.loop([step(f"mkdir -p one; [ -d one/.git ] || git init -q one; {EDIT.replace('src', 'one')}")], "-n", "4")
    assert (seen.code, bench.status()["breaker"]["state"]) == (2, "CLOSED"), seen.err
    seen = bench.loop([step("/bin/rm -r specs")])
    assert seen.code == 4, seen.err
    assert (bench.top / "specs/a.md").exists()


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
def test_in_a_sandbox_the_kernel_refuses_and_work_goes_on(bench: Bench) -> None:
    seen = bench.loop([step(f"/bin/rm -r specs; {EDIT}")], "--sandbox", "-n", "1")
    if "no sandbox" in seen.err:
        pytest.skip(seen.err)
    assert seen.code == 2, seen.err
    assert bench.status()["last"]["progress"] is True
    assert (bench.top / "specs/a.md").exists()
