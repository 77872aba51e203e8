"""mv: files that get another name. https://www.gnu.org/software/coreutils/mv"""

from __future__ import annotations

from guard.effects import MOVE, OVERWRITE, At, Effect, Text
from guard.overlay import DIRECTORY, SYMLINK
from guard.paths import below, parent
from guard.tools.answers import NO, YES, Answers
from guard.tools.changes import Changes, said
from guard.tools.options import Options, Table, parse
from guard.tools.places import (
    SAME,
    SHARED,
    Backup,
    Clobber,
    Pair,
    backup,
    clobber,
    goes_over,
    pairs,
    passable_slash,
    same_file,
    set_aside,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.effects import Analysis, Target
    from guard.tools.call import Call

MV = Table(flags="bfinuvTZh", values="tS", long={**SHARED, "exchange": "", "no-copy": ""}, same=SAME)


def mv(call: Call) -> Analysis:
    """mv of files, links and directories, onto and into others."""
    changes = Changes(call)
    options = parse(call.argv[1:], MV)
    if options.has("help", "version"):
        return changes.result(said("mv", True))
    found = None if changes.refuses(options) or wrong_backup(options) else pairs(changes, options)
    if found is None:
        return changes.result(status=1)
    how, rules = backup(options, call.env), clobber(options, Answers(call.stdin))
    made: set[str] = set()
    for source, place in found:
        bare = source.rstrip("/") or "/" if isinstance(source, str) and options.has("strip-trailing-slashes") else source
        if options.has("exchange"):
            _exchange(changes, bare, place)
        else:
            _move(changes, Pair(bare, place), how, rules, made if len(found) > 1 else None)
    return changes.result(said("mv", options.has("v", "debug")))


def wrong_backup(options: Options) -> bool:
    """A backup together with -n is a usage error."""
    return options.has("b") and options.last("f", "i", "n") == "n"


def _exchange(changes: Changes, source: Text, place: Text) -> None:
    one, other = changes.entry(source), changes.entry(place)
    if isinstance(one, At) and isinstance(other, At):
        if changes.kind(one) is None or changes.kind(other) is None:
            return changes.fail()
        changes.found += [Effect(MOVE, one, to=other.path), Effect(MOVE, other, to=one.path)]
        return None
    for target in (one, other):
        if target is not None:
            changes.move(target, None)
    return None


def _move(changes: Changes, pair: Pair, how: Backup, rules: Clobber, made: set[str] | None) -> None:
    source, target = changes.entry(pair.source), changes.entry(pair.place)
    if source is None or target is None:
        return changes.fail()
    if not isinstance(source, At) or not isinstance(target, At):
        return _move_unknown(changes, source, target, rules)
    kind, there = changes.kind(source), changes.kind(target)
    if not _movable(changes, pair, kind) or _impossible(changes, source.path, target.path, kind, there, how):
        return changes.fail()
    answer = YES
    if there is not None:
        if made is not None and target.path in made:
            return changes.fail()
        update = rules if kind != DIRECTORY else rules._replace(older=False)
        answer = goes_over(changes, update, source.path, target.path)
        if answer == NO:
            return None
        if how.control != "none":
            set_aside(changes, target, how, answer == YES)
        elif there != DIRECTORY:
            content, origin = changes.arriving(source.path)
            changes.add(OVERWRITE, target, answer == YES, None, content, origin)
    changes.move(source, target.path, answer == YES)
    if made is not None:
        made.add(target.path)
    return None


def _move_unknown(changes: Changes, source: Target, target: Target, rules: Clobber) -> None:
    """A move of which one end is not known: what could be the source goes, what could be the target is replaced."""
    changes.status = None
    if isinstance(source, At) and changes.kind(source) is None:
        return
    changes.move(source, target.path if isinstance(target, At) and isinstance(source, At) else None)
    if rules.way != "no" and not (isinstance(target, At) and changes.kind(target) in (None, DIRECTORY)):
        changes.add(OVERWRITE, target)


def _movable(changes: Changes, pair: Pair, kind: str | None) -> bool:
    """True when the source exists under the name as spelled, slashes at the end included."""
    source, place = pair.source, pair.place
    if kind is None or not isinstance(source, str) or source.rstrip("/").rpartition("/")[2] in (".", ".."):
        return False
    if not passable_slash(changes, source) or not passable_slash(changes, place):
        return False
    return not (isinstance(place, str) and place.endswith("/") and kind != DIRECTORY)


def _impossible(changes: Changes, source: str, target: str, kind: str | None, there: str | None, how: Backup) -> bool:
    """True when the kernel or mv refuses to give the source this name."""
    view = changes.view
    if kind == DIRECTORY and below(target, source):
        return True
    if there is None:
        return not view.is_dir(parent(target))
    if same_file(view, source, target) or (
        kind == SYMLINK and there != DIRECTORY and same_file(view, view.through(source), target)
    ):
        return True
    if below(source, target) and there == DIRECTORY:
        return True
    if kind == DIRECTORY and there == DIRECTORY:
        return how.control == "none" and view.listdir(target) != []
    return (kind == DIRECTORY) != (there == DIRECTORY)
