"""Names: ls, and the tools that take paths apart or follow them."""

from __future__ import annotations

import os
import stat
import time

from guard import expressions as re
from guard.effects import Analysis, Pattern, Text, join
from guard.overlay import DIRECTORY, FILE, SYMLINK
from guard.paths import child
from guard.tools.call import analysis
from guard.tools.options import Options, Table, parse
from guard.tools.reading import UnknownOutputError, shrug

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.tools.call import Call

LS = Table(
    flags="aAbBcCdDfFgGhHiklLmnNopqQrRsStuUvxXZ1",
    values="ITw",
    long={
        "all": "", "almost-all": "", "author": "", "escape": "", "block-size": "=", "ignore-backups": "", "color": "?",
        "directory": "",
        "dired": "", "classify": "?", "file-type": "", "format": "=", "full-time": "", "group-directories-first": "",
        "no-group": "",
        "human-readable": "", "si": "", "dereference": "", "dereference-command-line": "", "hide": "=", "hyperlink": "?",
        "indicator-style": "=", "inode": "", "ignore": "=", "literal": "", "numeric-uid-gid": "", "quote-name": "",
        "quoting-style": "=",
        "reverse": "", "recursive": "", "size": "", "sort": "=", "time": "=", "time-style": "=", "tabsize": "=", "width": "=",
        "context": "", "zero": "", "help": "", "version": "",
    },
    same={
        "all": "a", "almost-all": "A", "directory": "d", "classify": "F", "human-readable": "h", "reverse": "r", "recursive": "R",
        "literal": "N", "ignore": "I", "dereference": "L", "no-group": "G", "ignore-backups": "B",
    },
)  # fmt: skip
_PLAIN = set("aAdFhprStUlo1NLGHnkqv") | {"color", "group-directories-first", "full-time", "sort", "zero", "time-style"}


def ls(call: Call) -> Analysis:
    """The names as ls prints them into a pipe, one a line; the columns of -l are set by single blanks."""
    options = parse(call.argv[1:], LS)
    if options.strange or not {name for name, _ in options.given} <= _PLAIN:
        return shrug(call)
    try:
        return _listed(call, options)
    except UnknownOutputError:
        return shrug(call)


def _listed(call: Call, options: Options) -> Analysis:
    files: list[tuple[str, str]] = []
    directories: list[tuple[str, str]] = []
    status = 0
    for operand in options.operands or (".",):
        path = call.path(operand)
        if not isinstance(operand, str) or not isinstance(path, str):
            raise UnknownOutputError
        place = call.view.at(path)
        kind = call.view.kind(place)
        if kind == SYMLINK and (not options.has("l", "d", "F", "n", "o") or options.has("L", "H")) and call.view.exists(path):
            place = call.view.through(path)
            kind = call.view.kind(place)
        if kind is None:
            status = 2
        elif kind == DIRECTORY and not options.has("d"):
            directories.append((operand, place))
        else:
            files.append((operand, place))
    blocks = [_rows(call, options, _ordered(call, options, files))] if files else []
    for operand, place in _ordered(call, options, directories):
        title = f"{operand}:\n" if len(options.operands) > 1 else ""
        total = "total 0\n" if options.has("l", "n", "o") else ""
        blocks.append(title + total + _rows(call, options, _ordered(call, options, _entries(call, options, place))))
    return analysis(output="\n".join(blocks), status=status)


def _entries(call: Call, options: Options, directory: str) -> list[tuple[str, str]]:
    names = call.view.listdir(directory) or []
    if options.has("a"):
        names = [".", "..", *names]
    elif not options.has("A"):
        names = [name for name in names if not name.startswith(".")]
    return [
        (name, call.view.through(child(directory, name)) if name in (".", "..") else child(directory, name)) for name in names
    ]


def _ordered(call: Call, options: Options, entries: list[tuple[str, str]]) -> list[tuple[str, str]]:
    order = str(options.value("sort") or ("time" if options.has("t") else "size" if options.has("S") else "name"))
    field = {"time": "st_mtime_ns", "size": "st_size"}.get(order)
    if order not in ("time", "size", "name", "none"):
        raise UnknownOutputError
    entries = sorted(entries, key=lambda entry: os.fsencode(entry[0]))
    if field and not options.has("U"):
        stats = {path: call.view.lstat(path) for _, path in entries}
        if any(found is None for found in stats.values()):
            raise UnknownOutputError
        entries.sort(key=lambda entry: -int(getattr(stats[entry[1]], field)))
    if options.has("r"):
        entries.reverse()
    if options.has("group-directories-first"):
        entries.sort(key=lambda entry: not call.view.is_dir(entry[1]))
    return entries


def _rows(call: Call, options: Options, entries: list[tuple[str, str]]) -> str:
    end = "\0" if options.has("zero") else "\n"
    shown = _long if options.has("l", "n", "o", "full-time") else _short
    return "".join(shown(call, options, name, path) + end for name, path in entries)


def _short(call: Call, options: Options, name: str, path: str) -> str:
    kind = call.view.kind(path)
    if kind == DIRECTORY and options.has("p", "F"):
        return name + "/"
    if not options.has("F") or kind == DIRECTORY:
        return name
    found = call.view.lstat(path)
    return name + ("@" if kind == SYMLINK else "*" if kind == FILE and found and found.st_mode & 0o111 else "")


def _long(call: Call, options: Options, name: str, path: str) -> str:
    found = call.view.lstat(path)
    if found is None:
        raise UnknownOutputError
    to = call.view.readlink(path) if stat.S_ISLNK(found.st_mode) else None
    when = time.strftime("%b %e %H:%M", time.localtime(found.st_mtime))
    owner = f"{found.st_uid}" if options.has("o") else f"{found.st_uid} {found.st_gid}"
    arrow = f" -> {to}" if to is not None else ""
    mode = stat.filemode(found.st_mode)
    return f"{mode} {found.st_nlink} {owner} {found.st_size} {when} {_short(call, options, name, path)}{arrow}"


def _last(path: Text) -> Text | None:
    """The last component; None where it cannot be told."""
    if isinstance(path, str):
        return path.rstrip("/").rpartition("/")[2] or path[:1]
    _, slash, last = path.suffix.rpartition("/")
    return last if slash and last else None


def basename(call: Call) -> Analysis:
    """The last component of each operand, without a suffix where given."""
    table = Table(
        flags="az",
        values="s",
        long={"multiple": "", "suffix": "=", "zero": ""},
        same={"multiple": "a", "suffix": "s", "zero": "z"},
        permute=False,
    )
    options = parse(call.argv[1:], table)
    names, suffix = options.operands, options.value("s") or ""
    if options.strange or not names:
        return shrug(call)
    if not options.has("a", "s"):
        names, suffix = names[:1], (*names[1:2], "")[0]
    shown: list[Text] = []
    for each in names:
        last = _last(each)
        if last is None or not isinstance(last, str) or not isinstance(suffix, str):
            return shrug(call)
        shown += [last.removesuffix(suffix) if last != suffix else last, "\0" if options.has("z") else "\n"]
    return analysis(output=join(*shown), status=0)


def dirname(call: Call) -> Analysis:
    """All but the last component of each operand."""
    options = parse(call.argv[1:], Table(flags="z", long={"zero": ""}, same={"zero": "z"}))
    if options.strange or not options.operands:
        return shrug(call)
    shown: list[Text] = []
    for each in options.operands:
        directory = _directory(each)
        if directory is None:
            return shrug(call)
        shown += [directory, "\0" if options.has("z") else "\n"]
    return analysis(output=join(*shown), status=0)


def _directory(path: Text) -> Text | None:
    if isinstance(path, str):
        directory, slash, _ = path.rstrip("/").rpartition("/")
        return directory.rstrip("/") or ("/" if slash or path.startswith("/") else ".")
    before, slash, last = path.suffix.rpartition("/")
    if not slash or not last:
        return None
    return join(Pattern(path.pieces[:-1]), before.rstrip("/"))


def realpath(call: Call) -> Analysis:
    """Each operand with its links resolved; what does not exist is an error with -e, its last part may be missing otherwise."""
    table = Table(
        flags="emLPqsz",
        long={
            "canonicalize-existing": "", "canonicalize-missing": "", "logical": "", "physical": "", "quiet": "",
            "relative-to": "=",
            "relative-base": "=", "strip": "", "no-symlinks": "", "zero": "",
        },
        same={
            "canonicalize-existing": "e", "canonicalize-missing": "m", "strip": "s", "no-symlinks": "s", "zero": "z",
            "logical": "L", "physical": "P", "quiet": "q",
        },
    )  # fmt: skip
    options = parse(call.argv[1:], table)
    if options.strange or options.has("relative-base", "L") or not options.operands:
        return shrug(call)
    need = "e" if options.has("e") else "m" if options.has("m", "s") else "f"
    return _resolved(call, options, need)


def readlink(call: Call) -> Analysis:
    """Where a link points, or with -f, -e or -m where the path leads."""
    table = Table(
        flags="femnqsvz",
        long={"canonicalize": "", "canonicalize-existing": "", "canonicalize-missing": "", "no-newline": "", "zero": ""},
        same={"canonicalize": "f", "canonicalize-existing": "e", "canonicalize-missing": "m", "no-newline": "n", "zero": "z"},
    )
    options = parse(call.argv[1:], table)
    if options.strange or not options.operands:
        return shrug(call)
    need = options.last("f", "e", "m")
    return _resolved(call, options, need or "")


def _resolved(call: Call, options: Options, need: str) -> Analysis:
    shown, status = "", 0
    end = "\0" if options.has("z") else "" if options.has("n") and len(options.operands) == 1 else "\n"
    base = options.value("relative-to")
    for operand in options.operands:
        path = call.path(operand)
        if not isinstance(path, str):
            return shrug(call)
        found = _normal(path) if options.has("s") and need != "" else _found(call, path, need)
        if found is None:
            status = 1
            continue
        if base is not None:
            start = call.where(base)
            if start is None:
                return shrug(call)
            found = os.path.relpath(found, start)
        shown += found + end
    return analysis(output=shown, status=status)


def _found(call: Call, path: str, need: str) -> str | None:
    view = call.view
    if need == "":
        return view.readlink(view.at(path)) if not re.search(r"/\.{0,2}$", path) else None
    resolved = view.through(path)
    if need == "e" and view.kind(resolved) is None:
        return None
    if need == "f" and view.kind(resolved) is None and view.kind(os.path.dirname(resolved)) != DIRECTORY:
        return None
    return resolved


def _normal(path: str) -> str:
    normal = os.path.normpath(path)
    return normal[1:] if normal.startswith("//") else normal
