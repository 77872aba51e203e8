"""What Codex says of its hooks itself: whether it has been told to trust each of them as it is now.

`codex app-server` answers that on standard input and output, a JSON object a line. Measured with Codex 0.171.0.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from typing import IO, Any

from guard.agents.table import CLIENTS

PATIENCE = 5.0  # seconds for the answer
TRUSTED, MODIFIED, UNTRUSTED, DISABLED = "trusted", "modified", "untrusted", "disabled"
_ASKED = 2  # the number of our question
_LINES = 1000  # of its output, at most, until the answer
_LINE = 8 << 20  # bytes


def statuses(environ: Mapping[str, str], cwd: str) -> dict[str, str] | None:
    """What Codex thinks of each hook that it knows of for a directory, by the hook's key (FILE:EVENT:GROUP:HOOK).

    None where there is no Codex, or none that answers in time. Its directory has to be there: it would make one.
    """
    path = environ.get("PATH", os.defpath)
    program = next((found for name in CLIENTS["codex"].programs if (found := shutil.which(name, path=path))), None)
    if program is None:
        return None
    try:
        return _listed(_answer(program, environ, cwd))
    except (OSError, ValueError, subprocess.SubprocessError, RecursionError):
        return None


def _answer(program: str, environ: Mapping[str, str], cwd: str) -> dict[str, Any]:
    """The result of our question. Raises ValueError where there is none."""
    with subprocess.Popen(
        [program, "app-server"],
        env=dict(environ),
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        timer = threading.Timer(PATIENCE, _end, (process,))
        timer.start()
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            for line in _questions(cwd):
                process.stdin.write(line)
                process.stdin.flush()
            return _found(process.stdout)
        finally:
            timer.cancel()
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends it with all that it has started: Codex's program is a launcher."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _questions(cwd: str) -> Iterator[bytes]:
    us = {"clientInfo": {"name": "guard", "title": "guard", "version": "1"}}
    hooks = {"cwds": [cwd]}
    for said in (
        {"id": 1, "method": "initialize", "params": us},
        {"method": "initialized"},
        {"id": _ASKED, "method": "hooks/list", "params": hooks},
    ):
        yield json.dumps(said).encode() + b"\n"


def _found(output: IO[bytes]) -> dict[str, Any]:
    for _ in range(_LINES):
        line = output.readline(_LINE)
        if not line:
            break
        said = json.loads(line)
        if isinstance(said, dict) and said.get("id") == _ASKED and isinstance(said.get("result"), dict):
            return dict(said["result"])
    raise ValueError("no answer")


def _listed(result: Mapping[str, Any]) -> dict[str, str] | None:
    found: dict[str, str] = {}
    try:
        for place in result["data"]:
            for hook in place["hooks"]:
                found[str(hook["key"])] = DISABLED if hook.get("enabled") is False else str(hook["trustStatus"])
    except (KeyError, TypeError, AttributeError):
        return None
    return found
