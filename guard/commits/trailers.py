"""The trailer `Guard-Allow: PATH...` of a commit's message: the files that a person means to lose."""

from __future__ import annotations

import os

from guard.paths import below

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import NamedTuple

    from guard.commits.git import Git
else:
    from guard.record import NamedTuple

KEY = "Guard-Allow"
_FORMAT = f"--format=%H%x00%(trailers:key={KEY},valueonly,unfold,separator=%x00)%x00%x00"


class Trailer(NamedTuple):
    """A path (relative to the top, a directory stands for all below it) that a commit allows to be lost."""

    path: str
    commit: str = ""


def of_message(git: Git, message: bytes) -> list[Trailer]:
    """The trailers of a message as an editor left it, comments and all. Raises Failed."""
    output = git.run("interpret-trailers", "--parse", data=_above_the_scissors(message))
    found = []
    for line in os.fsdecode(output).splitlines():
        key, _, value = line.partition(":")
        if key.strip().lower() == KEY.lower():
            found += [Trailer(path) for path in paths(value)]
    return found


def mentioned(message: bytes) -> bool:
    """Could a message have such a trailer? Cheap."""
    return KEY.lower().encode() in message.lower()


def of_commits(git: Git, *revisions: str) -> list[Trailer]:
    """The trailers of the commits that git names by the revisions, such as "--not", "main". Raises Failed."""
    output = os.fsdecode(git.run("log", "--no-show-signature", "--no-patch", _FORMAT, *revisions, "--"))
    found = []
    for record in output.split("\0\0\n"):
        commit, *values = record.split("\0")
        found += [Trailer(path, commit) for value in values for path in paths(value)]
    return found


def allowing(trailers: Iterable[Trailer], path: str) -> Trailer | None:
    """The trailer that allows a path (relative to the top) to be lost."""
    return next((each for each in trailers if below(path, each.path)), None)


def paths(value: str) -> list[str]:
    """The paths that a trailer names: separated by blanks, in double quotes where one holds a blank.

    What names the whole tree, or something outside of it, names nothing.
    """
    return [path for word in _words(value) if (path := _normal(word))]


def written(found: Iterable[str]) -> str:
    """The trailer that names these paths."""
    return f"{KEY}: " + " ".join(_quoted(path) for path in found)


def _above_the_scissors(message: bytes) -> bytes:
    """The message without the diff that `git commit --verbose` puts below it."""
    kept = []
    for line in message.splitlines(keepends=True):
        if line.rstrip().endswith(b" ------------------------ >8 ------------------------"):
            break
        kept.append(line)
    return b"".join(kept)


def _words(value: str) -> Iterator[str]:
    word, quoted, escaped = "", False, False
    for character in value + " ":
        if escaped:
            word, escaped = word + character, False
        elif quoted and character == "\\":
            escaped = True
        elif character == '"':
            quoted = not quoted
        elif character in " \t,\n" and not quoted:
            if word:
                yield word
            word = ""
        else:
            word += character


def _normal(path: str) -> str:
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return "" if ".." in parts else "/".join(parts)


def _quoted(path: str) -> str:
    if not any(character in ' \t\n,"\\' for character in path):
        return path
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'
