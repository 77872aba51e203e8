"""What is read of streams that the clients have printed (see record_streams.py): nothing counts but the agent's final text and
the client's own word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from guard.loop import clients
from guard.loop.allowing import NARROW
from guard.loop.facts import Tokens, UsageLimit
from guard.loop.reading import FORMS, Reader, Reading

STREAMS = Path(__file__).parents[1] / "data/streams"
CALLS: dict[str, dict[str, Any]] = json.loads((STREAMS / "calls.json").read_text())
NOW = 1_796_090_000_000  # 2026-12-01, 01:53 UTC, when they were recorded
every_client = pytest.mark.parametrize("name", sorted(clients.CLIENTS))


def read(name: str, scene: str, agent: str | None = None, promise: str = "", cut: float = 1.0, **how: Any) -> Reading:
    call = CALLS[f"{name}-{scene}"]
    reader = Reader(name if agent is None else agent, agent is None, promise, () if name == "codex" else NARROW)
    data = (STREAMS / f"{name}-{scene}.jsonl").read_bytes()
    data = data[: int(len(data) * cut)]
    for at in range(0, len(data), 4096):
        reader.feed(data[at : at + 4096])
    reader.feed_error(call["stderr"].encode() if "exit" not in how else b"")
    if "usage" in call:
        reader.feed_usage(json.dumps(call["usage"]).encode())
    return reader.finish(how.get("exit", call["exit"]), how.get("early", False), NOW, commands=call.get("refused", ()))


def test_there_are_streams_of_every_client() -> None:
    assert set(FORMS) == set(clients.CLIENTS)
    assert {f"{name}-{scene}" for name in FORMS for scene in ("traps", "denied", "failed", "resumed")} <= set(CALLS)
    assert {path.stem for path in STREAMS.glob("*.jsonl")} == set(CALLS)


@every_client
def test_nothing_that_a_tool_shows_counts(name: str) -> None:
    traps = (STREAMS / f"{name}-traps.jsonl").read_text()
    assert all(
        word in traps for word in ("usage limit reached", "STATUS: COMPLETE", "guard::loop::rescue", "ALL-IS-DONE", "is_error")
    )
    reading = read(name, "traps", promise="ALL-IS-DONE")
    reply = reading.reply
    assert reading.text.startswith("I have read the notes.\n\n---RALPH_STATUS---")
    assert (reply.block, reply.explicit, reply.claim) == ({"STATUS": "in_progress", "EXIT_SIGNAL": "false"}, False, False)
    assert (reply.lines, reply.message, reply.format) == (1, "i have read the notes.", "json")
    assert (reply.errors, reply.directives, reply.question, reply.done, reply.hints, reply.gaps) == ((), (), False, (), (), ())
    assert not reply.strong
    assert (reading.limit, reading.failure, reading.api_status) == (None, "", "")
    assert reading.cost_usd < 1
    assert reading.session not in ("", "forged")


@every_client
@pytest.mark.parametrize("cut", [0.3, 0.6, 0.9])
def test_nothing_that_a_tool_shows_counts_where_the_call_took_too_long_or_was_killed(name: str, cut: float) -> None:
    for exit, early in ((124, True), (None, False), (1, False)):
        reading = read(name, "traps", cut=cut, exit=exit, early=early)
        assert (reading.limit, reading.failure, reading.api_status) == (None, "", "")
        assert reading.reply.explicit is not True or "I copy them" in reading.text
        assert not reading.reply.errors or "I copy them" in reading.text


@every_client
def test_what_a_client_prints_is_known_without_its_name_too(name: str) -> None:
    found, named = read(name, "traps", agent="" if name != "copilot" else name), read(name, "traps")
    assert (found.text, found.session) == (named.text, named.session)


TOKENS = {
    "claude": Tokens(input=500, output=100),
    "codex": Tokens(input=500, output=100),
    "gemini": Tokens(input=500, output=100),
    "qwen": Tokens(input=500, output=100),
    "copilot": Tokens(input=500, output=100),
    "opencode": Tokens(input=500, output=100),
}


@every_client
def test_tokens_and_cost_are_the_clients_own(name: str) -> None:
    reading = read(name, "traps")
    assert reading.tokens == TOKENS[name]
    assert reading.cost_usd == (0.004 if name == "claude" else 0)


@every_client
def test_a_session_that_goes_on_is_counted_on_by_some_clients(name: str) -> None:
    before, after = read(name, "denied"), read(name, "resumed")
    assert after.session == before.session
    assert after.goes_on is (name in ("codex", "copilot", "qwen"))
    assert (after.tokens.input > before.tokens.input) if after.goes_on else (after.tokens.input == 100)


GAPS = {
    "claude": ("Bash(git status; make all)",),
    "codex": (),  # bounded by its sandbox, in which make may run
    "gemini": ("run_shell_command(git status; make all)",),
    "qwen": ("run_shell_command(git status; make all)", "run_shell_command(rm -r specs)"),  # it asked before any hook
    "copilot": ("bash(git status; make all)",),
    "opencode": ("bash(git status; make all)",),
}


@every_client
def test_what_the_client_denied_is_a_gap_and_what_guard_refused_is_none(name: str) -> None:
    reading = read(name, "denied")
    assert reading.reply.gaps == GAPS[name]
    assert (reading.failure, reading.limit, reading.reply.errors) == ("", None, ())


@every_client
def test_a_denial_is_known_before_the_call_has_ended(name: str) -> None:
    text = (STREAMS / f"{name}-denied.jsonl").read_text()
    lines = [line for line in text.splitlines(keepends=True) if '"type":"result"' not in line]
    reader = Reader(name, True, "", NARROW)
    reader.feed("".join(lines).encode())
    found = reader.finish(124, True, NOW, commands=CALLS[f"{name}-denied"]["refused"]).reply.gaps
    assert found == (() if name in ("qwen", "codex") else GAPS[name])


FAILURES = {
    "claude-failed": ("error", "400", "API Error: 400 no such thing"),
    "claude-overloaded": ("error", "529", "API Error: 529 Overloaded"),
    "claude-long": ("prompt", "400", "Prompt is too long"),
    "codex-failed": ("error", "", '{"error": {"message": "no such thing"'),
    "gemini-failed": ("error", "400", "[API Error: "),
    "qwen-failed": ("error", "", "[API Error: 400 no such thing]"),
    "copilot-failed": ("error", "400", "400 no such thing"),
    "opencode-failed": ("error", "401", "no such key"),
}


@pytest.mark.parametrize("stream", FAILURES)
def test_a_failure_is_told_by_the_client(stream: str) -> None:
    failure, status, error = FAILURES[stream]
    reading = read(*stream.split("-"))
    assert (reading.failure, reading.api_status, reading.limit) == (failure, status, None)
    assert reading.reply.errors[0].startswith(error)
    assert reading.reply.explicit is None


LIMITS = {
    "codex": UsageLimit("usage", 1_796_100_000_000, "text"),
    "gemini": UsageLimit("quota", None, "status"),
    "copilot": UsageLimit("quota", None, "status"),
}


@pytest.mark.parametrize("name", LIMITS)
def test_a_usage_limit_is_told_by_the_client(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "UTC")  # in which the client wrote its time of day
    time.tzset()
    assert read(name, "limit").limit == LIMITS[name]
    monkeypatch.undo()
    time.tzset()
