"""One child that runs as if it stood in guard's place: its streams, signals, terminal and exit status are the caller's."""

from __future__ import annotations

import errno
import os
import resource
import signal

from guard.search_path import candidates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Mask = set[signal.Signals] | set[int]

NOT_EXECUTABLE, NOT_FOUND = 126, 127
FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
# What the terminal sends to every process in its foreground, the child included.
FROM_TERMINAL = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)
# What Python ignores for itself; a program does not expect that.
DEFAULTS = tuple(getattr(signal, name) for name in ("SIGPIPE", "SIGXFSZ") if hasattr(signal, name))
# After these, what stands further behind on PATH is tried.
_PASSED_OVER = (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EISDIR, errno.EPERM)


class CannotRun(Exception):
    """The command cannot be started: `status` is what a shell says then, the text why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


def run(
    argv: Sequence[str],
    environ: Mapping[str, str],
    mask: Mask | None = None,
    recipient: Callable[[int], int | None] | None = None,
) -> int:
    """Runs argv, searched on the environment's PATH, and gives what os.waitstatus_to_exitcode says of it at its end.

    Signals that ask this process to end, and SIGUSR1 and SIGUSR2, are passed on, to the process that `recipient` names for the
    child's. `mask`: the signals that the child has blocked, unless those of this process. Raises CannotRun.
    """
    reserve_streams()
    waited = {*FORWARDED, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waited)
    try:
        child = _start(argv, environ, before if mask is None else mask)
        return _wait(child, waited, recipient or (lambda process: process))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def hold_signals() -> Mask:
    """Holds back the signals that ask this process to end; gives the mask of before, for run() and let_signals()."""
    return signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)


def let_signals(mask: Mask) -> None:
    """Ends hold_signals(): what has come meanwhile takes effect."""
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def end_like(status: int) -> int:
    """Ends this process by the signal that ended the child; else gives the exit status."""
    if status >= 0:
        return status
    number = -status
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    return 128 + number


def reserve_streams() -> None:
    """Gives closed standard streams a descriptor of ours, so that no file we open lands there; a child does not get it."""
    for stream in (0, 1, 2):
        try:
            os.fstat(stream)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _start(argv: Sequence[str], environ: Mapping[str, str], mask: Mask) -> int:
    """The process id of the child. Tries what execvp would."""
    denied = ""
    for path in candidates(argv[0], environ.get("PATH", os.defpath)):
        if not os.path.lexists(path):
            continue
        try:
            return _spawn(path, argv, environ, mask)
        except OSError as error:
            why = f"{path}: {'is a directory' if os.path.isdir(path) else error.strerror}"
            if error.errno not in _PASSED_OVER:
                raise CannotRun(NOT_EXECUTABLE, why) from None
            denied = denied or why
    if denied:
        raise CannotRun(NOT_EXECUTABLE, denied)
    raise CannotRun(NOT_FOUND, f"{argv[0]}: not found")


def _spawn(path: str, argv: Sequence[str], environ: Mapping[str, str], mask: Mask) -> int:
    """Starts one program; raises the OSError of its exec. Not posix_spawn, which leaves signals of the C library ignored."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _become(path, argv, environ, mask)
        except BaseException as error:
            os.write(writer, b"%d" % (getattr(error, "errno", None) or errno.EINVAL))
        finally:
            os._exit(NOT_FOUND)
    os.close(writer)
    failure = os.read(reader, 16)
    os.close(reader)
    if failure:
        os.waitpid(child, 0)
        raise OSError(int(failure), os.strerror(int(failure)))
    return child


def _become(path: str, argv: Sequence[str], environ: Mapping[str, str], mask: Mask) -> None:
    for number in DEFAULTS:
        signal.signal(number, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    try:
        os.execve(path, list(argv), environ)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
    # A script without an interpreter line: every shell, and env, give it to sh.
    os.execve("/bin/sh", ["sh", path, *argv[1:]], environ)


def _wait(child: int, waited: set[signal.Signals], recipient: Callable[[int], int | None]) -> int:
    while True:
        number, by_terminal = _next(waited)
        if number == signal.SIGCHLD:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
        elif not by_terminal and (process := recipient(child)) is not None:
            _send(process, number)


def _send(process: int, number: int) -> None:
    try:
        os.kill(process, number)
    except ProcessLookupError:
        pass


def _next(waited: set[signal.Signals]) -> tuple[int, bool]:
    """The next signal, and whether the child got it as well, from the terminal."""
    if hasattr(signal, "sigwaitinfo"):
        found = signal.sigwaitinfo(waited)
        return found.si_signo, found.si_signo in FROM_TERMINAL and found.si_code > 0
    number = signal.sigwait(waited)
    return number, number in FROM_TERMINAL
