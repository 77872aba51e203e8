"""`python -m guard.testing --clock FILE -- ARGUMENT...`: the command line of guard with time from a file, for tests.

The file holds seconds since 1970, decimal; it is read whenever the time is needed, and a sleep writes what it would be
afterwards. It needs a state directory of its own (GUARD_STATE_DIR): what was begun with one clock is refused with the other,
so that nothing shortens a real wait.
"""

from __future__ import annotations

import os
import sys
import time
from decimal import Decimal, InvalidOperation

import click

from guard import cli
from guard.errors import USAGE, GuardError
from guard.loop import clock

CALL = "python -m guard.testing --clock FILE -- ARGUMENT..."


class FileClock:
    """Time from a file."""

    kind = "test"
    step_s = 60.0

    def __init__(self, path: str) -> None:
        self._path = path
        self._start = self.now()

    def now(self) -> int:
        """UTC milliseconds since 1970. Raises GuardError where the file does not hold a time."""
        try:
            with open(self._path, encoding="ascii") as file:
                return int(Decimal(file.read(100).strip()) * 1000)
        except (OSError, ValueError, InvalidOperation, OverflowError) as error:
            raise GuardError("it does not hold seconds since 1970", self._path, "write a number into it") from error

    def elapsed(self) -> float:
        """Seconds that have passed, those that the file was moved by and those of the machine."""
        return (self.now() - self._start) / 1000 + time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Moves the file's time on, and returns."""
        after = Decimal(self.now()) / 1000 + Decimal(str(max(0.0, seconds)))
        temporary = f"{self._path}.{os.getpid()}"
        with open(temporary, "w", encoding="ascii") as file:
            file.write(f"{after}\n")
        os.rename(temporary, self._path)


def main(arguments: list[str]) -> int:
    """Runs the command line with the file's time; gives its exit status."""
    if len(arguments) < 4 or arguments[0] != "--clock" or arguments[2] != "--":
        click.echo(f"guard: call it as {CALL}", err=True)
        return USAGE
    if not os.environ.get("GUARD_STATE_DIR"):
        click.echo("guard: time from a file needs a state directory of its own; set GUARD_STATE_DIR", err=True)
        return USAGE
    try:
        clock.install(FileClock(os.path.abspath(arguments[1])))
    except GuardError as error:
        click.echo(f"guard: {error}", err=True)
        return error.code
    return cli.main(arguments[3:])


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
