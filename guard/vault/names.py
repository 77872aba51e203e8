"""Names in the vault: of a project's directory, of a snapshot, of a file that is being written."""

from __future__ import annotations

import os
import time

from guard.paths import name as last_name
from guard.vault.digest import sha256

MANIFEST, PACK = ".manifest", ".pack"
TEMPORARY = "tmp-"  # the beginning of the name of a file that is being written
ASIDE = "aside"  # the reason of a manifest that keeps what stood in the way of a restoration
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def identity(root: str) -> str:
    """The name of a project's directory in the state directory: its own name, and a digest of the path that it is at."""
    plain = "".join(letter if letter in _PLAIN else "_" for letter in last_name(root))[:40] or "root"
    return f"{plain}-{sha256(os.fsencode(root)).hexdigest()[:12]}"


def new_name(now: float) -> str:
    """A name for a snapshot: names sort by time."""
    moment = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now))
    return f"{moment}-{int(now * 1000) % 1000:03d}{token(2)}"


def token(size: int) -> str:
    """Random hexadecimal digits, two for each of `size` bytes."""
    return os.urandom(size).hex()
