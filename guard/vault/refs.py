"""Refs: what tells without asking git whether a repository still stands where it stood."""

from __future__ import annotations

import os

from guard.paths import parent

_MANY = 2000  # loose refs; where there are more, git is asked
_LONG = 1 << 16  # bytes of a file that names something


def repository(root: str) -> str:
    """The top of the work tree that a root lies in, else the root itself."""
    above = root
    while above != "/":
        if os.path.lexists(f"{above}/.git"):
            return above
        above = parent(above)
    return root


def mark(root: str) -> tuple[str, int] | None:
    """A text that is another one when HEAD or a ref is, and when (ns) the newest file was written of which only times are in it.

    None where that cannot be told without git.
    """
    top = repository(root)
    if not os.path.lexists(f"{top}/.git"):
        return "no repository", 0
    try:
        own = _git_dir(top)
        common = _common(own)
        said = [own, common, _text(f"{own}/HEAD")]
        for directory in dict.fromkeys((own, common)):
            loose: list[str] = []
            _loose(f"{directory}/refs", loose)
            said += loose
        packed, when = _times(f"{common}/packed-refs")
        said += [packed, *(_text(path) for path in (f"{common}/reftable/tables.list",) if os.path.exists(path))]
    except (OSError, ValueError, _TooMany):
        return None
    return "\n".join(said), when


class _TooMany(Exception):
    """There are more loose refs than are read here."""


def _git_dir(top: str) -> str:
    path = f"{top}/.git"
    if os.path.isdir(path):
        return path
    text = _text(path)
    if not text.startswith("gitdir:"):
        raise ValueError(path)
    return os.path.join(top, text[len("gitdir:") :].strip())


def _common(own: str) -> str:
    """The directory that the refs of all work trees are in."""
    path = f"{own}/commondir"
    return os.path.join(own, _text(path).strip()) if os.path.exists(path) else own


def _text(path: str) -> str:
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return os.fsdecode(os.read(fd, _LONG))
    finally:
        os.close(fd)


def _loose(directory: str, found: list[str]) -> None:
    """Adds a line for each file below a directory: its path and what it says."""
    try:
        with os.scandir(directory) as entries:
            rows = sorted((entry.path, entry.is_dir(follow_symlinks=False)) for entry in entries)
    except FileNotFoundError:
        return
    for path, is_directory in rows:
        if len(found) > _MANY:
            raise _TooMany
        if is_directory:
            _loose(path, found)
        elif not path.endswith(".lock"):
            found.append(f"{path} {_text(path)}")


def _times(path: str) -> tuple[str, int]:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return "", 0
    return f"{found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino}", max(found.st_mtime_ns, found.st_ctime_ns)
