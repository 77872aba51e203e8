"""Layout: fold, fmt, expand, unexpand and column, which only move the blanks and line ends of what they read."""

from __future__ import annotations

from guard import expressions as re
from guard.tools.options import Options, Table
from guard.tools.reading import UnknownOutputError, filtered, joined, lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.effects import Analysis
    from guard.tools.call import Call

WIDTH = 75  # columns of fmt
STOP = 8  # columns between tab stops
FOLD = Table("bs", "w", long={"bytes": "", "spaces": "", "width": "="}, same={"bytes": "b", "spaces": "s", "width": "w"})
FMT = Table(
    "cstu",
    "wgp",
    long={"width": "=", "goal": "=", "prefix": "=", "uniform-spacing": "", "split-only": ""},
    same={"width": "w", "goal": "g", "prefix": "p", "uniform-spacing": "u", "split-only": "s"},
)
EXPAND = Table(
    "ia",
    "t",
    long={"initial": "", "tabs": "=", "all": "", "first-only": ""},
    same={"initial": "i", "tabs": "t", "all": "a"},
)
COLUMN = Table("te", "sco", long={"table": "", "separator": "=", "output-separator": "="}, same={"table": "t", "separator": "s"})


def fold(call: Call) -> Analysis:
    """Lines broken at a width, with -s behind a blank."""
    return filtered(_modern(call), FOLD, _fold, "w s b")


def fmt(call: Call) -> Analysis:
    """Paragraphs filled; known where each is one line that fits."""
    return filtered(_modern(call), FMT, _fmt, "w s")


def expand(call: Call) -> Analysis:
    """Tabs become blanks."""
    return filtered(call, EXPAND, _expand, "i t")


def unexpand(call: Call) -> Analysis:
    """Blanks at the beginning of a line become tabs."""
    return filtered(call, EXPAND, _unexpand, "first-only")


def column(call: Call) -> Analysis:
    """With -t a table; how many columns fit side by side without it is not told."""
    return filtered(call, COLUMN, _column, "t s")


def _modern(call: Call) -> Call:
    """The old form of the first argument, -80, in the new one."""
    first = call.argv[1] if len(call.argv) > 1 else ""
    if isinstance(first, str) and re.fullmatch(r"-\d+", first):
        return call._replace(argv=(call.argv[0], "-w", first[1:], *call.argv[2:]))
    return call


def _number(value: object, otherwise: int) -> int:
    text = str(otherwise if value is None else value)
    if not re.fullmatch(r"\d{1,6}", text) or int(text) == 0:
        raise UnknownOutputError
    return int(text)


def _fold(options: Options, found: list[str]) -> str:
    width = _number(options.value("w"), 80)
    text = "".join(found)
    if not text.isascii() or re.search(r"[\t\b\r]", text):
        if any(len(line.encode("utf-8", "surrogateescape")) + STOP * line.count("\t") > width for line in text.split("\n")):
            raise UnknownOutputError
        return text
    return "\n".join(part for line in text.split("\n") for part in _broken(line, width, options.has("s")))


def _broken(line: str, width: int, at_blanks: bool) -> list[str]:
    parts = []
    while len(line) > width:
        blank = line.rfind(" ", 0, width) if at_blanks else -1
        end = blank + 1 if blank >= 0 else width
        parts.append(line[:end])
        line = line[end:]
    return [*parts, line]


def _fmt(options: Options, found: list[str]) -> str:
    width = _number(options.value("w"), WIDTH)
    rows = lines("".join(found))
    for row, following in zip(rows, [*rows[1:], ""], strict=False):
        if row and following and not options.has("s"):
            raise UnknownOutputError
        if len(row) > width or not row.isascii() or re.search(r"[\t\f\v]| {2}| $", row):
            raise UnknownOutputError
    return joined(rows)


def _expand(options: Options, found: list[str]) -> str:
    stop = _number(options.value("t"), STOP)
    text = "".join(found)
    if "\t" not in text:
        return text
    if "\b" in text or not text.isascii() or options.has("i"):
        raise UnknownOutputError
    return text.expandtabs(stop)


def _unexpand(options: Options, found: list[str]) -> str:
    rows = []
    for row in "".join(found).split("\n"):
        bare = row.lstrip(" \t")
        blanks = row[: len(row) - len(bare)]
        if "\b" in row or ("\t" in blanks and " " in blanks):
            raise UnknownOutputError
        rows.append("\t" * (len(blanks) // STOP) + " " * (len(blanks) % STOP) + bare if "\t" not in blanks else row)
    return "\n".join(rows)


def _column(options: Options, found: list[str]) -> str:
    text = "".join(found)
    marks = options.value("s")
    if not options.has("t") or not text.isascii() or not isinstance(marks, str | None):
        raise UnknownOutputError
    blanks = re.compile("[" + re.escape(marks) + "]" if marks else r"[ \t]+")
    table = [blanks.split(row.strip(" \t") if not marks else row) for row in lines(text) if row.strip(" \t")]
    if marks and any("" in row for row in table):
        raise UnknownOutputError
    widths = [max(len(row[at]) for row in table if at < len(row)) for at in range(max(map(len, table), default=0))]
    if any(len(row) != len(widths) for row in table):
        raise UnknownOutputError
    return joined(["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip(" ") for row in table])
