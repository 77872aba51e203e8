"""ln: links that take a file's place. https://www.gnu.org/software/coreutils/ln"""

from __future__ import annotations

from guard.effects import LINK, At, Text
from guard.overlay import DIRECTORY, SYMLINK
from guard.paths import parent
from guard.tools.answers import NO, YES, Answers
from guard.tools.changes import Changes, said
from guard.tools.options import Options, Table, parse
from guard.tools.places import SAME, SHARED, Pair, backup, basename, pairs, same_file, set_aside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.effects import Analysis, Target
    from guard.tools.call import Call

LN = Table(
    flags="bdFfhiLnPrsTvw",
    values="tS",
    long={
        **{k: v for k, v in SHARED.items() if k not in ("no-clobber", "update", "strip-trailing-slashes", "context", "debug")},
        "directory": "", "logical": "", "no-dereference": "", "physical": "", "relative": "", "symbolic": "",
    },
    same={
        **{k: v for k, v in SAME.items() if k not in ("no-clobber", "update")}, "directory": "d", "logical": "L",
        "no-dereference": "n", "physical": "P", "relative": "r", "symbolic": "s",
    },
)  # fmt: skip


def ln(call: Call) -> Analysis:
    """ln, hard and symbolic. A hard link is shown as a link to its source: what is written through it arrives there."""
    changes = Changes(call)
    options = parse(call.argv[1:], LN)
    if options.has("help", "version"):
        return changes.result(said("ln", True))
    if changes.refuses(options):
        return changes.result(status=1)
    alone = len(options.operands) == 1 and not options.has("t", "T")
    found = (
        [Pair(o, basename(o)) for o in options.operands] if alone else pairs(changes, options, follow=not options.has("n", "h"))
    )
    if found is None:
        return changes.result(status=1)
    answers = Answers(call.stdin)
    made: set[str] = set()
    for pair in found:
        _link(changes, pair, options, answers, made if len(found) > 1 else None)
    return changes.result(said("ln", options.has("v")))


def _link(changes: Changes, pair: Pair, options: Options, answers: Answers, made: set[str] | None) -> None:
    target = changes.entry(pair.place)
    source = changes.call.path(pair.source)
    symbolic = options.has("s")
    removes = options.last("f", "i") is not None or options.has("b", "S")
    if target is None:
        return changes.fail()
    if not isinstance(target, At):
        changes.status = None
        return changes.add(LINK, target, to=source if isinstance(source, str) else None) if removes else None
    there = changes.kind(target)
    if not symbolic and isinstance(source, str) and changes.view.kind(changes.view.at(source)) in (None, DIRECTORY):
        return changes.fail()
    if isinstance(pair.place, str) and pair.place.endswith("/") and there != DIRECTORY:
        return changes.fail()
    if there == DIRECTORY or (there is not None and not removes) or not changes.view.is_dir(parent(target.path)):
        return changes.fail()
    answer = _takes_place(changes, source, target, symbolic, options, answers, made) if there is not None else YES
    if answer == NO:
        return changes.fail()
    if there is not None and options.has("b", "S"):
        set_aside(changes, target, backup(options, changes.call.env), answer == YES)
    changes.add(LINK, target, answer == YES, _text(changes, pair.source, source, options))
    if made is not None:
        made.add(target.path)
    return None


def _takes_place(
    changes: Changes, source: Text, target: At, symbolic: bool, options: Options, answers: Answers, made: set[str] | None
) -> str:
    """YES, NO or MAYBE: does the link go where something is already?"""
    if made is not None and target.path in made:
        return NO
    if isinstance(source, str) and _itself(changes, source, target.path, options) and not (symbolic and options.has("b", "S")):
        return NO
    return answers.next() if options.last("f", "i") == "i" else YES


def _itself(changes: Changes, source: str, target: str, options: Options) -> bool:
    """True when the link would take its own source's place, or is the same file already."""
    view = changes.view
    if not options.has("s"):
        return same_file(view, view.through(source) if options.has("L") else view.at(source), target)
    found = view.lstat(target)
    return view.at(source) == target or (
        same_file(view, view.through(source), target) and found is not None and found.st_nlink == 1
    )


def _text(changes: Changes, operand: Text, source: Text, options: Options) -> str | None:
    """What the link says: as typed, or the whole path where it is made relative or is a hard link."""
    if not isinstance(operand, str) or not isinstance(source, str):
        return None
    if options.has("s") and not options.has("r"):
        return operand
    path = changes.view.at(source)
    followed: Target | None = changes.opened(operand) if options.has("L") or changes.view.kind(path) != SYMLINK else None
    return followed.path if isinstance(followed, At) else path
