"""tr: its sets and what they do to a text."""

from __future__ import annotations

from guard import expressions as re

_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_RANGES = {
    "alpha": "A-Za-z",
    "digit": "0-9",
    "alnum": "0-9A-Za-z",
    "upper": "A-Z",
    "lower": "a-z",
    "blank": "\t ",
    "space": "\t-\r ",
}
_RANGES |= {"punct": "!-/:-@[-`{-~", "xdigit": "0-9A-Fa-f", "cntrl": "\0-\x1f\x7f", "print": " -~", "graph": "!-~"}
_TOKEN = re.compile(r"\[:(\w+):\]|\[=(.)=\]|\[(\\?.)\*(\d*)\]|\\([0-7]{1,3})|\\(.)|(.)", re.S)


def transliterated(text: str, sets: list[str], complement: bool, delete: bool, squeeze: bool) -> str | None:
    """What tr makes of the text; None where the sets are not plain ASCII or do not fit."""
    if not all(each.isascii() for each in sets) or len(sets) != (
        1 if (delete != squeeze) and not (squeeze and len(sets) == 2) else 2
    ):
        return None
    expanded = [_expanded(each, len(sets) > 1 and at == 1) for at, each in enumerate(sets)]
    if any(each is None for each in expanded):
        return None
    first = expanded[0] or ""
    second = (expanded[1] or "") if len(expanded) > 1 else ""
    if delete:
        text = "".join(letter for letter in text if (letter in first) == complement)
        return _squeezed(text, second, False) if squeeze else text
    if not second:
        return _squeezed(text, first, complement) if squeeze else None
    if complement:
        text = "".join(letter if letter in first else second[-1] for letter in text)
    else:
        filled = second + second[-1] * max(0, len(first) - len(second))
        text = text.translate({ord(old): new for old, new in reversed(list(zip(first, filled, strict=False)))})
    return _squeezed(text, second, False) if squeeze else text


def _expanded(text: str, second: bool) -> str | None:
    """The letters of a set in order."""
    letters: list[str] = []
    pending = False
    for matched in _TOKEN.finditer(text):
        name, equal, repeated, count, octal, escaped, plain = matched.groups()
        if name:
            if name not in _RANGES:
                return None
            letters.append(_RANGES[name] if "-" not in _RANGES[name] else _expanded(_RANGES[name], False) or "")
            continue
        if repeated and second:
            if not count:
                return None
            letters.append(repeated[-1] * min(int(count), 1 << 16))
            continue
        if repeated:
            return None
        letter = equal or (chr(int(octal, 8) & 255) if octal else _CONTROLS.get(escaped, escaped) if escaped else plain)
        if pending:
            pending = False
            begin = letters[-1][-1:]
            if ord(begin) > ord(letter):
                return None
            letters.append("".join(map(chr, range(ord(begin) + 1, ord(letter) + 1))))
        elif plain == "-" and letters and matched.end() < len(text) and len(letters[-1]) == 1:
            pending = True
        else:
            letters.append(letter)
    return "".join(letters)


def _squeezed(text: str, letters: str, complement: bool) -> str:
    out: list[str] = []
    for letter in text:
        if not (out and out[-1] == letter and (letter in letters) != complement):
            out.append(letter)
    return "".join(out)
