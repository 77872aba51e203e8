"""Pieces: split and csplit, which write many files whose names begin alike."""

from __future__ import annotations

from guard.effects import OVERWRITE, At, Text, join
from guard.overlay import DIRECTORY
from guard.paths import child, parent
from guard.tools.call import analysis
from guard.tools.changes import Changes
from guard.tools.options import Options, Table, parse

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
    return _pieces(
        call, options, "xx" if prefix is None else prefix, frozenset("0123456789") if not options.has("b") else None, ""
    )


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
