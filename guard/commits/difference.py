"""The difference of two trees, as git writes it raw: each path with both modes and both objects."""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from guard.record import NamedTuple

ADDED, DELETED, MODIFIED, RETYPED = "A", "D", "M", "T"
# Renames are not looked for: a file that is renamed away is gone, and finding renames may fetch objects.
RAW = ("--raw", "-z", "--no-abbrev", "--no-renames", "--ignore-submodules=none", "--no-ext-diff")
MODULE = stat.S_IFLNK | stat.S_IFDIR  # a submodule's commit in the place of a directory


class Difference(NamedTuple):
    """One path (relative to the top) that two trees do not agree on; modes as git has them, 0 for nothing there."""

    status: str
    path: str
    old_mode: int
    new_mode: int
    old: str
    new: str


def parsed(output: bytes) -> list[Difference]:
    """The records of `git diff --raw -z`: each is two fields, what changed and the path. Raises ValueError for anything else."""
    fields = os.fsdecode(output).split("\0")
    if fields.pop().strip("\n") or len(fields) % 2:
        raise ValueError("git diff --raw has not come to its end")
    modes: dict[str, int] = {}
    return [_record(head, path, modes) for head, path in zip(fields[::2], fields[1::2], strict=True)]


def _record(head: str, path: str, modes: dict[str, int]) -> Difference:
    if not head.startswith(":"):
        raise ValueError(f"not a record of git diff --raw: {head[:80]!r}")
    old_mode, new_mode, old, new, status = head.split(" ")
    for mode in (old_mode, new_mode):
        if mode not in modes:
            modes[mode] = int(mode.removeprefix(":"), 8)
    return Difference(status[0], path, modes[old_mode], modes[new_mode], old, new)


def is_link(mode: int) -> bool:
    """Is it a symbolic link?"""
    return stat.S_IFMT(mode) == stat.S_IFLNK


def is_file(mode: int) -> bool:
    """Is it a regular file?"""
    return stat.S_IFMT(mode) == stat.S_IFREG


def is_module(mode: int) -> bool:
    """Is it a submodule?"""
    return stat.S_IFMT(mode) == MODULE
