"""The state directory: can decisions be logged and copies be kept?"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator

from guard.findings import FINE, NOTE, Finding
from guard.health.place import Place
from guard.project import SPOOL
from guard.shown import visible

LITTLE = 200 << 20  # bytes of free space below which copies will soon not fit
LOST = "nothing is logged, there are no copies to restore from, and guard exec does not run"
ELSEWHERE = "export GUARD_STATE_DIR=/a/directory/that/can/be/written"


def findings(at: Place) -> Iterator[Finding]:
    """What can be said of the state directory."""
    if at.state is None:
        yield Finding("state-none", "there is no directory to keep guard's state in", LOST, ELSEWHERE)
        return
    shown = visible(at.state)
    if not os.path.isdir(at.state):
        yield Finding("state-new", f"{shown} is made when it is first needed", severity=FINE)
        return
    problem = _problem(at.state)
    if problem and os.path.isdir(f"{at.state}/{SPOOL}") and not _problem(f"{at.state}/{SPOOL}"):
        yield Finding("state-spool", f"{shown} cannot be written from in here; its spool can", severity=FINE)
    elif problem:
        yield Finding("state-unwritable", f"{shown} cannot be written ({problem})", LOST, ELSEWHERE)
    else:
        yield from _written(at.state, shown)


def _written(state: str, shown: str) -> Iterator[Finding]:
    found = os.stat(state)
    if found.st_mode & 0o022:
        why = "another user of this machine may change what guard knows"
        yield Finding("state-open", f"{shown} can be written by others", why, f"chmod go-w {shown}", NOTE)
    free = _free(state)
    if free < LITTLE:
        what = f"{free >> 20} MiB are free where {shown} stands"
        yield Finding("state-full", what, "copies of protected files may not fit", "guard vault gc", NOTE)
    yield Finding("state-fine", f"{shown} can be written", severity=FINE)


def _problem(directory: str) -> str:
    """Why nothing can be written in a directory, found out with a file without a name of its own; "" for nothing."""
    try:
        with tempfile.TemporaryFile(dir=directory) as file:
            file.write(b"x")
    except OSError as error:
        return error.strerror or type(error).__name__
    return ""


def _free(directory: str) -> int:
    found = os.statvfs(directory)
    return found.f_bavail * found.f_frsize
