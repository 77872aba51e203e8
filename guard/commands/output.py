"""Lines on a terminal: colours only there, never with NO_COLOR, and no line broken that somebody may want to copy."""

from __future__ import annotations

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


def say(*pieces: str | tuple[str, str]) -> None:
    """Prints one line of texts; a pair is a text and a name from STYLES."""
    line = Text()
    for piece in pieces:
        text, style = (piece, "") if isinstance(piece, str) else piece
        line.append(text, STYLES.get(style, ""))
    Console(highlight=False).print(line, soft_wrap=True)
