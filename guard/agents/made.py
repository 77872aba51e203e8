"""What guard has changed, as it is remembered: what a file held before, so that those very bytes can be put back.

It is kept in guard's state, in a file that only the user can read.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from guard.agents import writing
from guard.errors import STATE, GuardError

RECORD = "wiring.json"  # in the state directory
FORMAT = 1


@dataclass(frozen=True)
class Made:
    """A change that has been written: what was there before, the digest of what was put there, the directories made for it."""

    path: str
    real: str
    before: bytes | None
    digest: str
    directories: tuple[str, ...] = ()
    scope: str = ""
    client: str = ""


def remembered(state: str | None) -> list[Made]:
    """The changes that stand in the record, oldest first. Raises GuardError where it cannot be read."""
    if state is None:
        return []
    path = f"{state}/{RECORD}"
    try:
        with open(path, "rb") as file:
            rows = json.loads(file.read())["files"]
        return [_decoded(row) for row in rows]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise GuardError(f"the record of what was changed cannot be read ({error})", path, "move it away", STATE) from error


def remember(state: str | None, made: Sequence[Made]) -> None:
    """Adds changes to the record. Of a file that is in it already, what was there first counts, as long as only guard has
    written it; `made` says what stands there where somebody else has. Raises GuardError."""
    if state is None or not made:
        return
    known = {each.real: each for each in remembered(state)}
    for each in made:
        old = known.get(each.real)
        if old is not None and digest(each.before) == old.digest:
            each = replace(each, before=old.before, directories=old.directories or each.directories)
        known[each.real] = each
    store(state, known.values())


def forget(state: str | None, real: Iterable[str]) -> None:
    """Takes files out of the record."""
    gone = set(real)
    if state is not None and gone:
        store(state, [each for each in remembered(state) if each.real not in gone])


def untouched(made: Made, now: bytes | None) -> bool:
    """Is a file still as guard has written it?"""
    return digest(now) == made.digest


def digest(data: bytes | None) -> str:
    """The digest of a content; "" where there is none."""
    return "" if data is None else hashlib.blake2b(data, digest_size=16).hexdigest()


def store(state: str, made: Iterable[Made]) -> None:
    """Writes the whole record; none is left of nothing. Raises GuardError."""
    rows = [_encoded(each) for each in made]
    path = f"{state}/{RECORD}"
    try:
        if not rows:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            return
        os.makedirs(state, 0o700, exist_ok=True)
        writing.put(path, json.dumps({"v": FORMAT, "files": rows}, indent=1).encode() + b"\n", 0o600)
    except OSError as error:
        raise GuardError(f"what was changed cannot be recorded ({error.strerror})", path, "make it writable", STATE) from error


def _encoded(made: Made) -> dict[str, Any]:
    before = None if made.before is None else base64.b64encode(made.before).decode()
    return {**made.__dict__, "before": before, "directories": list(made.directories)}


def _decoded(row: dict[str, Any]) -> Made:
    before = None if row["before"] is None else base64.b64decode(row["before"], validate=True)
    directories = tuple(map(str, row["directories"]))
    return Made(
        str(row["path"]), str(row["real"]), before, str(row["digest"]), directories, str(row["scope"]), str(row["client"])
    )
