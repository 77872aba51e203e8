"""What echo -e and printf make of their arguments."""

from __future__ import annotations

from guard import expressions as re
from guard.effects import Hole, Pattern, Text, join, unknown

_ESCAPE = r"(?s)\\(0[0-7]{0,3}|[1-7][0-7]{0,2}|x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|.)"
_SIMPLE = {
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    '"': '"',
    "'": "'",
}
_FORMAT = r"%([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+))?([a-zA-Z%])|%\(([^)]*)\)T"
_WIDTH = 10_000


def unescaped(text: Text) -> Text:
    r"""The text with \n, \t, \0NNN, \xHH and their kin replaced."""
    if isinstance(text, Pattern):
        return join(*(Pattern((piece,)) if isinstance(piece, Hole) else _unescape(piece) for piece in text.pieces))
    return _unescape(text)


def _unescape(text: str) -> str:
    return re.sub(_ESCAPE, _character, text)


def _character(found: re.Match[str]) -> str:
    code = found.group(1)
    if code[0] in "01234567":
        return bytes([int(code, 8) & 255]).decode("utf-8", "surrogateescape")
    if code[0] == "x" and len(code) > 1:
        return bytes([int(code[1:], 16)]).decode("utf-8", "surrogateescape")
    if code[0] in "uU" and len(code) > 1:
        point = int(code[1:], 16)
        return chr(point) if point < 0x110000 and not 0xD800 <= point < 0xE000 else "?"
    return _SIMPLE.get(code, found.group(0))


def printf_text(form: Text, arguments: list[Text]) -> Text:
    """The output of printf: the format is used again until no arguments are left."""
    if isinstance(form, Pattern):
        return unknown("unknown-output", "printf")
    out: Text = ""
    rest = list(arguments)
    while True:
        before = len(rest)
        out = join(out, _once(form, rest))
        if not rest or len(rest) == before:
            return out


def _once(form: str, rest: list[Text]) -> Text:
    """One pass through the format; takes its arguments from the front of `rest`."""
    out: Text = ""
    at = 0
    for found in re.finditer(_FORMAT, form):
        out = join(out, _unescape(form[at : found.start()]))
        at = found.end()
        out = join(out, _conversion(found, rest))
    return join(out, _unescape(form[at:]))


def _conversion(found: re.Match[str], rest: list[Text]) -> Text:
    flags, width, precision, kind = found.group(1, 2, 3, 4)
    if kind == "%":
        return "%"
    if kind is None:
        if rest:
            rest.pop(0)
        return unknown("unknown-output", "printf %()T")
    size = _number(rest.pop(0) if rest else "0") if width == "*" else int(width or 0)
    cut = _number(rest.pop(0) if rest else "0") if precision == "*" else int(precision) if precision else None
    argument = rest.pop(0) if rest else ""
    if isinstance(argument, Pattern):
        return argument if kind in "sbq" else unknown("unknown-output", "printf")
    text = _converted(kind, argument, cut)
    size = min(abs(size), _WIDTH)
    if "-" in flags:
        return text.ljust(size)
    return text.rjust(size, "0" if "0" in flags and kind in "dioxXu" else " ")


def _converted(kind: str, argument: str, cut: int | None) -> str:
    if kind in "di" or kind in "uoxX":
        number = _number(argument)
        text = {"o": f"{number:o}", "x": f"{number:x}", "X": f"{number:X}"}.get(kind, str(number))
        return text.rjust(min(cut, _WIDTH), "0") if cut else text
    if kind == "c":
        return argument[:1]
    if kind == "b":
        argument = _unescape(argument)
    if kind == "q":
        from guard.shell.text import quote

        return quote(argument)
    return argument if cut is None else argument[:cut]


def _number(text: Text) -> int:
    if not isinstance(text, str):
        return 0
    if text[:1] in ("'", '"') and len(text) > 1:
        return ord(text[1])
    found = re.match(r"\s*([-+]?)(0[xX][0-9a-fA-F]{1,16}|\d{1,19})", text)
    if not found:
        return 0
    digits = found.group(2)
    base = 16 if digits[:2] in ("0x", "0X") else 8 if digits[0] == "0" and digits.strip("01234567") == "" else 10
    return int(digits, base) * (-1 if found.group(1) == "-" else 1)
