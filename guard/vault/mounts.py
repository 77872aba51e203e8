"""File systems: where they are mounted, and how coarse the times of their files are."""

from __future__ import annotations

import os
import re

FINE, COARSE = 20_000_000, 2_000_000_000  # ns
# File systems of this machine whose times come from the kernel's own clock. Whatever else there is counts as coarse.
_LOCAL = {"ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "ramfs", "zfs", "f2fs", "bcachefs", "apfs", "hfs"}


class Mounts:
    """What is mounted now. Empty where the system does not tell."""

    def __init__(self) -> None:
        self._points: set[str] = set()
        self._types: dict[int, str] = {}
        try:
            with open("/proc/self/mountinfo", "rb") as file:
                lines = file.read().splitlines()
        except OSError:
            lines = []
        for line in lines:
            before, _, after = os.fsdecode(line).partition(" - ")
            fields = before.split(" ")
            major, _, minor = fields[2].partition(":")
            self._points.add(_plain(fields[4]))
            self._types[os.makedev(int(major), int(minor))] = after.split(" ")[0]

    def at(self, path: str) -> bool:
        """Is something mounted on this very path?"""
        return path in self._points

    def grain(self, path: str) -> int:
        """By how much (ns) the times of files below `path` may be off."""
        try:
            device = os.stat(path).st_dev
        except (OSError, ValueError):
            return COARSE
        return FINE if self._types.get(device) in _LOCAL else COARSE


def read_only(path: str) -> bool:
    """Does the file system refuse all writing here? Permissions have no part in this."""
    try:
        return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except (OSError, ValueError):
        return False


def _plain(field: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), field)
