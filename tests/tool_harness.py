"""Runs tool models on real trees, alone and against the real tool."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from guard.effects import Analysis, At, Below, Effect, Text, Unknown
from guard.overlay import View
from guard.tools import model_of
from guard.tools.call import Call
from guard.world import World

CLEAN_ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}


class Ran:
    """One model run with all recorded: effects in order (children's first), the last Analysis, the texts given to a shell."""

    def __init__(self, cwd: Path, env: Mapping[str, str] | None = None) -> None:
        self.cwd = str(cwd)
        self.env = {**CLEAN_ENV, **(env or {})}
        self.view = View(World(self.env))
        self.effects: list[Effect] = []
        self.unknowns: list[object] = []
        self.shells: list[tuple[Text, tuple[Text, ...]]] = []

    def run(
        self,
        argv: tuple[Text, ...],
        *,
        cwd: Text | None = None,
        env: Mapping[str, Text] | None = None,
        stdin: Text | None = None,
    ) -> Analysis:
        name = argv[0]
        model = model_of(name.rpartition("/")[2]) if isinstance(name, str) else None
        if model is None:
            return Analysis()
        call = Call(argv, cwd or self.cwd, dict(env or self.env), stdin, self.view, self.run, self.shell, self.emit)
        result = model(call)
        for item in (*result.effects, *result.unknowns):
            self.emit(item)
        return result

    def emit(self, item: Effect | Unknown) -> None:
        if isinstance(item, Unknown):
            self.unknowns.append(item)
            return
        self.effects.append(item)
        self.view.apply(item)

    def shell(
        self,
        text: Text,
        args: tuple[Text, ...] = (),
        *,
        cwd: Text | None = None,
        env: Mapping[str, Text] | None = None,
        stdin: Text | None = None,
    ) -> Analysis:
        """No shell here: a text that is one plain simple command runs as such, all texts are noted."""
        self.shells.append((text, args))
        if isinstance(text, str) and not set(text) & set("$`;&|<>(){}*?[]~\n"):
            return self.run(tuple(shlex.split(text)), cwd=cwd, env=env, stdin=stdin)
        return Analysis()


def model(cwd: Path, command: str | Iterable[Text], stdin: Text | None = None, env: Mapping[str, str] | None = None) -> Ran:
    """The effects of one simple command (a str is split as a shell does without expanding anything)."""
    ran = Ran(cwd, env)
    argv = tuple(shlex.split(command)) if isinstance(command, str) else tuple(command)
    ran.result = ran.run(argv, stdin=stdin)  # type: ignore[attr-defined]
    return ran


def losses(ran: Ran, top: Path) -> set[str]:
    """The files (relative to top) of the untouched tree that the effects remove or change, certain or not."""
    found: set[str] = set()
    for path in files(top):
        absolute = os.path.join(os.path.realpath(top), path)
        for effect in ran.effects:
            if effect.action in ("create", "leave"):
                continue
            target = effect.target
            whole = effect.action in ("delete", "move", "overwrite", "link", "truncate", "revert", "edit")
            if isinstance(target, At) and (absolute == target.path or (whole and absolute.startswith(target.path + "/"))):
                found.add(path)
            if isinstance(target, Below) and absolute.startswith(target.path + "/"):
                found.add(path)
    return found


def files(top: Path) -> dict[str, bytes]:
    """Every file and link below a directory with its content, .git left out."""
    found = {}
    for directory, dirs, names in os.walk(top):
        dirs[:] = [d for d in dirs if d != ".git"]
        for n in [*names, *(d for d in dirs if os.path.islink(os.path.join(directory, d)))]:
            p = os.path.join(directory, n)
            data = os.fsencode(os.readlink(p)) if os.path.islink(p) else Path(p).read_bytes()
            found[os.path.relpath(p, top)] = data
    return found


def real_losses(
    top: Path, cwd: Path, command: str | list[str], stdin: str = "", env: Mapping[str, str] | None = None
) -> set[str]:
    """What the real tool removes or changes, found by running it in the tree itself."""
    before = files(top)
    subprocess.run(
        shlex.split(command) if isinstance(command, str) else command,
        cwd=cwd,
        env={**CLEAN_ENV, **(env or {})},
        input=os.fsencode(stdin),
        capture_output=True,
        timeout=20,
        check=False,
    )
    after = files(top) if top.is_dir() else {}
    return {path for path, data in before.items() if after.get(path) != data}


def compare(top: Path, command: str | list[str], stdin: str = "", cwd: str = ".", env: Mapping[str, str] | None = None) -> None:
    """Claims that the model foresees exactly the losses of the real tool. Destroys the tree."""
    ran = model(top / cwd, command, stdin, env)
    foreseen = losses(ran, top)
    assert foreseen == real_losses(top, top / cwd, command, stdin, env), f"{command}: {ran.effects}"


def copy_of(tree: Path, where: Path) -> Path:
    """A copy of a tree with its links."""
    return Path(shutil.copytree(tree, where, symlinks=True))
