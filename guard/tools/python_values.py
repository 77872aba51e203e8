"""The values that a Python program works with, as far as they can be known without running it.

What is known is the value itself (str, bytes, int, list ...); a str known in part is a Pattern; the rest are the classes here.
"""

from __future__ import annotations

from guard.effects import Pattern, Text, join, unknown
from guard.tools.process import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

CHOICES = 16  # possible values of one name that are kept apart
SIZE = 1 << 20  # characters or items; a larger value counts as not known


class Opaque:
    """A value that nobody can know. `source` is how the program writes it; `origins` are the known texts, and the paths of
    files, that it was made from."""

    __slots__ = ("origins", "source")

    def __init__(self, source: str = "", origins: frozenset[Any] = frozenset()) -> None:
        self.source = source
        self.origins = origins


class Choice:
    """One of several values, as a condition decides that cannot be told."""

    __slots__ = ("values",)

    def __init__(self, values: list[Any]) -> None:
        self.values = values


class Path:
    """A pathlib path, or an entry of a directory that os.scandir gives."""

    __slots__ = ("entry", "text")

    def __init__(self, text: Text, entry: bool = False) -> None:
        self.text = text
        self.entry = entry


class File:
    """An open file: what has been written so far, None once that is not known, and where reading and writing go on."""

    __slots__ = ("closed", "content", "derived", "encoded", "fixed", "mode", "path", "place", "written")

    def __init__(self, path: Text, mode: str, content: bytes | None) -> None:
        self.path = path
        self.mode = mode
        self.content = content
        self.place = 0
        self.closed = False
        self.written = False
        self.derived = False  # an unknown content was made from the old one
        self.fixed = False  # what has been written is on record
        self.encoded = "b" not in mode

    @property
    def writes(self) -> bool:
        """True when it was opened for writing."""
        return any(letter in self.mode for letter in "wax+")


class Named:
    """A module, or something in one, by its full dotted name: `os.path.join`."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class Bound:
    """A method of a value."""

    __slots__ = ("name", "value")

    def __init__(self, value: Any, name: str) -> None:
        self.value = value
        self.name = name


class Function:
    """A function of the program, with the scope that it was defined in; `owner` is the instance that a method belongs to."""

    __slots__ = ("body", "defaults", "node", "owner", "scope")

    def __init__(self, node: Any, scope: Scope, defaults: dict[str, Any], owner: Any = None) -> None:
        self.node = node
        self.scope = scope
        self.defaults = defaults
        self.owner = owner


class Class:
    """A class of the program: its names, and the bases that are also of the program."""

    __slots__ = ("bases", "names")

    def __init__(self, names: dict[str, Any], bases: list[Class]) -> None:
        self.names = names
        self.bases = bases

    def find(self, name: str) -> Any:
        """An attribute of the class or its bases, None without."""
        if name in self.names:
            return self.names[name]
        return next((found for base in self.bases if (found := base.find(name)) is not None), None)


class Instance:
    """An object with attributes: of a class of the program, or (`kind` None) a result such as subprocess.run gives."""

    __slots__ = ("attributes", "kind")

    def __init__(self, kind: Class | None, attributes: dict[str, Any]) -> None:
        self.kind = kind
        self.attributes = attributes


class Scope:
    """Names and their values, in a function or a module; `outer` is where the rest is looked up."""

    __slots__ = ("names", "outer", "shared")

    def __init__(self, outer: Scope | None = None) -> None:
        self.names: dict[str, Any] = {}
        self.outer = outer
        self.shared: dict[str, Scope] = {}  # names that `global` and `nonlocal` put elsewhere

    def find(self, name: str) -> Scope | None:
        """The scope that has the name."""
        scope: Scope | None = self
        while scope is not None and name not in scope.names:
            scope = scope.outer
        return scope

    def put(self, name: str, value: Any) -> None:
        """Binds a name here, or where it was declared to belong."""
        self.shared.get(name, self).names[name] = value


class Moment(float):
    """A time that depends on when the program runs, in seconds; an hour more or less cannot be told apart."""

    UNSURE = 3_600.0


class Followed(list):  # type: ignore[type-arg]
    """Items whose loop does something by itself: goes on into directories, or changes which file print writes to."""

    def enter(self, program: Any, at: int) -> bool:
        """Called before the round for an item; False when the loop does not come to it."""
        return True

    def leave(self, program: Any, at: int) -> None:
        """Called after the round for an item."""

    def end(self, program: Any) -> None:
        """Called behind the loop."""


class Raised(Exception):
    """The program raises here."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


class Exit(Exception):
    """The program ends here."""

    def __init__(self, status: int | None) -> None:
        super().__init__(status)
        self.status = status


class TooMuch(Exception):
    """The program is too large to be followed to its end."""


OPAQUE_TYPES = (Opaque, Choice, Pattern, File, Named, Bound, Function, Class, Instance)


def known(value: Any, depth: int = 4) -> bool:
    """True for a plain value of which everything is known."""
    if isinstance(value, Pattern):
        return False
    if isinstance(value, (list, tuple, set, frozenset)):
        return depth > 0 and all(known(item, depth - 1) for item in value)
    if isinstance(value, dict):
        return depth > 0 and all(known(k, depth - 1) and known(v, depth - 1) for k, v in value.items())
    if isinstance(value, Moment):
        return False
    return value is None or value is Ellipsis or isinstance(value, (str, bytes, bytearray, int, float, complex, range))


def text(value: Any, source: str = "") -> Text:
    """A value as the file name, or argument, that it stands for."""
    if isinstance(value, (str, Pattern)):
        return value
    if isinstance(value, Path):
        return value.text
    if isinstance(value, (bytes, bytearray)):
        return decode(bytes(value))
    if isinstance(value, File):
        return value.path
    if isinstance(value, Instance) and isinstance(value.attributes.get("name"), (str, Pattern)):
        name: Text = value.attributes["name"]
        return name
    return unknown("unknown-argument", (value.source if isinstance(value, Opaque) else "") or source or "a value")


def shown(value: Any) -> Text:
    """A value as str() and print() show it."""
    if isinstance(value, (str, Pattern)):
        return value
    if isinstance(value, Path) and not value.entry:
        return value.text
    if known(value) and not isinstance(value, range):
        return str(value) if not isinstance(value, int) or abs(value) < 1 << 1000 else unknown("unknown-output", "a number")
    return text(value) if isinstance(value, Opaque) else unknown("unknown-output", "a value")


def choice(values: Iterable[Any]) -> Any:
    """One of the values: the value itself where all are the same."""
    kept: list[Any] = []
    for value in values:
        for item in value.values if isinstance(value, Choice) else [value]:
            if not any(same(item, other) for other in kept):
                kept.append(item)
    if len(kept) == 1:
        return kept[0]
    return Choice(kept) if 0 < len(kept) <= CHOICES else Opaque("", origins(*kept))


def same(one: Any, other: Any) -> bool:
    """True when two values surely are the same."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, Path):
        return same(one.text, other.text)
    try:
        return (isinstance(one, Pattern) or known(one)) and bool(one == other)
    except RecursionError:
        return False


def origins(*values: Any) -> frozenset[Any]:
    """What unknown values were made from: the texts that have been read, and the paths of the files."""
    found: set[Any] = set()
    for value in values:
        if isinstance(value, Opaque):
            found |= value.origins
        elif isinstance(value, str) and len(value) > 1:
            found.add(value)
        elif isinstance(value, bytes) and len(value) > 1:
            found.add(decode(value))
        elif isinstance(value, File) and value.mode[:1] == "r":
            found |= {value.path, decode(value.content or b"")} - {""}
        elif isinstance(value, (list, tuple, Choice)) and not isinstance(value, Pattern):
            found |= origins(*(value.values if isinstance(value, Choice) else value)[:200])
        elif isinstance(value, dict):
            found |= origins(*list(value.values())[:200])
    return frozenset(list(found)[:400]) if len(found) > 400 else frozenset(found)


def joined(*parts: Any) -> Any:
    """Strings one behind the other."""
    result = join(*(shown(part) for part in parts))
    return result if not isinstance(result, str) or len(result) <= SIZE else Opaque("", origins(*parts))
