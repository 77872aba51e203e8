"""Quotes that are rare: the escapes of $'..', and those of a here-document's delimiter."""

from __future__ import annotations

from guard import expressions as re

_ESCAPE = re.compile(
    r"""\\(?:([abeEfnrtv\\'"?])|([0-7]{1,3})|x\{([0-9A-Fa-f]+)\}?|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})"""
    r"""|c(\\\\|.))""",
    re.DOTALL,
)
_CHARACTERS = dict(zip("abeEfnrtv", "\a\b\x1b\x1b\f\n\r\t\v", strict=True))


def ansi(body: str) -> str:
    """What $'body' stands for. It ends at a NUL, as bash's does."""
    text = _ESCAPE.sub(_character, body).partition("\0")[0]
    return text if text.isascii() else _joined(text)


def _character(match: re.Match[str]) -> str:
    simple, octal, braced, hexadecimal, short, long, control = match.groups()
    if simple:
        return _CHARACTERS.get(simple, simple)
    if control:
        return "\x7f" if control == "?" else chr(ord(control[0].upper()) & 0x1F)
    if short or long:
        return _point(int(short or long, 16))
    value = int(octal, 8) if octal else int(braced or hexadecimal, 16)
    return os_byte(value & 0xFF)


def os_byte(value: int) -> str:
    """A byte as "surrogateescape" decodes it."""
    return chr(value) if value < 0x80 else chr(0xDC00 + value)


def _point(value: int) -> str:
    if value > 0x10FFFF:
        return "?"
    if 0xD800 <= value < 0xE000:
        return "".join(map(os_byte, chr(value).encode("utf-8", "surrogatepass")))
    return chr(value)


def _joined(text: str) -> str:
    """The text with the bytes that make up a character joined to it."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text


_QUOTED = re.compile(r"""\\(.)|\$?'([^']*)'|\$?"((?:[^"\\]|\\.)*)"|(.)""", re.DOTALL)


def unquoted(raw: str) -> str:
    """The delimiter of a here-document, without its quotes. Nothing is expanded in it."""
    return "".join(_without_quotes(match) for match in _QUOTED.finditer(raw))


def _without_quotes(match: re.Match[str]) -> str:
    escaped, single, double, plain = match.groups()
    if double is not None:
        return re.sub(r'\\([$`"\\])', r"\1", double)
    return next(group for group in (escaped, single, plain) if group is not None)
