"""Runs a question to git and gives its answer: no shell, no input, no descriptors of ours, its own process group, limited."""

from __future__ import annotations

import os
import select
import signal
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

OUTPUT_LIMIT = 4 << 20  # bytes
_CHUNK = 1 << 16
_SIGNALS = (signal.SIGPIPE, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def ask(argv: list[str], cwd: str, env: Mapping[str, str], timeout: float) -> tuple[int, bytes] | None:
    """The exit status and standard output of git (argv[0], an absolute path) run in `cwd`.

    None where it cannot be started, is not done after `timeout` seconds, or writes more than OUTPUT_LIMIT bytes.
    """
    try:
        reader, writer = os.pipe2(os.O_CLOEXEC)
    except OSError:
        return None
    try:
        child = _start(argv, cwd, env, writer)
    except (OSError, ValueError):
        os.close(reader)
        return None
    finally:
        os.close(writer)
    output = None
    try:
        output = _collect(reader, time.monotonic() + timeout)
    finally:
        os.close(reader)
        status = _end(child, kill=output is None)
    return None if output is None else (status, output)


def _start(argv: list[str], cwd: str, env: Mapping[str, str], writer: int) -> int:
    """posix_spawn knows no working directory, git's own option -C does."""
    actions: list[tuple[int, ...] | tuple[int, int, str, int, int]] = [
        (os.POSIX_SPAWN_DUP2, writer, 1),
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    actions += [(os.POSIX_SPAWN_CLOSE, fd) for fd in _inherited() if fd > 2]
    return os.posix_spawn(
        argv[0], [argv[0], "-C", cwd, *argv[1:]], env, file_actions=actions, setpgroup=0, setsigdef=_SIGNALS, setsigmask=()
    )


def _inherited() -> list[int]:
    """The descriptors that a child would get, because whoever started us did not mark them."""
    found = []
    for directory in ("/proc/self/fd", "/dev/fd"):
        try:
            names = os.listdir(directory)
        except OSError:
            continue
        for name in names:
            try:
                if os.get_inheritable(int(name)):
                    found.append(int(name))
            except (OSError, ValueError):
                continue
        return found
    return found


def _collect(reader: int, end: float) -> bytes | None:
    parts: list[bytes] = []
    size = 0
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    while True:
        left = end - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            return None
        part = os.read(reader, _CHUNK)
        if not part:
            return b"".join(parts)
        parts.append(part)
        size += len(part)
        if size > OUTPUT_LIMIT:
            return None


def _end(child: int, kill: bool) -> int:
    if kill:
        try:
            os.killpg(child, signal.SIGKILL)
        except OSError:
            os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
