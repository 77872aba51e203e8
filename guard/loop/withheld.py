"""Withheld: secrets are taken out of an event before it is written anywhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from guard.loop.credentials import cleaned, present
from guard.loop.events import Body
from guard.loop.record import dump, parse
from guard.redact import HIDDEN, named

_OPTION = re.compile(r"--?[A-Za-z][\w-]*")


def redacted(body: Body, secrets: tuple[str, ...] = ()) -> Body:
    """The body with every secret taken out: what looks like one, and these texts in all their forms, wherever they stand.

    It is the body as it will be read back, with 60.0 for the 60 of a number that may have decimals.
    """
    values = dump(body)
    if not present("\n".join(_texts(values)), secrets) and not any(_follows(words) for words in _lists(values)):
        return parse(type(body), values)
    return parse(type(body), _mapped(values, lambda value: cleaned(value, secrets)))


def _texts(value: Any) -> Iterator[str]:
    """The texts in a value, at any depth."""
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
        yield from _texts(inner)


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {name: _mapped(inner, change) for name, inner in value.items()}  # names are guard's own
    if isinstance(value, list | tuple):
        hidden = _follows(value)
        return [HIDDEN if at in hidden else _mapped(inner, change) for at, inner in enumerate(value)]
    return value


def _lists(value: Any) -> list[list[Any]]:
    """The lists in a value, at any depth."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    found = [each for one in inner for each in _lists(one)]
    return [*found, list(value)] if isinstance(value, list | tuple) else found


def _follows(words: list[Any] | tuple[Any, ...]) -> set[int]:
    """Which words of a command line are the value of an option that names a secret."""
    found = set()
    for at, (option, value) in enumerate(pairwise(words), 1):
        both = isinstance(option, str) and isinstance(value, str) and value != HIDDEN
        if both and _OPTION.fullmatch(option) and named({option.lstrip("-"): value}):
            found.add(at)
    return found
