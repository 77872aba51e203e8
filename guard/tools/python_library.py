"""What the functions of Python's library do, by their full names, and the methods of values."""

from __future__ import annotations

from guard.effects import Pattern, Text, join, unknown
from guard.tools import python_children, python_paths, python_pure
from guard.tools.pathnames import joined_path
from guard.tools.process import encode
from guard.tools.python_expressions import call, evaluate, listed, unfollowed
from guard.tools.python_program import Args, Program, truth
from guard.tools.python_values import (
    Exit,
    File,
    Instance,
    Moment,
    Named,
    Opaque,
    Path,
    Raised,
    known,
    origins,
    shown,
    text,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Function = Callable[[Program, Args], Any]

# modules that touch no file, so that a call of them leaves nothing in doubt
QUIET = frozenset(
    (
        "argparse array bisect collections copy dataclasses datetime decimal difflib enum fractions functools hashlib "
        "heapq inspect itertools keyword locale logging math operator platform pprint queue random secrets signal "
        "statistics string struct textwrap threading time timeit traceback types typing unicodedata urllib.parse uuid "
        "warnings zlib re json shlex base64 binascii html csv sys getpass contextlib io abc"
    ).split()
)
# methods of unknown objects that write the file which their first argument names
WRITERS = frozenset(
    (
        "save savefig savetxt savez to_csv to_json to_excel to_parquet to_html to_markdown to_pickle to_feather "
        "write_image imwrite imsave write_html write_csv write_parquet write_json to_file"
    ).split()
)


def invoke(program: Program, name: str, args: Args) -> Any:
    """What a function of the library gives, by its full name."""
    import builtins

    found = LIBRARY.get(name)
    if found is not None:
        return found(program, args)
    module, _, last = name.rpartition(".")
    if module == "builtins" and (last in python_pure.PURE or last in python_pure.SPECIAL):
        return python_pure.builtin_call(program, last, args)
    if module in ("builtins.bytes", "builtins.str", "builtins.int", "builtins.dict") and not last.startswith("_"):
        return python_pure.compute(program, getattr(getattr(builtins, module.rpartition(".")[2]), last, str), args)
    if module == "re":
        return python_pure.expression(program, last, args) if last in EXPRESSIONS else Opaque(args.source, origins(*args.all))
    pure = python_pure.constant_codec(name)
    if pure is not None:
        return python_pure.compute(program, pure, args)
    if module == "os" and last.startswith(("exec", "spawn", "posix_spawn")):
        return python_children.replaced(program, name, args)
    if module == "sh" and last not in ("Command", "contrib"):
        return python_children.by_name(program, last, args)
    return _elsewhere(program, name, module, last, args)


def _elsewhere(program: Program, name: str, module: str, last: str, args: Args) -> Any:
    import builtins

    if module == "builtins" and isinstance(getattr(builtins, last, None), type):
        kind = getattr(builtins, last)
        return Instance(None, {"raises": last}) if issubclass(kind, BaseException) else Opaque(args.source, origins(*args.all))
    if last in WRITERS and args.values:
        _saved(program, args)
    if name.partition(".")[0] in QUIET and not any(isinstance(value, File) for value in args.all):
        _callbacks(program, args)
        return Opaque(args.source, origins(*args.all))
    _callbacks(program, args)
    return unfollowed(program, args)


def _callbacks(program: Program, args: Args) -> None:
    """Library functions handed over to be called: Thread(target=shutil.rmtree, args=("x",)), executor.submit(os.remove, "x")."""
    target = args.named.get("target")
    if target is not None:
        call(program, target, listed(args.named.get("args", ())) or [], source=args.source)
    elif args.values and isinstance(args.values[0], Named) and args.values[0].name in LIBRARY and len(args.values) > 1:
        call(program, args.values[0], args.values[1:], source=args.source)


def _saved(program: Program, args: Args) -> None:
    for value in args.values[:2]:
        path = text(value)
        if isinstance(value, (str, Path, Pattern)) and program.process.here.kind(path) == "file":
            program.process.write(path, None)


def method_of(program: Program, value: Any, name: str, args: Args) -> Any:
    """What a method of a value that is no object of the program gives."""
    if isinstance(value, Path):
        return (
            python_paths.METHODS[name](program, value, args)
            if name in python_paths.METHODS
            else _entry(program, value, name, args)
        )
    if isinstance(value, Pattern):
        return python_pure.pattern_method(value, name, args)
    if isinstance(value, (str, bytes, bytearray)):
        return python_pure.text_method(program, value, name, args)
    if isinstance(value, File):
        return file_method(program, value, name, args)
    if isinstance(value, (list, tuple, dict, set)):
        return python_pure.container_method(program, value, name, args)
    if isinstance(value, Opaque):
        return _opaque_method(program, value, name, args)
    return Opaque(args.source, origins(*args.all))


def _entry(program: Program, value: Path, name: str, args: Args) -> Any:
    return Opaque(args.source) if name in ("inode", "owner", "group", "as_uri") else program.opaque(args)


def _opaque_method(program: Program, value: Opaque, name: str, args: Args) -> Any:
    if name in ("unlink", "rmtree") and not args.values:
        program.process.remove(text(value))
        return None
    if name in ("write_text", "write_bytes", "rename", "replace", "rmdir") and not value.origins and name != "replace":
        return program.opaque(args)
    if name in ("map", "submit", "apply", "apply_async", "imap") and len(args.values) > 1:
        function, *rest = args.values
        if name in ("submit", "apply_async", "apply"):
            return call(program, function, rest if name == "submit" else listed(rest[0]) or [])
        return python_pure.builtin_call(program, "map", args)
    if name in WRITERS:
        _saved(program, args)
    elif name == "extractall":
        return program.opaque(args)
    made = unfollowed(program, args) if any(not known(each) for each in args.all) else Opaque(args.source, origins(*args.all))
    if not value.origins:
        program.doubt += 1
    return Opaque(made.source, made.origins | value.origins)


# --- files that the program opens


def file_method(program: Program, file: File, name: str, args: Args) -> Any:
    """A method of an open file."""
    if name in ("write", "writelines"):
        value = args.get(0, "s", "")
        write_file(program, file, python_pure.text_method(program, "", "join", args) if name == "writelines" else value)
        return Opaque("write()")
    if name in ("read", "readlines", "readline", "getvalue"):
        return _read(file, name, args)
    if name == "truncate":
        _cut(file, args.get(0, "size"))
    elif name == "seek":
        _seek(file, args)
    elif name == "close":
        program.close(file)
    elif name in ("flush", "fileno", "__enter__"):
        return file
    return Opaque(name)


def write_file(program: Program, file: File, value: Any) -> None:
    """Writes a value to an open file."""
    file.fixed = False
    old = file.content if "a" in file.mode else program.process.here.read(file.path)
    data, derived = program.content(file.path, value)
    begins = not file.written
    file.written = True
    file.derived = file.derived or derived or (old is not None and _holds(old, value))
    if data is None or (file.content is None and not begins):
        file.content = None
    elif "a" in file.mode or file.content is None:
        file.content = (file.content or b"") + data
    else:
        file.content = file.content[: file.place] + data + file.content[file.place + len(data) :]
        file.place += len(data)


def _holds(old: bytes, value: Any) -> bool:
    known_part = "".join(piece for piece in value.pieces if isinstance(piece, str)) if isinstance(value, Pattern) else ""
    return len(old) > 1 and old.decode("utf-8", "surrogateescape").strip() in known_part


def _read(file: File, name: str, args: Args) -> Any:
    if file.content is None or args.get(0) not in (None, -1):
        return Opaque(f"the content of {file.path}", frozenset([file.path]))
    rest = file.content[file.place :]
    if name == "readline":
        rest = (rest.splitlines(keepends=True) or [b""])[0]
    file.place += len(rest)
    whole: Any = rest.decode("utf-8", "surrogateescape") if file.encoded else rest
    return whole.splitlines(keepends=True) if name == "readlines" else whole


def _cut(file: File, size: Any) -> None:
    file.fixed, file.written = False, True
    if file.content is not None:
        file.content = file.content[: size if isinstance(size, int) else file.place]
    elif size == 0 or (size is None and file.place == 0):
        file.content = b""


def _seek(file: File, args: Args) -> None:
    offset, origin = args.get(0, "offset"), args.get(1, "whence", 0)
    if isinstance(offset, int) and origin == 0:
        file.place = offset
    elif origin == 2 and file.content is not None:
        file.place = len(file.content)


def _open(program: Program, args: Args) -> Any:
    mode = args.get(1, "mode", "r")
    path = args.get(0, "file")
    if isinstance(path, File):
        return path
    if isinstance(path, int):
        return Opaque(args.source)
    return program.open(text(path, args.source), mode if isinstance(mode, str) else "r", args.source)


def _os_open(program: Program, args: Args) -> Any:
    flags = args.get(1, "flags", 0)
    path = text(args.get(0, "path"))
    if isinstance(flags, int) and not flags & 3:
        return program.open(path, "rb")
    if not isinstance(flags, int) or flags & 0o1000:
        return program.open(path, "wb")
    return program.open(path, "ab" if flags & 0o2000 else "r+b")


def _print(program: Program, args: Args) -> Any:
    parts: list[Any] = []
    separator, end = args.named.get("sep", " "), args.named.get("end", "\n")
    for value in args.values:
        parts += [separator if separator is not None else " ", value] if parts else [value]
    line = join(*(shown(part) for part in parts), "\n" if end is None else shown(end))
    file = args.named.get("file")
    if isinstance(file, File):
        write_file(program, file, _whole(parts, line, end))
    elif file is None or (isinstance(file, Named) and file.name == "sys.stdout"):
        program.print(line)


def _whole(parts: list[Any], line: Text, end: Any) -> Any:
    return line if isinstance(line, str) or not any(isinstance(part, Opaque) for part in parts) else Opaque("", origins(*parts))


def _input(program: Program, args: Args) -> Any:
    from guard.tools.python_modules import constant

    if args.values:
        program.print(shown(args.values[0]))
    line = _read(constant(program, "sys.stdin"), "readline", Args([]))
    if line == "":
        raise Raised("EOFError")
    return line.rstrip("\n") if isinstance(line, str) else Opaque("input()")


def _exit(program: Program, args: Args) -> Any:
    status = args.get(0, "status", 0)
    if status is None:
        raise Exit(0)
    raise Exit(status & 255 if isinstance(status, int) else 1 if isinstance(status, str) else None)


def _execute(program: Program, args: Args) -> Any:
    from guard.tools.python_ast import parse
    from guard.tools.python_statements import execute

    source = args.get(0, "source")
    if isinstance(source, bytes):
        source = source.decode("utf-8", "replace")
    if not isinstance(source, str) or program.depth > 5:
        return program.opaque(args)
    tree = parse(encode(source))
    if tree is None:
        raise Raised("SyntaxError")
    program.depth += 1
    try:
        if len(tree.body) == 1 and type(tree.body[0]).__name__ == "Expr":
            return evaluate(program, tree.body[0].value)
        execute(program, tree.body)
    finally:
        program.depth -= 1
    return None


def _getattr(program: Program, args: Args) -> Any:
    from guard.tools.python_expressions import attribute

    name = args.get(1)
    return attribute(program, args.get(0), name) if isinstance(name, str) else program.opaque(args)


def _import(program: Program, args: Args) -> Any:
    from guard.tools.python_modules import load

    name = args.get(0, "name")
    if not isinstance(name, str):
        return program.opaque(args)
    full = load(program, name)
    return full if args.source != "__import__()" or "." not in name else load(program, name.partition(".")[0])


def _run_module(program: Program, args: Args) -> Any:
    """runpy.run_module: as python -m, with the arguments of this program."""
    from guard.tools.python_modules import told

    name = args.get(0, "mod_name")
    if isinstance(name, str):
        told(program, f"{name}.__main__" if "." not in name else name)
    return program.opaque(args)


def _run_path(program: Program, args: Args) -> Any:
    """runpy.run_path: as python FILE."""
    from guard.tools import own

    path = args.get(0, "path_name")
    if isinstance(path, str) and own.is_script(path, program.process.here.read(path) or b""):
        program.process.emit(own.lifted(program.process.here))
    return program.opaque(args)


# --- os and shutil


def _path_function(function: Callable[[Program, Text], Any]) -> Function:
    def run(program: Program, args: Args) -> Any:
        value = args.get(0, "path", args.named.get("p", args.named.get("name", ".")))
        return function(program, "." if value is None else text(value, args.source))

    return run


def _one(name: str, error: str = "FileNotFoundError") -> Function:
    """A function of one path that guard.tools.process has under a name."""

    def run(program: Program, args: Args) -> None:
        path = text(args.get(0, "path", args.named.get("name", args.named.get("paths", ""))), args.source)
        program.flush()
        program.done(getattr(program.process, name)(path), error)

    return run


def _two(name: str, error: str = "FileNotFoundError") -> Function:
    """A function of two paths that guard.tools.process has under a name; gives the second one."""

    def run(program: Program, args: Args) -> Any:
        source, goal = text(args.get(0, "src"), args.source), text(args.get(1, "dst"), args.source)
        program.flush()
        program.done(getattr(program.process, name)(source, goal), error)
        return goal

    return run


def _rmtree(program: Program, args: Args) -> None:
    program.flush()
    outcome = program.process.rmtree(text(args.get(0, "path"), args.source))
    if not args.flag("ignore_errors", 1) and args.get(2, "onerror") is None and args.named.get("onexc") is None:
        program.done(outcome)


def _move(program: Program, args: Args) -> Any:
    source, goal = text(args.get(0, "src"), args.source), text(args.get(1, "dst"), args.source)
    program.flush()
    place = program.process.into(goal, source)
    if place is not goal and program.process.here.kind(place) is not None:
        program.done(False, "Error")
        return place
    program.done(program.process.rename(source, place))
    return place


def _copytree(program: Program, args: Args) -> Any:
    goal = text(args.get(1, "dst"), args.source)
    merge = truth(args.get(99, "dirs_exist_ok", False)) is not False
    program.done(program.process.copytree(text(args.get(0, "src"), args.source), goal, merge), "FileExistsError")
    return goal


def _makedirs(program: Program, args: Args) -> None:
    outcome = program.process.mkdir(text(args.get(0, "name"), args.source), parents=True)
    if not args.flag("exist_ok", 2):
        program.done(outcome, "FileExistsError")


def _removedirs(program: Program, args: Args) -> None:
    path = text(args.get(0, "name"))
    program.done(program.process.rmdir(path), "OSError")
    while isinstance(path, str) and "/" in path.strip("/"):
        path = path.rstrip("/").rpartition("/")[0]
        if not program.process.rmdir(path):
            return


def _truncate(program: Program, args: Args) -> None:
    value, size = args.get(0, "path"), args.get(1, "length")
    if isinstance(value, File):
        _cut(value, size)
    else:
        program.done(program.process.truncate(text(value), size if isinstance(size, int) else None))


def _copyfileobj(program: Program, args: Args) -> None:
    source, goal = args.get(0, "fsrc"), args.get(1, "fdst")
    if isinstance(goal, File):
        write_file(program, goal, _read(source, "read", Args([])) if isinstance(source, File) else Opaque())


def _unpack(program: Program, args: Args) -> None:
    archive, goal = text(args.get(0, "filename")), text(args.get(1, "extract_dir", "."))
    _extract(program, archive, "." if args.get(1, "extract_dir") is None else goal)


def _extract(program: Program, archive: Text, goal: Text) -> None:
    ends = archive if isinstance(archive, str) else archive.suffix
    argv: tuple[Text, ...] = ("tar", "-xf", archive, "-C", goal)
    if ends.endswith((".zip", ".whl", ".jar")):
        argv = ("unzip", "-oq", archive, "-d", goal)
    program.flush()
    program.child(program.process.run(argv), captured=True)


def _archive(program: Program, args: Args) -> Any:
    """zipfile.ZipFile and tarfile.open"""
    path, mode = args.get(0, "name", args.named.get("file")), args.get(1, "mode", "r")
    if isinstance(mode, str) and mode[:1] in ("w", "x"):
        program.process.write(text(path), None)
    where = text(path)

    def extract(program: Program, args: Args) -> None:
        _extract(program, where, text(args.get(0, "path", ".")) if args.get(0, "path") is not None else ".")

    return Instance(None, {"extractall": Named(local(program, extract)), "namelist": Named("zipfile.names")})


def local(program: Program, function: Function) -> str:
    """A name under which a function of one object is found."""
    name = f"local.{len(LOCAL)}"
    LOCAL.append(name)
    LIBRARY[name] = function
    return name


LOCAL: list[str] = []


def _make_archive(program: Program, args: Args) -> Any:
    endings = {"zip": ".zip", "tar": ".tar", "gztar": ".tar.gz", "bztar": ".tar.bz2", "xztar": ".tar.xz"}
    path = join(text(args.get(0, "base_name")), endings.get(str(args.get(1, "format")), ""))
    program.process.write(path, None)
    return path


def _environment(program: Program, args: Args) -> Any:
    name, default = args.get(0, "key"), args.get(1, "default")
    if not isinstance(name, str):
        return Opaque(args.source)
    return program.process.env.get(name, default)


def _put_environment(program: Program, args: Args) -> None:
    for name, value in {**dict([args.values[:2]] if len(args.values) > 1 else []), **(listed_items(args) or {})}.items():
        if isinstance(name, str):
            program.process.env[name] = shown(value)


def listed_items(args: Args) -> dict[Any, Any] | None:
    """The items of a dict that is the only argument."""
    return args.values[0] if len(args.values) == 1 and isinstance(args.values[0], dict) else None


def _walk(program: Program, args: Args) -> Any:
    return python_paths.walk(program, text(args.get(0, "top")), truth(args.get(1, "topdown", True)) is False)


def _glob(program: Program, args: Args) -> Any:
    top = args.named.get("root_dir")
    recursive = args.flag("recursive")
    hidden = args.flag("include_hidden")
    return python_paths.glob(program, text(args.get(0, "pathname")), "" if top is None else text(top), hidden, recursive)


def _listdir(program: Program, args: Args) -> Any:
    path = args.get(0, "path", ".")
    names = python_paths.listing(program, "." if path is None else text(path))
    return [unknown("unknown-argument", "listdir()")] if names is None else names


def _scandir(program: Program, args: Args) -> Any:
    return python_paths.children(program, Path(text(args.get(0, "path", "."))), entry=True)


def _temporary_directory(program: Program, args: Args) -> Any:
    path = _fresh(program, args, "tmp")
    program.process.mkdir(path)
    return path


def _fresh(program: Program, args: Args, prefix: str = "tmp") -> Text:
    given = {key: value for key, value in args.named.items() if isinstance(value, (str, Path))}
    directory = text(given["dir"]) if "dir" in given else None
    return program.fresh(directory, str(given.get("prefix", prefix)), str(given.get("suffix", "")))


def _temporary_file(program: Program, args: Args) -> File:
    mode = args.get(0, "mode", "w+b")
    file = File(_fresh(program, args), mode if isinstance(mode, str) else "w+b", b"")
    program.files.append(file)
    return file


def _make_temporary(program: Program, args: Args) -> Any:
    file = File(_fresh(program, args), "wb", b"")
    program.files.append(file)
    return (file, file.path)


def _suppress(program: Program, args: Args) -> Instance:
    return Instance(None, {"suppresses": list(args.values), "entered": None})


def _change(program: Program, args: Args) -> Instance:
    before = program.process.here.cwd
    program.done(program.process.chdir(text(args.get(0, "path"))))
    return Instance(None, {"back": before, "entered": None})


def _os_write(program: Program, args: Args) -> Any:
    file = args.get(0, "fd")
    if isinstance(file, File):
        write_file(program, file, args.get(1, "str"))
    return Opaque("write()")


def _dump(program: Program, args: Args) -> None:
    value, file = args.get(0, "obj"), args.get(1, "fp")
    if isinstance(file, File):
        named = {key: item for key, item in args.named.items() if key in ("indent", "sort_keys", "ensure_ascii", "separators")}
        import json

        write_file(program, file, python_pure.compute(program, json.dumps, Args([value], named)))


def _load(program: Program, args: Args) -> Any:
    import json

    file = args.get(0, "fp")
    content = _read(file, "read", Args([])) if isinstance(file, File) else Opaque()
    return python_pure.compute(program, json.loads, Args([content]))


def _in_place(program: Program, args: Args) -> Any:
    """fileinput.input: with inplace, the files are written by print."""
    from guard.tools.python_streams import lines_of

    files = args.get(0, "files", list(program.argv[1:]))
    paths = [files] if isinstance(files, (str, Path)) else listed(files) or []
    return lines_of(program, [text(path) for path in paths], args.flag("inplace", 1))


def _logged(mode_at: int, name: str) -> Function:
    """logging.FileHandler and logging.basicConfig: the file is opened at once, by default to be added to."""

    def run(program: Program, args: Args) -> Any:
        path = args.get(0, name) if mode_at == 1 else args.named.get(name)
        mode = args.get(1, "mode", "a") if mode_at == 1 else args.named.get("filemode", "a")
        if isinstance(path, (str, Path, Pattern)):
            if isinstance(mode, str) and mode.startswith("a"):
                program.process.append(text(path), None)
            else:
                program.done(program.process.write(text(path), None))
        return Opaque("a log")

    return run


def _retrieved(program: Program, args: Args) -> Any:
    """urllib.request.urlretrieve: what comes from the address takes the file's place."""
    url, goal = args.get(0, "url"), args.get(1, "filename")
    if goal is None:
        return (Opaque("urlretrieve()"), Opaque())
    start = "file://"
    path = url[len(start) :] if isinstance(url, str) and url.startswith(start + "/") else None
    content = None if path is None else program.process.here.read(path)
    if path is not None and content is None and not program.process.here.exists(path):
        raise Raised("URLError")
    program.doubt += path is None
    program.process.write(text(goal), content)
    return (goal, Opaque())


def _mapped_file(program: Program, args: Args) -> Any:
    """mmap.mmap: what is put into it is in the file."""
    file = args.get(0, "fileno")
    reads = args.named.get("access") == 1 or args.named.get("prot") == 1
    if not isinstance(file, File):
        return Opaque("mmap()") if reads else program.opaque(args)
    return File(file.path, "r", program.process.here.read(file.path)) if reads or not file.writes else file


def _variables(program: Program, args: Args) -> Any:
    value = args.get(0)
    return dict(value.attributes) if isinstance(value, Instance) else Opaque(args.source)


def _now(program: Program, args: Args) -> Any:
    import time

    return Moment(time.time())


def _parser(program: Program, args: Args) -> Any:
    from guard.tools.python_arguments import parser

    return parser(program, args)


def _trash(program: Program, args: Args) -> None:
    paths = args.get(0, "paths")
    for path in [paths] if isinstance(paths, (str, Path)) else listed(paths) or [paths]:
        program.done(program.process.remove(text(path, args.source)))


def _chdir(program: Program, args: Args) -> None:
    program.done(program.process.chdir(text(args.get(0, "path"))))


def _which(program: Program, args: Args) -> Any:
    return Opaque("which()")


def _path(program: Program, args: Args) -> Path:
    return python_paths.join_paths(*args.values)


def _symlink(program: Program, args: Args) -> None:
    program.done(program.process.symlink(text(args.get(0, "src")), text(args.get(1, "dst"))), "FileExistsError")


def _common(program: Program, args: Args) -> Any:
    import os.path

    return python_pure.compute(program, os.path.commonpath, args)


def _reduce(program: Program, args: Args) -> Any:
    items = listed(args.get(1))
    if not items:
        return Opaque(args.source)
    value = args.values[2] if len(args.values) > 2 else items.pop(0)
    for item in items:
        value = call(program, args.get(0), [value, item])
    return value


def _chain(program: Program, args: Args) -> Any:
    found: list[Any] = []
    for value in args.values:
        items = listed(value)
        if items is None:
            return Opaque(args.source, origins(*args.values))
        found += items
    return found


def _partial(program: Program, args: Args) -> Any:
    def run(program: Program, more: Args) -> Any:
        return call(program, args.values[0], [*args.values[1:], *more.values], {**args.named, **more.named}, args.source)

    return Named(local(program, run)) if args.values else Opaque()


def _run_coroutine(program: Program, args: Args) -> Any:
    return args.get(0)


EXPRESSIONS = frozenset(["sub", "subn", "split", "findall"])

LIBRARY: dict[str, Function] = {
    **python_children.CHILDREN,
    "builtins.open": _open,
    "builtins.print": _print,
    "builtins.input": _input,
    "builtins.exit": _exit,
    "builtins.quit": _exit,
    "builtins.exec": _execute,
    "builtins.eval": _execute,
    "builtins.compile": lambda program, args: args.get(0, "source"),
    "builtins.getattr": _getattr,
    "builtins.__import__": _import,
    "importlib.import_module": _import,
    "importlib.__import__": _import,
    "runpy.run_module": _run_module,
    "runpy.run_path": _run_path,
    "sys.exit": _exit,
    "os._exit": _exit,
    "os.abort": _exit,
    "sys.stdout.write": lambda program, args: program.print(shown(args.get(0))),
    "sys.stdout.buffer.write": lambda program, args: program.print(text(args.get(0))),
    "sys.stderr.write": lambda program, args: None,
    "sys.stdout.flush": lambda program, args: None,
    "os.remove": _one("unlink"),
    "os.unlink": _one("unlink"),
    "libc.unlink": _one("unlink"),
    "libc.remove": _one("unlink"),
    "libc.rmdir": _one("rmdir", "OSError"),
    "libc.rename": _two("rename"),
    "os.rmdir": _one("rmdir", "OSError"),
    "os.removedirs": _removedirs,
    "os.rename": _two("rename"),
    "os.renames": _two("rename"),
    "os.replace": _two("rename"),
    "os.truncate": _truncate,
    "os.ftruncate": _truncate,
    "os.symlink": _symlink,
    "os.link": _two("link", "FileExistsError"),
    "os.mkdir": _one("mkdir", "FileExistsError"),
    "os.makedirs": _makedirs,
    "os.mkfifo": _one("touch"),
    "os.open": _os_open,
    "os.fdopen": _open,
    "os.write": _os_write,
    "os.close": lambda program, args: program.close(args.get(0)) if isinstance(args.get(0), File) else None,
    "os.chdir": _chdir,
    "os.fchdir": _chdir,
    "os.getcwd": lambda program, args: program.process.here.cwd,
    "os.getcwdb": lambda program, args: program.process.here.cwd,
    "os.listdir": _listdir,
    "os.scandir": _scandir,
    "os.walk": _walk,
    "os.fwalk": _walk,
    "os.environ.get": _environment,
    "os.getenv": _environment,
    "os.environ.pop": _environment,
    "os.environ.copy": lambda program, args: dict(program.process.env),
    "os.environ.items": lambda program, args: list(program.process.env.items()),
    "os.environ.update": _put_environment,
    "os.environ.setdefault": _put_environment,
    "os.putenv": _put_environment,
    "os.fspath": lambda program, args: text(args.get(0)),
    "os.getpid": lambda program, args: Opaque("getpid()"),
    "os.stat": _path_function(lambda program, path: python_paths._info(program, Path(path), Args([]))),
    "os.lstat": _path_function(lambda program, path: Opaque("lstat()")),
    "os.access": _path_function(lambda program, path: python_paths.presence(program, path, None)),
    "os.chmod": _path_function(lambda program, path: None),
    "os.utime": _path_function(lambda program, path: None),
    "os.chown": _path_function(lambda program, path: None),
    "os.readlink": _path_function(lambda program, path: unknown("unknown-argument", "readlink()")),
    "os.path.join": lambda program, args: joined_path([text(value) for value in args.values]),
    "os.path.abspath": _path_function(lambda program, path: python_paths.normal(python_paths.absolute(program, path))),
    "os.path.realpath": _path_function(python_paths.physical),
    "os.path.normpath": _path_function(lambda program, path: python_paths.normal(path)),
    "os.path.expanduser": _path_function(python_paths.home),
    "os.path.expandvars": _path_function(
        lambda program, path: path if "$" not in str(path) else unknown("unknown-argument", str(path))
    ),
    "os.path.relpath": lambda program, args: python_paths.relative(
        program, text(args.get(0, "path")), text(args.get(1, "start", "."))
    ),
    "os.path.basename": _path_function(lambda program, path: python_paths.base(path)),
    "os.path.dirname": _path_function(lambda program, path: python_paths.directory(path)),
    "os.path.split": _path_function(lambda program, path: (python_paths.directory(path), python_paths.base(path))),
    "os.path.splitext": _path_function(lambda program, path: python_paths.split_ending(path)),
    "os.path.exists": _path_function(lambda program, path: python_paths.presence(program, path, None)),
    "os.path.lexists": _path_function(lambda program, path: python_paths.presence(program, path, None, follow=False)),
    "os.path.isfile": _path_function(lambda program, path: python_paths.presence(program, path, "file")),
    "os.path.isdir": _path_function(lambda program, path: python_paths.presence(program, path, "directory")),
    "os.path.islink": _path_function(lambda program, path: python_paths.presence(program, path, "symlink", follow=False)),
    "os.path.isabs": _path_function(lambda program, path: str(path).startswith("/")),
    "os.path.commonpath": _common,
    "os.path.getsize": _path_function(python_paths.stat_field("st_size")),
    "os.path.getmtime": _path_function(python_paths.stat_field("st_mtime")),
    "os.path.getctime": _path_function(python_paths.stat_field("st_ctime")),
    "os.path.getatime": _path_function(lambda program, path: Opaque("getatime()")),
    "time.time": _now,
    "builtins.vars": _variables,
    "argparse.ArgumentParser": _parser,
    "logging.basicConfig": _logged(-1, "filename"),
    "logging.FileHandler": _logged(1, "filename"),
    "logging.handlers.RotatingFileHandler": _logged(1, "filename"),
    "logging.handlers.WatchedFileHandler": _logged(1, "filename"),
    "urllib.request.urlretrieve": _retrieved,
    "mmap.mmap": _mapped_file,
    "pathlib.Path": _path,
    "pathlib.Path.cwd": lambda program, args: Path(program.process.here.cwd),
    "pathlib.Path.home": lambda program, args: Path(python_paths.home(program, "~")),
    "path.Path": _path,
    "glob.glob": _glob,
    "glob.iglob": _glob,
    "shutil.rmtree": _rmtree,
    "distutils.dir_util.remove_tree": _one("rmtree"),
    "shutil.move": _move,
    "shutil.copy": _two("copy"),
    "shutil.copy2": _two("copy"),
    "shutil.copyfile": _two("copy"),
    "distutils.file_util.copy_file": _two("copy"),
    "shutil.copytree": _copytree,
    "shutil.copyfileobj": _copyfileobj,
    "shutil.copymode": lambda program, args: None,
    "shutil.copystat": lambda program, args: None,
    "shutil.unpack_archive": _unpack,
    "shutil.make_archive": _make_archive,
    "shutil.chown": lambda program, args: None,
    "shutil.which": _which,
    "shutil.disk_usage": _which,
    "zipfile.ZipFile": _archive,
    "zipfile.names": lambda program, args: Opaque("namelist()"),
    "tarfile.open": _archive,
    "tempfile.mkdtemp": _temporary_directory,
    "tempfile.TemporaryDirectory": lambda program, args: Instance(
        None, {"entered": (path := _temporary_directory(program, args)), "name": path, "cleanup": Named("zipfile.names")}
    ),
    "tempfile.NamedTemporaryFile": _temporary_file,
    "tempfile.TemporaryFile": _temporary_file,
    "tempfile.SpooledTemporaryFile": _temporary_file,
    "tempfile.mkstemp": _make_temporary,
    "tempfile.mktemp": _fresh,
    "tempfile.gettempdir": lambda program, args: program.process.env.get("TMPDIR", "/tmp"),
    "contextlib.suppress": _suppress,
    "contextlib.chdir": _change,
    "fileinput.input": _in_place,
    "fileinput.FileInput": _in_place,
    "json.dump": _dump,
    "json.load": _load,
    "io.StringIO": lambda program, args: File("/dev/null", "w+", encode(str(args.get(0, "", "")))),
    "io.BytesIO": lambda program, args: File("/dev/null", "w+b", b""),
    "functools.reduce": _reduce,
    "functools.partial": _partial,
    "itertools.chain": _chain,
    "itertools.chain.from_iterable": lambda program, args: _chain(program, Args(listed(args.get(0)) or [])),
    "asyncio.run": _run_coroutine,
    "asyncio.get_event_loop": lambda program, args: Instance(None, {"run_until_complete": Named("asyncio.run")}),
    "asyncio.to_thread": lambda program, args: (
        call(program, args.values[0], args.values[1:], args.named) if args.values else None
    ),
    "ctypes.CDLL": lambda program, args: Named("libc"),
    "ctypes.cdll.LoadLibrary": lambda program, args: Named("libc"),
    "send2trash.send2trash": _trash,
    "os.path.samefile": lambda program, args: Opaque("samefile()"),
}
