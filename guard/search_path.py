"""PATH with and without guard's shims: where the real tools are, and what a guarded command gets to see."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MARKER = ".guard-shims"  # the file by which any directory of shims is known
PATH = "/usr/local/bin:/usr/bin:/bin"  # where PATH is not set
# What configure scripts find for themselves and bake into what they build: variable, tool, and what follows it.
BAKED = (("ac_cv_path_SED", "sed", ""), ("ac_cv_path_install", "install", " -c"), ("ac_cv_path_lt_DD", "dd", ""))


def without(path: str) -> str:
    """A PATH without the directories of shims. Empty entries mean the current directory, and stay."""
    return ":".join(entry for entry in path.split(":") if not os.path.lexists(f"{entry or '.'}/{MARKER}"))


def candidates(name: str, path: str) -> Iterator[str]:
    """The files that a name stands for, in the order in which exec tries them; just the name where it is a path."""
    if "/" in name:
        yield name
    elif name:
        for entry in path.split(":"):
            yield f"{entry.rstrip('/')}/{name}" if entry.rstrip("/") else f"{entry}{name}"


def real(name: str, path: str) -> str | None:
    """The absolute path of the tool itself, behind all shims."""
    for found in candidates(name, without(path)):
        if found.startswith("/") and os.path.isfile(found) and os.access(found, os.X_OK):
            return found
    return None


def baked(path: str) -> dict[str, str]:
    """What keeps the shims out of what configure scripts write down: variables with the paths of the real tools."""
    found = ((variable, real(tool, path), rest) for variable, tool, rest in BAKED)
    return {variable: tool + rest for variable, tool, rest in found if tool}


def guarded(environ: Mapping[str, str], directory: str) -> dict[str, str]:
    """The environment of a guarded command: the shims in `directory` come first, whatever shims came first before."""
    path = environ.get("PATH", PATH)
    behind = without(path)
    return {**baked(path), **environ, "PATH": f"{directory}:{behind}" if behind else directory}
