"""The line editor that ed, ex and vim share: a buffer of lines, addresses, and commands that change or write it."""

from __future__ import annotations

from guard import expressions as re
from guard.tools.patterns import PatternError, posix
from guard.tools.reading import UnknownOutputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Hands(Protocol):
        """What the commands of an editor do outside of its buffer."""

        def write(self, name: str, lines: list[str] | None, append: bool, force: bool) -> None:
            """Writes lines to a file, None where they are not known."""

        def read(self, name: str) -> list[str] | None:
            """The lines of a file, none where it does not exist, None where they are not known."""

        def visit(self, name: str) -> list[str] | None:
            """The lines of a file that is edited from now on, as `read` gives them."""

        def shell(self, command: str, lines: list[str] | None) -> list[str] | None:
            """Runs a command with the lines as its input, and gives the lines that it writes."""


STEPS = 20_000  # lines that one script may change or look at
_COMMAND = re.compile(
    r"\s*(?:(w(?:rite)?|wq|x(?:it)?|up(?:date)?|sav(?:eas)?|W|r(?:ead)?|e(?:dit)?|E|f(?:ile)?)(!?))(?:\s+(.*)|(!.*))?$", re.S
)
_ABBREVIATED = {
    "d": "delete", "s": "substitute", "g": "global", "v": "vglobal", "j": "join", "m": "move", "t": "copy", "co": "copy",
    "a": "append", "i": "insert", "c": "change", "p": "print", "P": "print", "n": "number", "l": "list", "u": "undo", "k": "mark",
    "=": "=", "y": "yank", "H": "help", "h": "help", "z": "print", "nu": "number",
}  # fmt: skip


class ScriptOverError(Exception):
    """The script quits the editor."""


class LineEditor:
    """One buffer. `lines` is None once its content cannot be told; a command that fails raises ValueError."""

    def __init__(self, hands: Hands, name: str, lines: list[str] | None, vim: bool) -> None:
        self.hands = hands
        self.name = name
        self.lines = lines
        self.vim = vim
        self.current = 1 if vim else len(lines or ())
        self._before = self._saved = lines
        self._pattern = ""
        self._steps = STEPS

    @property
    def modified(self) -> bool:
        """True where the buffer may not be what was read or written last."""
        return self.lines is None or self.lines is not self._saved

    def run(self, script: list[str]) -> None:
        """Runs the lines of a script; raises ScriptOverError at its q."""
        rest = script[::-1]
        while rest:
            line = rest.pop().lstrip(": \t")
            try:
                self.command(line, rest)
            except (PatternError, UnknownOutputError):
                self.lines = None

    def command(self, line: str, rest: list[str]) -> None:
        """One command; those that add text take it from the lines that follow."""
        if self.vim:
            line = re.sub(r"^(?:(?:sil(?:ent)?!?|keepj\w*|keepp\w*|noau\w*|lockm\w*|sandbox)\s+)+", "", line)
        first, last, line = self._addresses(line)
        if line.startswith("!"):
            self._filter(first, last, line[1:])
            return
        matched = _COMMAND.match(line)
        if matched and (matched[3] is None or matched[1] != "x" or self.vim):
            self._file_command(matched[1], bool(matched[2]), (matched[3] or matched[4] or "").strip(), first, last)
            return
        if re.match(r"(?:q|Q|wq|ZZ|qa|qall|quit|quitall|cq\w*|exit)!?\d*\s*$", line):
            if re.match(r"(q|qa|qall|quit|quitall)\s*$", line) and self.lines is not self._saved:
                self._saved = self.lines  # it warns that the buffer is not written, and quits only when told again
                return
            raise ScriptOverError
        self._change(line, first, last, rest)

    def _file_command(self, name: str, force: bool, operand: str, first: int | None, last: int | None) -> None:
        """w, wq, x, r, e and their kin."""
        if name in ("e", "E", "edit"):
            self.name = operand or self.name
            self.lines = self._saved = self.hands.visit(self.name)
            return
        if name in ("f", "file"):
            self.name = operand or self.name
            return
        if name in ("r", "read"):
            added = self.hands.shell(operand[1:], None) if operand.startswith("!") else self.hands.read(operand or self.name)
            self._insert((last if last is not None else len(self.lines or ())), added)
            return
        part = self.lines if first is None or self.lines is None else self.lines[max(first - 1, 0) : last]
        append = name == "W"
        if operand.startswith(">>"):
            operand, append = operand[2:].strip(), True
        if operand.startswith("!") or (force and not self.vim and operand):
            self.hands.shell(operand.lstrip("!"), part)
        else:
            self.hands.write(operand or self.name, part, append, force)
            self._saved = self.lines
        if name.startswith(("sav",)):
            self.name = operand
        if name in ("wq", "x", "xit") or (name == "w" and operand == "q"):
            raise ScriptOverError

    def _filter(self, first: int | None, last: int | None, command: str) -> None:
        """!command, or lines through a command."""
        if first is None:
            self.hands.shell(command, None)
            return
        self._keep()
        part = None if self.lines is None else self.lines[first - 1 : last]
        output = self.hands.shell(command, part)
        self.lines = None if self.lines is None or output is None else self.lines[: first - 1] + output + self.lines[last:]

    def _change(self, line: str, first: int | None, last: int | None, rest: list[str]) -> None:
        """The commands that change lines, or only show them."""
        matched = re.match(r"([a-zA-Z]+|[=#&<>@*~]|$)", line)
        word = matched[1] if matched else line[:1]
        name, argument = self._named(word, line)
        if name in ("append", "insert", "change"):
            self._add(name, self._text(rest), first, last)
        elif name in ("print", "number", "list", "=", "mark", "yank", "help", "", "#"):
            if last is not None:
                self.current = last
        elif name == "undo":
            self.lines, self._before = self._before, self.lines
        elif name == "delete":
            self._delete(first, last)
        elif name == "substitute":
            self._substitute(argument, first, last)
        elif name in ("global", "vglobal"):
            self._over_all(argument, name == "vglobal", first, last, rest)
        elif name in ("join", "move", "copy"):
            self._rearrange(name, argument, first, last)
        elif self.vim and name in ("se", "set", "setlocal", "syntax", "syn", "let", "noh", "filetype", "echo", "au", "autocmd"):
            pass
        else:
            self._strange(name, argument)

    def _named(self, word: str, line: str) -> tuple[str, str]:
        """The command and its argument: the longest name that the word is or begins with."""
        full = next(
            (f for short, f in _ABBREVIATED.items() if word == short or (len(word) > len(short) and f.startswith(word))), None
        )
        if full:
            return full, line[len(word) :]
        if word[:1] in "sgvd" and (not self.vim or word[:1] != "d") and line[1:2] and not line[1].isalpha():
            return _ABBREVIATED[word[0]], line[1:]
        if not self.vim and word[:1] in _ABBREVIATED:
            return _ABBREVIATED[word[0]], line[1:]
        if len(word) > 3 and "normal".startswith(word):
            return "normal", line[len(word) :]
        return word, line[len(word) :]

    def _strange(self, name: str, argument: str) -> None:
        """A command of vim that is not modelled leaves a buffer that nobody knows; ed stops at one that it does not have."""
        if not self.vim:
            return
        if name == "normal":
            keys = argument.lstrip("!").strip()
            self._keep()
            self.lines = [] if re.fullmatch(r"(gg)?(\"_)?(dG|VGd|VGx|vGd)|:?%d.*|gg\"?_?dG", keys) and self.current <= 1 else None
            return
        self.lines = None

    def _addresses(self, line: str) -> tuple[int | None, int | None, str]:
        """The lines that a command is for (None for its default), and the command."""
        line = line.lstrip()
        if line[:1] == "%" or (line[:1] in (",", ";") and not self.vim):
            rest = line[1:]
            after, rest = self._address(rest) if line[:1] != "%" else (None, rest)
            return (1 if line[:1] != ";" else self.current), after if after is not None else len(self.lines or ()), rest
        first, line = self._address(line)
        if first is None:
            return None, None, line
        last = first
        while line[:1] in (",", ";"):
            if line[0] == ";":
                self.current = last
            first = last
            found, line = self._address(line[1:])
            last = found if found is not None else (len(self.lines or ()) if not self.vim else self.current)
        if self.lines is not None and not 0 <= first <= last <= len(self.lines):
            raise ValueError("invalid address")
        return first, last, line.lstrip()

    def _address(self, line: str) -> tuple[int | None, str]:
        line = line.lstrip()
        size = len(self.lines or ())
        found: int | None = None
        if matched := re.match(r"\d{1,9}", line):
            found, line = int(matched[0]), line[matched.end() :]
        elif line[:1] in (".", "$"):
            found, line = (self.current if line[0] == "." else size), line[1:]
        elif line[:1] in ("/", "?"):
            pattern, line = _delimited(line[1:], line[0])
            found = self._search(pattern or self._pattern, line_sign=1)
        while matched := re.match(r"\s*([+-])(\d{0,9})", line):
            step = int(matched[2] or 1)
            found = (self.current if found is None else found) + (step if matched[1] == "+" else -step)
            line = line[matched.end() :]
        return found, line

    def _search(self, pattern: str, line_sign: int) -> int:
        if self.lines is None:
            raise UnknownOutputError
        self._pattern = pattern
        regex = self._regex(pattern)
        count = len(self.lines)
        for offset in range(1, count + 1):
            at = (self.current - 1 + line_sign * offset) % count
            if regex.search(self.lines[at]):
                return at + 1
        raise ValueError("no match")

    def _regex(self, pattern: str, fold: bool = False) -> re.Pattern[str]:
        found = posix(pattern, False, fold, escapes=True)
        if not found.affordable(max(map(len, self.lines or ()), default=0)):
            raise UnknownOutputError
        return found.search

    def _keep(self) -> None:
        self._before = self.lines

    def _text(self, rest: list[str]) -> list[str]:
        """The lines up to the one that is only a dot."""
        found: list[str] = []
        while rest:
            line = rest.pop()
            if line == ".":
                break
            found.append(line)
        return found

    def _insert(self, after: int, added: list[str] | None) -> None:
        self._keep()
        if self.lines is None or added is None:
            self.lines = None
            return
        self.lines = self.lines[:after] + added + self.lines[after:]
        self.current = after + len(added) if added else after

    def _add(self, name: str, text: list[str], first: int | None, last: int | None) -> None:
        at = self.current if last is None else last
        if name == "change":
            self._delete(first, last)
            at = (first if first is not None else at) - 1
        elif name == "insert":
            at -= 1
        self._insert(max(at, 0), text)

    def _span(self, first: int | None, last: int | None) -> tuple[int, int]:
        if self.lines is None:
            raise UnknownOutputError
        first, last = (self.current, self.current) if first is None or last is None else (first, last)
        if not 1 <= first <= last <= len(self.lines):
            raise ValueError("invalid address")
        return first, last

    def _delete(self, first: int | None, last: int | None) -> None:
        if first == 1 and last == 0 and self.lines is None:
            first, last, self.lines = 1, 1, ["?"]  # all of a buffer that nobody knows
        first, last = self._span(first, last)
        self._keep()
        assert self.lines is not None
        self.lines = self.lines[: first - 1] + self.lines[last:]
        self.current = min(first, len(self.lines))

    def _substitute(self, argument: str, first: int | None, last: int | None) -> None:
        argument = argument.strip()
        if not argument:
            raise UnknownOutputError
        pattern, rest = _delimited(argument[1:], argument[0])
        replacement, flags = _delimited(rest, argument[0])
        self._pattern = pattern = pattern or self._pattern
        if self.vim and re.search(r"\\[=rnz]|~", replacement):
            raise UnknownOutputError
        regex = self._regex(pattern, "i" in flags.lower())
        shown = _template(replacement)
        first, last = self._span(first, last)
        self._keep()
        assert self.lines is not None
        number = int(found[0]) if (found := re.search(r"\d{1,4}", flags)) else 1
        changed = False
        lines = self.lines[:]
        for at in range(first - 1, last):
            self._steps -= 1
            if self._steps < 0:
                raise UnknownOutputError
            new = _substituted(regex, shown, lines[at], "g" in flags, number)
            if new != lines[at]:
                lines[at] = new
                self.current, changed = at + 1, True
        if not changed and not self.vim:
            raise ValueError("no match")
        self.lines = [part for line in lines for part in line.split("\n")] if changed else lines

    def _over_all(self, argument: str, inverted: bool, first: int | None, last: int | None, rest: list[str]) -> None:
        """g/re/command and v/re/command."""
        argument = argument.strip()
        if argument[:1] == "!":
            inverted, argument = True, argument[1:]
        pattern, command = _delimited(argument[1:], argument[:1])
        pattern = pattern or self._pattern
        first, last = (1, len(self.lines or ())) if first is None else self._span(first, last)
        if self.lines is None:
            raise UnknownOutputError
        regex = self._regex(pattern)
        command = command.strip() or "p"
        if command in ("d", "delete"):
            self._keep()
            kept = [bool(regex.search(line)) == inverted for line in self.lines]
            self.lines = [line for at, line in enumerate(self.lines) if kept[at] or not first <= at + 1 <= last]
            self.current = min(self.current, len(self.lines))
            return
        if not re.match(r"(s\W|p$|n$|l$)", command):
            raise UnknownOutputError
        for number in [at for at in range(first, last + 1) if bool(regex.search(self.lines[at - 1])) != inverted]:
            self.current = number
            try:
                self.command(command, rest)
            except ValueError:
                continue

    def _rearrange(self, name: str, argument: str, first: int | None, last: int | None) -> None:
        if name == "join" and first is not None and first == last and not self.vim:
            return
        if name == "join":
            first, last = self._span(first, last) if first is not None else self._span(self.current, self.current + 1)
            if self.vim:
                raise UnknownOutputError
            self._keep()
            assert self.lines is not None
            self.lines[first - 1 : last] = ["".join(self.lines[first - 1 : last])]
            self.current = first
            return
        to, _ = self._address(argument)
        first, last = self._span(first, last)
        if to is None or self.lines is None:
            raise UnknownOutputError
        self._keep()
        part = self.lines[first - 1 : last]
        if name == "copy":
            self.lines = self.lines[:to] + part + self.lines[to:]
        else:
            marked = [(at, line) for at, line in enumerate(self.lines, 1)]
            before = [line for at, line in marked if at <= to and not first <= at <= last]
            after = [line for at, line in marked if at > to and not first <= at <= last]
            self.lines = before + part + after


def _delimited(text: str, delimiter: str) -> tuple[str, str]:
    """The text up to the delimiter, and what is behind it."""
    out = ""
    at = 0
    while at < len(text) and text[at] != delimiter:
        if text[at] == "\\" and at + 1 < len(text):
            out += text[at + 1] if text[at + 1] == delimiter else text[at : at + 2]
            at += 1
        else:
            out += text[at]
        at += 1
    return out, text[at + 1 :]


def _template(text: str) -> list[str | int]:
    parts: list[str | int] = []
    for number, letter, whole, plain in re.findall(r"\\(\d)|\\(.)|(&)|([^\\&]+)", text, re.S):
        parts.append(int(number) if number else letter or ("" if not whole else 0) or plain if not whole else 0)
    return parts


def _substituted(regex: re.Pattern[str], shown: list[str | int], line: str, every: bool, number: int) -> str:
    pieces: list[str] = []
    position, count, ended = 0, 0, -1
    for found in regex.finditer(line):
        if found.start() == found.end() == ended:
            continue
        ended = found.end()
        count += 1
        if count < number:
            continue
        pieces += (line[position : found.start()], *(p if isinstance(p, str) else found[p] or "" for p in shown))
        position = found.end()
        if not every:
            break
    return "".join(pieces) + line[position:]
