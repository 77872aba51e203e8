"""Cuts programs in Perl, JavaScript, Ruby, PHP and Lua into tokens: strings with their escapes and insertions, names, marks."""

from __future__ import annotations

from guard import expressions as re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from guard.record import NamedTuple

TOKENS = 20_000  # a longer program is not read to its end


class Insert(NamedTuple):
    """A part of a string that the program puts in: the source of the variable or expression."""

    source: str


class Token(NamedTuple):
    """`kind` is name, text, words, command, glob, number, regex, change (s///, tr///) or mark. `pieces` are the parts of a text,
    `value` is the rest; of a regex the expression, its flags being the only piece."""

    kind: str
    value: str
    pieces: tuple[str | Insert, ...] = ()


class Language(NamedTuple):
    """How a language writes what matters here. `plain` and `rich` are quotes without and with escapes and insertions, `command`
    those that run a shell; `sigils` begin variables' names; `insert` finds an insertion in a rich text; `slash` tells that one
    may begin a regular expression; `newline` that a line's end ends a statement."""

    name: str
    line_comments: tuple[str, ...]
    block_comment: tuple[str, str] | None
    plain: str
    rich: str
    command: str
    insert: re.Pattern[str] | None
    sigils: str = ""
    slash: bool = False
    newline: bool = False


_PERL_INSERT = re.compile(r"\$\{(\w+)\}|([$@][A-Za-z_][\w:]*(?:\[[^\]]*\]|\{[^}]*\})?|\$_|\$\d)")
PERL = Language("perl", ("#",), None, "'", '"', "`", _PERL_INSERT, "$@%&", slash=True)
PHP = Language("php", ("#", "//"), ("/*", "*/"), "'", '"', "`", re.compile(r"\{?\$\{?(\w+)\}?\}?"), "$")
NODE = Language("node", ("//",), ("/*", "*/"), "", "'\"`", "", re.compile(r"\$\{([^{}]*)\}"), "$", slash=True)
RUBY = Language("ruby", ("#",), None, "'", '"', "`", re.compile(r"#\{([^{}]*)\}"), "$@", slash=True, newline=True)
LUA = Language("lua", ("--",), ("--[[", "]]"), "", "'\"", "", None, newline=True)

_NAME = re.compile(r"[A-Za-z_$][\w$]*(?:::\w+)*[?!]?")
_VARIABLE = re.compile(r"[$@%&]\{?\^?[A-Za-z_]\w*(?:::\w+)*\}?|[$@]\{(?=[$])|\$[_0-9!@&]|@_|\$#?\w+")
_NUMBER = re.compile(r"\d[\d_.]*(?:[eE]\d+)?")
_PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "e": "\x1b", "a": "\a", "f": "\f"}
_HEREDOC = re.compile(r"<<([~-]?)(?:\"([^\"\n]+)\"|'([^'\n]+)'|([A-Z_]\w*))")
_QUOTING = {
    "q": "plain",
    "qq": "rich",
    "qw": "words",
    "qx": "command",
    "m": "regex",
    "qr": "regex",
    "s": "change",
    "tr": "change",
    "y": "change",
}
_RUBY_QUOTING = {"w": "words", "W": "words", "i": "words", "q": "plain", "Q": "rich", "": "rich", "x": "command", "r": "regex"}
_BEFORE_EXPRESSION = frozenset(
    ("if unless while until and or not return split grep map when then else x in of typeof case").split()
)


class Cutter:
    """Goes through a text once."""

    def __init__(self, source: str, language: Language) -> None:
        self.source = source
        self.language = language
        self.at = 0
        self.found: list[Token] = []
        self.lines: list[int] = []  # on which line each token begins
        self.bodies: list[tuple[int, str, bool, bool]] = []  # here-documents whose body has not begun: token, end, rich, indented

    def all(self) -> list[Token]:
        """All tokens, up to the limit."""
        line = 0
        while self.at < len(self.source) and len(self.found) < TOKENS:
            start, count = self.at, len(self.found)
            if not (self._space() or self._comment() or self._quoting() or self._text() or self._word() or self._slash()):
                self.found.append(Token("mark", self.source[self.at]))
                self.at += 1
            self.lines += [line] * (len(self.found) - count)
            line += self.source.count("\n", start, self.at)
        return self.found

    def _space(self) -> bool:
        letter = self.source[self.at]
        if not letter.isspace():
            return False
        self.at += 1
        if letter == "\n":
            if self.language.newline:
                self.found.append(Token("mark", "\n"))
            self._bodies()
        return True

    def _comment(self) -> bool:
        source, block = self.source, self.language.block_comment
        if block is not None and source.startswith(block[0], self.at):
            end = source.find(block[1], self.at + len(block[0]))
            self.at = len(source) if end < 0 else end + len(block[1])
            return True
        if self.language.name == "perl" and source.startswith("=", self.at) and source[max(0, self.at - 1)] == "\n":
            end = source.find("\n=cut", self.at)
            if re.match(r"=[a-z]", source[self.at : self.at + 2]):
                self.at = len(source) if end < 0 else end + 5
                return True
        if not source.startswith(self.language.line_comments, self.at) or (
            self.language.sigils and source[self.at - 1 : self.at] == "$"
        ):
            return False
        end = source.find("\n", self.at)
        self.at = len(source) if end < 0 else end
        return True

    def _quoting(self) -> bool:
        """q(), qw(), s///, %w[], and here-documents."""
        source = self.source
        kinds, match = _QUOTING, None
        if self.language.name == "perl" and not self._after(">", "{", "$", "@", "%", "&"):
            match = re.compile(r"(qq|qw|qx|qr|tr|q|m|s|y)(\s*)([^\w\s,;=)]|=(?![>=~ ]))").match(source, self.at)
        elif self.language.name == "ruby":
            kinds = _RUBY_QUOTING
            match = re.compile(r"%([wWiqQxr]?)()([\[({<|!/])").match(source, self.at)
            if match and match[1] == "" and not self._expression():
                match = None
        if match and not source[self.at - 1 : self.at].isalnum():
            self._delimited(kinds[match[1]], match.end() - 1)
            return True
        if self.language.name in ("perl", "ruby", "php"):
            return self._heredoc()
        return False

    def _after(self, *marks: str) -> bool:
        last = self.found[-1] if self.found else None
        return last is not None and last.kind == "mark" and last.value in marks and last.value in ("$", "@", "%", "&")

    def _delimited(self, kind: str, at: int) -> None:
        body, self.at = self._until(at)
        if kind in ("regex", "change"):
            if kind == "change":
                if self.source[at] in _PAIRS:
                    rest = re.compile(r"\s*").match(self.source, self.at)
                    _, self.at = self._until(rest.end() if rest else self.at)
                else:
                    _, self.at = self._until(self.at - 1)
            flags = re.compile(r"[a-z]*").match(self.source, self.at)
            self.at = flags.end() if flags else self.at
            self.found.append(Token(kind, body, (flags[0] if flags else "",)))
        elif kind == "words":
            self.found.append(Token("words", body))
        else:
            pieces = self._insertions(body) if kind != "plain" else (body,)
            self.found.append(Token("command" if kind == "command" else "text", body, pieces))

    def _until(self, at: int) -> tuple[str, int]:
        """The text between the delimiter here and the one that closes it, and the place behind."""
        if at >= len(self.source):
            return "", at
        opening = self.source[at]
        closing, depth, start = _PAIRS.get(opening, opening), 1, at + 1
        at = start
        while at < len(self.source):
            letter = self.source[at]
            if letter == "\\":
                at += 1
            elif letter == closing:
                depth -= 1
                if depth == 0:
                    break
            elif letter == opening:
                depth += 1
            at += 1
        return self.source[start:at], at + 1

    def _heredoc(self) -> bool:
        match = _HEREDOC.match(self.source, self.at + (self.language.name == "php" and self.source.startswith("<<<", self.at)))
        if match is None or not self._expression():
            return False
        end = match[2] or match[3] or match[4]
        self.bodies.append((len(self.found), end, match[3] is None, bool(match[1])))
        self.found.append(Token("text", "", ("",)))
        self.at = match.end()
        return True

    def _bodies(self) -> None:
        for place, end, rich, indented in self.bodies:
            lines: list[str] = []
            while self.at < len(self.source):
                stop = self.source.find("\n", self.at)
                stop = len(self.source) if stop < 0 else stop
                line, self.at = self.source[self.at : stop], stop + 1
                if (line.strip() if indented else line).rstrip(";") == end:
                    break
                lines.append(line + "\n")
            body = "".join(line.lstrip() for line in lines) if indented else "".join(lines)
            self.found[place] = Token("text", body, self._insertions(body) if rich else (body,))
        self.bodies = []

    def _text(self) -> bool:
        letter = self.source[self.at]
        language = self.language
        if language.name == "lua" and self.source.startswith("[[", self.at):
            end = self.source.find("]]", self.at)
            self.found.append(Token("text", "", (self.source[self.at + 2 : end],)))
            self.at = len(self.source) if end < 0 else end + 2
            return True
        if letter == "<" and language.name == "perl" and self._expression():
            match = re.compile(r"<([^<>\n=;]*[*?./~][^<>\n=;]*)>").match(self.source, self.at)
            if match:
                self.found.append(Token("glob", match[1], self._insertions(match[1])))
                self.at = match.end()
                return True
        if not letter or letter not in language.plain + language.rich + language.command:
            return False
        body, self.at = self._until_quote(letter)
        kind = "command" if letter in language.command else "text"
        if letter in language.plain:
            pieces: tuple[str | Insert, ...] = (re.sub(r"\\([\\'])", r"\1", body),)
        elif language.name == "node" and letter != "`":
            pieces = (_unescaped(body),)
        else:
            pieces = self._insertions(body)
        self.found.append(Token(kind, body, pieces))
        return True

    def _until_quote(self, quote: str) -> tuple[str, int]:
        start = at = self.at + 1
        while at < len(self.source) and self.source[at] != quote:
            at += 2 if self.source[at] == "\\" else 1
        return self.source[start:at], at + 1

    def _insertions(self, body: str) -> tuple[str | Insert, ...]:
        pieces: list[str | Insert] = []
        at = 0
        pattern = self.language.insert
        for match in pattern.finditer(body) if pattern is not None else ():
            if (len(body[: match.start()]) - len(body[: match.start()].rstrip("\\"))) % 2:
                continue
            pieces += [_unescaped(body[at : match.start()]), Insert(_inserted(self.language, match))]
            at = match.end()
        pieces.append(_unescaped(body[at:]))
        return tuple(piece for piece in pieces if piece != "") or ("",)

    def _word(self) -> bool:
        source = self.source
        letter = source[self.at]
        if (
            letter in self.language.sigils
            and (match := _VARIABLE.match(source, self.at)) is not None
            and self._is_variable(letter)
        ):
            self.found.append(Token("name", re.sub(r"[{}]", "", match[0])))
            self.at = match.end()
            return True
        for kind, pattern in (("number", _NUMBER), ("name", _NAME)):
            match = pattern.match(source, self.at)
            if match is not None:
                word = match[0]
                if word[-1] in "?!" and (self.language.name != "ruby" or source[match.end() : match.end() + 1] == "="):
                    word = word[:-1]
                self.found.append(Token(kind, word))
                self.at += len(word)
                return True
        return False

    def _is_variable(self, letter: str) -> bool:
        return letter in "$@" or self._expression()

    def _slash(self) -> bool:
        """A regular expression, where one may stand."""
        if self.source[self.at] != "/" or not self.language.slash or not self._expression():
            return False
        line = self.source[self.at : (self.source.find("\n", self.at) + 1 or len(self.source) + 1) - 1]
        match = re.compile(r"/((?:[^\\/\[]|\\.|\[(?:[^\\\]]|\\.)*\])+)/([a-z]*)").match(line)
        if match is None:
            return False
        self.found.append(Token("regex", match[1], (match[2],)))
        self.at += match.end()
        return True

    def _expression(self) -> bool:
        """True where an operand may begin, not an operator."""
        if not self.found:
            return True
        last = self.found[-1]
        if last.kind == "mark":
            return last.value not in (")", "]", "}")
        return last.kind == "name" and (
            last.value in _BEFORE_EXPRESSION or (last.value[0].islower() and self.language.name in ("perl", "ruby"))
        )


def _inserted(language: Language, match: re.Match[str]) -> str:
    if language.name == "php":
        return f"${match[1]}"
    if language.name == "perl":
        return f"${match[1]}" if match[1] else match[2]
    return match[1]


def _unescaped(text: str) -> str:
    def replaced(match: re.Match[str]) -> str:
        code = match[1] or match[2] or match[3]
        return chr(min(int(code, 16), 0x10FFFF)) if code else _ESCAPES.get(match[4], "" if match[4] == "\n" else match[4])

    return re.sub(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|[ux]\{([0-9A-Fa-f]{1,6})\}|(.|\n))", replaced, text, flags=re.S)


def cut(source: str, language: Language) -> list[Token]:
    """The tokens of a program; what cannot be told apart comes as single marks."""
    return Cutter(source, language).all()
