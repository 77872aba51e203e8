"""Which loop is meant: by its id, its second name, or a directory of its tree."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from guard.errors import GuardError
from guard.loop import whereabouts
from guard.loop.identity import LOOPS, place, top_of

if TYPE_CHECKING:
    from guard.loop.state import State
from guard.shown import visible

TOLD = 12  # loops that an error names


@dataclass(frozen=True)
class Place:
    """One loop: its tree ("" where only the state is known), and its directory in the state."""

    top: str
    directory: str

    @property
    def name(self) -> str:
        """The loop's id."""
        return os.path.basename(self.directory)

    @property
    def state_dir(self) -> str:
        """The state directory that it stands in."""
        return os.path.dirname(os.path.dirname(self.directory))


def named(tree: str | None, directory: str | None, everything: bool = False) -> list[Place]:
    """The loops that are meant. Raises GuardError where there is no such thing, and for a name that more than one has."""
    given = os.path.join(directory or "", tree or "") or "."
    state = whereabouts.known(os.environ, top_of(directory or "."))
    if everything:
        return [_known(state, name) for name in known(state)]
    if tree is not None and "/" not in tree and tree not in (".", ".."):
        if tree in known(state):
            return [_known(state, tree)]
        found = [name for name in known(state) if _label(state, name) == tree]
        if len(found) > 1:
            raise GuardError(f"{len(found)} loops have this name", visible(tree), f"give an id: {', '.join(found[:TOLD])}")
        if found:
            return [_known(state, found[0])]
    if not os.path.isdir(given):
        raise GuardError("there is no such loop, and no such directory", visible(given), _there(state))
    top = top_of(given)
    return [Place(top, place(whereabouts.known(os.environ, top), top))]


def state_dir(directory: str | None) -> str:
    """The state directory whose gate is meant: that of the tree around."""
    return whereabouts.writable(os.environ, top_of(directory or "."))


def several(trees: tuple[str, ...], directory: str | None, everything: bool) -> list[Place]:
    """The loops that are meant, each once; that of the tree around where none is named. Raises GuardError."""
    if everything and trees:
        raise GuardError("all loops and single ones are named", "--all", "name either")
    if everything or not trees:
        return named(None, directory, everything)
    found = [place for tree in trees for place in named(tree, directory)]
    return list({place.directory: place for place in found}.values())


def known(state: str) -> list[str]:
    """The ids of the loops that have a state."""
    try:
        return sorted(entry.name for entry in os.scandir(f"{state}/{LOOPS}") if entry.is_dir())
    except OSError:
        return []


def check_label(label: str) -> None:
    """Raises GuardError for a second name that could be taken for something else."""
    plain = label.replace("-", "").replace("_", "").replace(".", "")
    if not label.isascii() or not plain.isalnum() or len(label) > 60 or label.startswith(("-", ".")):
        raise GuardError(f"{visible(label)!r} is no name", "--name", "use at most 60 letters, digits, '-', '_' and '.'")


def _there(state: str) -> str:
    """What there is instead."""
    names = known(state)
    shown = [f"{name} ({label})" if (label := _label(state, name)) else name for name in names[:TOLD]]
    return f"there are: {', '.join(shown)}{', ...' if len(names) > TOLD else ''}" if shown else "no loop has run yet"


def _known(state: str, name: str) -> Place:
    found = _peeked(f"{state}/{LOOPS}/{name}")
    return Place(found.root if found is not None else "", f"{state}/{LOOPS}/{name}")


def _label(state: str, name: str) -> str:
    found = _peeked(f"{state}/{LOOPS}/{name}")
    return found.label if found is not None else ""


def _peeked(directory: str) -> State | None:
    try:
        from guard.loop import store  # the machine takes a while to load, and few loops are named

        return store.peek(directory)
    except GuardError:
        return None
