"""Places: where mv, cp, ln and install put each source, what may be there, and where a backup of it goes."""

from __future__ import annotations

from guard.effects import MOVE, OVERWRITE, At, Hole, Pattern, Text, join
from guard.overlay import DIRECTORY, SYMLINK
from guard.tools.answers import MAYBE, NO, YES, Answers
from guard.tools.changes import Changes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import NamedTuple

    from guard.overlay import View
    from guard.tools.options import Options
else:
    from guard.record import NamedTuple

GLOB = frozenset("*?[")

# The long options that these tools share, with the letters that mean the same.
SHARED = {
    "backup": "?", "force": "", "interactive": "", "no-clobber": "", "no-target-directory": "", "strip-trailing-slashes": "",
    "suffix": "=", "target-directory": "=", "verbose": "", "context": "?", "update": "?", "debug": "", "help": "",
    "version": "",
}  # fmt: skip
SAME = {
    "backup": "b", "force": "f", "interactive": "i", "no-clobber": "n", "no-target-directory": "T", "suffix": "S",
    "target-directory": "t", "verbose": "v", "update": "u",
}  # fmt: skip


class Pair(NamedTuple):
    """A source and the name that it gets."""

    source: Text
    place: Text


def basename(operand: Text) -> Text:
    """The last component of an operand; a Pattern where it is not known."""
    if isinstance(operand, str):
        return operand.rstrip("/").rpartition("/")[2]
    end = operand.suffix.rstrip("/")
    if "/" in end and not GLOB & set(end.rpartition("/")[2]):
        return end.rpartition("/")[2]
    hole: Hole = operand.holes[-1]
    return Pattern((hole, end)) if end and "/" not in end else Pattern((hole,))


def into(directory: Text, source: Text) -> Text:
    """The name of a source within a directory."""
    base = basename(source)
    return directory if base in ("", "..") else join(directory, "" if directory == "/" else "/", base)


def pairs(changes: Changes, options: Options, follow: bool = True) -> list[Pair] | None:
    """Each source with its place, None for a wrong usage. Without `follow` a link to a directory is no directory to put into."""
    operands = options.operands
    directory = options.value("t")
    if options.has("T"):
        return [Pair(operands[0], operands[1])] if len(operands) == 2 and directory is None else None
    if directory is not None:
        return [Pair(s, into(directory, s)) for s in operands] if _directory(changes, directory, True) and operands else None
    if len(operands) < 2:
        return None
    *sources, last = operands
    if _directory(changes, last, follow) and not (isinstance(last, Pattern) and len(sources) == 1):
        return [Pair(source, into(last, source)) for source in sources]
    if len(sources) > 1:
        # A word of which nothing is known may be an option, or nothing at all.
        sources = [source for source in sources if not (isinstance(source, Pattern) and not source.prefix)]
        if len(sources) == len(operands) - 1:
            return None
        changes.certain = False
    return [Pair(source, last) for source in sources]


def _directory(changes: Changes, operand: Text, follow: bool) -> bool:
    if isinstance(operand, Pattern):
        return True
    if not follow and not operand.endswith("/") and changes.kind(changes.entry(operand)) == SYMLINK:
        return False
    return operand != "" and changes.call.is_dir(operand)


class Backup(NamedTuple):
    """How the old file is kept: control is "none", "simple", "numbered" or "existing"."""

    control: str
    suffix: str


CONTROLS = {
    "none": "none", "off": "none", "simple": "simple", "never": "simple", "existing": "existing", "nil": "existing",
    "numbered": "numbered", "t": "numbered",
}  # fmt: skip


def backup(options: Options, env: Mapping[str, Text]) -> Backup:
    """The backup that the options ask for. https://www.gnu.org/software/coreutils/manual/html_node/Backup-options.html"""
    given = options.value("b")
    suffix = options.value("S") or env.get("SIMPLE_BACKUP_SUFFIX") or "~"
    suffix = suffix if isinstance(suffix, str) and "/" not in suffix else "~"
    if given is None and options.value("S") is None:
        return Backup("none", suffix)
    word = given or env.get("VERSION_CONTROL") or "existing"
    return Backup(
        next((c for name, c in CONTROLS.items() if isinstance(word, str) and name.startswith(word)), "existing"), suffix
    )


def set_aside(changes: Changes, target: At, how: Backup, certain: bool = True) -> None:
    """Moves what stands at a target to its backup's name, over an older backup."""
    to = _backup_path(changes.view, target.path, how)
    if changes.view.kind(to) not in (None, DIRECTORY):
        changes.add(OVERWRITE, At(to), certain, source=target.path)
    changes.add(MOVE, target, certain, to)


def _backup_path(view: View, path: str, how: Backup) -> str:
    if how.control == "simple":
        return path + how.suffix
    directory, _, name = path.rpartition("/")
    numbers = [_number(entry, name) for entry in view.listdir(directory or "/") or ()]
    highest = max(numbers, default=0)
    return f"{path}.~{highest + 1}~" if how.control == "numbered" or highest else path + how.suffix


def _number(entry: str, name: str) -> int:
    middle = entry[len(name) + 2 : -1]
    numbered = (
        entry.startswith(name + ".~") and entry.endswith("~") and middle.isascii() and middle.isdigit() and len(middle) < 10
    )
    return int(middle) if numbered else 0


class Clobber(NamedTuple):
    """What happens where something stands already: `way` is "yes", "no" or "ask", `older`: only where it is older."""

    way: str
    older: bool
    answers: Answers


def clobber(options: Options, answers: Answers) -> Clobber:
    """The last of -f, -i and -n counts; -u and --update come on top."""
    update = options.value("u")
    word = update if isinstance(update, str) else ""
    last = options.last("f", "i", "n")
    never = len(word) > 1 and "none-fail".startswith(word)
    way = "no" if last == "n" or never else "ask" if last == "i" else "yes"
    older = update is not None and not never and not (word and "all".startswith(word))
    return Clobber(way, older, answers)


def goes_over(changes: Changes, how: Clobber, source: str, target: str) -> str:
    """YES, NO or MAYBE: does the source replace what stands at the target?"""
    if how.way == "no":
        changes.status = None
        return NO
    if how.older and not newer(changes.view, source, target):
        return NO
    answer = how.answers.next() if how.way == "ask" else YES
    if answer == MAYBE:
        changes.status = None
    elif answer == NO:
        changes.fail()
    return answer


def newer(view: View, source: str, target: str) -> bool:
    """True unless the source is known to be no newer than the target."""
    ours, theirs = view.lstat(source), view.lstat(target)
    if view.touched(source) or view.touched(target) or ours is None or theirs is None:
        return True
    return ours.st_mtime_ns > theirs.st_mtime_ns


def same_file(view: View, one: str, other: str) -> bool:
    """True when two physical paths are one file: equal, or hard links of each other."""
    if one == other:
        return True
    ours, theirs = view.lstat(one), view.lstat(other)
    if ours is None or theirs is None:
        return False
    return (ours.st_dev, ours.st_ino) == (theirs.st_dev, theirs.st_ino)


def passable_slash(changes: Changes, operand: Text) -> bool:
    """False for a trailing slash behind something that is no directory: rename and open refuse it."""
    if not isinstance(operand, str) or not operand.endswith("/") or not operand.strip("/"):
        return True
    return changes.kind(changes.entry(operand.rstrip("/"))) in (None, DIRECTORY)


def all_known(operands: Iterable[Text]) -> bool:
    """True when no operand has a hole."""
    return all(isinstance(operand, str) for operand in operands)
