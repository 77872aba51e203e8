"""The runtime: a copy of what judges, outside every virtual environment, so that no upgrade or uninstallation opens a gap.

    HOME/runtime/VERSION-DIGEST/    guard and the packages it needs, sources and bytecode, and what judges as one file, too
                                    (bundle.py); never changed once it stands there
    HOME/runtime/current            a link to the one in use, swapped by rename

HOME is a directory of guard's own (project.data_dir). Whoever starts the runtime does so through a launcher, a short shell
script that names an interpreter outside of virtual environments and falls back to any other that is new enough.
"""

from __future__ import annotations

import hashlib
import importlib.util
import marshal
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from importlib.machinery import SourceFileLoader
from types import CodeType

from guard import __version__, bundle
from guard.quoting import posix

# What is copied: guard; click and rich for its command line, pathspec for reading a changed configuration, tomlkit for taking
# guard out of one.
PACKAGES = ("guard", "click", "pathspec", "shellingham", "rich", "tomlkit")
# Data that stands outside of the package in a checkout: the shim, the launcher and the plugin of agents' hooks.
DATA = ("shims", "hooks")
OLDEST = (3, 11)  # the first Python that guard runs on
PLACES = ("/usr/local/bin", "/usr/bin", "/bin", "/opt/homebrew/bin", "/opt/local/bin", "/usr/pkg/bin")
KEPT = 2  # versions that stay, whatever their age
UNUSED = 86400.0  # seconds after which an older one is surely not in use

LAUNCHER = """\
#!{shell}
# Runs guard with a Python that belongs to no virtual environment. Written by `{repair}`.
guard_top={top}
guard_start=$guard_top/guard/hot/start.py
if [ -r "$guard_start" ]; then
    for guard_python in {pythons}; do
        [ -x "$guard_python" ] && exec "$guard_python" -I -S "$guard_start" "$@"
    done
    for guard_place in {places}; do
        for guard_python in "$guard_place"/python3 "$guard_place"/python3.[1-9][0-9]; do
            [ -x "$guard_python" ] && "$guard_python" -I -S -c {probe} "$guard_top" >/dev/null 2>&1 &&
                exec "$guard_python" -I -S "$guard_start" "$@"
        done
    done
    echo "guard: no Python {oldest} or newer is left on this machine, so nothing can be judged." >&2
else
    echo "guard: its runtime is gone from $guard_top, so nothing can be judged." >&2
fi
echo "Install Python and guard (pip install pathguard), then run: {repair}" >&2
exit 70
"""
# Is this Python new enough? One that has no bytecode here yet makes it, because a judgement has no time for that.
PROBE = f"""\
import sys
if sys.version_info < {OLDEST}: sys.exit(1)
import importlib.util, os
if not os.path.exists(importlib.util.cache_from_source(sys.argv[1] + "/guard/main.py")):
    import compileall
    compileall.compile_dir(sys.argv[1], quiet=2)
"""


def current(home: str) -> str:
    """The directory that launchers name: the version in use."""
    return f"{home}/runtime/current"


def ensure(home: str) -> str:
    """Makes this version of guard the one in use, copying it where it is not there yet; gives current(home).

    Raises OSError where that cannot be written. Callers hold a lock, or accept that the last one wins.
    """
    files = _files()
    top = f"{home}/runtime"
    name = f"{__version__}-{_digest(files)}"
    if not _whole(f"{top}/{name}", files):
        os.makedirs(top, exist_ok=True)
        _build(top, name, files)
    if _target(current(home)) != name:
        _point(top, name)
        _prune(top)
    return current(home)


def fresh(home: str) -> bool:
    """Is this version of guard the one in use, and whole?"""
    files = _files()
    name = f"{__version__}-{_digest(files)}"
    return _target(current(home)) == name and _whole(f"{home}/runtime/{name}", files)


def remove(home: str) -> None:
    """Removes every version. What runs from there goes on as far as it is loaded."""
    shutil.rmtree(f"{home}/runtime", ignore_errors=True)


def launcher(home: str, shell: str, repair: str = "guard shims install") -> bytes:
    """The text of a launcher for the version in use; `shell` is its interpreter line, `repair` what writes it anew."""
    text = LAUNCHER.format(
        shell=shell,
        repair=repair,
        top=posix(current(home)),
        pythons=" ".join(map(posix, interpreters())),
        places=" ".join(PLACES),
        probe=posix(PROBE),
        oldest=".".join(map(str, OLDEST)),
    )
    return os.fsencode(text)


def interpreters() -> list[str]:
    """This Python as it is found outside of virtual environments: the file itself, and the name in its installation."""
    version = ".".join(map(str, sys.version_info[:2]))
    own = getattr(sys, "_base_executable", "") or sys.executable
    names = [_outside(own), f"{sys.base_prefix}/bin/python{version}"]
    found = [os.path.realpath(path) for path in names if os.access(path, os.X_OK)]
    return [path for path in dict.fromkeys(found) if not _environment(path)]


def _outside(python: str) -> str:
    """The interpreter that a virtual environment, or one made from another, was made with."""
    for _ in range(8):
        home = _environment(python)
        if not home:
            break
        python = f"{home}/{os.path.basename(python)}"
        if not os.path.exists(python):
            python = f"{home}/python3"
    return python


def _environment(python: str) -> str:
    """The directory of the interpreter behind a virtual environment; "" outside of one."""
    above = os.path.dirname(python)
    for directory in (above, os.path.dirname(above)):
        try:
            with open(f"{directory}/pyvenv.cfg", encoding="utf-8", errors="surrogateescape") as file:
                pairs = [line.partition("=") for line in file]
        except OSError:
            continue
        return next((value.strip() for key, _, value in pairs if key.strip() == "home"), "/usr/bin")
    return ""


def _files() -> dict[str, tuple[str, bytes]]:
    """What the runtime consists of: the path in it, the path and content of the source."""
    found = {}
    for package in PACKAGES:
        for path, relative in _members(package):
            with open(path, "rb") as file:
                found[relative] = path, file.read()
    for name in DATA:
        for path, relative in _beside(name):
            if relative not in found:
                with open(path, "rb") as file:
                    found[relative] = path, file.read()
    return found


def _beside(name: str) -> Iterator[tuple[str, str]]:
    """The files of a directory of data in a checkout, with their paths in the runtime."""
    top = os.path.join(os.path.dirname(__file__), "..", name)
    for entry in sorted(os.listdir(top)) if os.path.isdir(top) else ():
        if os.path.isfile(f"{top}/{entry}"):
            yield f"{top}/{entry}", f"guard/data/{name}/{entry}"


def _members(package: str) -> Iterator[tuple[str, str]]:
    """The files of a package with their paths in the runtime; none of one that is not installed."""
    spec = importlib.util.find_spec(package)
    for top in (spec.submodule_search_locations or ()) if spec else ():
        for directory, directories, names in os.walk(top):
            directories[:] = sorted(name for name in directories if name != "__pycache__")
            for name in sorted(names):
                path = os.path.join(directory, name)
                yield path, os.path.join(package, os.path.relpath(path, top))


def _digest(files: Mapping[str, tuple[str, bytes]]) -> str:
    found = hashlib.blake2b(digest_size=6)
    for relative, (_, content) in sorted(files.items()):
        found.update(b"%s\0%d\0%s" % (os.fsencode(relative), len(content), content))
    return found.hexdigest()


def _whole(directory: str, files: Mapping[str, tuple[str, bytes]]) -> bool:
    """Is every file there, in its size?"""
    if not os.path.isfile(f"{directory}/guard/{bundle.FILE}"):
        return False
    try:
        return all(os.stat(f"{directory}/{relative}").st_size == len(content) for relative, (_, content) in files.items())
    except OSError:
        return False


def _build(top: str, name: str, files: Mapping[str, tuple[str, bytes]]) -> None:
    """Writes a version beside the others and moves it to its name."""
    new = f"{top}/.new.{os.getpid()}"
    shutil.rmtree(new, ignore_errors=True)
    bundled = {}
    for relative, (path, content) in files.items():
        _write(f"{new}/{relative}", content)
        if relative.endswith(".py"):
            module, package = _named(relative)
            code = _code(module, path, f"{top}/{name}/{relative}")
            if code is not None:
                _write(importlib.util.cache_from_source(f"{new}/{relative}"), _bytecode(code, content))
                if _judges(module):
                    bundled[module] = package, code
    _write(f"{new}/guard/{bundle.FILE}", bundle.packed(bundled))
    damaged = f"{top}/.old.{os.getpid()}"
    if os.path.lexists(f"{top}/{name}"):
        os.rename(f"{top}/{name}", damaged)
    os.rename(new, f"{top}/{name}")
    shutil.rmtree(damaged, ignore_errors=True)


def _named(relative: str) -> tuple[str, bool]:
    """The name of the module in a file of the runtime, and whether it is a package."""
    module = relative.removesuffix(".py").replace("/", ".")
    return module.removesuffix(".__init__"), module.endswith(".__init__")


def _judges(module: str) -> bool:
    """Does it belong into the bundle? Its own importer and what stands before that do not."""
    first, _, rest = module.partition(".")
    part, _, inner = rest.partition(".")
    return first == "guard" and rest not in ("", "bundle", "__main__") and (not inner or part in bundle.PARTS)


def _write(path: str, content: bytes) -> None:
    if not os.path.isdir(os.path.dirname(path)):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


def _code(module: str, path: str, place: str) -> CodeType | None:
    """The compiled module, from its bytecode where that is valid, as if it stood at `place`."""
    try:
        code = SourceFileLoader(module, path).get_code(module)
    except (OSError, SyntaxError, ValueError, EOFError, ImportError):
        return None
    return _placed(code, place) if code is not None else None


def _placed(code: CodeType, path: str) -> CodeType:
    constants = tuple(_placed(each, path) if isinstance(each, CodeType) else each for each in code.co_consts)
    return code.replace(co_filename=path, co_consts=constants)


def _bytecode(code: CodeType, source: bytes) -> bytes:
    """The content of a .pyc file that is valid whatever time its source has: what stands here is never edited."""
    unchecked = (1).to_bytes(4, "little")
    return importlib.util.MAGIC_NUMBER + unchecked + importlib.util.source_hash(source) + marshal.dumps(code)


def _target(link: str) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return ""


def _point(top: str, name: str) -> None:
    """Makes a version the current one."""
    new = f"{top}/.current.{os.getpid()}"
    if os.path.lexists(new):
        os.unlink(new)
    os.symlink(name, new)
    os.rename(new, f"{top}/current")
    os.utime(f"{top}/{name}")


def _prune(top: str) -> None:
    """Removes what crashed installations left, and all but the last versions once nobody can be using them."""
    now = time.time()
    directories = [entry for entry in os.scandir(top) if entry.is_dir(follow_symlinks=False)]
    aged = [(entry.stat().st_mtime, entry.name) for entry in directories]
    versions = sorted((age, name) for age, name in aged if not name.startswith("."))
    left_over = [(age, name) for age, name in aged if name.startswith(".")]
    for age, name in [*versions[:-KEPT], *left_over]:
        if now - age > UNUSED:
            shutil.rmtree(f"{top}/{name}", ignore_errors=True)
