"""Reads the small Perl programs that go through lines, as trees of tuples; anything else is Unread."""

from __future__ import annotations

from guard import expressions as re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEPTH = 60
PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">"}
POWERS = {
    "=~": 20, "!~": 20, "*": 18, "/": 18, "%": 18, "x": 18, "+": 17, "-": 17, ".": 17,
    "<": 14, ">": 14, "<=": 14, ">=": 14, "lt": 14, "gt": 14, "le": 14, "ge": 14,
    "==": 13, "!=": 13, "eq": 13, "ne": 13, "&&": 11, "||": 10, "//": 10, "..": 9, "...": 9, "?": 8, "=": 7,
    "and": 3, "or": 2,
}  # fmt: skip
COMMA, NAMED, WORDS = 6, 15, 4  # how tightly commas, functions of one argument, and and or bind
ASSIGNING = ("=", ".=", "+=", "-=", "*=", "/=", "x=", "||=", "//=", "&&=")
UNARY = frozenset(
    "length uc lc ucfirst lcfirst chomp chop defined undef ord chr decode_base64 encode_base64 close hex oct".split()
)
LISTS = frozenset("print say join printf pack".split())
BARE = frozenset("next last exit eof shift".split())
_OPERATOR = re.compile(
    r"=~|!~|&&=|\|\|=|//=|&&|\|\||//|\.\.\.?|==|!=|<=|>=|[-+*/.]=(?![=~])|=(?![=~>])|[-+*/%.<>?](?![-+=])|[-+](?=[-+]?[$\d])|"
    r"x=(?!=)|x(?=[\s\d($])|(?:lt|gt|le|ge|eq|ne|and|or)\b"
)
_WORD = re.compile(r"[A-Za-z_][\w:]*")
_SCALAR = re.compile(r"\$(?:(\w+)|\{(\w+)\}|([.&/\\,!]))")
_NUMBER = re.compile(r"\d[\d_]*(?:\.(?!\.)\d*)?")
_SPACE = re.compile(r"(?:\s+|#[^\n]*)*")
_QUOTING = re.compile(r"(q|qq|qw|m|s|tr|y)\s*([^\w\s,;=)>])")
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "e": "\x1b", "a": "\a", "f": "\f"}


class Unread(Exception):
    """The program holds something whose meaning is not known here."""


class Parser:
    """Goes through a program once. Nodes are tuples that begin with their kind."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.depth = 0

    def program(self) -> tuple[Any, ...]:
        """All statements."""
        found = self.statements("")
        if self.at < len(self.source):
            raise Unread
        return found

    def statements(self, end: str) -> tuple[Any, ...]:
        """Statements up to a closing mark, or to the end."""
        found: list[Any] = []
        while True:
            self.space()
            if self.take(";"):
                continue
            if self.at >= len(self.source) or (end and self.source.startswith(end, self.at)):
                return tuple(found)
            found.append(self.statement())

    def statement(self) -> Any:
        """A statement with its modifier; blocks need no semicolon behind them."""
        word = self.word()
        if word in ("BEGIN", "END"):
            self.at += len(word)
            return (word, self.block())
        if word in ("if", "unless", "while", "until"):
            self.at += len(word)
            return self.conditional(word)
        if word in ("use", "no"):
            self.at = (self.source.find(";", self.at) + 1) or len(self.source)
            return ("number", 0)
        found = self.expression(0)
        while (word := self.word()) in ("if", "unless", "while", "until"):
            self.at += len(word)
            test = self.expression(0)
            found = ("loop" if word in ("while", "until") else "when", _negated(test, word), (found,), ())
        self.space()
        if self.at < len(self.source) and self.source[self.at] not in ";}":
            raise Unread
        return found

    def conditional(self, word: str) -> Any:
        """if (..) {..} elsif (..) {..} else {..}, and while (..) {..}"""
        self.need("(")
        test = _negated(self.expression(0), word)
        self.need(")")
        body = self.block()
        if word in ("while", "until"):
            return ("loop", test, body, ())
        following = self.word()
        if following == "elsif":
            self.at += 5
            return ("when", test, body, (self.conditional("if"),))
        if following == "else":
            self.at += 4
            return ("when", test, body, self.block())
        return ("when", test, body, ())

    def block(self) -> tuple[Any, ...]:
        """{ statements }"""
        self.need("{")
        found = self.statements("}")
        self.need("}")
        return found

    def expression(self, power: int) -> Any:
        """An expression whose operators bind more tightly than `power`."""
        self.depth += 1
        if self.depth > DEPTH:
            raise Unread
        left = self.operand()
        while True:
            self.space()
            match = _OPERATOR.match(self.source, self.at)
            if match is None:
                break
            operator = match[0]
            strength = 7 if operator in ASSIGNING else POWERS.get(operator, -1)
            if strength < 0:
                raise Unread
            if strength <= power:
                break
            self.at = match.end()
            left = self.operation(operator, strength, left)
        self.depth -= 1
        return left

    def operation(self, operator: str, strength: int, left: Any) -> Any:
        """What an operator makes of its left side and what stands behind it."""
        if operator == "?":
            first = self.expression(COMMA)
            self.need(":")
            return ("choose", left, first, self.expression(strength - 1))
        if operator in ASSIGNING:
            if left[0] not in ("scalar", "item"):
                raise Unread
            return ("assign", operator, left, self.expression(strength - 1))
        right = self.expression(strength)
        if operator in ("=~", "!~"):
            if right[0] not in ("match", "substitute", "translate"):
                raise Unread
            bound = (right[0], left, *right[2:])
            return bound if operator == "=~" else ("not", bound)
        if operator in ("..", "..."):
            return ("range", self.at, operator, left, right)
        return ("binary", operator, left, right)

    def operand(self) -> Any:
        """What stands between operators."""
        self.space()
        source, at = self.source, self.at
        letter = source[at : at + 1]
        quoting = _QUOTING.match(source, at)
        if quoting is not None:
            self.at = quoting.end() - 1
            return self.quoted(quoting[1])
        if letter in ("'", '"', "/"):
            return self.quoted({"'": "q", '"': "qq", "/": "m"}[letter])
        if letter == "$":
            return self.scalar()
        if letter == "(":
            self.at += 1
            items = self.items(")")
            self.need(")")
            return items[0] if len(items) == 1 else ("list", *items)
        if letter == "<":
            return self.readline()
        if source.startswith(("++", "--"), at):
            self.at += 2
            return ("step", 1 if letter == "+" else -1, True, self.scalar())
        if letter in ("!", "-"):
            self.at += 1
            return ("not" if letter == "!" else "minus", self.expression(19))
        number = _NUMBER.match(source, at)
        if number is not None:
            self.at = number.end()
            text = number[0].replace("_", "")
            return ("number", float(text) if "." in text else int(text))
        return self.called(self.word())

    def readline(self) -> Any:
        """<>, <ARGV> and <STDIN>"""
        for mark in ("<>", "<<>>", "<ARGV>"):
            if self.source.startswith(mark, self.at):
                self.at += len(mark)
                return ("readline",)
        raise Unread

    def scalar(self) -> Any:
        """$x, $h{key}, $a[1], with ++ and -- behind it."""
        match = _SCALAR.match(self.source, self.at)
        if match is None:
            raise Unread
        self.at = match.end()
        name = match[1] or match[2] or match[3]
        found: Any = ("scalar", name)
        if self.source.startswith("{", self.at) and not match[2]:
            self.at += 1
            bare = re.compile(r"\s*(\w+)\s*\}").match(self.source, self.at)
            key = ("text", (bare[1],)) if bare is not None else self.expression(0)
            self.at = bare.end() - 1 if bare is not None else self.at
            self.need("}")
            found = ("item", name, key)
        elif self.source.startswith("[", self.at):
            self.at += 1
            found = ("element", name, self.expression(0))
            self.need("]")
        if self.source.startswith(("++", "--"), self.at):
            self.at += 2
            return ("step", 1 if self.source[self.at - 1] == "+" else -1, False, found)
        return found

    def called(self, word: str) -> Any:
        """A function by its name."""
        if word not in UNARY | LISTS | BARE | {"my", "our", "not", "local"}:
            raise Unread
        self.at += len(word)
        self.space()
        if word in ("my", "our"):
            return self.scalar()
        if word == "not":
            return ("not", self.expression(WORDS))
        if word in BARE:
            return self.bare(word)
        stream = re.compile(r"\{?(STDOUT|STDERR|ARGV|ARGVOUT)\b\}?").match(self.source, self.at)
        handle = ""
        if stream is not None:
            handle, self.at = stream[1], stream.end()
        if self.take("("):
            items = self.items(")")
            self.need(")")
        elif word in UNARY:
            items = () if self.ends() or self.source[self.at] in "<>" else (self.expression(NAMED),)
        else:
            items = self.items("")
        return ("call", word, items, handle)

    def bare(self, word: str) -> Any:
        """next, last, exit, eof, with a label or brackets behind it."""
        label = re.compile(r"LINE\b|\(\s*\)|\(?\s*ARGV\s*\)?|@ARGV|\d+").match(self.source, self.at)
        given = "" if label is None else label[0]
        if given:
            self.at += len(given)
        return ("bare", word, given.startswith("(") and "ARGV" not in given)

    def ends(self) -> bool:
        """True where no argument follows."""
        self.space()
        rest = self.source[self.at : self.at + 12]
        return (
            not rest or rest[0] in ";)}]:?,=|&" or re.compile(r"(?:if|unless|and|or|while|until|eq|ne)\b").match(rest) is not None
        )

    def items(self, end: str) -> tuple[Any, ...]:
        """Expressions with commas between them."""
        found: list[Any] = []
        while not self.ends():
            found.append(self.expression(COMMA if not end else 0))
            if not (self.take(",") or self.take("=>")):
                break
        return tuple(found)

    def quoted(self, kind: str) -> Any:
        """A text, words, or an operator on a text, from its delimiter on."""
        opening = self.source[self.at]
        body = self.delimited()
        if kind == "q":
            return ("text", (body.replace("\\" + opening, opening).replace("\\\\", "\\"),))
        if kind == "qw":
            return ("list", *(("text", (word,)) for word in body.split()))
        if kind == "qq":
            return ("text", self.inserted(body))
        if kind == "m":
            return ("match", ("scalar", "_"), self.regex(body, opening), self.flags("gimsxoa"))
        if opening in PAIRS:
            self.space()
        else:
            self.at -= 1
        replacement = self.delimited()
        if kind == "s":
            flags = self.flags("gimsxroa")
            return ("substitute", ("scalar", "_"), self.regex(body, opening), self.inserted(replacement, opening), flags)
        return ("translate", ("scalar", "_"), _ranges(body), _ranges(replacement), self.flags("dsr"))

    def delimited(self) -> str:
        """The text up to the delimiter that closes the one here."""
        opening = self.source[self.at : self.at + 1]
        closing, depth, start = PAIRS.get(opening, opening), 1, self.at + 1
        at = start
        while at < len(self.source):
            letter = self.source[at]
            if letter == "\\":
                at += 1
            elif letter == closing:
                depth -= 1
                if depth == 0:
                    self.at = at + 1
                    return self.source[start:at]
            elif letter == opening:
                depth += 1
            at += 1
        raise Unread

    def flags(self, allowed: str) -> str:
        """The letters behind an operator."""
        match = re.compile(r"[a-z]*").match(self.source, self.at)
        found = match[0] if match is not None else ""
        word = re.compile(r"(?:if|unless|and|or|x|eq|ne)\b").match(found)
        if word is not None or set(found) - set(allowed):
            raise Unread
        self.at += len(found)
        return found

    def regex(self, body: str, opening: str) -> str:
        """The expression as Python writes it."""
        if not body or re.compile(r"[$@](?=[A-Za-z_{])|\[\[|\\[KRGXpPNQEecxugk]|\(\?[|{&(?R0-9]|\{,").search(body):
            raise Unread
        out, at = [], 0
        for match in re.compile(r"\\(.)|\(\?<(?=[A-Za-z])", re.S).finditer(body):
            out.append(body[at : match.start()])
            letter = match[1]
            if letter is None:
                out.append("(?P<")
            elif letter == opening and opening not in "|()[]{}.*+?^$":
                out.append(re.escape(letter))
            else:
                out.append({"z": r"\Z", "Z": r"(?=\n?\Z)", "h": r"[ \t]"}.get(letter, match[0]))
            at = match.end()
        return "".join([*out, body[at:]])

    def inserted(self, body: str, delimiter: str = '"') -> tuple[Any, ...]:
        """The parts of a text in which variables and escapes count; changes of case stand as ("case", letter)."""
        parts: list[Any] = []
        at = 0
        while at < len(body):
            letter = body[at]
            if letter == "\\" and at + 1 < len(body):
                at = self.escaped(body, at + 1, parts)
            elif letter == "$" and _SCALAR.match(body, at) is not None:
                inner = Parser(body)
                inner.at = at
                match = _SCALAR.match(body, at)
                assert match is not None
                if body[match.end() : match.end() + 1] in ("[", "{", "-") or "::" in body[at : match.end() + 2]:
                    raise Unread
                parts.append(("scalar", match[1] or match[2] or match[3]))
                at = match.end()
            elif letter == "@" and re.compile(r"@[\w{$]").match(body, at):
                raise Unread
            else:
                parts.append(letter)
                at += 1
        return tuple(parts)

    def escaped(self, body: str, at: int, parts: list[Any]) -> int:
        """Adds what a backslash and the letter at a place stand for; gives the place behind."""
        letter = body[at]
        code = re.compile(r"x(?:([0-9A-Fa-f]{1,2})|\{([0-9A-Fa-f]{1,2})\})").match(body, at)
        if code is not None:
            parts.append(chr(int(code[1] or code[2], 16)))
            return code.end()
        if letter in "ULEul":
            parts.append(("case", letter))
        elif letter.isdigit() and letter != "0":
            parts.append(("scalar", letter))
        elif letter in "xcNQ" or (letter == "0" and body[at + 1 : at + 2].isdigit()):
            raise Unread
        else:
            parts.append(_CONTROLS.get(letter, letter))
        return at + 1

    def word(self) -> str:
        """The name here, not stepped over."""
        self.space()
        match = _WORD.match(self.source, self.at)
        return match[0] if match is not None else ""

    def take(self, mark: str) -> bool:
        """True, and behind it, when the mark stands here."""
        self.space()
        if self.source.startswith(mark, self.at):
            self.at += len(mark)
            return True
        return False

    def need(self, mark: str) -> None:
        """Steps over a mark that has to stand here."""
        if not self.take(mark):
            raise Unread

    def space(self) -> None:
        """Steps over blanks and comments."""
        match = _SPACE.match(self.source, self.at)
        self.at = match.end() if match is not None else self.at


def _negated(test: Any, word: str) -> Any:
    return ("not", test) if word in ("unless", "until") else test


def _ranges(text: str) -> str:
    """The letters that a list of tr stands for."""
    letters: list[str] = []
    at = 0
    while at < len(text):
        letter = text[at]
        if letter == "\\" and at + 1 < len(text):
            at += 1
            if text[at] in "xcN" or text[at].isdigit():
                raise Unread
            letter = _CONTROLS.get(text[at], text[at])
        elif letter == "-" and letters and at + 1 < len(text):
            first, last = ord(letters[-1]), ord(text[at + 1])
            if last < first or text[at + 1] == "\\":
                raise Unread
            letters += map(chr, range(first + 1, last + 1))
            at += 1
            letter = ""
        letters += [letter] if letter else []
        at += 1
    return "".join(letters)
