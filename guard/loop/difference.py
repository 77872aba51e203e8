"""Difference: which of the changed paths changed meaningfully, and what that makes of an iteration."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from hashlib import blake2b

from guard.loop.facts import PATHS, Files
from guard.loop.sketch import changed_lines, content, value

Changes = dict[str, tuple[bytes | None, bytes | None]]  # path -> its sketch before and after
REMEMBERED = 20  # iterations whose results a change may go back to
_DOCUMENTS = (".md", ".mdx", ".rst", ".adoc", ".txt")
_DOCUMENT_NAMES = ("readme", "changelog", "license", "authors", "contributing")


class History:
    """What each path was at the run's start and after its iterations, in the normal form that changes are compared by."""

    def __init__(self, earlier: Sequence[Sequence[str]] = ()) -> None:
        self._number = 0
        self._values: dict[str, list[tuple[int, bytes]]] = {}  # since which iteration, 0 for the start
        self._earlier = [frozenset(pairs) for pairs in earlier[-REMEMBERED:]]

    def reverted(self, path: str, after: bytes) -> bool:
        """Had the path this value at the run's start, or after one of the last iterations but the previous one?"""
        now = self._number + 1
        known = self._values[path]
        ends = [since for since, _ in known[1:]] + [now]
        for (since, old), end in zip(known, ends, strict=True):
            if old == after and (since == 0 or end - 1 >= now - REMEMBERED) and since <= max(0, now - 2):
                return True
        reach = max(0, REMEMBERED + 1 - now)
        older = self._earlier[-reach:] if reach else []
        return any(pair(path, after) in pairs for pairs in (older[:-1] if now == 1 else older))

    def begin(self, values: dict[str, tuple[bytes, bytes]]) -> None:
        """What had not changed so far had its value of before since the start."""
        for path, (before, _) in values.items():
            self._values.setdefault(path, [(0, before)])

    def end(self, values: dict[str, tuple[bytes, bytes]]) -> None:
        """An iteration is over: the values of what changed in it, or between it and the one before."""
        self._number += 1
        for path, (_, after) in values.items():
            known = self._values[path]
            if known[-1][1] != after:
                known.append((self._number, after))


def pair(path: str, after: bytes) -> str:
    """The digest of a path and its value, of which an approach is made."""
    return blake2b(os.fsencode(path) + b"\0" + after, digest_size=8).hexdigest()


def difference(changes: Changes, outside: Changes, is_test: Callable[[str], bool], history: History) -> tuple[Files, bool]:
    """The facts of an iteration that lie in its changes, and whether all that is meaningful is documentation.

    `outside` is what others changed before it.
    """
    values, others = _values(changes), _values(outside)
    history.begin(others)
    history.begin(values)
    meaningful = sorted(path for path, (old, new) in values.items() if old != new)
    moves = _moves(changes, meaningful)
    sources = {*moves.values()}
    counted = [path for path in meaningful if path not in sources]
    lines = {path: 1 if path in moves else changed_lines(*changes[path]) for path in counted}
    reverted = any(history.reverted(path, values[path][1]) for path in meaningful)
    history.end(others | values)
    found = Files(
        meaningful=len(counted),
        lines=sum(lines.values()),
        test_lines=sum(count for path, count in lines.items() if is_test(path)),
        reverted=reverted,
        paths=tuple(shown(path) for path in counted[:PATHS]),
        approach=tuple(sorted(pair(path, values[path][1]) for path in meaningful)[:PATHS]),
    )
    return found, bool(counted) and all(map(is_document, counted))


def _values(changes: Changes) -> dict[str, tuple[bytes, bytes]]:
    return {path: (value(old), value(new)) for path, (old, new) in changes.items()}


def _moves(changes: Changes, meaningful: list[str]) -> dict[str, str]:
    """New path -> old path of each content that left one place and turned up in another."""
    gone: dict[bytes, list[str]] = {}
    for path in reversed(meaningful):
        old, new = changes[path]
        if old is not None and new is None:
            gone.setdefault(content(old), []).append(path)
    moves = {}
    for path in meaningful:
        old, new = changes[path]
        if old is None and new is not None and (sources := gone.get(content(new))):
            moves[path] = sources.pop()
    return moves


def is_document(path: str) -> bool:
    """Is a file documentation, by its place or name?"""
    *above, name = path.lower().split("/")
    return name.endswith(_DOCUMENTS) or name.startswith(_DOCUMENT_NAMES) or "docs" in above or "doc" in above


def shown(path: str) -> str:
    """A path as text that every encoding takes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
