"""Reading an agent's output: the final text, what it says, what the call cost, what went wrong."""

from __future__ import annotations

import json
import time
import tracemalloc
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.loop.completion import is_claim
from guard.loop.facts import ERRORS, Directive, Tokens, UsageLimit
from guard.loop.reading import Reader, Reading, allow_list
from guard.loop.reading.gaps import gaps
from guard.loop.reading.resets import resets_at
from guard.loop.reading.said import Denial

NOW = int(datetime(2026, 11, 30, 18, 0, tzinfo=UTC).timestamp() * 1000)
T = NOW // 1000 + 3600


def read(output: str | bytes = "", exit: int | None = 0, stderr: str = "", early: bool = False, **more: Any) -> Reading:
    reader = Reader(**more)
    data = output if isinstance(output, bytes) else output.encode()
    for at in range(0, len(data), 7777):
        reader.feed(data[at : at + 7777])
    reader.feed_error(stderr.encode())
    return reader.finish(exit, early, NOW)


def blk(status: str = "", signal: str = "", *more: str) -> str:
    keys = [f"STATUS: {status}"] * bool(status) + [f"EXIT_SIGNAL: {signal}"] * bool(signal)
    return "\n".join(["---RALPH_STATUS---", *keys, *more, "---END_RALPH_STATUS---", ""])


def result(text: str | None = "done here", **more: Any) -> str:
    said = {} if text is None else {"result": text}
    values = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        **said,
        "session_id": "s1",
        "total_cost_usd": 0.5,
        **more,
    }
    return json.dumps(values) + "\n"


def assistant(text: str, **more: Any) -> str:
    return json.dumps({"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}, **more}) + "\n"


def user(text: str) -> str:
    return json.dumps({"type": "user", "message": {"content": [{"type": "tool_result", "content": text}]}}) + "\n"


def limit(status: str, **more: Any) -> str:
    return json.dumps({"type": "rate_limit_event", "rate_limit_info": {"status": status, **more}}) + "\n"


# --- status blocks


@pytest.mark.parametrize(
    ("text", "explicit", "claim"),
    [
        (blk("IN_PROGRESS", "false"), False, False),
        (blk("COMPLETE", "true"), True, True),
        (blk("COMPLETE", "false"), False, False),
        (blk("COMPLETE"), None, True),
        (blk("COMPLETE", "", "TESTS_STATUS: PASSING"), None, True),
        (blk("IN_PROGRESS", "True"), True, True),
        (blk("IN_PROGRESS", "**true**"), True, True),
        (blk("IN_PROGRESS", "`true`  # all of it"), True, True),
        (blk("IN_PROGRESS", "'TRUE'"), True, True),
        (blk("COMPLETE", "false | true"), None, True),
        (blk("IN_PROGRESS", "yes"), None, False),
        (blk("COMPLETED"), None, False),
        ("EXIT_SIGNAL: false | true\n" + blk("COMPLETE", "true"), True, True),
        (blk("IN_PROGRESS", "false") + blk("COMPLETE", "true"), True, True),
        ("a\n" + blk("COMPLETE", "true") + "b\n" + blk("IN_PROGRESS", "false"), False, False),
        (blk("COMPLETE", "false") + "---RALPH_STATUS---\nSTATUS: COMPLETE\n", False, False),
        ("---RALPH_STATUS---\nEXIT_SIGNAL: true\n" + blk("IN_PROGRESS", "false"), False, False),
        ("```\n" + blk("COMPLETE", "true") + "```\n", True, True),
        (blk("COMPLETE", "true").replace("\n", "\r\n"), True, True),
        ("RALPH_STATUS:\n  STATUS: COMPLETE\n  EXIT_SIGNAL: true\n", True, True),
        ("RALPH_STATUS:\n  STATUS: COMPLETE\n  EXIT_SIGNAL: true\n" + blk("IN_PROGRESS", "false"), False, False),
        ("RALPH_STATUS:\nSTATUS: COMPLETE\nEXIT_SIGNAL: true\n", None, False),
        ("EXIT_SIGNAL: true\n", None, False),
        ("> ---RALPH_STATUS---\n> EXIT_SIGNAL: true\n> ---END_RALPH_STATUS---\n", None, False),
        (blk("", "", "MY_EXIT_SIGNAL: true", "TESTS_STATUS: COMPLETE"), None, False),
        ('{"status": "COMPLETE", "exit_signal": true}', True, True),
        ('```json\n{"status": "COMPLETE"}\n```\n', None, True),
        ('{"exit_signal": true}\n' + blk("IN_PROGRESS", "false"), False, False),
        ('{"exit_signal": "maybe", "other": 1}', None, False),
        ("", None, False),
    ],
)
def test_explicit_values_and_claims(text: str, explicit: bool | None, claim: bool) -> None:
    for reading in (read(text), read(result(text))):
        assert reading.reply.explicit is explicit
        assert reading.reply.claim is claim
        assert is_claim(reading.reply) is claim


def test_the_block_is_no_part_of_the_text() -> None:
    plain, with_block = (
        read("one\n\ntwo\n").reply,
        read("one\n" + blk("IN_PROGRESS", "false", "RECOMMENDATION: all done?") + "two\n").reply,
    )
    assert (with_block.message, with_block.lines) == (plain.message, plain.lines) == ("one two", 2)
    assert (with_block.done, with_block.question) == ((), False)
    assert with_block.block == {"STATUS": "in_progress", "EXIT_SIGNAL": "false", "RECOMMENDATION": "all done?"}
    cut = read("one\n---RALPH_STATUS---\nSTATUS: COMPLETE\nEXIT_SIGNAL: tr").reply
    assert (cut.block, cut.lines) == ({}, 1)


def test_keys_are_matched_whole() -> None:
    keys = read(blk("IN_PROGRESS", "", "TASKS_COMPLETED_THIS_LOOP: 3", "FILES_MODIFIED: many", "WORK_TYPE: TESTING")).reply
    assert keys.block == {"STATUS": "in_progress", "TASKS_COMPLETED_THIS_LOOP": "3", "WORK_TYPE": "testing"}
    assert keys.done == ()
    assert keys.testing


def test_a_promise_alone_on_a_line_is_true() -> None:
    assert read("work\n  ALL DONE NOW \n", promise="ALL DONE NOW").reply.explicit is True
    for text in ("I say ALL DONE NOW\n", "```\nALL DONE NOW\n```\n", user("ALL DONE NOW") + result("no")):
        assert read(text, promise="ALL DONE NOW").reply.explicit is None
    assert read("ALL DONE NOW\n" + blk("IN_PROGRESS", "false"), promise="ALL DONE NOW").reply.explicit is False


# --- questions, signals, directives


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("Which one?", True),
        ("Which one？\n\n", True),
        ("**Which one?**\n" + blk("IN_PROGRESS", "false"), True),
        ("Which one?\n```\ncode\n```\n", True),
        ('Added the label "Should I remember you?" to the form.\n', False),
        ("Which one?\nI chose a.", False),
        ("```\nreally?\n```", False),
        ("", False),
    ],
)
def test_questions(text: str, asks: bool) -> None:
    assert read(text).reply.question is asks


def test_a_tool_that_asks_the_user_is_a_question() -> None:
    tool = {"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "AskUserQuestion", "input": {}}]}}
    assert read(json.dumps(tool) + "\n" + result("I asked.")).reply.question


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("The parser is complete, done and finished.", ("done",)),
        ("All tasks complete", ("done",)),
        ("任务完成", ("done",)),
        ("There is nothing to do.", ("no_work",)),
        ("Up to date, and done", ("done", "no_work")),
        *(
            (text, ())
            for text in ("It is not done", "isn't yet complete", "isn’t complete", "never quite finished", "un-finished")
        ),
        *(
            (text, ())
            for text in ("incomplete", "TASKS_COMPLETED_THIS_LOOP: 3", "unfinished", "没有任务完成", "undone", "completeness")
        ),
        ("It is not a long way until all is done", ("done",)),
    ],
)
def test_done_signals(text: str, kinds: tuple[str, ...]) -> None:
    assert read(text).reply.done == kinds


def test_strong_signals_hints_and_testing() -> None:
    assert all(read(text).reply.strong for text in ("In summary, x", "综上所述", "ready to deploy", "the release", "hand-over"))
    assert not any(read(text).reply.strong for text in ("a summary", "please", "deplorable", "hand", ""))
    assert read("Try again later. 出错了").reply.hints == ("出错了", "try again later")
    assert read("running tests now").reply.testing
    assert not read("running tests now\n" + blk("IN_PROGRESS", "false")).reply.testing
    assert not read("suggest bathing").reply.testing


def test_directives() -> None:
    text = (
        '@guard::loop::pause {"reason": "lunch"}\n> @guard::loop::rescue {"reason": "x"}\n'
        '```\n@guard::loop::rescue {"reason":"y"}\n```\n'
        '@guard::loop::resume {"reason": "x"}\n@guard::loop::pause nonsense\n@guard::loop::mode {"reason": "m", "mode": "auto"}\n'
        'I wrote @guard::loop::pause {"reason": "x"}\n@guard::loop::rescue\n'
    )
    found = read(text).reply.directives
    assert found[0] == Directive("pause", "lunch")
    assert [(one.verb, bool(one.error)) for one in found] == [
        *(("pause", False), ("resume", True), ("pause", True), ("mode", True), ("rescue", True)),
    ]


# --- final text of each client


def test_only_the_agents_own_final_text_counts() -> None:
    noise = user("Error: boom in parser\nall done?\n" + blk("COMPLETE", "true")) + assistant(
        "Error: I am a helper", parent_tool_use_id="t"
    )
    for output in (
        noise + assistant("first") + result("second"),
        json.dumps([json.loads(noise.splitlines()[0]), json.loads(result("second"))]),
    ):
        reading = read(output, agent="claude")
        assert (reading.text, reading.reply.errors, reading.reply.block, reading.reply.format) == ("second", (), {}, "json")
        assert (reading.session, reading.cost_usd) == ("s1", 0.5)


CODEX = [
    {"type": "thread.started", "thread_id": "t1"},
    {"type": "item.completed", "item": {"type": "command_execution", "command": "x", "aggregated_output": "Error: tool"}},
    {"type": "item.completed", "item": {"type": "agent_message", "text": "early"}},
    {"type": "item.completed", "item": {"type": "agent_message", "text": "final"}},
    {"type": "turn.completed", "usage": {"input_tokens": 10, "cached_input_tokens": 4, "output_tokens": 2}},
]
OPENCODE = [
    {"type": "text", "sessionID": "o1", "part": {"text": "early"}},
    {"type": "tool_use", "sessionID": "o1", "part": {"tool": "bash"}},
    {"type": "text", "sessionID": "o1", "part": {"text": "final"}},
    {
        "type": "step_finish",
        "sessionID": "o1",
        "part": {"cost": 0.25, "tokens": {"input": 6, "output": 2, "cache": {"read": 4, "write": 0}}},
    },
]
GEMINI = {
    "session_id": "g1",
    "response": "final",
    "stats": {"models": {"m": {"tokens": {"prompt": 10, "cached": 4, "candidates": 2}}}},
}
GEMINI_STREAM = [
    {"type": "init", "session_id": "g1"},
    {"type": "message", "role": "user", "content": "prompt?"},
    {"type": "message", "role": "assistant", "content": "early", "delta": True},
    {"type": "tool_use", "tool_name": "x"},
    {"type": "message", "role": "assistant", "content": "fin", "delta": True},
    {"type": "message", "role": "assistant", "content": "al", "delta": True},
    {"type": "result", "status": "success", "stats": {"input_tokens": 10, "cached": 4, "output_tokens": 2}},
]


@pytest.mark.parametrize(
    ("agent", "output", "session"),
    [
        ("codex", "".join(json.dumps(event) + "\n" for event in CODEX), "t1"),
        ("opencode", "".join(json.dumps(event) + "\n" for event in OPENCODE), "o1"),
        ("gemini", json.dumps(GEMINI, indent=2), "g1"),
        ("gemini", "".join(json.dumps(event) + "\n" for event in GEMINI_STREAM), "g1"),
        (
            "qwen",
            "["
            + '{"type": "system", "subtype": "init", "session_id": "q1", "qwen_code_version": "1"}, '
            + result("final", session_id="q1", usage={"input_tokens": 10, "cache_read_input_tokens": 4, "output_tokens": 2})
            + "]",
            "q1",
        ),
    ],
    ids=["codex", "opencode", "gemini", "gemini stream", "qwen"],
)
def test_other_clients(agent: str, output: str, session: str) -> None:
    for name in (agent, ""):
        reading = read(output, agent=name, promised=True)
        assert (reading.text, reading.session, reading.failure) == ("final", session, "")
        assert reading.tokens == Tokens(input=6, output=2, cache_read=4)


def test_failures_of_other_clients() -> None:
    codex = read('{"type":"turn.failed","error":{"message":"stream disconnected: 503"}}\n', 1, agent="codex")
    assert (codex.failure, codex.reply.errors) == ("error", ("stream disconnected: 503",))
    gemini = read(
        json.dumps({"session_id": "g", "error": {"message": "no key", "code": 401}}, indent=1),
        145,
        agent="gemini",
    )
    assert (gemini.failure, gemini.api_status, gemini.reply.errors) == ("error", "401", ("no key",))


def test_a_promised_form_that_cannot_be_read_is_raw_and_its_text_is_kept() -> None:
    for output in ('{"type": "result", "resu', "Sorry, plain words.\n", '{"type":"thread.started","thread_id":"x"}\nwords\n'):
        reading = read(output, promised=True)
        assert reading.reply.format == "raw"
        assert reading.text == output
    assert read("plain words", promised=False).reply.format == "text"


@pytest.mark.parametrize(
    "line",
    [
        *(
            '{"type": "system", "message": "up"}',
            '{"type": "user", "name": "x"}',
            '{"error": {"message": "x"}}',
            '{"type": "init"}',
        ),
        *(
            '{"type": "result", "value": 3}',
            '{"result": "words", "metadata": {}}',
            '{"type": "message", "content": "x"}',
            '{"level": "info", "type": "error", "message": "x"}',
        ),
    ],
)
def test_json_that_a_plain_program_prints_is_text(line: str) -> None:
    output = f"{line}\nI changed a.\n{blk('IN_PROGRESS', 'false')}"
    reading = read(output)
    assert (reading.text, reading.failure, reading.reply.format, reading.reply.explicit) == (output, "", "text", False)


def test_a_call_that_was_cut_off_keeps_what_the_agent_said_last() -> None:
    reading = read(assistant("I did a\n" + blk("IN_PROGRESS", "false")) + user("x") + '{"type":"assist', 124)
    assert (reading.reply.explicit, reading.reply.lines) == (False, 1)
    turns = read(assistant("half way") + result(None, subtype="error_max_turns", is_error=True, errors=["too many turns"]), 1)
    assert (turns.failure, turns.text, turns.reply.errors) == ("turns", "half way", ("too many turns",))
    assert read(result(None, subtype="error_max_budget_usd", is_error=True), 1).failure == "money"


# --- tokens, limits, transport


def test_tokens_are_the_clients_own() -> None:
    usage = {"input_tokens": 1, "cache_creation_input_tokens": 2, "cache_read_input_tokens": 3, "output_tokens": 4, "other": "x"}
    found = read(result(usage=usage)).tokens
    assert found == Tokens(input=1, output=4, cache_read=3, cache_write=2)
    assert found.counted == 7
    assert read(result(usage={"input_tokens": -1, "output_tokens": True}, total_cost_usd="x")).tokens == Tokens()


LIMITS = {
    "V07": (result(f"Claude AI usage limit reached|{T}", is_error=True), 1, "", UsageLimit("usage", T * 1000, "text")),
    "V07, exit 0": (result(f"usage limit reached|{T}", is_error=True), 0, "", UsageLimit("usage", T * 1000, "text")),
    "429": (
        result("You've hit your limit · resets 9pm (UTC)", is_error=True, api_error_status=429), 1, "",
        UsageLimit("usage", NOW + 3 * 3_600_000, "status"),
    ),
    "429 alone": (result("API Error: Rate limit reached", is_error=True, api_error_status=429), 1, "", None),
    "V08": (limit("rejected", resetsAt=T, rateLimitType="five_hour"), 1, "", UsageLimit("five_hour", T * 1000, "event")),
    "V08, time-out": (limit("rejected", resetsAt=T), 124, "", UsageLimit("usage", T * 1000, "event")),
    "X68": (limit("rejected", resetsAt=T) + result("fine"), 0, "", None),
    "only overage": (limit("allowed", overageStatus="rejected"), 1, "", None),
    "V10": (assistant("the docs mention: usage limit reached"), 1, "", None),
    "V10, plain": ("usage limit reached\n", 1, "", None),
    "V11": (user("5-hour limit reached"), 124, "", None),
    "time-out": ("", 124, "usage limit reached", None),
    "standard error": ("", 1, f"usage limit reached|{T}\n", UsageLimit("usage", T * 1000, "text")),
    "5 hours": (
        result("5-hour limit reached ∙ resets 2am (UTC)", is_error=True), 1, "",
        UsageLimit("five_hour", NOW + 8 * 3_600_000, "text"),
    ),
    "no time": (result("You're out of extra usage", is_error=True), 1, "", UsageLimit("extra", None, "text")),
    "codex": (
        '{"type":"turn.failed","error":{"message":"You\u2019ve hit your usage limit. Try again in 2 hours."}}', 1, "",
        UsageLimit("usage", NOW + 2 * 3_600_000, "text"),
    ),
    "gemini": ("", 173, "TerminalQuotaError: You have exhausted your daily quota.", UsageLimit("quota", None, "text")),
    "opencode": (
        '{"type":"error","sessionID":"o","error":{"data":{"message":"Free usage exceeded","statusCode":429}}}', 1, "",
        UsageLimit("usage", None, "status"),
    ),
    "a server that is busy": ('{"type":"turn.failed","error":{"message":"Rate limit reached for model"}}', 1, "", None),
    "an account without money": (result("insufficient_quota: check your plan", is_error=True, api_error_status=429), 1, "", None),
    "a run that went well": (result("I handled `usage limit reached|5`"), 0, "usage limit reached", None),
}  # fmt: skip


@pytest.mark.parametrize("name", LIMITS)
def test_usage_limits(name: str) -> None:
    output, exit, stderr, expected = LIMITS[name]
    assert read(output, exit, stderr).limit == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("resets 5pm (Europe/Vilnius)", (2026, 12, 1, 15, 0)),
        ("resets 1:50am (America/Denver)", (2026, 12, 1, 8, 50)),
        ("resets at 6:30pm (UTC)", (2026, 11, 30, 18, 30)),
        ("resets 6pm (UTC)", (2026, 12, 1, 18, 0)),
        ("resets 12am (UTC)", (2026, 12, 1, 0, 0)),
        ("resets Dec 3, 1pm (UTC)", (2026, 12, 3, 13, 0)),
        ("resets Jan 2 at 08:09 (UTC)", (2027, 1, 2, 8, 9)),
        ("Access resets at 10:57 PM GMT-3.", (2026, 12, 1, 1, 57)),
        ("try again at Dec 3rd, 2026 4:40 AM UTC", (2026, 12, 3, 4, 40)),
        ("or try again in 2 days 17 hours 14 minutes.", (2026, 12, 3, 11, 14)),
        ("Your quota will reset after 3h20m5s.", (2026, 11, 30, 21, 20, 5)),
        ("Please try again in 2 hours.", (2026, 11, 30, 20, 0)),
        ("try again in 0 seconds", None),
        ("try again later", None),
        *((text, None) for text in ("resets 5pm (Nowhere/Land)", "resets 25:00 (UTC)", "resets 13pm (UTC)", "resets soon", "")),
        ("resets Feb 31, 1pm (UTC)", None),
        ("resets 5pm (../../etc/passwd)", None),
    ],
)
def test_reset_times(text: str, expected: tuple[int, ...] | None) -> None:
    at = resets_at(text, NOW)
    assert at == (None if expected is None else int(datetime(*expected, tzinfo=UTC).timestamp() * 1000))  # type: ignore[misc]


@pytest.mark.parametrize(
    ("output", "exit", "stderr", "status"),
    [
        (result("API Error: 529 overloaded", is_error=True, api_error_status=529), 1, "", "529"),
        (result("API Error: 503 x", is_error=True), 0, "", "503"),
        (assistant("x", error="overloaded") + result("oops", is_error=True), 1, "", "overloaded"),
        ("", 1, "connect ECONNREFUSED 127.0.0.1:80", "refused"),
        ("", 1, "read ECONNRESET", "reset"),
        ("", 1, "HTTP 502", "502"),
        ("", 1, "Error: no such file", ""),
        ("HTTP 502 and connection refused", 1, "", ""),
        (result("fixed the 503"), 0, "HTTP 503", ""),
    ],
)
def test_errors_on_the_way(output: str, exit: int, stderr: str, status: str) -> None:
    assert read(output, exit, stderr).api_status == status


# --- errors


def test_errors_are_those_of_failed_calls_and_of_the_final_text() -> None:
    assert read("Error: boom in parser\nfine\nsrc/a.py:3: error: x\n", 0, "warning").reply.errors == (
        *("Error: boom in parser", "src/a.py:3: error: x"),
    )
    assert read("", 1, "".join(f"line {n}\n" for n in range(50))).reply.errors == tuple(f"line {n}" for n in range(30, 50))
    assert read(result("API Error: x", is_error=True), 0).reply.errors == ("API Error: x",)
    many = read("".join(f"Error: {n}\n" for n in range(50)), 1, "last words\n").reply.errors
    assert (len(many), many[0], many[-1]) == (ERRORS, "Error: 0", "last words")


# --- denials


@pytest.mark.parametrize(
    ("command", "allowed", "gap"),
    [
        ("git status", "Bash(git status *)", False),
        ("git status -s && git status", "Bash(git status *)", False),
        ("git status; rm -rf x", "Bash(git status *)", True),
        ("git status $(rm x)", "Bash(git status *)", True),
        ("git status `rm x`", "Bash(git status *)", True),
        ("git statusx", "Bash(git status *)", True),
        ("npm test -- -v | tail", "Bash(npm test:*), Bash(tail)", False),
        ("CI=1 npm test", "Read Bash(npm test)", False),
        ("npm test x", "Bash(npm test)", True),
        ("(cd x; if a; then b; fi)", "Bash(cd *),Bash(a),Bash(b)", False),
        ("for f in *; do rm $f; done", "Bash(cd *)", True),
        ("anything", "Bash", False),
        ("anything", "Bash(*)", False),
        ("anything", "", True),
        ("echo 'unclosed", "Bash", True),
        ("diff <(rm x) b", "Bash(diff *)", True),
    ],
)
def test_a_shell_command_is_a_gap_if_any_simple_command_is_not_allowed(command: str, allowed: str, gap: bool) -> None:
    denied = {"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": command}}
    found = read(result(permission_denials=[denied]), allowed=allow_list(allowed)).reply.gaps
    assert bool(found) is gap
    assert all(one.startswith("Bash(") for one in found)


def test_what_guard_refused_itself_is_no_gap_and_other_tools_always_are() -> None:
    denials = [
        Denial("Bash", {"command": "rm -rf specs"}, "t1"),
        Denial("Bash", {"command": "rm a"}, "t2"),
        Denial("WebFetch", {}, "t3"),
    ]
    assert gaps(denials, ["Bash(ls)"], refused={"t1"}) == ("Bash(rm a)", "WebFetch")
    assert gaps(denials, ["Bash(ls)", "WebFetch"], commands={"rm -rf specs", "rm a"}) == ("WebFetch",)


# --- size, speed, bad input


def test_only_the_end_of_a_large_output_is_kept_and_its_block_is_read() -> None:
    reader = Reader()
    piece = b"a line of output that says nothing\n" * 2000
    tracemalloc.start()
    for _ in range(300):
        reader.feed(piece)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    reader.feed(blk("IN_PROGRESS", "true").encode())
    reading = reader.finish(0)
    assert reading.reply.explicit is True
    assert reading.reply.lines == 600_000
    assert peak < 10 << 20  # of 21 MB


def test_lines_are_counted_wherever_pieces_end() -> None:
    from guard.loop.reading.lines import Tail

    text = b"one\n\n  \ntwo two\nthree\n" * 50 + b"end"
    for size in (1, 2, 3, 7, 64, 5000):
        tail = Tail(100)
        for at in range(0, len(text), size):
            tail.feed(text[at : at + size])
        kept, earlier = tail.text()
        assert text.endswith(kept)
        assert earlier + sum(bool(line.strip()) for line in kept.split(b"\n")) == 151


def test_streams_are_read_fast() -> None:
    line = user("x\\n" * 3000).encode() + assistant("hello " * 40).encode()
    start = time.perf_counter()
    reader = Reader(agent="claude")
    for _ in range(4000):
        reader.feed(line)
    reader.feed(result("end").encode())
    assert reader.finish(0).text == "end"
    assert 4000 * len(line) / (time.perf_counter() - start) > 20e6  # bytes a second; several times that without other load


def test_long_lines_are_events_too() -> None:
    assert read(user("y" * 4_000_000) + result("z" * 100), agent="claude").text == "z" * 100
    big = Reader()
    for _ in range(40):
        big.feed(b"x" * (1 << 20))
    big.feed(b"\n" + result("after").encode())
    assert big.finish(0).text == "after"


@pytest.mark.parametrize(
    "line",
    [
        *(
            '{"type":"result"',
            "{}",
            "[]",
            "[[[[",
            "null",
            '{"type":null}',
            '{"type":"result"}',
            '{"type":"assistant","message":3}',
        ),
        *(
            '{"type":"result","subtype":3,"is_error":"x","result":[1],"usage":[],"permission_denials":{"a":1}}',
            '{"type":"system"}',
        ),
        *(
            '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":"soon"}}',
            "[" * 100_000,
            '{"a":' * 100_000,
        ),
        *(
            '{"type":"result","subtype":"success","is_error":false,"result":"\\ud800 lone"}',
            '{"type":"item.completed","item":{"type":5}}',
        ),
        *(
            '{"type":"error","error":{"message":{"message":{}}},"sessionID":"x"}',
            '{"error":{"code":99999999999}}',
            "\0\0\0",
            "\x1b[0m",
        ),
        *('{"type":"result","subtype":"success","is_error":false,"result":"a","total_cost_usd":1e999}',),
    ],
)
def test_bad_lines_spoil_nothing(line: str) -> None:
    for agent in ("", "claude", "codex", "gemini", "opencode", "copilot"):
        reading = read(line + "\n" + assistant("words") + line, 1, agent=agent)
        reading.reply.message.encode()
        assert reading.limit is None or reading.limit.evidence == "event"


def test_a_document_that_is_cut_off_is_no_event_and_what_stands_before_it_is_one() -> None:
    whole = result("all of it")
    for end in (1, 20, len(whole) - 3):
        reading = read(assistant("before") + whole[:end], 1, agent="claude")
        assert (reading.text, reading.failure, reading.reply.format) == ("before", "", "json")
    assert read(whole.rstrip() + '{"type":"result","subtype":"suc', agent="claude").text == "all of it"
    array = json.dumps([json.loads(assistant("one")), json.loads(result("two"))])
    assert read(array[:-9], agent="claude", promised=True).reply.format == "raw"


def test_documents_on_one_line_are_read_one_after_the_other() -> None:
    line = assistant("one").strip() + " " + user("Error: tool").strip() + result("two").strip()
    reading = read(line + "\n", agent="claude", promised=True)
    assert (reading.text, reading.reply.format, reading.reply.errors) == ("two", "json", ())
    assert read(result("one").strip() + " and words", agent="claude").text == "one"
    assert read('{"a": 1}{"b": 2} words\n').text == '{"a": 1}{"b": 2} words\n'


@pytest.mark.parametrize("agent", ["", "claude"])
@pytest.mark.parametrize(
    "encode",
    [
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: text.encode("utf-16"),
        lambda text: text.encode("utf-16-le"),
        lambda text: text.encode("utf-16-be"),
        lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: text.replace("\n", "\r\n").encode("utf-16"),
    ],
    ids=["mark", "utf-16", "wide", "wide big", "utf-16 big", "crlf", "utf-16 crlf"],
)
def test_output_of_another_encoding_is_read(encode: Any, agent: str) -> None:
    said = "Now: Änderung 完成 🎉\n" + blk("COMPLETE", "true")
    for output in (said, result(said)) if not agent else (result(said),):
        for size in (1, 3, 4096):
            reader = Reader(agent)
            data = encode(output)
            for at in range(0, len(data), size):
                reader.feed(data[at : at + size])
                reader.feed_error(data[at : at + size])
            reading = reader.finish(0)
            assert reading.reply.explicit is True
            assert reading.text.startswith("Now: Änderung 完成 🎉")
            assert reading.reply.lines == 1


def test_bytes_that_are_no_text_are_marked_and_spoil_nothing_else() -> None:
    reading = read(b"caf\xe9 \xff\xfe\0 \xed\xa0\x80\n" + blk("IN_PROGRESS", "true").encode())
    assert reading.reply.explicit is True
    assert reading.text.startswith("caf\ufffd")
    latin = result("caf@").encode().replace(b"@", b"\xe9")
    assert read(latin, agent="claude").text == "caf\ufffd"
    assert read(result("a\0b \ud800 c"), agent="claude").text == "a\0b ? c"
    for text in (
        '@guard::loop::pause {"reason": "a \\ud800"}',
        '{"status": "COMPLETE", "recommendation": "\\ud800", "summary": "\\udfff"}',
    ):
        msgspec.json.encode(read(text).reply)
    denied = {"tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": "rm \ud800"}}
    assert read(result(permission_denials=[denied])).reply.gaps == ("Bash(rm ?)",)
    assert read(blk("COMPLETE\0", "true\0")).reply.explicit is None
    assert read(b"\0").text == "\0"
    assert read(b"a").text == "a"


def test_megabytes_on_one_line_are_read_in_time() -> None:
    start = time.process_time()
    for line in ("{}" * 2_000_000, '{"a":' * 800_000, "[" * 4_000_000, '{"type":"result",' + " " * 4_000_000, "x" * 4_000_000):
        assert read(f"{line}\n{blk('IN_PROGRESS', 'true')}", agent="claude").reply.explicit is True
    assert time.process_time() - start < 10


SHAPES = {
    "flat": json.dumps({"status": "COMPLETE", "exit_signal": True, "work_type": "IMPLEMENTATION", "summary": "I did it."}),
    "object": json.dumps(
        {"result": f"I did it.\n{blk('COMPLETE', 'true')}", "sessionId": "s1", "metadata": {"files_changed": 1}}
    ),
    "typed object": result(f"I did it.\n{blk('COMPLETE', 'true')}"),
    "array": json.dumps(
        [
            {"type": "system", "subtype": "init", "session_id": "s1"},
            json.loads(assistant("first")),
            json.loads(result(f"I did it.\n{blk('COMPLETE', 'true')}")),
        ]
    ),
    "text": f"I did it.\n{blk('COMPLETE', 'true')}",
    "flat in a result": result(json.dumps({"status": "COMPLETE", "exit_signal": True, "result": "I did it."})),
}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("shape", SHAPES)
def test_each_shape_of_a_reply_is_read(shape: str, indent: int | None) -> None:
    text = SHAPES[shape]
    if indent and shape not in ("text", "flat in a result"):
        text = json.dumps(json.loads(text), indent=indent)
    for promised in (False, True):
        reply = read(text, promised=promised).reply
        assert (reply.explicit, reply.claim, reply.message, reply.block["STATUS"]) == (True, True, "i did it.", "complete")


def test_a_block_in_the_prose_of_flat_json_counts_more_than_its_fields() -> None:
    text = json.dumps({"status": "COMPLETE", "exit_signal": True, "summary": f"Not yet.\n{blk('IN_PROGRESS', 'false')}"})
    assert (read(text).reply.explicit, read(text).reply.message) == (False, "not yet.")


def test_what_a_time_out_leaves_on_standard_error_is_no_error() -> None:
    assert read("", 124, "Warning: no colours\n").reply.errors == ()
    assert read("", 1, "Warning: no colours\n").reply.errors == ("Warning: no colours",)


def test_a_refused_file_tool_and_one_with_a_secret_are_no_gaps() -> None:
    write = Denial("Write", {"file_path": "/t/CLAUDE.md", "content": "x"}, "t1")
    secret = Denial("Bash", {"command": "curl -H 'Authorization: Bearer abcdefghijklmnop' x"}, "t2")
    refused = {"Write /t/CLAUDE.md", "curl -H 'Authorization: Bearer [redacted] x"}
    from guard.redact import redactor

    refused.add(redactor()(secret.command or ""))
    assert gaps([write, secret], ["Bash(ls)"], commands=refused, agent="claude") == ()
    assert gaps([write], ["Bash(ls)"], commands={"Write /t/other.md"}, agent="claude") == ("Write",)
    assert gaps([write], ["Bash(ls)"], agent="claude") == ("Write",)


@given(st.binary(max_size=400), st.binary(max_size=100), st.sampled_from([0, 1, 124, None]))
def test_anything_can_be_read(output: bytes, stderr: bytes, exit: int | None) -> None:
    reader = Reader()
    reader.feed(output)
    reader.feed_error(stderr)
    json.dumps(reader.finish(exit, now=NOW).reply.message).encode()


def test_nothing_is_read_as_nothing() -> None:
    reply = read().reply
    assert (reply.format, reply.lines, reply.message, reply.block, reply.errors, reply.question) == ("text", 0, "", {}, (), False)
