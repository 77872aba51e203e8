"""State: all that one shell knows at one point of a command, on one path through it."""

from __future__ import annotations

from guard.effects import Text
from guard.shell.text import without_final_newlines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from guard.overlay import View
    from guard.shell.nodes import Command

    Array = dict[str, Text]
    Value = Text | Array

# Variables that have a value in every shell which nobody can foresee.
UNFORESEEN = frozenset("RANDOM SRANDOM SECONDS EPOCHSECONDS EPOCHREALTIME LINENO BASHPID PPID BASH_COMMAND BASH_SUBSHELL".split())


class Stream:
    """Standard input that commands use up: `text` is what is left, None where nothing is known to come (a terminal)."""

    def __init__(self, text: Text | None) -> None:
        self.text = text

    def take(self) -> Text | None:
        """All that is left; the end of input is left behind."""
        text, self.text = self.text, "" if self.text is not None else None
        return text


class Locals:
    """What the variables of a function's callers were, to be put back when it returns."""

    def __init__(self, function: str = "") -> None:
        self.function = function
        self.saved: dict[str, Value | None] = {}


class State:
    """Mutable, but forked wherever the paths of a command part."""

    def __init__(self, view: View, cwd: Text, environ: Mapping[str, Text]) -> None:
        self.view = view
        self.cwd: Text = cwd  # physical
        self.variables: dict[str, Value | None] = {"PWD": cwd}  # over `environ`; None: unset
        self.environ = environ
        self.exported: frozenset[str] = frozenset(environ)
        self.attributes: dict[str, str] = {}  # variable -> letters of `declare`: n (a reference), r, l, u
        self.positional: tuple[Text, ...] = ()
        self.zero: Text = "bash"
        self.source: Text = ""  # the file that is being read, "" for a command's text
        self.braces = True  # False in a shell that leaves {a,b} alone
        self.functions: dict[str, Command] = {}
        self.exported_functions: dict[str, Command] = {}  # what a bash that is started here inherits
        self.last: Text = ""  # the last word of the command before: $_
        self.unset: tuple[str, ...] = ()  # variables without a value in the words of the command
        self.aliases: dict[str, str] = {}
        self.hashed: dict[str, str] = {}  # programs that `hash -p` has named
        self.options: frozenset[str] = frozenset()  # letters of `set`, names of `set -o` and `shopt`
        self.directories: tuple[Text, ...] = ()  # below the top of the stack of pushd
        self.traps: dict[str, Text] = {}
        self.input = Stream(None)
        self.inputs: dict[str, Stream] = {}  # other descriptors that are open for reading
        self.descriptors: dict[str, str] = {}  # those that `exec` opened for writing -> path
        self.output: tuple[Text, ...] = ()  # what went to standard output since capture began, in pieces
        self.captured = True  # False where standard output goes nowhere that matters
        self.status: int | None = 0
        self.flow = ""  # "", "exit", "return", "break", "continue"
        self.levels = 0  # how many loops break and continue still have to leave
        self.loops = 0  # how many loops are around, within this function
        self.scopes: tuple[Locals, ...] = ()
        self.condition = False  # inside a condition, where -e does not end the shell
        self.script = False  # inside a script that was read from the tree

    def fork(self) -> State:
        """An independent copy."""
        other = State.__new__(State)
        other.__dict__.update(self.__dict__)
        other.view = self.view.fork()
        other.variables = dict(self.variables)
        other.functions = dict(self.functions)
        other.aliases = dict(self.aliases)
        other.traps = dict(self.traps)
        other.descriptors = dict(self.descriptors)
        other.attributes = dict(self.attributes)
        other.input = Stream(self.input.text)
        other.inputs = {number: Stream(stream.text) for number, stream in self.inputs.items()}
        other.scopes = tuple(_copy(scope) for scope in self.scopes)
        return other

    def child(self, view: View | None = None) -> State:
        """A subshell: a copy that keeps nothing but what a fork keeps; its output starts empty."""
        other = self.fork()
        if view is not None:
            other.view = view
        other.traps = {}
        other.output = ()
        other.flow = ""
        other.loops = 0
        return other

    def process(self, argv0: Text, positional: tuple[Text, ...], environ: Mapping[str, Text]) -> State:
        """A new shell process that inherits the environment, the directory and the open files, on the same view."""
        other = State(self.view, self.cwd, environ)
        other.variables["PWD"] = self.variables.get("PWD") or self.cwd
        other.zero, other.positional, other.braces = argv0, positional, self.braces
        other.input = self.input
        other.captured, other.script = self.captured, self.script
        other.descriptors = dict(self.descriptors)
        other.inputs = self.inputs
        other.exported_functions = self.exported_functions
        return other

    def named(self, name: str) -> str:
        """The variable that a name means, through references (`declare -n`)."""
        for _ in range(8):
            target = self.variables.get(name) if "n" in self.attributes.get(name, "") else None
            if not isinstance(target, str) or not target.isidentifier():
                break
            name = target
        return name

    def get(self, name: str) -> Value | None:
        """A variable's value, None where it is unset."""
        name = self.named(name) if self.attributes else name
        if name in self.variables:
            return self.variables[name]
        return self.environ.get(name)

    def put(self, name: str, value: Value | None) -> None:
        """Sets a variable, or unsets it with None; one that is readonly stays as it is."""
        if self.attributes:
            name = self.named(name)
            letters = self.attributes.get(name, "")
            if "r" in letters:
                return
            if isinstance(value, str) and ("l" in letters or "u" in letters):
                value = value.lower() if "l" in letters else value.upper()
        self.variables[name] = value
        if "a" in self.options:
            self.exported |= {name}

    def exports(self) -> dict[str, Text]:
        """The environment that a command started here sees."""
        found: dict[str, Text] = {}
        for name in self.exported:
            value = self.get(name)
            if value is not None and not isinstance(value, dict):
                found[name] = value
        return found

    def write(self, text: Text) -> None:
        """Adds to standard output."""
        if text != "":
            self.output += (text,)

    def key(self) -> tuple[object, ...]:
        """Equal for two states that go on in the same way, whatever their status and output were."""
        return (
            self.cwd,
            self.flow,
            self.levels,
            self.positional,
            self.options,
            self.directories,
            self.variables,
            self.attributes,
            self.traps,
            list(self.functions),
            self.aliases,
            self.input.text,
        )

    def same(self, other: State) -> bool:
        """True when nothing but status and output tells the two apart."""
        return self.key() == other.key() and self.view.same(other.view)


def _copy(scope: Locals) -> Locals:
    other = Locals(scope.function)
    other.saved = dict(scope.saved)
    return other


def substitution_text(state: State) -> Text:
    """The output of a state as a command substitution gives it."""
    from guard.effects import join

    return without_final_newlines(join(*state.output))
