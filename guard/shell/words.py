"""What the raw text of a word says: its literals with quotes removed, and its expansions, each as a part.

Nothing here raises but TooMany, from `braces`. Text that cannot be taken apart becomes a Parameter with the op "bad", whose
value nobody knows.
"""

from __future__ import annotations

from guard import expressions as re
from guard.shell.nodes import Arithmetic, Literal, Parameter, Part, Process, Substitution, Tilde, TooMany, Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["TooMany", "braces", "double_quoted", "here_document", "split", "word"]

_SIMPLE = re.compile(r"[^\\'\"`$<>~]+\Z")
_PLAIN = re.compile(r"[^\\'\"`$<>~]+")
_IN_QUOTES = re.compile(r'[^\\"`$]+')
_TILDE = re.compile(r"~([A-Za-z0-9._+-]*)(?=[/:]|\Z)")
_ASSIGNED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[[^]]*\])?\+?=")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")

# What a backslash escapes: inside "..", in a here-document, and in the word of ${x:-word} where that stands in one of them.
_QUOTES = '$`"\\'
_HERE = "$`\\"
_ARGUMENT = '$`"\\}'
_UNESCAPED = {_QUOTES: r'\\([$`"\\])', _HERE: r"\\([$`\\])"}


def word(raw: str, assignment: bool = False) -> Word:
    """The word that `raw` is; with `assignment`, it is the value of one (a tilde counts behind ":", too)."""
    if _SIMPLE.match(raw):
        return Word(raw, (Literal(raw),))
    return _word(raw, lambda parts: parts.unquoted(assignment))


def double_quoted(text: str) -> Word:
    """The text as it would be between double quotes: what a prompt is."""
    return _word(text, lambda parts: parts.quoted(_QUOTES))


def arithmetic(text: str) -> Word:
    """The text of an arithmetic expression: as between double quotes, and the quotes in it do not count."""
    return _word(text, lambda parts: parts.quoted(_QUOTES, quotes=True))


def argument(raw: str) -> Word:
    """The word of an operator like :- in an expansion that is quoted: double quotes in it do not count, single ones are text."""
    return _word(raw, lambda parts: parts.quoted(_ARGUMENT, quotes=True))


def here_document(body: str, quoted: bool) -> Word:
    """The body of a here-document, `quoted` telling whether its delimiter was."""
    if quoted or not any(special in body for special in _HERE):
        return Word(body, (Literal(body, True),))
    return _word(body, lambda parts: parts.quoted(_HERE))


def _word(raw: str, take: Callable[[_Parts], None]) -> Word:
    from guard.shell.scanner import Unparsable

    parts = _Parts(raw)
    try:
        take(parts)
    except (Unparsable, RecursionError, IndexError):
        return Word(raw, (Parameter(raw, "bad"),))
    return Word(raw, parts.joined())


def braces(raw: str) -> list[str]:
    """The words that brace expansion makes of a raw word, quotes and all else still in them; [raw] where it makes none.

    Raises TooMany above some thousands.
    """
    if "{" not in raw or ("," not in raw and ".." not in raw):
        return [raw]
    from guard.shell.braces import expand

    return expand(raw)


def _braced(inner: str, quoted: bool) -> Parameter | Substitution:
    from guard.shell.parameters import braced

    return braced(inner, quoted)


def _ansi(body: str) -> str:
    from guard.shell.quoting import ansi

    return ansi(body)


def split(text: str, separator: str) -> list[str]:
    """The text, split at the separators that stand in no quotes, expansion or parentheses."""
    from guard.shell.scanner import Scanner, Unparsable

    scanner = Scanner(text)
    pieces: list[str] = []
    start = i = depth = 0
    try:
        while i < len(scanner.text):
            character = scanner.text[i]
            if character == separator and not depth:
                pieces.append(scanner.text[start:i])
                start = i + 1
            depth = max(0, depth + (character == "(") - (character == ")"))
            i = scanner.piece(i, quoted=False)
    except Unparsable:
        return [text]
    return [*pieces, scanner.text[start:]]


class _Parts:
    """The parts of a raw text, gathered from left to right."""

    def __init__(self, raw: str) -> None:
        from guard.shell.scanner import Scanner

        self.scanner = Scanner(raw)
        self._parts: list[Part] = []
        self._text: list[str] = []  # the literal that is being read
        self._text_quoted = False
        self._in_argument = False

    def joined(self) -> tuple[Part, ...]:
        """The parts so far, at least one."""
        self._end_literal()
        return tuple(self._parts) or (Literal(""),)

    def _literal(self, text: str, quoted: bool) -> None:
        if self._text and self._text_quoted != quoted:
            self._end_literal()
        self._text.append(text)
        self._text_quoted = quoted

    def _end_literal(self) -> None:
        if self._text:
            self._parts.append(Literal("".join(self._text), self._text_quoted))
            self._text = []

    def _part(self, part: Part) -> None:
        self._end_literal()
        self._parts.append(part)

    def unquoted(self, assignment: bool) -> None:
        """Reads the whole text as that of a word."""
        scanner = self.scanner
        assigned = _ASSIGNED.match(scanner.text)
        value = assigned.end() if assigned else 0
        colons = assignment or assigned is not None
        i = plain = 0
        while i < len(scanner.text):
            if match := _PLAIN.match(scanner.text, i):
                self._literal(match.group(), False)
                i = plain = match.end()
                continue
            if scanner.text[i] == "~":
                begins = i in (0, value) or (colons and plain == i and scanner.text[i - 1] == ":")
                i = plain = self._tilde(i, begins)
            else:
                i = self._special(i)

    def _tilde(self, i: int, begins: bool) -> int:
        match = _TILDE.match(self.scanner.text, i) if begins else None
        if match:
            self._part(Tilde(match.group(1)))
            return match.end()
        self._literal("~", False)
        return i + 1

    def _special(self, i: int) -> int:
        """The quote, escape or expansion at `i`, outside of quotes."""
        scanner = self.scanner
        character = scanner.text[i]
        if character == "\\":
            return self._escaped(i)
        if character == "'":
            end = scanner.single(i + 1)
            self._literal(scanner.text[i + 1 : end - 1], True)
            return end
        if character == '"':
            return self._double(i + 1)
        if character in "<>":
            return self._process(i)
        if character == "`":
            return self._backticks(i, False, _HERE)
        return self._dollar(i, False)

    def _escaped(self, i: int) -> int:
        if self.scanner.join_lines(i):
            return i
        self._literal(self.scanner.text[i + 1 : i + 2] or "\\", True)
        return i + 2

    def _double(self, i: int) -> int:
        end = self.scanner.double(i)
        inner = self.scanner.text[i : end - 1]
        self._literal("", True)
        if not any(special in inner for special in _HERE):
            self._literal(inner, True)
            return end
        parts = _Parts(inner)
        parts.quoted(_QUOTES)
        for part in parts.joined():
            if isinstance(part, Literal):
                self._literal(part.text, True)
            else:
                self._quoted_part(part)
        return end

    def _quoted_part(self, part: Part) -> None:
        """Adds an expansion; quotes that hold nothing beside it leave no literal."""
        if self._text == [""]:
            self._text = []
        self._part(part)

    def _process(self, i: int) -> int:
        if self.scanner.peek(i + 1) != "(":
            self._literal(self.scanner.text[i], False)
            return i + 1
        end = self.scanner.command(i + 2)
        self._part(Process(self.scanner.text[i], self.scanner.text[i + 2 : end - 1]))
        return end

    def _backticks(self, i: int, quoted: bool, escapes: str) -> int:
        end = self.scanner.backticks(i + 1)
        inner = re.sub(_UNESCAPED[escapes], r"\1", self.scanner.text[i + 1 : end - 1])
        self._quoted_part(Substitution(inner, quoted))
        return end

    def quoted(self, escapes: str, quotes: bool = False) -> None:
        """Reads the whole text as quoted, `escapes` being what a backslash escapes; `quotes`: double quotes are left out."""
        scanner = self.scanner
        self._in_argument = escapes == _ARGUMENT
        i = 0
        while i < len(scanner.text):
            if match := _IN_QUOTES.match(scanner.text, i):
                self._literal(match.group(), True)
                i = match.end()
                continue
            character = scanner.text[i]
            if character == "\\":
                i = self._escaped_in_quotes(i, escapes)
            elif character == '"':
                self._literal("" if quotes else '"', True)
                i += 1
            elif character == "`":
                i = self._backticks(i, True, _HERE if escapes == _HERE else _QUOTES)
            else:
                i = self._dollar(i, True)

    def _escaped_in_quotes(self, i: int, escapes: str) -> int:
        if self.scanner.join_lines(i):
            return i
        following = self.scanner.text[i + 1 : i + 2]
        self._literal(following if following and following in escapes else "\\" + following, True)
        return i + 2

    def _dollar(self, i: int, quoted: bool) -> int:
        """The expansion whose $ stands at `i`."""
        scanner = self.scanner
        following = scanner.peek(i + 1)
        if following == "(":
            return self._parenthesis(i, quoted)
        if following == "'" and (not quoted or self._in_argument):
            end = scanner.ansi(i + 2)
            self._literal(_ansi(scanner.text[i + 2 : end - 1]), True)
            return end
        if following == '"' and not quoted:
            return self._double(i + 2)
        if following in ("{", "["):
            end = scanner.dollar(i, quoted)
            inner = scanner.text[i + 2 : end - 1]
            self._quoted_part(_braced(inner, quoted) if following == "{" else Arithmetic(arithmetic(inner), quoted))
            return end
        if match := _NAME.match(scanner.text, i + 1):
            self._quoted_part(Parameter(match.group(), quoted=quoted))
            return match.end()
        self._literal("$", quoted)
        return i + 1

    def _parenthesis(self, i: int, quoted: bool) -> int:
        scanner = self.scanner
        end = scanner.dollar(i, quoted)
        if scanner.text.startswith("((", i + 1) and scanner.arithmetic(i + 3) == end:
            self._quoted_part(Arithmetic(arithmetic(scanner.text[i + 3 : end - 2]), quoted))
        else:
            self._quoted_part(Substitution(scanner.text[i + 2 : end - 1], quoted))
        return end
