"""History: the calls that loops have kept in their own journals, as entries of the ledger."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from typing import Any

from guard.fleet.ledger import DAY_MS, MILLIONTHS, ORDINARY, Entry
from guard.loop import journal, lock
from guard.loop.identity import LOOPS
from guard.loop.moments import milliseconds
from guard.loop.record import Invalid

TAIL = 1 << 20  # bytes of a journal in which the last calls stand
_KINDS = (b'"ev":"call_reserved"', b'"ev":"call_ended"', b'"ev":"budget"')


def call_id(loop: str, run: str, call: int) -> str:
    """The name of a call in the ledger."""
    return f"{loop}:{run}:{call}"


def entries(directory: str, loop: str, since: int, whole: bool = False) -> list[Entry]:
    """A loop's calls since a moment, with what they spent: of its journal's last megabyte, or of the `whole` of it."""
    found: dict[str, Entry] = {}
    pool = ORDINARY
    for values in _events(directory, since, whole):
        if values["ev"] == "budget":
            pool = str(values.get("pool", ORDINARY))
            continue
        name = call_id(loop, str(values["run"]), int(values["call"]))
        t = milliseconds(values["t"])
        if values["ev"] == "call_reserved":
            found[name] = Entry(name, loop, t, pool=pool)
        elif name in found:
            tokens, cost = _spent(values)
            found[name] = found[name]._replace(tokens=tokens, cost=cost)
    return [entry for entry in found.values() if entry.t >= since]


def machine(state_dir: str, now: int) -> list[Entry]:
    """The calls of a day of all loops of a state directory, for a ledger that is made anew.

    Each loop that is at work may have reserved a call that its journal does not have yet: one more is counted for it.
    """
    found: list[Entry] = []
    folder = f"{state_dir}/{LOOPS}"
    for loop in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        found += entries(f"{folder}/{loop}", loop, now - DAY_MS - DAY_MS // 24, whole=True)
        if lock.owner(f"{folder}/{loop}") is not None:
            found.append(Entry(f"{loop}:unknown:{now}", loop, now))
    return found


def _events(directory: str, since: int, whole: bool) -> Iterator[dict[str, Any]]:
    """The events of calls and budgets, oldest first. Lines that cannot be read are left out."""
    files = journal.files(directory)
    for path in files if whole else files[-1:]:
        try:
            if whole and os.stat(path).st_mtime * 1000 < since:
                continue
            with open(path, "rb") as file:
                if not whole:
                    file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL))
                yield from _parsed(file)
        except OSError:
            continue


def _parsed(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    for line in lines:
        if not any(kind in line for kind in _KINDS):
            continue
        try:
            values = json.loads(line)
            if values["ev"] != "budget":
                milliseconds(values["t"]), str(values["run"]), int(values["call"])
            yield values
        except (ValueError, KeyError, TypeError, Invalid):
            continue


def _spent(values: dict[str, Any]) -> tuple[int, int]:
    """Tokens that count, and millionths of a US dollar, of a call that ended."""
    tokens, cost = values.get("tokens"), values.get("cost_usd", 0)
    kinds = ("in", "out", "cache_write")
    counted = sum(int(tokens.get(kind, 0)) for kind in kinds) if isinstance(tokens, dict) else 0
    return counted, round(float(cost) * MILLIONTHS) if isinstance(cost, int | float) else 0
