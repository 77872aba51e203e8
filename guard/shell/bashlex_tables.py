"""The grammar of bash as bashlex has it, as the tables of an LALR parser.

The tables are made by bashlex's own generator and ship with the package, because making them takes sixty milliseconds and
loading them one. Where the shipped file is missing or damaged they are made again from the bashlex that is installed.
Only the grammar is taken: bashlex's tokens and trees lose commands (in here-documents, elif clauses, quoted words).
"""

from __future__ import annotations

import marshal
import os
import zlib
from sys import intern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NamedTuple
else:
    from guard.record import NamedTuple

BASHLEX = "0.18"
FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bashlex_tables.bin")
_HEADER = f"guard tables 1 bashlex {BASHLEX} ".encode()


class Tables(NamedTuple):
    """For each state: the steps by terminal (a state to shift to, or minus a production), the production to reduce where
    no terminal is listed (0: an error), and the states to go to by nonterminal.

    A production is its left side, the length of its right side, the name of the function that builds its value, and whether
    its last terminal is to be read again.
    """

    steps: tuple[dict[str, int], ...]
    defaults: tuple[int, ...]
    gotos: tuple[dict[str, int], ...]
    productions: tuple[tuple[str, int, str, bool], ...]


def load() -> Tables:
    """The tables. Raises ImportError where neither the file nor the right bashlex is there."""
    try:
        with open(FILE, "rb") as file:
            return unpack(file.read())
    except (OSError, ValueError, EOFError, TypeError):
        return build()


def pack(tables: Tables) -> bytes:
    """The tables as the file has them: data only, in a format that every Python reads."""
    payload = marshal.dumps(tuple(tables), 2)
    return _HEADER + b"%08x\n" % zlib.crc32(payload) + payload


def unpack(data: bytes) -> Tables:
    """The tables of a file; ValueError where it is not whole, or for another grammar."""
    header, _, payload = data.partition(b"\n")
    if header != _HEADER + b"%08x" % zlib.crc32(payload):
        raise ValueError("the tables of the shell's grammar are damaged")
    return Tables(*marshal.loads(payload))


def build() -> Tables:
    """The tables, made from the bashlex that is installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        if version("bashlex") != BASHLEX:
            raise ImportError(f"the shell's grammar is that of bashlex {BASHLEX}, and {version('bashlex')} is installed")
    except PackageNotFoundError:
        raise ImportError("bashlex is not installed") from None
    from bashlex import parser, yacc  # type: ignore[import-untyped]

    made = yacc.yacc(module=parser, write_tables=False, errorlog=yacc.NullLogger())
    return _compact(made)


def _compact(made: Any) -> Tables:
    """The generator's tables, with states numbered in the order of their discovery and default reductions as bison has them.

    A default reduction may be taken before an error is seen, but nothing wrong is ever shifted.
    """
    order = _discovered(made)
    number = {state: index for index, state in enumerate(order)}
    steps, defaults, gotos = [], [], []
    for state in order:
        row = {terminal: step for terminal, step in sorted(made.action[state].items()) if step and terminal != "error"}
        reductions = [step for step in row.values() if step < 0]
        default = max(sorted(set(reductions)), key=reductions.count) if reductions else 0
        steps.append({intern(name): number[step] if step > 0 else step for name, step in row.items() if step != default})
        defaults.append(-default)
        gotos.append({intern(name): number[target] for name, target in sorted(made.goto.get(state, {}).items())})
    return Tables(tuple(steps), tuple(defaults), tuple(gotos), tuple(map(_production, made.productions)))


def _discovered(made: Any) -> list[int]:
    order = [0]
    for state in order:
        targets = {**{name: step for name, step in made.action[state].items() if step and step > 0}, **made.goto.get(state, {})}
        order += dict.fromkeys(target for _, target in sorted(targets.items()) if target not in order)
    return order


def _production(production: Any) -> tuple[str, int, str, bool]:
    right = str(production).partition("->")[2].split()
    unread = production.name == "pipeline_command" and right[-1] == "list_terminator"
    return intern(production.name), production.len, intern((production.func or "").removeprefix("p_")), unread
