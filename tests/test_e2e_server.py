"""The scripted model server of tests/e2e, and the payloads that were recorded with it: both hold without any client."""

from __future__ import annotations

import gzip
import json
import re
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from guard.agents import read
from guard.agents.table import AFTER, BEFORE, CLIENTS, PATCH, SHELL, WRITE
from tests.e2e.server import Call, Script, Turn, serving

PAYLOADS = sorted((Path(__file__).parent / "data/payloads").glob("*/*.json"))
TOOLS = [{"name": "Bash"}]
PATHS = {
    "messages": "/v1/messages",
    "responses": "/v1/responses",
    "chat": "/v1/chat/completions",
    "gemini": "/v1beta/models/m:generateContent",
}


def post(url: str, body: Any, headers: dict[str, str] | None = None, raw: bytes | None = None) -> tuple[str, str]:
    data = json.dumps(body).encode() if raw is None else raw
    request = urllib.request.Request(url, data, {"Content-Type": "application/json", **(headers or {})})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def conversation(dialect: str, *results: str) -> dict[str, Any]:
    """A request in which these results have come in."""
    if dialect == "messages":
        said = [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": each}]} for each in results]
        return {"tools": TOOLS, "messages": [{"role": "user", "content": "go"}, *said]}
    if dialect == "responses":
        return {"tools": TOOLS, "input": [{"type": "function_call_output", "output": each} for each in results]}
    if dialect == "chat":
        return {"tools": TOOLS, "messages": [{"role": "tool", "content": each} for each in results]}
    parts = [{"functionResponse": {"name": "x", "response": {"output": each}}} for each in results]
    return {"tools": TOOLS, "contents": [{"role": "user", "parts": parts}]}


SCRIPT = (
    Turn("first", (Call("Bash", {"command": "echo one"}),)),
    Turn("second", (Call("Bash", {"command": "echo two"}),)),
    Turn("end"),
)


@pytest.mark.parametrize("dialect", PATHS)
def test_a_turn_is_due_until_its_calls_have_results(dialect: str) -> None:
    with serving(Script(SCRIPT)) as script:
        said = [post(script.url + PATHS[dialect], conversation(dialect, *"ab"[:count]))[1] for count in (0, 0, 1, 2)]
    assert ["echo one" in text for text in said] == [True, True, False, False]
    assert ["echo two" in text for text in said] == [False, False, True, False]
    assert "end" in said[3]
    assert script.results == ["a", "b"]


@pytest.mark.parametrize("dialect", PATHS)
def test_a_stream_says_the_same(dialect: str) -> None:
    path = PATHS[dialect].replace(":generate", ":streamGenerate")
    with serving(Script(SCRIPT)) as script:
        form, text = post(script.url + path, {**conversation(dialect), "stream": True})
    assert form == "text/event-stream"
    events = [json.loads(line) for line in re.findall(r"^data: (\{.*)$", text, re.M)]
    assert events
    assert "Bash" in text
    assert "echo one" in text


def test_a_request_without_tools_is_the_clients_own_and_moves_nothing() -> None:
    with serving(Script(SCRIPT)) as script:
        text = post(f"{script.url}/v1/messages", {"messages": [{"role": "user", "content": "a title?"}]})[1]
    assert "Bash" not in text
    assert script.requests == []


def test_a_conversation_of_a_subagent_gets_turns_of_its_own() -> None:
    others = (Turn(calls=(Call("Bash", {"command": "whoami"}),)), Turn("over"))
    with serving(Script(SCRIPT, "go", others)) as script:
        body = conversation("messages")
        assert "echo one" in post(f"{script.url}/v1/messages", body)[1]
        body["messages"][0]["content"] = "something else"
        assert "whoami" in post(f"{script.url}/v1/messages", body)[1]
    assert len(script.requests) == 1


def test_a_body_may_be_packed() -> None:
    packed = gzip.compress(json.dumps(conversation("messages", "a")).encode())
    with serving(Script(SCRIPT)) as script:
        assert "echo two" in post(f"{script.url}/v1/messages", None, {"Content-Encoding": "gzip"}, packed)[1]


def test_free_text_and_groups_of_tools_in_responses() -> None:
    turn = Turn(calls=(Call("apply_patch", "*** Begin Patch\n"), Call("write_file", {"path": "x"}, "mcp__files")))
    with serving(Script((turn,))) as script:
        found = json.loads(post(f"{script.url}/v1/responses", conversation("responses"))[1])["output"]
    assert [item["type"] for item in found] == ["custom_tool_call", "function_call"]
    assert found[0]["input"] == "*** Begin Patch\n"
    assert found[1]["namespace"] == "mcp__files"


def test_an_unknown_address_is_404() -> None:
    with serving(Script(SCRIPT)) as script, pytest.raises(urllib.error.HTTPError) as caught:
        post(f"{script.url}/v1/nothing", {})
    assert caught.value.code == 404


def called(path: Path) -> read.Call:
    """A payload as guard reads it. Copilot's do not name their event."""
    name, values = path.parent.name, json.loads(path.read_text())
    after = "postToolUse" if "toolResult" in values else "preToolUse"
    event = "" if name != "copilot" else after if "toolName" in values else "sessionStart"
    return read.call(CLIENTS[name], read.payload(path.read_bytes()), event)


@pytest.mark.parametrize("path", PAYLOADS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_recorded_payload_is_read(path: Path) -> None:
    call = called(path)
    assert call.cwd.startswith("/home/user/project")
    assert call.session
    if re.search("BeforeTool|[pP]reToolUse|execute.before", path.stem):
        assert call.phase == BEFORE
        assert call.tool
        assert call.arguments
    if re.search("AfterTool|[pP]ostToolUse|execute.after", path.stem):
        assert call.phase == AFTER


def test_the_payloads_name_neither_machine_nor_session() -> None:
    for path in PAYLOADS:
        text = path.read_text()
        assert not re.search(r"/tmp/tmp|/root/|/work/|127\.0\.0\.1|\bpython3\.\d+/", text), path


@pytest.mark.parametrize("name", sorted({path.parent.name for path in PAYLOADS}))
def test_every_tool_that_a_client_was_seen_to_call_is_known(name: str) -> None:
    calls = [called(path) for path in PAYLOADS if path.parent.name == name]
    found = {call.tool: call.kind for call in calls if call.phase == BEFORE and call.tool}
    assert [tool for tool, what in found.items() if not what] == []
    assert {SHELL, PATCH if name == "codex" else WRITE} <= set(found.values())
