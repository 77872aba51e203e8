"""Reading: what the text filters have before them, as far as it is known."""

from __future__ import annotations

from guard.effects import Analysis, Pattern, Text, join, unknown
from guard.overlay import DIRECTORY
from guard.tools.call import analysis
from guard.tools.options import Options, Table, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from guard.tools.call import Call

    Compute = Callable[[Options, list[str]], str]

FILES = 500  # files and characters that a filter reads during a judgement; past them its output is unknown
CHARACTERS = 1 << 22


class UnknownOutputError(Exception):
    """What the tool writes cannot be told."""


def decoded(data: bytes) -> str:
    """The content of a file as text; every byte survives the way there and back."""
    return data.decode("utf-8", "surrogateescape")


def shrug(call: Call, status: int | None = None) -> Analysis:
    """Nothing happens but an output that cannot be told."""
    name = call.argv[0]
    return analysis(output=unknown("unknown-output", str(name).rpartition("/")[2]), status=status)


def one(call: Call, operand: Text) -> str | None:
    """The text that a filter reads from an operand, "-" being standard input; None where it cannot open it."""
    if operand in ("-", "/dev/stdin"):
        if not isinstance(call.stdin, str):
            raise UnknownOutputError
        return call.stdin
    if operand == "/dev/null":
        return ""
    data = call.read(operand)
    if data is not None:
        return decoded(data)
    path = call.where(operand)
    if path is None or call.view.kind(path) not in (None, DIRECTORY):
        raise UnknownOutputError
    return None


def texts(call: Call, operands: tuple[Text, ...]) -> tuple[list[str], bool]:
    """The texts of all operands, standard input without any, and whether one was missing. Raises UnknownOutputError."""
    if len(operands) > FILES:
        raise UnknownOutputError
    found, size, missing = [], 0, False
    for operand in operands or ("-",):
        text = one(call, operand)
        if text is None:
            missing = True
            continue
        found.append(text)
        size += len(text)
        if size > CHARACTERS:
            raise UnknownOutputError
    return found, missing


def filtered(call: Call, table: Table, compute: Compute, known: str = "") -> Analysis:
    """A tool that only reads its operands and writes `compute(options, texts)`; `known` are the options it knows."""
    options = parse(call.argv[1:], table)
    understood = {name for name, _ in options.given} <= set(known.split()) and not options.strange
    if not understood or any(isinstance(value, Pattern) for _, value in options.given):
        return shrug(call)
    try:
        found, missing = texts(call, options.operands)
        return analysis(output=compute(options, found), status=int(missing))
    except (UnknownOutputError, ValueError, OverflowError):
        return shrug(call)


def lines(text: str) -> list[str]:
    """The lines without their newlines; a last one without newline counts."""
    parts = text.split("\n")
    return parts[:-1] if parts[-1] == "" else parts


def joined(parts: list[str], end: str = "\n") -> str:
    """Lines with a newline behind each."""
    return "".join(part + end for part in parts)


def passed_through(call: Call, operands: tuple[Text, ...]) -> Analysis:
    """The inputs as they are, one behind the other, also where they are known in part."""
    if len(operands) > FILES:
        return shrug(call)
    pieces: list[Text] = []
    missing = False
    for operand in operands or ("-",):
        if operand == "-" and call.stdin is not None:
            pieces.append(call.stdin)
            continue
        try:
            text = one(call, operand)
        except UnknownOutputError:
            return analysis(output=join(*pieces, unknown("unknown-output", "cat")), status=None)
        missing |= text is None
        pieces.append(text or "")
    return analysis(output=join(*pieces), status=int(missing))
