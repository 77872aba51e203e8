"""GuardError: what went wrong through no fault of guard, said so that a person can act on it."""

from __future__ import annotations

USAGE = 64  # usage or configuration
MISSING = 69  # a program is missing
FAULT = 70  # guard's own fault
STATE = 74  # the state directory cannot be written
BUSY = 75  # another runner has the tree


class GuardError(Exception):
    """An error that a user can cause: what is wrong, where (file and line, path, option), and what to do about it.

    `code` is the exit status that the command ends with.
    """

    def __init__(self, what: str, where: str = "", todo: str = "", code: int = USAGE) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.todo = todo
        self.code = code

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{place}{self.what}; {self.todo}" if self.todo else f"{place}{self.what}"
