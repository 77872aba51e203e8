"""The files that git does not track: which there are, which are ignored, and which directories hold nothing else."""

from __future__ import annotations

from guard.overlay import DIRECTORY, FILE
from guard.paths import child

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NamedTuple

    from guard.tools.git.ignore import Ignores
    from guard.tools.git.work import Work
else:
    from guard.record import NamedTuple


class Untracked(NamedTuple):
    """A file or link, or (`nested`) the directory of another repository, which git does not look into.

    With `whole` it is a directory that stands for all that is in it.
    `shallow` is True where the directory it stands in holds tracked files, so that git meets it without going into
    untracked directories.
    """

    path: str
    ignored: bool
    nested: bool
    shallow: bool
    whole: bool = False


def untracked(
    work: Work, ignores: Ignores, nested: bool = False, together: tuple[bool, ...] | None = None
) -> Iterator[Untracked]:
    """Every untracked file of the work tree, ignored ones too. With `nested`, other repositories are looked into as well.

    A directory that git does not know at all is one where all that is in it is `together`: as much ignored as that says.
    """
    directories = _directories(work)
    todo = [("", False, True)]
    while todo:
        here, hidden, shallow = todo.pop()
        for name, kind in work.view.scan(work.path(here)) or ():
            path = f"{here}/{name}" if here else name
            if name == ".git" or (path in work.index and kind != DIRECTORY):
                continue
            if kind != DIRECTORY:
                yield Untracked(path, hidden or ignores.ignored(path, False), False, shallow)
                continue
            if path in work.index:
                continue
            ignored = hidden or ignores.ignored(path, True)
            if path not in directories and not nested and is_repository(work, path):
                yield Untracked(path, ignored, True, shallow)
            elif path not in directories and together is not None and _alike(work, ignores, path, ignored, together):
                yield Untracked(path, together[0], False, shallow, True)
            else:
                todo.append((path, ignored, path in directories))


def _alike(work: Work, ignores: Ignores, top: str, hidden: bool, wanted: tuple[bool, ...]) -> bool:
    """True when some file is in an untracked directory, all of them are as `wanted` says of being ignored, and there is no
    other repository among them."""
    todo = [(top, hidden)]
    some = False
    while todo:
        here, hidden = todo.pop()
        if hidden and True not in wanted:
            return False
        for name, kind in work.view.scan(work.path(here)) or ():
            path = f"{here}/{name}"
            if name == ".git":
                return False
            if kind == DIRECTORY:
                todo.append((path, hidden or ignores.ignored(path, True)))
            elif (hidden or ignores.ignored(path, False)) not in wanted:
                return False
            some = some or kind != DIRECTORY
    return some


def _directories(work: Work) -> set[str]:
    """The directories that hold tracked files."""
    found: set[str] = set()
    for path in work.index:
        above = path.rpartition("/")[0]
        while above and above not in found:
            found.add(above)
            above = above.rpartition("/")[0]
    return found


def is_repository(work: Work, path: str) -> bool:
    """True when another repository's work tree begins at the path."""
    dot = child(work.path(path), ".git")
    kind = work.view.kind(dot)
    return kind == FILE or (kind == DIRECTORY and work.view.kind(child(dot, "HEAD")) is not None)
