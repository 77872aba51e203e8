"""`--agent claude`: what the client is started with, and, with GUARD_E2E=1, the client itself against a scripted server."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.loop.bench import IP, Bench, block, tick

FAKE = """#!/bin/sh
printf '%s\\n' "$@" > ../arguments
env > ../environment
cat > ../told
DO
printf '%s\\n' '{"type":"system","subtype":"init","session_id":"s1","tools":[]}'
printf '%s\\n' '{"type":"result","subtype":"success","is_error":false,COST,"usage":USAGE,"result":RESULT}'
"""
COST = '"session_id":"s1","total_cost_usd":0.25'
USAGE = {"input_tokens": 100, "output_tokens": 20, "cache_creation_input_tokens": 7, "cache_read_input_tokens": 1000}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def install(bench: Bench, said: str, do: str = "") -> None:
    programs = bench.tmp / "programs"
    programs.mkdir(exist_ok=True)
    text = FAKE.replace("DO", do).replace("COST", COST).replace("RESULT", json.dumps(said)).replace("USAGE", json.dumps(USAGE))
    (programs / "claude").write_text(text)
    (programs / "claude").chmod(0o755)
    bench.environ = {"PATH": f"{programs}:{os.environ['PATH']}"}


def test_it_is_started_with_guards_hooks_and_bounded_retries(bench: Bench) -> None:
    install(bench, IP)
    seen = bench.guard("loop", "-n", "1", "--agent", "claude", "--", "--model", "opus")
    assert seen.code == 2, seen.err
    arguments = (bench.tmp / "arguments").read_text().splitlines()
    assert arguments[:4] == ["-p", "--output-format", "stream-json", "--verbose"]
    assert arguments[-2:] == ["--model", "opus"]
    settings = json.loads(arguments[arguments.index("--settings") + 1])
    assert settings["disableAllHooks"] is False
    command = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
    launcher = command.partition(" ")[0].strip("'")
    assert os.access(launcher, os.X_OK)
    assert "Bash(git *)" not in arguments[arguments.index("--allowedTools") + 1]
    environment = (bench.tmp / "environment").read_text()
    assert "CLAUDE_CODE_MAX_RETRIES=2\n" in environment
    assert "GUARD_LOOP=" in environment
    assert "Work on the next task of the plan." in (bench.tmp / "told").read_text()


def test_what_it_says_and_costs_is_read(bench: Bench) -> None:
    install(bench, block("COMPLETE", True), tick("one", "two", "three"))
    assert bench.guard("loop", "--agent", "claude").code == 0
    (ended,) = bench.events("call_ended")
    assert (ended["cost_usd"], ended["session"]) == (0.25, "s1")
    assert ended["tokens"] == {"in": 100, "out": 20, "cache_read": 1000, "cache_write": 7}
    assert bench.status()["tokens"]["hour"] == 127


def test_a_cost_limit_ends_the_run(bench: Bench) -> None:
    install(bench, IP, "echo $$ >> src/a.py")
    seen = bench.guard("loop", "--agent", "claude", "--max-cost", "0.2")
    assert (seen.code, bench.status()["exit"]["reason"]) == (2, "cost")


def test_a_token_limit_of_the_hour_is_waited_for(bench: Bench) -> None:
    install(bench, IP, "echo $$ >> src/a.py")
    assert bench.guard("loop", "--agent", "claude", "--tokens-per-hour", "200", "-n", "3").code == 2
    times = [event["t"] for event in bench.events("call_reserved")]
    assert times[1] < "2026-11-30T12:01"
    assert times[2] >= "2026-11-30T13:00"


def test_it_has_to_be_installed_and_to_be_told_something(bench: Bench) -> None:
    bench.environ = {"PATH": "/usr/bin:/bin"}
    assert bench.guard("loop", "--agent", "claude").code == 69
    install(bench, IP)
    (bench.top / ".ralph/PROMPT.md").unlink()
    assert bench.guard("loop", "--agent", "claude").code == 64
    assert bench.guard("loop", "--agent", "clod").code == 64


CLIENT = f"{os.environ.get('GUARD_E2E_CLIENTS', '')}/claude/node_modules/.bin"


there = bool(os.environ.get("GUARD_E2E")) and os.access(f"{CLIENT}/claude", os.X_OK)


@pytest.mark.skipif(not there, reason="needs GUARD_E2E=1, and the client in GUARD_E2E_CLIENTS")
def test_the_client_itself_is_refused_what_would_be_lost(bench: Bench) -> None:
    from tests.e2e.server import Call, Script, Turn, serving

    turns = (
        Turn("", (Call("Bash", {"command": "rm -rf specs", "description": "clean up"}),)),
        Turn(f"I go on.\n{IP}"),
    )
    with serving(Script(turns, "Work on")) as server:
        own = {
            "ANTHROPIC_BASE_URL": server.url,
            "ANTHROPIC_API_KEY": "sk-ant-0123456789abcdef",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "PATH": f"{CLIENT}:{os.environ['PATH']}",
        }
        bench.clock = False
        bench.environ = own
        assert bench.guard("loop", "-n", "1", "--agent", "claude").code == 2
        assert "would delete a protected file: specs/a.md" in server.results[0]
    found = bench.status()["last"]
    assert (found["outcome"], found["refusal"], found["gaps"]) == ("ok", "specs/a.md", [])
    assert (bench.top / "specs/a.md").exists()
