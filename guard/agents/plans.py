"""What `guard init`, `guard install` and `guard uninstall` are going to write, found out before the first byte is written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from guard.agents import changes, hook_commands, inspection, settings, wiring, writing
from guard.agents.changes import Change
from guard.agents.made import Made, untouched
from guard.agents.table import CLIENTS
from guard.agents.wirings import SYSTEM, TEAM, TOML, WIRINGS
from guard.errors import GuardError
from guard.git import Git


@dataclass(frozen=True)
class Where:
    """For whom wiring is planned: the scope, the environment, the project ("" for none), guard's home that commands name, what a
    committed command does without guard, and a directory that stands for / (tests, images that are put together elsewhere)."""

    scope: str
    environ: Mapping[str, str]
    root: str = ""
    home: str = ""
    missing: str = hook_commands.BLOCK
    prefix: str = ""

    @property
    def mode(self) -> int | None:
        """The mode of files that are written; None for the usual one."""
        return 0o644 if self.scope == SYSTEM else None


def chosen(names: Sequence[str], where: Where) -> list[str]:
    """The clients to be wired: those named, else those that this user has, else (system) all that have a place there.

    Raises GuardError for a name that is none, and for a client that cannot be wired in this scope.
    """
    for name in names:
        if name not in WIRINGS:
            raise GuardError(f"there is no client {name!r}", f"--agent {name}", f"name one of {', '.join(WIRINGS)}")
        if not wiring.places(name, where.scope):
            raise GuardError(f"{CLIENTS[name].title} {WITHOUT[where.scope]}", f"--agent {name}", "leave it out")
    if names:
        return list(dict.fromkeys(names))
    found = list(WIRINGS) if where.scope == SYSTEM else wiring.installed(where.environ)
    return [name for name in found if wiring.places(name, where.scope)]


WITHOUT = {
    TEAM: "has no settings that a team can commit; every member runs guard init",
    SYSTEM: "has no settings of the system that would hold for every user",
}


def wire(client: str, where: Where) -> Change:
    """The change of the file that a client's entries go into. Raises GuardError where it cannot be read or edited."""
    directory = wiring.base(client, where.scope, where.environ, where.root, where.prefix)
    if not directory:
        raise GuardError("HOME names no directory", todo="set it, or wire the system: guard install --system")
    path, format = wiring.target(client, where.scope, directory)
    real, before = changes.content(path)
    document = settings.read(path, format, before or b"")
    team = where.scope == TEAM
    texts = hook_commands.shared(client, where.missing) if team else hook_commands.commands(client, where.home)
    warn = team and where.missing == hook_commands.WARN
    secret = "" if team else os.urandom(6).hex()
    wired = wiring.wired(client, document, texts, warn, where.scope == SYSTEM, secret)
    same = before is not None and wired.value == document.value and before.strip(settings.MARK + b" \t\r\n")
    return Change(path, real, before, before if same else wired.data, where.scope, client, where.mode)


def file(path: str, text: str, where: Where) -> Change:
    """A file of guard's own, made where it is not there; what is there stays."""
    real, before = changes.content(path)
    return Change(path, real, before, text.encode() if before is None else before, where.scope, mode=where.mode)


def setting(path: str, table: str, key: str, value: object, where: Where) -> Change:
    """The change of a TOML file that sets one key. Raises GuardError where it cannot be read or edited."""
    real, before = changes.content(path)
    document = settings.read(path, TOML, before or b"")
    if document.get(table) is None:
        document = document.insert((table,), {key: value})
    elif document.get(table, key) != value:
        document = document.insert((table, key), value)
    return Change(path, real, before, document.data if before != document.data else before, where.scope, mode=where.mode)


def unwire(where: Where, record: Sequence[Made]) -> tuple[list[Change], list[str], list[str]]:
    """What takes the wiring of a scope away: the changes, what is to be said of files that stay, files that are done with.

    A file that only guard has written becomes what it was. Of any other, only guard's entries are taken out. Raises GuardError
    where a file with such entries cannot be read.
    """
    planned: dict[str, Change] = {}
    said: list[str] = []
    done: list[str] = []
    for made in record:
        if made.scope != where.scope or (made.scope == TEAM and not made.path.startswith(f"{where.root}/")):
            continue
        change, note = _reverted(made)
        done.append(made.real)
        said += [note] if note else []
        if change is not None:
            planned[change.real] = change
    for client in WIRINGS:
        for change in _cleared(client, where):
            if change.real not in planned:
                planned[change.real] = change
        for change, note in _copied(client, where):
            planned |= {change.real: change} if change is not None else {}
            said += [note] if note else []
    return [change for change in planned.values() if change.needed], said, done


def _reverted(made: Made) -> tuple[Change | None, str]:
    try:
        real, now = changes.content(made.path)
    except GuardError as error:
        return None, str(error)
    if now is None or real != made.real:
        return None, ""
    if untouched(made, now):
        if made.before is None and _tracked(real):
            return None, f"{made.path} stays: it is committed"
        return Change(made.path, real, now, made.before, made.scope, made.client), ""
    if made.client not in WIRINGS:
        return None, f"{made.path} stays: it has been edited"
    after: bytes | None = _without_entries(made.client, made.path, now)
    if made.before is None and after is not None and _says_nothing(made.client, made.path, after):
        after = None
    return Change(made.path, real, now, after, made.scope, made.client), ""


def _cleared(client: str, where: Where) -> Iterator[Change]:
    """Changes of files that no record knows of."""
    for source in inspection.sources(client, where.environ, where.root, where.prefix):
        if source.scope == where.scope and source.ours:
            real, now = changes.content(source.path)
            if now is not None:
                yield Change(source.path, real, now, _without_entries(client, source.path, now), where.scope, client)


def _copied(client: str, where: Where) -> Iterator[tuple[Change | None, str]]:
    """The removal of copies that a client has made of settings that were guard's alone; of others it is said that they stay."""
    directory = wiring.base(client, where.scope, where.environ, where.root, where.prefix)
    for place in wiring.places(client, where.scope) if directory else ():
        for ending in WIRINGS[client].copies:
            path = os.path.join(directory, place.path + ending)
            try:
                real, now = changes.content(path)
                if now is None or hook_commands.HOOK.encode() not in now:
                    continue
                document = wiring.unwired(client, settings.read(path, place.format, now))
            except GuardError:
                continue
            nothing = wiring.says_nothing(client, document)
            note = f"{path} stays: it is a copy that {CLIENTS[client].title} has made of settings with guard's entries"
            yield (Change(path, real, now, None, where.scope, client), "") if nothing else (None, note)


def _without_entries(client: str, path: str, now: bytes) -> bytes:
    document = settings.read(path, format_of(client, path), now)
    unwired = wiring.unwired(client, document)
    return now if unwired.value == document.value else unwired.data


def _says_nothing(client: str, path: str, data: bytes) -> bool:
    return wiring.says_nothing(client, settings.read(path, format_of(client, path), data))


def format_of(client: str, path: str) -> str:
    """The format of one of a client's files."""
    row = WIRINGS[client]
    known = [place for group in (row.me, row.team, row.system, *row.read.values()) for place in group]
    return next((place.format for place in known if path.endswith(f"/{place.path}")), "json")


def _tracked(path: str) -> bool:
    """Is a file committed, or about to be, in the repository around it?"""
    top = os.path.dirname(path)
    while top != "/" and not os.path.lexists(f"{top}/.git"):
        top = os.path.dirname(top)
    return top != "/" and bool(Git(top).line("ls-files", "--", os.path.relpath(path, top)))


def undone(record: Iterable[Made], taken: Iterable[str]) -> None:
    """Removes the directories that were made for files that are gone again."""
    gone = set(taken)
    writing.prune({each for made in record if made.real in gone and not os.path.lexists(made.real) for each in made.directories})
