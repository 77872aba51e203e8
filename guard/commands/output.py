"""Lines on a terminal: in colour and bold only there, never with NO_COLOR; no line is broken that somebody may want to copy."""

from __future__ import annotations

import os

from rich.console import Console
from rich.text import Text

STYLES = {
    "allow": "green",
    "ask": "yellow",
    "deny": "red",
    "keep": "cyan",
    "lock": "magenta",
    "present": "blue",
    "dim": "dim",
    "bold": "bold",
}


def say(*pieces: str | tuple[str, str], wrap: bool = False) -> None:
    """Prints one line of texts; a pair is a text and a name from STYLES. `wrap` breaks it at the width of a terminal."""
    line = Text()
    for piece in pieces:
        text, style = (piece, "") if isinstance(piece, str) else piece
        line.append(text, STYLES.get(style, ""))
    console = Console(highlight=False, color_system=None if os.environ.get("NO_COLOR") else "auto")
    console.print(line, soft_wrap=not (wrap and console.is_terminal))
