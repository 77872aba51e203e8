"""Typed values of configuration files: a reader for each kind, that checks one value and says where it stands if it is wrong."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from guard import globs as patterns
from guard import toml_lines
from guard.errors import GuardError


@dataclass(frozen=True)
class Where:
    """A place in a configuration file, for errors."""

    path: str
    lines: Mapping[toml_lines.Path, int] = field(default_factory=dict)
    keys: toml_lines.Path = ()

    def at(self, *keys: str | int) -> Where:
        """The place of something inside."""
        return Where(self.path, self.lines, (*self.keys, *keys))

    @property
    def line(self) -> int:
        """The line, 0 where it is not known."""
        keys = self.keys
        while keys and keys not in self.lines:
            keys = keys[:-1]
        return self.lines.get(keys, 0)

    def error(self, what: str, todo: str = "") -> GuardError:
        """The error that something is wrong here."""
        return GuardError(what, f"{self.path}:{self.line}" if self.line else self.path, todo)

    @property
    def key(self) -> str:
        """The last key, as a person would name it."""
        return next((str(key) for key in reversed(self.keys) if isinstance(key, str)), "")


@dataclass(frozen=True)
class Glob:
    """A checked glob and its line."""

    text: str
    line: int


Read = Callable[[object, Where], object]


def text(value: object, where: Where) -> str:
    """A text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        raise where.error(f'"{where.key}" has to be a text that is not empty')
    return value


def boolean(value: object, where: Where) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise where.error(f'"{where.key}" has to be true or false')
    return value


def count(value: object, where: Where) -> int:
    """A whole number of at least 1."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise where.error(f'"{where.key}" has to be a whole number of at least 1')
    return value


def date(value: object, where: Where) -> str:
    """A day, as text."""
    if isinstance(value, datetime.datetime) or not isinstance(value, datetime.date):
        raise where.error(f'"{where.key}" has to be a date without quotes, such as 2027-01-31')
    return value.isoformat()


def until(value: object, where: Where) -> str:
    """ "true", "false", or the last day."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.datetime) or not isinstance(value, datetime.date):
        raise where.error(f'"{where.key}" has to be true, false or the last day, such as 2027-01-31')
    return value.isoformat()


def globs(value: object, where: Where) -> tuple[Glob, ...]:
    """Patterns as .gitignore has them, below the file that they stand in."""
    if not isinstance(value, list):
        raise where.error(f'"{where.key}" has to be a list of patterns', 'write it as ["..."]')
    return tuple(_glob(item, where.at(index)) for index, item in enumerate(value))


def _glob(value: object, where: Where) -> Glob:
    if not isinstance(value, str):
        raise where.error(f'"{where.key}" has to hold texts only')
    if error := patterns.check(value):
        raise where.error(f"bad pattern {value!r}: {error}")
    directory = where.path.rpartition("/")[0]
    if directory and value.removeprefix("!").startswith(directory + "/"):
        raise where.error(
            f"bad pattern {value!r}: patterns are relative to this file", f"write {value.replace(directory, '', 1)!r}"
        )
    return Glob(value, where.line)


def names(value: object, where: Where) -> tuple[str, ...]:
    """A list of texts."""
    if not isinstance(value, list):
        raise where.error(f'"{where.key}" has to be a list of names', 'write it as ["..."]')
    return tuple(text(item, where.at(index)).strip() for index, item in enumerate(value))


def texts(value: object, where: Where) -> str | tuple[str, ...]:
    """One text or a list of them."""
    return text(value, where) if isinstance(value, str) else names(value, where)


def number(value: object, where: Where) -> int:
    """A whole number, 0 for none."""
    return 0 if value == 0 and not isinstance(value, bool) else count(value, where)


def amount(value: object, where: Where) -> float:
    """A number that is not negative."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise where.error(f'"{where.key}" has to be a number, 0 or more')
    return float(value)


def percent(value: object, where: Where) -> int:
    """A share of hundred, from 1."""
    found = count(value, where)
    if found > 100:
        raise where.error(f'"{where.key}" is in percent: it has to be from 1 to 100')
    return found


def score(value: object, where: Where) -> float:
    """A mean of scores from 1 to 5."""
    found = amount(value, where)
    if not 1 <= found <= 5:
        raise where.error(f'"{where.key}" is a mean of scores: it has to be from 1 to 5')
    return found


def price(value: object, where: Where) -> float:
    """An amount of money, from 0.01."""
    found = amount(value, where)
    if found < 0.01:
        raise where.error(f'"{where.key}" has to be at least 0.01')
    return found


def server(value: object, where: Where) -> str:
    """The address of a Redis."""
    found = text(value, where)
    if not re.fullmatch(r"rediss?://\S+|unix://\S+", found):
        raise where.error(f'"{where.key}" has to be an address that begins with redis://, rediss:// or unix://')
    return found


def choice(*values: str) -> Read:
    """One of these texts."""

    def read(value: object, where: Where) -> str:
        if not isinstance(value, str) or value not in values:
            near = nearest(value, values) if isinstance(value, str) else ""
            raise where.error(f'"{where.key}" has to be {" or ".join(f"{v!r}" for v in values)}', near)
        return value

    return read


def address(value: object, where: Where) -> str:
    """The address of a webhook: encrypted, or on this machine."""
    found = text(value, where)
    if not re.fullmatch(r"https://[^\s/]\S*|http://(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?(?:/\S*)?", found):
        raise where.error(f'"{where.key}" has to be an address that begins with https://', "http:// is for this machine only")
    return found


def nearest(key: str, keys: Iterable[str]) -> str:
    """What a mistyped key was likely meant to be, as advice; "" where nothing is near."""
    near = get_close_matches(key.lower(), list(keys), 1, 0.6)
    return f'did you mean "{near[0]}"?' if near else ""
