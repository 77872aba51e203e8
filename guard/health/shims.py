"""The shims: are they whole, does a shell find them before the tools, and does nothing hide them?"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence

from guard import search_path, shims
from guard.findings import ABSENT, FINE, NOTE, Finding
from guard.health.place import PROBE, Place, ask
from guard.project import RUNTIME
from guard.shown import visible

ASKED = ("rm", "mv", "git", "find")  # the tools that are looked for
# Shells that are asked, and the files of which the first one that is there sets their PATH.
LOGIN = {"bash": (".bash_profile", ".bash_login", ".profile"), "zsh": (".zprofile",)}
PASSED = "agents that start their commands in one (Codex does) pass by the shims"


def findings(at: Place) -> Iterator[Finding]:
    """What can be said of the shims."""
    sets = list(installed(at.homes))
    if not sets:
        what = "no shims are installed"
        why = "scripts and makefiles are judged by their text only, not call by call; guard exec brings its own"
        yield Finding("shims-none", what, why, "guard shims install", ABSENT)
        return
    for home, kind in sets:
        yield from _whole(home, kind, at)
    yield from _reached([shims.directory(home, kind) for home, kind in sets], at)


def installed(homes: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The sets that stand below these homes: home and kind."""
    for home in homes:
        for kind in shims.SETS:
            if os.path.lexists(f"{shims.directory(home, kind)}/{search_path.MARKER}"):
                yield home, kind


def _whole(home: str, kind: str, at: Place) -> Iterator[Finding]:
    found = shims.status(kind, home, at.environ)
    bad = {shim.name: shim.state for shim in found if shim.state != "guards"}
    where = visible(shims.directory(home, kind))
    repair = "guard install --system" if home == RUNTIME else f"guard shims install{' --wide' * (kind == 'wide')}"
    outdated = set(bad.values()) == {"outdated"}
    if set(bad.values()) == {"passes"} and len(bad) == len(found):
        yield Finding("shims-off", f"the shims in {where} are uninstalled: they run the real tools", "", repair, ABSENT)
    elif outdated:
        yield Finding("shims-outdated", f"the shims in {where} are those of another version", "they still guard", repair, NOTE)
    elif bad:
        what = f"shims in {where} do not guard: {', '.join(f'{name} ({state})' for name, state in bad.items())}"
        yield Finding("shims-damaged", what, "these tools run unjudged", repair)
    else:
        yield Finding("shims-whole", f"{len(found)} shims stand in {where}", severity=FINE)


def _reached(directories: Sequence[str], at: Place) -> Iterator[Finding]:
    """Do this shell and a login shell find the shims first?"""
    environ = at.environ
    path = environ.get("PATH", search_path.PATH)
    entries = path.split(":")
    if not any(directory in entries for directory in directories):
        why = "what is started here is judged by its text only; guard exec and guard env put them there"
        yield Finding("shims-not-on-path", "the shims are not on PATH here", why, 'eval "$(guard env)"', NOTE)
        return
    hidden = {tool: found for tool in ASKED if (found := shutil.which(tool, path=path)) and not _shim(found)}
    if hidden:
        what = f"{_listed(hidden)}: {'they stand' if len(hidden) > 1 else 'it stands'} before the shims on PATH"
        yield Finding("shims-behind", what, "what is called by these names runs unjudged", 'eval "$(guard env)"')
    else:
        yield Finding("shims-first", "the shims come first on PATH here", severity=FINE)
    for shell, profiles in LOGIN.items() if not at.quick else ():
        if shutil.which(shell, path=path):
            there = [name for name in profiles if os.path.exists(f"{_start(environ)}/{name}")]
            yield from _login(shell, (there or [profiles[-1]])[0], environ)


def _login(shell: str, profile: str, environ: Mapping[str, str]) -> Iterator[Finding]:
    answers = asked(shell, environ)
    if answers is None:
        what = f"a login {shell} gives no answer within {PROBE:.0f} seconds"
        yield Finding("login-silent", what, "it cannot be told whether it passes by the shims", f"{shell} -lc true", NOTE)
        return
    passed = {tool: found for tool, found in answers.items() if found.startswith("/") and not _shim(found)}
    if passed:
        repair = f"echo 'eval \"$(guard env)\"' >> ~/{profile}"
        yield Finding("login-resets-path", f"a login {shell} sets PATH anew: {_listed(passed)}", PASSED, repair, NOTE)
    for tool, found in answers.items():
        if found in ("function", "alias"):
            why = f"{shell} runs that instead of the shim"
            yield Finding(
                "login-hides", f"{tool} is {_article(found)} in a login {shell}", why, f"{shell} -lc 'type {tool}'", NOTE
            )


def asked(shell: str, environ: Mapping[str, str]) -> dict[str, str] | None:
    """What a login shell takes each tool for: a path, "function", "alias"; None where it does not answer in time."""
    script = "; ".join(f"echo; echo guard-{tool}: $(command -V {tool})" for tool in ASKED)
    status, output = ask((shell, "-lc", script), environ, cwd=_start(environ))
    if status == -1:
        return None
    found = dict(re.findall(r"^guard-(\w+): (.*)$", output, re.MULTILINE))
    return {tool: kind for tool, text in found.items() if (kind := _kind(text))}


def _listed(tools: Mapping[str, str]) -> str:
    return ", ".join(f"{tool} is {visible(found)}" for tool, found in tools.items())


def _kind(text: str) -> str:
    """What the answer of `command -V` says that a name is."""
    if " function" in text:
        return "function"
    if " alias" in text:
        return "alias"
    path = re.search(r"(/[^\s()]*)\)?$", text)
    return path[1] if path else ""


def _shim(path: str) -> bool:
    return os.path.lexists(f"{os.path.dirname(path)}/{search_path.MARKER}")


def _start(environ: Mapping[str, str]) -> str:
    home = environ.get("HOME", "")
    return home if os.path.isdir(home) else "/"


def _article(kind: str) -> str:
    return f"{'an' if kind[:1] in 'aeiou' else 'a'} {kind}"
