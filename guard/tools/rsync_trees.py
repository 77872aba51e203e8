"""Transfer: one run of rsync between two trees of this machine, walked side by side."""

from __future__ import annotations

from stat import S_ISREG

from guard.effects import CREATE, DELETE, EDIT, MOVE, OVERWRITE, At, Somewhere, join
from guard.overlay import DIRECTORY, FILE, SYMLINK
from guard.paths import below, child, parent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.tools.changes import Changes
    from guard.tools.options import Options
    from guard.tools.rsync_rules import Rules


class Transfer:
    """One call of rsync between two trees of this machine."""

    def __init__(self, changes: Changes, options: Options, rules: Rules) -> None:
        self.changes = changes
        self.view = changes.view
        self.options = options
        self.rules = rules
        archive = options.has("a")
        self.recursive = (archive or options.has("r")) and not options.has("no-recursive")
        self.links = (archive or options.has("l")) and not options.has("no-links")
        self.deletes = options.has("delete", "delete-excluded")
        self.moves = options.has("remove-source-files")
        self.backs_up = options.has("b") and not options.has("no-backup")
        self.top = "/"
        self.unsure = rules.unsure or options.has("files-from", "max-size", "min-size")

    def file(self, source: str, target: str, kind: str | None) -> None:
        """One file or link, to a path of the receiver."""
        options, view = self.options, self.view
        if kind == SYMLINK and options.has("L", "copy-unsafe-links"):
            source = view.through(source)
            kind = view.kind(source)
        there = view.kind(target)
        if (
            kind not in (FILE, SYMLINK)
            or (kind == SYMLINK and not self.links)
            or (there is not None and self._skips(source, target))
        ):
            return
        if there is None:
            self._new(source, target, kind)
        elif self._same(source, target):
            pass
        elif there == DIRECTORY:
            if not (options.has("force") or self.deletes or not view.listdir(target)):
                self.changes.fail(23)
                return
            self._add(DELETE, target)
            self._new(source, target, kind)
        else:
            self._over(source, target, kind)
        if self.moves and view.kind(source) is not None:
            self._add(MOVE, source, to=target)

    def _skips(self, source: str, target: str) -> bool:
        if self.options.has("ignore-existing"):
            return True
        ours, theirs = self.view.lstat(source), self.view.lstat(target)
        if ours is None or theirs is None:
            return False
        if self.options.has("append") and ours.st_size <= theirs.st_size:
            return True
        return self.options.has("u") and int(theirs.st_mtime) > int(ours.st_mtime)

    def _same(self, source: str, target: str) -> bool:
        """True when rsync takes the files for equal by their size and, to the second, their time."""
        if self.options.has("I", "c") or self.view.touched(source) or self.view.touched(target):
            return False
        ours, theirs = self.view.lstat(source), self.view.lstat(target)
        if self.view.kind(source) == SYMLINK:
            return self.view.readlink(source) == self.view.readlink(target)
        if (
            ours is None
            or theirs is None
            or ours.st_size != theirs.st_size
            or not (S_ISREG(ours.st_mode) and S_ISREG(theirs.st_mode))
        ):
            return False
        return self.options.has("size-only") or int(ours.st_mtime) == int(theirs.st_mtime)

    def _new(self, source: str, target: str, kind: str) -> None:
        if self.options.has("ignore-non-existing") or not self.view.is_dir(parent(target)):
            return
        if kind == SYMLINK:
            self.changes.link(At(target), self.view.readlink(source) or "", not self.unsure)
        else:
            self._add(CREATE, target, source=source)

    def _over(self, source: str, target: str, kind: str) -> None:
        if self.backs_up:
            self._backup(target)
        if kind == SYMLINK:
            self.changes.link(At(target), self.view.readlink(source) or "", not self.unsure)
        elif self.options.has("append"):
            self._add(EDIT, target)
        else:
            content, origin = self.changes.arriving(source)
            self.changes.add(OVERWRITE, At(target), not self.unsure, None, content, origin)

    def _backup(self, target: str) -> None:
        """The old file is moved aside: beside itself, or into a directory of backups below which it keeps its path."""
        directory, suffix = self.options.value("backup-dir"), self.options.value("suffix")
        to: str | None = target
        if directory is not None:
            place = directory if isinstance(directory, str) and directory.startswith("/") else join(self.top, "/", directory)
            where = self.changes.call.where(place)
            to = child(where, target[len(self.top) + 1 :]) if where is not None else None
        if to is not None:
            to += suffix if isinstance(suffix, str) else "~" if directory is None else ""
            if self.view.kind(to) not in (None, DIRECTORY):
                self.changes.add(OVERWRITE, At(to), not self.unsure, source=target)
        self.changes.add(MOVE, At(target), not self.unsure, to)

    def _add(self, action: str, path: str, to: str | None = None, source: str | None = None) -> None:
        self.changes.add(action, At(path), not self.unsure, to, None, source)

    def merge(self, sources: list[tuple[str, str]], target: str) -> None:
        """Directories of the sender (path, and its name from the top of the transfer) into one of the receiver."""
        view = self.view
        kept: set[str] = set()
        inner: dict[str, list[tuple[str, str]]] = {}
        there = view.kind(target)
        if there == SYMLINK and (self.options.has("K") or not any(top for _, top in sources)) and view.is_dir(target):
            target, there = view.through(target), DIRECTORY
        if there is not None and there != DIRECTORY:
            self._add(DELETE, target)
            there = None
        if there is None and not self._made(sources, target):
            return
        for source, top in sources:
            for entry in view.listdir(source) or ():
                if self._widens(source, target):
                    return
                path, shown = child(source, entry), f"{top}/{entry}" if top else entry
                kind = view.kind(path)
                if kind == SYMLINK and self.options.has("L", "k"):
                    kind = DIRECTORY if view.is_dir(path) else kind
                if self.rules.excludes(shown, kind == DIRECTORY, "s"):
                    continue
                kept.add(entry)
                if kind == DIRECTORY:
                    inner.setdefault(entry, []).append((view.through(path) if self.options.has("L", "k") else path, shown))
                else:
                    self.file(path, child(target, entry), kind)
        if self.deletes and there is not None:
            self.prune(target, sources[0][1], kept)
        for entry, found in inner.items():
            if self.recursive:
                self.merge(found, child(target, entry))

    def _widens(self, source: str | None, target: str) -> bool:
        """True when the trees are too large to be gone through: anything in them may then be hit."""
        if not self.changes.widens(DELETE if self.deletes else OVERWRITE, target):
            return False
        if self.moves and source is not None:
            self.changes.add(MOVE, Somewhere(source), certain=False)
        return True

    def _made(self, sources: list[tuple[str, str]], target: str) -> bool:
        """Makes a directory at the receiver; False where nothing below it needs a look."""
        if self.options.has("ignore-non-existing"):
            return False
        if len(sources) == 1 and not self.moves and not self.rules.rules and not self.unsure and self.links:
            if self.view.is_dir(parent(target)) and not below(target, sources[0][0]):
                self.changes.add(CREATE, At(target), source=sources[0][0])
            return False
        return self.changes.make_dir(target) and any(not below(target, source) for source, _ in sources)

    def prune(self, target: str, top: str, kept: set[str]) -> None:
        """What the receiver has and the sender has not goes, unless a rule protects it."""
        if self.options.value("max-delete") == "0":
            return
        sure = not self.unsure and not self.options.has("max-delete")
        for entry in self.view.listdir(target) or ():
            shown = f"{top}/{entry}" if top else entry
            path = child(target, entry)
            if entry in kept:
                continue
            if self._widens(None, target):
                return
            self._delete_one(path, shown, sure)

    def _delete_one(self, path: str, shown: str, sure: bool) -> bool:
        """Deletes a path as far as rules allow; True when it is gone."""
        directory = self.view.kind(path) == DIRECTORY
        if self.rules.excludes(shown, directory, "r"):
            return False
        if self.backs_up and not directory:
            suffix = self.options.value("suffix") or "~"
            if self.options.has("backup-dir") or not (isinstance(suffix, str) and path.endswith(suffix)):
                self._backup(path)
            return self.options.has("backup-dir")
        if not directory or not (self.rules.rules or self.backs_up):
            self.changes.add(DELETE, At(path), sure)
            return True
        inner = [self._delete_one(child(path, e), f"{shown}/{e}", sure) for e in self.view.listdir(path) or ()]
        if all(inner):
            self.changes.add(DELETE, At(path), sure)
        return all(inner)
