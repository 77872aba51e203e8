"""The payload of a hook, read by a client's row: the event, the tool, its arguments and where it would run."""

from __future__ import annotations

from zlib import crc32

from guard.agents.table import AFTER, BACKGROUND, BEFORE, OTHER, STILL_RUNNING, TASK, kind
from guard.json_text import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NamedTuple

    from guard.agents.table import Client
else:
    from guard.record import NamedTuple

_BLANKS = " \t\n\r"


class Malformed(Exception):
    """The payload is not what the client sends; the message is a sentence without its end."""


class Call(NamedTuple):
    """One call of a hook. `phase` is what the event is to guard (table.BEFORE, ...), `kind` what the tool does with its
    arguments ("" for one that nothing is known of), `session` and `call` the client's own names, "" where it gives none.
    `lingers`: something goes on when a tool, or at the end of a turn, when that is over, as far as the client says so."""

    phase: str
    event: str
    tool: str
    kind: str
    arguments: dict[str, Any]
    cwd: str
    session: str
    call: str
    version: str
    lingers: bool = False


def payload(data: bytes) -> dict[str, Any]:
    """The JSON object in the data. Raises Malformed."""
    try:
        text = data.removeprefix(b"\xef\xbb\xbf").decode().strip(_BLANKS)
        if not text:
            raise Malformed("the hook got no input")
        value = loads(text)
    except (ValueError, RecursionError) as error:
        raise Malformed("the hook got something that is no JSON") from error
    if not isinstance(value, dict):
        raise Malformed("the hook got something that is no JSON object")
    return value


def call(client: Client, values: dict[str, Any], event: str = "") -> Call:
    """The call that a payload is. `event` counts where the payload does not name its own. Raises Malformed."""
    named = _text(values, client.event) or event
    tool = _text(values, client.tool) or ("Shell" if any(key in values for key in client.inline) else "")
    phase = client.events.get(named, "")
    if not phase and not tool:
        if not named:
            raise Malformed("the hook got neither an event nor a tool")
        phase = OTHER
    elif not phase:
        phase = AFTER if any(key in values for key in client.result) else BEFORE
    if phase == BEFORE and not tool:
        raise Malformed(f"the event {named} names no tool")
    arguments = _arguments(client, values) if phase == BEFORE else {}
    return Call(
        phase,
        named,
        tool,
        kind(client, tool, arguments),
        arguments,
        _directory(client, values),
        _text(values, client.session),
        _text(values, client.call) or _print(tool, values, client),
        _text(values, client.version),
        _lingers(client, tool, values),
    )


def _lingers(client: Client, tool: str, values: dict[str, Any]) -> bool:
    """Does the client say that something goes on?"""
    if not tool:
        return bool(values.get("background_tasks"))
    given = next((found for key in client.arguments if isinstance(found := values.get(key), dict)), {})
    result = next((found for key in client.result if (found := values.get(key)) is not None), None)
    if tool in client.monitors or any(given.get(key) in (True, "true", "async") for key in BACKGROUND):
        return True
    if isinstance(result, dict):
        return any(result.get(key) for key in TASK)
    return isinstance(result, str) and any(said in result for said in STILL_RUNNING)


def _print(tool: str, values: dict[str, Any], client: Client) -> str:
    """What tells one call of a tool from another where the client gives it no name: the same before and after it."""
    found = next((values[key] for key in (*client.arguments, *client.inline) if key in values), None)
    return f"{tool}-{crc32(repr(found).encode('utf-8', 'replace')):08x}" if tool else ""


def _arguments(client: Client, values: dict[str, Any]) -> dict[str, Any]:
    """The arguments of the tool. They may come as JSON in a string; a text that is none is a patch or a command by itself."""
    found = next((values[key] for key in client.arguments if key in values), None)
    if isinstance(found, str) and found.lstrip(_BLANKS)[:1] in ("{", "["):
        try:
            text = found if found.lstrip(_BLANKS).startswith("{") else f'{{"command":{found}}}'
            return payload(text.encode("utf-8", "surrogatepass"))
        except (Malformed, ValueError):
            return {"command": found}
    if isinstance(found, str):
        return {"command": found}
    if found is None:
        return {key: values[key] for key in client.inline if key in values}
    if not isinstance(found, dict):
        raise Malformed("the arguments of the tool are no object")
    return found


def _directory(client: Client, values: dict[str, Any]) -> str:
    for key in client.directory:
        found = values.get(key)
        found = found[0] if isinstance(found, list) and found else found
        if isinstance(found, str) and found.startswith("/"):
            return sound(found)
    return ""


def _text(values: dict[str, Any], keys: tuple[str, ...]) -> str:
    """The first of the keys that holds something, as text. Raises Malformed for what has no business there."""
    for key in keys:
        found = values.get(key)
        if found is not None and found != "":
            if not isinstance(found, str):
                raise Malformed(f'"{key}" is no text')
            return found
    return ""


def sound(text: str) -> str:
    """The text as the client will spell it in a system call: half a surrogate pair is the character for none."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
