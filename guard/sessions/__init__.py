"""The session logs that agents' clients keep themselves: what an agent ran and changed, where and when. Only ever read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from guard.sessions import claude, codex, gemini
from guard.sessions.call import Call

__all__ = ["CLIENTS", "Call", "Log", "Reading", "client_of", "logs", "read"]

LINE_LIMIT = 64 << 20  # bytes of a line, or of a log that is one document; what is longer is skipped and counted
SNIFFED = 20  # lines of a file that are looked at to tell whose it is


@dataclass(frozen=True)
class Client:
    """One client's logs: `folders` of the environment that hold them, `globs` in there, `marks` that a line with
    something of interest has one of (none: any line), `calls` from records to calls."""

    folders: Callable[[Mapping[str, str]], list[str]]
    globs: tuple[str, ...]
    marks: tuple[bytes, ...]
    calls: Callable[[Iterable[Any], str], Iterator[Call]]
    owns: Callable[[Any], bool]


CLIENTS = {
    "claude": Client(claude.folders, claude.GLOBS, claude.MARKS, claude.calls, claude.owns),
    "codex": Client(codex.folders, codex.GLOBS, codex.MARKS, codex.calls, codex.owns),
    "gemini": Client(gemini.folders, gemini.GLOBS, gemini.MARKS, gemini.calls, gemini.owns),
}


@dataclass(frozen=True)
class Log:
    """One session log: its file, whose it is, when it was last written (seconds since 1970)."""

    path: str
    client: str
    time: float


@dataclass
class Reading:
    """What reading came to besides calls: lines that are damaged, files that cannot be read."""

    damaged: int = 0
    unreadable: dict[str, str] = field(default_factory=dict)


def logs(environ: Mapping[str, str], clients: Iterable[str] = tuple(CLIENTS)) -> list[Log]:
    """The logs of these clients where they keep them, newest first."""
    found: dict[str, Log] = {}
    for client in clients:
        for folder in CLIENTS[client].folders(environ):
            for glob in CLIENTS[client].globs:
                for path in _matching(folder, glob):
                    found.setdefault(path, Log(path, client, _time(path)))
    return sorted(found.values(), key=lambda log: (-log.time, log.path))


def client_of(path: str) -> str | None:
    """Whose log a file is, by what its first records look like; None where that cannot be told. Raises OSError."""
    records = [record for record, _ in zip(_records(path, (), Reading()), range(SNIFFED), strict=False)]
    return next((name for name, client in CLIENTS.items() if any(map(client.owns, records))), None)


def read(log: Log, reading: Reading) -> Iterator[Call]:
    """The calls that a log has of shells and of tools that change files, in its order.

    What is damaged is skipped and counted in `reading`.
    """
    client = CLIENTS[log.client]
    try:
        yield from client.calls(_records(log.path, client.marks, reading), log.path)
    except OSError as error:
        reading.unreadable[log.path] = error.strerror or type(error).__name__


def _matching(folder: str, glob: str) -> list[str]:
    try:
        return [str(path) for path in Path(folder).glob(glob) if path.is_file()]
    except (OSError, ValueError):
        return []


def _time(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _records(path: str, marks: tuple[bytes, ...], reading: Reading) -> Iterator[Any]:
    """The JSON values of a file: one document, or one a line. Lines without any of the marks are passed over."""
    with open(path, "rb") as file:
        if path.endswith(".json"):
            yield from _values([file.read(LINE_LIMIT + 1)], (), reading)
        else:
            yield from _values(_lines(file, reading), marks, reading)


def _lines(file: Any, reading: Reading) -> Iterator[bytes]:
    while line := file.readline(LINE_LIMIT):
        if len(line) < LINE_LIMIT or line.endswith(b"\n"):
            yield line
            continue
        reading.damaged += 1
        while (rest := file.readline(LINE_LIMIT)) and not rest.endswith(b"\n"):
            pass


def _values(lines: Iterable[bytes], marks: tuple[bytes, ...], reading: Reading) -> Iterator[Any]:
    for line in lines:
        if not line.strip() or (marks and not any(mark in line for mark in marks)):
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            reading.damaged += 1
            continue
        yield value
