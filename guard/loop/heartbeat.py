"""Heartbeat: a file that says when the main flow of a run was last seen, in which state, and when that has to be over."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass

NAME = "heartbeat"


@dataclass(frozen=True)
class Beat:
    """`at` and `deadline` are UTC milliseconds; `deadline` is None for a state without one."""

    at: int
    state: str
    deadline: int | None


def write(directory: str, beat: Beat) -> None:
    """Writes it whole. Nothing is synchronised, and no error stops anything: it says nothing that the journal needs."""
    temporary = f"{directory}/{NAME}.tmp"
    with suppress(OSError):
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            os.write(fd, f"{beat.at} {beat.state or '-'} {beat.deadline if beat.deadline is not None else '-'}\n".encode())
        finally:
            os.close(fd)
        os.rename(temporary, f"{directory}/{NAME}")


def read(directory: str) -> Beat | None:
    """The last one; None where there is none, or something else stands there."""
    try:
        with open(f"{directory}/{NAME}", encoding="ascii") as file:
            at, state, deadline = file.read(200).split()
        return Beat(int(at), "" if state == "-" else state, None if deadline == "-" else int(deadline))
    except (OSError, ValueError):
        return None
