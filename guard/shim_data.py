"""What a directory of shims knows: `.policy`, which the script reads, and `.policy.places`, which only the judge reads.

`.policy` is one text, read by the shells as commands that the script defines. Its words are quoted where they have to be:

    policy 1 VERSION STAMP      the format; `.policy.STAMP` is an empty file that is older than all that was read for this one
    older PATH...               files that this was made from: it holds only while each is there and older than the stamp
    absent PATH...              files that would have a say, but are not there
    plain PATH...               names that would protect what they lead to, but are no symbolic links
    same PATH PATH              symbolic links that do, and where they lead
    root PATH PREFIX PATTERN... a directory with a policy; all that it protects matches PREFIX and a pattern (compiled.py)
    end

`.policy.places` has one line for each environment that the shims were installed from: the variables that say where guard's own
directories are. The caller's environment has no say in that, or another HOME would be a way round.
"""

from __future__ import annotations

import fcntl
import os
import time

from guard import __version__, project, roots
from guard.matching import literals
from guard.paths import child, physical
from guard.world import Budget, World

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import NamedTuple

    from guard.policy import Root

    Place = Mapping[str, str]
else:
    from guard.record import NamedTuple

POLICY, PLACES = ".policy", ".policy.places"
FORMAT = 1
VARIABLES = ("GUARD_STATE_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "HOME")
PLACE_LIMIT, MORE_LIMIT = 16, 100

_SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/+@%,:-")
_TICK = 0.012  # seconds by which the times of two files have to differ, to differ at all
_COARSE = 2 * 10**9  # ns: some shells compare times by the second
_ROWS = ("policy", "older", "absent", "plain", "same", "root", "end")


def prepare(directory: str, environ: Mapping[str, str]) -> None:
    """Makes the shims in a directory heed what is protected according to this environment. Raises OSError."""
    place = {name: environ[name] for name in VARIABLES if environ.get(name)}
    kept = [old for old in places(directory) or () if old == place or _exists(old)]
    kept = kept if place in kept else [*kept[: PLACE_LIMIT - 1], place]  # the first ones stay: no agent pushes them out
    lines = [" ".join(_escaped(f"{name}={value}") for name, value in known.items()) for known in kept]
    text = "\n".join([*lines, "end", ""])
    if _read(f"{directory}/{PLACES}") != text:
        _write(f"{directory}/{PLACES}", text)
    for _ in range(3):
        if not read(directory).stale:
            break
        time.sleep(_TICK)  # what was written just now shall be older than the stamp
        renew(directory)


def places(directory: str) -> list[dict[str, str]] | None:
    """The environments that the shims were installed from, the latest last; None where that is not to be had."""
    lines = _read(f"{directory}/{PLACES}").split("\n")
    if len(lines) < 3 or lines[-2:] != ["end", ""]:
        return None
    return [dict(_unescaped(field).partition("=")[::2] for field in line.split(" ") if field) for line in lines[:-2]]


class Data(NamedTuple):
    """What `.policy` says: the directories with a policy that it knows, whether symbolic links protect something elsewhere,
    and whether the script would take it for no answer (torn, of another version, older than its sources)."""

    roots: frozenset[str] = frozenset()
    linked: bool = True
    stale: bool = True


def read(directory: str) -> Data:
    """What `.policy` says now."""
    rows = _rows(_read(f"{directory}/{POLICY}"))
    if not rows or rows[0][:3] != ["policy", str(FORMAT), __version__] or len(rows[0]) != 4 or rows[-1] != ["end"]:
        return Data()
    stamp = _time(f"{directory}/{POLICY}.{rows[0][3]}")
    return Data(
        frozenset(row[1] for row in rows if row[0] == "root"),
        any(row[0] == "same" for row in rows),
        stamp is None or any(_changed(row[0], row[1:], stamp) for row in rows[1:]),
    )


def renew(directory: str, more: Iterable[str] = (), tree: World | None = None) -> bool:
    """Writes `.policy` anew, as a whole, with roots that are not registered added. False where somebody else is at it, or
    nothing can be written."""
    directory = os.path.realpath(directory)
    tree = tree or World({}, Budget(30.0, 50_000_000))
    try:
        lock = os.open(f"{directory}/{PLACES}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _renew(directory, list(more), tree)
        return True
    except (OSError, ValueError):
        return False
    finally:
        os.close(lock)


def _renew(directory: str, more: list[str], tree: World) -> None:
    old = _rows(_read(f"{directory}/{POLICY}"))
    stamp = os.urandom(6).hex()
    os.close(os.open(f"{directory}/{POLICY}.{stamp}", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644))
    try:
        adopted = [row[1] for row in old if row[0] == "root"] + more
        adopted = [path for path in dict.fromkeys(adopted) if tree.lstat(child(path, roots.CONFIG)) is not None][-MORE_LIMIT:]
        lines = [_line("policy", str(FORMAT), __version__, stamp)]
        lines += dict.fromkeys(line for place in places(directory) or () for line in _lines(place, adopted, tree))
        lines.insert(1, _line("older", f"{directory}/{PLACES}"))
        _write(f"{directory}/{POLICY}", "\n".join([*lines, "end", ""]))
    except BaseException:
        _remove(f"{directory}/{POLICY}.{stamp}")
        raise
    if old and old[0][0] == "policy" and len(old[0]) == 4 and old[0][3].isalnum():
        _remove(f"{directory}/{POLICY}.{old[0][3]}")


def _lines(place: Place, adopted: list[str], tree: World) -> Iterator[str]:
    """The rows for one place."""
    policy = project.registered(place, tree, adopted)
    state = project.state_dir(place)
    if state is not None:
        yield _source(child(state, roots.REGISTER), tree)
    for path in project.own_dirs(place):
        yield from _links(path, tree)
    for root in policy.roots:
        if any(rules.origin != "guard" for rules in root.lists):
            for source in project.sources(root.path, root.main, place, tree):
                yield _source(source.path, tree)
            for literal in dict.fromkeys(literals(root.lists)):
                yield from _links(literal, tree, root.path)
        yield _root(root)


def _source(path: str, tree: World) -> str:
    return _line("absent" if tree.lstat(path) is None else "older", path)


def _links(path: str, tree: World, base: str = "") -> Iterator[str]:
    """A path by which something elsewhere could be protected: as the links on it are now."""
    at = base
    for part in path.split("/"):
        if part:
            at = child(at or "/", part) if at != "/" else f"/{part}"
            if tree.readlink(at) is not None:
                yield _line("same", at, physical(tree, at))
                return
            yield _line("plain", at)


def _root(root: Root) -> str:
    from guard import compiled

    prefix = "" if root.path == "/" else compiled.shell_pattern(root.path, root.fold, plain=True)
    fields = ["root", _word(root.path), "*" if root.aliases else prefix + "/*", *compiled.case_patterns(root)]
    return " ".join(fields)


def _line(*fields: str) -> str:
    return " ".join(map(_word, fields))


def _word(text: str) -> str:
    return text if text and _SAFE.issuperset(text) else "'" + text.replace("'", "'\\''") + "'"


def _rows(text: str) -> list[list[str]]:
    """The words of each line; none at all where the text is no such data."""
    if "'" in text:
        rows = _quoted_rows(text)
    else:
        rows = [line.split(" ") for line in text.split("\n")]
        rows = rows[:-1] if rows[-1] == [""] else []
    return rows if all(row and row[0] in _ROWS for row in rows) else []


def _quoted_rows(text: str) -> list[list[str]]:
    rows: list[list[str]] = [[]]
    word: str | None = None
    at = 0
    while at < len(text):
        sign = text[at]
        at += 1
        if sign == "'":
            end = text.find("'", at)
            word = (word or "") + text[at : end if end >= 0 else len(text)]
            at = end + 1 if end >= 0 else len(text)
        elif sign in " \n":
            rows[-1] += [word] if word is not None else []
            rows += [[]] if sign == "\n" else []
            word = None
        else:
            word = (word or "") + (text[at : at + 1] if sign == "\\" else sign)
            at += sign == "\\"
    return rows[:-1] if word is None and not rows[-1] else []


def _changed(kind: str, paths: list[str], stamp: int) -> bool:
    if kind == "older":
        return any((found := _time(path)) is None or found >= stamp or _unclear(found, stamp) for path in paths)
    if kind == "absent":
        return any(map(os.path.lexists, paths))
    if kind == "plain":
        return any(map(os.path.islink, paths))
    return kind == "same" and not _alike(*paths)


def _unclear(source: int, stamp: int) -> bool:
    """Do the times differ too little for some shells, though they would no longer, were the stamp made now?"""
    if source // 10**9 != stamp // 10**9:
        return False
    return time.time_ns() - source > _COARSE


def _alike(path: str, other: str) -> bool:
    """As the script compares them; what leads nowhere stays the same when it still does."""
    try:
        return os.path.samefile(path, other)
    except OSError:
        return os.path.islink(path) and not os.path.exists(path) and os.path.realpath(path) == other


def _time(path: str) -> int | None:
    try:
        return os.stat(path).st_mtime_ns
    except (OSError, ValueError):
        return None


def _exists(place: Place) -> bool:
    state = project.state_dir(place)
    return state is not None and os.path.isdir(state)


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace(" ", "%20").replace("\n", "%0A")


def _unescaped(text: str) -> str:
    return text.replace("%0A", "\n").replace("%20", " ").replace("%25", "%")


def _read(path: str) -> str:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return ""
    with os.fdopen(fd, "rb") as file:
        try:
            return os.fsdecode(file.read())
        except OSError:
            return ""


def _write(path: str, text: str) -> None:
    """A file, whole or not at all."""
    new = f"{path}.new.{os.getpid()}"
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        data = os.fsencode(text)
        while data:
            data = data[os.write(fd, data) :]
        os.fsync(fd)
    finally:
        os.close(fd)
    os.rename(new, path)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
