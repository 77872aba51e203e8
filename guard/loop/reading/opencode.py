"""OpenCode's events (`opencode run --format json`). The final text is the last text part of the session that was started."""

from __future__ import annotations

from typing import Any

from guard.loop.facts import Tokens
from guard.loop.reading.said import Denial, Said, count, http, inner, message_of, money, text_of

ASKING = ("question",)
_DENIED = ("The user rejected permission", "The user has specified a rule which prevents")


def read(event: dict[str, Any], said: Said) -> bool:
    """Takes in one event. False where it is none of OpenCode's."""
    session = event.get("sessionID")
    if not isinstance(session, str) or not isinstance(event.get("type"), str):
        return False
    said.session = said.session or text_of(session)
    kind, part = event["type"], event.get("part")
    if kind == "error":
        error = inner(event.get("error"))
        said.failed(message_of(event.get("error")))
        said.status = http(inner(error.get("data")).get("statusCode")) or said.status
    elif not isinstance(part, dict):
        return True
    elif kind == "step_finish":
        _usage(part, said)
    elif session != said.session:
        return True
    elif kind == "text":
        said.text = text_of(part.get("text"))
    elif kind == "tool_use":
        _tool(part, said)
    return True


def _tool(part: dict[str, Any], said: Said) -> None:
    state = inner(part.get("state"))
    said.asked = said.asked or part.get("tool") in ASKING
    if state.get("status") == "error" and text_of(state.get("error")).startswith(_DENIED):
        said.deny(Denial(text_of(part.get("tool")), inner(state.get("input")), text_of(part.get("callID"))))


def _usage(part: dict[str, Any], said: Said) -> None:
    """Adds the tokens of a step; those out of the cache are no part of its input."""
    values = inner(part.get("tokens"))
    cache = inner(values.get("cache"))
    old = said.tokens
    said.tokens = Tokens(
        input=old.input + count(values.get("input")),
        output=old.output + count(values.get("output")) + count(values.get("reasoning")),
        cache_read=old.cache_read + count(cache.get("read")),
        cache_write=old.cache_write + count(cache.get("write")),
    )
    said.cost_usd += money(part.get("cost"))
