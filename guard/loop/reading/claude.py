"""Claude Code's output as JSON, which Qwen Code writes too: a stream of events, an array of them, or the result alone.

The final text is the result. Prompts, tool results and what subagents say are none of it.
"""

from __future__ import annotations

from typing import Any

from guard.loop.facts import Tokens
from guard.loop.reading.said import FAILURE, MONEY, PROMPT, TURNS, Denial, Said, count, http, inner, money, text_of

TYPES = ("result", "assistant", "system", "rate_limit_event", "user", "stream_event")
READ = frozenset(("result", "assistant", "system", "rate_limit_event"))  # of these, what is more than passed over
ASKING = ("AskUserQuestion", "ask_user", "ask_user_question")
_EARLY = {"error_max_turns": TURNS, "error_max_budget_usd": MONEY}
_STATUSES = {"overloaded": "overloaded", "server_error": "server_error", "rate_limit": "429"}
_BARE = ("is_error", "session_id", "sessionId", "metadata")  # what stands beside a result without a type
_QWENS_ERROR = ("[API Error:", "]")


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


def bare(document: dict[str, Any], said: Said) -> bool:
    """Takes in a whole output that is a result without a type, as older clients write it. False where it is none."""
    if "type" in document or not isinstance(document.get("result"), str) or not any(key in document for key in _BARE):
        return False
    _result(document, said)
    return True


def qwen(event: dict[str, Any], said: Said) -> bool:
    """Takes in one event of Qwen Code's, which counts tokens by the session, and calls a failed call a success."""
    said.qwen = True
    return read(event, said)


def _result(event: dict[str, Any], said: Said) -> None:
    subtype = text_of(event.get("subtype"))
    text = text_of(event.get("result"))
    failed = event.get("is_error") is True or subtype.startswith("error") or (said.qwen and _is_qwens_error(text))
    said.errors.clear()
    if failed:
        said.result = None
        said.failed(text, _failure(event, subtype))
        errors = event.get("errors")
        for error in errors if isinstance(errors, list) else ():
            said.error(text_of(error))
        said.status = http(event.get("api_error_status")) or said.status
    else:
        said.result = text
        said.rejected = None
        said.went_well()
    said.session = text_of(event.get("session_id")) or text_of(event.get("sessionId")) or said.session
    said.cost_usd = money(event.get("total_cost_usd")) or said.cost_usd
    if isinstance(event.get("usage"), dict):
        said.tokens = usage(event["usage"], said.qwen)
        said.goes_on = said.qwen
    denials = event.get("permission_denials")
    for one in denials if isinstance(denials, list) else ():
        if isinstance(one, dict):
            _denied(one, said)


def _failure(event: dict[str, Any], subtype: str) -> str:
    return PROMPT if event.get("terminal_reason") == "prompt_too_long" else _EARLY.get(subtype, FAILURE)


def _is_qwens_error(text: str) -> bool:
    """Is a result nothing but the words in which Qwen Code reports an error of the model's server?"""
    start, end = _QWENS_ERROR
    return text.startswith(start) and text.rstrip().endswith(end)


def usage(values: dict[str, Any], inclusive: bool = False) -> Tokens:
    """The tokens of a `usage`. `inclusive`: those out of the cache are counted among the input, too."""
    cached = count(values.get("cache_read_input_tokens"))
    total = count(values.get("input_tokens"))
    return Tokens(
        input=max(0, total - cached) if inclusive else total,
        output=count(values.get("output_tokens")),
        cache_read=cached,
        cache_write=count(values.get("cache_creation_input_tokens")),
    )


def _denied(one: dict[str, Any], said: Said) -> None:
    """A denial by an entry of the result, or by an event that names the tool call by its id."""
    id = text_of(one.get("tool_use_id"))
    arguments = inner(one.get("tool_input")) or said.calls.get(id, Denial("", {})).arguments
    said.deny(Denial(text_of(one.get("tool_name")), arguments, id))


def _assistant(event: dict[str, Any], said: Said) -> None:
    own, error = not event.get("parent_tool_use_id"), event.get("error")
    if own and isinstance(error, str) and error:
        said.status = _STATUSES.get(error, said.status)
    parts = event["message"].get("content")
    texts = [parts] if isinstance(parts, str) else []
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, dict) and part.get("type") == "text":
            texts.append(text_of(part.get("text")))
        elif isinstance(part, dict) and part.get("type") == "tool_use":
            said.call(part.get("name"), part.get("input"), part.get("id"))
            said.asked = said.asked or (own and part.get("name") in ASKING)
    if own and any(text.strip() for text in texts) and not error:
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
    said.qwen = said.qwen or "qwen_code_version" in event
    if event.get("subtype") == "permission_denied":
        _denied(event, said)
