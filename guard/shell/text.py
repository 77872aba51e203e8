"""Operations on texts that are known only in part."""

from __future__ import annotations

from guard.effects import Hole, Pattern, Text, join

SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./=:,@%+^")


def encode(text: Text) -> bytes | None:
    """The bytes of a text, None where it has a hole."""
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else None


def decode(data: bytes) -> str:
    """Bytes as text that encode() turns back."""
    return data.decode("utf-8", "surrogateescape")


def without_final_newlines(text: Text) -> Text:
    """What a command substitution makes of an output."""
    if isinstance(text, str):
        return text.rstrip("\n")
    last = text.pieces[-1]
    return join(Pattern(text.pieces[:-1]), last.rstrip("\n")) if isinstance(last, str) else text


def split(text: Text, separators: str, keep_empty: bool = False) -> list[Text]:
    """The parts of a text between separator characters; a hole never splits. Without `keep_empty`, runs count as one."""
    parts: list[Text] = [""]
    for piece in (text,) if isinstance(text, str) else text.pieces:
        if isinstance(piece, Hole):
            parts[-1] = join(parts[-1], Pattern((piece,)))
            continue
        start = 0
        for at, character in enumerate(piece):
            if character in separators:
                parts[-1] = join(parts[-1], piece[start:at])
                parts.append("")
                start = at + 1
        parts[-1] = join(parts[-1], piece[start:])
    return parts if keep_empty else [part for part in parts if part != ""]


def lines(text: Text) -> list[Text]:
    """The lines of a text without their newlines; a text that ends in one has no empty last line."""
    found = split(text, "\n", keep_empty=True)
    return found[:-1] if found[-1] == "" else found


def quote(text: Text) -> str:
    """The text as one word of a command line, for people to read; a hole as it was written, else as three dots."""
    if isinstance(text, Pattern):
        return "".join(p if isinstance(p, str) else p.what if p.what.startswith(("$", "`", "<")) else "…" for p in text.pieces)
    if text and all(c in SAFE for c in text):
        return text
    return "'" + text.replace("'", "'\\''") + "'"


def command_line(argv: tuple[Text, ...], limit: int = 200) -> str:
    """An argument vector as a line to read, cut at `limit` characters."""
    words = []
    length = 0
    for word in argv:
        words.append(quote(word))
        length += len(words[-1]) + 1
        if length > limit:
            break
    line = " ".join(words)
    return line if len(line) <= limit else line[: limit - 1] + "…"
