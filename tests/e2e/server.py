"""A model server on the loopback that says what a script tells it to, in the dialect of whoever asks.

It speaks what agents' clients speak: Anthropic's messages, OpenAI's responses and chat completions, Gemini's generateContent,
each whole or streamed. It has no model. Which turn is due follows from the request alone: a turn is over once the conversation
holds a result for each of its calls, so a request that is sent again gets the same answer.
"""

from __future__ import annotations

import gzip
import itertools
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

Json = dict[str, Any]


class Call(NamedTuple):
    """A call of a tool. Arguments that are a text belong to a tool that takes free text; a `space` is the name of a group of
    tools, where the dialect has such."""

    tool: str
    arguments: Json | str
    space: str = ""


class Failure(NamedTuple):
    """An error that the server answers with in place of a model: its HTTP status, body and headers."""

    status: int
    body: Json
    headers: tuple[tuple[str, str], ...] = ()


class Turn(NamedTuple):
    """What the model says at once: a text, calls of tools, or both; or how the server fails."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    failure: Failure | None = None


class Dialect(NamedTuple):
    """`results` finds what tools gave in a request, oldest first; `whole` and `events` form a turn, `ending` closes a stream."""

    results: Callable[[Json], list[str]]
    whole: Callable[[Turn, str], Json]
    events: Callable[[Turn, str], list[Json]]
    named: bool = False
    ending: bytes = b""


def text_of(value: Any) -> str:
    """All the text in a value, wherever it stands."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(map(text_of, value))
    if isinstance(value, dict):
        return "\n".join(text_of(each) for key, each in value.items() if key not in ("type", "id", "name", "tool_use_id"))
    return "" if value is None else str(value)


def _named(turn: Turn, prefix: str) -> Iterator[tuple[str, Call]]:
    for call in turn.calls:
        yield f"{prefix}_{next(_NUMBERS):06d}", call


_NUMBERS = itertools.count(1)


def _messages_results(body: Json) -> list[str]:
    blocks = [block for each in body.get("messages", []) if isinstance(each["content"], list) for block in each["content"]]
    return [text_of(block.get("content")) for block in blocks if block["type"] == "tool_result"]


def _messages_whole(turn: Turn, model: str) -> Json:
    content: list[Json] = [{"type": "text", "text": turn.text}] if turn.text else []
    content += [
        {"type": "tool_use", "id": name, "name": call.tool, "input": call.arguments} for name, call in _named(turn, "toolu")
    ]
    counts = {"input_tokens": 100, "output_tokens": 20, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    return {
        "id": f"msg_{next(_NUMBERS)}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": "tool_use" if turn.calls else "end_turn",
        "stop_sequence": None,
        "usage": counts,
    }


def _messages_events(turn: Turn, model: str) -> list[Json]:
    whole = _messages_whole(turn, model)
    events: list[Json] = [{"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}]
    for index, block in enumerate(whole["content"]):
        if block["type"] == "text":
            empty, delta = {"text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty, delta = {"input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events += [
            {"type": "content_block_start", "index": index, "content_block": {**block, **empty}},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    stop = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    return [*events, {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 20}}, {"type": "message_stop"}]


def _responses_results(body: Json) -> list[str]:
    items = body.get("input")
    items = items if isinstance(items, list) else []
    return [text_of(item.get("output")) for item in items if str(item.get("type")).endswith("_call_output")]


def _responses_whole(turn: Turn, model: str) -> Json:
    output: list[Json] = []
    if turn.text:
        part = {"type": "output_text", "text": turn.text, "annotations": []}
        output.append({"type": "message", "id": f"msg_{next(_NUMBERS)}", "role": "assistant", "content": [part]})
    for name, call in _named(turn, "call"):
        if isinstance(call.arguments, str):
            item = {"type": "custom_tool_call", "input": call.arguments}
        else:
            item = {"type": "function_call", "arguments": json.dumps(call.arguments)}
        space = {"namespace": call.space} if call.space else {}
        output.append({**item, **space, "id": f"item_{name}", "call_id": name, "name": call.tool})
    for item in output:
        item["status"] = "completed"
    counts = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    return {
        "id": f"resp_{next(_NUMBERS)}",
        "object": "response",
        "created_at": 1,
        "model": model,
        "status": "completed",
        "output": output,
        "usage": {**counts, **details},
    }


def _responses_events(turn: Turn, model: str) -> list[Json]:
    whole = _responses_whole(turn, model)
    begun = {**whole, "status": "in_progress", "output": []}
    events: list[Json] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(whole["output"]):
        events.append({"type": "response.output_item.added", "output_index": index, "item": item})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": "response.completed", "response": whole})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def _chat_results(body: Json) -> list[str]:
    return [text_of(each.get("content")) for each in body.get("messages", []) if each.get("role") == "tool"]


def _chat_message(turn: Turn) -> Json:
    calls = [
        {"index": index, "id": name, "type": "function", "function": {"name": call.tool, "arguments": json.dumps(call.arguments)}}
        for index, (name, call) in enumerate(_named(turn, "call"))
    ]
    return {"role": "assistant", "content": turn.text or None, **({"tool_calls": calls} if calls else {})}


def _chat_frame(model: str, kind: str, choices: list[Json]) -> Json:
    return {"id": f"chat_{next(_NUMBERS)}", "object": kind, "created": 1, "model": model, "choices": choices}


_CHAT_COUNTS = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


def _chat_whole(turn: Turn, model: str) -> Json:
    choice = {"index": 0, "message": _chat_message(turn), "finish_reason": "tool_calls" if turn.calls else "stop"}
    return {**_chat_frame(model, "chat.completion", [choice]), "usage": _CHAT_COUNTS}


def _chat_events(turn: Turn, model: str) -> list[Json]:
    kind = "chat.completion.chunk"
    said = {"index": 0, "delta": _chat_message(turn), "finish_reason": None}
    over = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if turn.calls else "stop"}
    counted = {**_chat_frame(model, kind, []), "usage": _CHAT_COUNTS}
    return [_chat_frame(model, kind, [said]), _chat_frame(model, kind, [over]), counted]


def _gemini_results(body: Json) -> list[str]:
    parts = [part for each in body.get("contents", []) for part in each.get("parts", [])]
    return [text_of(part["functionResponse"].get("response")) for part in parts if "functionResponse" in part]


def _gemini_whole(turn: Turn, model: str) -> Json:
    parts: list[Json] = [{"text": turn.text}] if turn.text else []
    parts += [{"functionCall": {"name": call.tool, "args": call.arguments}} for call in turn.calls]
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120},
        "modelVersion": model,
        "responseId": f"r{next(_NUMBERS)}",
    }


DIALECTS = {
    "/messages": Dialect(_messages_results, _messages_whole, _messages_events, named=True),
    "/responses": Dialect(_responses_results, _responses_whole, _responses_events, named=True),
    "/chat/completions": Dialect(_chat_results, _chat_whole, _chat_events, ending=b"data: [DONE]\n\n"),
    "enerateContent": Dialect(_gemini_results, _gemini_whole, lambda turn, model: [_gemini_whole(turn, model)]),
}
# What clients ask for besides, and would rather have an answer to.
ASIDE: dict[str, Json] = {
    "/count_tokens": {"input_tokens": 100},
    ":countTokens": {"totalTokens": 100},
    "/models": {
        "object": "list",
        "data": [{"id": "scripted", "object": "model", "created": 1, "owned_by": "tests"}],
        "models": [],
    },
}


@dataclass
class Script:
    """The turns of a conversation, and every request that was made for one of them.

    A conversation in which the `prompt` does not stand is one that the client has started by itself, for a subagent: it gets the
    turns of `others`, and is not kept.
    """

    turns: tuple[Turn, ...]
    prompt: str = ""
    others: tuple[Turn, ...] = (Turn("Hello."),)
    url: str = ""
    requests: list[Json] = field(default_factory=list)
    results: list[str] = field(default_factory=list)

    def next(self, body: Json, dialect: Dialect) -> Turn:
        """The turn that is due. A request without tools is one of the client's own (a title, a summary)."""
        if not _has_tools(body):
            return Turn("scripted")
        results = dialect.results(body)
        if self.prompt not in json.dumps(body, ensure_ascii=False):
            return _due(self.others, len(results))
        self.requests.append(body)
        if len(results) > len(self.results):
            self.results = results
        return _due(self.turns, len(results))


def _due(turns: tuple[Turn, ...], results: int) -> Turn:
    """The first turn with a call that has no result yet, else the last one that only says something."""
    calls = itertools.accumulate(len(turn.calls) for turn in turns)
    last = Turn(turns[-1].text or "Done.", failure=turns[-1].failure)
    return next((turn for turn, ended in zip(turns, calls, strict=True) if ended > results), last)


def _has_tools(body: Json) -> bool:
    items = body.get("input")
    deferred = [item for item in items if item.get("type") == "additional_tools"] if isinstance(items, list) else []
    return bool(body.get("tools") or deferred)


@contextmanager
def serving(script: Script) -> Iterator[Script]:
    """A server that follows a script while the block runs. `results` are the texts that the model got from its tools."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"script": script}))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    script.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    script: Script

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""

    def do_HEAD(self) -> None:
        self._answer({})

    def do_GET(self) -> None:
        self._aside()

    def do_POST(self) -> None:
        path = self.path.partition("?")[0]
        dialect = next((each for ending, each in DIALECTS.items() if path.endswith(ending)), None)
        body = self._body()
        if dialect is None:
            self._aside()
            return
        turn, model = self.script.next(body, dialect), str(body.get("model", "scripted"))
        if turn.failure is not None:
            self._answer(turn.failure.body, turn.failure.status, turn.failure.headers)
        elif body.get("stream") or ":stream" in path:
            self._stream(dialect, dialect.events(turn, model))
        else:
            self._answer(dialect.whole(turn, model))

    def _aside(self) -> None:
        path = self.path.partition("?")[0].rstrip("/")
        known = next((answer for ending, answer in ASIDE.items() if path.endswith(ending)), None)
        self._answer(known if known is not None else {"error": {"message": f"nothing here: {path}"}}, 200 if known else 404)

    def _body(self) -> Json:
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            data = b"".join(self._chunks())
        else:
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Content-Encoding") == "gzip":
            data = gzip.decompress(data)
        found = json.loads(data or b"{}")
        return found if isinstance(found, dict) else {}

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _answer(self, value: Json, status: int = 200, headers: tuple[tuple[str, str], ...] = ()) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        for name, text in headers:
            self.send_header(name, text)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _stream(self, dialect: Dialect, events: list[Json]) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        with suppress(ConnectionError):  # the client may have been ended meanwhile
            for event in events:
                name = f"event: {event['type']}\n" if dialect.named else ""
                self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())
            self.wfile.write(dialect.ending)
