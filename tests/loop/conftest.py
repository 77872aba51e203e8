"""What holds after every test that goes through a rig: the journal alone gives the status that was shown."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from guard.loop import detectors, entries, journal
from guard.loop.events import Base, Event
from guard.loop.files import STATUS
from guard.loop.record import dump, replace
from guard.loop.status import status
from guard.loop.store import Store, place
from tests.loop import rig

MOST = 10  # rigs of one test that are looked at
SHARED = "/dev/shm"  # where files cost little
TABLE = detectors.TABLE


@pytest.fixture(autouse=True)
def replayed() -> Iterator[None]:
    """Replays the events of each rig of a test from a journal without any other file."""
    rig.made.clear()
    yield
    found, rig.made[:] = rig.made[:MOST], []
    for one in found:
        if one.store is None and one.events and one.table is TABLE:
            is_replayed(one)


def is_replayed(one: rig.Rig) -> None:
    """Asserts that the status after a start from the journal alone is the one that the rig ended with."""
    with tempfile.TemporaryDirectory(dir=SHARED if os.access(SHARED, os.W_OK) else None) as state:
        directory = place(state, "/r")
        os.makedirs(directory)
        with open(f"{directory}/{journal.NAME}", "w") as file:
            total = ""
            for event in _numbered(one):
                text, total = entries.line(event, total)
                file.write(text + "\n")
        with Store.open(state, "/r", one.t):
            shown = json.loads(Path(directory, STATUS).read_text())
    assert shown == json.loads(json.dumps(status(one.state)))


def _numbered(one: rig.Rig) -> Iterator[Event]:
    """The rig's events behind the base that a file of the journal begins with."""
    yield Event(one.first.seq + 1, one.events[0].t, "", None, Base(one.first.loop, one.first.clock, dump(one.first)))
    for event in one.events:
        yield replace(event, seq=event.seq + 1)
