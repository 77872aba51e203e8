"""mkdir and mktemp: directories and names that are new, so that nothing is lost by them."""

from __future__ import annotations

from guard.effects import At, Hole, Pattern, join
from guard.tools.call import analysis
from guard.tools.changes import Changes, said
from guard.tools.options import Table, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.effects import Analysis
    from guard.tools.call import Call


MKDIR = Table(
    flags="pvZ",
    values="m",
    long={"parents": "", "verbose": "", "mode": "=", "context": "?", "help": "", "version": ""},
    same={"parents": "p", "verbose": "v"},
)
MKTEMP = Table(
    flags="dqtuV",
    values="p",
    long={"directory": "", "quiet": "", "dry-run": "", "suffix": "=", "tmpdir": "?", "help": "", "version": ""},
    same={"directory": "d", "quiet": "q", "dry-run": "u"},
)


def mkdir(call: Call) -> Analysis:
    """mkdir: new directories, which nothing can be lost by. https://www.gnu.org/software/coreutils/mkdir"""
    changes = Changes(call)
    options = parse(call.argv[1:], MKDIR)
    if changes.refuses(options) or options.has("help", "version"):
        return changes.result(status=int(not options.has("help", "version")))
    for operand in options.operands:
        target = changes.opened(operand) if options.has("p") else changes.entry(operand)
        if isinstance(operand, Pattern):
            changes.status = None
        elif not isinstance(target, At) or not (changes.make_dirs if options.has("p") else changes.make_dir)(target.path):
            changes.fail()
    return changes.result(said("mkdir", options.has("v")), None if options.operands else 1)


def mktemp(call: Call) -> Analysis:
    """mktemp: a new name nobody has; it shows as a hole in the template. https://www.gnu.org/software/coreutils/mktemp"""
    options = parse(call.argv[1:], MKTEMP)
    if options.strange or options.has("help", "version") or len(options.operands) > 1:
        return analysis(status=int(not options.has("help", "version")))
    template = options.operands[0] if options.operands else "tmp.XXXXXXXXXX"
    directory = options.value("p", "tmpdir")
    if directory == "" or (directory is None and (not options.operands or options.has("t"))):
        directory = call.env.get("TMPDIR") or "/tmp"
    if not isinstance(template, str):
        return analysis(output=join(template, "\n"))
    place = template.rfind("XXX")
    if place < 0:
        return analysis(status=1)
    end = place + 3
    start = len(template[:end].rstrip("X"))
    hole = Pattern((Hole("unknown-output", "mktemp"),))
    name = join(template[:start], hole, template[end:], options.value("suffix") or "")
    path = name if directory is None else join(directory, "/", name)
    return analysis(output=join(path, "\n"), status=0)
