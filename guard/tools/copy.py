"""Copies: cp and install, and the local side of scp. https://www.gnu.org/software/coreutils/cp"""

from __future__ import annotations

from guard.effects import CREATE, OVERWRITE, At, Somewhere, Text, join
from guard.overlay import DIRECTORY, OTHER, SYMLINK
from guard.paths import below, child, parent
from guard.tools.answers import NO, YES, Answers, always
from guard.tools.changes import STREAMS, Changes, said
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
from guard.tools.transfer import wrong_backup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    from guard.effects import Analysis, Target
    from guard.tools.call import Call
else:
    from guard.record import NamedTuple

CP = Table(
    flags="abdfiHlLnPpRrsuvxTZ",
    values="tS",
    long={
        **SHARED, "archive": "", "attributes-only": "", "copy-contents": "", "dereference": "",
        "keep-directory-symlink": "", "link": "",
        "no-dereference": "", "no-preserve": "=", "one-file-system": "", "parents": "", "path": "", "preserve": "?",
        "recursive": "",
        "reflink": "?", "remove-destination": "", "sparse": "=", "symbolic-link": "",
    },
    same={
        **SAME, "archive": "a", "dereference": "L", "link": "l", "no-dereference": "P", "one-file-system": "x",
        "path": "parents",
        "recursive": "r", "symbolic-link": "s",
    },
)  # fmt: skip


class Way(NamedTuple):
    """How copies are made: `follow` says which links in sources are followed ("never", "command" line only, "always"), `replaces`
    that the old file is removed first, `kind` is "copy", "hard" or "symbolic"."""

    recursive: bool
    follow: str
    rules: Clobber
    backup: Backup
    replaces: bool = False
    kind: str = "copy"
    force: bool = False
    contents: bool = False
    attributes: bool = False
    keeps_links: bool = False
    made: set[str] | None = None


def cp(call: Call) -> Analysis:
    """cp: contents that arrive elsewhere, through links, into directories, as links."""
    changes = Changes(call)
    options = parse(call.argv[1:], CP)
    if options.has("help", "version"):
        return changes.result(said("cp", True))
    found = None if changes.refuses(options) or wrong_backup(options) else pairs(changes, options)
    if found is None:
        return changes.result(status=1)
    way = _way(call, options, len(found) > 1)
    for source, place in found:
        if options.has("strip-trailing-slashes") and isinstance(source, str):
            source = source.rstrip("/") or "/"
        if options.has("parents"):
            place = _with_parents(changes, options, source)
        copy(changes, Pair(source, place), way)
    return changes.result(said("cp", options.has("v", "debug")))


def _way(call: Call, options: Options, several: bool) -> Way:
    recursive = options.has("r", "R", "a")
    last = options.last("L", "P", "H", "d", "a")
    follow = {"L": "always", "P": "never", "H": "command", "d": "never", "a": "never"}.get(last or "", "")
    kind = "symbolic" if options.has("s") else "hard" if options.has("l") else "copy"
    return Way(
        recursive,
        follow or ("never" if recursive and kind != "hard" else "always"),
        _clobber(call, options, recursive),
        backup(options, call.env),
        options.has("remove-destination"),
        kind,
        options.has("f"),
        options.has("copy-contents"),
        options.has("attributes-only"),
        options.has("keep-directory-symlink"),
        set() if several else None,
    )


def _clobber(call: Call, options: Options, recursive: bool) -> Clobber:
    """As mv's, but -f has no say; and a tree is gone through in an order that is not known."""
    how = clobber(options, Answers(call.stdin))
    last = options.last("i", "n")
    way = how.way if how.way == "no" and last != "i" else {"i": "ask", "n": "no"}.get(last or "", "yes")
    return how._replace(way=way, answers=always(how.answers.steady) if recursive and way == "ask" else how.answers)


def _with_parents(changes: Changes, options: Options, source: Text) -> Text:
    """The place of a source under --parents: its whole name below the directory, whose missing parts are made."""
    directory = options.value("t")
    top = directory if directory is not None else options.operands[-1]
    place = join(top, "/", source)
    target = changes.opened(join(top, "/", source.strip("/").rpartition("/")[0])) if isinstance(source, str) else None
    if isinstance(target, At) and changes.call.exists(source):
        changes.make_dirs(target.path)
    return place.rstrip("/") if isinstance(place, str) else place


def copy(changes: Changes, pair: Pair, way: Way) -> None:
    """One source of the command line to its place."""
    stream = isinstance(pair.source, str) and pair.source.startswith(STREAMS)
    follow = way.follow != "never" or stream
    source = changes.opened(pair.source) if follow and not stream else changes.entry(pair.source)
    target = changes.entry(pair.place)
    if source is None or target is None:
        return changes.fail()
    if not isinstance(source, At) or not isinstance(target, At):
        return _copy_unknown(changes, source, target, way, pair)
    if not stream and (changes.kind(source) is None or not _slashes(changes, pair, source)):
        return changes.fail()
    if stream:
        return _copy_file(changes, str(pair.source), target.path, way, OTHER)
    return _copy(changes, source.path, target.path, way, target.path, changes.kind(source))


def _slashes(changes: Changes, pair: Pair, source: At) -> bool:
    """False where a slash at the end of a name asks for a directory that is not there."""
    kind = changes.kind(source)
    if not passable_slash(changes, pair.source) and kind != DIRECTORY:
        return False
    return not (
        isinstance(pair.place, str) and pair.place.endswith("/") and kind != DIRECTORY and not changes.call.is_dir(pair.place)
    )


def _copy_unknown(changes: Changes, source: Target, target: Target, way: Way, pair: Pair) -> None:
    """One end is not known: what could be the target is overwritten; a tree that is not known, anywhere below it."""
    changes.status = None
    if (isinstance(source, At) and changes.kind(source) is None) or way.rules.way == "no":
        return
    if isinstance(target, At):
        if changes.view.is_dir(target.path):
            if way.recursive:
                changes.add(OVERWRITE, Somewhere(changes.view.through(target.path)), certain=False)
        else:
            changes.write(changes.opened(pair.place))
    elif isinstance(source, At) and changes.kind(source) == DIRECTORY and not way.recursive:
        changes.fail()
    else:
        changes.add(OVERWRITE, target)


def _copy(changes: Changes, source: str, target: str, way: Way, top: str, kind: str | None) -> None:
    """A file or a tree between two physical paths."""
    if kind != DIRECTORY:
        return _copy_file(changes, source, target, way, kind)
    there = changes.view.kind(target)
    if not way.recursive or source == target:
        return changes.fail()
    if there == SYMLINK and way.keeps_links and changes.view.is_dir(target):
        target, there = changes.view.through(target), DIRECTORY
    if there is None:
        if below(target, source) or not changes.view.is_dir(parent(target)):
            return changes.fail()
        return changes.add(CREATE, At(target), source=source)
    if there != DIRECTORY:
        return changes.fail()
    for name, inner in changes.view.scan(source) or ():
        if changes.widens(OVERWRITE, target):
            return None
        entry = child(source, name)
        if entry == top:
            changes.fail()
            continue
        followed = changes.view.through(entry) if inner == SYMLINK and way.follow == "always" else entry
        kind = inner if followed == entry else changes.view.kind(followed)
        if kind is None:
            changes.fail()
        else:
            _copy(changes, followed, child(target, name), way, top, kind)
    return None


def _copy_file(changes: Changes, source: str, entry: str, way: Way, kind: str | None) -> None:
    """Something that is no directory, to an entry."""
    view = changes.view
    replaces = (
        way.replaces or way.backup.control != "none" or way.kind != "copy" or kind == SYMLINK or (kind == OTHER and _special(way))
    )
    shown = view.kind(entry)
    target = entry if replaces or shown != SYMLINK else view.through(entry)
    there = shown if target == entry else view.kind(target)
    if there == DIRECTORY:
        return changes.fail()
    if there is None and not view.is_dir(parent(target)):
        return changes.fail()
    if there is None and shown == SYMLINK and "POSIXLY_CORRECT" not in changes.call.env:
        return changes.fail()
    answer = _may_replace(changes, source, entry, target, way, kind) if there is not None else YES
    if answer == NO:
        return None
    certain = answer == YES
    if there is not None and way.backup.control != "none":
        set_aside(changes, At(target), way.backup, certain)
    _put(changes, source, target, way, kind, certain, replaces)
    if way.made is not None:
        way.made.add(entry)
    return None


def _special(way: Way) -> bool:
    """A recursive copy makes devices and pipes anew, where it is not told to read them."""
    return way.recursive and not way.contents


def _may_replace(changes: Changes, source: str, entry: str, target: str, way: Way, kind: str | None) -> str:
    """YES, NO or MAYBE: does the copy go over what stands at the target?"""
    if way.made is not None and entry in way.made:
        changes.fail()
        return NO
    if _one_and_the_same(source, entry, target, way, kind, changes):
        changes.fail()
        return NO
    answer = goes_over(changes, way.rules, source, target)
    if (
        answer != NO
        and way.kind != "copy"
        and not (way.force or way.replaces or way.rules.way == "ask")
        and way.backup.control == "none"
    ):
        changes.fail()
        return NO
    return answer


def _one_and_the_same(source: str, entry: str, target: str, way: Way, kind: str | None, changes: Changes) -> bool:
    """True when cp says "are the same file"."""
    view = changes.view
    if source.startswith(STREAMS):
        return False
    replaces = way.replaces or way.backup.control != "none"
    if (replaces or way.kind != "copy" or kind == SYMLINK) and view.kind(entry) == SYMLINK:
        return same_file(view, source, entry)
    if kind == SYMLINK:
        return not replaces and same_file(view, view.through(source), view.through(entry))
    return same_file(view, source, target)


def _put(changes: Changes, source: str, target: str, way: Way, kind: str | None, certain: bool, replaces: bool) -> None:
    if way.kind == "symbolic" or way.kind == "hard":
        changes.link(At(target), source, certain)
    elif kind == SYMLINK:
        changes.link(At(target), changes.view.readlink(source) or "", certain)
    elif way.attributes and changes.view.kind(target) is not None:
        return
    else:
        content, origin = changes.arriving(source)
        if way.attributes:
            content, origin = b"", None
        if replaces:
            changes.replace(At(target), content, origin, certain)
        else:
            changes.write(At(target), content, origin, certain)
