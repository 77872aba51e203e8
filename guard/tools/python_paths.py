"""os.path, pathlib, glob and os.walk, over the tree as the command has left it."""

from __future__ import annotations

from guard.effects import Pattern, Text, join, unknown
from guard.overlay import DIRECTORY, FILE, SYMLINK
from guard.tools.pathnames import WALKED, fits, joined_path, kind, matches
from guard.tools.process import entries
from guard.tools.python_program import Args, Program, truth
from guard.tools.python_values import Followed, Instance, Opaque, Path, joined, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def join_paths(*parts: Any) -> Path:
    """Path(a, b, ...) and a / b."""
    return Path(joined_path([text(part) for part in parts], normal=True))


def absolute(program: Program, path: Text) -> Text:
    """The path with the directory in front."""
    return program.process.here.path(path)


def normal(path: Text) -> Text:
    """os.path.normpath"""
    if not isinstance(path, str):
        return path
    kept: list[str] = []
    for part in path.split("/"):
        if part == ".." and kept and kept[-1] != "..":
            kept.pop()
        elif part not in ("", ".") and not (part == ".." and path.startswith("/") and not kept):
            kept.append(part)
    return ("/" if path.startswith("/") else "") + "/".join(kept) or "."


def relative(program: Program, path: Text, start: Text) -> Text:
    """os.path.relpath"""
    one, other = normal(absolute(program, path)), normal(absolute(program, start))
    if not isinstance(one, str) or not isinstance(other, str):
        return unknown("unknown-argument", "relpath()")
    a, b = [each for each in one.split("/") if each], [each for each in other.split("/") if each]
    shared = 0
    while shared < min(len(a), len(b)) and a[shared] == b[shared]:
        shared += 1
    return "/".join([".."] * (len(b) - shared) + a[shared:]) or "."


def base(path: Text) -> Text:
    """The last component; of a path that is known in part, what is known of it."""
    if isinstance(path, str):
        return path.rpartition("/")[2]
    if "/" in path.suffix:
        return path.suffix.rpartition("/")[2]
    return Pattern((path.holes[-1], *([path.suffix] if path.suffix else [])))


def directory(path: Text) -> Text:
    """The path without the last component."""
    if isinstance(path, str):
        head = path.rpartition("/")[0]
        return head or ("/" if path.startswith("/") else "")
    head = path.suffix.rpartition("/")[0]
    if "/" in path.suffix:
        return join(Pattern(path.pieces[:-1]), head)
    return Pattern((path.prefix.rpartition("/")[0] + "/", path.holes[0])) if "/" in path.prefix else Pattern((path.holes[0],))


def home(program: Program, path: Text) -> Text:
    """The path with ~ expanded."""
    if isinstance(path, str) and (path == "~" or path.startswith("~/")):
        return join(program.process.env.get("HOME", unknown("unknown-variable", "HOME")), path[1:])
    return path


def physical(program: Program, path: Text) -> Text:
    """The path with all links resolved."""
    where = program.process.here.where(path)
    return absolute(program, path) if where is None else where


def split_ending(path: Text) -> tuple[Text, str]:
    """os.path.splitext"""
    last = base(path)
    end = last if isinstance(last, str) else last.suffix
    at = end.rfind(".")
    ending = end[at:] if at > 0 or (at == 0 and not isinstance(last, str)) else ""
    if not ending or (not end[:at].strip(".") and isinstance(last, str)):
        return path, ""
    if isinstance(path, str):
        return path[: -len(ending)], ending
    kept = path.suffix[: -len(ending)]
    return Pattern((*path.pieces[:-1], *([kept] if kept else []))), ending


def presence(program: Program, path: Text, wanted: str | None, follow: bool = True) -> Any:
    """True, False, or an unknown value: whether something (of a kind) stands there."""
    if not isinstance(path, str):
        return Opaque("exists()")
    found = kind(program.process, path, follow)
    if found is None and program.doubt:
        return Opaque("exists()")
    return found is not None and wanted in (None, found)


def listing(program: Program, path: Text) -> list[str] | None:
    """The names in a directory, None where they are not known."""
    found = entries(program.process, path)
    program.unordered = program.unordered or len(found or ()) > 1
    if found is None and isinstance(path, str):
        program.done(False)
    return found


def walk(program: Program, top: Text, bottom_up: bool = False) -> list[Any]:
    """What os.walk goes through; behind the last directory that could be looked at stands an unknown one."""
    found: list[Any] = []
    left = [WALKED]
    _walk(program, top, found, left)
    if left[0] <= 0 or not isinstance(top, str):
        more = join(top, "/", unknown("unknown-argument", "os.walk()"))
        found.append((more, [], [unknown("unknown-argument", "os.walk()")]))
    return found[::-1] if bottom_up else Walk(found)


class Walk(Followed):
    """What os.walk goes through from the top: directories that the loop takes from the list of names are left out."""

    def __init__(self, items: list[Any]) -> None:
        super().__init__(items)
        self.doubt = 0
        self.left_out: list[str] = []
        self.names: list[str] = []

    def enter(self, program: Program, at: int) -> bool:
        """False below a directory that has been left out."""
        top, inner, _ = self[at]
        if any(f"{text(top)}/".startswith(path) for path in self.left_out):
            return False
        self.doubt, self.names = program.doubt, list(inner)
        return True

    def leave(self, program: Program, at: int) -> None:
        """Notes which names the round has surely taken away."""
        top, inner, _ = self[at]
        if program.doubt == self.doubt and all(isinstance(name, str) for name in inner):
            for name in set(self.names) - set(inner):
                self.left_out.append(f"{joined_path([text(top), name])}".rstrip("/") + "/")


def _walk(program: Program, top: Text, found: list[Any], left: list[int]) -> None:
    names = entries(program.process, top)
    if names is None or left[0] <= 0:
        return
    left[0] -= len(names) + 1
    inner = [name for name in names if kind(program.process, join(top, "/", name)) == DIRECTORY]
    found.append((top, inner, [name for name in names if name not in set(inner)]))
    for name in inner:
        below = joined_path([top, name])
        if kind(program.process, below, follow=False) == DIRECTORY:
            _walk(program, below, found, left)


def glob(program: Program, pattern: Text, top: Text = "", hidden: bool = False, recursive: bool = True) -> Any:
    """The paths that a glob pattern matches (below `top`, without it in front); unknown where the pattern is."""
    if not isinstance(pattern, str) or not isinstance(top, str):
        more = join(top, "/" if top != "" else "", pattern)
        return [more] if isinstance(more, Pattern) else Opaque("glob()")
    found = matches(program.process, pattern, top, hidden, recursive)
    program.unordered = program.unordered or len(found) > 1
    return found


def below(program: Program, path: Path, names: Any, entry: bool = False) -> Any:
    """The entries of a directory as paths."""
    if not isinstance(names, list):
        return names
    return [Path(joined_path([path.text, text(name)]), entry) for name in names]


def children(program: Program, path: Path, entry: bool = False) -> Any:
    """Path.iterdir and os.scandir"""
    if not isinstance(path.text, str):
        return [Path(join(path.text, "/", unknown("unknown-argument", "iterdir()")), entry)]
    names = listing(program, path.text)
    if names is None:
        return [Path(join(path.text, "/", unknown("unknown-argument", "iterdir()")), entry)]
    return below(program, path, names, entry)


def _parents(program: Program, path: Path) -> list[Path]:
    found: list[Path] = []
    at = path.text
    while (up := directory(at)) not in ("", at) and len(found) < 64:
        found.append(Path(up))
        at = up
    return found if isinstance(at, str) and at.startswith("/") else [*found, Path(".")]


def _parts(program: Program, path: Path) -> Any:
    if not isinstance(path.text, str):
        return Opaque("parts")
    return (*(["/"] if path.text.startswith("/") else []), *[part for part in path.text.split("/") if part])


PROPERTIES: dict[str, Callable[[Program, Path], Any]] = {
    "name": lambda program, path: base(path.text),
    "path": lambda program, path: path.text,
    "parent": lambda program, path: Path(directory(path.text) or "."),
    "parents": _parents,
    "parts": _parts,
    "suffix": lambda program, path: split_ending(path.text)[1],
    "suffixes": lambda program, path: ["." + each for each in str(base(path.text)).split(".")[1:]],
    "stem": lambda program, path: base(split_ending(path.text)[0]),
    "anchor": lambda program, path: "/" if str(path.text).startswith("/") else "",
}


def _renamed(program: Program, path: Path, args: Args) -> Path:
    goal = text(args.get(0, "target"))
    program.done(program.process.rename(path.text, goal))
    return Path(goal)


def _write(program: Program, path: Path, args: Args) -> Any:
    value = args.get(0, "data")
    program.write(path.text, value)
    return Opaque("write()")


def _read_text(program: Program, path: Path, args: Args) -> Any:
    return read(program, path.text, True)


def read(program: Program, path: Text, encoded: bool) -> Any:
    """A file's whole content."""
    program.flush()
    content = program.process.here.read(path)
    if content is not None:
        return content.decode("utf-8", "surrogateescape") if encoded else content
    if isinstance(path, str) and kind(program.process, path) != FILE:
        program.done(False)
    where = program.process.here.where(path)
    return Opaque(f"the content of {path}", frozenset([where] if where is not None else []))


def _unlink(program: Program, path: Path, args: Args) -> None:
    if not args.flag("missing_ok", 0):
        program.done(program.process.unlink(path.text))
    else:
        program.process.unlink(path.text)


def _mkdir(program: Program, path: Path, args: Args) -> None:
    parents = args.flag("parents", 1)
    outcome = program.process.mkdir(path.text, parents)
    if not args.flag("exist_ok", 2):
        program.done(outcome, "FileExistsError")


def _with_ending(program: Program, path: Path, args: Args) -> Path:
    return Path(join(split_ending(path.text)[0], text(args.get(0, "suffix"))))


def _beside(program: Program, path: Path, name: Text) -> Path:
    up = directory(path.text)
    return Path(joined_path([up, name]) if up else name)


def _relative_to(program: Program, path: Path, args: Args) -> Any:
    start = join_paths(*args.values).text
    if isinstance(path.text, str) and isinstance(start, str):
        head = "" if start == "." else start.rstrip("/") + "/"
        if path.text == start or path.text.startswith(head):
            return Path(path.text[len(head) :] or ".")
        program.done(False, "ValueError")
    return Path(unknown("unknown-argument", "relative_to()"))


def _search(program: Program, path: Path, pattern: Any) -> Any:
    found = glob(program, text(pattern), path.text, hidden=True)
    if isinstance(found, list) and isinstance(path.text, str):
        return below(program, path, found)
    return [Path(each) for each in found] if isinstance(found, list) else found


def _matched(program: Program, path: Path, args: Args) -> Any:
    pattern = args.get(0, "path_pattern")
    if not isinstance(path.text, str) or not isinstance(pattern, str):
        return Opaque("match()")
    parts, wanted = path.text.split("/"), pattern.split("/")
    return len(parts) >= len(wanted) and all(map(fits, parts[-len(wanted) :], wanted))


def _open(program: Program, path: Path, args: Args) -> Any:
    mode = args.get(0, "mode", "r")
    return program.open(path.text, mode if isinstance(mode, str) else "r", args.source)


def _info(program: Program, path: Path, args: Args) -> Any:
    if presence(program, path.text, None) is False:
        program.done(False)
    return information(program, path.text) or Opaque("stat()")


def information(program: Program, path: Text, follow: bool = True) -> Instance | None:
    """What stat tells of a file that the command has not touched so far, None where it is not known."""
    here = program.process.here
    where = here.path(path)
    if not isinstance(where, str) or program.doubt:
        return None
    view = here.view
    where = view.through(where) if follow else view.at(where)
    found = None if view.touched(where) else view.lstat(where)
    if found is None or any(file.writes for file in program.files):
        return None
    names = ("st_size", "st_mtime", "st_atime", "st_ctime", "st_mtime_ns", "st_uid", "st_gid", "st_nlink")
    return Instance(None, {name: value for name in names if (value := getattr(found, name, None)) is not None})


def stat_field(name: str) -> Callable[[Program, Text], Any]:
    """os.path.getsize and its kin."""

    def run(program: Program, path: Text) -> Any:
        if presence(program, path, None) is False:
            program.done(False)
        found = information(program, path)
        return Opaque(name) if found is None else found.attributes.get(name, Opaque(name))

    return run


def _walk_paths(program: Program, path: Path, bottom_up: bool) -> list[Any]:
    found = [(Path(top), inner, names) for top, inner, names in walk(program, path.text, bottom_up)]
    return found if bottom_up else Walk(found)


METHODS: dict[str, Callable[[Program, Path, Args], Any]] = {
    "joinpath": lambda program, path, args: join_paths(path, *args.values),
    "with_suffix": _with_ending,
    "with_name": lambda program, path, args: _beside(program, path, text(args.get(0, "name"))),
    "with_stem": lambda program, path, args: _beside(program, path, join(text(args.get(0, "stem")), split_ending(path.text)[1])),
    "resolve": lambda program, path, args: Path(physical(program, path.text)),
    "absolute": lambda program, path, args: Path(absolute(program, path.text)),
    "expanduser": lambda program, path, args: Path(home(program, path.text)),
    "as_posix": lambda program, path, args: path.text,
    "__str__": lambda program, path, args: path.text,
    "__fspath__": lambda program, path, args: path.text,
    "relative_to": _relative_to,
    "is_relative_to": lambda program, path, args: Opaque("is_relative_to()"),
    "match": _matched,
    "exists": lambda program, path, args: presence(program, path.text, None),
    "is_file": lambda program, path, args: presence(program, path.text, FILE),
    "is_dir": lambda program, path, args: presence(program, path.text, DIRECTORY),
    "is_symlink": lambda program, path, args: presence(program, path.text, SYMLINK, follow=False),
    "is_absolute": lambda program, path, args: str(path.text).startswith("/"),
    "stat": _info,
    "lstat": _info,
    "chmod": _info,
    "samefile": lambda program, path, args: Opaque("samefile()"),
    "readlink": lambda program, path, args: Path(unknown("unknown-argument", "readlink()")),
    "iterdir": lambda program, path, args: children(program, path),
    "glob": lambda program, path, args: _search(program, path, args.get(0, "pattern")),
    "rglob": lambda program, path, args: _search(program, path, joined("**/", args.get(0, "pattern"))),
    "walk": lambda program, path, args: _walk_paths(program, path, truth(args.get(0, "top_down", True)) is False),
    "read_text": _read_text,
    "read_bytes": lambda program, path, args: read(program, path.text, False),
    "write_text": _write,
    "write_bytes": _write,
    "open": _open,
    "touch": lambda program, path, args: program.process.touch(path.text),
    "mkdir": _mkdir,
    "unlink": _unlink,
    "rmdir": lambda program, path, args: program.done(program.process.rmdir(path.text), "OSError"),
    "rename": _renamed,
    "replace": _renamed,
    "move": _renamed,
    "symlink_to": lambda program, path, args: program.done(
        program.process.symlink(text(args.get(0, "target")), path.text), "FileExistsError"
    ),
    "hardlink_to": lambda program, path, args: program.done(
        program.process.link(text(args.get(0, "target")), path.text), "FileExistsError"
    ),
    "copy": lambda program, path, args: program.done(program.process.copy(path.text, text(args.get(0, "target")))),
    # third-party paths
    "rmtree": lambda program, path, args: program.done(program.process.rmtree(path.text)),
    "remove": lambda program, path, args: program.done(program.process.unlink(path.text)),
}
