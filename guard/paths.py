"""Paths as the kernel walks them: what a call that opens, unlinks or renames a path really touches."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Links(Protocol):
        """What resolving needs of a tree (World and View have it)."""

        def readlink(self, path: str) -> str | None:
            """Where a symbolic link points, None for anything else."""
            ...


LINK_LIMIT = 40  # symbolic links on one path, as Linux has it


def parent(path: str) -> str:
    """The directory part of an absolute path without trailing slash; "/" for "/"."""
    return path[: path.rindex("/")] or "/"


def name(path: str) -> str:
    """The last component of an absolute path."""
    return path[path.rindex("/") + 1 :]


def below(path: str, directory: str) -> bool:
    """True when `path` is `directory` or lies below it (both absolute and normal)."""
    return path == directory or path.startswith(directory if directory == "/" else directory + "/")


def lineage(path: str) -> list[str]:
    """An absolute path and all directories above it."""
    found = [path]
    while path != "/":
        path = parent(path)
        found.append(path)
    return found


def child(directory: str, entry: str) -> str:
    """The path of an entry of a directory."""
    return directory + entry if directory == "/" else f"{directory}/{entry}"


def physical(tree: Links, path: str) -> str:
    """The absolute path with every symbolic link resolved, the last component's too. Parts that do not exist stay as they are.

    A loop of links stays unresolved from where the limit is reached, as nothing can be opened there.
    """
    return _walk(tree, path, follow_last=True)


def physical_parent(tree: Links, path: str) -> str:
    """The absolute path with its parent resolved and the last component left alone: what unlink and rename touch.

    A trailing slash, "." and ".." follow the last component too, as for the kernel.
    """
    last = path.rpartition("/")[2]
    return _walk(tree, path, follow_last=last in ("", ".", ".."))


def _walk(tree: Links, path: str, follow_last: bool) -> str:
    todo = path.split("/")[::-1]
    done = ""
    links = 0
    while todo:
        part = todo.pop()
        if part in ("", "."):
            continue
        if part == "..":
            done = done[: done.rindex("/")] if done else ""
            continue
        here = f"{done}/{part}"
        if (follow_last or any(p not in ("", ".") for p in todo)) and links <= LINK_LIMIT:
            to = tree.readlink(here)
            if to is not None:
                links += 1
                todo += to.split("/")[::-1]
                if to.startswith("/"):
                    done = ""
                continue
        done = here
    return done or "/"
