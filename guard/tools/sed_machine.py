"""Runs sed scripts on texts that are known."""

from __future__ import annotations

from guard import expressions as re
from guard.tools.patterns import Regex
from guard.tools.reading import UnknownOutputError
from guard.tools.sed_script import Address, Command, Script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = 40_000  # commands that one run may take; a long pattern space counts for more
STREAMS = ("/dev/stdout", "/dev/stderr")


class Stream:
    """An output. A line without newline gets one as soon as more follows."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._missing = ""

    def put(self, text: str, end: str) -> None:
        """Writes a line with its end, "" for the last line of a text that does not end in one."""
        self.parts += (self._missing, text, end)
        self._missing = "" if end else "\n"

    def raw(self, text: str) -> None:
        """Writes a text as it is."""
        self.parts += (self._missing, text)
        self._missing = ""

    def text(self) -> str:
        """All that was written."""
        return "".join(self.parts)


class _QuitError(Exception):
    """The script ends the run."""


class Machine:
    """One run: the script, its options, and the two buffers. `files` holds what w has written, `status` the exit status."""

    def __init__(
        self, script: Script, quiet: bool, end: str, read: Callable[[str], str | None], execute: Callable[[str], str]
    ) -> None:
        self.script = script
        self.quiet = quiet or script.quiet
        self.end = end
        self.read = read
        self.execute = execute
        self.files: dict[str, Stream] = {}
        self.status = 0
        self.done = False
        self.hold = ""
        self.hold_newline = end
        self._steps = STEPS
        self._recent: Regex | None = None

    def run(self, texts: list[str]) -> str:
        """What the script writes for the texts as one input; raises UnknownOutputError. `done` is set where it quits."""
        self.input = [line for text in texts for line in _ended(text, self.end)]
        self.number = 0
        self.ranges: dict[int, int | None] = {}  # active ranges, with their last line where that is known
        self.closed: set[int] = set()
        self.queue: list[str] = []
        self.out = Stream()
        try:
            while self.number < len(self.input):
                self._next_line()
                self._cycle()
        except _QuitError:
            self.done = True
        return self.out.text()

    def _next_line(self) -> None:
        line = self.input[self.number]
        self.number += 1
        self.newline = self.end if line.endswith(self.end) or self.number < len(self.input) else ""
        self.pattern = line.removesuffix(self.end)

    def _last(self) -> bool:
        return self.number >= len(self.input)

    def _cycle(self) -> None:
        """One pass over the script; D starts it again with what is left."""
        while True:
            self.replaced = False
            again = self._commands()
            if not again:
                break
            self._flush()
        self._flush()

    def _commands(self) -> bool:
        """True when the script is to start again without reading a line."""
        at = 0
        commands = self.script.commands
        while at < len(commands):
            self._steps -= 1 + len(self.pattern) // 200
            if self._steps < 0 or len(self.pattern) > 1 << 20:
                raise UnknownOutputError
            command = commands[at]
            chosen = self._chosen(at, command) != command.negated
            if command.name == "{":
                at = at + 1 if chosen else command.goto
                continue
            at += 1
            if not chosen:
                continue
            if command.name in ("b", "t", "T"):
                if command.name == "b" or self.replaced == (command.name == "t"):
                    at = command.goto
                self.replaced = self.replaced and command.name == "b"
                continue
            if command.name == "D" and "\n" in self.pattern:
                self.pattern = self.pattern.partition("\n")[2]
                return True
            if self._perform(at - 1, command):
                return False
        if not self.quiet:
            self.out.put(self.pattern, self.newline)
        return False

    def _flush(self) -> None:
        for text in self.queue:
            self.out.raw(text)
        self.queue.clear()

    def _chosen(self, at: int, command: Command) -> bool:
        """True when the addresses select the line."""
        first, second = command.first, command.second
        if first is None:
            return True
        if second is None:
            return self._matches(first)
        if at in self.ranges or (first.kind == "zero" and at not in self.closed):
            return self._inside(at, second)
        if first.kind == "zero" or not self._matches(first):
            return False
        end = self._range_end(second)
        if end is None or end > self.number:
            self.ranges[at] = end
        return True

    def _range_end(self, second: Address) -> int | None:
        if second.kind == "line":
            return second.first
        if second.kind == "plus":
            return self.number + second.first
        if second.kind == "multiple":
            return self.number if second.first <= 0 else (self.number // second.first + 1) * second.first
        return len(self.input) if second.kind == "last" else None

    def _inside(self, at: int, second: Address) -> bool:
        end = self.ranges.get(at)
        if end is not None:
            if self.number >= end:
                self.ranges.pop(at, None)
            return self.number <= end
        if self._matches(second):
            self.ranges.pop(at, None)
            self.closed.add(at)
        return True

    def _matches(self, address: Address) -> bool:
        if address.kind == "line":
            return self.number == address.first
        if address.kind == "last":
            return self._last()
        if address.kind == "step":
            if address.step <= 0:
                return self.number == address.first
            return self.number >= address.first and (self.number - address.first) % address.step == 0
        return self._used(address.regex).search(self.pattern) is not None

    def _used(self, regex: Regex | None) -> re.Pattern[str]:
        """The expression, the last one used for //."""
        regex = regex or self._recent
        if regex is None or not regex.affordable(len(self.pattern)):
            raise UnknownOutputError
        self._recent = regex
        return regex.search

    def _perform(self, at: int, command: Command) -> bool:
        """Runs one command; True when the cycle is over and nothing is printed any more."""
        name = command.name
        if name == "s":
            self._substitute(command)
        elif name == "y":
            half = len(command.text) // 2
            self.pattern = self.pattern.translate(dict(zip(map(ord, command.text[:half]), command.text[half:], strict=True)))
        elif name == "p":
            self.out.put(self.pattern, self.newline)
        elif name == "P":
            first, more, _ = self.pattern.partition("\n")
            self.out.put(first, more or self.newline)
        elif name in ("d", "D"):
            return True
        elif name in "gGhHxz":
            self._exchange(name)
        elif name in "nN":
            return self._advance(name)
        elif name in "aic":
            return self._add(at, command)
        elif name in "qQ":
            self._quit(command)
        else:
            self._write(command)
        return False

    def _exchange(self, name: str) -> None:
        """The buffers take each other's content. Each knows whether its last line ended in a newline."""
        if name == "x":
            self.pattern, self.hold = self.hold, self.pattern
            self.newline, self.hold_newline = self.hold_newline, self.newline
        elif name in "gG":
            self.pattern = self.hold if name == "g" else f"{self.pattern}\n{self.hold}"
            self.newline = self.hold_newline
        elif name in "hH":
            self.hold = self.pattern if name == "h" else f"{self.hold}\n{self.pattern}"
            self.hold_newline = self.newline
        else:
            self.pattern = ""

    def _advance(self, name: str) -> bool:
        if self._last():
            if not self.quiet:
                self.out.put(self.pattern, self.newline)
            self._flush()
            return True
        if name == "n":
            if not self.quiet:
                self.out.put(self.pattern, self.newline)
            self._flush()
            self._next_line()
            return False
        before = self.pattern
        self._flush()
        self._next_line()
        self.pattern = before + "\n" + self.pattern
        return False

    def _add(self, at: int, command: Command) -> bool:
        if command.name == "a":
            self.queue.append(command.text)
            return False
        if command.name == "i":
            self.out.raw(command.text)
            return False
        if command.second is None or command.negated or at not in self.ranges:
            self.out.raw(command.text)
        return True

    def _quit(self, command: Command) -> None:
        self.status = command.number
        if command.name == "q":
            if not self.quiet:
                self.out.put(self.pattern, self.newline)
            self._flush()
            self.out.raw("")  # GNU sed ends the last line before it quits
        raise _QuitError

    def _write(self, command: Command) -> None:
        """The commands that read and write files, and those that print something about the line."""
        name = command.name
        if name == "=":
            self.out.raw(f"{self.number}\n")
        elif name == "r":
            self.queue.append(self.read(command.text) or "")
        elif name == "w":
            self._file(command.text).put(self.pattern, self.newline)
        elif name == "W":
            first, more, _ = self.pattern.partition("\n")
            self._file(command.text).put(first, more or self.newline)
        elif name == "e" and command.text:
            self.out.raw(self.execute(command.text))
        elif name == "e":
            self.pattern = self.execute(self.pattern).removesuffix("\n")
        elif name != ":":
            raise UnknownOutputError

    def _file(self, name: str) -> Stream:
        stream = self.files.setdefault(name, Stream())
        if name == "/dev/stdout":
            stream.parts = self.out.parts
        return stream

    def _substitute(self, command: Command) -> None:
        search = self._used(command.regex)
        wanted = command.number or 1
        pieces: list[str] = []
        position = count = 0
        replaced = False
        ended = -1
        for found in search.finditer(self.pattern):
            if found.start() == found.end() == ended:
                continue  # nothing, right behind the last match, is no match
            ended = found.end()
            count += 1
            if count < wanted:
                continue
            pieces += (self.pattern[position : found.start()], _expanded(command.replacement, found))
            position = found.end()
            replaced = True
            if "g" not in command.flags:
                break
        if not replaced:
            return
        self.pattern = "".join(pieces) + self.pattern[position:]
        self.replaced = True
        if "e" in command.flags:
            self.pattern = self.execute(self.pattern).removesuffix("\n")
        if "p" in command.flags:
            self.out.put(self.pattern, self.newline)
        if "w" in command.flags:
            self._file(command.text).put(self.pattern, self.newline)


def _ended(text: str, end: str) -> list[str]:
    parts = text.split(end)
    return [part + end for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _expanded(replacement: tuple[str | int | tuple[str], ...], found: re.Match[str]) -> str:
    """The replacement of one match, with its changes of case."""
    out: list[str] = []
    case = once = ""
    for part in replacement:
        if isinstance(part, tuple):
            letter = part[0]
            case, once = ("" if letter == "E" else letter, "") if letter in "LUE" else (case, letter)
            continue
        if isinstance(part, int) and part > (found.re.groups or 0):
            raise UnknownOutputError
        text = part if isinstance(part, str) else found[part] or ""
        text = text.upper() if case == "U" else text.lower() if case == "L" else text
        if once and text:
            text = (text[0].upper() if once == "u" else text[0].lower()) + text[1:]
            once = ""
        out.append(text)
    return "".join(out)
