"""Inspection: stat, as far as its format asks for what is known."""

from __future__ import annotations

import stat as modes
import sys

from guard import expressions as re
from guard.overlay import DIRECTORY, FILE, OTHER, SYMLINK
from guard.tools.call import analysis
from guard.tools.options import Options, Table, parse
from guard.tools.reading import FILES, UnknownOutputError, shrug

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.effects import Analysis
    from guard.tools.call import Call

TABLE = Table(
    flags="Lft",
    values="c",
    long={"dereference": "", "file-system": "", "format": "=", "printf": "=", "terse": "", "cached": "="},
    same={"dereference": "L", "file-system": "f", "format": "c", "terse": "t"},
)
_DIRECTIVE = re.compile(r"%([-0-9.#+ ]*)([a-zA-Z%])")
_KINDS = {FILE: "regular file", DIRECTORY: "directory", SYMLINK: "symbolic link"}
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", '"': '"', "0": "\0"}


def stat(call: Call) -> Analysis:
    """stat: size, kind, mode, owner and times of the operands in the given format."""
    options = parse(call.argv[1:], TABLE)
    if not sys.platform.startswith("linux"):
        return shrug(call)  # BSD's has other options
    if options.strange:
        return analysis(status=1)
    shape, name = options.value("c", "printf"), options.last("c", "printf")
    if options.has("f", "t", "cached") or not isinstance(shape, str) or not 0 < len(options.operands) <= FILES:
        return shrug(call)
    if name == "printf":
        if re.search(r"\\[^nt\\\"]", shape):
            return shrug(call)
        shape = re.sub(r"\\(.)", lambda found: _ESCAPES[found[1]], shape)
    try:
        return _shown(call, options, shape + "\n" * (name == "c"))
    except UnknownOutputError:
        return shrug(call)


def _shown(call: Call, options: Options, shape: str) -> Analysis:
    shown, status = "", 0
    for operand in options.operands:
        path = call.path(operand)
        if not isinstance(path, str) or operand == "-":
            raise UnknownOutputError
        place = call.view.through(path) if options.has("L") or path.endswith("/") else call.view.at(path)
        if call.view.kind(place) is None or (path.endswith("/") and not call.view.is_dir(path)):
            status = 1
            continue
        shown += _filled(call, str(operand), place, shape)
    return analysis(output=shown, status=status)


def _filled(call: Call, operand: str, place: str, shape: str) -> str:
    return _DIRECTIVE.sub(lambda found: _value(call, operand, place, found[1], found[2]), shape)


def _value(call: Call, operand: str, place: str, width: str, letter: str) -> str:
    """What a directive stands for."""
    if letter == "%" or width:
        if width:
            raise UnknownOutputError
        return "%"
    kind = call.view.kind(place)
    if letter == "n":
        return operand
    if letter == "s" and kind == FILE:
        return str(_size(call, place))
    if letter == "F" and kind != OTHER:
        empty = kind == FILE and _size(call, place) == 0
        return "regular empty file" if empty else _KINDS[kind or ""]
    found = None if call.view.touched(place) else call.view.lstat(place)
    if found is None:
        raise UnknownOutputError
    values = {
        "a": f"{modes.S_IMODE(found.st_mode):o}", "A": modes.filemode(found.st_mode), "s": f"{found.st_size}",
        "f": f"{found.st_mode:x}", "h": f"{found.st_nlink}", "i": f"{found.st_ino}", "u": f"{found.st_uid}",
        "g": f"{found.st_gid}", "X": f"{int(found.st_atime)}", "Y": f"{int(found.st_mtime)}", "Z": f"{int(found.st_ctime)}",
    }  # fmt: skip
    if letter not in values:
        raise UnknownOutputError
    return values[letter]


def _size(call: Call, path: str) -> int:
    node = call.view.lookup(path)
    if node.base is not None and (found := call.view.lstat(path)) is not None:
        return found.st_size
    if node.content is None:
        raise UnknownOutputError
    return len(node.content)
