"""Job: what a service runs, whatever the service manager is called."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from guard.errors import GuardError

# How a run ends when nothing is to start it again; guard.supervise.runners has the same.
DOCUMENTED = (0, 1, 2, 3, 4, 64, 69, 70, 74, 75, 129, 130, 143)
SIGNALLED = (129, 130, 143)  # of these, the ends by a signal: somebody wanted them
RESTART_S, ALIVE_S, START_S, STOP_S = 5, 60, 180, 90
# What an agent needs of the environment; never anything that may be a secret.
VARIABLES = ("PATH", "LANG", "LC_ALL", "GUARD_STATE_DIR", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


@dataclass(frozen=True)
class Job:
    """A service: its name, its command line, the directory it runs in, and the environment on top of the manager's own."""

    name: str
    argv: tuple[str, ...]
    directory: str
    environ: Mapping[str, str] = field(default_factory=dict)


def job(name: str, argv: tuple[str, ...], directory: str, environ: Mapping[str, str]) -> Job:
    """The job with these parts. Raises GuardError for what no file of a service manager can say."""
    if not _NAME.fullmatch(name):
        raise GuardError(f"{name!r} is no name", "--name", "take letters, digits, - _ and ., at most 100, not - or . first")
    kept = {key: environ[key] for key in VARIABLES if environ.get(key)}
    for text in (*argv, directory, *kept.values()):
        if any(ord(each) < 32 or 0xD800 <= ord(each) < 0xE000 or ord(each) == 127 for each in text):
            raise GuardError(f"{text!r} has characters that a service cannot have", todo="use a file or a path without them")
    return Job(name, argv, directory, kept)
