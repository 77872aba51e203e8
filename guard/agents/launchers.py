"""What settings of agents' clients name, in guard's home: `bin/hook`, `bin/guard` beside it, the plugin of OpenCode.

They run on the runtime (runtime.py), so that nothing of it lies in a virtual environment.
"""

from __future__ import annotations

import contextlib
import os

from guard import runtime, shims
from guard.agents.hook_commands import HOOK, PLUGIN_FILE
from guard.errors import FAULT, GuardError
from guard.project import RUNTIME

GUARD = "bin/guard"  # the whole command line
DATA = {HOOK: "agent", PLUGIN_FILE: "opencode.js"}  # file below guard's home -> its text in guard's data


def ensure(home: str, final: str = "") -> None:
    """Makes the launchers and the runtime that they need stand below `home`; `final` is where that will be found later.

    Raises GuardError, OSError. Whoever runs one of them meanwhile finds the old one or the new one.
    """
    final = final or home
    os.makedirs(home, mode=0o755 if final == RUNTIME else 0o700, exist_ok=True)
    os.makedirs(f"{home}/bin", exist_ok=True)
    with shims.locked(home):
        runtime.ensure(home)
        for path, content, mode in files(final):
            shims.put(f"{home}/{path}", content, mode)


def files(home: str) -> list[tuple[str, bytes, int]]:
    """The launchers of a home: path below it, content, mode. Raises GuardError where guard's data is not whole."""
    shell = shims.launcher_shell()
    repair = "guard install --system" if home == RUNTIME else "guard init"
    hook = os.fsencode(f"#!{shell}\n") + data(DATA[HOOK]).partition(b"\n")[2]
    scripts = [(GUARD, runtime.launcher(home, shell, repair), 0o755), (HOOK, hook, 0o755)]
    return [*scripts, (PLUGIN_FILE, data(DATA[PLUGIN_FILE]), 0o644)]


def state(home: str) -> str:
    """ "whole", "missing", "not-executable" or "outdated": how the hook of a home and the launcher beside it are."""
    for path in (HOOK, GUARD):
        if not os.path.isfile(f"{home}/{path}"):
            return "missing"
        if not os.access(f"{home}/{path}", os.R_OK | os.X_OK):
            return "not-executable"
    if not os.path.isfile(f"{runtime.current(home)}/guard/hot/start.py"):
        return "missing"
    with contextlib.suppress(GuardError, OSError):
        for path, content, _ in files(home)[1:]:
            with open(f"{home}/{path}", "rb") as file:
                if file.read() != content:
                    return "outdated"
    return "whole"


def remove(home: str) -> None:
    """Removes the launchers. The runtime stays: shims may need it."""
    for path in (GUARD, HOOK, PLUGIN_FILE):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.unlink(f"{home}/{path}")
    with contextlib.suppress(OSError):
        os.rmdir(f"{home}/bin")


def data(name: str) -> bytes:
    """The text of one of guard's hooks as it is shipped."""
    here = os.path.dirname(os.path.dirname(__file__))
    for path in (f"{here}/data/hooks/{name}", f"{here}/../hooks/{name}"):
        with contextlib.suppress(OSError), open(path, "rb") as file:
            return file.read()
    raise GuardError(f"the file hooks/{name} is missing from guard itself", here, "install guard again", FAULT)
