"""patch: the files that a patch changes, deletes and renames, with GNU patch's choice of names and its refusals."""

from __future__ import annotations

from guard.effects import DELETE, EDIT, OVERWRITE, Analysis, At, Pattern, Text
from guard.overlay import FILE
from guard.tools.call import analysis
from guard.tools.changes import Changes
from guard.tools.options import Options, Table, parse
from guard.tools.patch import ADD, COPY, MODIFY, REMOVE, RENAME, Change, applied, changes, headless, reversed_
from guard.tools.reading import decoded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.tools.call import Call

TABLE = Table(
    flags="bceflNnRstTuvZE",
    values="BdDFgiopVrxYz",
    long={
        "backup": "", "prefix": "=", "context": "", "directory": "=", "ifdef": "=", "ed": "", "remove-empty-files": "",
        "force": "",
        "fuzz": "=", "get": "=", "help": "", "input": "=", "ignore-whitespace": "", "normal": "", "forward": "", "output": "=",
        "strip": "=", "quoting-style": "=", "reject-file": "=", "reject-format": "=", "reverse": "", "silent": "", "quiet": "",
        "batch": "", "set-time": "", "unified": "", "version": "", "version-control": "=", "debug": "=", "basename-prefix": "=",
        "suffix": "=", "set-utc": "", "dry-run": "", "verbose": "", "binary": "", "posix": "", "merge": "?",
        "no-backup-if-mismatch": "",
        "backup-if-mismatch": "", "follow-symlinks": "", "read-only": "=",
    },
    same={
        "backup": "b", "prefix": "B", "directory": "d", "ed": "e", "remove-empty-files": "E", "force": "f", "input": "i",
        "forward": "N", "output": "o", "strip": "p", "reject-file": "r", "reverse": "R", "silent": "s", "quiet": "s",
        "batch": "t",
        "unified": "u", "context": "c", "normal": "n", "version": "v", "suffix": "z", "version-control": "V", "fuzz": "F",
        "basename-prefix": "Y", "ifdef": "D", "ignore-whitespace": "l", "get": "g", "debug": "x", "set-time": "T", "set-utc": "Z",
    },
)  # fmt: skip


def patch(call: Call) -> Analysis:
    """What patch would do."""
    options = parse(call.argv[1:], TABLE)
    if options.has("help", "v", "dry-run") or options.strange or len(options.operands) > 2:
        return analysis(status=None)
    directory = options.value("d")
    if directory is not None:
        if isinstance(directory, str) and not call.is_dir(directory):
            return analysis(status=2)
        call = call._replace(cwd=call.path(directory))
    source = options.value("i") or (options.operands[1] if len(options.operands) > 1 else "-")
    run = _Run(call, options)
    text = _text(call, source)
    if text is None:
        run.unknown()
    elif text:
        run.apply(text)
    return run.changes.result(status=None)


def _text(call: Call, source: Text) -> str | None:
    """The patch; None where there is one that is not known."""
    if source == "-":
        return "" if call.stdin is None else call.stdin if isinstance(call.stdin, str) else None
    data = call.read(source)
    if data is None:
        return None if call.exists(source) or isinstance(call.path(source), Pattern) else ""
    return decoded(data)


class _Run:
    """One call of patch while it is worked out."""

    def __init__(self, call: Call, options: Options) -> None:
        self.changes = Changes(call)
        self.options = options
        self.operand = options.operands[0] if options.operands else None

    def unknown(self) -> None:
        """A patch that nobody has seen may change the named file, or any below."""
        if self.operand is not None:
            self.changes.add(EDIT, self.changes.call.through(self.operand), certain=False)
        else:
            self.changes.add(DELETE, self.changes.call.somewhere("."), certain=False)

    def apply(self, text: str) -> None:
        """All the changes of the patch in order."""
        strip = self.options.value("p")
        if strip is not None and not (isinstance(strip, str) and strip.isdecimal()):
            self.unknown()
            return
        found = changes(text, int(strip) if isinstance(strip, str) else -1)
        if not found and isinstance(self.operand, str):
            found = headless(text, self.operand)
        output = self.options.value("o")
        if output is not None:
            if output != "-" and (found or self.operand is not None):
                self.changes.write(self.changes.opened(output), self.output(found), certain=bool(found))
            return
        if not found and isinstance(self.operand, str):
            if self.changes.call.exists(self.operand):
                self.changes.write(self.changes.opened(self.operand), action=EDIT, certain=False)
            return
        for change in found:
            self.one(reversed_(change) if self.options.has("R") else change)

    def output(self, found: list[Change]) -> bytes | None:
        """What -o writes for a patch of one file, as far as it can be told."""
        if len(found) != 1:
            return None
        change = reversed_(found[0]) if self.options.has("R") else found[0]
        name = self.operand if self.operand is not None else self.chosen(change)
        old = self.changes.call.read(name) if name is not None else None
        return None if old is None else applied(change, old)

    def one(self, change: Change) -> None:
        """One file of the patch."""
        name = self.operand if self.operand is not None else self.chosen(change)
        if name is None:
            return
        target = self.changes.entry(name)
        if not isinstance(target, At):
            if target is not None:
                self.changes.add(EDIT, target, certain=False)
            return
        if self.options.has("follow-symlinks"):
            target = At(self.changes.view.through(target.path))
        kind = self.changes.view.kind(target.path)
        if kind != FILE:
            if kind is None and change.action == ADD:
                self.changes.write(target, applied(change, b""))
            return
        self.back_up(target.path)
        self.change(change, target)

    def chosen(self, change: Change) -> Text | None:
        """The file that the headers mean: of those that exist the one with the fewest directories and the shortest name."""
        names = [name for name in change.names if not name.startswith("/") and ".." not in name.split("/")]
        if change.action in (RENAME, COPY):
            return change.path if change.path in names else None
        there = [name for name in names if self.changes.call.kind(name) is not None]
        if there:
            return min(there, key=lambda name: (name.count("/"), len(name.rpartition("/")[2]), len(name)))
        return names[-1] if names and change.action == ADD else None

    def back_up(self, path: str) -> None:
        """-b keeps the old file under its name with .orig, over what stands there."""
        if not self.options.has("b", "z", "B", "V", "Y"):
            return
        suffix = self.options.value("z") or ".orig"
        if isinstance(suffix, str):
            self.changes.replace(At(path + suffix), self.changes.view.read(path))

    def change(self, change: Change, target: At) -> None:
        """A change of a file that exists."""
        old = self.changes.view.read(target.path)
        new = applied(change, old) if old is not None else None
        if new is None and old is not None and change.hunks is not None and self.options.has("t"):
            change = reversed_(change)
            new = applied(change, old)
        if change.action == ADD:
            self.create_over(change, target, old)
        elif change.action == REMOVE:
            self.remove(change, target, old, new)
        elif change.action == RENAME and change.to is not None:
            self.rename(change, target, new)
        elif change.action == COPY and change.to is not None:
            self.changes.write(self.changes.opened(change.to), new)
        elif change.action == MODIFY:
            self.modify(target, new)

    def modify(self, target: At, new: bytes | None) -> None:
        if new == b"" and self.options.has("E"):
            self.changes.delete(target)
        else:
            self.changes.add(EDIT, target, new is not None, content=new)

    def create_over(self, change: Change, target: At, old: bytes | None) -> None:
        """A file that the patch would create exists: patch stops, unless it is empty; with -t it takes the patch back."""
        if old == b"" or (old is not None and self.options.has("f") and not change.hunks):
            self.changes.add(EDIT, target, content=applied(change, b""))
        elif self.options.has("t"):
            back = reversed_(change)
            self.remove(back, target, old, applied(back, old) if old is not None else None)

    def remove(self, change: Change, target: At, old: bytes | None, new: bytes | None) -> None:
        """The file goes when nothing of it is left; what the patch does not know of stays."""
        if new == b"":
            self.changes.delete(target)
        elif new is not None:
            self.changes.add(EDIT, target, content=new)
        elif old is None or change.hunks is None:
            self.changes.delete(target, certain=False)

    def rename(self, change: Change, target: At, new: bytes | None) -> None:
        place = self.changes.entry(change.to or "")
        if not isinstance(place, At) or (new is None and change.hunks):
            return
        if self.changes.kind(place) == FILE:
            self.changes.add(OVERWRITE, place, content=self.changes.view.read(target.path))
        self.changes.move(target, place.path)
        if change.hunks:
            self.changes.add(EDIT, place, content=new)
