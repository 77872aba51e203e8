"""Claude Code's output as JSON, which Qwen Code writes too: a stream of events, an array of them, or the result alone.

The final text is the result. Prompts, tool results and what subagents say are none of it.
"""

from __future__ import annotations

from typing import Any

from guard.loop.facts import Tokens
from guard.loop.reading.said import FAILURE, MONEY, TURNS, Denial, Said, count, money, text_of

TYPES = ("result", "assistant", "system", "rate_limit_event", "user", "stream_event")
READ = frozenset(("result", "assistant", "system", "rate_limit_event"))  # of these, what is more than passed over
ASKING = ("AskUserQuestion", "ask_user", "ask_user_question")
_EARLY = {"error_max_turns": TURNS, "error_max_budget_usd": MONEY}
_STATUSES = {"overloaded": "overloaded", "server_error": "server_error", "rate_limit": "429"}


def read(event: dict[str, Any], said: Said) -> bool:
    """Takes in one event. False where it is none of Claude's."""
    kind = event.get("type")
    if kind == "result" and ("is_error" in event or "subtype" in event or "result" in event):
        _result(event, said)
    elif kind == "assistant" and isinstance(event.get("message"), dict):
        _assistant(event, said)
    elif kind == "rate_limit_event" and isinstance(event.get("rate_limit_info"), dict):
        _limit(event["rate_limit_info"], said)
    elif kind == "system" and isinstance(event.get("subtype"), str) and "session_id" in event:
        _system(event, said)
    else:
        return False
    return True


def _result(event: dict[str, Any], said: Said) -> None:
    subtype = text_of(event.get("subtype"))
    failed = event.get("is_error") is True or subtype.startswith("error")
    text = text_of(event.get("result"))
    said.failure = (_EARLY.get(subtype, FAILURE)) if failed else ""
    said.errors.clear()
    if failed:
        said.result = None
        said.error(text)
        for error in event.get("errors") or ():
            said.error(text_of(error))
    else:
        said.result = text
        said.rejected = None
    status = event.get("api_error_status")
    if failed and isinstance(status, int) and not isinstance(status, bool):
        said.status = str(status)
    elif not failed:
        said.status = ""
    said.session = text_of(event.get("session_id")) or said.session
    said.cost_usd = money(event.get("total_cost_usd")) or said.cost_usd
    if isinstance(event.get("usage"), dict):
        said.tokens = usage(event["usage"])
    denials = event.get("permission_denials")
    for one in denials if isinstance(denials, list) else ():
        if isinstance(one, dict):
            _denied(one, said)


def usage(values: dict[str, Any]) -> Tokens:
    """The tokens of a `usage`."""
    return Tokens(
        input=count(values.get("input_tokens")),
        output=count(values.get("output_tokens")),
        cache_read=count(values.get("cache_read_input_tokens")),
        cache_write=count(values.get("cache_creation_input_tokens")),
    )


def _denied(one: dict[str, Any], said: Said) -> None:
    arguments = one.get("tool_input")
    tool = text_of(one.get("tool_name"))
    said.deny(Denial(tool, arguments if isinstance(arguments, dict) else {}, text_of(one.get("tool_use_id"))))


def _assistant(event: dict[str, Any], said: Said) -> None:
    if event.get("parent_tool_use_id"):
        return
    error = event.get("error")
    if isinstance(error, str) and error:
        said.status = _STATUSES.get(error, said.status)
    parts = event["message"].get("content")
    texts = [parts] if isinstance(parts, str) else []
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, dict) and part.get("type") == "text":
            texts.append(text_of(part.get("text")))
        elif isinstance(part, dict) and part.get("type") == "tool_use":
            said.asked = said.asked or part.get("name") in ASKING
    if any(text.strip() for text in texts) and not error:
        said.text = text_of("\n".join(texts))


def _limit(info: dict[str, Any], said: Said) -> None:
    if info.get("status") != "rejected":
        return
    said.rejected = (text_of(info.get("rateLimitType")) or "usage", _milliseconds(info.get("resetsAt")))


def _milliseconds(at: object) -> int | None:
    """A time in seconds or milliseconds since 1970 as milliseconds; None for what is none."""
    if not isinstance(at, int | float) or isinstance(at, bool) or not 0 < at < 1e13:
        return None
    return int(at if at > 1e11 else at * 1000)


def _system(event: dict[str, Any], said: Said) -> None:
    said.session = text_of(event.get("session_id")) or said.session
    if event.get("subtype") == "permission_denied":
        _denied(event, said)
