"""Comparison: cmp and diff, whose status says whether two files hold the same."""

from __future__ import annotations

from guard.effects import unknown
from guard.overlay import DIRECTORY
from guard.tools.call import analysis
from guard.tools.options import Options, Table, parse
from guard.tools.reading import UnknownOutputError, one, shrug

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.effects import Analysis, Text
    from guard.tools.call import Call

CMP = Table(
    flags="bls",
    values="in",
    long={"print-bytes": "", "verbose": "", "quiet": "", "silent": "", "bytes": "=", "ignore-initial": "="},
    same={"print-bytes": "b", "verbose": "l", "quiet": "s", "silent": "s", "bytes": "n", "ignore-initial": "i"},
)
DIFF = Table(
    flags="abBcdeEilnNpPqrstTuwyZ0123456789",
    values="CUFIxXSLDW",
    long={
        "brief": "", "report-identical-files": "", "unified": "?", "context": "?", "text": "", "recursive": "", "new-file": "",
        "color": "?", "label": "=", "minimal": "", "speed-large-files": "", "side-by-side": "", "width": "=", "normal": "",
        "suppress-common-lines": "", "ignore-case": "", "ignore-all-space": "", "ignore-space-change": "", "show-c-function": "",
        "ignore-blank-lines": "", "ignore-trailing-space": "", "ignore-tab-expansion": "", "strip-trailing-cr": "",
        "ignore-matching-lines": "=", "exclude": "=", "no-dereference": "", "ed": "", "rcs": "", "expand-tabs": "",
        "initial-tab": "", "paginate": "", "left-column": "",
    },
    same={
        "brief": "q", "report-identical-files": "s", "text": "a", "recursive": "r", "new-file": "N", "label": "L", "minimal": "d",
        "side-by-side": "y", "width": "W", "ignore-case": "i", "ignore-all-space": "w", "ignore-space-change": "b",
        "ignore-blank-lines": "B", "ignore-trailing-space": "Z", "ignore-tab-expansion": "E", "ignore-matching-lines": "I",
        "show-c-function": "p", "exclude": "x", "ed": "e", "rcs": "n", "expand-tabs": "t", "initial-tab": "T", "paginate": "l",
    },
)  # fmt: skip
_LENIENT = ("b", "B", "i", "w", "E", "Z", "I", "strip-trailing-cr", "D")  # some texts that differ count as the same


def cmp(call: Call) -> Analysis:
    """cmp: 0 for the same bytes, 1 for others, 2 where one cannot be read."""
    options = parse(call.argv[1:], CMP)
    operands = options.operands if len(options.operands) != 1 else (*options.operands, "-")
    if options.strange or options.has("i", "n") or len(operands) != 2:
        return shrug(call)
    try:
        old, new = (_content(call, operand) for operand in operands)
    except UnknownOutputError:
        return shrug(call)
    if old is None or new is None:
        return analysis(status=2)
    if old == new:
        return analysis(status=0)
    quiet = options.has("s") or (not options.has("l") and (old.startswith(new) or new.startswith(old)))
    return analysis(output="" if quiet else unknown("unknown-output", "cmp"), status=1)


def diff(call: Call) -> Analysis:
    """diff: 0 for the same text, 1 for others, 2 where one cannot be read; directories are not compared here."""
    options = parse(call.argv[1:], DIFF)
    if options.strange or len(options.operands) != 2:
        return shrug(call)
    old, new = options.operands
    if call.is_dir(old) != call.is_dir(new) and "-" not in (old, new) and isinstance(old, str) and isinstance(new, str):
        inner = (old if call.is_dir(new) else new).rpartition("/")[2]  # the file of the same name in the directory
        old, new = (f"{old}/{inner}", new) if call.is_dir(old) else (old, f"{new}/{inner}")
    try:
        return _compared(call, options, old, new)
    except UnknownOutputError:
        return shrug(call)


def _compared(call: Call, options: Options, old: Text, new: Text) -> Analysis:
    before, after = _content(call, old), _content(call, new)
    if before is None or after is None:
        if options.has("N", "P"):
            raise UnknownOutputError
        return analysis(status=2)
    if before == after:
        shown = f"Files {old} and {new} are identical\n" if options.has("s") else ""
        return analysis(output=unknown("unknown-output", "diff") if options.has("y", "D") else shown, status=0)
    status = None if options.has(*_LENIENT) else 1
    brief = options.has("q") and status == 1
    return analysis(output=f"Files {old} and {new} differ\n" if brief else unknown("unknown-output", "diff"), status=status)


def _content(call: Call, operand: Text) -> str | None:
    """The text of an operand, None where there is none."""
    if call.is_dir(operand) or (isinstance(operand, str) and call.kind(operand) == DIRECTORY):
        raise UnknownOutputError
    return one(call, operand)
