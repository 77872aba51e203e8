"""Program: a Python program as far as it has been followed, and what every part of following it needs."""

from __future__ import annotations

from guard import expressions as re
from guard.effects import Analysis, Pattern, Text
from guard.tools.process import Process, encode
from guard.tools.python_values import (
    Choice,
    Class,
    Exit,
    File,
    Function,
    Instance,
    Named,
    Opaque,
    Path,
    Raised,
    Scope,
    TooMuch,
    choice,
    known,
    origins,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

BUSY, LIMIT = 12_000, 60_000  # steps: then loops run once only, then the program counts as too large
DEPTH = 12  # functions within functions
COMBINATIONS = 16

# A program that holds none of these words harms no file that guard could name.
LIVELY = re.compile(
    r"unlink|remove|rmtree|rmdir|renam|replac|truncate|system|popen|Popen|subprocess|exec|spawn|open|write|move|copy|touch|link|trash|"
    r"unpack|extract|getoutput|input|save|to_[a-z]+|send2|dump|call|run|eval|import_|getattr|sh\b|compile|chdir|environ|map|Thread|clean|retrieve|Handler|basicConfig|guard"
)


class Return(Exception):
    """A function gives its value here."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class Break(Exception):
    """A loop ends here."""


class Continue(Exception):
    """A loop goes on with its next round."""


class Args:
    """The arguments of a call."""

    __slots__ = ("named", "source", "values")

    def __init__(self, values: list[Any], named: dict[str, Any] | None = None, source: str = "") -> None:
        self.values = values
        self.named = named or {}
        self.source = source

    def get(self, at: int, name: str = "", default: Any = None) -> Any:
        """The argument at a position or of a name."""
        if 0 <= at < len(self.values):
            return self.values[at]
        return self.named.get(name, default)

    def flag(self, name: str, at: int = -1) -> bool:
        """True when an argument surely or maybe is true."""
        return truth(self.get(at, name, False)) is not False

    @property
    def all(self) -> list[Any]:
        """The values of all arguments."""
        return [*self.values, *self.named.values()]


class Program:
    """What has been found out so far; `doubt` grows with everything that could not be followed, as from then on files may exist,
    and things may have been raised, that guard does not know of."""

    def __init__(self, process: Process, argv: list[Text], path: str | None, stdin: Text | None) -> None:
        self.process = process
        self.argv = argv
        self.path = path
        self.stdin = stdin
        self.steps = 0
        self.doubt = 0
        self.silent = True  # nothing unknown has been printed
        self.depth = 0
        self.scope = Scope()
        self.module = self.scope
        self.files: list[File] = []
        self.returns: list[list[Any]] = []
        self.yields: list[list[Any]] = []
        self.modules: dict[str, Any] = {}
        self.holes: dict[str, Any] = {}
        self.lively: dict[int, bool] = {}
        self.names: set[str] = set()
        self.counter = 0
        self.printed: File | None = None  # the file that print writes to in place of standard output
        self.rewritten: list[Any] = []  # lines of files that print writes anew
        self.foreign = False  # a module has been imported that may not be there
        self.unordered = False  # a directory has been listed: in which order the names came, only the real run knows

    def tick(self) -> None:
        """Counts a step."""
        self.steps += 1
        if self.steps % 128 == 0:
            self.process.here.view.budget.spend(16)
        if self.steps > LIMIT:
            raise TooMuch

    @property
    def busy(self) -> bool:
        """True once so much has been followed that loops run only once."""
        return self.steps > BUSY

    def opaque(self, args: Args | None = None, source: str = "") -> Opaque:
        """The result of something that cannot be followed."""
        self.doubt += 1
        if args is None:
            return Opaque(source)
        return Opaque(source or args.source, origins(*args.all))

    def done(self, outcome: bool | None, error: str = "FileNotFoundError") -> None:
        """Raises what the program would raise when a file function surely fails."""
        if outcome is False and not self.doubt and not self.unordered:
            raise Raised(error)

    def spread(self, function: Callable[..., Any], *values: Any) -> Any:
        """The function over every combination of the values that a choice may stand for."""
        if not any(isinstance(value, Choice) for value in values):
            return function(*values)
        results = []
        with Doubtful(self):
            for combination in _combinations(values):
                try:
                    results.append(function(*combination))
                except Raised:
                    continue
        return choice(results) if results else Opaque("", origins(*values))

    def either(self, *runs: Callable[[], None]) -> None:
        """Runs each alternative from the same state, as nobody knows which of them runs, and joins what they leave."""
        scope = self.scope
        before = scope.names
        states: list[dict[str, Any]] = []
        ends: list[Exception] = []
        with Doubtful(self):
            for run in runs:
                scope.names = dict(before)
                try:
                    run()
                    states.append(scope.names)
                except (Return, Break, Continue, Raised, Exit) as end:
                    ends.append(end)
        scope.names = _merged(states) if states else before
        values = [end.value for end in ends if isinstance(end, Return)]
        if not states:
            raise Return(choice(values)) if values else min(ends, key=lambda end: isinstance(end, (Exit, Raised)))
        if values and self.returns:
            self.returns[-1] += values

    def child(self, result: Analysis, captured: bool = False) -> None:
        """Takes note of a child that has run."""
        if result.status is None:
            self.doubt += 1
        if not captured:
            self.print(result.output)

    def print(self, shown: Text) -> None:
        """Adds to standard output."""
        if self.printed is not None:
            from guard.tools.python_library import write_file

            write_file(self, self.printed, shown)
            return
        if not self.process.certain:
            self.silent = False
        self.process.output.append(shown)

    def open(self, path: Text, mode: str, source: str = "") -> File:
        """A file that the program opens; raises what open does."""
        kind = self.process.here.kind(path) if isinstance(path, str) else None
        exists = isinstance(path, str) and self.process.here.exists(path)
        if isinstance(path, str) and ((not exists and mode[:1] == "r") or kind == "directory" or (exists and "x" in mode)):
            self.done(False, "FileExistsError" if "x" in mode else "FileNotFoundError")
        content = self.process.here.read(path) if mode[:1] == "r" else b""
        if mode[:1] == "w" and not self.process.certain:
            content = b""
        file = File(path, mode, content)
        self.files.append(file)
        return file

    def close(self, file: File) -> None:
        """Puts what has been written to a file on record."""
        self.flush(file)
        file.closed = True
        if file in self.files:
            self.files.remove(file)

    def flush(self, file: File | None = None) -> None:
        """Puts what has been written so far on record, to one file or to all."""
        for each in [file] if file is not None else self.files:
            if each.fixed or not each.writes:
                continue
            each.fixed = True
            if "a" in each.mode:
                self.process.append(each.path, each.content) if each.written else self.process.touch(each.path)
            elif "+" in each.mode and "r" in each.mode:
                if each.written:
                    self.process.edit(each.path, each.content)
            else:
                self.done(self.process.write(each.path, each.content, each.derived))

    def write(self, path: Text, value: Any) -> None:
        """A file gets a value as its whole content."""
        content, derived = self.content(path, value)
        self.done(self.process.write(path, content, derived))

    def content(self, path: Text, value: Any) -> tuple[bytes | None, bool]:
        """What writing a value makes of a file: the content if it is known, and whether it keeps at least half of the old one."""
        if isinstance(value, str):
            return encode(value), False
        if isinstance(value, (bytes, bytearray)):
            return bytes(value), False
        old = self.process.here.read(path)
        where = self.process.here.where(path)
        if isinstance(value, Pattern):
            return None, old is not None and _survives(old, value)
        made = origins(value)
        return None, where in made or path in made or (old is not None and old.decode("utf-8", "surrogateescape") in made)

    def fresh(self, directory: Text | None = None, prefix: str = "tmp", suffix: str = "") -> Text:
        """The path of a new temporary file or directory; it exists nowhere."""
        self.counter += 1
        parent = directory or self.process.env.get("TMPDIR") or "/tmp"
        name = f"{prefix}guard{self.counter:04}{suffix}"
        return f"{parent.rstrip('/')}/{name}" if isinstance(parent, str) else Pattern((*parent.pieces, "/" + name))


class Doubtful:
    """While a condition decides that cannot be told: whatever is done is not certain."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.certain = program.process.certain

    def __enter__(self) -> None:
        self.program.process.certain = False
        self.program.doubt += 1

    def __exit__(self, *_: object) -> None:
        self.program.process.certain = self.certain


def truth(value: Any) -> bool | None:
    """Whether a value counts as true, None where that is not known."""
    if isinstance(value, Choice):
        found = {truth(item) for item in value.values}
        return found.pop() if len(found) == 1 else None
    if isinstance(value, Opaque):
        return None
    if isinstance(value, Pattern):
        return True if any(isinstance(piece, str) for piece in value.pieces) else None
    if isinstance(value, (Path, File, Named, Function, Class, Instance)):
        return True
    if known(value) or isinstance(value, (list, tuple, dict, set)):
        return bool(value)
    return None


def _combinations(values: tuple[Any, ...]) -> Iterator[list[Any]]:
    found: list[list[Any]] = [[]]
    for value in values:
        options = value.values if isinstance(value, Choice) else [value]
        found = [[*start, option] for start in found for option in options][:COMBINATIONS]
    yield from found


def _merged(states: list[dict[str, Any]]) -> dict[str, Any]:
    if len(states) == 1:
        return states[0]
    names = {name: None for state in states for name in state}
    return {name: choice(state[name] for state in states if name in state) for name in names}


def _survives(old: bytes, value: Pattern) -> bool:
    """True when at least half of the old text stands in the known parts of the new one."""
    kept = "".join(piece for piece in value.pieces if isinstance(piece, str))
    lines = [line.strip() for line in old.decode("utf-8", "surrogateescape").splitlines()]
    total = sum(map(len, lines))
    return total > 0 and 2 * sum(len(line) for line in lines if line and line in kept) >= total
