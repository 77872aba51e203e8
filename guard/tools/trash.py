"""Trashes: what goes there is gone for guard, which cannot restore it from there."""

from __future__ import annotations

from guard.effects import At, Text
from guard.paths import child, parent
from guard.tools.call import analysis
from guard.tools.changes import Changes
from guard.tools.options import Table, parse
from guard.tools.remove import rm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.effects import Analysis
    from guard.tools.call import Call


TRASH = Table(
    flags="dfivrRIVFaelys",
    long={
        "directory": "", "force": "", "interactive": "", "verbose": "", "recursive": "", "trash-dir": "=",
        "home-fallback": "",
        "help": "", "version": "", "empty": "", "list": "", "restore": "=",
    },
)  # fmt: skip
GIO = Table(flags="fhpPbCTsv", values="", long={"force": "", "empty": "", "list": "", "restore": "", "backup": "", "help": ""})


def _all_go(call: Call, operands: tuple[Text, ...], through_links: bool = False) -> Analysis:
    """Every operand goes with all that is below it."""
    changes = Changes(call)
    for operand in operands:
        target = changes.entry(operand.rstrip("/") or "/" if isinstance(operand, str) and not through_links else operand)
        if target is None or (isinstance(target, At) and changes.kind(target) is None):
            changes.fail()
            continue
        changes.delete(target)
    return changes.result()


def trash(call: Call) -> Analysis:
    """trash, trash-put and kin: files and directories go to a trash that guard cannot restore from."""
    options = parse(call.argv[1:], TRASH)
    if options.has("help", "version", "empty", "list", "restore"):
        return analysis()
    return _all_go(call, options.operands)


def rip(call: Call) -> Analysis:
    """rip (rm-improved): files go to its graveyard."""
    table = Table(flags="dsiVh", values="u", long={"graveyard": "=", "decompose": "", "seance": "", "unbury": "=", "inspect": ""})
    options = parse(call.argv[1:], table)
    if options.has("d", "decompose", "s", "seance", "u", "unbury", "h", "V"):
        return analysis()
    return _all_go(call, options.operands)


def gio(call: Call) -> Analysis:
    """gio trash, remove, move, rename, copy and save. https://docs.gtk.org/gio/"""
    verb = call.argv[1] if len(call.argv) > 1 else ""
    options = parse(call.argv[2:], GIO)
    operands = tuple(_local(operand) for operand in options.operands)
    if verb == "trash" and not options.has("empty", "list", "restore"):
        return _all_go(call, operands)
    if verb == "remove":
        return rm(call._replace(argv=("rm", "-df", "--", *operands)))
    if verb == "rename" and len(operands) == 2 and all(isinstance(operand, str) for operand in operands):
        old = call.path(operands[0])
        new = child(parent(old), str(operands[1])) if isinstance(old, str) else operands[1]
        return call.run(("mv", "-nT", "--", operands[0], new))._replace(effects=(), unknowns=())
    if verb in ("move", "copy") and operands:
        return call.run(("mv" if verb == "move" else "cp", "-f", "--", *operands))._replace(effects=(), unknowns=())
    if verb == "save":
        return call.run(("tee", "--", *operands))._replace(effects=(), unknowns=(), output="")
    return analysis()


def _local(operand: Text) -> Text:
    return operand[len("file://") :] if isinstance(operand, str) and operand.startswith("file://") else operand
