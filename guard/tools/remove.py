"""Tools that remove files: rm and its kin, rmdir, unlink, shred, and those that move files to a trash."""

from __future__ import annotations

import sys

from guard.effects import TRUNCATE, At, Below, Pattern, Text
from guard.overlay import DIRECTORY, FILE, OTHER, SYMLINK
from guard.tools.answers import MAYBE, NO, YES, Answers
from guard.tools.call import analysis
from guard.tools.changes import Changes, said
from guard.tools.options import Options, Table, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.effects import Analysis
    from guard.tools.call import Call

BSD = sys.platform != "linux"

RM = Table(
    flags="firRIdv" + ("PWx" if BSD else ""),
    long={
        "force": "", "interactive": "?", "one-file-system": "", "no-preserve-root": "", "preserve-root": "?", "recursive": "",
        "dir": "", "verbose": "", "help": "", "version": "", "-presume-input-tty": "",
    },
    same={"force": "f", "recursive": "r", "dir": "d", "verbose": "v"},
)  # fmt: skip
RMDIR = Table(
    flags="pv",
    long={"ignore-fail-on-non-empty": "", "parents": "", "path": "", "verbose": "", "help": "", "version": ""},
    same={"parents": "p", "path": "p", "verbose": "v"},
)
UNLINK = Table(long={"help": "", "version": ""})
SHRED = Table(
    flags="fuvxz",
    values="ns",
    long={
        "force": "", "iterations": "=", "random-source": "=", "size": "=", "remove": "?", "verbose": "", "exact": "",
        "zero": "",
        "help": "", "version": "",
    },
    same={"force": "f", "iterations": "n", "size": "s", "remove": "u", "verbose": "v", "exact": "x", "zero": "z"},
)  # fmt: skip
SRM = Table(flags="dfilrRvxsmznPDG0123456789", values="", long={"recursive": "", "force": "", "help": ""})


def rm(call: Call) -> Analysis:
    """rm. https://www.gnu.org/software/coreutils/rm"""
    changes = Changes(call)
    options = parse(call.argv[1:], RM)
    if options.has("help", "version"):
        return changes.result(said("rm", True))
    if changes.refuses(options) or _abbreviated(call.argv):
        return changes.result(status=1)
    recursive = options.has("r", "R") or not changes.certain
    asks = _asks(options)
    answers = Answers(call.stdin)
    if asks == "once" and (recursive or len(options.operands) > 3):
        answer = answers.next()
        if answer == NO:
            return changes.result(status=0)
        changes.certain = changes.certain and answer == YES
    ask = answers if asks == "always" else None
    for operand in options.operands:
        _remove(changes, operand, options, recursive, ask)
    if not options.operands and not options.has("f"):
        changes.fail()
    return changes.result(said("rm", options.has("v")))


def _abbreviated(argv: tuple[Text, ...]) -> bool:
    """rm takes --no-preserve-root only when it is spelled out."""
    words = argv[1 : argv.index("--")] if "--" in argv else argv[1:]
    return any(
        isinstance(w, str) and len(w) > 4 and w != "--no-preserve-root" and "--no-preserve-root".startswith(w) for w in words
    )


def _asks(options: Options) -> str:
    """Before what rm asks: "never", "once" or "always"; the last option counts."""
    last = options.last("f", "i", "I", "interactive")
    when = options.value("interactive") if last == "interactive" else None
    if isinstance(when, str) and when:
        return "never" if "never".startswith(when) or when in ("no", "none") else "once" if "once".startswith(when) else "always"
    return {"i": "always", "interactive": "always", "I": "once"}.get(last or "", "never")


def _remove(changes: Changes, operand: Text, options: Options, recursive: bool, ask: Answers | None) -> None:
    target = changes.entry(operand)
    forced = options.has("f")
    if isinstance(operand, Pattern):
        if target is not None:
            changes.delete(target, ask is None or ask.next() == YES)
            changes.status = None
        return
    kind = changes.kind(target)
    bare = operand.rstrip("/")
    if kind is None or not isinstance(target, At):
        if not forced or operand.endswith("/."):
            changes.fail()
        return
    if operand.endswith("/") and bare and kind != DIRECTORY:
        changes.fail()
        return
    if kind != DIRECTORY:
        _remove_one(changes, target, ask, 1)
        return
    empty = not changes.view.listdir(target.path)
    if not recursive and not (options.has("d") and empty):
        changes.fail()
    elif bare.rpartition("/")[2] in (".", "..") or (target.path == "/" and not options.has("no-preserve-root")):
        _refused(changes, target)
    elif operand.endswith("/") and changes.kind(changes.entry(bare)) == SYMLINK:
        # All below the link's target goes; then the link itself is "not a directory", which -f does not report.
        _remove_one(changes, Below(target.path), ask, _questions(changes, target.path))
        if not forced:
            changes.fail()
    else:
        _remove_one(changes, target, ask, _questions(changes, target.path) if ask else 1)


def _refused(changes: Changes, target: At) -> None:
    """GNU rm refuses "." and ".." and, unless told otherwise, "/"; other systems' rm may not refuse "/"."""
    changes.fail()
    if target.path == "/":
        changes.delete(target, certain=False)


def _remove_one(changes: Changes, target: At | Below, ask: Answers | None, questions: int) -> None:
    answer = ask.take(questions) if ask else YES
    if answer != NO:
        changes.delete(target, certain=answer == YES)
    if answer == MAYBE:
        changes.status = None


def _questions(changes: Changes, top: str) -> int:
    """How often rm -ri asks: once for a file or an empty directory, before and after for a directory that holds something."""
    count = 0
    for path, kind in changes.view.walk(top):
        count += 2 if kind == DIRECTORY and changes.view.listdir(path) else 1
    return count


def rmdir(call: Call) -> Analysis:
    """rmdir: only empty directories go. https://www.gnu.org/software/coreutils/rmdir"""
    changes = Changes(call)
    options = parse(call.argv[1:], RMDIR)
    if changes.refuses(options) or options.has("help", "version"):
        return changes.result(status=int(not options.has("help", "version")))
    for operand in options.operands:
        steps = [operand]
        while options.has("p") and isinstance(operand, str) and "/" in operand.rstrip("/"):
            operand = operand.rstrip("/").rpartition("/")[0]
            steps += [operand] if operand else []
        if not all(_remove_empty(changes, step) for step in steps) and not options.has("ignore-fail-on-non-empty"):
            changes.fail()
    return changes.result(said("rmdir", options.has("v")), None if options.operands else 1)


def _remove_empty(changes: Changes, operand: Text) -> bool:
    target = changes.entry(operand)
    if not isinstance(target, At) or not isinstance(operand, str) or changes.kind(target) != DIRECTORY:
        return False
    last = operand.rstrip("/").rpartition("/")[2]
    if (
        changes.view.listdir(target.path) != []
        or last == "."
        or changes.kind(changes.entry(operand.rstrip("/") or "/")) == SYMLINK
    ):
        return False
    changes.delete(target)
    return True


def unlink(call: Call) -> Analysis:
    """unlink: exactly one file. https://www.gnu.org/software/coreutils/unlink"""
    changes = Changes(call)
    options = parse(call.argv[1:], UNLINK)
    if changes.refuses(options) or options.has("help", "version") or len(options.operands) != 1:
        return changes.result(status=int(not options.has("help", "version")))
    operand = options.operands[0]
    target = changes.entry(operand)
    if isinstance(operand, Pattern) and target is not None:
        changes.delete(target)
        return changes.result()._replace(status=None)
    if target is None or changes.kind(target) in (None, DIRECTORY) or (isinstance(operand, str) and operand.endswith("/")):
        return changes.result(status=1)
    changes.delete(target)
    return changes.result()


def shred(call: Call) -> Analysis:
    """shred: the content goes, with -u the file too. https://www.gnu.org/software/coreutils/shred"""
    changes = Changes(call)
    options = parse(call.argv[1:], SHRED)
    if changes.refuses(options) or options.has("help", "version"):
        return changes.result(status=int(not options.has("help", "version")))
    idle = options.value("n") in ("0", "00") and not options.has("z")
    for operand in options.operands:
        target = changes.opened(operand)
        if operand == "-":
            continue
        if target is None or (isinstance(target, At) and changes.kind(target) not in (FILE, OTHER)):
            changes.fail()
            continue
        if not idle:
            changes.write(target, action=TRUNCATE)
        entry = changes.entry(operand)
        if options.has("u") and entry is not None:
            changes.delete(entry)
    return changes.result(status=None if options.operands else 1)


def srm(call: Call) -> Analysis:
    """srm (secure-delete) and wipe: rm that overwrites first. They ask nobody unless told to."""
    options = parse(call.argv[1:], SRM)
    if options.has("help"):
        return analysis()
    changes = Changes(call)
    recursive = options.has("r", "R", "recursive")
    answers = Answers(call.stdin) if options.has("i") else None
    for operand in options.operands:
        _remove(changes, operand, options, recursive, answers)
    return changes.result()
