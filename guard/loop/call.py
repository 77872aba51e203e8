"""Call: one start of the agent's program, from its exec until the last of its processes is dead."""

from __future__ import annotations

import errno
import os
import selectors
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from guard.loop import processes
from guard.loop.clock import Clock
from guard.search_path import candidates

SELF, TIMEOUT, IDLE, STOP = "self", "timeout", "idle", "stop"
PASSING = {errno.EAGAIN: "EAGAIN", errno.ENOMEM: "ENOMEM", errno.ETXTBSY: "ETXTBSY"}  # a start that may succeed later
_PIECE = 1 << 16  # bytes that are read at once
_LOOK_S = 0.5  # at most, between two looks at the time
_DRAIN_S = 2.0  # for the rest of the output when all processes are dead


@dataclass(frozen=True)
class Ended:
    """How a call ended. `exit` is None where a signal or an error of its start did it, `error` names the latter.

    `survivors`: processes that could not be ended.
    """

    exit: int | None
    signal: int | None = None
    how: str = SELF
    duration_s: float = 0.0
    error: str = ""
    survivors: tuple[int, ...] = ()


@dataclass(frozen=True)
class Limits:
    """How long a call may take, and how long it may be silent (0: as long as it likes), in seconds."""

    timeout_s: float
    idle_s: float = 0.0


def program(argv: Sequence[str], path: str) -> str:
    """The file that a program is on a PATH; "" where there is none that can be run."""
    for found in candidates(argv[0], path) if argv else ():
        if os.path.isfile(found) and os.access(found, os.X_OK):
            return found
    return ""


def run(
    argv: Sequence[str],
    environ: Mapping[str, str],
    cwd: str,
    given: bytes,
    limits: Limits,
    clock: Clock,
    sink: Callable[[bytes, int], None],
    asked: Callable[[], bool],
    wake: int = -1,
) -> Ended:
    """Runs the agent. `given` is its standard input.

    `sink` gets each piece of standard output (0) and error (1); `asked` says whether to end it now, and is asked at least
    twice a second; `wake` is a descriptor that becomes readable when there is reason to ask earlier.
    """
    start = clock.elapsed()
    try:
        process = _started(argv, environ, cwd, given)
    except OSError as error:
        return Ended(None, error=PASSING.get(error.errno or 0, error.strerror or str(error)))
    with process:
        try:
            how = _followed(process, limits, clock, start, sink, asked, wake)
        except BaseException:  # whoever cannot record what happens must not leave it running
            processes.end(processes.living, grace_s=1.0, main=process.pid)
            raise
        survivors = _ended(process, sink)
        code = process.wait()
    duration_s = max(0.0, clock.elapsed() - start)
    return Ended(code if code >= 0 else None, -code if code < 0 else None, how, duration_s, "", survivors)


def _started(argv: Sequence[str], environ: Mapping[str, str], cwd: str, given: bytes) -> subprocess.Popen[bytes]:
    stdin = _input(given)
    try:
        return _spawned(argv, environ, cwd, stdin)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
        return _spawned(["/bin/sh", program(argv, environ.get("PATH", os.defpath)), *argv[1:]], environ, cwd, stdin)
    finally:
        os.close(stdin)


def _spawned(argv: Sequence[str], environ: Mapping[str, str], cwd: str, stdin: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        list(argv),
        env=dict(environ),
        cwd=cwd,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        bufsize=0,
        preexec_fn=processes.tied(),
    )


def _input(given: bytes) -> int:
    """A descriptor to read a text from: a file without a name, so that nobody has to feed it."""
    if not given:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("prompt", os.MFD_CLOEXEC)
    else:
        import tempfile

        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    data = given
    while data:
        data = data[os.write(fd, data) :]
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _followed(
    process: subprocess.Popen[bytes],
    limits: Limits,
    clock: Clock,
    start: float,
    sink: Callable[[bytes, int], None],
    asked: Callable[[], bool],
    wake: int,
) -> str:
    """Reads until the program ends, or until it has to; says which."""
    heard = start
    with selectors.DefaultSelector() as selector:
        for at, stream in enumerate(_streams(process)):
            os.set_blocking(stream, False)
            selector.register(stream, selectors.EVENT_READ, at)
        pidfd = _pidfd(process.pid)
        for fd in (pidfd, wake):
            if fd >= 0:
                selector.register(fd, selectors.EVENT_READ, None)
        try:
            while process.poll() is None:
                if asked():
                    return STOP
                now = clock.elapsed()
                if now - start >= limits.timeout_s:
                    return TIMEOUT
                if limits.idle_s and now - heard >= limits.idle_s:
                    return IDLE
                left = min(_LOOK_S, limits.timeout_s - (now - start))
                for key, _ in selector.select(max(0.01, left) if pidfd >= 0 else 0.05):
                    if key.fd == wake:
                        with suppress(OSError):
                            os.read(wake, 512)
                    elif key.data is not None:
                        heard = clock.elapsed()
                        if not _read(key.fd, key.data, sink):
                            selector.unregister(key.fd)
            return SELF
        finally:
            if pidfd >= 0:
                os.close(pidfd)


def _ended(process: subprocess.Popen[bytes], sink: Callable[[bytes, int], None]) -> tuple[int, ...]:
    """Ends all that is left below this process, and reads what it has still put out."""
    streams = list(enumerate(_streams(process)))

    def drain() -> None:
        for at, stream in streams:
            for _ in range(64):  # a process that only writes must not keep anybody from ending it
                if not _read(stream, at, sink, again=False):
                    break

    survivors = processes.end(processes.living, beat=drain, main=process.pid)
    process.poll()
    until = time.monotonic() + _DRAIN_S
    while streams and time.monotonic() < until:
        streams = [(at, stream) for at, stream in streams if _read(stream, at, sink)]
        if streams:
            time.sleep(0.001)
    return survivors


def _streams(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    assert process.stdout is not None
    assert process.stderr is not None
    return process.stdout.fileno(), process.stderr.fileno()


def _read(fd: int, at: int, sink: Callable[[bytes, int], None], again: bool = True) -> bool:
    """Reads what is there. False at the end; where nothing is there now, `again` is the answer."""
    try:
        data = os.read(fd, _PIECE)
    except BlockingIOError:
        return again
    except OSError:
        return False
    if data:
        sink(data, at)
    return bool(data)


def _pidfd(pid: int) -> int:
    try:
        return os.pidfd_open(pid)
    except (OSError, AttributeError):
        return -1
