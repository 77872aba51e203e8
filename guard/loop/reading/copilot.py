"""Copilot's events (`copilot --output-format json`), and the file in which it tells its tokens.

The final text is the agent's last message that is no subagent's.
"""

from __future__ import annotations

from typing import Any

from guard.loop.facts import Tokens
from guard.loop.reading.said import FAILURE, Said, count, http, inner, message_of, text_of

ASKING = ("ask_user",)
KINDS = ("session.", "assistant.", "tool.", "user.", "model.", "subagent.", "permission.", "hook.", "system.", "abort")
_QUOTA = ("quota",)
_OVER = "402"  # the status of a quota that is used up
_DENIED = ("denied", "rejected")
_OTHERS = ("parentToolCallId", "agentId")  # what marks a message of a subagent


def read(event: dict[str, Any], said: Said) -> bool:
    """Takes in one event. False where it is none of Copilot's."""
    kind, data = event.get("type"), event.get("data")
    if kind == "result" and "sessionId" in event and "exitCode" in event:
        said.session = text_of(event["sessionId"]) or said.session
        if event["exitCode"] and not said.failure:
            said.failure = FAILURE
        return True
    if not isinstance(kind, str) or not kind.startswith(KINDS) or not isinstance(data, dict):
        return False
    own = not any(event.get(key) or data.get(key) for key in _OTHERS)
    if kind == "assistant.message" and own:
        _message(data, said)
    elif kind == "tool.execution_start":
        said.call(data.get("toolName"), data.get("arguments"), data.get("toolCallId"))
        said.asked = said.asked or (own and data.get("toolName") in ASKING)
    elif kind == "tool.execution_complete":
        call = said.ended(data.get("toolCallId"))
        if data.get("success") is False and inner(data.get("error")).get("code") in _DENIED:
            said.deny(call)
    elif kind == "session.error":
        said.failed(message_of(data))
        said.status = http(data.get("statusCode")) or said.status
        said.quota = data.get("errorType") in _QUOTA or said.status == _OVER
    return True


def _message(data: dict[str, Any], said: Said) -> None:
    if text_of(data.get("content")).strip():
        said.text = text_of(data.get("content"))
        said.went_well()


def usage(values: dict[str, Any], said: Said) -> None:
    """Takes in the usage that it has written to a file: tokens of the whole session, those out of the cache part of the input."""
    found, read_any = Tokens(), False
    for model in inner(values.get("modelMetrics")).values():
        row = inner(inner(model).get("usage"))
        read_any = read_any or bool(row)
        cached = count(row.get("cacheReadTokens"))
        found = Tokens(
            input=found.input + max(0, count(row.get("inputTokens")) - cached),
            output=found.output + count(row.get("outputTokens")),
            cache_read=found.cache_read + cached,
            cache_write=found.cache_write + count(row.get("cacheWriteTokens")),
        )
    if read_any:
        said.tokens, said.goes_on = found, True
