"""Gemini's output: the object of `gemini -o json`, or the events of its stream.

The final text is the response, or what the agent has said since its last tool call.
"""

from __future__ import annotations

from typing import Any

from guard.loop.facts import Tokens
from guard.loop.reading.said import FAILURE, Said, count, http, inner, message_of, text_of

ASKING = ("ask_user",)
_DENIED = ("policy_violation",)


def read(event: dict[str, Any], said: Said) -> bool:
    """Takes in the object, or one event. False where it is none of Gemini's."""
    kind = event.get("type")
    if isinstance(event.get("response"), str) and ("stats" in event or "session_id" in event):
        said.result = text_of(event["response"])
    elif kind == "message" and "content" in event and "role" in event:
        _message(event, said)
    elif kind == "result" and event.get("status") in ("success", "error"):
        said.failure = FAILURE if event["status"] == "error" else ""
    elif kind in ("tool_use", "tool_result") and ("tool_name" in event or "tool_id" in event):
        _tool(event, said)
        return True
    elif not ("session_id" in event and (kind == "init" or isinstance(event.get("error"), dict))):
        return False
    said.session = text_of(event.get("session_id")) or said.session
    if isinstance(event.get("error"), dict):
        said.failed(message_of(event["error"]))
        said.status = http(event["error"].get("code")) or said.status
    if isinstance(event.get("stats"), dict):
        said.tokens = _usage(event["stats"])
    return True


def _tool(event: dict[str, Any], said: Said) -> None:
    if event["type"] == "tool_use":
        said.asked = said.asked or event.get("tool_name") in ASKING
        said.text = None  # a new message begins after it
        said.call(event.get("tool_name"), event.get("parameters"), event.get("tool_id"))
        return
    call = said.ended(event.get("tool_id"))
    if inner(event.get("error")).get("type") in _DENIED:
        said.deny(call)


def _message(event: dict[str, Any], said: Said) -> None:
    if event.get("role") in ("assistant", "model"):
        text = text_of(event.get("content"))
        said.text = text_of((said.text or "") + text) if event.get("delta") else text


def _usage(stats: dict[str, Any]) -> Tokens:
    """The tokens of all models; those out of the cache are part of the input."""
    models = inner(stats.get("models"))
    rows = [tokens for model in models.values() if isinstance(tokens := inner(model).get("tokens"), dict)] or [stats]
    found = Tokens()
    for row in rows:
        cached = count(row.get("cached"))
        total = count(row.get("prompt")) or count(row.get("input_tokens"))
        output = count(row.get("candidates")) or count(row.get("output_tokens"))
        found = Tokens(
            input=found.input + max(0, total - cached),
            output=found.output + output + count(row.get("thoughts")),
            cache_read=found.cache_read + cached,
        )
    return found
