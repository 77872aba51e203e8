"""View: the tree as the command itself has changed it so far, over the world that nobody has touched yet."""

from __future__ import annotations

import os
import stat

from guard.effects import CREATE, DELETE, EDIT, LEAVE, LINK, MOVE, OVERWRITE, REVERT, TRUNCATE, At, Below, Effect
from guard.paths import below, child, name, parent, physical, physical_parent
from guard.world import in_order

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import NamedTuple

    from guard.world import Budget, World
else:
    from guard.record import NamedTuple

FILE, DIRECTORY, SYMLINK, OTHER, GONE, REAL = "file", "directory", "symlink", "other", "gone", "real"


class Node(NamedTuple):
    """What stands at a path: `base` is the real path whose content is shown, `was` the real path that is lost with it."""

    kind: str
    base: str | None = None
    was: str | None = None
    content: bytes | None = None
    to: str = ""


_GONE = Node(GONE)


class View:
    """A World's tree with effects applied on top; cheap to fork, never written back.

    `notes` is what tools want to know of their own earlier calls (git: index, branches, stashes); the values are immutable.
    """

    def __init__(self, world: World, nodes: Mapping[str, Node] | None = None, notes: Mapping[str, object] | None = None) -> None:
        self.world = world
        self._nodes: dict[str, Node] = {}
        self._inside: dict[str, set[str]] = {}  # directory -> entries that are or hold nodes; may name some that no longer do
        self._above: dict[str, str] = {}  # directory -> the nearest node at or above it, "" for none
        self._leads: dict[str, str] = {}  # directory -> where it leads when every link is resolved
        self._steps: set[str] = set()  # the paths that those depend on
        for path, node in (nodes or {}).items():
            self._set(path, node)
        self.notes: dict[str, object] = dict(notes or {})

    @property
    def budget(self) -> Budget:
        """The budget of the whole judgement."""
        return self.world.budget

    @property
    def changed(self) -> bool:
        """True once an effect has been applied: what a tool says of the real tree may no longer hold."""
        return bool(self._nodes)

    def fork(self) -> View:
        """An independent view of the same state."""
        view = View(self.world, None, self.notes)
        view.become(self)
        return view

    def become(self, other: View) -> None:
        """Shows from now on what another view of the same world shows."""
        self._nodes = dict(other._nodes)
        self._inside = {directory: set(entries) for directory, entries in other._inside.items()}
        self._above, self._leads, self._steps = dict(other._above), dict(other._leads), set(other._steps)

    def shows(self, path: str) -> bool:
        """True when all that stands at a path is what really stands there: never touched, brought back, or copied back."""
        node = self.lookup(path)
        if node.kind == FILE and node.base is None:
            return node.content is not None and node.content == self.world.read(path)
        if node.kind in (GONE, SYMLINK) or node.base != path:
            return False
        return all(inner.base == at for at, inner in self._nodes.items() if at != path and below(at, path))

    def same(self, other: View) -> bool:
        """True when both show the same tree."""
        return self._nodes == other._nodes and self.notes == other.notes

    def touched(self, path: str) -> bool:
        """True when an effect has changed what stands at the path, below it, or in its place."""
        if not self._nodes:
            return False
        if path in self._nodes or any(True for _ in self._under(path)):
            return True
        while path != "/":
            path = parent(path)
            if path in self._nodes:
                return True
        return False

    def lookup(self, path: str) -> Node:
        """What stands at a path whose parent is physical."""
        if not self._nodes:
            return Node(REAL, path, path)
        if path in self._nodes:
            return self._nodes[path]
        above = self._cover(parent(path)) if path != "/" else ""
        if not above:
            return Node(REAL, path, path)
        node = self._nodes[above]
        if node.kind != DIRECTORY or node.base is None:
            return _GONE
        rest = path[len(above) :].lstrip("/")
        return Node(REAL, child(node.base, rest), child(node.was, rest) if node.was is not None else None)

    def _cover(self, directory: str) -> str:
        """The nearest node at or above a directory, "" for none; siblings ask the same again and again."""
        passed = []
        found = self._above.get(directory)
        while found is None:
            passed.append(directory)
            if directory in self._nodes or directory == "/":
                found = directory if directory in self._nodes else ""
            else:
                directory = parent(directory)
                found = self._above.get(directory)
        if passed:
            self._above |= dict.fromkeys(passed, found)
            self._steps.update(passed)
        return found

    def kind(self, path: str) -> str | None:
        """FILE, DIRECTORY, SYMLINK or OTHER, None where there is nothing. Does not follow a last symbolic link."""
        node = self.lookup(path)
        if node.kind != REAL:
            return None if node.kind == GONE else node.kind
        found = self.world.lstat(node.base or path)
        if found is None:
            return None
        mode = found.st_mode
        if stat.S_ISREG(mode):
            return FILE
        return DIRECTORY if stat.S_ISDIR(mode) else SYMLINK if stat.S_ISLNK(mode) else OTHER

    def exists(self, path: str) -> bool:
        """True when something stands at the path after following links."""
        return self.kind(physical(self, path)) is not None

    def is_dir(self, path: str) -> bool:
        """True when the path is a directory, or a link to one."""
        return self.kind(physical(self, path)) == DIRECTORY

    def lstat(self, path: str) -> os.stat_result | None:
        """The real status of what is shown here, None where nothing is or the command itself made it."""
        node = self.lookup(path)
        return self.world.lstat(node.base) if node.base is not None and node.kind != GONE else None

    def readlink(self, path: str) -> str | None:
        """Where a symbolic link points, None for anything else."""
        node = self.lookup(path)
        if node.kind == SYMLINK:
            return node.to
        return self.world.readlink(node.base) if node.kind == REAL and node.base is not None else None

    def listdir(self, path: str) -> list[str] | None:
        """The names in a directory, sorted as bytes; None where it is none or cannot be read."""
        if self.kind(path) != DIRECTORY:
            return None
        base = self.lookup(path).base
        listed = self.world.listdir(base) if base is not None else []
        if listed is None or path not in self._inside:
            return listed
        names = set(listed)
        for entry in self._inside[path]:
            if node := self._nodes.get(child(path, entry)):
                (names.discard if node.kind == GONE else names.add)(entry)
        return in_order(names)

    def scan(self, path: str) -> list[tuple[str, str]] | None:
        """The names in a directory as listdir has them, each with its kind; cheaper than asking for the kinds one by one."""
        if not self.touched(path):
            base = self.lookup(path).base
            return self.world.scan(base) if base is not None and self.kind(path) == DIRECTORY else None
        names = self.listdir(path)
        return None if names is None else [(n, kind) for n in names if (kind := self.kind(child(path, n))) is not None]

    def read(self, path: str) -> bytes | None:
        """The content of the regular file at a path (links followed); None where it cannot be told."""
        path = physical(self, path)
        node = self.lookup(path)
        if node.kind == FILE and node.base is None:
            return node.content
        return self.world.read(node.base) if node.kind in (FILE, REAL) and node.base is not None else None

    def walk(self, top: str) -> Iterator[tuple[str, str]]:
        """Every path at and below `top` with its kind, parents first; links are not followed."""
        kind = self.kind(top)
        if kind is None:
            return
        yield top, kind
        if kind == DIRECTORY:
            for entry in self.listdir(top) or ():
                yield from self.walk(child(top, entry))

    def at(self, path: str) -> str:
        """Where unlink and rename of an absolute path work."""
        directory, _, last = path.rpartition("/")
        if last in ("", ".", ".."):
            return physical_parent(self, path)
        return child(self._lead(directory), last)

    def _lead(self, directory: str) -> str:
        found = self._leads.get(directory)
        if found is None:
            found = self._leads[directory] = physical(_Steps(self, self._steps), directory)
        return found

    def through(self, path: str) -> str:
        """Where opening an absolute path works."""
        directory, _, last = path.rpartition("/")
        if last in ("", ".", ".."):
            return physical(self, path)
        place = child(self._lead(directory), last)
        return place if self.readlink(place) is None else physical(self, path)

    def originals(self, path: str) -> list[str]:
        """The real paths that are lost when what stands at and below `path` is lost."""
        found = []
        node = self.lookup(path)
        if node.was is not None:
            found.append(node.was)
        return found + [was for at in self._under(path) if (was := self._nodes[at].was) is not None]

    def apply(self, effect: Effect) -> None:
        """Makes the view show the tree after a certain effect. What is not certain or not exactly known changes nothing."""
        target = effect.target
        if not effect.certain:
            return
        if isinstance(target, Below) and effect.action == DELETE:
            self._clear(target.path)
            self._set(target.path, Node(DIRECTORY))
        if not isinstance(target, At):
            return
        path = target.path
        if effect.action == DELETE:
            self._clear(path)
            self._set(path, _GONE)
        elif (effect.action == MOVE and effect.to is not None) or (effect.action == LEAVE and effect.to is not None):
            self._move(path, effect.to)
        elif effect.action == LEAVE and effect.source is None and effect.content is None:
            self._clear(path)
            self._set(path, _GONE)
        elif effect.action in (OVERWRITE, EDIT, CREATE, TRUNCATE, REVERT, LEAVE):
            self._put(path, effect)
        elif effect.action == LINK and effect.to is not None:
            self._clear(path)
            self._set(path, Node(SYMLINK, to=effect.to))

    def make_dir(self, path: str) -> None:
        """Shows a new, empty directory."""
        self._clear(path)
        self._set(path, Node(DIRECTORY))

    def _clear(self, path: str) -> None:
        self._forget(path)
        self._nodes.pop(path, None)
        for at in list(self._under(path)) if path in self._inside else ():
            self._forget(at)
            del self._nodes[at]

    def _forget(self, path: str) -> None:
        """Drops what is remembered of directories, where it may depend on what stands at a path."""
        if path in self._steps:
            self._above.clear()
            self._leads.clear()
            self._steps.clear()

    def _set(self, path: str, node: Node) -> None:
        self._forget(path)
        self._nodes[path] = node
        while path != "/":
            above, entry = parent(path), name(path)
            entries = self._inside.setdefault(above, set())
            if entry in entries:
                return
            entries.add(entry)
            path = above

    def _under(self, path: str) -> Iterator[str]:
        """The paths of all nodes below a path."""
        todo = [path]
        while todo:
            above = todo.pop()
            for entry in self._inside.get(above, ()):
                at = child(above, entry)
                todo.append(at)
                if at in self._nodes:
                    yield at

    def _move(self, path: str, to: str) -> None:
        if below(to, path):
            return
        node = self._settled(path)
        inner = {at: self._nodes[at] for at in self._under(path)}
        self._clear(to)
        self._set(to, node)
        for at, n in inner.items():
            self._set(to + at[len(path) :], n)
        self._clear(path)
        self._set(path, _GONE)

    def _put(self, path: str, effect: Effect) -> None:
        was = self.lookup(path).was if effect.action != CREATE else None
        content = b"" if effect.action == TRUNCATE else effect.content
        base = None
        if effect.source is not None and content is None:
            node = self._settled(effect.source)
            if node.kind == DIRECTORY and effect.action == CREATE:
                copied = {at: self._nodes[at] for at in self._under(effect.source)}
                self._clear(path)
                self._set(path, node._replace(was=None))
                for at, n in copied.items():
                    self._set(path + at[len(effect.source) :], n._replace(was=None))
                return
            if node.kind == FILE:
                content, base = (node.content, None) if node.base is None else (None, node.base)
            else:
                content = self.read(effect.source)
                base = None if content is not None else node.base or effect.source
        self._clear(path)
        self._set(path, Node(FILE, base, was, content))

    def _settled(self, path: str) -> Node:
        node = self.lookup(path)
        if node.kind != REAL:
            return node
        kind = self.kind(path)
        if kind is None:
            return _GONE
        if kind == SYMLINK:
            return Node(SYMLINK, None, node.was, to=self.readlink(path) or "")
        return Node(kind, node.base, node.was)


class _Steps:
    """A view that notes which paths the resolving of one has looked at."""

    def __init__(self, view: View, steps: set[str]) -> None:
        self._view = view
        self._steps = steps

    def readlink(self, path: str) -> str | None:
        """Where a symbolic link points, None for anything else."""
        self._steps.add(path)
        return self._view.readlink(path)
