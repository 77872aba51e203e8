"""What the machine and the user are called: uname, id, whoami, hostname, arch, printenv."""

from __future__ import annotations

import os

from guard.effects import Pattern, Text, join, unknown
from guard.tools.call import analysis
from guard.tools.options import Table, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.effects import Analysis
    from guard.tools.call import Call

UNAME = Table(
    "asnrvmpio",
    long={
        "all": "",
        "kernel-name": "",
        "nodename": "",
        "kernel-release": "",
        "kernel-version": "",
        "machine": "",
        "operating-system": "",
        "help": "",
        "version": "",
    },
    same={
        "all": "a",
        "kernel-name": "s",
        "nodename": "n",
        "kernel-release": "r",
        "kernel-version": "v",
        "machine": "m",
        "operating-system": "o",
    },
)
ID = Table(
    "ugGnrz",
    long={"user": "", "group": "", "groups": "", "name": "", "real": "", "zero": ""},
    same={"user": "u", "group": "g", "name": "n"},
)


def uname(call: Call) -> Analysis:
    """uname: the parts asked for, in its own order."""
    found = parse(call.argv[1:], UNAME)
    if found.strange or found.operands or found.has("a", "p", "i", "help", "version"):
        return analysis(output=unknown("unknown-output", "uname"), status=None)
    system = os.uname()
    parts = {
        "s": system.sysname,
        "n": system.nodename,
        "r": system.release,
        "v": system.version,
        "m": system.machine,
        "o": "GNU/Linux" if system.sysname == "Linux" else system.sysname,
    }
    asked = [text for letter, text in parts.items() if found.has(letter)] or [system.sysname]
    return analysis(output=" ".join(asked) + "\n", status=0)


def arch(call: Call) -> Analysis:
    """arch: the machine's name."""
    return analysis(output=os.uname().machine + "\n", status=0)


def hostname(call: Call) -> Analysis:
    """hostname: the name of this machine; its other forms are not told."""
    if len(call.argv) > 1:
        return analysis(output=unknown("unknown-output", "hostname"), status=None)
    return analysis(output=os.uname().nodename + "\n", status=0)


def identity(call: Call) -> Analysis:
    """id: the numbers of the user that runs guard, as the command will have."""
    found = parse(call.argv[1:], ID)
    if not found.strange and not found.operands and not found.has("n", "z") and found.has("u", "g"):
        return analysis(output=f"{os.getuid() if found.has('u') else os.getgid()}\n", status=0)
    if found.has("u") and found.has("n") and not found.operands:
        return whoami(call)
    return analysis(output=unknown("unknown-output", "id"), status=None)


def whoami(call: Call) -> Analysis:
    """whoami: the name that /etc/passwd has for the user."""
    for line in (call.view.world.read("/etc/passwd") or b"").decode("utf-8", "surrogateescape").splitlines():
        entry = line.split(":")
        if len(entry) > 2 and entry[2] == str(os.getuid()):
            return analysis(output=entry[0] + "\n", status=0)
    return analysis(output=unknown("unknown-output", "whoami"), status=None)


def printenv(call: Call) -> Analysis:
    """printenv NAME...: the values of exported variables, one a line."""
    names = call.argv[1:]
    if not names or any(isinstance(name, Pattern) or name.startswith("-") for name in names):
        return analysis(output=unknown("unknown-output", "printenv"), status=None)
    values = [call.env.get(str(name)) for name in names]
    out: Text = ""
    for value in values:
        out = join(out, value, "\n") if value is not None else out
    return analysis(output=out, status=int(None in values))
