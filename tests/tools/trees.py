"""A small tree with the names that break models: links, hidden files, spaces, newlines, dashes, bytes that are no text."""

from __future__ import annotations

import os
from pathlib import Path

NEWLINE, LATIN = "new\nline", os.fsdecode(b"caf\xe9")


def plant(top: Path) -> Path:
    """Two trees that share names, links of all sorts around them, files with awkward names."""
    files = {
        "a": "alpha\n", "b": "beta\n", "notes.md": "notes\n", ".hidden": "h\n", "-dash": "dash\n", "sp ace": "space\n",
        NEWLINE: "newline\n", LATIN: "latin\n", "d/f": "df\n", "d/e/g": "deg\n", "d/a": "da\n", "d/.h": "dh\n",
        "s/f": "s file\n", "s/e/g": "s e g\n", "s/x": "sx\n", "s/.h": "sh\n", "old/f": "oldf\n", "clash/d": "a file named d\n",
        "deep/d/x": "ddx\n", "b~": "older b\n", "twin": "one file, two names\n",
    }  # fmt: skip
    for name, text in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (top / "empty").mkdir()
    (top / "void" / "f").mkdir(parents=True)
    for name, to in {
        "l": "d",
        "lf": "d/f",
        "dang": "nope",
        "loop": "loop",
        "s/la": "../a",
        "d/ls": "../s",
        "labs": str(top / "s"),
    }.items():
        (top / name).symlink_to(to)
    os.link(top / "twin", top / "hard")
    for name in ("old/f", "d/a"):
        os.utime(top / name, (1_000_000_000, 1_000_000_000))
    return top
