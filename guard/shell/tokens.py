"""Shell text into the terminals of the grammar: reserved words, operators, words, here-documents.

What a token is depends on the tokens before it only, never on the parser, so a text can be taken apart as a whole; the end of
a command substitution is found in the same way.
"""

from __future__ import annotations

from guard import expressions as re
from guard.shell.scanner import DEPTH_LIMIT, SYNTAX, TOO_DEEP, TOO_LONG, Scanner, Unparsable
from guard.shell.terminals import CLOSED_BY, COMMAND_FOLLOWS, OPENING, OPERATORS, PATTERN_FOLLOWS, REDIRECTIONS, RESERVED

TOKEN_LIMIT = 30_000

_ASSIGNED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[.*?\])?\+?=", re.DOTALL)
_VARIABLE = re.compile(r"\{[A-Za-z_][A-Za-z0-9_]*(?:\[.+\])?\}\Z", re.DOTALL)
_FUNCTION_NAME = re.compile(r"""[^\\'"`$<>()|&; \t\n]*\([ \t]*\)""")
_BLANK = re.compile(r"[ \t]*")
_COMMENT = re.compile(r"[^\n]*")


class Token:
    """A terminal: its kind in the grammar, its text, where it stands, and the body of a here-document or of [[ .. ]]."""

    __slots__ = ("body", "end", "kind", "start", "text")

    def __init__(self, kind: str, text: str, start: int, end: int) -> None:
        self.kind = kind
        self.text = text
        self.start = start
        self.end = end
        self.body: tuple[str, bool] | tuple[str, ...] = ()


class Tokenizer:
    """Gives the tokens of a scanner's text, one at a time.

    `closing`: the text goes on behind a parenthesis that closes what is read here, with the token "CLOSING" there.
    """

    def __init__(self, scanner: Scanner, start: int = 0, closing: bool = False) -> None:
        self.scanner = scanner
        self.index = start
        self._closing = closing
        self._last = ""
        self._before = ""
        self._waiting: list[Token] = []
        self._here: list[tuple[Token, bool]] = []
        self._open: list[str] = []
        self._pattern = False  # the patterns of a case clause come next
        self._in_of = ""  # the loop or case whose "in" may still come
        self._leading = True  # nothing of a simple command has been read but assignments and redirections

    def next(self) -> Token:
        """The next token; at the end of the text one of the kind EOF, again and again."""
        token = self._waiting.pop(0) if self._waiting else self._read()
        if token.kind != "NEWLINE" and not (self._last in ("FOR", "CASE") and token.kind == "WORD"):
            self._in_of = ""
        self._leading = self._leading or token.kind in COMMAND_FOLLOWS
        self._before, self._last = self._last, token.kind
        return token

    def _read(self) -> Token:
        scanner = self.scanner
        self._skip_blanks()
        start = self.index
        character = scanner.text[start : start + 1]
        if not character:
            if self._closing:
                raise Unparsable(SYNTAX)
            self._gather()
            return Token("EOF", "", start, start)
        if character == "(" and (token := self._arithmetic(start)):
            return token
        if character in "\n;&|()" or (character in "<>" and scanner.peek(start + 1) != "("):
            return self._operator(start)
        if character == "-" and self._last in ("LESS_AND", "GREATER_AND"):
            return self._taken("DASH", start, start + 1)
        return self._word(start)

    def _skip_blanks(self) -> None:
        text = self.scanner.text
        while True:
            match = _BLANK.match(text, self.index)
            self.index = match.end() if match else self.index
            if self.scanner.join_lines(self.index):
                text = self.scanner.text
            elif text.startswith("#", self.index):
                match = _COMMENT.match(text, self.index)
                self.index = match.end() if match else self.index
            else:
                return

    def _taken(self, kind: str, start: int, end: int) -> Token:
        self.index = end
        return Token(kind, self.scanner.text[start:end], start, end)

    def _command_follows(self) -> bool:
        return self._last in COMMAND_FOLLOWS or (self._last == "WORD" and self._before in ("COPROC", "FUNCTION"))

    def _arithmetic(self, start: int) -> Token | None:
        """((..)) where a command or the head of a for may stand."""
        if self._pattern or not (self._last == "FOR" or self._command_follows()) or self.scanner.peek(start + 1) != "(":
            return None
        end = self.scanner.arithmetic(start + 2)
        if end is None:
            return None
        self._leading = False
        return self._taken("ARITH_FOR_EXPRS" if self._last == "FOR" else "ARITH_CMD", start, end)

    def _operator(self, start: int) -> Token:
        text = self.scanner.text[start]
        while (longer := text + self.scanner.peek(start + len(text))) != text and longer in OPERATORS and text != "\n":
            text = longer
        kind = OPERATORS[text]
        if kind == "LEFT_PAREN" and self._last == "WORD" and self._before == "FUNCTION" and not self._empty_parentheses(start):
            return Token("NEWLINE", "", start, start)  # "function f ( .. )": the grammar wants something between name and body
        token = self._taken(kind, start, start + len(text))
        if kind == "NEWLINE":
            self._gather()
        elif kind in PATTERN_FOLLOWS:
            self._pattern = True
        elif kind == "LEFT_PAREN" and not self._pattern:
            self._opened(kind)
        elif kind == "RIGHT_PAREN":
            self._closed_parenthesis(token)
        return token

    def _empty_parentheses(self, start: int) -> bool:
        match = _BLANK.match(self.scanner.text, start + 1)
        return match is not None and self.scanner.text.startswith(")", match.end())

    def _opened(self, kind: str) -> None:
        self._open.append(kind)
        if len(self._open) + self.scanner.depth > DEPTH_LIMIT:
            raise Unparsable(TOO_DEEP)

    def _closed_parenthesis(self, token: Token) -> None:
        if self._pattern:
            self._pattern = False
        elif self._open and self._open[-1] == "LEFT_PAREN":
            self._open.pop()
        elif self._closing and not self._open:
            token.kind = "CLOSING"
            if self._here:
                self._draw_bodies(token)
        elif self._closing:
            raise Unparsable(SYNTAX)

    def _word(self, start: int) -> Token:
        scanner = self.scanner
        command = self._command_follows()
        self._leading = command or self._leading
        assignable = self._leading and not self._pattern and self._last not in REDIRECTIONS
        if command and not self._pattern and scanner.text.startswith("!(", start):
            return self._taken("BANG", start, start + 1)  # "!(..)" is a command unless extglob is set, and a strange one if it is
        patterns = not (command and not self._pattern and _FUNCTION_NAME.match(scanner.text, start))
        end = scanner.word(start, assignable, patterns)
        token = self._taken("WORD", start, end)
        token.kind = self._kind(token, command, assignable)
        if token.kind == "COND_START":
            self._condition(end)
        elif token.kind == "TIME":
            self._skip_time_options()
        if token.kind not in ("WORD", "NUMBER", "REDIR_WORD", "ASSIGNMENT_WORD"):
            self._reserved(token.kind)
        elif token.kind == "WORD" and self._last in ("LESS_LESS", "LESS_LESS_MINUS"):
            self._here.append((token, self._last == "LESS_LESS_MINUS"))
        elif token.kind == "WORD" and self._last not in REDIRECTIONS:
            self._leading = False
        return token

    def _kind(self, token: Token, command: bool, assignable: bool) -> str:
        text = token.text
        if text[0].isdigit() and self._is_descriptor(text):
            return "NUMBER"
        if special := self._special(text):
            return special
        if command and text in RESERVED and self._counts(text):
            return RESERVED[text]
        if text[0] == "{" and text[-1] == "}" and self._redirection_follows() and _VARIABLE.match(text):
            return "REDIR_WORD"
        if self._last in ("FOR", "CASE"):
            self._in_of = self._last
        elif assignable and "=" in text and _ASSIGNED.match(text):
            return "ASSIGNMENT_WORD"
        return "WORD"

    def _redirection_follows(self) -> bool:
        following = self.scanner.peek(self.index)
        return following != "" and following in "<>"

    def _is_descriptor(self, text: str) -> bool:
        if not (text.isascii() and text.isdigit() and len(text) < 19):
            return False
        return self._last in ("LESS_AND", "GREATER_AND") or self._redirection_follows()

    def _special(self, text: str) -> str:
        """The words that are reserved by what stands before them."""
        if self._in_of and text == "in":
            self._pattern = self._in_of == "CASE"
            return "IN"
        if text == "do" and (self._last == "ARITH_FOR_EXPRS" or (self._last == "WORD" and self._before == "FOR")):
            return "DO"
        if text == "{" and self._last == "ARITH_FOR_EXPRS":
            return "LEFT_CURLY"
        if text == "esac" and self._last == "IN" and self._pattern:
            return "ESAC"
        return ""

    def _counts(self, text: str) -> bool:
        """Whether a reserved word is one here."""
        if self._pattern:
            return text == "esac" and self._last not in ("BAR", "LEFT_PAREN")
        piped = self._before if self._last == "NEWLINE" else self._last
        return text != "time" or piped not in ("BAR", "BAR_AND")

    def _reserved(self, kind: str) -> None:
        self._leading = False
        if kind == "ESAC":
            self._pattern = False
        if kind in CLOSED_BY:
            if self._open and self._open[-1] in CLOSED_BY[kind]:
                self._open.pop()
        elif self._open and (kind == "DO" or (kind == "LEFT_CURLY" and self._open[-1] == "FOR")):
            self._open[-1] = kind  # the body of the loop whose head was open
        elif kind in OPENING:
            self._opened(kind)

    def _skip_time_options(self) -> None:
        for option in ("-p", "--"):
            self._skip_blanks()
            end = self.scanner.word(self.index)
            if self.scanner.text[self.index : end] == option:
                self.index = end

    def _condition(self, start: int) -> None:
        """The words of [[ .. ]], as one token, and the closing one behind it."""
        words: list[str] = []
        i = self._next_condition(start)
        while not (self.scanner.text.startswith("]]", i) and self.scanner.word(i) == i + 2):
            end = self._condition_word(i, words)
            words.append(self.scanner.text[i:end])
            i = self._next_condition(end)
        body = Token("COND_CMD", "", start, i)
        body.body = tuple(words)
        self._waiting = [body, self._taken("COND_END", i, i + 2)]

    def _next_condition(self, i: int) -> int:
        i = self.scanner.array_item(i)
        if i >= len(self.scanner.text):
            raise Unparsable(SYNTAX)
        return i

    def _condition_word(self, i: int, words: list[str]) -> int:
        text = self.scanner.text
        if words and words[-1] == "=~":
            end = self.scanner.regular_expression(i)
        elif text.startswith(("&&", "||"), i):
            return i + 2
        elif text[i] in "()" or (text[i] in "<>" and self.scanner.peek(i + 1) != "("):
            return i + 1
        else:
            end = self.scanner.word(i)
        if end == i:
            raise Unparsable(SYNTAX)
        return end

    def _gather(self) -> None:
        """Reads the bodies of the here-documents that wait for the end of the line."""
        for token, strip in self._here:
            end, quoted = _delimiter(token)
            lines: list[str] = []
            while self.index < len(self.scanner.text):
                raw, following = self._line(quoted)
                line = raw.lstrip("\t") if strip else raw
                if end + "\n" in (line, raw):
                    self.index = following
                    break
                if self._closing and line.startswith(end) and ")" in line[len(end) :]:
                    self.index += len(raw) - len(line) + len(end)
                    break
                self.index = following
                lines.append(line)
            token.body = ("".join(lines), quoted)
        self._here = []

    def _line(self, quoted: bool) -> tuple[str, int]:
        """The next line of a here-document, and where the one after it begins."""
        text = self.scanner.text
        start = self.index
        end = text.find("\n", start)
        while not quoted and end > start and _escaped(text, start, end):
            self.scanner.join_lines(end - 1)
            text = self.scanner.text
            end = text.find("\n", end - 1)
        end = len(text) if end < 0 else end + 1
        line = text[start:end] if text.endswith("\n", start, end) else text[start:end] + "\n"
        return line, end

    def _draw_bodies(self, token: Token) -> None:
        """Moves the bodies that stand behind the line of a closing parenthesis before it: `$(cat <<E)`, body, E."""
        text = self.scanner.text
        behind = text.find("\n", token.end)
        if behind < 0:
            self._here = []
            return
        here, self.index, self._closing = self._here, behind + 1, False
        self._gather()
        text, bodies = self.scanner.text, []
        for start, strip in here:
            end, quoted = _delimiter(start)
            bodies.append((start.body[0], end, quoted, strip))
        drawn = "\n" + "".join(str(body) + end + "\n" for body, end, _, _ in bodies)
        self.scanner.rewrite(text[: token.start] + drawn + text[token.start : behind + 1] + text[self.index :])
        token.start += len(drawn)
        token.end += len(drawn)
        self.index = token.end


def _delimiter(token: Token) -> tuple[str, bool]:
    """What ends the here-document whose operator the token follows, and whether its body is taken as it stands."""
    if not any(quote in token.text for quote in "'\"\\"):
        return token.text, False
    from guard.shell.quoting import unquoted

    return unquoted(token.text), True


def _escaped(text: str, start: int, end: int) -> bool:
    """Whether an odd number of backslashes stands before `end`."""
    i = end
    while i > start and text[i - 1] == "\\":
        i -= 1
    return (end - i) % 2 == 1


def end_of_command(scanner: Scanner, start: int) -> int:
    """Behind the parenthesis that closes the command substitution whose text begins at `start`."""
    tokenizer = Tokenizer(scanner, start, closing=True)
    while tokenizer.next().kind != "CLOSING":
        pass
    return tokenizer.index


def tokens(scanner: Scanner) -> tuple[list[Token], str | None]:
    """All tokens of the text, the last one EOF; or those before a fault, and its code."""
    tokenizer = Tokenizer(scanner)
    found: list[Token] = []
    spend = scanner.spend
    try:
        while not found or found[-1].kind != "EOF":
            found.append(tokenizer.next())
            if spend and not len(found) % 256:
                spend(256)
            if len(found) > TOKEN_LIMIT:
                raise Unparsable(TOO_LONG)
    except Unparsable as error:
        return found, error.code
    except RecursionError:
        return found, TOO_DEEP
    return found, None
