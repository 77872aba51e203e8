"""Values as JSON text, as `json` writes it without blanks. Importing `json` takes 2 ms, and a hot entry only writes."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_CONSTANTS = {None: "null", True: "true", False: "false"}
_NO_NUMBERS = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}


def dumps(value: Any) -> str:
    """The text, in ASCII. Raises TypeError for what JSON has not, and for a key that is no text."""
    if isinstance(value, str):
        return _string(value)
    if value is None or isinstance(value, bool):
        return _CONSTANTS[value]
    if isinstance(value, int | float):
        return _NO_NUMBERS.get(repr(value)) or repr(value)
    if isinstance(value, list | tuple):
        return "[" + ",".join([dumps(item) for item in value]) + "]"
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return "{" + ",".join([f"{_string(key)}:{dumps(item)}" for key, item in value.items()]) + "}"
    raise TypeError(f"no JSON for {type(value).__name__}")


def _string(text: str) -> str:
    if text.isascii() and text.isprintable():
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    from _json import encode_basestring_ascii

    escaped: str = encode_basestring_ascii(text)
    return escaped
