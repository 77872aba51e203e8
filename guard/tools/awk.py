"""awk: the commands that its programs run, the files that they write, and what they print."""

from __future__ import annotations

from guard import expressions as re
from guard.effects import EDIT, OVERWRITE, Analysis, At, Hole, Pattern, Text, join, unknown
from guard.overlay import FILE
from guard.tools.awk_machine import Input, Machine, Outside
from guard.tools.awk_syntax import Program, SyntaxFault, unescaped
from guard.tools.awk_syntax import parse as parse_program
from guard.tools.call import analysis
from guard.tools.changes import Changes, encoded
from guard.tools.options import Options, Table, parse
from guard.tools.reading import CHARACTERS, FILES, UnknownOutputError, decoded, one, shrug

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from guard.tools.call import Call

TABLE = Table(
    flags="bcCgnNOrsStVhIkM",
    values="fFveEilmWj",
    optional="dopDL",
    long={
        "file": "=", "field-separator": "=", "assign": "=", "source": "=", "include": "=", "load": "=", "exec": "=",
        "sandbox": "",
        "posix": "", "traditional": "", "re-interval": "",
        "characters-as-bytes": "", "dump-variables": "?", "pretty-print": "?",
        "profile": "?", "debug": "?", "csv": "", "bignum": "", "version": "", "help": "", "lint": "?", "optimize": "",
    },
    same={
        "file": "f", "field-separator": "F", "assign": "v", "source": "e", "include": "i", "exec": "E", "sandbox": "S",
        "dump-variables": "d", "pretty-print": "o", "profile": "p", "version": "V", "help": "h",
    },
    permute=False,
)  # fmt: skip
_MARK = "\ue000"  # stands in a program for what is not known
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.S)
_SYSTEM = re.compile(r"""\bsystem\s*\(\s*"((?:[^"\\]|\\.)*)"|\|\s*"((?:[^"\\]|\\.)*)"|"((?:[^"\\]|\\.)*)"\s*\|\s*getline""", re.S)
_WRITES = re.compile(r"""print[^;}\n]*?>\s*"((?:[^"\\]|\\.)*)\"""", re.S)


def awk(call: Call) -> Analysis:
    """What awk would do."""
    options = parse(call.argv[1:], TABLE)
    if options.has("V", "h"):
        return shrug(call, 0)
    text, operands = _program_text(call, options)
    if text is None:
        return analysis(status=2)
    return _Run(call, options, text, operands).result()


def _program_text(call: Call, options: Options) -> tuple[Text | None, tuple[Text, ...]]:
    parts: list[Text] = []
    for name, value in options.given:
        if name in ("f", "E"):
            typed = value in ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
            data = None if typed else call.read(value)
            if data is None and not (typed and call.stdin is not None):
                parts.append(unknown("unknown-output", "awk -f"))
            else:
                parts.append(decoded(data) if data is not None else call.stdin or "")
        elif name == "e":
            parts.append(value)
    operands = options.operands
    if not parts:
        return (operands[0], operands[1:]) if operands else (None, ())
    return join(*(part for each in parts for part in (each, "\n"))), operands


class _Run:
    """One call of awk while it is worked out."""

    def __init__(self, call: Call, options: Options, text: Text, operands: tuple[Text, ...]) -> None:
        self.changes = Changes(call)
        self.call = self.changes.call
        self.options = options
        self.operands = operands
        self.text = text if isinstance(text, str) else "".join(p if isinstance(p, str) else _MARK for p in text.pieces)
        self.holes = () if isinstance(text, str) else text.holes
        self.in_place = any(
            str(value).partition(".")[0] in ("inplace", "/usr/share/awk/inplace") for value in options.values("i")
        )
        self.program: Program | None
        try:
            self.program = parse_program(self.text.replace(_MARK, "UNKNOWN") if self.holes else self.text)
        except SyntaxFault:
            self.program = None

    def result(self) -> Analysis:
        """Worked out exactly where all is known, else from what the program mentions."""
        for name in ("d", "o", "p"):
            for value in self.options.values(name):
                self.changes.write(self.changes.opened(value or {"d": "awkvars.out"}.get(name, "awkprof.out")))
        before = len(self.changes.found)
        try:
            if self.program is None or self.holes:
                raise UnknownOutputError
            output = self.worked_out(self.program)
            return self.changes.result(output, self.machine.status)
        except (UnknownOutputError, RecursionError, ValueError, OverflowError, IndexError, TypeError):
            if len(self.changes.found) == before:
                self.guessed()
            return self.changes.result(unknown("unknown-output", "awk"))._replace(status=None)

    def worked_out(self, program: Program) -> str:
        """Runs the program on its inputs; raises UnknownOutputError."""
        self.machine = machine = Machine(program, Outside(self.read, self.execute))
        self.assign(machine)
        edits: list[tuple[Text, str]] = []
        printed = ""
        goes_on = machine.begin()
        if goes_on:
            for operand, text in self.inputs(machine):
                before = len(machine.out)
                goes_on = goes_on and machine.main(str(operand), text)
                if self.in_place and operand != "-":
                    edits.append((operand, "".join(machine.out[before:])))
                    del machine.out[before:]
                if not goes_on:
                    break
        machine.end()
        printed = "".join(machine.out)
        for name, (appends, pieces) in machine.files.items():
            old = (self.call.read(name) or b"") if appends and self.call.exists(name) else b""
            self.changes.write(self.changes.opened(name), old + encoded("".join(pieces)), action=EDIT if appends else OVERWRITE)
        for operand, text in edits:
            self.edit(operand, encoded(text))
        return printed

    def assign(self, machine: Machine) -> None:
        machine.globals["ENVIRON"] = {k: Input(v) for k, v in self.call.env.items() if isinstance(v, str)}
        machine.globals["ARGV"] = {str(at): Input(word) for at, word in enumerate(("awk", *map(str, self.operands)))}
        machine.globals["ARGC"] = float(len(self.operands) + 1)
        for name, value in self.options.given:
            if isinstance(value, Pattern):
                raise UnknownOutputError
            if name == "F":
                machine.globals["FS"] = "\t" if value == "t" else unescaped(value)
            elif name == "v":
                matched = _ASSIGNMENT.fullmatch(value)
                if matched:
                    machine.globals[matched[1]] = Input(unescaped(matched[2]))
            elif name not in ("f", "e", "i", "E", "S", "b", "d", "o", "p"):
                raise UnknownOutputError

    def inputs(self, machine: Machine) -> Iterator[tuple[Text, str]]:
        """The operands that are files, with their texts; var=value among them takes effect in its place."""
        size = seen = 0
        for operand in self.operands:
            if isinstance(operand, Pattern):
                raise UnknownOutputError
            matched = _ASSIGNMENT.fullmatch(operand)
            if matched:
                machine.globals[matched[1]] = Input(unescaped(matched[2]))
                continue
            text = one(self.call, operand) if operand else None
            seen += 1
            size += len(text or "")
            if size > CHARACTERS // 8 or seen > FILES:
                raise UnknownOutputError
            if text is not None:
                yield operand, text
            elif operand:
                machine.status = 2
        if not seen:
            yield "-", one(self.call, "-") or ""

    def read(self, name: str) -> str | None:
        """The file of a getline."""
        return one(self.call, name)

    def execute(self, command: str, stdin: str) -> tuple[str, int]:
        """Runs a command of system() or a pipe."""
        if self.options.has("S"):
            raise UnknownOutputError
        result = self.call.shell(command, stdin=stdin)
        if not isinstance(result.output, str) or result.status is None:
            raise UnknownOutputError
        return result.output, result.status

    def edit(self, operand: Text, content: bytes | None) -> None:
        """-i inplace: a new file takes the place of the operand."""
        target = self.changes.entry(operand)
        if isinstance(target, At) and self.changes.kind(target) != FILE:
            return
        if target is not None:
            self.changes.add(EDIT, target, content=content)

    def guessed(self) -> None:
        """The commands and files that the program mentions, as far as their texts are known."""
        commands, files = _mentioned(self.program) if self.program else _scanned(self.text)
        if not self.options.has("S"):
            for command in commands:
                self.call.shell(_with_holes(command, self.holes))
        for name, appends in files:
            if name not in ("/dev/stdout", "/dev/stderr", "/dev/null", "-"):
                target = self.changes.opened(_with_holes(name, self.holes))
                self.changes.write(target, certain=isinstance(name, str), action=EDIT if appends else OVERWRITE)
        if self.in_place:
            for operand in self.operands:
                if isinstance(operand, Pattern) or not _ASSIGNMENT.fullmatch(operand):
                    self.edit(operand, None)


def _with_holes(text: Text, holes: tuple[Hole, ...]) -> Text:
    if not isinstance(text, str) or not holes or ("UNKNOWN" not in text and _MARK not in text):
        return text
    parts = re.split(f"UNKNOWN|{_MARK}", text)
    return join(parts[0], *(piece for part in parts[1:] for piece in (Pattern((holes[0],)), part)))


def _scanned(text: str) -> tuple[list[Text], list[tuple[Text, bool]]]:
    """The commands and files in a program that cannot be parsed."""
    commands: list[Text] = [unescaped(next(filter(None, found.groups()), "")) for found in _SYSTEM.finditer(text)]
    return commands, [(unescaped(found[1]), False) for found in _WRITES.finditer(text)]


def _mentioned(program: Program) -> tuple[list[Text], list[tuple[Text, bool]]]:
    """The commands and files of a parsed program, each with holes where it is not constant."""
    commands: list[Text] = []
    files: list[tuple[Text, bool]] = []
    todo: list[Any] = [*program.rules] + [body for _, body in program.functions.values()]
    while todo:
        node = todo.pop(0)
        if not isinstance(node, tuple):
            continue
        todo += node
        if not node:
            continue
        if node[:2] == ("call", "system") and node[2]:
            commands.append(_constant(node[2][0]))
        elif node[:2] == ("getline", "command"):
            commands.append(_constant(node[2]))
        elif node[0] in ("print", "printf") and len(node) == 4 and node[3] is not None:
            if node[2] == "|":
                commands.append(_constant(node[3]))
            else:
                files.append((_constant(node[3]), node[2] == ">>"))
    return commands, files


def _constant(node: Any) -> Text:
    """The text of an expression, with a hole for each part that is only known when it runs."""
    if node[0] == "constant":
        return node[1] if isinstance(node[1], str) else f"{node[1]:g}"
    if node[0] == "group" and len(node) == 2:
        return _constant(node[1])
    if node[0] == "concatenate":
        return join(_constant(node[1]), _constant(node[2]))
    return unknown("unknown-output", "awk")
