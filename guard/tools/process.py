"""Process: what the file functions of a programming language do, whichever language it is."""

from __future__ import annotations

import os

from guard.effects import (
    CREATE,
    DELETE,
    EDIT,
    LINK,
    MOVE,
    OVERWRITE,
    TRUNCATE,
    Analysis,
    At,
    Below,
    Effect,
    Pattern,
    Target,
    Text,
    Unknown,
    join,
)
from guard.overlay import DIRECTORY, FILE, OTHER, SYMLINK
from guard.paths import parent
from guard.tools.call import Call, analysis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

CONTENT_LIMIT = 1 << 20  # bytes; longer contents count as not known


class Process:
    """A program that an interpreter runs: its directory and variables, its deeds, and whether the next deed is certain.

    The file functions answer True where the function surely works, False where it surely fails (the language raises
    then), None where that is not known. In a program that stands in a file, deleting what an argument names is normal;
    there only paths whose beginning is known are reported (`inline` is False).
    """

    def __init__(self, call: Call, inline: bool = True) -> None:
        self.inline = inline
        self.certain = True
        self.env: dict[str, Text] = dict(call.env)
        self.found: list[Effect | Unknown] = []
        self.output: list[Text] = []
        self.here = call if call.emit is not None else call._replace(view=call.view.fork())

    def emit(self, item: Effect | Unknown) -> None:
        """Records what happens, and lets everything that follows see it."""
        if isinstance(item, Effect) and not self.certain:
            item = item._replace(certain=False)
        if self.here.emit is not None:
            self.here.emit(item)
            return
        self.found.append(item)
        if isinstance(item, Effect):
            self.here.view.apply(item)

    def result(self, status: int | None = None) -> Analysis:
        """The analysis of the whole program."""
        return analysis(self.found, join(*self.output), status)

    def unlink(self, path: Text) -> bool | None:
        """One name that is no directory goes."""
        target = self.here.at(path)
        if not isinstance(target, At):
            return self._somewhere(DELETE, path, target)
        if self.here.view.kind(target.path) in (None, DIRECTORY):
            return False
        self.emit(Effect(DELETE, target))
        return True

    def rmdir(self, path: Text) -> bool | None:
        """An empty directory goes."""
        target = self.here.at(path)
        if not isinstance(target, At):
            return None
        if self.here.view.kind(target.path) != DIRECTORY or self.here.view.listdir(target.path):
            return False
        self.emit(Effect(DELETE, target))
        return True

    def rmtree(self, path: Text) -> bool | None:
        """A directory goes with all that is below it."""
        target = self.here.at(path)
        if not isinstance(target, At):
            return self._somewhere(DELETE, path, target)
        if self.here.view.kind(target.path) != DIRECTORY:
            return False
        self.emit(Effect(DELETE, target))
        return True

    def remove(self, path: Text) -> bool | None:
        """Whatever stands at the path goes, a directory with all that is below it."""
        target = self.here.at(path)
        if not isinstance(target, At):
            return self._somewhere(DELETE, path, target)
        if self.here.view.kind(target.path) is None:
            return False
        self.emit(Effect(DELETE, target))
        return True

    def empty(self, path: Text) -> bool | None:
        """All that is below a directory goes."""
        target = self.here.inside(path)
        if not isinstance(target, Below):
            return self._somewhere(DELETE, path, target)
        if self.here.view.kind(target.path) != DIRECTORY:
            return False
        self.emit(Effect(DELETE, target))
        return True

    def rename(self, path: Text, to: Text) -> bool | None:
        """rename(2): what stands at `to` is replaced."""
        source, goal = self.here.at(path), self.here.at(to)
        if not isinstance(source, At):
            self._somewhere(MOVE, path, source)
            self._over(to, goal)
            return None
        kind = self.here.view.kind(source.path)
        if kind is None:
            return False
        if not isinstance(goal, At):
            self.emit(Effect(MOVE, source))
            return None
        return self._rename(source, kind, goal)

    def move(self, path: Text, to: Text) -> bool | None:
        """As mv does it: into `to` where that is a directory."""
        return self.rename(path, self.into(to, path))

    def copy(self, path: Text, to: Text) -> bool | None:
        """A file's content comes to stand at `to`, or in the directory `to`."""
        target = self.here.through(self.into(to, path))
        source = self.here.where(path)
        if source is None:
            return self._over(to, target)
        if self.here.view.kind(source) != FILE:
            return False
        if not isinstance(target, At):
            return self._somewhere(OVERWRITE, to, target)
        if target.path == source:
            return False
        return self._put(target, self._known(source), source)

    def copytree(self, path: Text, to: Text, merge: bool = False) -> bool | None:
        """A directory with all that is below it is copied to `to`, which may exist only where `merge` is True."""
        source, goal = self.here.where(path), self.here.where(to)
        view = self.here.view
        if source is None or goal is None:
            return None
        if view.kind(source) != DIRECTORY or (view.kind(goal) is not None and not merge):
            return False
        if view.kind(goal) is None:
            self.emit(Effect(CREATE, At(goal), source=source))
            return True
        for place, kind in list(view.walk(source)):
            if kind == FILE:
                at = view.through(goal + place[len(source) :])
                self._put(At(at), self._known(place), place)
        return True

    def write(self, path: Text, content: bytes | None, derived: bool = False) -> bool | None:
        """The file gets a new content as a whole; `derived` when an unknown content was made from the old one."""
        target = self.here.through(path)
        if not isinstance(target, At):
            return self._over(path, target)
        if derived and content is None and self.here.view.kind(target.path) == FILE:
            self.emit(Effect(EDIT, target))
            return True
        return self._put(target, content)

    def edit(self, path: Text, content: bytes | None) -> bool | None:
        """The file is changed in place."""
        target = self.here.through(path)
        if not isinstance(target, At):
            return None
        kind = self.here.view.kind(target.path)
        if kind == FILE:
            self.emit(Effect(EDIT if content != b"" else TRUNCATE, target, content=_short(content)))
        return kind not in (None, DIRECTORY)

    def append(self, path: Text, content: bytes | None) -> bool | None:
        """Something is added to the file's end; it is made where there is none."""
        target = self.here.through(path)
        if not isinstance(target, At):
            return None
        if self.here.view.kind(target.path) is None:
            return self._put(target, content)
        old = self.here.view.read(target.path)
        return self.edit(path, None if old is None or content is None else old + content)

    def truncate(self, path: Text, size: int | None) -> bool | None:
        """The file is cut to a size."""
        target = self.here.through(path)
        if not isinstance(target, At):
            return self._over(path, target)
        if self.here.view.kind(target.path) != FILE:
            return False
        old = self.here.view.read(target.path)
        if size == 0 or size is None:
            self.emit(Effect(TRUNCATE, target))
        elif old is None or size < len(old):
            self.emit(Effect(OVERWRITE, target, content=None if old is None else old[:size]))
        return True

    def touch(self, path: Text) -> bool | None:
        """The file is made where there is none."""
        target = self.here.through(path)
        if isinstance(target, At) and self.here.view.kind(target.path) is None:
            return self._put(target, b"")
        return True

    def symlink(self, to: Text, path: Text) -> bool | None:
        """A symbolic link is made; fails where something is."""
        target = self.here.at(path)
        if not isinstance(target, At) or not isinstance(to, str):
            return None
        if self.here.view.kind(target.path) is not None:
            return False
        self.emit(Effect(LINK, target, to=to))
        return True

    def link(self, source: Text, path: Text) -> bool | None:
        """A hard link is made; fails where something is."""
        target, origin = self.here.at(path), self.here.at(source)
        if not isinstance(target, At) or not isinstance(origin, At):
            return None
        if self.here.view.kind(target.path) is not None or self.here.view.kind(origin.path) in (None, DIRECTORY):
            return False
        self.emit(Effect(CREATE, target, source=origin.path))
        return True

    def mkdir(self, path: Text, parents: bool = False) -> bool | None:
        """A directory is made, with those above it where `parents` is True."""
        target = self.here.at(path)
        if not isinstance(target, At):
            return None
        missing = []
        at = target.path
        while self.here.view.kind(at) is None and at != "/":
            missing.append(at)
            at = parent(at)
        if not missing or not self.here.view.is_dir(at) or (len(missing) > 1 and not parents):
            return False
        if self.certain:
            for at in reversed(missing):
                self.here.view.make_dir(at)
        return True

    def chdir(self, path: Text) -> bool | None:
        """The directory for everything that follows."""
        where = self.here.path(path)
        if isinstance(where, str) and not self.here.view.is_dir(where):
            return False
        self.here = self.here._replace(cwd=self.here.view.through(where) if isinstance(where, str) else where)
        return True

    def run(
        self, argv: tuple[Text, ...], cwd: Text | None = None, env: Mapping[str, Text] | None = None, stdin: Text | None = None
    ) -> Analysis:
        """An argument vector as a child."""
        if not argv:
            return Analysis()
        where = self.here.cwd if cwd is None else self.here.path(cwd)
        return self.here.run(argv, cwd=where, env=self.env if env is None else env, stdin=stdin)

    def shell(
        self,
        text: Text,
        args: tuple[Text, ...] = (),
        cwd: Text | None = None,
        env: Mapping[str, Text] | None = None,
        stdin: Text | None = None,
    ) -> Analysis:
        """A text as a shell's child."""
        if text == "":
            return Analysis(status=0)
        where = self.here.cwd if cwd is None else self.here.path(cwd)
        return self.here.shell(text, args, cwd=where, env=self.env if env is None else env, stdin=stdin)

    def into(self, to: Text, path: Text) -> Text:
        """Where a thing of that path lands: in `to` when that is a directory, else at `to`."""
        if not self.here.is_dir(to):
            return to
        last = path if isinstance(path, str) else path.suffix
        return join(to, "/", last.rstrip("/").rpartition("/")[2]) if last else to

    def reportable(self, path: Text) -> bool:
        """True where a deed at a path that is not quite known is worth a question."""
        return isinstance(path, str) or bool(self.inline or path.prefix.strip("./"))

    def _rename(self, source: At, kind: str, goal: At) -> bool:
        view = self.here.view
        taken = view.kind(goal.path)
        if source.path == goal.path:
            return True
        if taken == DIRECTORY and (kind != DIRECTORY or view.listdir(goal.path)):
            return False
        if taken not in (None, DIRECTORY):
            if kind == DIRECTORY:
                return False
            if kind == SYMLINK:
                self.emit(Effect(LINK, goal, to=view.readlink(source.path)))
            elif taken != OTHER:
                self.emit(Effect(OVERWRITE, goal, content=self._known(source.path), source=source.path))
        if not view.is_dir(parent(goal.path)):
            return False
        self.emit(Effect(MOVE, source, to=goal.path))
        return True

    def _put(self, target: At, content: bytes | None, source: str | None = None) -> bool:
        kind = self.here.view.kind(target.path)
        if kind == DIRECTORY or (kind is None and not self.here.view.is_dir(parent(target.path))):
            return False
        if kind is None:
            self.emit(Effect(CREATE, target, content=_short(content), source=source))
        elif kind == FILE and content == b"":
            self.emit(Effect(TRUNCATE, target))
        elif kind == FILE:
            self.emit(Effect(OVERWRITE, target, content=_short(content), source=source))
        return True

    def _known(self, path: str) -> bytes | None:
        return self.here.view.read(path) if self.here.view.kind(path) == FILE else None

    def _somewhere(self, action: str, path: Text, target: Target) -> bool | None:
        if self.reportable(path):
            self.emit(Effect(action, target, certain=False))
        return None

    def _over(self, path: Text, target: Target) -> bool | None:
        """Something is written to a path of which a part is known; a wholly unknown one is left to the other layers."""
        if isinstance(target, At):
            if self.here.view.kind(target.path) == FILE:
                self.emit(Effect(OVERWRITE, target))
        elif isinstance(path, Pattern) and (path.prefix.strip("./") or (self.inline and path.suffix.strip("./"))):
            self.emit(Effect(OVERWRITE, target, certain=False))
        return None


def passed(result: Analysis) -> Analysis:
    """What a model returns that only runs something else: the effects of that are on record already."""
    return Analysis(output=result.output, status=result.status)


def _short(content: bytes | None) -> bytes | None:
    return content if content is not None and len(content) <= CONTENT_LIMIT else None


def entries(process: Process, path: Text, limit: int = 20_000) -> list[str] | None:
    """The names in a directory, None where that is not known."""
    where = process.here.where(path)
    names = None if where is None else process.here.view.listdir(where)
    return None if names is None or len(names) > limit else names


def encode(text: str) -> bytes:
    """Text as a program writes it."""
    try:
        return os.fsencode(text)
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def decode(data: bytes) -> str:
    """Bytes as a program reads them."""
    return data.decode("utf-8", "surrogateescape")
