"""The real git behind all shims, and what makes a call of it run and leave nothing: no locks, hooks, pagers, network."""

from __future__ import annotations

import os

from guard.paths import below, parent, physical

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.world import World

ENVIRONMENT = {
    "LC_ALL": "C", "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat",
    "GIT_OPTIONAL_LOCKS": "0", "GIT_TRACE2": "0", "GIT_TRACE2_EVENT": "0", "GIT_TRACE2_PERF": "0", "PATH": "/usr/bin:/bin",
}  # fmt: skip
OPTIONS = (
    "--no-optional-locks", "--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.pager=cat",
    "-c", "safe.directory=*", "-c", "core.untrackedCache=false", "-c", "core.quotePath=false", "-c", "protocol.allow=never",
)  # fmt: skip
_PLACES = ("/usr/bin", "/usr/local/bin", "/opt/homebrew/bin", "/bin")


def real_git(world: World, directory: str) -> str | None:
    """The git behind guard's own shims, from a directory that the judged tree has no hand in."""
    for place in (*_PLACES, *world.environ.get("PATH", "").split(":")):
        if not place.startswith("/") or place.rstrip("/").endswith("/guard/shims") or below(directory, parent(place)):
            continue
        path = f"{place.rstrip('/')}/git"
        found = world.lstat(path)
        if found is None or world.lstat(place + "/.guard-shims") is not None or below(physical(world, path), directory):
            continue
        if os.access(path, os.X_OK):
            return path
    return None
