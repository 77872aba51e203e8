"""Pieces: split and csplit, which write many files whose names begin alike."""

from __future__ import annotations

from guard import expressions as re
from guard.effects import OVERWRITE, At, Text, join, unknown
from guard.overlay import DIRECTORY
from guard.paths import child, parent
from guard.tools.call import analysis
from guard.tools.changes import Changes, encoded
from guard.tools.options import Options, Table, parse
from guard.tools.reading import UnknownOutputError, one
from guard.tools.write import number

PIECES = 600  # that are told apart by name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.effects import Analysis
    from guard.tools.call import Call
    from guard.tools.options import Options


def split(call: Call) -> Analysis:
    """split: PREFIXaa, PREFIXab ...: each piece over what has that name. https://www.gnu.org/software/coreutils/split"""
    table = Table(
        flags="dexu0123456789",
        values="abCnlt",
        long={
            "suffix-length": "=", "additional-suffix": "=", "bytes": "=", "line-bytes": "=", "numeric-suffixes": "?",
            "hex-suffixes": "?",
            "elide-empty-files": "", "filter": "=", "lines": "=", "number": "=", "separator": "=", "unbuffered": "",
            "verbose": "", "help": "", "version": "",
        },
        same={"suffix-length": "a", "bytes": "b", "line-bytes": "C", "elide-empty-files": "e", "lines": "l", "number": "n",
              "separator": "t", "unbuffered": "u"},
    )  # fmt: skip
    options = parse(call.argv[1:], table)
    if options.has("help", "version"):
        return analysis()
    command = options.value("filter")
    if command is not None:
        if command != "":
            call.shell(command)
        return analysis()
    prefix = options.operands[1] if len(options.operands) > 1 else "x"
    letters = frozenset(
        "0123456789abcdef" if options.has("d", "x", "hex-suffixes", "numeric-suffixes") else "abcdefghijklmnopqrstuvwxyz"
    )
    end = options.value("additional-suffix") or ""
    names = _split_names(call, options, end) if isinstance(end, str) else None
    if names is not None:
        return _named(call, options, prefix, names)
    return _pieces(call, options, prefix, letters, end if isinstance(end, str) else "")


def csplit(call: Call) -> Analysis:
    """csplit: PREFIX00, PREFIX01 ... https://www.gnu.org/software/coreutils/csplit"""
    table = Table(
        flags="kzsq",
        values="bfn",
        long={"suffix-format": "=", "prefix": "=", "keep-files": "", "suppress-matched": "", "digits": "=", "quiet": "",
              "silent": "",
              "elide-empty-files": "", "help": "", "version": ""},
        same={"suffix-format": "b", "prefix": "f", "keep-files": "k", "digits": "n"},
    )  # fmt: skip
    options = parse(call.argv[1:], table)
    if options.has("help", "version") or len(options.operands) < 2:
        return analysis()
    prefix = options.value("f")
    names = _csplit_names(call, options)
    if names is not None:
        return _named(call, options, "xx" if prefix is None else prefix, names)
    return _pieces(
        call, options, "xx" if prefix is None else prefix, frozenset("0123456789") if not options.has("b") else None, ""
    )


def _split_names(call: Call, options: Options, end: str) -> dict[str, bytes | None] | None:
    """What comes behind the prefix of each piece, with its content as far as it is known; None where nobody can count them."""
    chunks, lines, size = (options.value(letter) for letter in "nlb")
    if sum(options.has(letter) for letter in "nlbC") > 1 or options.has("C", "t", "e") or options.strange:
        return None
    if chunks is not None:
        matched = re.fullmatch(r"(?:[lr]/)?(\d{1,3})|(?:[lr]/)?\d+/\d+", str(chunks))
        pieces: list[bytes | None] = [None] * int(matched[1] or 0) if matched else []
        if matched is None:
            return None
    else:
        data = _input(call, options.operands[0] if options.operands else "-")
        step = number(size if size is not None else str(lines or 1000))
        if data is None or not step:
            return None
        parts = [data] if size is not None else _rows(data)
        count = len(data) if size is not None else len(parts)
        if -(-count // step) > PIECES:
            return None
        pieces = [data[at : at + step] if size is not None else b"".join(parts[at : at + step]) for at in range(0, count, step)]
    return _suffixed(options, pieces, end)


def _suffixed(options: Options, pieces: list[bytes | None], end: str) -> dict[str, bytes | None] | None:
    """The suffixes of so many pieces in order."""
    digits = "0123456789" if options.has("d", "numeric-suffixes") else "abcdefghijklmnopqrstuvwxyz"
    digits = "0123456789abcdef" if options.has("x", "hex-suffixes") else digits
    start, width = str(options.value("numeric-suffixes", "hex-suffixes") or "0"), str(options.value("a") or "2")
    if not re.fullmatch(r"\d{1,4}", start) or not re.fullmatch(r"[1-9]", width) or (options.has("hex-suffixes") and start != "0"):
        return None
    total = int(start) + len(pieces)
    if total > (len(digits) ** int(width) if options.has("a") else (len(digits) - 1) * len(digits)):
        return None  # the suffixes become longer, or run out
    found: dict[str, bytes | None] = {}
    for at, piece in enumerate(pieces, int(start)):
        suffix = ""
        for _ in range(int(width)):
            suffix, at = digits[at % len(digits)] + suffix, at // len(digits)
        found[suffix + end] = piece
    return found


def _csplit_names(call: Call, options: Options) -> dict[str, bytes | None] | None:
    """The same for csplit at line numbers, which a file of that length has."""
    shape = options.value("b") or f"%0{options.value('n') or 2}d"
    data = _input(call, options.operands[0])
    cuts = [str(operand) for operand in options.operands[1:]]
    if data is None or options.strange or options.has("suppress-matched", "z", "elide-empty-files"):
        return None
    if not isinstance(shape, str) or not re.fullmatch(r"[^%]*%0?\d{0,2}[diuxX][^%]*", shape):
        return None
    if not all(re.fullmatch(r"[1-9]\d{0,6}", cut) for cut in cuts):
        return None
    rows = _rows(data)
    marks = [0, *(int(cut) - 1 for cut in cuts), len(rows)]
    if sorted(marks) != marks or len(set(cuts)) != len(cuts):
        return None
    return {shape % at: b"".join(rows[first : marks[at + 1]]) for at, first in enumerate(marks[:-1])}


def _rows(data: bytes) -> list[bytes]:
    """The lines with their ends."""
    rows = data.split(b"\n")
    return [row + b"\n" for row in rows[:-1]] + rows[-1:] * bool(rows[-1])


def _input(call: Call, operand: Text) -> bytes | None:
    try:
        text = one(call, operand)
    except UnknownOutputError:
        return None
    return None if text is None else encoded(text)


def _named(call: Call, options: Options, prefix: Text, names: dict[str, bytes | None]) -> Analysis:
    """Pieces under names that are known."""
    changes = Changes(call)
    source = options.operands[0] if options.operands else "-"
    if isinstance(source, str) and source != "-" and not source.startswith("/dev/") and not call.exists(source):
        return changes.result(status=1)
    for name, content in names.items():
        if not changes.write(changes.opened(join(prefix, name)), content):
            changes.fail()
            break
    return changes.result(unknown("unknown-output", "csplit") if str(call.argv[0]).endswith("csplit") else "")


def _pieces(call: Call, options: Options, prefix: Text, letters: frozenset[str] | None, end: str) -> Analysis:
    """Overwrites what has the name of a piece: the prefix and some letters. How many pieces there are is not counted."""
    changes = Changes(call)
    target = changes.opened(join(prefix, "x") if isinstance(prefix, str) else prefix)
    source = call.where(options.operands[0]) if options.operands and options.operands[0] != "-" else None
    if not isinstance(target, At) or not isinstance(prefix, str):
        if target is not None:
            changes.add(OVERWRITE, target, certain=False)
        return changes.result()._replace(status=None)
    if source is not None and not source.startswith(("/dev/", "/proc/")) and changes.view.kind(source) in (None, DIRECTORY):
        return changes.result(status=1)
    directory, start = parent(target.path), target.path.rpartition("/")[2][:-1]
    first = {start + 2 * letter + end for letter in "a0"}
    for name in changes.view.listdir(directory) or ():
        middle = name[len(start) : len(name) - len(end)]
        if (
            not name.startswith(start)
            or not name.endswith(end)
            or len(middle) < 2
            or (letters is not None and set(middle) - letters)
        ):
            continue
        path = child(directory, name)
        if changes.view.kind(path) != DIRECTORY:
            changes.write(changes.opened(path), certain=name in first and not options.has("a", "n", "b"))
    return changes.result()._replace(status=None)
