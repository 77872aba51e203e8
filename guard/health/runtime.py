"""The runtime: do the launchers that hooks and shims call start this version of guard?"""

from __future__ import annotations

import os
from collections.abc import Iterator

from guard import __version__, runtime, search_path, shims
from guard.agents.hook_commands import HOOK
from guard.findings import ABSENT, FINE, NOTE, Finding
from guard.health.place import Place, ask
from guard.project import RUNTIME
from guard.shown import visible

LAUNCHER = "bin/guard"  # the whole command line, for hooks
REFUSED = 2  # a hook's status
NOTHING = b"no payload"
READING = b'{"hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{"file_path":"/"},"cwd":"/","session_id":"doctor"}'
LATE = "commands are judged by that version until then"
DEAD = "every hook and shim that calls it refuses whatever it is asked"


def findings(at: Place) -> Iterator[Finding]:
    """What can be said of each runtime that is installed."""
    found = [(home, paths) for home in at.homes if (paths := launchers(home)) or os.path.lexists(runtime.current(home))]
    for home, paths in found:
        repair = "guard install --system" if home == RUNTIME else "guard shims install"
        yield from _runtime(home, paths, repair, at)
    if not found:
        what = "no runtime is installed: it comes with the first hook or shim"
        yield Finding("runtime-none", what, "so there is nothing that an upgrade could leave behind", "guard init", ABSENT)


def launchers(home: str) -> list[str]:
    """The launchers that stand in a home of guard's."""
    places = [f"{home}/{LAUNCHER}", *(f"{shims.directory(home, kind)}/{shims.JUDGE}" for kind in shims.SETS)]
    return [path for path in places if os.path.lexists(path)]


def _runtime(home: str, paths: list[str], repair: str, at: Place) -> Iterator[Finding]:
    shown = visible(home)
    if not os.path.isdir(runtime.current(home)):
        yield Finding("runtime-gone", f"the runtime is gone from {shown}", DEAD, repair)
        return
    versions = {path: _version(path, at) for path in paths}
    for path, version in versions.items():
        if not version:
            yield Finding("launcher-broken", f"{visible(path)} does not start", DEAD, repair)
    others = sorted({version for version in versions.values() if version not in ("", __version__)})
    if others:
        what = f"the runtime in {shown} is guard {', '.join(map(visible, others))}, this is {__version__}"
        yield Finding("runtime-other", what, LATE, repair, NOTE)
    hook = f"{home}/{HOOK}"
    wrong = _wrong(hook, at) if os.path.lexists(hook) and all(versions.values()) and not at.quick else None
    if wrong is not None:
        yield wrong
    elif all(versions.values()):
        yield Finding("runtime-fine", f"the runtime in {shown} starts", severity=FINE)


def _wrong(hook: str, at: Place) -> Finding | None:
    """What is wrong with a hook: it has to refuse what it cannot read, and to let pass a tool that only reads."""
    environ = _bare(at)
    if ask((hook, "claude"), environ, given=NOTHING)[0] != REFUSED:
        why = "whatever agents run passes: it is not guard's, or was changed"
        return Finding("hook-open", f"{visible(hook)} does not refuse what it cannot read", why, "guard init")
    if ask((hook, "claude"), environ, given=READING)[0] != 0:
        return Finding("hook-refuses", f"{visible(hook)} refuses whatever it is asked", "what it starts is broken", "guard init")
    return None


def _bare(at: Place) -> dict[str, str]:
    """The environment of a launcher, as bare as a shim makes it."""
    return {name: at.environ[name] for name in ("HOME",) if name in at.environ} | {"PATH": search_path.PATH}


def _version(path: str, at: Place) -> str:
    """What a launcher says that it is; "" where it does not start. A quick look takes its word for it."""
    if at.quick:
        return __version__ if os.access(path, os.X_OK) else ""
    status, output = ask((path, "--version"), _bare(at))
    words = output.split()
    return words[1] if status == 0 and len(words) == 2 and words[0] == "guard" else ""
