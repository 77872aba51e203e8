"""What git commands read besides the repository: lists of paths, and answers to their questions."""

from __future__ import annotations

from guard.effects import Pattern, unknown
from guard.tools.answers import MANY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.effects import Text
    from guard.tools.git.work import Work

_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def listed(work: Work, name: Text, nul: bool) -> tuple[Text, ...] | None:
    """The paths in a file (or in standard input, for "-"), one a line or ended by NUL; None where there is no file.

    A list that is not known is one path that is not known.
    """
    text: Text | None
    if name == "-":
        text = work.call.stdin
        if text is None:
            return ()
    elif isinstance(name, Pattern):
        text = name
    else:
        if not work.call.exists(name):
            return None
        data = work.call.read(name)
        text = unknown("unknown-input", name) if data is None else data.decode("utf-8", "surrogateescape")
    if isinstance(text, Pattern):
        return (Pattern((text.holes[0],)),)
    lines = text.split("\0") if nul else [unquoted(line.removesuffix("\r")) for line in text.split("\n")]
    return tuple(line for line in lines if line)


def unquoted(line: str) -> str:
    """A path that git may have put in double quotes, without them."""
    if len(line) < 2 or line[0] != '"' or line[-1] != '"':
        return line
    found = bytearray()
    inner = line[1:-1]
    at = 0
    while at < len(inner):
        c = inner[at]
        if c == "\\" and inner[at + 1 : at + 4].isdigit() and len(inner) >= at + 4:
            found.append(int(inner[at + 1 : at + 4], 8) & 255)
            at += 4
            continue
        if c == "\\" and at + 1 < len(inner):
            at += 1
            c = _ESCAPES.get(inner[at], inner[at])
        found += c.encode("utf-8", "surrogateescape")
        at += 1
    return found.decode("utf-8", "surrogateescape")


def answered(work: Work) -> bool:
    """True when something on standard input may say yes to a question."""
    stdin = work.call.stdin
    if stdin is None:
        return False
    lines = (stdin.prefix if isinstance(stdin, Pattern) else stdin).splitlines()
    if isinstance(stdin, Pattern) and (len(lines) < MANY or len(set(lines)) > 1):
        return True
    return any(line[:1] in ("y", "a", "Y", "A", "1", "c", "2", "3") for line in lines)


def quoted(path: str) -> str:
    """A path as git prints it without -z: in double quotes, with octal escapes, where it has anything unusual."""
    data = path.encode("utf-8", "surrogateescape")
    if all(32 <= byte < 127 and byte not in b'"\\' for byte in data):
        return path
    names = {ord(char): letter for letter, char in _ESCAPES.items()} | {34: '"', 92: "\\"}
    parts = []
    for byte in data:
        if byte in names:
            parts.append("\\" + names[byte])
        else:
            parts.append(chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}")
    return '"' + "".join(parts) + '"'
