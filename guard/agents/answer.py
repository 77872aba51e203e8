"""What a hook answers, by the client's row: status, standard output, standard error."""

from __future__ import annotations

from guard.agents.table import AFTER, CONTEXT, FLAT, FLAT_CONTEXT, NAMED, PERMISSION, SNAKE_CONTEXT
from guard.json_text import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NamedTuple

    from guard.agents.read import Call
    from guard.agents.table import Client
else:
    from guard.record import NamedTuple

CONSENTED, REFUSED = 0, 2
NAMING = "PreToolUse"  # the event at which NAMED is understood; who calls hooks of another client's has other events


class Answer(NamedTuple):
    """An exit status with what goes to the two streams."""

    status: int
    out: str = ""
    error: str = ""


def consent(client: Client) -> Answer:
    """The tool may run, as far as guard is concerned: silence, so that the client's own questions are asked."""
    return Answer(CONSENTED, client.consent)


def refuse(client: Client | None, text: str, event: str = "") -> Answer:
    """The tool may not run; the text says why. The status alone refuses: JSON is for clients that show its reason better."""
    form = client.refusal if client is not None else ""
    if form == NAMED and event == NAMING:
        return Answer(REFUSED, _said(event, "deny", text), text)
    if form == FLAT:
        return Answer(REFUSED, _line({"permissionDecision": "deny", "permissionDecisionReason": text.strip()}), text)
    if form == PERMISSION:
        said: dict[str, object] = {"permission": "deny", **dict.fromkeys(("user_message", "agent_message"), text.strip())}
        return Answer(REFUSED, _line(said), text)  # which of them the model gets to read differs from version to version
    return Answer(REFUSED, "", text)


def ask(event: str, text: str) -> Answer:
    """Whoever attends decides; only for clients whose row says so."""
    return Answer(CONSENTED, _said(event, "ask", text))


def report(client: Client, call: Call, text: str) -> Answer:
    """What the model shall know after a tool has run; silence for an empty text."""
    if not text.strip():
        return Answer(CONSENTED)
    if client.report == CONTEXT and call.phase == AFTER:
        context = {"hookEventName": call.event, "additionalContext": text.strip()}
        return Answer(CONSENTED, _line({"hookSpecificOutput": context}))
    if client.report == FLAT_CONTEXT:
        return Answer(CONSENTED, _line({"additionalContext": text.strip()}))
    if client.report == SNAKE_CONTEXT:
        return Answer(CONSENTED, _line({"additional_context": text.strip()}))
    return Answer(REFUSED, "", text)


def notice(client: Client, text: str) -> Answer:
    """What the person shall know when a turn is over, where the client has a place for that; the model must not go on for it."""
    shown = bool(text.strip()) and client.report == CONTEXT
    return Answer(CONSENTED, _line({"systemMessage": text.strip()}) if shown else "")


def attended(client: Client, environ: Mapping[str, str]) -> bool:
    """Can somebody be asked? Never inside of a loop."""
    if not client.ask or environ.get("GUARD_LOOP"):
        return False
    for variable, value in client.attended:
        if variable in environ:
            return environ[variable] == value
    return False


def _said(event: str, decision: str, text: str) -> str:
    said = {"hookEventName": event, "permissionDecision": decision, "permissionDecisionReason": text.strip()}
    return _line({"hookSpecificOutput": said})


def _line(values: dict[str, object]) -> str:
    return dumps(values) + "\n"
