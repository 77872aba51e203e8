"""Regular expressions as `re` has them, without the 4 ms that importing `re` and compiling take.

The expressions in guard's own code are shipped compiled (build_expressions.py makes the file). One that is not among them goes
to `re` itself, as all do on an interpreter that the file is not for, and only takes longer. Use it as the real thing:

    from guard import expressions as re
"""

from __future__ import annotations

import marshal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from re import Match as Match
    from re import Pattern as Pattern
    from re import error as error
    from typing import Any, AnyStr

    # Of one expression: its flags as `re` completes them, the number of its groups, their names, and its code.
    Compiled = tuple[int, int, dict[str, int], bytes | list[int]]

I = IGNORECASE = 2  # noqa: E741
M = MULTILINE = 8
S = DOTALL = 16
U = UNICODE = 32
X = VERBOSE = 64
A = ASCII = 256

FILE = __file__.rpartition("/")[0] + "/expressions.bin"
KEPT_LIMIT = 512  # expressions in use at a time
_ESCAPES = {ord(character): "\\" + character for character in "()[]{}?*+-|^$\\.&~# \t\n\r\v\f"}

_kept: dict[tuple[Any, int], Any] = {}
_file: list[tuple[dict[tuple[str | bytes, int], Compiled], dict[str, int]]] = []


def __getattr__(name: str) -> Any:
    """`error`, `Match` and `Pattern`, which only `re` has."""
    if name in ("error", "Match", "Pattern"):
        import re

        return getattr(re, name)
    raise AttributeError(f"there is no {name} here")


def compile(pattern: AnyStr, flags: int = 0) -> Pattern[AnyStr]:
    """The compiled expression. Raises `error` where the pattern is none."""
    found: Pattern[AnyStr] | None = _kept.get((pattern, flags))
    if found is None:
        if len(_kept) >= KEPT_LIMIT:
            _kept.clear()
        found = _kept[pattern, flags] = _loaded(pattern, flags) or _made(pattern, flags)
    return found


def match(pattern: AnyStr, text: AnyStr, flags: int = 0) -> Match[AnyStr] | None:
    """The match at the beginning of the text."""
    return compile(pattern, flags).match(text)


def search(pattern: AnyStr, text: AnyStr, flags: int = 0) -> Match[AnyStr] | None:
    """The first match anywhere in the text."""
    return compile(pattern, flags).search(text)


def fullmatch(pattern: AnyStr, text: AnyStr, flags: int = 0) -> Match[AnyStr] | None:
    """The match of the whole text."""
    return compile(pattern, flags).fullmatch(text)


def findall(pattern: AnyStr, text: AnyStr, flags: int = 0) -> list[Any]:
    """Every match: its only group, the tuple of its groups, or all of it where it has none."""
    return compile(pattern, flags).findall(text)


def finditer(pattern: AnyStr, text: AnyStr, flags: int = 0) -> Iterator[Match[AnyStr]]:
    """Every match."""
    return compile(pattern, flags).finditer(text)


def split(pattern: AnyStr, text: AnyStr, maxsplit: int = 0, flags: int = 0) -> list[Any]:
    """The pieces of the text between the matches, with the groups of the matches between them."""
    return compile(pattern, flags).split(text, maxsplit)


def sub(
    pattern: AnyStr, replacement: AnyStr | Callable[[Match[AnyStr]], AnyStr], text: AnyStr, count: int = 0, flags: int = 0
) -> AnyStr:
    """The text with every match replaced."""
    if isinstance(replacement, str) and "\\" in replacement:
        replacement = _template(replacement)
    return compile(pattern, flags).sub(replacement, text, count)


def escape(text: str) -> str:
    """The expression that matches only this text."""
    return text.translate(_ESCAPES)


def _template(text: str) -> Any:
    r"""The function that fills in a replacement; the text itself, which makes `re` do so, where it holds more than \1 and \\."""
    pieces: list[str | int] = []
    at = 0
    while (slash := text.find("\\", at)) >= 0:
        sign, behind = text[slash + 1 : slash + 2], text[slash + 2 : slash + 3]
        pieces.append(text[at:slash])
        if sign == "\\":
            pieces.append(sign)
        elif "1" <= sign <= "9" and not behind.isdigit():
            pieces.append(int(sign))
        else:
            return text
        at = slash + 2
    pieces.append(text[at:])
    return lambda found: "".join(piece if isinstance(piece, str) else found[piece] or "" for piece in pieces)


def engine() -> tuple[int, int, int, str]:
    """What tells the engine of the running interpreter from others: its version, the size of its words, its largest count, the
    order of its bytes. Raises ImportError on an interpreter without it."""
    import _sre  # type: ignore[import-not-found]

    return _sre.MAGIC, _sre.CODESIZE, _sre.MAXREPEAT, sys.byteorder


def _loaded(pattern: Any, flags: int) -> Any:
    """The expression as it was shipped, or made here of the engine's instructions; None where neither can be."""
    if not _file:
        _file.append(_read())
    table, instructions = _file[0]
    found = table.get((pattern, flags))
    if found is None:
        found = _plain(pattern, flags, instructions)
    if found is None:
        return None
    import _sre

    completed, groups, names, code = found
    words = code if isinstance(code, list) else memoryview(code).cast("I").tolist()
    by_number = {number: name for name, number in names.items()}
    numbered = tuple(by_number.get(number) for number in range(groups + 1))
    try:
        return _sre.compile(pattern, completed, words, groups, names, numbered)
    except (RuntimeError, TypeError, ValueError, OverflowError):
        return None


def _plain(pattern: Any, flags: int, instructions: dict[str, int]) -> Any:
    if not instructions or not isinstance(pattern, str) or flags & ~S:
        return None
    import _sre

    from guard.plain_expressions import code

    made = code(pattern, flags == S, instructions, _sre.MAXREPEAT)
    return None if made is None else (flags | UNICODE, 0, {}, made)


def _read() -> tuple[dict[tuple[str | bytes, int], Compiled], dict[str, int]]:
    """The shipped expressions by pattern and flags, and the numbers of the engine's instructions; nothing where the file is
    missing, damaged or for another interpreter."""
    try:
        with open(FILE, "rb") as file:
            engines, table, instructions = marshal.loads(file.read())
        if engine() in engines and isinstance(table, dict) and isinstance(instructions, dict):
            return table, instructions
    except (ImportError, AttributeError, OSError, ValueError, EOFError, TypeError):
        pass
    return {}, {}


def _made(pattern: Any, flags: int) -> Any:
    import re

    return re.compile(pattern, flags)
