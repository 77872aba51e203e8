"""sed: what it edits in place, writes with w, runs with e, and prints."""

from __future__ import annotations

import sys

from guard.effects import CREATE, EDIT, OVERWRITE, Analysis, At, Pattern, Text, unknown
from guard.overlay import DIRECTORY, FILE, SYMLINK
from guard.paths import parent
from guard.tools.call import analysis
from guard.tools.changes import Changes, encoded
from guard.tools.options import Options, Table, parse
from guard.tools.reading import FILES, UnknownOutputError, decoded, shrug, texts
from guard.tools.sed_machine import STREAMS, Machine
from guard.tools.sed_script import Script, ScriptError
from guard.tools.sed_script import parse as parse_script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.tools.call import Call

_MARK = "\ue000"  # stands in a script for what is not known
_LARGE = 1 << 18  # characters of a file whose new content is still worked out
_LONG = {
    "quiet": "", "silent": "", "debug": "", "expression": "=", "file": "=", "in-place": "?", "line-length": "=", "posix": "",
    "regexp-extended": "", "separate": "", "sandbox": "", "unbuffered": "", "null-data": "", "zero-terminated": "", "binary": "",
    "follow-symlinks": "", "help": "", "version": "",
}  # fmt: skip
_SAME = {
    "quiet": "n", "silent": "n", "expression": "e", "file": "f", "in-place": "i", "line-length": "l", "regexp-extended": "E",
    "r": "E", "separate": "s", "unbuffered": "u", "null-data": "z", "zero-terminated": "z", "binary": "b",
}  # fmt: skip
GNU = Table(flags="nErsuzb", values="efl", optional="i", long=_LONG, same=_SAME)
BSD = Table(flags="nEraluH", values="efiI", long=_LONG, same=_SAME)


def sed(call: Call) -> Analysis:
    """What sed would do."""
    options = parse(call.argv[1:], BSD if sys.platform == "darwin" else GNU)
    if options.has("help", "version") or options.strange:
        return shrug(call) if not options.strange else analysis(status=1)
    operands = options.operands
    text, operands = _script_text(call, options, operands)
    in_place = options.has("i", "I")
    try:
        script = parse_script(_marked(text), options.has("E", "r"))
    except (ScriptError, ValueError, RecursionError):
        if isinstance(text, str):
            return analysis(status=1)
        script = None
    run = _Run(call, options, script, sure=isinstance(text, str))
    run.open_files()
    output: Text = ""
    if in_place:
        run.edit(operands)
    else:
        output = run.output(operands)
    run.close_files()
    return run.changes.result(output, run.machine.status if run.machine and not run.changes.status else None)


def _script_text(call: Call, options: Options, operands: tuple[Text, ...]) -> tuple[Text, tuple[Text, ...]]:
    """The script, and the operands that are files."""
    parts: list[Text] = []
    for name, value in options.given:
        if name == "e":
            parts.append(value)
        elif name == "f":
            data = None if value == "-" else call.read(value)
            stdin = call.stdin if value == "-" and call.stdin is not None else unknown("unknown-output", "sed -f")
            parts.append(decoded(data).removesuffix("\n") if data is not None else stdin)
    if not parts:
        parts, operands = [*operands[:1]], operands[1:]
    pieces: list[str] = [part if isinstance(part, str) else _marked(part) for part in parts]
    if all(isinstance(part, str) for part in parts):
        return "\n".join(pieces), operands
    holes = [hole for part in parts if isinstance(part, Pattern) for hole in part.holes]
    return Pattern(("\n".join(pieces), holes[0])), operands


def _marked(text: Text) -> str:
    """The script with a private letter where it is not known."""
    if isinstance(text, str):
        return text
    if len(text.pieces) == 2 and isinstance(text.pieces[0], str) and _MARK in text.pieces[0]:
        return text.pieces[0]
    return "".join(piece if isinstance(piece, str) else _MARK for piece in text.pieces)


class _Run:
    """One call of sed while it is worked out."""

    def __init__(self, call: Call, options: Options, script: Script | None, sure: bool) -> None:
        self.changes = Changes(call)
        self.call = self.changes.call
        self.options = options
        self.script = script
        self.sure = sure and script is not None and script.sure
        self.machine: Machine | None = None
        end = "\0" if options.has("z") else "\n"
        if script is not None:
            self.machine = Machine(script, options.has("n"), end, self.read, self.execute)
        self.executed = False

    def read(self, name: str) -> str | None:
        """The file of an r command; one that is missing reads as empty."""
        if name == "/dev/stdin":
            raise UnknownOutputError
        data = self.call.read(name)
        if data is None and self.call.exists(name):
            raise UnknownOutputError
        return None if data is None else decoded(data)

    def execute(self, text: str) -> str:
        """Runs a command of e; raises UnknownOutputError where what it prints is not known."""
        self.executed = True
        if self.options.has("sandbox"):
            raise UnknownOutputError
        output = self.call.shell(text).output
        if not isinstance(output, str):
            raise UnknownOutputError
        return output

    def open_files(self) -> None:
        """The files of w are emptied before anything is read."""
        for name in self._names():
            self.changes.write(self.changes.opened(name), b"")

    def close_files(self) -> None:
        """What w has written by the end."""
        if not self.executed and not self.sure and self.script:
            for command in self.script.commands:
                if command.name == "e" or (command.name == "s" and "e" in command.flags):
                    self.call.shell(command.text if command.name == "e" and command.text else unknown("unknown-output", "sed"))
        for name in self._names():
            stream = self.machine.files.get(name) if self.machine and self.sure else None
            if stream or not self.sure:
                self.changes.write(self.changes.opened(name), encoded(stream.text()) if stream else None)

    def _names(self) -> list[str]:
        commands = self.script.commands if self.script else ()
        named = [c.text for c in commands if c.name in ("w", "W") or (c.name == "s" and "w" in c.flags)]
        return [name for name in dict.fromkeys(named) if name not in STREAMS and not self.options.has("sandbox")]

    def output(self, operands: tuple[Text, ...]) -> Text:
        """What sed prints, file by file with -s."""
        if self.machine is None or self.options.has("debug"):
            return unknown("unknown-output", "sed")
        try:
            found, missing = texts(self.call, operands)
            if missing:
                self.changes.status = 2
            if not self.sure or sum(map(len, found)) > _LARGE:
                raise UnknownOutputError
            groups = [[text] for text in found] if self.options.has("s") else [found]
            return "".join(self.machine.run(group) for group in groups if not self.machine.done)
        except UnknownOutputError:
            self.sure = False
            return unknown("unknown-output", "sed")

    def edit(self, operands: tuple[Text, ...]) -> None:
        """-i: each file is read, then a new one takes its place."""
        for operand in operands:
            if self.machine and self.machine.done and self.sure:
                break
            follow = self.options.has("follow-symlinks")
            target = self.changes.opened(operand) if follow else self.changes.entry(operand)
            if not isinstance(target, At):
                if target is not None:
                    self.changes.add(EDIT, target)
                continue
            path = self.call.where(operand)
            if path is None or self.call.view.kind(path) != FILE:
                self.changes.status = 4
                continue
            new = self._new_content(operand)
            if not self._back_up(operand, target.path):
                self.changes.status = 4
                continue
            self.changes.add(OVERWRITE if self.changes.kind(target) == SYMLINK else EDIT, target, content=new)

    def _new_content(self, operand: Text) -> bytes | None:
        try:
            data = self.call.read(operand) if self.machine and self.sure else None
            if data is None or len(data) > _LARGE or self.machine is None or len(self.changes.found) > FILES:
                return None
            return encoded(self.machine.run([decoded(data)]))
        except UnknownOutputError:
            self.sure = False
            return None

    def _back_up(self, operand: Text, path: str) -> bool:
        """The old file goes to its name with the suffix of -i, in which "*" stands for the name; False where it cannot."""
        suffix = self.options.value("i", "I")
        if not isinstance(suffix, str) or not suffix:
            return True
        name = path.rpartition("/")[2]
        backup = suffix.replace("*", name) if "*" in suffix else name + suffix
        place = self.call.at(backup if "/" in backup else f"{parent(path).rstrip('/')}/{backup}")
        if isinstance(place, At):
            if self.changes.view.kind(parent(place.path)) != DIRECTORY:
                return False
            self.changes.add(OVERWRITE if self.changes.kind(place) else CREATE, place, content=self.call.read(operand))
        return True
