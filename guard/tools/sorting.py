"""The orders of sort: what a line is compared by."""

from __future__ import annotations

from guard import expressions as re
from guard.tools.reading import UnknownOutputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from guard.tools.options import Options

    Key = Callable[[str], object]

_NUMBER = re.compile(r"[ \t]*(-?\d*\.?\d*)")
_SUFFIXES = "KMGTPEZY"


class _Backwards:
    """A key that compares the other way round."""

    __slots__ = ("key",)

    def __init__(self, key: object) -> None:
        self.key = key

    def __lt__(self, other: _Backwards) -> bool:
        return bool(other.key < self.key)  # type: ignore[operator]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Backwards) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def sort_key(options: Options) -> Key:
    """What the options of sort compare a line by, as far as they are among nrfbghV, -k and -t; raises UnknownOutputError."""
    letters = {letter for letter in "nfbghV" if options.has(letter)}
    keys = [_field(str(value), options, letters) for value in options.values("k")]
    if not keys:
        return _ordered(letters)
    return lambda row: tuple(key(row) for key in keys)


def _field(spec: str, options: Options, inherited: set[str]) -> Key:
    matched = re.fullmatch(r"(\d+)(?:\.(\d+))?([bdfgiMhnRrV]*)(?:,(\d+)(\.\d+)?([bdfgiMhnRrV]*))?", spec)
    if matched is None or matched[2] or matched[5] or set(matched[3] + (matched[6] or "")) & set("diMR"):
        raise UnknownOutputError
    first, last = int(matched[1]), int(matched[4] or 0)
    own = set(matched[3] + (matched[6] or ""))
    key = _ordered((own or inherited) - {"r"})
    separator = options.value("t")
    backwards = "r" in own or (not own and options.has("r"))

    def of_row(row: str) -> object:
        fields = row.split(str(separator)) if separator else re.findall(r"[ \t]*[^ \t]+|[ \t]+$", row)
        part = (str(separator) if separator else "").join(fields[first - 1 : last or None])
        return _Backwards(key(part)) if backwards else key(part)

    return of_row


def _ordered(letters: set[str]) -> Key:
    if "n" in letters:
        return _numeric
    if "h" in letters:
        return _human
    if "g" in letters:
        return _general
    if "V" in letters:
        return _version
    fold, blanks = "f" in letters, "b" in letters

    def plain(text: str) -> object:
        text = text.lstrip(" \t") if blanks else text
        return (text.upper() if fold else text).encode("utf-8", "surrogateescape")

    return plain


def _numeric(text: str) -> float:
    matched = _NUMBER.match(text)
    try:
        return float(matched[1]) if matched else 0.0
    except ValueError:
        return 0.0


def _human(text: str) -> tuple[int, float]:
    matched = _NUMBER.match(text)
    suffix = text[matched.end() : matched.end() + 1].upper() if matched else ""
    rank = _SUFFIXES.find(suffix) + 1 if suffix else 0
    value = _numeric(text)
    return (-rank if value < 0 else rank if value else 0, value)


def _general(text: str) -> float:
    matched = re.match(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", text)
    return float(matched[0]) if matched else float("-inf")


def _version(text: str) -> object:
    """Letters come before other characters, "~" before all, even the end."""
    key: list[object] = []
    for other, number in re.findall(r"(\D*)(\d*)", text):
        key.append([-1 if sign == "~" else ord(sign) + (0 if sign.isalpha() else 256) for sign in other] + [0])
        key.append(int(number or 0))
    return key
