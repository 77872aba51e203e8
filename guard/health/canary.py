"""The canary: a temporary project with a protected directory, and a deletion of it on every way that is guarded.

Whatever is asked keeps its state in there, too, so that no log and no vault of the user's is touched.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from guard import git_hooks, sandbox, shim_data, shims
from guard.agents import inspection
from guard.agents.table import BEFORE, CLIENTS, SHELL
from guard.agents.wirings import WIRINGS
from guard.errors import GuardError
from guard.health.place import Place, ask
from guard.health.shims import installed
from guard.search_path import PATH, without
from guard.shown import visible

HELD = "held"  # the canary lives, and what is harmless runs
OPEN = "open"  # the canary is gone, or would be
BROKEN = "broken"  # the canary lives, but what is harmless is refused as well
ABSENT = "not installed"
FAILING = (OPEN, BROKEN)

PREFIX = "guard-selftest-"
CANARY, BUILD = "canary", "build"
FILES = {
    "guard.toml": '[protect]\nkeep = ["/canary/"]\n',
    f"{CANARY}/bird.md": "# a bird\nIt sings as long as it is there.\n",
    f"{BUILD}/main.o": "object\n",
}
HARM, HARMLESS = f"rm -rf {CANARY}", f"rm -rf {BUILD}"
PROGRAM = f"import shutil; shutil.rmtree({CANARY!r})"
SECONDS = 60.0  # for one trial
REFUSED, HOOK_REFUSED, SHIM_REFUSED, LOST_AND_RESTORED = 1, 2, 126, 4
MARKS = ("GUARD_EXEC", "GUARD_LOOP")  # inside of these the guard further out would look after the canary


@dataclass(frozen=True)
class Trial:
    """How one way stood the test: `layer`, `name` which one of it, `state` (above), `note` what was seen."""

    layer: str
    name: str
    state: str
    note: str = ""


@dataclass(frozen=True)
class Cage:
    """Where the canary lives: the project, and the environment of whatever is tried on it."""

    top: str
    environ: dict[str, str]

    def run(self, argv: Sequence[str], given: bytes = b"", **more: str) -> tuple[int, str]:
        """Exit status and output of a command in the project, its files fresh."""
        fill(self.top)
        return ask(argv, {**self.environ, **more}, SECONDS, self.top, given)

    @property
    def alive(self) -> bool:
        """Is the canary as it was?"""
        name = f"{CANARY}/bird.md"
        try:
            return Path(self.top, name).read_text() == FILES[name]
        except (OSError, ValueError):
            return False


def fill(top: str) -> None:
    """Writes the project's files, whatever has become of them."""
    for name, content in FILES.items():
        path = Path(top, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


@contextmanager
def cage(environ: Mapping[str, str]) -> Iterator[Cage]:
    """A project of the canary's own, gone afterwards. Raises OSError where there is no place for it."""
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as temporary:
        home = os.path.realpath(temporary)
        top = f"{home}/project"
        fill(top)
        if shutil.which("git") is not None:
            ask(("git", "init", "-q", top), _plain(environ))
        yield Cage(top, {**_plain(environ), "GUARD_STATE_DIR": f"{home}/state", "AI_AGENT": "selftest"})


def _plain(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without what would lead git elsewhere, or say that a guard further out is at work."""
    kept = {name: value for name, value in environ.items() if name not in MARKS and not name.startswith("GIT_")}
    return {**kept, "PATH": without(environ.get("PATH", PATH))}


def own() -> tuple[str, ...]:
    """The command line of this very guard."""
    start = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "hot", "start.py")
    return sys.executable, "-I", "-S", start


def trials(at: Place) -> Iterator[Trial]:
    """The trials of all layers, one after the other. Raises OSError where there is no place for the canary."""
    with cage(at.environ) as found:
        yield check(found)
        yield from hooks(found, at)
        yield from shimmed(found, at)
        yield git(found, at)
        yield exec_(found)
        yield sandboxed(found, at)
    for home, kind in installed(at.homes):
        shim_data.renew(shims.directory(home, kind))  # they have taken notice of the canary's project


def check(found: Cage) -> Trial:
    """`guard check`, as a person or a script calls it."""
    harm, said = found.run((*own(), "check", "--headless", "--", HARM))
    harmless, _ = found.run((*own(), "check", "--headless", "--", HARMLESS))
    return Trial("check", HARM, *_state(harm == REFUSED, harmless == 0, said))


def hooks(found: Cage, at: Place) -> Iterator[Trial]:
    """The hook of each client that is wired: the very command of its settings, started as the client does."""
    entries = {client: inspection.entries(client, at.environ, at.root or "") for client in CLIENTS}
    for client in filter(entries.get, entries):
        wanted = WIRINGS[client].blocking or ("plugin",)
        judging = {each.entry.command: each.entry.event for each in entries[client] if each.entry.event in wanted}
        for command, event in judging.items():
            yield hook(found, client, command, event)
        if not judging:
            yield Trial("agents", f"{client}: {HARM}", OPEN, "no entry of guard's is called before a tool runs")
    if not any(entries.values()):
        yield Trial("agents", HARM, ABSENT, "guard init")


def hook(found: Cage, client: str, command: str, event: str) -> Trial:
    """One command of a client's settings, given the payload of a deletion, then that of something harmless."""
    if command.startswith("file://"):
        launcher = f"{os.path.dirname(unquote(command.removeprefix('file://')))}/hook"
        argv: tuple[str, ...] = (launcher, client)
        event = next(name for name, phase in CLIENTS[client].events.items() if phase == BEFORE)
    else:
        argv = ("/bin/sh", "-c", command)
    harm, said = found.run(argv, payload(client, event, HARM, found.top))
    alive = found.alive
    harmless, _ = found.run(argv, payload(client, event, HARMLESS, found.top))
    return Trial("agents", f"{client}: {HARM}", *_state(alive and harm == HOOK_REFUSED, harmless == 0, said))


def payload(client: str, event: str, command: str, cwd: str) -> bytes:
    """What a client tells its hook before it gives a command to a shell, by its row."""
    row = CLIENTS[client]
    told: dict[str, object] = {
        row.event[0]: event, row.session[0]: "guard-selftest", row.call[0]: "guard-selftest", row.directory[0]: cwd,
    }  # fmt: skip
    if row.inline and event.startswith("before"):
        told |= dict.fromkeys(row.inline, command)
    else:
        shell = next(tool for tool, kind in row.tools.items() if kind == SHELL)
        told |= {row.tool[0]: shell, row.arguments[0]: {"command": command}}
    return json.dumps(told).encode()


def git(found: Cage, at: Place) -> Trial:
    """The hook of git that stands in the nearest project, without what it calls besides, in a repository of the canary's own."""
    name = f"git commit without {CANARY}"
    installed_at = _git_hook(at)
    if installed_at is None or shutil.which("git", path=found.environ["PATH"]) is None:
        return Trial("git", name, ABSENT, "guard init --git-hooks" if at.root else "no project here")
    fill(found.top)
    place = f"{found.top}/.git/hooks/pre-commit"
    os.makedirs(os.path.dirname(place), exist_ok=True)
    shutil.copy(installed_at, place)
    # Named, so that no other repository is meant where this one could not be made.
    here = ("git", f"--git-dir={found.top}/.git", f"--work-tree={found.top}")
    identity = (*here, "-c", "user.name=guard", "-c", "user.email=guard@example.invalid", "-c", "core.hooksPath=.git/hooks")
    for argv in (("add", "-A"), ("commit", "-qm", "start", "--no-verify"), ("rm", "-rqf", CANARY)):
        ask((*identity, *argv), found.environ, SECONDS, found.top)
    status, said = ask((*identity, "commit", "-qm", "harm"), found.environ, SECONDS, found.top)
    for argv in (("reset", "-q", "--hard"), ("rm", "-rqf", BUILD)):
        ask((*identity, *argv), found.environ, SECONDS, found.top)
    harmless, _ = ask((*identity, "commit", "-qm", "harmless"), found.environ, SECONDS, found.top)
    os.unlink(place)
    return Trial("git", name, *_state(status == REFUSED, harmless == 0, said))


def _git_hook(at: Place) -> str | None:
    """Where guard's own pre-commit hook stands, for the nearest project."""
    if at.root is None:
        return None
    try:
        path = git_hooks.place(at.root, at.environ).path("pre-commit")
        with open(path, "rb") as file:
            return path if git_hooks.MARK in file.read(git_hooks.READ_LIMIT) else None
    except (OSError, GuardError):
        return None


def shimmed(found: Cage, at: Place) -> Iterator[Trial]:
    """Each set that is installed, first on PATH, and `rm` called by its name."""
    sets = list(installed(at.homes))
    for home, kind in sets:
        directory = shims.directory(home, kind)
        yield shim(found, directory, kind)
    if not sets:
        yield Trial("shims", HARM, ABSENT, "guard shims install")


def shim(found: Cage, directory: str, kind: str) -> Trial:
    """One set of shims."""
    path = f"{directory}:{found.environ.get('PATH', PATH)}"
    harm, said = found.run(("/bin/sh", "-c", HARM), PATH=path)
    alive = found.alive
    harmless, _ = found.run(("/bin/sh", "-c", HARMLESS), PATH=path)
    return Trial("shims", f"{kind}: {HARM}", *_state(alive and harm == SHIM_REFUSED, harmless == 0, said))


def exec_(found: Cage) -> Trial:
    """`guard exec` around a program that deletes without calling any tool; its shims and runtime stand in the cage, too."""
    data = f"{os.path.dirname(found.top)}/data"
    status, said = found.run((*own(), "exec", "--", sys.executable, "-c", PROGRAM), XDG_DATA_HOME=data)
    good = found.alive and status == LOST_AND_RESTORED
    return Trial("exec", "a program deletes it; restored", *_state(good, True, said))


def sandboxed(found: Cage, at: Place) -> Trial:
    """The same program in a sandbox, which must not even get so far."""
    why = sandbox.available(at.environ)
    if why is not None:
        return Trial("sandbox", "a program deletes it", ABSENT, why)
    data = f"{os.path.dirname(found.top)}/data"
    argv = (*own(), "exec", "--sandbox=bwrap", "--", sys.executable, "-c", PROGRAM)
    status, said = found.run(argv, XDG_DATA_HOME=data)
    good = found.alive and status not in (0, LOST_AND_RESTORED)
    return Trial("sandbox", "a program deletes it; the kernel refuses", *_state(good, True, said))


def _state(good: bool, harmless: bool, said: str) -> tuple[str, str]:
    """What a trial comes to, with the last words of what was tried where it did not go well."""
    if good and harmless:
        return HELD, ""
    words = next((line for line in reversed(said.splitlines()) if line.strip()), "it said nothing")
    if good:
        return BROKEN, f"refused {HARMLESS} as well"
    return OPEN, visible(words)[:200]
