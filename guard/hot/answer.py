"""What a hot entry says and how: plain writes, so that no closed or full stream changes a status."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ALLOWED, DENIED, ASKED = 0, 1, 3
USAGE, FAULT, INTERRUPTED = 64, 70, 130
EXIT = {"allow": ALLOWED, "deny": DENIED, "ask": ASKED}

OUT, ERROR = 1, 2


def write(descriptor: int, text: str) -> None:
    """Writes all of it, as far as that is possible."""
    data = text.encode("utf-8", "surrogateescape")
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    except OSError:
        pass


def verdict(decision: str, text: str, fields: dict[str, Any] | None) -> int:
    """Writes the text to standard error and the fields, where there are any, to standard output; gives the exit status."""
    if fields is not None:
        import json

        write(OUT, json.dumps(fields) + "\n")
    write(ERROR, text)
    return EXIT[decision]


def unrecorded(command: str, cwd: str, decision: str, code: str, reason: str) -> dict[str, Any]:
    """The fields of an answer that no analysis stands behind, so that no record of it is kept either."""
    return {
        "v": 1,
        "id": None,
        "decision": decision,
        "code": code,
        "command": command,
        "cwd": cwd,
        "effects": [],
        "total": 0,
        "reason": reason,
        "suggestion": None,
    }


def complaint(text: str, code: int = USAGE) -> int:
    """Writes what the caller did wrong; gives the exit status."""
    write(ERROR, f"guard: {text}\n")
    return code


def failure(error: BaseException) -> int:
    """Writes what went wrong; gives the exit status. A GuardError is the user's to mend, everything else guard's own fault."""
    from guard.errors import GuardError

    if isinstance(error, GuardError):
        return complaint(str(error), error.code)
    if os.environ.get("GUARD_DEBUG"):
        sys.excepthook(type(error), error, error.__traceback__)
    return complaint(
        f"failed ({type(error).__name__}). This is guard's own fault and says nothing about the command, which must not be "
        "taken as allowed. Nothing was run. GUARD_DEBUG=1 shows where.",
        FAULT,
    )
