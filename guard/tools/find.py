"""find: its expression is parsed as GNU find does and evaluated over the real tree; actions become effects."""

from __future__ import annotations

from guard.effects import DELETE, Analysis, At, Effect, Hole, Pattern, Text, Unknown, join, unknown
from guard.overlay import DIRECTORY, SYMLINK
from guard.paths import child
from guard.tools import TABLE
from guard.tools.call import analysis
from guard.tools.changes import Changes, encoded
from guard.tools.find_expression import Expression, parse
from guard.tools.find_tests import Entry, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.tools.call import Call

PATIENCE = 8000  # entries that a search looks at one by one, at most half of what is left in one directory of its start
RESERVE = 500  # of them, what the directories further down leave to what comes after them
SINGLES = 300  # runs of one -exec, after which the rest is run at once where that means the same
_READERS = {"grep.grep", "text.reads", "digests.digest", "inspection.stat", "comparison.cmp", "comparison.diff", "json_query.jq"}
_READERS |= {f"listing.{name}" for name in ("ls", "basename", "dirname", "realpath", "readlink")}
_READERS |= {f"layout.{name}" for name in ("fold", "fmt", "expand", "unexpand", "column")}
_READERS |= {
    f"text.{name}" for name in ("cat", "tac", "head", "tail", "cut", "wc", "nl", "rev")
}  # models of tools that only look
_INNER_SHELLS = {"sh", "bash", "dash", "zsh", "ksh", "busybox", "env", "sudo", "xargs"}


class _SearchOverError(Exception):
    """The search is over: -quit, or it has looked at enough."""


class Search:
    """One run of find: what its actions need, and what they have done so far."""

    def __init__(self, call: Call, expression: Expression) -> None:
        self.call = call
        self.expression = expression
        self.at_once = bool(expression.commands) and call.emit is not None
        self.view = call.view if self.at_once else call.view.fork()
        self.effects: list[Effect | Unknown] = []
        self.output: list[Text] = []
        self.written: dict[Text, list[Text]] = {name: [] for name in expression.files}
        self.batches: dict[tuple[int, Text], list[Text]] = {}
        self.runs: dict[int, int] = {}
        self.answers = call.stdin.split("\n") if isinstance(call.stdin, str) else []
        self.status: int | None = 0
        self.patience = PATIENCE
        self.pruned = False
        self.looks_only = not expression.deletes and all(_reads(command.argv) for command in expression.commands)

    def delete(self, entry: Entry) -> bool | None:
        """-delete: a directory only goes when nothing is left in it."""
        if entry.shown.rpartition("/")[2] in (".", "..", "") or (entry.kind == DIRECTORY and entry.view.listdir(entry.path)):
            return entry.shown == "."
        self._happens(Effect(DELETE, At(entry.entry), entry.certain))
        return True

    def put(self, entry: Entry, text: Text, file: Text | None = None) -> bool:
        """-print and its kin."""
        (self.output if file is None else self.written[file]).append(text)
        return True

    def quit(self, entry: Entry) -> bool:
        """-quit, unless it is not sure that the search comes here."""
        if entry.certain:
            raise _SearchOverError
        return True

    def prune(self, entry: Entry) -> bool:
        """-prune, unless it is not sure that the search comes here."""
        self.pruned = entry.certain
        return True

    def execute(self, number: int, entry: Entry) -> bool | None:
        """-exec and its kin."""
        command = self.expression.commands[number]
        if command.asks and not (self.answers and self.answers.pop(0)[:1] in ("y", "Y")):
            return False
        where: Text = self.call.cwd
        shown: Text = entry.shown
        if command.in_directory:
            directory, _, last = entry.shown.rstrip("/").rpartition("/")
            where = self.call.path(directory or ("/" if entry.shown.startswith("/") else "."))
            shown = "./" + last if last else entry.shown
        if command.batch or (self.runs.get(number, 0) >= SINGLES and command.can_batch(_INNER_SHELLS)):
            self.batches.setdefault((number, where), []).append(shown)
            return True if command.batch else None
        self.runs[number] = self.runs.get(number, 0) + 1
        return self.run(command.filled((shown,)), where, command.asks)

    def run(self, argv: tuple[Text, ...], where: Text, closed: bool = False) -> bool | None:
        """Runs a command and tells whether it succeeds; its output is find's."""
        result = self.call.run(argv, cwd=where, stdin="" if closed else self.call.stdin)
        self.output.append(result.output)
        return None if result.status is None else result.status == 0

    def finish(self) -> None:
        """What happens at the end: the batches run, the files of -fprint are complete."""
        for (number, where), names in self.batches.items():
            command = self.expression.commands[number]
            if self.run(command.filled(tuple(names)), where) is not True and command.batch:
                self.status = None
        changes = Changes(self.call)
        for file, pieces in self.written.items():
            text = join(*pieces)
            changes.write(changes.opened(file), encoded(text) if isinstance(text, str) else None)
        self.effects += changes.found

    def start(self, operand: Text) -> None:
        """Searches from one starting point; an empty one is none."""
        if operand == "":
            self.status = 1
            return
        path = self.call.path(operand)
        if not isinstance(operand, str) or not isinstance(path, str):
            self.blind(operand)
            return
        place = self.view.at(path)
        kind = self.view.kind(place)
        if kind == SYMLINK and self.expression.follow in ("H", "L") and self.view.exists(path):
            place = self.view.through(path)
            kind = self.view.kind(place)
        if kind is None:
            self.status = 1
            return
        device = self.view.lstat(place) if self.expression.one_device else None
        try:
            self.visit(
                Entry(self.view, operand, place, 0, kind, operand, self.view.at(path)), (), device.st_dev if device else None
            )
        except RecursionError:
            self._beyond(operand, Hole("unknown-output", "find"))

    def visit(self, entry: Entry, above: tuple[str, ...], device: int | None) -> None:
        """One entry and what is below it."""
        expression = self.expression
        self.patience -= 1
        if self.looks_only and self.view.budget.left < 0.3:
            self.output.append(unknown("unknown-output", "find"))
            raise _SearchOverError
        self.pruned = False
        if not expression.depth_first:
            self._judge(entry)
        pruned, self.pruned = self.pruned, False
        descends = entry.kind == DIRECTORY and entry.depth < expression.deepest and entry.path not in above
        if descends and device is not None and (found := self.view.lstat(entry.path)) and found.st_dev != device:
            descends = False
        if descends and not (pruned and not expression.depth_first):
            self._look_into(entry, (*above, entry.path), device)
        if expression.depth_first:
            self._judge(entry)

    def _look_into(self, entry: Entry, above: tuple[str, ...], device: int | None) -> None:
        """What stands in a directory, until patience with it is at its end; then all else that is in it at once."""
        patience = self.patience
        kept = 0 if entry.depth == 0 else patience // 2 if entry.depth == 1 else min(patience // 4, RESERVE)
        self.patience -= kept
        for name, kind in self.view.scan(entry.path) or ():
            if self.patience <= 0:
                self._others(entry)
                break
            self._descend(entry, name, kind, above, device)
        self.patience += kept

    def _others(self, entry: Entry) -> None:
        """What has not been looked at in a directory: the actions may meet any of it that ends as they want it."""
        expression = self.expression
        hole = Pattern((Hole("unknown-test", "find"),))
        some = join(entry.shown.rstrip("/"), "/", hole, expression.ending)
        if expression.deletes:
            target = self.call.at(some) if expression.ending else self.call.somewhere(entry.shown)
            self._happens(Effect(DELETE, target, certain=False))
        for command in expression.commands:
            if not command.asks:
                self.status = None
                self.run(command.filled((some,)), self.call.cwd)
        if expression.commands or expression.deletes:
            return
        self.output.append(hole if expression.separator is None else join(some, expression.separator))
        for pieces in self.written.values():
            pieces.append(hole)

    def _happens(self, effect: Effect) -> None:
        if self.at_once and self.call.emit is not None:
            self.call.emit(effect)
        else:
            self.view.apply(effect)
            self.effects.append(effect)

    def _descend(self, entry: Entry, name: str, kind: str, above: tuple[str, ...], device: int | None) -> None:
        path = own = child(entry.path, name)
        if self.view.changed and self.view.kind(path) is None:
            return
        if kind == SYMLINK and self.expression.follow == "L" and (self.view.exists(path)):
            path = self.view.through(path)
            kind = self.view.kind(path) or kind
        shown = entry.shown + name if entry.shown.endswith("/") else f"{entry.shown}/{name}"
        self.visit(Entry(self.view, shown, path, entry.depth + 1, kind, entry.start, own), above, device)

    def _judge(self, entry: Entry) -> None:
        if entry.depth >= self.expression.least:
            self.expression.root(self, entry)

    def blind(self, operand: Text) -> None:
        """From a starting point that is not known: the actions meet something below it, nobody can say what."""
        holes = operand.holes if isinstance(operand, Pattern) else ()
        hole = holes[0] if holes else Hole("unknown-directory", "find")
        self._beyond(operand, Hole(hole.code, f"{operand}/..."))

    def _beyond(self, operand: Text, hole: Hole) -> None:
        some = join(operand, Pattern((hole,)), self.expression.ending)
        self.status = None
        if self.expression.deletes:
            self.effects.append(Effect(DELETE, self.call.at(some), certain=False))
        for command in self.expression.commands:
            if not command.asks:
                self.run(command.filled((some,)), self.call.cwd)
        self.output.append(Pattern((hole,)))


def find(call: Call) -> Analysis:
    """What find would do."""
    try:
        expression = parse(call)
    except (UsageError, RecursionError, OverflowError):
        return analysis(status=1)
    starts = expression.starts
    if expression.starts_file is not None:
        if starts:
            return analysis(status=1)
        listed = call.stdin if expression.starts_file == "-" else _decoded(call, expression.starts_file)
        starts = tuple(listed.rstrip("\0").split("\0")) if isinstance(listed, str) else (unknown("unknown-output", "find"),)
    search = Search(call, expression)
    try:
        for operand in starts or (".",):
            search.start(operand)
    except _SearchOverError:
        pass
    search.finish()
    return analysis(search.effects, join(*search.output), search.status)


def _decoded(call: Call, file: Text) -> str | None:
    data = call.read(file)
    return None if data is None else data.decode("utf-8", "surrogateescape")


def _reads(argv: tuple[Text, ...]) -> bool:
    """True for a command that is only run for its output."""
    name = argv[0]
    return isinstance(name, str) and TABLE.get(name.rpartition("/")[2]) in _READERS
