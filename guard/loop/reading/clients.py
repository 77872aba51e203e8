"""The JSON of Codex, OpenCode, Gemini and Copilot. The final text is the agent's last message."""

from __future__ import annotations

from typing import Any

from guard.loop.facts import Tokens
from guard.loop.reading.said import FAILURE, Said, count, money, text_of


def codex(event: dict[str, Any], said: Said) -> bool:
    """An event of `codex exec --json`. False where it is none."""
    kind = event.get("type")
    if kind == "thread.started":
        said.session = text_of(event.get("thread_id"))
    elif kind == "item.completed" and isinstance(event.get("item"), dict):
        item = event["item"]
        if (item.get("type") or item.get("item_type")) in ("agent_message", "assistant_message"):
            said.text = text_of(item.get("text"))
    elif kind == "turn.completed":
        said.failure, said.status = "", ""
        said.errors.clear()
        _codex_usage(event.get("usage"), said)
    elif kind == "turn.failed":
        said.failure = FAILURE
        error = event.get("error")
        said.error(text_of(error.get("message")) if isinstance(error, dict) else text_of(error))
    elif kind == "error" and isinstance(event.get("message"), str):
        said.error(text_of(event["message"]))
    elif kind not in ("turn.started", "item.started", "item.updated"):
        return False
    return True


def _codex_usage(values: object, said: Said) -> None:
    if not isinstance(values, dict):
        return
    cached = count(values.get("cached_input_tokens"))
    total = count(values.get("input_tokens"))
    old = said.tokens
    said.tokens = Tokens(
        input=old.input + max(0, total - cached),
        output=old.output + count(values.get("output_tokens")),
        cache_read=old.cache_read + cached,
        cache_write=old.cache_write,
    )


def opencode(event: dict[str, Any], said: Said) -> bool:
    """An event of `opencode run --format json`. False where it is none."""
    if not isinstance(event.get("sessionID"), str):
        return False
    said.session = text_of(event["sessionID"])
    kind, part = event.get("type"), event.get("part")
    if kind == "error":
        said.failure = FAILURE
        said.error(_message(event.get("error")))
    elif not isinstance(part, dict):
        return True
    elif kind == "text":
        said.text = text_of(part.get("text"))
    elif kind == "step_finish":
        _opencode_usage(part, said)
    return True


def _opencode_usage(part: dict[str, Any], said: Said) -> None:
    values = part.get("tokens")
    values = values if isinstance(values, dict) else {}
    cache = values.get("cache")
    cache = cache if isinstance(cache, dict) else {}
    old = said.tokens
    said.tokens = Tokens(
        input=old.input + count(values.get("input")),
        output=old.output + count(values.get("output")) + count(values.get("reasoning")),
        cache_read=old.cache_read + count(cache.get("read")),
        cache_write=old.cache_write + count(cache.get("write")),
    )
    said.cost_usd += money(part.get("cost"))


def _message(error: object) -> str:
    """The text of an error object, whichever way it is nested."""
    while isinstance(error, dict):
        error = error.get("message") or error.get("data") or error.get("error") or error.get("name")
    return text_of(error)


def gemini(event: dict[str, Any], said: Said) -> bool:
    """The object of `gemini -o json`, or an event of its stream. False where it is neither."""
    if isinstance(event.get("response"), str) and ("stats" in event or "session_id" in event):
        said.result = text_of(event["response"])
    elif event.get("type") == "message" and "content" in event and "role" in event:
        _gemini_message(event, said)
    elif event.get("type") == "result" and event.get("status") in ("success", "error"):
        said.failure = FAILURE if event["status"] == "error" else ""
    elif not _is_geminis(event):
        return False
    if event.get("type") == "tool_use":
        said.asked = said.asked or event.get("tool_name") == "ask_user"
        said.text = None  # a new message begins after it
    said.session = text_of(event.get("session_id")) or said.session
    if isinstance(event.get("error"), dict):
        said.failure = FAILURE
        said.error(_message(event["error"]))
        code = event["error"].get("code")
        said.status = str(code) if isinstance(code, int) and 400 <= code < 600 else said.status
    if isinstance(event.get("stats"), dict):
        said.tokens = _gemini_usage(event["stats"])
    return True


def _is_geminis(event: dict[str, Any]) -> bool:
    """Is an event without a final text Gemini's?"""
    kind = event.get("type")
    if kind in ("tool_use", "tool_result"):
        return "tool_name" in event or "tool_id" in event
    return "session_id" in event and (kind == "init" or isinstance(event.get("error"), dict))


def _gemini_message(event: dict[str, Any], said: Said) -> None:
    if event.get("role") in ("assistant", "model"):
        text = text_of(event.get("content"))
        said.text = text_of((said.text or "") + text) if event.get("delta") else text


def _gemini_usage(stats: dict[str, Any]) -> Tokens:
    models = stats.get("models")
    rows = [model.get("tokens") for model in models.values() if isinstance(model, dict)] if isinstance(models, dict) else [stats]
    found = Tokens()
    for row in rows:
        if isinstance(row, dict):
            cached = count(row.get("cached"))
            total = count(row.get("prompt")) or count(row.get("input_tokens"))
            output = count(row.get("candidates")) or count(row.get("output_tokens"))
            found = Tokens(
                input=found.input + max(0, total - cached),
                output=found.output + output + count(row.get("thoughts")),
                cache_read=found.cache_read + cached,
            )
    return found


def copilot(event: dict[str, Any], said: Said) -> bool:
    """An event of `copilot --output-format json`. False where it is none."""
    kind, data = event.get("type"), event.get("data")
    if not isinstance(kind, str) or not isinstance(data, dict):
        return False
    if kind == "assistant.message" and text_of(data.get("content")).strip():
        said.text = text_of(data.get("content"))
    elif kind == "session.error":
        said.failure = FAILURE
        said.error(_message(data))
    return True
