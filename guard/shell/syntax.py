"""Shell text into the trees of nodes.py: an LALR parser over the grammar that bashlex has of bash."""

from __future__ import annotations

from guard.shell.bashlex_tables import load
from guard.shell.nodes import If, Parsed, Pipeline, Sequence, Simple
from guard.shell.productions import FUNCTIONS, Right
from guard.shell.scanner import PARSER, SYNTAX, TOO_DEEP, TOO_LONG, Scanner, Unparsable
from guard.shell.tokens import Token, tokens
from guard.world import OutOfBudget

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from guard.world import Budget

    Production = tuple[str, int, Callable[[Right], Any], bool]

SIZE_LIMIT = 1 << 20  # characters


def parse(text: str, budget: Budget | None = None) -> Parsed:
    """The tree of a command text.

    Never raises but OutOfBudget, from the budget. `error` is "syntax" (bash rejects the text), "too-deep", "too-long", or
    "parser" (a fault of ours); `body` then has the commands of the lines before, which bash runs.
    A list is flat: the "&" behind b in `a && b &` ends both.
    """
    if len(text) > SIZE_LIMIT:
        return Parsed(Sequence(()), TOO_LONG)
    if _PARSER is None:
        return Parsed(Sequence(()), PARSER)
    if "\0" in text:
        return parse(text.replace("\0", ""), budget)._replace(error=SYNTAX)  # some shells stop here, some go on
    return _PARSER.parse(text, budget.spend if budget else None)


class _Parser:
    """The tables, with the functions that build the values of their productions."""

    def __init__(self) -> None:
        steps, defaults, gotos, productions = load()
        self._states = tuple(zip(steps, defaults, gotos, strict=True))
        self._productions: list[Production] = [
            (left, length, FUNCTIONS[function], unread) for left, length, function, unread in productions
        ]

    def parse(self, text: str, spend: Callable[[int], None] | None = None) -> Parsed:
        """See the function of this name."""
        items: list[Any] = []
        error: str | None = None
        try:
            scanner = Scanner(text, spend=spend)
            found, error = tokens(scanner)
            at = 0
            while at < len(found):
                unit, at = self._unit(scanner.text, found, at)
                items += unit.items if isinstance(unit, Sequence) else ()
        except OutOfBudget:
            raise
        except Unparsable as fault:
            error = error or fault.code
        except (RecursionError, MemoryError):
            error = TOO_DEEP
        except Exception:
            error = PARSER  # whatever went wrong, the text is not harmless for it
        return Parsed(Sequence(tuple(items)), error)

    def _unit(self, source: str, found: list[Token], at: int) -> tuple[Any, int]:
        """The value of what bash reads before it runs anything, mostly a line, and where the next one begins."""
        states = [0]
        values: list[Any] = []
        while True:
            row, default, _ = self._states[states[-1]]
            step = default and -default
            if row:
                if at >= len(found):
                    raise Unparsable(SYNTAX)
                step = row.get(found[at].kind, step)
            if step > 0:
                states.append(step)
                values.append(found[at])
                at += 1
                continue
            if not step:
                raise Unparsable(SYNTAX)
            left, length, function, unread = self._productions[-step]
            right = values[len(values) - length :]
            del values[len(values) - length :], states[len(states) - length :]
            if left == "inputunit":
                return right[0], at
            values.append(function(Right(source, right)))
            states.append(self._states[states[-1]][2][left])
            at -= unread


def _checked() -> _Parser | None:
    """The parser, if a command that touches its sore points comes out right; an installation may be damaged."""
    try:
        parser = _Parser()
        found = parser.parse("if a; then cat <<E | b; elif c; then :; fi\nx\nE\n! time d")
        first, second = (command for command, _ in found.body.items)
    except Exception:
        return None
    clauses = len(first.clauses) if isinstance(first, If) else 0
    timed = isinstance(second, Pipeline) and second.negated and isinstance(second.commands[0], Simple)
    return parser if clauses == 2 and timed and found.error is None else None


_PARSER = _checked()
