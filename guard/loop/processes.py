"""Processes: everything that descends from this one is found, even what has left its session, and ended.

On Linux this process becomes the one that orphans below it are given to, so that nothing gets away by forking twice.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass

GRACE_S = 10.0  # between asking processes to end and ending them
LAST_S = 3.0  # for the kernel to end what was killed
LOOK_S = 0.05  # between two looks
_PDEATHSIG, _SUBREAPER = 1, 36  # of prctl(2)
_ENVIRONMENT = 1 << 20  # bytes that are read of a process's environment


@dataclass(frozen=True)
class Process:
    """One process. `state` is the kernel's letter; Z is one that has ended and waits to be asked for."""

    pid: int
    parent: int
    state: str


def adopt() -> bool:
    """Makes orphans below this process its children. False where the system has no such thing."""
    call = _prctl()
    return call is not None and call(_SUBREAPER, 1, 0, 0, 0) == 0


def tied(number: int = signal.SIGKILL) -> Callable[[], None]:
    """What a child calls between fork and exec, so that it gets a signal when this process ends (Linux)."""
    call, parent = _prctl(), os.getpid()

    def tie() -> None:
        if call is not None:
            call(_PDEATHSIG, int(number), 0, 0, 0)
            if os.getppid() != parent:
                os._exit(127)

    return tie


def descendants(top: int | None = None) -> list[Process]:
    """All processes below this one (or `top`), those that have ended and were not waited for among them."""
    return below(everything(), os.getpid() if top is None else top)


def below(found: Iterable[Process], top: int) -> list[Process]:
    """Those of some processes that descend from one."""
    children: dict[int, list[Process]] = {}
    for process in found:
        children.setdefault(process.parent, []).append(process)
    inside, todo, seen = [], [top], {top}
    while todo:
        for process in children.get(todo.pop(), ()):
            if process.pid not in seen:
                seen.add(process.pid)
                inside.append(process)
                todo.append(process.pid)
    return inside


def everything() -> list[Process]:
    """All processes of the machine that can be seen."""
    if not os.path.isdir("/proc/self"):
        return _from_ps()
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as file:
                state, parent = file.read().rpartition(b")")[2].split()[:2]
                found.append(Process(int(name), int(parent), state.decode("ascii", "replace")))
    return found


def marked(marks: Collection[bytes], besides: Collection[int] = ()) -> list[int]:
    """The processes whose environment has all of these entries (NAME=value)."""
    found = []
    for process in everything():
        if process.pid not in besides and process.pid != os.getpid():
            with suppress(OSError), open(f"/proc/{process.pid}/environ", "rb") as file:
                entries = set(file.read(_ENVIRONMENT).split(b"\0"))
                if entries >= set(marks):
                    found.append(process.pid)
    return found


def end(
    wanted: Callable[[], list[int]], grace_s: float = GRACE_S, beat: Callable[[], None] = lambda: None, main: int = 0
) -> tuple[int, ...]:
    """Ends processes: asks them to, waits, then kills whatever is left or has come meanwhile. Gives those that are there still.

    `wanted` gives the living ones each time it is asked; `beat` is called all the while. `main` is a child whose status
    somebody else asks for.
    """
    asked: set[int] = set()
    until = time.monotonic() + grace_s
    while (pids := _alive(wanted, main)) and time.monotonic() < until:
        for pid in pids:
            if pid not in asked:
                _send(pid, signal.SIGTERM)
                _send(pid, signal.SIGCONT)
        asked |= set(pids)
        beat()
        time.sleep(LOOK_S)
    until = time.monotonic() + LAST_S
    while (pids := _alive(wanted, main)) and time.monotonic() < until:
        for pid in pids:
            _send(pid, signal.SIGSTOP)  # so that none of them forks while the others are killed
        for pid in pids:
            _send(pid, signal.SIGKILL)
        beat()
        time.sleep(LOOK_S / 5)
    return tuple(_alive(wanted, main))


spared: set[int] = set()  # processes that this one has started for itself: they are nobody else's to end


def living() -> list[int]:
    """The processes below this one that have not ended, without those that are spared."""
    found = everything()
    spared.intersection_update({process.pid for process in found})
    own = spared | {process.pid for top in spared for process in below(found, top)}
    return [process.pid for process in below(found, os.getpid()) if process.state not in "ZX" and process.pid not in own]


def reap(main: int = 0) -> None:
    """Asks for the status of the orphans that have ended, but for that of `main`."""
    for process in descendants():
        if process.state == "Z" and process.parent == os.getpid() and process.pid != main:
            with suppress(ChildProcessError):
                os.waitpid(process.pid, os.WNOHANG)


def _alive(wanted: Callable[[], list[int]], main: int) -> list[int]:
    reap(main)
    return wanted()


def _send(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _prctl() -> Callable[..., int] | None:
    try:
        call: Callable[..., int] = ctypes.CDLL(None, use_errno=True).prctl
    except (OSError, AttributeError):
        return None
    return call


def _from_ps() -> list[Process]:
    try:
        listed = subprocess.run(["/bin/ps", "-A", "-o", "pid=,ppid=,state="], capture_output=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    rows = [line.split() for line in listed.stdout.decode("ascii", "replace").splitlines()]
    return [Process(int(row[0]), int(row[1]), row[2][:1]) for row in rows if len(row) == 3 and row[0].isdigit()]
