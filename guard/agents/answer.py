"""What a hook answers, by the client's row: status, standard output, standard error."""

from __future__ import annotations

from guard.agents.table import AFTER, CONTEXT, FLAT, FLAT_CONTEXT, PERMISSION, SNAKE_CONTEXT
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


class Answer(NamedTuple):
    """An exit status with what goes to the two streams."""

    status: int
    out: str = ""
    error: str = ""


def consent(client: Client) -> Answer:
    """The tool may run, as far as guard is concerned: silence, so that the client's own questions are asked."""
    return Answer(CONSENTED, client.consent)


def refuse(client: Client | None, text: str) -> Answer:
    """The tool may not run; the text says why."""
    form = client.refusal if client is not None else ""
    if form == FLAT:
        return Answer(REFUSED, _line({"permissionDecision": "deny", "permissionDecisionReason": text.strip()}), text)
    if form == PERMISSION:
        first = text.strip().partition("\n")[0]
        return Answer(REFUSED, _line({"permission": "deny", "user_message": first, "agent_message": text.strip()}), text)
    return Answer(REFUSED, "", text)


def ask(event: str, text: str) -> Answer:
    """Whoever attends decides; only for clients whose row says so."""
    said = {"hookEventName": event, "permissionDecision": "ask", "permissionDecisionReason": text.strip()}
    return Answer(CONSENTED, _line({"hookSpecificOutput": said}))


def report(client: Client, call: Call, text: str) -> Answer:
    """What the model shall know after a tool has run; silence for an empty text."""
    if not text.strip():
        return Answer(CONSENTED)
    if client.report == CONTEXT and call.phase == AFTER:
        said = {"hookEventName": call.event, "additionalContext": text.strip()}
        return Answer(CONSENTED, _line({"hookSpecificOutput": said}))
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


def _line(values: dict[str, object]) -> str:
    return dumps(values) + "\n"
