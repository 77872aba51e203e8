"""How git reads the options of its subcommands: abbreviations, "--no-" before each long name, and "--" before the paths."""

from __future__ import annotations

from guard.tools.options import Options, Table, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NamedTuple

    from guard.effects import Text
else:
    from guard.record import NamedTuple


def table(long: str, flags: str = "", values: str = "", optional: str = "") -> Table:
    """A command's options. `long` lists its long names; "=" behind one means that it needs a value, "?" that it may have one
    attached, and "/x" that the letter x means the same. A line may end behind a hyphen of a name."""
    kinds: dict[str, str] = {}
    same: dict[str, str] = {}
    for word in "".join(line if line.endswith("-") else line + " " for line in map(str.strip, long.splitlines())).split():
        name, slash, letter = word.partition("/")
        kind = name[-1] if name[-1] in "=?" else ""
        kinds[name.rstrip("=?")] = kind
        if slash:
            same[name.rstrip("=?")] = letter
    return Table(flags, values, optional, kinds, same)


class Given(NamedTuple):
    """The options, the operands in front of "--" (all without one), and those behind it (None without one)."""

    options: Options
    before: tuple[Text, ...]
    after: tuple[Text, ...] | None

    def on(self, *names: str) -> bool:
        """True when one of the options is given and not taken back by its "--no-" form."""
        return any(self.options.last(name, f"no-{name}") == name for name in names)

    def off(self, name: str) -> bool:
        """True when the "--no-" form of the option was given last."""
        return self.options.last(name, f"no-{name}") == f"no-{name}"

    def value(self, *names: str) -> Text | None:
        """The last value of the options, None where they are not given or taken back."""
        return self.options.value(*names) if self.on(*names) else None

    @property
    def operands(self) -> tuple[Text, ...]:
        """All operands."""
        return self.before + (self.after or ())


def read(args: Iterable[Text], table: Table) -> Given:
    """Reads the arguments behind the subcommand."""
    words = list(args)
    full = _with_negations(table)
    cut = _dashes(words, full)
    options = parse(words if cut is None else words[:cut], full)
    before = tuple(word for word in options.operands if word != "--end-of-options")
    return Given(options, before, None if cut is None else tuple(words[cut + 1 :]))


def _with_negations(table: Table) -> Table:
    names = [name for name in table.long if not name.startswith("no-")]
    long = {**{f"no-{name}": "" for name in names}, **table.long}
    same = {**{f"no-{name}": f"no-{table.same.get(name, name)}" for name in names}, **table.same}
    return table._replace(long=long, same=same)


def _dashes(words: list[Text], table: Table) -> int | None:
    """Where "--" stands, unless it is the value of the option in front of it."""
    for at, word in enumerate(words):
        if word == "--" and not (at and _takes_value(words[at - 1], table)):
            return at
    return None


def _takes_value(word: Text, table: Table) -> bool:
    if not isinstance(word, str) or len(word) < 2 or word[0] != "-":
        return False
    if word.startswith("--"):
        return table.long.get(word[2:]) == "="
    return word[-1] in table.values and not any(letter in table.values for letter in word[1:-1])
