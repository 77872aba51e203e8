"""mkdir and mktemp: directories and names that are new, so that nothing is lost by them."""

from __future__ import annotations

from guard.effects import CREATE, At, Pattern, join
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
    """mktemp: a new file or directory under a name that nobody has. https://www.gnu.org/software/coreutils/mktemp

    The random letters are not known, but as nothing has such a name yet, any name that does not exist will do.
    """
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
    suffix = join(template[end:], options.value("suffix") or "")
    parent = directory if directory is not None else template.rpartition("/")[0] or ("/" if template.startswith("/") else ".")
    if isinstance(parent, str) and not call.is_dir(parent):
        return analysis(status=1)
    for number in range(10_000):
        name = join(template[:start], f"{number:X>{end - start}}", suffix)
        path = name if directory is None else join(directory, "/", name)
        if call.kind(path) is None:
            break
    changes = Changes(call)
    target = changes.entry(path)
    if isinstance(target, At) and not options.has("u"):
        if options.has("d"):
            changes.make_dir(target.path)
        else:
            changes.add(CREATE, target, content=b"")
    return changes.result(join(path, "\n"), 0)
