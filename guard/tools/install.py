"""install: copies that take the old file's place, and new directories. https://www.gnu.org/software/coreutils/install"""

from __future__ import annotations

from guard.effects import At
from guard.tools.answers import Answers
from guard.tools.changes import Changes, said
from guard.tools.copy import Way, copy
from guard.tools.options import Options, Table, parse
from guard.tools.places import SAME, SHARED, Clobber, backup, pairs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.effects import Analysis
    from guard.tools.call import Call
    from guard.tools.options import Options


OTHERS = ("force", "interactive", "no-clobber", "update", "strip-trailing-slashes")
INSTALL = Table(
    flags="bcCdDpsTvZ",
    values="gmotS",
    long={
        **{k: v for k, v in SHARED.items() if k not in OTHERS},
        "compare": "", "directory": "", "group": "=", "mode": "=", "owner": "=", "preserve-timestamps": "", "strip": "",
        "strip-program": "=", "preserve-context": "",
    },
    same={**{k: v for k, v in SAME.items() if k in ("backup", "no-target-directory", "suffix", "target-directory", "verbose")},
          "directory": "d"},
)  # fmt: skip


def install(call: Call) -> Analysis:
    """install: copies that replace the old file, and directories. https://www.gnu.org/software/coreutils/install"""
    changes = Changes(call)
    options = parse(call.argv[1:], INSTALL)
    if options.has("help", "version") or changes.refuses(options):
        return changes.result(status=int(not options.has("help", "version")))
    if options.has("d"):
        return _directories(changes, options)
    if options.has("D"):
        _leading(changes, options)
    found = pairs(changes, options)
    if found is None:
        return changes.result(status=1)
    rules = Clobber("yes", False, Answers(call.stdin))
    way = Way(False, "always", rules, backup(options, call.env), replaces=True, made=set() if len(found) > 1 else None)
    for pair in found:
        copy(changes, pair, way)
    return changes.result(said("install", options.has("v")))


def _directories(changes: Changes, options: Options) -> Analysis:
    for operand in options.operands:
        target = changes.opened(operand)
        if not isinstance(target, At) or not changes.make_dirs(target.path):
            changes.fail()
    return changes.result(said("install", options.has("v")))


def _leading(changes: Changes, options: Options) -> None:
    directory = options.value("t")
    if directory is None and len(options.operands) == 2 and isinstance(options.operands[1], str):
        directory = options.operands[1].rstrip("/").rpartition("/")[0]
    target = changes.opened(directory) if directory else None
    if isinstance(target, At):
        changes.make_dirs(target.path)
