"""What earlier git commands of the same command line have done to a repository: HEAD, refs, index, stashes, settings."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import NamedTuple

    from guard.tools.git.index import Entry
    from guard.tools.git.questions import Item
else:
    from guard.record import NamedTuple

MADE = "made:"  # how the ids of commits and contents begin that exist only once the command has run


SHARED = ("refs", "commits", "stashes", "dropped", "config", "serial")  # what all work trees of a repository have in common


class Commit(NamedTuple):
    """A commit that the command line makes."""

    tree: Mapping[str, Item]
    parents: tuple[str, ...]


class Saved(NamedTuple):
    """One file in a stash that the command line makes.

    `place` is where a view keeps the file that left the tree, or a copy of the content that did. `moved` tells which.
    """

    path: str
    blob: str
    place: str
    moved: bool


class Stash(NamedTuple):
    """A stash that the command line makes: the files it saved, those gone from the work tree, and the tree it is based on."""

    files: tuple[Saved, ...]
    gone: tuple[str, ...]
    base: Mapping[str, Item]


class State(NamedTuple):
    """Changes against the real repository; None and empty mean: as it is there.

    `head` is a full ref name or a commit's id; `refs` maps full names to ids, "" for a deleted one. `earlier` are the commits
    that HEAD stood at before, newest first, `branches` what was checked out before. `dropped` counts the real stashes that went.
    `entries` is the index. `left` maps (path, content's id) to where a view keeps a file that left the tree with its branch.
    """

    head: str | None = None
    refs: Mapping[str, str] = {}
    commits: Mapping[str, Commit] = {}
    entries: Mapping[str, Entry] | None = None
    stashes: tuple[Stash, ...] = ()
    dropped: int = 0
    earlier: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    config: Mapping[str, str] = {}
    left: Mapping[tuple[str, str], str] = {}
    serial: int = 0
    new: bool = False  # made by this command line: nothing in it was there before
    merging: bool = False
    fresh: bool = False  # a command has refreshed what the index knows of the files

    def reachable(self, head: bool) -> Iterator[Commit]:
        """The commits made here that a ref still holds, or (`head`) HEAD where it is on no branch."""
        todo = [value for value in (*self.refs.values(), (self.head if head else None) or "") if value in self.commits]
        seen = set()
        while todo:
            name = todo.pop()
            if name not in seen:
                seen.add(name)
                yield self.commits[name]
                todo += [parent for parent in self.commits[name].parents if parent in self.commits]

    def holds(self, path: str, blob: str, head: bool = True) -> bool:
        """True when a commit or stash made here, and still to be had, has this content at this path."""
        for commit in self.reachable(head):
            item = commit.tree.get(path)
            if item is not None and item.blob == blob:
                return True
        return any(saved.path == path and saved.blob == blob for stash in self.stashes for saved in stash.files)
