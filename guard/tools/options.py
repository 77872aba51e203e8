"""getopt_long as the GNU tools use it: short clusters, values attached or behind, abbreviated long options, "--"."""

from __future__ import annotations

from guard.effects import Pattern, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import NamedTuple
else:
    from guard.record import NamedTuple


_NONE: Mapping[str, str] = {}


class Table(NamedTuple):
    """A tool's options. `flags` and `values` are short letters without and with a value, `optional` those whose value must be
    attached; `long` maps a long name to "" (a flag), "=" (needs a value) or "?" (a value only after "=").
    `same` maps a long name to the letter that means the same. `permute` is False where the first operand ends the options.
    """

    flags: str = ""
    values: str = ""
    optional: str = ""
    long: Mapping[str, str] = _NONE
    same: Mapping[str, str] = _NONE
    permute: bool = True


class Options(NamedTuple):
    """What was found: (name, value) in order, the operands, and what the table does not know."""

    given: tuple[tuple[str, Text], ...]
    operands: tuple[Text, ...]
    strange: tuple[str, ...]

    def has(self, *names: str) -> bool:
        """True when any of the options was given, by canonical name (the letter, where `same` names one)."""
        return any(name in names for name, _ in self.given)

    def value(self, *names: str) -> Text | None:
        """The last value of any of the options; "" for an optional one without; None where not given."""
        return next((value for name, value in reversed(self.given) if name in names), None)

    def values(self, *names: str) -> tuple[Text, ...]:
        """All values of the options, in order."""
        return tuple(value for name, value in self.given if name in names)

    def last(self, *names: str) -> str | None:
        """Which of the options was given last."""
        return next((name for name, _ in reversed(self.given) if name in names), None)


def parse(args: Iterable[Text], table: Table) -> Options:
    """Reads the arguments behind the tool's name. A word with a hole at its start counts as an operand."""
    rest = list(args)[::-1]
    given: list[tuple[str, Text]] = []
    operands: list[Text] = []
    strange: list[str] = []
    while rest:
        word = rest.pop()
        start = word if isinstance(word, str) else word.prefix
        if start == "--" and isinstance(word, str):
            break
        if not start.startswith("-") or word == "-":
            operands.append(word)
            if not table.permute:
                break
        elif start.startswith("--"):
            _long(word, rest, table, given, strange)
        else:
            _short(word, rest, table, given, strange)
    operands += rest[::-1]
    return Options(tuple(given), tuple(operands), tuple(strange))


def _long(word: Text, rest: list[Text], table: Table, given: list[tuple[str, Text]], strange: list[str]) -> None:
    start = word if isinstance(word, str) else word.prefix
    typed, equals, value = start[2:].partition("=")
    names = [typed] if typed in table.long else [name for name in table.long if name.startswith(typed)]
    meanings = {table.same.get(name, name) for name in names}
    if len(meanings) != 1:
        strange.append(str(word))
        return
    kind, name = table.long[names[0]], meanings.pop()
    if equals:
        given.append((name, _tail(word, len(start) - len(value))))
    elif kind == "=" and rest:
        given.append((name, rest.pop()))
    else:
        given.append((name, ""))


def _short(word: Text, rest: list[Text], table: Table, given: list[tuple[str, Text]], strange: list[str]) -> None:
    start = word if isinstance(word, str) else word.prefix
    for at in range(1, len(start)):
        letter = start[at]
        attached = _tail(word, at + 1)
        if letter in table.values:
            given.append((letter, attached if attached != "" else rest.pop() if rest else ""))
            return
        if letter in table.optional:
            given.append((letter, attached))
            return
        if letter in table.flags:
            given.append((letter, ""))
        else:
            strange.append(f"-{letter}")
    if isinstance(word, Pattern):
        strange.append(str(word))


def _tail(word: Text, at: int) -> Text:
    """The word from a position within its known beginning."""
    if isinstance(word, str):
        return word[at:]
    pieces = (word.prefix[at:], *word.pieces[1:])
    return Pattern(tuple(piece for piece in pieces if piece != ""))
