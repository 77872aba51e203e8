"""One attempt at a commit or push: what it is, so that it may be made again, and whose configuration it is judged by."""

from __future__ import annotations

import os

from guard import project
from guard.commits.git import tail
from guard.paths import child, parent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from guard.commits.changes import Change
    from guard.commits.git import Git

_CONFIG = "config.toml"  # in a directory of configuration
_LETTERS = 16  # bytes of a name


def attempt(git: Git, top: str, change: Change, state: str | None) -> str:
    """A name for what a change does to a commit, always the same for the same; "" where nothing could have been let pass.

    git may give up after the hook has let it go on: no message, no connection. A commit that did come about has another name when
    somebody makes it once more, even where HEAD was taken back in between.
    """
    if not state or not os.path.isdir(f"{state}/grants"):
        return ""
    from hashlib import blake2b

    base = change.source or git.commit("HEAD")
    told = "" if change.source else _made(git, base)
    named = (top, base, told, change.allowed, sorted(change.found))
    return blake2b(repr(named).encode("utf-8", "surrogateescape"), digest_size=_LETTERS).hexdigest()


def vouched(environ: Mapping[str, str]) -> Mapping[str, str] | None:
    """The environment with the user's configuration where the outermost agent above was started with it, else the account has it.

    None where that is where it leads anyway, or neither place has any.
    """
    own = project.config_dir(environ)
    from guard import anchor

    above = anchor.agents()
    places = [project.config_dir(each) for each in ([above] if above else anchor.accounts())]
    named = next((place for place in places if place is not None), None)
    if named is None or own in places or not any(os.path.lexists(child(place, _CONFIG)) for place in (own, named) if place):
        return None
    return {**environ, "XDG_CONFIG_HOME": parent(named)}


def _made(git: Git, base: str) -> str:
    """The lines of HEAD's own log that begin at a commit: each is a commit, or another move, that came about."""
    start = os.fsencode(base) + b" "
    lines = tail(child(git.git_dir(), "logs/HEAD")).split(b"\n")
    return os.fsdecode(b"\n".join(line for line in lines if line.startswith(start)))
