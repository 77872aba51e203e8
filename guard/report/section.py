"""Section: a table of a report, whatever it is written in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Section:
    """A table. `numbers` are the columns that hold numbers; `empty` stands where there is no row.

    `short`: it is narrow, and may stand beside another one.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()
    note: str = ""
    empty: str = "none"
    short: bool = False
