"""Path names as the libraries of programming languages put them together and find them by patterns."""

from __future__ import annotations

from guard.effects import Text, join, unknown
from guard.overlay import DIRECTORY
from guard.tools.process import Process, entries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

WALKED = 5_000  # entries that a walk looks at


def joined_path(parts: list[Text], normal: bool = False) -> Text:
    """The parts with slashes between them, from the last absolute one on; `normal` without empty parts and dots."""
    found: Text = ""
    for part in parts:
        start = part if isinstance(part, str) else part.prefix
        if start.startswith("/") or found == "":
            found = part
        elif part != "":
            ends = found if isinstance(found, str) else found.suffix
            found = join(found, "" if ends.endswith("/") else "/", part)
    if not normal or not isinstance(found, str):
        return found
    kept = [part for part in found.split("/") if part not in ("", ".")]
    return ("/" if found.startswith("/") else "") + "/".join(kept) or "."


def kind(process: Process, path: Text, follow: bool = True) -> str | None:
    """The kind of what a path names, None where nothing is or it is not known."""
    where = process.here.path(path)
    if not isinstance(where, str):
        return None
    view = process.here.view
    return view.kind(view.through(where) if follow else view.at(where))


def fits(name: str, pattern: str) -> bool:
    """True when a name matches a pattern of *, ? and [..]."""
    from fnmatch import fnmatchcase

    return fnmatchcase(name, pattern)


def matches(process: Process, pattern: str, top: str = "", hidden: bool = False, recursive: bool = True) -> list[Any]:
    """The paths below `top` (without it in front) that a pattern matches; ends with an unknown one where there are too many."""
    left = [WALKED]
    start = "/" if pattern.startswith("/") else ""
    parts = [part for part in pattern.split("/") if part]
    if not recursive:
        parts = ["*" if part == "**" else part for part in parts]
    found: list[Any] = list(dict.fromkeys(_matches(process, top, start, parts, hidden, left)))
    if left[0] <= 0:
        found.append(join(start, unknown("unknown-argument", f"glob({pattern!r})")))
    return found


def _matches(process: Process, top: str, at: str, parts: list[str], hidden: bool, left: list[int]) -> Iterable[str]:
    if not parts:
        yield at
        return
    part, *rest = parts
    if not any(letter in part for letter in "*?["):
        below = str(joined_path([at, part]))
        if kind(process, joined_path([top, below]), follow=False) is not None:
            yield from _matches(process, top, below, rest, hidden, left)
        return
    names = entries(process, joined_path([top, at]) or ".") or []
    left[0] -= len(names) + 1
    if left[0] <= 0:
        return
    if part == "**":
        if rest:
            yield from _matches(process, top, at, rest, hidden, left)
        elif at:
            yield at
    for name in names:
        if not name.startswith(".") or hidden or part.startswith("."):
            yield from _below(process, top, str(joined_path([at, name])), parts, hidden, left)


def _below(process: Process, top: str, below: str, parts: list[str], hidden: bool, left: list[int]) -> Iterable[str]:
    """What matches at and below one entry of a directory in which the first part is looked for."""
    part, *rest = parts
    is_dir = kind(process, joined_path([top, below]), follow=part != "**" or not hidden) == DIRECTORY
    if part == "**":
        if is_dir:
            yield from _matches(process, top, below, parts, hidden, left)
        elif not rest and not hidden:
            yield below
    elif fits(below.rpartition("/")[2], part) and (is_dir or not rest):
        yield from _matches(process, top, below, rest, hidden, left)
