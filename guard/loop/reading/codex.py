"""Codex's events (`codex exec --json`). The final text is the agent's last message."""

from __future__ import annotations

import shlex
from typing import Any

from guard.loop.facts import Tokens
from guard.loop.reading.said import Denial, Said, count, inner, message_of, text_of

_MESSAGES = ("agent_message", "assistant_message")
_OTHERS = ("turn.started", "item.started", "item.updated")
_DECLINED = "declined"
_CALLS = {"command_execution": "shell", "file_change": "apply_patch"}


def read(event: dict[str, Any], said: Said) -> bool:
    """Takes in one event. False where it is none of Codex's."""
    kind = event.get("type")
    if kind == "thread.started":
        said.session = text_of(event.get("thread_id")) or said.session
    elif kind == "item.completed" and isinstance(event.get("item"), dict):
        _item(event["item"], said)
    elif kind == "turn.completed":
        said.went_well()
        _usage(event.get("usage"), said)
    elif kind == "turn.failed":
        said.failed(message_of(event.get("error")))
    elif kind == "error" and isinstance(event.get("message"), str):
        said.error(text_of(event["message"]))
    elif kind not in _OTHERS:
        return False
    return True


def _item(item: dict[str, Any], said: Said) -> None:
    kind = item.get("type") or item.get("item_type")
    if kind in _MESSAGES:
        said.text = text_of(item.get("text"))
    elif item.get("status") == _DECLINED and isinstance(kind, str) and kind:
        arguments = {"command": unwrapped(text_of(item.get("command")))} if kind == "command_execution" else {}
        said.deny(Denial(_CALLS.get(kind, text_of(kind)), arguments, text_of(item.get("id"))))


def unwrapped(command: str) -> str:
    """The command inside `/bin/bash -c '...'`, which Codex puts around each."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    return words[2] if len(words) == 3 and words[1] in ("-c", "-lc") and words[0].endswith("sh") else command


def _usage(values: object, said: Said) -> None:
    """The tokens of the whole session, in which those out of the cache are part of the input."""
    usage = inner(values)
    if not usage:
        return
    cached = count(usage.get("cached_input_tokens"))
    said.goes_on = True
    said.tokens = Tokens(
        input=max(0, count(usage.get("input_tokens")) - cached),
        output=count(usage.get("output_tokens")),
        cache_read=cached,
    )
