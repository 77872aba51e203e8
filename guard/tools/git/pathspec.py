"""Pathspecs: which paths of a repository the operands of a git command name."""

from __future__ import annotations

from guard import expressions as re
from guard.effects import Hole, Pattern
from guard.tools.git.wildmatch import matcher, special

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import NamedTuple

    from guard.effects import Text
else:
    from guard.record import NamedTuple

_SHORT = {"/": "top", "!": "exclude", "^": "exclude"}
EXACT, RECURSIVE, WILD = "exact", "recursive", "wild"


class Defaults(NamedTuple):
    """What --literal-pathspecs and its kin, or their environment variables, say for all pathspecs."""

    literal: bool = False
    glob: bool = False
    noglob: bool = False
    icase: bool = False


class Item(NamedTuple):
    """One pathspec: the text relative to the top directory, and how it is compared. `hole` is set where it is not fully known."""

    path: str
    wild: Callable[[str], bool] | None
    exclude: bool
    fold: bool
    hole: Hole | None
    directory: bool  # written with a slash at its end

    def match(self, path: str) -> str | None:
        """EXACT, RECURSIVE (below the named directory) or WILD, None where the path is not meant."""
        if self.hole is None:
            mine, theirs = (self.path.lower(), path.lower()) if self.fold else (self.path, path)
            if mine == "" or theirs.startswith(mine + "/"):
                return RECURSIVE
            if mine == theirs and not self.directory:
                return EXACT
        return WILD if self.wild is not None and self.wild(path) else None


class Pathspec(NamedTuple):
    """The pathspecs of one command. Without any, everything is meant."""

    items: tuple[Item, ...] = ()
    outside: bool = False  # one of them leads out of the repository, or is empty: git refuses

    def match(self, path: str) -> bool:
        """True when the command means the path (relative to the top directory)."""
        found = self.items == () or any(item.match(path) for item in self.items if not item.exclude)
        return found and not any(item.match(path) for item in self.items if item.exclude and item.hole is None)

    def sure(self, path: str) -> bool:
        """False when only a pathspec that is not fully known matches."""
        positive = [item for item in self.items if not item.exclude]
        known = not positive or any(item.hole is None and item.match(path) for item in positive)
        return known and not any(item.match(path) for item in self.items if item.exclude)

    def unmatched(self, paths: Iterable[str]) -> list[Item]:
        """The pathspecs that name none of the paths."""
        left = [item for item in self.items if not item.exclude]
        for path in paths:
            if not left:
                break
            left = [item for item in left if not item.match(path)]
        return [item for item in left if item.hole is None]

    @property
    def hole(self) -> Hole | None:
        """Something in the pathspecs that is not known."""
        return next((item.hole for item in self.items if item.hole is not None), None)


def pathspec(operands: Iterable[Text], prefix: str, top: str, defaults: Defaults) -> Pathspec:
    """The operands, as given in the directory `prefix` (relative to `top`, "" for it)."""
    items = []
    outside = False
    for operand in operands:
        item = _item(operand, prefix, top, defaults) if operand != "" else None
        if item is None:
            outside = True
        else:
            items.append(item)
    if items and all(item.exclude for item in items):
        items.append(Item(prefix, None, False, False, None, False))
    return Pathspec(tuple(items), outside)


def _item(operand: Text, prefix: str, top: str, defaults: Defaults) -> Item | None:
    if isinstance(operand, Pattern):
        return _unknown(operand, prefix)
    magic, text = ({"literal"}, operand) if defaults.literal else _magic(operand)
    if not defaults.literal:
        magic |= {name for name in ("glob", "noglob", "icase") if getattr(defaults, name)}
    path = normal(text, "" if "top" in magic else prefix, top)
    if path is None:
        return None
    literal = "literal" in magic or ("noglob" in magic and "glob" not in magic)
    fold = "icase" in magic
    wild = matcher(path, "glob" in magic, fold) if not literal and special(path) else None
    hole = Hole("unknown-argument", operand) if "attr" in magic else None
    return Item(path, wild, "exclude" in magic, fold, hole, text.endswith("/") and path != "")


def _magic(text: str) -> tuple[set[str], str]:
    """The words of a pathspec's magic, and the rest."""
    if text.startswith(":("):
        words, closed, rest = text[2:].partition(")")
        if closed:
            return {word.partition(":")[0].strip() for word in words.split(",")}, rest
    elif text.startswith(":"):
        at = 1
        magic = set()
        while at < len(text) and text[at] in _SHORT:
            magic.add(_SHORT[text[at]])
            at += 1
        return magic, text[at + 1 :] if text[at : at + 1] == ":" else text[at:]
    return set(), text


def normal(text: str, prefix: str, top: str) -> str | None:
    """The path relative to the top directory, None where it leads out of it. A trailing slash is dropped."""
    if text.startswith("/"):
        base: list[str] = []
        whole = _joined(base, text)
        inside = top.strip("/").split("/") if top != "/" else []
        return None if whole is None or whole[: len(inside)] != inside else "/".join(whole[len(inside) :])
    parts = _joined(prefix.split("/") if prefix else [], text)
    return None if parts is None else "/".join(parts)


def _joined(base: list[str], text: str) -> list[str] | None:
    parts = list(base)
    for part in text.split("/"):
        if part in ("", "."):
            continue
        if part != "..":
            parts.append(part)
        elif parts:
            parts.pop()
        else:
            return None
    return parts


def _unknown(operand: Pattern, prefix: str) -> Item:
    """A pathspec with a hole: anything that it could name, and all below."""
    text = "".join("\0" if isinstance(piece, Hole) else piece for piece in operand.pieces)
    if text.startswith(("\0", "/", ":")) or ".." in text:
        where = ".*" + re.escape(text.rpartition("\0")[2].rstrip("/"))
    else:
        where = re.escape((prefix + "/" if prefix else "") + text.removeprefix("./")).replace("\0", ".*")
    match = re.compile(where.replace("\\\0", ".*").replace("\0", ".*") + "(?:/.*)?", re.DOTALL).fullmatch
    return Item(text, lambda path: match(path) is not None, False, False, operand.holes[0], False)
