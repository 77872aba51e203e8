"""Ancestry: what stands above this process, read from the system, for actor.who to judge."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence

from guard.actor import MULTIPLEXER, Process, Surroundings, called

LIMIT = 64  # processes that are followed
NESTED = 3  # terminals inside of terminals that are looked at
SECONDS = 2.0  # for asking another program
# Where programs are looked for: whoever calls has no say in it.
SAFE_PATH = "/usr/bin:/bin:/usr/local/bin:/opt/homebrew/bin:/opt/local/bin:/usr/pkg/bin"
_ENVIRONMENT = 1 << 20  # bytes of one that are read
_PTS = range(136, 144)  # the major numbers of pseudo terminals, by which stat names them


def surroundings() -> Surroundings:
    """Where this process runs."""
    foreground, terminal = _terminal()
    return _around(os.getpid(), foreground, terminal, os.environ, 0)


def of(process: int) -> Surroundings:
    """Where another process runs; without any line where it cannot be looked at."""
    foreground, terminal = _terminal_of(process)
    return _around(process, foreground, terminal, _environ(process) or {}, 0)


def _around(process: int, foreground: bool, terminal: str, environ: Mapping[str, str], depth: int) -> Surroundings:
    line, whole = _line(process)
    found = Surroundings(tuple(line), whole, foreground, terminal)
    server = next((each for each in line if each.names and each.names[0].startswith(MULTIPLEXER)), None)
    if server is None or depth >= NESTED:
        return found
    clients = _clients(environ, server)
    return found._replace(
        watching=tuple(_around(pid, True, tty, {}, depth + 1)._replace(keyed=keyed) for pid, tty, keyed in clients)
    )


def _terminal() -> tuple[bool, str]:
    """Is there a controlling terminal with this process group in its foreground, and what is its name?"""
    try:
        fd = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return False, ""
    try:
        foreground = os.tcgetpgrp(fd) == os.getpgrp()
    except OSError:
        return False, ""
    finally:
        os.close(fd)
    return foreground, next((name for name in map(_name, (0, 1, 2)) if name), "/dev/pts/?")


def _terminal_of(process: int) -> tuple[bool, str]:
    """The same of another process, as the kernel tells it; no terminal where it does not."""
    if not os.path.isdir("/proc/self"):
        shown = _output(["ps", "-o", "pgid=,tpgid=,tty=", "-p", str(process)]).split()
        return (shown[0] == shown[1], f"/dev/{shown[2]}") if len(shown) == 3 and shown[2].strip("?-") else (False, "")
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        group, terminal, front = (int(fields[at]) for at in (2, 4, 5))
    except (OSError, ValueError, IndexError):
        return False, ""
    major, minor = terminal >> 8 & 0xFFF, terminal & 0xFF | terminal >> 12 & 0xFFF00
    name = f"/dev/pts/{minor + 256 * (major - _PTS[0])}" if major in _PTS else "/dev/tty"
    return terminal != 0 and front == group, name if terminal else ""


def _name(descriptor: int) -> str:
    try:
        return os.ttyname(descriptor)
    except OSError:
        return ""


def _line(process: int) -> tuple[list[Process], bool]:
    """A process and those above it, and whether that is all of them."""
    read = _from_proc if os.path.isdir("/proc/self") else _from_ps()
    line: list[Process] = []
    while process > 0 and len(line) < LIMIT:
        found = read(process)
        if found is None:
            return line, False
        process = found[0]
        line.append(found[1])
    return line, process == 0


def _from_proc(process: int) -> tuple[int, Process] | None:
    """The number of the parent, 0 for none here, and the process itself; None where it cannot be looked at."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            status = file.read()
        with open(f"/proc/{process}/cmdline", "rb") as file:
            words = [os.fsdecode(word) for word in file.read(4096).split(b"\0")]
        name, _, rest = status.partition(b"(")[2].rpartition(b")")
        fields = rest.split()
        above, session = int(fields[1]), int(fields[3])
    except (OSError, ValueError, IndexError):
        return None
    try:
        program = os.path.basename(os.readlink(f"/proc/{process}/exe").removesuffix(" (deleted)"))
    except OSError:
        program = ""
    return above, Process(process, called(os.fsdecode(name), words), program, _environ(process), session)


def _environ(process: int) -> dict[str, str] | None:
    """The environment that a process was started with, where it may be read."""
    try:
        with open(f"/proc/{process}/environ", "rb") as file:
            entries = os.fsdecode(file.read(_ENVIRONMENT)).split("\0")
    except OSError:
        return None
    return dict(entry.partition("=")[::2] for entry in entries if entry)


class _FromPs:
    """The processes as ps lists them, where there is no /proc."""

    def __init__(self) -> None:
        self._rows: dict[int, tuple[int, list[str]]] = {}
        for line in _output(["ps", "-axo", "pid=,ppid=,command="]).splitlines():
            number, above, *words = line.split(None, 2)
            if number.isdigit() and above.isdigit() and words:
                self._rows[int(number)] = int(above), words[0].split(" ")

    def __call__(self, process: int) -> tuple[int, Process] | None:
        if process not in self._rows:
            return None
        above, words = self._rows[process]
        try:
            session = os.getsid(process)
        except OSError:
            session = 0
        return above, Process(process, called(words[0].rpartition("/")[2].lstrip("-"), words), "", None, session)


_from_ps = _FromPs


def _clients(environ: Mapping[str, str], server: Process) -> list[tuple[int, str, int]]:
    """The clients of a multiplexer's server that show the window that this process runs in: their numbers, their terminals, and
    when a key was last pressed there."""
    socket, _, rest = environ.get("TMUX", "").rpartition(",")[0].rpartition(",")
    pane = environ.get("TMUX_PANE", "")
    if not socket or rest != str(server.number) or not pane.startswith("%"):
        return []
    shown = _output(
        ["tmux", "-S", socket, "display-message", "-p", "-t", pane, "#{pid} #{session_id} #{window_active} #{pane_active}"]
    )
    words = shown.split()
    if len(words) != 4 or words[0] != str(server.number) or words[2:] != ["1", "1"]:
        return []
    listed = _output(
        ["tmux", "-S", socket, "list-clients", "-t", words[1], "-F", "#{client_pid} #{client_activity} #{client_tty}"]
    )
    rows = [line.split(" ", 2) for line in listed.splitlines()]
    return [(int(row[0]), row[2], int(row[1])) for row in rows if len(row) == 3 and row[0].isdigit() and row[1].isdigit()]


def _output(argv: Sequence[str]) -> str:
    """What a program says; "" where it cannot."""
    try:
        run = subprocess.run(
            argv,
            capture_output=True,
            timeout=SECONDS,
            stdin=subprocess.DEVNULL,
            env={"PATH": SAFE_PATH, "LC_ALL": "C"},
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return os.fsdecode(run.stdout) if run.returncode == 0 else ""
