"""Where the pieces of shell text end: quotes, expansions, substitutions, words. It says nothing about what they mean.

A backslash before a newline joins two lines wherever bash lets it; the scanner takes the pair out of its text as it comes to
it, so that every slice taken from `text` afterwards reads as bash sees it.
"""

from __future__ import annotations

from guard import expressions as re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SYNTAX = "syntax"  # bash itself would reject the text
TOO_DEEP = "too-deep"
TOO_LONG = "too-long"
PARSER = "parser"  # a fault of ours

DEPTH_LIMIT = 40
EXPANSION_LIMIT = 30_000
JOIN_LIMIT = 1 << 30  # characters that may be copied while lines are joined

_PLAIN = re.compile(r"""[^\\'"`$<>()|&; \t\n]+""")
_IN_DOUBLE = re.compile(r'[^\\"`$]*')
_IN_ANSI = re.compile(r"[^\\']*")
_IN_BACKTICKS = re.compile(r"[^\\`]*")
_IN_BRACE = re.compile(r"""[^\\'"`$}]*""")
_IN_ARITHMETIC = re.compile(r"""[^\\'"`$()]*""")
_IN_BRACKET = re.compile(r"""[^\\'"`$\[\]]*""")
_IN_PATTERN = re.compile(r"""[^\\'"`$()<>]*""")
_BLANKS = re.compile(r"[ \t\n]*")
ARRAY_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[.*\])?\+?=\Z", re.DOTALL)
_SUBSCRIPTED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\[")


class Unparsable(Exception):
    """The text cannot be taken apart; `code` is one of the four above."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Scanner:
    """A text, and for each kind of piece the index behind it. Every method raises Unparsable where the piece has no end."""

    def __init__(self, text: str, depth: int = 0, spend: Callable[[int], None] | None = None) -> None:
        self.text = text
        self.depth = depth
        self.spend = spend
        self._copied = 0
        self._expansions = 0
        self._ends: dict[tuple[str, int], int | None] = {}

    def join_lines(self, i: int) -> bool:
        """Takes out the backslash and newline at `i`, if they stand there."""
        if not self.text.startswith("\\\n", i):
            return False
        self.rewrite(self.text[:i] + self.text[i + 2 :])
        return True

    def rewrite(self, text: str) -> None:
        """Goes on with another text, which differs from the one so far only behind what has been passed."""
        self.text = text
        self._copied += len(text)
        if self._copied > JOIN_LIMIT:
            raise Unparsable(TOO_LONG)
        self._ends.clear()

    def peek(self, i: int) -> str:
        """The character at `i`, "" at the end; lines that are joined there are joined first."""
        while self.join_lines(i):
            pass
        return self.text[i : i + 1]

    def _escape(self, i: int) -> int:
        if self.join_lines(i):
            return i
        return min(i + 2, len(self.text))

    def _nested(self, find: Callable[[int], int], i: int) -> int:
        self.depth += 1
        if self.depth > DEPTH_LIMIT:
            raise Unparsable(TOO_DEEP)
        end = find(i)
        self.depth -= 1
        return end

    def single(self, i: int) -> int:
        """Behind the quote that closes '..'; `i` is behind the one that opens it."""
        end = self.text.find("'", i)
        if end < 0:
            raise Unparsable(SYNTAX)
        return end + 1

    def ansi(self, i: int) -> int:
        """Behind the quote that closes $'..'."""
        while True:
            i = self._run(_IN_ANSI, i)
            if self.text[i] == "'":
                return i + 1
            i += 2

    def backticks(self, i: int) -> int:
        """Behind the backtick that closes `..`."""
        while True:
            i = self._run(_IN_BACKTICKS, i)
            if self.text[i] == "`":
                return i + 1
            i = self._escape(i)

    def double(self, i: int) -> int:
        """Behind the quote that closes ".."."""
        return self._nested(self._double, i)

    def _double(self, i: int) -> int:
        while True:
            i = self._run(_IN_DOUBLE, i)
            if self.text[i] == '"':
                return i + 1
            i = self.piece(i, quoted=True)

    def _run(self, plain: re.Pattern[str], i: int) -> int:
        """Behind the plain characters at `i`, where another one has to stand."""
        match = plain.match(self.text, i)
        end = match.end() if match else i
        if end >= len(self.text):
            raise Unparsable(SYNTAX)
        return end

    def piece(self, i: int, quoted: bool) -> int:
        """Behind the escape, quote or expansion that begins at `i`; one character further where none does."""
        character = self.text[i]
        if character == "\\":
            return self._escape(i)
        if character == "'":
            return self.single(i + 1)
        if character == '"':
            return self.double(i + 1)
        if character == "`":
            return self.backticks(i + 1)
        if character == "$":
            return self.dollar(i, quoted)
        return i + 1

    def dollar(self, i: int, quoted: bool) -> int:
        """Behind the expansion whose $ stands at `i`."""
        self._expansions += 1
        if self._expansions > EXPANSION_LIMIT:
            raise Unparsable(TOO_LONG)
        following = self.peek(i + 1)
        if following == "(":
            return self._parenthesis(i)
        if following == "{":
            self.peek(i + 2)
            return self.brace(i + 2, quoted)
        if following == "[":
            return self.bracket(i + 2)
        if following == "'" and not quoted:
            return self.ansi(i + 2)
        if following == '"' and not quoted:
            return self.double(i + 2)
        return i + 2 if following and following in "$?!#*@-" else i + 1

    def _parenthesis(self, i: int) -> int:
        """Behind $(..) or $((..)). Where "$((" begins no arithmetic, bash looks for the end as if it did."""
        if self.peek(i + 2) == "(":
            end = self.arithmetic(i + 3)
            return end if end is not None else self._remembered("lists", i + 2, self._balanced_parentheses)
        return self.command(i + 2)

    def command(self, i: int) -> int:
        """Behind the parenthesis that closes $(..), <(..) or >(..); `i` is behind the one that opens it."""
        from guard.shell.tokens import end_of_command

        return self._remembered("command", i, lambda at: end_of_command(self, at))

    def _remembered(self, kind: str, i: int, find: Callable[[int], int]) -> int:
        """What `find` gives, looked for only once: an attempt that failed is followed by another from the same place."""
        end = self._ends.get((kind, i))
        if end is None:
            if self.spend:
                self.spend(1)
            end = self._ends[kind, i] = self._nested(find, i)
        return end

    def arithmetic(self, i: int) -> int | None:
        """Behind the "))" that belongs to the "((" before `i`; None where what follows is no arithmetic, but two open lists."""
        if ("arithmetic", i) in self._ends:
            return self._ends["arithmetic", i]
        depth = self.depth
        try:
            end: int | None = self._nested(self._balanced_parentheses, i)
        except Unparsable as error:
            if error.code != SYNTAX:
                raise
            end = None
        self.depth = depth
        end = end + 1 if end is not None and self.peek(end) == ")" else None
        self._ends["arithmetic", i] = end
        return end

    def _balanced_parentheses(self, i: int) -> int:
        depth = 1
        while True:
            i = self._run(_IN_ARITHMETIC, i)
            if self.text[i] == "(":
                depth += 1
            elif self.text[i] == ")":
                depth -= 1
                if not depth:
                    return i + 1
            i = self.piece(i, quoted=False)

    def brace(self, i: int, quoted: bool) -> int:
        """Behind the brace that closes ${..}. Quotes pair up inside, also single ones inside ".." (they are text there)."""
        return self._nested(lambda at: self._brace(at, quoted), i)

    def _brace(self, i: int, quoted: bool) -> int:
        while True:
            i = self._run(_IN_BRACE, i)
            if self.text[i] == "}":
                return i + 1
            ansi = self.text[i] == "$" and self.peek(i + 1) == "'"
            i = self.ansi(i + 2) if ansi else self.piece(i, quoted)

    def bracket(self, i: int) -> int:
        """Behind the bracket that closes $[..] or a subscript."""
        return self._nested(self._bracket, i)

    def _bracket(self, i: int) -> int:
        depth = 1
        while True:
            i = self._run(_IN_BRACKET, i)
            if self.text[i] == "[":
                depth += 1
            elif self.text[i] == "]":
                depth -= 1
                if not depth:
                    return i + 1
            i = self.piece(i, quoted=False)

    def _pattern(self, i: int) -> int:
        """Behind the parenthesis that closes an extended pattern like !(..)."""
        depth = 1
        while True:
            i = self._run(_IN_PATTERN, i)
            character = self.text[i]
            if character == "(":
                depth += 1
            elif character == ")":
                depth -= 1
                if not depth:
                    return i + 1
            elif character in "<>" and self.peek(i + 1) == "(":
                i = self.command(i + 2)
                continue
            i = self.piece(i, quoted=False)

    def array(self, i: int) -> int:
        """Behind the parenthesis that closes name=(..)."""
        return self._nested(self._array, i)

    def _array(self, i: int) -> int:
        while True:
            i = self.array_item(i)
            if self.text.startswith(")", i):
                return i + 1
            end = self.word(i, subscripts=True)
            if end == i:
                raise Unparsable(SYNTAX)
            i = end

    def array_item(self, i: int) -> int:
        """The beginning of the next item of an array, or its closing parenthesis: blanks, newlines and comments are passed."""
        while True:
            match = _BLANKS.match(self.text, i)
            i = match.end() if match else i
            if self.text.startswith("#", i):
                i = self._run(re.compile(r"[^\n]*"), i)
            elif not self.join_lines(i):
                return i

    def word(self, i: int, assignable: bool = False, patterns: bool = True, subscripts: bool = False) -> int:
        """Behind the word at `i`; `i` itself where none begins.

        Where an assignment may stand, a subscript may hold blanks (`assignable`), as it may at the beginning of an array's
        item (`subscripts`). `patterns`: whether !(..) belongs to the word.
        """
        start = i
        plain = -1  # where the plain characters end that were passed last
        if subscripts and self.text.startswith("[", i):
            end = self.bracket(i + 1)
            i = end if self.peek(end) in ("=", "+") else i
        elif assignable and (match := _SUBSCRIPTED.match(self.text, i)):
            i = self.bracket(match.end())
        while i < len(self.text):
            if match := _PLAIN.match(self.text, i):
                i = plain = match.end()
                continue
            character = self.text[i]
            if character in " \t\n;&|)":
                break
            if character in "<>":
                if self.peek(i + 1) != "(":
                    break
                i = self.command(i + 2)
            elif character == "(":
                end = self._opened(start, i, patterns and plain == i)
                if end == i:
                    break
                i = end
            else:
                i = self.piece(i, quoted=False)
        return i

    def _opened(self, start: int, i: int, pattern: bool) -> int:
        """Behind what the parenthesis at `i`, in the word from `start`, opens; `i` where it does not belong to the word."""
        if i > start and self.text[i - 1] == "=" and ARRAY_NAME.match(self.text[start:i]):
            return self.array(i + 1)
        if pattern and self.text[i - 1] in "?*+@!":
            return self._nested(self._pattern, i + 1)
        return i

    def regular_expression(self, i: int) -> int:
        """Behind the right side of =~: parentheses and bars belong to it."""
        while i < len(self.text) and self.text[i] not in " \t\n":
            if self.text[i] == "(":
                i = self._nested(self._pattern, i + 1)
            elif self.text[i] == ")":
                break
            else:
                i = self.piece(i, quoted=False)
        return i
