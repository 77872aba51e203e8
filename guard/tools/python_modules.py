"""Names that a Python program finds: modules, its own and the library's, constants in them, and the built-in names."""

from __future__ import annotations

from guard.effects import join
from guard.tools.process import decode
from guard.tools.python_program import LIVELY, Program
from guard.tools.python_values import Instance, Named, Opaque, Raised, Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MODULES = 8  # of the program's own that are read
ALIASES = {
    "posix": "os",
    "nt": "os",
    "posixpath": "os.path",
    "pathlib.PosixPath": "pathlib.Path",
    "pathlib.PurePath": "pathlib.Path",
    "pathlib.PurePosixPath": "pathlib.Path",
    "pathlib2.Path": "pathlib.Path",
    "builtins": "builtins",
    "codecs.open": "builtins.open",
    "io.open": "builtins.open",
    "setuptools.distutils.dir_util": "distutils.dir_util",
    "subprocess32": "subprocess",
    "anyio.Path": "pathlib.Path",
    "trio.Path": "pathlib.Path",
    "os.path.os": "os",
    "shutil.os": "os",
}


def canonical(name: str) -> str:
    """The one name of what has several."""
    if name in ALIASES:
        return ALIASES[name]
    head, dot, tail = name.rpartition(".")
    return f"{ALIASES[head]}.{tail}" if dot and head in ALIASES else name


def load(program: Program, name: str, level: int = 0) -> Any:
    """A module: one that stands beside the program is read and run, others are known by name."""
    if name in program.modules:
        return program.modules[name]
    if not level:
        told(program, name)
    source = _beside(program, name, level)
    if source is None or len(program.modules) >= MODULES:
        import sys

        program.foreign = program.foreign or name.partition(".")[0] not in sys.stdlib_module_names
        return Named(canonical(name))
    program.modules[name] = module = Instance(None, {})
    _run_module(program, module, *source)
    return module


def told(program: Program, name: str) -> None:
    """Records that a module is imported by which guard's own protection can be lifted."""
    if name.startswith("guard."):
        from guard.tools import own

        if own.weakens(name):
            program.process.emit(own.lifted(program.process.here))


def _beside(program: Program, name: str, level: int) -> tuple[str, bytes] | None:
    """The path and the text of a module beside the program, when anything in it could matter."""
    here = program.process.here
    directory = here.cwd if program.path is None else here.path(program.path.rpartition("/")[0] or ".")
    for _ in range(level - 1):
        directory = join(directory, "/..")
    relative = name.replace(".", "/")
    for ending in (".py", "/__init__.py"):
        path = join(directory, "/", relative, ending)
        if relative and isinstance(path, str) and here.exists(path):
            text = here.read(path)
            return (path, text) if text is not None and LIVELY.search(decode(text)) else None
    return None


def _run_module(program: Program, module: Instance, path: str, text: bytes) -> None:
    from guard.tools.python_ast import parse
    from guard.tools.python_statements import execute

    tree = parse(text)
    if tree is None:
        return
    outer, program.scope = program.scope, Scope()
    top, program.module = program.module, program.scope
    module.attributes = program.scope.names
    module.attributes.update({"__name__": "module", "__file__": path})
    try:
        execute(program, tree.body)
        module.attributes = program.scope.names
    finally:
        program.scope, program.module = outer, top


def members(module: Any) -> dict[str, Any]:
    """What `from module import *` binds."""
    from guard.tools.python_library import LIBRARY

    if isinstance(module, Instance):
        return {name: value for name, value in module.attributes.items() if not name.startswith("_")}
    start = f"{module.name}." if isinstance(module, Named) else ""
    inner = (name[len(start) :] for name in LIBRARY if start and name.startswith(start))
    return {name: Named(start + name) for name in inner if "." not in name}


def constant(program: Program, name: str) -> Any:
    """Something in a library module."""
    name = canonical(name)
    if name in CONSTANTS:
        return CONSTANTS[name]
    if name == "sys.argv":
        return list(program.argv)
    if name in ("sys.stdin", "sys.stdin.buffer"):
        return _input(program, binary=name != "sys.stdin")
    return Named(name)


def _input(program: Program, binary: bool) -> Any:
    from guard.tools.python_values import File

    content = program.stdin.encode("utf-8", "surrogateescape") if isinstance(program.stdin, str) else None
    file = program.modules.setdefault("\0input", File("/dev/stdin", "rb" if binary else "r", content))
    file.encoded = not binary
    return file


def builtin(program: Program, name: str) -> Any:
    """A built-in name."""
    import builtins

    if name in ("__file__", "__name__"):
        if name == "__name__":
            return "__main__"
        if program.path is None:
            raise Raised("NameError")
        return program.path
    if hasattr(builtins, name):
        return Named(f"builtins.{name}")
    if not program.doubt and name not in program.names:
        raise Raised("NameError")
    return Opaque(name)


CONSTANTS: dict[str, Any] = {
    "os.sep": "/",
    "os.path.sep": "/",
    "os.linesep": "\n",
    "os.curdir": ".",
    "os.pardir": "..",
    "os.path.curdir": ".",
    "os.path.pardir": "..",
    "os.devnull": "/dev/null",
    "os.extsep": ".",
    "os.pathsep": ":",
    "os.name": "posix",
    "string.ascii_lowercase": "abcdefghijklmnopqrstuvwxyz",
    "string.ascii_uppercase": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "string.digits": "0123456789",
    "sys.executable": "python3",
    "subprocess.PIPE": -1,
    "subprocess.STDOUT": -2,
    "subprocess.DEVNULL": -3,
    "os.O_RDONLY": 0,
    "os.O_WRONLY": 1,
    "os.O_RDWR": 2,
    "os.O_CREAT": 0o100,
    "os.O_EXCL": 0o200,
    "os.O_TRUNC": 0o1000,
    "os.O_APPEND": 0o2000,
    "os.SEEK_SET": 0,
    "re.S": 16,
    "re.DOTALL": 16,
    "re.M": 8,
    "re.MULTILINE": 8,
    "re.I": 2,
    "re.IGNORECASE": 2,
    "re.X": 64,
    "re.VERBOSE": 64,
}
