"""sed's language: a script as a flat list of commands."""

from __future__ import annotations

from guard import expressions as re
from guard.tools.patterns import PatternError, Regex, posix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from guard.record import NamedTuple

_CONTROLS = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ONE_ADDRESS = "=aiqQr"
_PLAIN = "=dDgGhHnNpPxzF"


class ScriptError(Exception):
    """sed would refuse the script."""


class Address(NamedTuple):
    """`kind` is line (`first`), last, step (`first`~`step`), regex, zero (0,/re/), plus (+`first`) or multiple (~`first`)."""

    kind: str
    first: int = 0
    step: int = 0
    regex: Regex | None = None  # None for // (the last one used)


class Command(NamedTuple):
    """One command. `text` is what a, i, c add, a file, a label, e's command or y's letters; `goto` is where { and b jump to."""

    name: str
    first: Address | None = None
    second: Address | None = None
    negated: bool = False
    text: str = ""
    number: int = 0  # q and Q: the status; s: which match
    regex: Regex | None = None
    replacement: tuple[str | int | tuple[str], ...] = ()
    flags: str = ""
    goto: int = -1


class Script(NamedTuple):
    """A whole script; `sure` is False where an expression in it could not be translated, so that it cannot be run here."""

    commands: tuple[Command, ...]
    quiet: bool
    sure: bool


def parse(text: str, extended: bool) -> Script:
    """Reads a script; raises ScriptError."""
    reader = _Reader(text, extended)
    reader.read()
    commands = reader.commands
    labels = {command.text: at for at, command in enumerate(commands) if command.name == ":"}
    for at, command in enumerate(commands):
        if command.name in ("b", "t", "T"):
            if command.text and command.text not in labels:
                raise ScriptError(f"no label {command.text}")
            commands[at] = command._replace(goto=labels.get(command.text, len(commands)))
    return Script(tuple(commands), text.startswith("#n\n") or text == "#n", reader.sure)


class _Reader:
    def __init__(self, text: str, extended: bool) -> None:
        self.text = text
        self.extended = extended
        self.at = 0
        self.commands: list[Command] = []
        self.blocks: list[int] = []
        self.sure = True

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def take(self) -> str:
        letter = self.peek()
        self.at += 1
        return letter

    def skip(self, letters: str) -> None:
        while self.peek() and self.peek() in letters:
            self.at += 1

    def read(self) -> None:
        while True:
            self.skip(" \t\n;")
            if not self.peek():
                break
            if self.peek() == "#":
                self.rest_of_line()
                continue
            self.command()
        if self.blocks:
            raise ScriptError("unmatched {")

    def command(self) -> None:
        first = self.address()
        second = None
        self.skip(" \t")
        if first and self.peek() == ",":
            self.at += 1
            self.skip(" \t")
            second = self.address(True)
            if second is None:
                raise ScriptError("unexpected ,")
        elif first and first.kind == "zero":
            raise ScriptError("invalid usage of line address 0")
        negated = False
        self.skip(" \t")
        while self.peek() == "!":
            self.at += 1
            self.skip(" \t")
            negated = True
        name = self.take()
        if not name or (first and name in ":}"):
            raise ScriptError("missing command")
        self.finish(Command(name, first, second, negated))

    def finish(self, command: Command) -> None:
        name = command.name
        if name == "{":
            self.blocks.append(len(self.commands))
        elif name == "}":
            if not self.blocks:
                raise ScriptError("unexpected }")
            begin = self.blocks.pop()
            self.commands[begin] = self.commands[begin]._replace(goto=len(self.commands))
            self.end()
            return
        elif name == "s":
            command = self.substitution(command)
        elif name == "y":
            command = self.letters(command)
        elif name in "aic":
            command = command._replace(text=self.added())
        elif name in "rRwW":
            self.skip(" \t")
            command = command._replace(text=self.rest_of_line())
            if not command.text:
                raise ScriptError("missing filename")
        elif name in ":btT":
            self.skip(" \t")
            command = command._replace(text=self.label(name))
        elif name in "qQlL":
            self.skip(" \t")
            number = self.digits()
            command = command._replace(number=int(number or 0))
            self.end()
        elif name == "e":
            self.skip(" \t")
            command = command._replace(text=self.rest_of_line())
        elif name == "v":
            self.rest_of_line()
            return
        elif name in _PLAIN:
            self.end()
        else:
            raise ScriptError(f"unknown command {name}")
        self.commands.append(command)

    def end(self) -> None:
        self.skip(" \t")
        if self.peek() == "#":
            return
        if self.peek() not in ("", ";", "\n", "}"):
            raise ScriptError("extra characters after command")

    def digits(self) -> str:
        begin = self.at
        self.skip("0123456789")
        return self.text[begin : self.at][:18]

    def address(self, second: bool = False) -> Address | None:
        letter = self.peek()
        if letter and letter in "0123456789":
            first = int(self.digits())
            self.skip(" \t")
            if self.peek() == "~":
                self.at += 1
                return Address("step", first, int(self.digits() or 0))
            return Address("zero") if first == 0 and not second else Address("line", first)
        if letter and second and letter in "+~":
            self.at += 1
            return Address("plus" if letter == "+" else "multiple", int(self.digits() or 0))
        if letter == "$":
            self.at += 1
            return Address("last")
        if letter == "/" or letter == "\\":
            self.at += 1
            pattern = self.delimited(self.take() if letter == "\\" else "/", regex=True)
            flags = ""
            while self.peek() and self.peek() in "IM":
                flags += self.take()
            return Address("regex", regex=self.regex(pattern, flags))
        return None

    def regex(self, pattern: str, flags: str) -> Regex | None:
        if not pattern:
            return None
        try:
            pattern = re.sub(r"\\x([0-9A-Fa-f]{2})", lambda found: "\\" + chr(int(found[1], 16)), pattern)
            return posix(pattern, self.extended, "i" in flags.lower(), "m" in flags.lower(), escapes=True)
        except PatternError:
            self.sure = False
            return None

    def delimited(self, delimiter: str, regex: bool) -> str:
        """The text up to the delimiter. An escaped delimiter stands for itself."""
        if not delimiter or delimiter in "\n\\":
            raise ScriptError("invalid delimiter")
        out = ""
        while True:
            letter = self.take()
            if not letter:
                raise ScriptError("unterminated")
            if letter == delimiter:
                return out
            if letter == "\\":
                following = self.take()
                if following == delimiter:
                    out += following if regex or following != "&" else "\\&"
                else:
                    out += letter + following
            elif letter == "[" and regex and delimiter != "[":
                out += letter + self.bracket()
            elif letter == "\n" and regex:
                raise ScriptError("unterminated")
            else:
                out += letter

    def bracket(self) -> str:
        """The rest of a bracket expression, in which a delimiter is an ordinary character; nothing where it does not close."""
        found = re.compile(r"\^?\]?(?:\[[.:=].*?[.:=]\]|[^\]\n])*\]").match(self.text, self.at)
        if found is None:
            return ""
        self.at = found.end()
        return found[0]

    def substitution(self, command: Command) -> Command:
        delimiter = self.take()
        pattern = self.delimited(delimiter, regex=True)
        replacement = self.delimited(delimiter, regex=False)
        flags, number, file = "", 0, ""
        while True:
            letter = self.peek()
            if letter and letter in "giIpmMe":
                flags += letter
                self.at += 1
            elif letter and letter in "123456789":
                number = int(self.digits())
            elif letter == "w":
                self.at += 1
                self.skip(" \t")
                file = self.rest_of_line()
                if not file:
                    raise ScriptError("missing filename")
                flags += "w"
                break
            else:
                self.end_of_substitution()
                break
        return command._replace(
            regex=self.regex(pattern, flags), replacement=_replacement(replacement), flags=flags, number=number, text=file
        )

    def end_of_substitution(self) -> None:
        self.skip(" \t\r")
        if self.peek() not in ("", ";", "\n", "}", "#"):
            raise ScriptError("unknown option to s")

    def letters(self, command: Command) -> Command:
        delimiter = self.take()
        sets = []
        for _ in range(2):
            part = self.delimited(delimiter, regex=False)
            sets.append(re.sub(r"\\(.)", lambda found: _CONTROLS.get(found[1], found[1]), part, flags=re.S))
        if len(sets[0]) != len(sets[1]):
            raise ScriptError("y needs equal lengths")
        self.end()
        return command._replace(text=sets[0] + sets[1])

    def label(self, name: str) -> str:
        begin = self.at
        while self.peek() and self.peek() not in ("\n; \t" if name == ":" else "\n;"):
            self.at += 1
        found = self.text[begin : self.at].strip()
        if name != ":" and found.endswith("}"):
            self.at -= 1
            return found[:-1].strip()
        if name == ":" and not found:
            raise ScriptError("missing label")
        return found

    def rest_of_line(self) -> str:
        begin = self.at
        end = self.text.find("\n", begin)
        self.at = len(self.text) if end < 0 else end
        return self.text[begin : self.at]

    def added(self) -> str:
        """The text of a, i and c: up to a newline that no backslash stands before."""
        self.skip(" \t")
        if self.peek() == "\\":
            self.at += 1
            begin = self.at
            self.skip(" \t")
            if self.peek() == "\n":
                self.at += 1
            else:
                self.at = begin
        elif not self.peek():
            raise ScriptError("expected \\ after a, c or i")
        out = ""
        while self.peek() and self.peek() != "\n":
            letter = self.take()
            if letter == "\\":
                following = self.take()
                letter = _CONTROLS.get(following, following)
            out += letter
        return out + "\n"


def _replacement(text: str) -> tuple[str | int | tuple[str], ...]:
    """Literal text, numbers of groups (0 the whole match), and changes of case as 1-tuples."""
    parts: list[str | int | tuple[str]] = []
    for hexa, octal, letter, ampersand, plain in re.findall(r"\\x([0-9A-Fa-f]{2})|\\o([0-7]{3})|\\(.)|(&)|([^\\&]+)", text, re.S):
        if hexa or octal:
            parts.append(chr(int(hexa, 16) if hexa else int(octal, 8) & 255))
        elif ampersand:
            parts.append(0)
        elif letter.isdigit():
            parts.append(int(letter))
        elif letter and letter in "LUluE":
            parts.append((letter,))
        else:
            parts.append(_CONTROLS.get(letter, letter) if letter else plain)
    return tuple(parts)
