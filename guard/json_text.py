"""JSON texts and their values, as `json` reads and writes them (without blanks). Importing `json` takes 4 ms."""

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


def loads(text: str) -> Any:
    """The value of a text. Of a key that is given twice the last counts. Raises ValueError, RecursionError."""
    from _json import make_scanner

    text = text.strip(_BLANKS)
    try:
        value, end = make_scanner(_Reading)(text, 0)  # type: ignore[arg-type]
    except (StopIteration, SystemError) as error:  # some versions find no class to raise for a torn text before json is loaded
        raise ValueError("this is no JSON") from error
    if end != len(text):
        raise ValueError("there is something behind the value")
    return value


_BLANKS = " \t\n\r"


class _Reading:
    """How it is read: the C part of `json` wants to be told. Line breaks in texts are let pass."""

    strict = False
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float


def _string(text: str) -> str:
    if text.isascii() and text.isprintable():
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    from _json import encode_basestring_ascii

    escaped: str = encode_basestring_ascii(text)
    return escaped
