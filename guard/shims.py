"""The shims: directories of one small script under the names of the tools that lose files, put first on PATH.

A directory holds the script under each name (hard links where that is possible), `.policy` (what the script knows of what is
protected), `.judge` (the launcher that it asks when it cannot tell) and an empty `.guard-shims`. Files are replaced by rename
and a directory appears as a whole, so that whoever runs a tool meanwhile finds the old one or the new one.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from guard import project, runtime, search_path, shim_data
from guard.errors import FAULT, MISSING, GuardError
from guard.search_path import MARKER
from guard.shim_data import POLICY

DEFAULT = ("rm", "rmdir", "unlink", "shred", "mv", "cp", "ln", "truncate", "git", "find", "rsync")
# Tools that builds call all the time; only where a command or shell is guarded on purpose.
WIDE = (*DEFAULT, "sed", "install", "dd", "tee", "tar", "unzip")
SETS = {"default": DEFAULT, "wide": WIDE}

JUDGE = ".judge"
PATIENCE = 10.0  # seconds to wait for another installation
# Tools that start others get bash: dash and busybox drop names that are no identifiers from the environment, among them the
# functions that bash exports.
STARTING = frozenset(["git", "find", "rsync", "tar", "sed", "install"])
DASH, BASH, BUSYBOX = ("dash", ""), ("bash", " -p"), ("busybox", " ash")
LIGHT_SHELLS, FULL_SHELLS = (DASH, BASH, BUSYBOX), (BASH, DASH, BUSYBOX)

PASS_THROUGH = """\
#!{shell}
# The shims of guard are uninstalled (see .guard-shims). What still names this file gets the real tool behind it.
guard_rest=${{PATH-{path}}}:
while [ -n "$guard_rest" ]; do
    guard_entry=${{guard_rest%%:*}}
    guard_rest=${{guard_rest#*:}}
    guard_tool=${{guard_entry:-.}}/${{0##*/}}
    [ -e "${{guard_entry:-.}}/{marker}" ] || [ ! -f "$guard_tool" ] || [ ! -x "$guard_tool" ] || exec "$guard_tool" "$@"
done
echo "${{0##*/}}: not found" >&2
exit 127
"""


class Shim(NamedTuple):
    """One name in a directory of shims: `state` is "guards", "outdated", "passes", "missing" or "foreign"."""

    name: str
    state: str
    real: str | None


def homes(environ: Mapping[str, str]) -> list[str]:
    """Where runtime and shims may stand: guard's data directory, else its state directory."""
    return [path for path in (project.data_dir(environ), project.state_dir(environ)) if path]


def directory(home: str, kind: str) -> str:
    """The directory of a set of shims."""
    return f"{home}/shims/{kind}"


def ensure(kind: str, environ: Mapping[str, str]) -> str:
    """Installs a set of shims where it is missing or out of date; gives its directory.

    What cannot be written but guards already is taken as it is. Raises GuardError where there is no place for it.
    """
    problem = "none of GUARD_STATE_DIR, XDG_DATA_HOME, XDG_STATE_HOME and HOME names a directory that can be written"
    for home in homes(environ):
        try:
            return install(kind, home, environ)
        except OSError as error:
            problem = f"{error.filename or home}: {error.strerror}"
            if _complete(kind, home, environ):
                return directory(home, kind)
    raise GuardError(f"the shims cannot be installed ({problem})", todo="name a directory with GUARD_STATE_DIR", code=FAULT)


def install(kind: str, home: str, environ: Mapping[str, str], final: str = "") -> str:
    """Installs or renews the runtime and a set of shims below `home`; gives the directory. `final` is where that will be found.

    Raises GuardError, and changes nothing, where something stands in the way that is not guard's; OSError.
    """
    top = directory(home, kind)
    if ":" in top:
        raise GuardError(f"{top} cannot stand on PATH, because it holds a colon", todo="name another with XDG_DATA_HOME")
    _check_own(top, SETS[kind])
    os.makedirs(home, mode=0o700, exist_ok=True)
    with locked(home):
        runtime.ensure(home)
        for other in SETS:  # the other set's launcher names the same runtime, which may need another interpreter now
            if other != kind and os.path.exists(f"{directory(home, other)}/{JUDGE}"):
                put(f"{directory(home, other)}/{JUDGE}", runtime.launcher(final or home, launcher_shell()))
        _fill(top, kind, home, final or home)
        shim_data.prepare(top, environ)
    return top


def launcher_shell() -> str:
    """The interpreter line of launchers, without "#!". Raises GuardError where none of the shells that serve is here."""
    return _shell(LIGHT_SHELLS)


def uninstall(home: str, purge: bool = False) -> list[str]:
    """Turns every shim below `home` into a pass-through, or removes it; removes the runtime. Gives what it has dealt with.

    Files that are not guard's stay where they are.
    """
    done = []
    with locked(home) if os.path.isdir(home) else contextlib.nullcontext():
        for kind, names in SETS.items():
            top = directory(home, kind)
            if os.path.lexists(f"{top}/{MARKER}"):
                _retire(top, names, purge)
                done.append(top)
        if not os.path.lexists(f"{home}/bin/hook"):  # the hooks of agents run on it, too
            runtime.remove(home)
        if purge:
            for path in (f"{home}/shims", f"{home}/.lock"):
                with contextlib.suppress(OSError):
                    os.rmdir(path) if os.path.isdir(path) else os.unlink(path)
    return done


def status(kind: str, home: str, environ: Mapping[str, str]) -> list[Shim]:
    """How each shim of a set is, and the tool that it stands for."""
    top = directory(home, kind)
    path = environ.get("PATH", search_path.PATH)
    judging = os.access(f"{top}/{JUDGE}", os.X_OK)
    return [Shim(name, _state(f"{top}/{name}", name, judging), search_path.real(name, path)) for name in SETS[kind]]


def script() -> bytes:
    """The text of the shim, as it is shipped."""
    here = os.path.dirname(__file__)
    for path in (f"{here}/data/shims/shim", f"{here}/../shims/shim"):
        with contextlib.suppress(OSError), open(path, "rb") as file:
            return file.read()
    raise GuardError("the script of the shims is missing", here, "install guard again", FAULT)


def _complete(kind: str, home: str, environ: Mapping[str, str]) -> bool:
    """Does a set guard as it is, according to what is protected in this environment?"""
    known = shim_data.places(directory(home, kind)) or ()
    place = {name: environ[name] for name in shim_data.VARIABLES if environ.get(name)}
    return place in known and all(shim.state in ("guards", "outdated") for shim in status(kind, home, environ))


def _fill(top: str, kind: str, home: str, final: str) -> None:
    """Brings a directory up to date, file by file; one that is not there is built beside and moved to its place."""
    place = top
    if not os.path.isdir(top):
        place = f"{home}/shims/.{kind}.{os.getpid()}"
        shutil.rmtree(place, ignore_errors=True)
        os.makedirs(place)
    put(f"{place}/{MARKER}", b"", 0o644)
    put(f"{place}/{JUDGE}", runtime.launcher(final, launcher_shell()))
    first: dict[bytes, str] = {}
    for name in SETS[kind]:
        content = _content(name)
        put(f"{place}/{name}", content, link=first.setdefault(content, f"{place}/{name}"))
    if place != top:
        os.rename(place, top)


def _content(name: str) -> bytes:
    """The script as it is installed under a name: with the interpreter that suits the tool."""
    return os.fsencode(f"#!{_shell_for(name)}\n") + script().partition(b"\n")[2]


def _passing(name: str) -> bytes:
    return os.fsencode(PASS_THROUGH.format(shell=_shell_for(name), path=search_path.PATH, marker=MARKER))


def _shell_for(name: str) -> str:
    return _shell(FULL_SHELLS if name in STARTING else LIGHT_SHELLS)


def _shell(choices: tuple[tuple[str, str], ...]) -> str:
    """The interpreter line, without "#!", of the first of these that is here. Never plain sh: bash as sh imports functions."""
    for name, option in choices:
        for place in runtime.PLACES[1:] + runtime.PLACES[:1]:
            if os.access(f"{place}/{name}", os.X_OK):
                return f"{place}/{name}{option}"
    raise GuardError("none of dash, bash and busybox is here", todo="install one of them", code=MISSING)


def put(path: str, content: bytes, mode: int = 0o755, link: str = "") -> None:
    """Makes a file be this, by rename, unless it is so already; a hard link to an equal file where one is named."""
    if _is(path, content, mode):
        return
    new = f"{os.path.dirname(path)}/.new.{os.getpid()}"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(new)
    try:
        if not link or link == path:
            raise FileNotFoundError
        os.link(link, new)
    except OSError:
        fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
        with os.fdopen(fd, "wb") as file:
            file.write(content)
        os.chmod(new, mode)
    os.rename(new, path)


def _is(path: str, content: bytes, mode: int) -> bool:
    found = _regular(path)
    return found is not None and found.st_mode & 0o777 == mode and _read(path) == content


def _regular(path: str) -> os.stat_result | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _own(path: str) -> bool:
    """Is a file one of guard's scripts, of whatever version? Each of them knows the marker."""
    return _regular(path) is not None and MARKER.encode() in _read(path)


def _state(path: str, name: str, judging: bool) -> str:
    if not os.path.lexists(path):
        return "missing"
    if not _own(path):
        return "foreign"
    content = _read(path)
    if content == _passing(name):
        return "passes"
    return "guards" if judging and content == _content(name) else "outdated"


def _check_own(top: str, names: tuple[str, ...]) -> None:
    """Raises GuardError where something of somebody else's would be overwritten."""
    todo = "move it away"
    if not os.path.lexists(top):
        return
    if not os.path.isdir(top):
        raise GuardError("it is not a directory of guard's shims", top, todo)
    if not os.path.lexists(f"{top}/{MARKER}") and os.listdir(top):
        raise GuardError(f"it is not a directory of guard's shims (it has no {MARKER})", top, todo)
    for name in names:
        if os.path.lexists(f"{top}/{name}") and not _own(f"{top}/{name}"):
            raise GuardError("it is not a shim of guard's", f"{top}/{name}", todo)


def _retire(top: str, names: tuple[str, ...], purge: bool) -> None:
    for name in names:
        if _own(f"{top}/{name}"):
            _delete(f"{top}/{name}") if purge else put(f"{top}/{name}", _passing(name))
    for name in os.listdir(top):
        if name == JUDGE or name.startswith(POLICY):
            _delete(f"{top}/{name}")
    if purge:
        _delete(f"{top}/{MARKER}")
        with contextlib.suppress(OSError):
            os.rmdir(top)


def _delete(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


@contextlib.contextmanager
def locked(home: str) -> Iterator[None]:
    """One installation at a time, where the file system has locks. After a while it goes on without: every step is a rename."""
    fd = os.open(f"{home}/.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.02)
            except OSError:
                break
        yield
    finally:
        os.close(fd)
