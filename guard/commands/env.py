"""`guard env`: what a shell evaluates to have the shims first on its PATH."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Mapping

import click

from guard import project, search_path, shims
from guard.commands.place import register
from guard.errors import GuardError
from guard.health import agents
from guard.quoting import fish, posix

# {path} is the directory of the shims, quoted. Evaluating it again moves the shims to the front again and changes nothing
# else; $? is afterwards what it was before.
POSIX = """\
guard_status=$?
guard_path=${{PATH:+":$PATH"}}:
while :; do
case $guard_path in
*:{path}:*) guard_path=${{guard_path%%:{path}:*}}:${{guard_path#*:{path}:}} ;;
*) break ;;
esac
done
PATH={path}${{guard_path%:}}
export PATH
"""
POSIX_VARIABLE = '[ -n "${{{name}-}}" ] || {name}={value}\nexport {name}\n'
POSIX_END = 'eval "unset guard_path guard_status; (exit $guard_status)"\n'

FISH = """\
set -l guard_status $status;
set -l guard_path;
for guard_entry in $PATH; test "$guard_entry" = {path}; or set -a guard_path $guard_entry; end;
set -gx PATH {path} $guard_path;
"""
FISH_VARIABLE = "set -q {name}; or set -gx {name} {value};\n"
FISH_END = 'sh -c "exit $guard_status";\n'


def _posix(directory: str, variables: Mapping[str, str]) -> str:
    lines = [POSIX_VARIABLE.format(name=name, value=posix(value)) for name, value in variables.items()]
    return POSIX.format(path=posix(directory)) + "".join(lines) + POSIX_END


def _fish(directory: str, variables: Mapping[str, str]) -> str:
    lines = [FISH_VARIABLE.format(name=name, value=fish(value)) for name, value in variables.items()]
    return FISH.format(path=fish(directory)) + "".join(lines) + FISH_END


SHELLS: dict[str, Callable[[str, Mapping[str, str]], str]] = {
    **dict.fromkeys(("bash", "zsh", "dash", "ksh", "sh", "ash", "mksh", "ksh93"), _posix),
    "fish": _fish,
}


def run(shell: str | None) -> int:
    """Installs the shims where they are missing, and prints the text for a shell, by default the one that has called."""
    name = shell if shell is not None else _calling()
    write = SHELLS.get(os.path.basename(name).removeprefix("-"))
    if write is None:
        known = ", ".join(SHELLS)
        raise GuardError(f"no way is known to set up the shell {name!r}", todo=f"name one of {known}")
    with contextlib.suppress(OSError):
        register(project.state_dir(os.environ), os.environ)
    directory = shims.ensure("wide", os.environ)
    warning = agents.warning(os.environ)
    if warning:
        click.echo(warning, err=True)
    text = write(directory, search_path.baked(os.environ.get("PATH", search_path.PATH)))
    sys.stdout.buffer.write(os.fsencode(text))
    sys.stdout.flush()
    return 0


def _calling() -> str:
    """The name of the shell that this process was started from."""
    import shellingham  # type: ignore[import-untyped]

    try:
        found: str = shellingham.detect_shell()[0]
    except (shellingham.ShellDetectionFailure, OSError) as error:
        raise GuardError("it cannot be told which shell this is", todo="name it: guard env bash") from error
    return found
