"""Stamps: numbers that change whenever a file is written to, by what lstat says of it. They hold within one process."""

from __future__ import annotations

import os
from array import array
from functools import partial
from operator import attrgetter

NOWHERE = 0  # the stamp of what is not there
_fields = attrgetter("st_mode", "st_size", "st_mtime_ns", "st_ctime_ns", "st_dev", "st_ino")


def of(found: os.stat_result) -> int:
    """The stamp of what lstat has found."""
    return hash(_fields(found))


def stamps(directory: int, paths: list[str]) -> array[int]:
    """The stamp of each path relative to an open directory."""
    lstat = partial(os.lstat, dir_fd=directory)
    try:
        return array("q", map(hash, map(_fields, map(lstat, paths))))
    except (OSError, ValueError):
        return array("q", [_one(directory, path) for path in paths])


def stamp(path: str) -> int:
    """The stamp of one path."""
    try:
        return of(os.lstat(path))
    except (OSError, ValueError):
        return NOWHERE


def _one(directory: int, path: str) -> int:
    try:
        return of(os.lstat(path, dir_fd=directory))
    except (OSError, ValueError):
        return NOWHERE
