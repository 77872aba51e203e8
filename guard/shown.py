"""Names and commands as they may be shown: on one line, with nothing in them that a terminal would act upon."""

from __future__ import annotations

import os

from guard.paths import below

_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
_UPS = 2  # how many ".." a shown path may begin with


def visible(text: str) -> str:
    """The text with control, format and undecodable characters made visible as escapes."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _escape(c) for c in text)


def decodable(text: str) -> str:
    """The text with only what UTF-8 cannot hold made visible as escapes; for JSON."""
    return "".join(_escape(c) if "\ud800" <= c <= "\udfff" else c for c in text) if not _clean(text) else text


def short(command: str, limit: int = 100) -> str:
    """A command in backquotes, visible, its middle left out where it is long."""
    text = visible(command.strip())
    if len(text) > limit:
        text = f"{text[: limit * 2 // 3]} … {text[-(limit // 3) :]}"
    return f"`{text}`"


def directory(cwd: str) -> str:
    """A directory with its links resolved, as victims' paths are, where that can be done."""
    try:
        return os.path.realpath(cwd) if cwd else ""
    except (OSError, ValueError):
        return cwd


def place(path: str, cwd: str) -> str:
    """An absolute path as seen from a directory, where that is near."""
    if cwd and below(path, cwd):
        return path[len(cwd) :].lstrip("/") or "."
    if not cwd.startswith("/") or not path.startswith("/"):
        return path
    seen = os.path.relpath(path, cwd)
    return path if seen.count("../") > _UPS or cwd == "/" else seen


def quoted(path: str) -> str:
    """A path for a list in a message: visible, in quotes where it holds a blank."""
    text = visible(path)
    return f"'{text}'" if " " in text or not text else text


def wrapped(line: str, width: int, indent: str = "") -> str:
    """The line broken at blanks so that it fits a width, what follows indented; as it is for 0."""
    if not 0 < width < len(line):
        return line
    import textwrap

    return textwrap.fill(
        line, max(width, 20), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False, replace_whitespace=False
    )


def _escape(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00
    return _ESCAPES.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def _clean(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
