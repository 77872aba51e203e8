"""Tool uses that are going on: which snapshots they started from, and what they were allowed to do.

<state>/uses/<session>.<use>          one that has begun
<state>/uses/<session>.<use>.over     one that is over, kept while another goes on that was there meanwhile
<state>/uses/<session>.<use>.on       one whose tool is over, while something that it has started goes on in the background
<state>/uses/<session>.<use>.told     what was lost and brought back meanwhile, as somebody else has found it

A use that nobody ends (the person said no, the client crashed) does no harm: every use is compared with its own beginning.
It is cleared away when its client is gone, or after a day.
"""

from __future__ import annotations

import os
import time

from guard.actor import PROGRAMS
from guard.json_text import dumps, loads
from guard.vault.digest import sha256
from guard.vault.names import TEMPORARY, token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, NamedTuple
else:
    from guard.record import NamedTuple

OVER, ON, TOLD = ".over", ".on", ".told"
DAY = 86400.0  # seconds after which a use is surely over
LONG = 1 << 20  # bytes of an approved text that are kept
_VERSION = 1
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_ANCESTORS = 32


class Use(NamedTuple):
    """One use of a tool. `baselines`: the snapshot of each root. `client`: number and start of the client's process, (0, "")
    where it is not known. `command`: of a shell. `writes`: files that it was approved to write, with the approved text, None
    where that is not known. `losses`: paths that a person has agreed to lose. `lingers`: it has started, or will, what goes on
    when its tool is over. Times are seconds since 1970.
    """

    key: str
    time: float
    baselines: Mapping[str, str]
    client: tuple[int, str] = (0, "")
    command: str = ""
    writes: Mapping[str, bytes | None] = {}
    losses: tuple[str, ...] = ()
    over: bool = False
    session: str = ""
    lingers: bool = False


def key_of(session: str, tool_use: str) -> str:
    """The name of the file of a use."""
    if session and tool_use and len(session) + len(tool_use) < 200 and _PLAIN.issuperset(session + tool_use):
        return f"{session}.{tool_use}"
    text = f"{len(session)} {session}{tool_use}".encode("utf-8", "surrogatepass")
    return sha256(text).hexdigest()


def place(state: str) -> str:
    """The directory of the uses."""
    return f"{state}/uses"


def announce(state: str, key: str) -> None:
    """Says that a use is about to begin, so that what others are allowed from now on stays on record. Raises OSError."""
    os.close(_created(place(state), f"{place(state)}/{key}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC))


def withdraw(state: str, key: str) -> None:
    """Takes an announcement back."""
    _unlink(f"{place(state)}/{key}")


def begin(state: str, use: Use) -> None:
    """Records a use. Raises OSError."""
    path = f"{place(state)}/{use.key}"
    _put(state, path, use)
    _unlink(f"{path}{OVER}")
    _unlink(f"{path}{ON}")
    _unlink(f"{path}{TOLD}")


def _put(state: str, path: str, use: Use) -> None:
    directory = place(state)
    body = dumps({"v": _VERSION, **use._asdict(), "writes": {p: _text(content) for p, content in use.writes.items()}})
    temporary = f"{directory}/{TEMPORARY}{os.getpid()}-{token(4)}"
    fd = _created(directory, temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC)
    try:
        with os.fdopen(fd, "wb") as file:  # who loses power loses the client, too: nothing has to be synchronised
            file.write(body.encode())
        os.utime(temporary, (use.time, use.time))
        os.rename(temporary, path)
    except OSError:
        _unlink(temporary)
        raise


def _created(directory: str, path: str, flags: int) -> int:
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        os.makedirs(directory, 0o700, exist_ok=True)
        return os.open(path, flags, 0o600)


def find(state: str, key: str) -> Use | None:
    """A use that has begun and is not over."""
    return _read(f"{place(state)}/{key}")


def others(state: str, use: Use) -> list[Use]:
    """The other uses of which some part may have run since this one began."""
    found = []
    for path, when in _files(state):
        ended = path.endswith(OVER)
        if path.rpartition("/")[2].removesuffix(OVER).removesuffix(ON) == use.key or (ended and when < use.time):
            continue
        other = _read(path)
        if other is not None and other.baselines.keys() & use.baselines.keys():
            found.append(other._replace(over=ended))
    return found


def end(state: str, use: Use) -> str:
    """Ends a use; gives what others have told it. It stays on record while another use goes on."""
    directory = place(state)
    path = f"{directory}/{use.key}"
    told = _text_of(f"{path}{TOLD}")
    _unlink(f"{path}{TOLD}")
    try:
        os.rename(path, f"{path}{OVER}")
        now = time.time()  # not the clock of the file system, which lags behind that of time()
        os.utime(f"{path}{OVER}", (now, now))
    except OSError:
        pass
    tidy(state)
    return told


def linger(state: str, use: Use) -> str:
    """Ends a use of which something goes on, from the baselines that it has by now; gives what others have told it.

    Raises OSError.
    """
    path = f"{place(state)}/{use.key}"
    told = _text_of(f"{path}{TOLD}")
    _put(state, f"{path}{ON}", use._replace(lingers=True))
    _unlink(f"{path}{TOLD}")
    _unlink(path)
    return told


def lingering(state: str, session: str) -> list[Use]:
    """The uses of a session of which something goes on, or may."""
    found = [_read(path) for path, _ in _files(state) if path.endswith(ON)] if session else []
    return [use for use in found if use is not None and use.session == session]


def tell(state: str, use: Use, text: str) -> None:
    """Leaves word for a use that is going on."""
    try:
        fd = os.open(f"{place(state)}/{use.key}{TOLD}", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(text.encode("utf-8", "surrogateescape") + b"\n")
    except OSError:
        pass


def drop(state: str, session: str) -> None:
    """Ends all uses of a session: its client says that nothing of it is running any more."""
    for path, _ in _files(state) if session else ():
        if not path.endswith(OVER) and _is_of(path, session):
            _unlink(path)
            _unlink(f"{path.removesuffix(ON)}{TOLD}")
    tidy(state)


def _is_of(path: str, session: str) -> bool:
    """Is a file that of a use of this session? The name says it, where it is not a digest."""
    named, point, _ = path.rpartition("/")[2].removesuffix(ON).partition(".")
    if point:
        return named == session
    use = _read(path)
    return use is not None and use.session == session


def tidy(state: str) -> None:
    """Clears away uses that nobody will end, and records that nobody needs any more."""
    now = time.time()
    running = now
    over = []
    for path, when in _files(state):
        if path.endswith(OVER):
            over.append((path, when))
        elif now - when > DAY or (now - when > 60 and _abandoned(path)):
            _unlink(path)
            _unlink(f"{path}{TOLD}")
        else:
            running = min(running, when)
    for path, when in over:
        if when < running or now - when > DAY:
            _unlink(path)


def held(state: str, root: str) -> set[str]:
    """The snapshots of a root that uses started from."""
    found = {use.baselines.get(root, "") for path, _ in _files(state) if (use := _read(path)) is not None}
    return found - {""}


def client() -> tuple[int, str]:
    """Number and start of the nearest process above that is an agent's client; (0, "") where there is none to be seen."""
    process = os.getppid()
    for _ in range(_ANCESTORS):
        if process <= 1:
            break
        above, start, names = _process(process)
        if any(name.partition(".")[0] in PROGRAMS for name in names):
            return process, start
        process = above
    return 0, ""


def _process(process: int) -> tuple[int, str, list[str]]:
    """The parent's number (0: unknown), the start and the names of a process."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            before, _, after = file.read().rpartition(b")")
        with open(f"/proc/{process}/cmdline", "rb") as file:
            words = file.read(4096).split(b"\0")[:3]
        fields = after.split()
        names = [before.partition(b"(")[2], *(part for word in words for part in word.split(b"/"))]
        return int(fields[1]), fields[19].decode(), [os.fsdecode(name) for name in names]
    except (OSError, ValueError, IndexError):
        return 0, "", []


def _abandoned(path: str) -> bool:
    """Is the client of a use gone?"""
    use = _read(path)
    if use is None:
        return True
    process, start = use.client
    return bool(process) and os.path.isdir("/proc/self") and _process(process)[1] != start


def _files(state: str) -> Iterator[tuple[str, float]]:
    """The files of uses, begun or over, with their times."""
    try:
        with os.scandir(place(state)) as entries:
            rows = [(entry.path, entry.name) for entry in entries]
    except OSError:
        return
    for path, name in rows:
        if name.startswith(TEMPORARY) or name.endswith(TOLD) or name == LOCK:
            continue
        try:
            yield path, os.lstat(path).st_mtime
        except OSError:
            continue


LOCK = "lock"


def _read(path: str) -> Use | None:
    try:
        said: Any = loads(_bytes(path).decode())
        fields = {name: said[name] for name in Use._fields if name in said}
        if said.get("v") != _VERSION:
            return None
        return Use(**fields)._replace(
            client=tuple(said["client"]),
            writes={path: _content(text) for path, text in said["writes"].items()},
            losses=tuple(said["losses"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _bytes(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    with os.fdopen(fd, "rb") as file:
        return file.read()


def _text(content: bytes | None) -> str | None:
    return None if content is None or len(content) > LONG else content.decode("latin-1")


def _content(text: str | None) -> bytes | None:
    return None if text is None else text.encode("latin-1")


def _text_of(path: str) -> str:
    try:
        return _bytes(path).decode("utf-8", "surrogateescape").rstrip("\n")
    except OSError:
        return ""


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
