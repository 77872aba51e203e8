"""Entries of the journal: the line that an event becomes, and the event that a line stands for.

A line is one JSON object: the envelope (v, seq, t, run, n, ev), the fields of its kind, and `sum`, which hangs on the line
before it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from guard.loop.events import KINDS, Body, Event
from guard.loop.facts import Count
from guard.loop.moments import milliseconds, moment
from guard.loop.record import Invalid, Record, dump, parse

VERSION = 1
_SUM = ',"sum":"'
_SUM_LENGTH = 16
_TAIL = len(_SUM) + _SUM_LENGTH + len('"}')
_ENVELOPE = ("v", "seq", "t", "run", "n", "ev")
# Field names that Python or the envelope will not have.
_WRITTEN = {
    "breaker": {"before": "from", "after": "to"},
    "gate": {"before": "from", "after": "to"},
    "hold": {"kind": "class"},
    "mode": {"kind": "class"},
    "level": {"kind": "class"},
    "fleet": {"before": "from", "after": "to"},
}
_READ = {name: {there: here for here, there in names.items()} for name, names in _WRITTEN.items()}


class TooNew(Exception):
    """The line was written by a later version of guard."""


def line(event: Event, before: str) -> tuple[str, str]:
    """The event as a line of the journal without its end, and its sum. `before` is the sum of the line before it."""
    renamed = _WRITTEN.get(event.body.name, {})
    fields = {renamed.get(name, name): value for name, value in dump(event.body).items()}
    place = {"v": VERSION, "seq": event.seq, "t": moment(event.t), "run": event.run, "n": event.n, "ev": event.body.name}
    text = json.dumps(place | fields, separators=(",", ":"), allow_nan=False)
    total = chained(before, text)
    return f'{text[:-1]}{_SUM}{total}"}}', total


def chained(before: str, text: str) -> str:
    """The sum of a line, given without sum, after the line whose sum is `before`."""
    return hashlib.sha256((before + text).encode()).hexdigest()[:_SUM_LENGTH]


def stated(text: str) -> str | None:
    """The sum that a line states, right or not."""
    found = text[-_TAIL:]
    total = found[len(_SUM) : -2]
    good = found.startswith(_SUM) and found.endswith('"}') and len(total) == _SUM_LENGTH and set(total) <= set("0123456789abcdef")
    return total if good else None


def read(text: str, before: str | None, kinds: Mapping[str, type[Body]] = KINDS) -> Event:
    """The event of a line (without its end), one of these kinds. `before` is the sum of the line before it.

    Raises Invalid where the sum or the form is wrong, and TooNew for a line of a later version whose sum is right.
    """
    total, plain = stated(text), text[:-_TAIL] + "}"
    if total is None or before is None or chained(before, plain) != total:
        raise Invalid("its checksum does not fit")
    try:
        values = json.loads(plain)
    except (ValueError, RecursionError) as error:
        raise Invalid(f"it is not JSON ({error})") from None
    if not isinstance(values, dict):
        raise Invalid("it is no object")
    if isinstance(values.get("v"), int) and values["v"] > VERSION:
        raise TooNew(values["v"])
    return _event(values, kinds)


def _event(values: dict[str, Any], kinds: Mapping[str, type[Body]]) -> Event:
    missing = [name for name in _ENVELOPE if name not in values]
    if missing:
        raise Invalid(f"it has no {missing[0]}")
    place = {name: values.pop(name) for name in _ENVELOPE}
    kind = kinds.get(place["ev"]) if isinstance(place["ev"], str) else None
    if kind is None or place["v"] != VERSION:
        raise Invalid(f"there is no event {place['ev']!r} in version {place['v']!r}")
    renamed = _READ.get(kind.name, {})
    wrong = values.keys() & set(_WRITTEN.get(kind.name, {}))
    if wrong:
        raise Invalid(f"it has an unknown field {sorted(wrong)[0]}")
    body = parse(kind, {renamed.get(name, name): value for name, value in values.items()})
    where = parse(_Place, {"seq": place["seq"], "run": place["run"], "n": place["n"]})
    return Event(where.seq, milliseconds(place["t"]), where.run, where.n, body)


class _Place(Record, frozen=True):
    seq: Count
    run: str
    n: int | None
