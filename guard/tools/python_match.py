"""Patterns of Python's match statement: whether a value surely fits one, surely does not, or it is not known."""

from __future__ import annotations

from guard.effects import Pattern
from guard.tools.python_expressions import compare, evaluate
from guard.tools.python_program import Program, truth
from guard.tools.python_values import Choice, Opaque, known, origins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def fits(program: Program, pattern: Any, value: Any) -> bool | None:
    """True, False, or None; the names of the pattern are bound where it may fit."""
    kind = type(pattern).__name__
    if isinstance(value, Choice):
        found = {fits(program, pattern, each) for each in value.values}
        return found.pop() if len(found) == 1 else None
    if kind == "MatchValue":
        return truth(compare(program, "Eq", value, evaluate(program, pattern.value)))
    if kind == "MatchSingleton":
        return truth(compare(program, "Is", value, pattern.value))
    if kind == "MatchOr":
        tests = [fits(program, each, value) for each in pattern.patterns]
        return True if True in tests else None if None in tests else False
    if kind == "MatchAs":
        result = True if pattern.pattern is None else fits(program, pattern.pattern, value)
        if pattern.name is not None and result is not False:
            program.scope.put(pattern.name, value)
        return result
    if kind == "MatchSequence":
        return _sequence(program, pattern.patterns, value)
    _unknown_names(program, pattern, value)
    return None


def _sequence(program: Program, patterns: list[Any], value: Any) -> bool | None:
    if isinstance(value, Pattern) or not isinstance(value, (list, tuple)):
        for each in patterns:
            _unknown_names(program, each, value)
        return False if isinstance(value, (str, bytes, dict)) or (known(value) and not isinstance(value, range)) else None
    star = next((at for at, each in enumerate(patterns) if type(each).__name__ == "MatchStar"), None)
    if (star is None and len(value) != len(patterns)) or len(value) < len(patterns) - 1:
        return False
    if star is not None:
        tail = len(patterns) - star - 1
        if patterns[star].name is not None:
            program.scope.put(patterns[star].name, list(value[star : len(value) - tail]))
        value = [*value[:star], *value[len(value) - tail :]]
        patterns = [*patterns[:star], *patterns[star + 1 :]]
    tests = [fits(program, each, item) for each, item in zip(patterns, value, strict=True)]
    return False if False in tests else None if None in tests else True


def _unknown_names(program: Program, pattern: Any, value: Any) -> None:
    from guard.tools.python_expressions import nodes

    for node in nodes([pattern]):
        name = getattr(node, "name", None) or getattr(node, "rest", None)
        if isinstance(name, str):
            program.scope.put(name, Opaque(name, origins(value)))
