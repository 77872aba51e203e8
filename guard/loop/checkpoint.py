"""The checkpoint: the state as of one event, so that a start need not read the whole journal. It and its copies are derived.

<directory>/state.json                    written whole: temporary, synchronised, renamed
<directory>/backups/state.<time>.json     the ones before, ten of them
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from guard.loop.journal import Place, replace_file
from guard.loop.moments import moment
from guard.loop.record import Invalid, dump, parse
from guard.loop.state import State

NAME = "state.json"
BACKUPS = "backups"
KEPT = 10
VERSION = 1
Lists = dict[str, list[dict[str, Any]]]
_SUM = ',"sum":"'


@dataclass(frozen=True)
class Checkpoint:
    """A state, the place in the journal that it stands for, and how far the derived files had been written (bytes).

    `lists` is what the files beside Ralph's prompt show of events that no state keeps.
    """

    state: State
    place: Place
    sizes: dict[str, int]
    lists: Lists


def write(directory: str, point: Checkpoint, t: int) -> None:
    """Writes the checkpoint and keeps the one before. Raises OSError; then the one before is still there."""
    path, backups = f"{directory}/{NAME}", f"{directory}/{BACKUPS}"
    os.makedirs(backups, 0o700, exist_ok=True)
    with suppress(FileNotFoundError, FileExistsError):
        os.link(path, f"{backups}/state.{moment(t).replace(':', '')}.{point.place.seq:012d}.json")
    replace_file(path, dumped(point))
    for old in sorted(os.listdir(backups))[:-KEPT]:
        with suppress(OSError):
            os.unlink(f"{backups}/{old}")


def dumped(point: Checkpoint) -> bytes:
    """The checkpoint as bytes, with a sum over them."""
    place = point.place
    values: dict[str, Any] = {"v": VERSION, "first": place.first, "offset": place.offset, "seq": place.seq, "chain": place.sum}
    values |= {"sizes": point.sizes, "lists": point.lists, "state": dump(point.state)}
    text = json.dumps(values, separators=(",", ":"), allow_nan=False)
    return f'{text[:-1]}{_SUM}{_sum(text)}"}}\n'.encode()


def loaded(data: bytes) -> Checkpoint:
    """The checkpoint that bytes stand for. Raises Invalid."""
    try:
        text = data.decode("ascii")
        at = text.rindex(_SUM)
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Invalid(f"it cannot be read ({error})") from None
    if values.get("sum") != _sum(text[:at] + "}") or values.get("v") != VERSION:
        raise Invalid("its checksum or version does not fit")
    try:
        place = Place(values["first"], values["offset"], values["seq"], values["chain"])
        return Checkpoint(parse(State, values["state"]), place, dict(values["sizes"]), dict(values["lists"]))
    except (KeyError, TypeError) as error:
        raise Invalid(f"it is not whole ({error})") from None


def candidates(directory: str) -> list[str]:
    """The checkpoint and its copies that are there, newest first."""
    try:
        old = sorted(os.listdir(f"{directory}/{BACKUPS}"), reverse=True)
    except OSError:
        old = []
    newest = [f"{directory}/{NAME}"] if os.path.lexists(f"{directory}/{NAME}") else []
    return newest + [f"{directory}/{BACKUPS}/{name}" for name in old]


def newest(directory: str) -> tuple[Checkpoint | None, list[str]]:
    """The newest checkpoint that is good, and the paths of newer ones that are not."""
    bad: list[str] = []
    for path in candidates(directory):
        try:
            with open(path, "rb") as file:
                return loaded(file.read()), bad
        except (OSError, Invalid):
            bad.append(path)
    return None, bad


def _sum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
