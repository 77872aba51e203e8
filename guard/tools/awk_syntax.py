"""awk's language: a program as nested tuples, the first item of each being its kind."""

from __future__ import annotations

from guard import expressions as re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NamedTuple

    Node = tuple[Any, ...]
else:
    from guard.record import NamedTuple


class SyntaxFault(Exception):
    """The program cannot be read."""


class Rule(NamedTuple):
    """`when` is ("BEGIN",), ("END",), ("always",), ("if", expression) or ("range", first,
    last); `body` None prints the record."""

    when: Node
    body: tuple[Node, ...] | None


class Program(NamedTuple):
    """The rules in order, and the functions: name -> (parameters, body)."""

    rules: tuple[Rule, ...]
    functions: dict[str, tuple[tuple[str, ...], tuple[Node, ...]]]


_KEYWORDS = {
    "BEGIN", "END", "function", "func", "if", "else", "while", "for", "do", "break", "continue", "next", "nextfile",
    "exit", "return", "delete", "in", "getline", "print", "printf",
}  # fmt: skip
BUILTINS = {
    "length", "substr", "index", "split", "sub", "gsub", "gensub", "match", "sprintf", "sin", "cos", "atan2", "exp", "log",
    "sqrt", "int", "rand", "srand", "tolower", "toupper", "system", "close", "fflush", "systime", "strftime", "mktime",
}  # fmt: skip
_TOKEN = re.compile(
    r"""(?P<space>(?:[ \t\r]|\\\r?\n|\#[^\n]*)+)
    |(?P<newline>\n)
    |(?P<number>0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)
    |(?P<string>"(?:[^"\\\n]|\\.|\\\n)*")
    |(?P<name>[A-Za-z_]\w*)
    |(?P<sign>\|\||&&|\+\+|--|\+=|-=|\*=|/=|%=|\^=|\*\*=|\*\*|==|<=|>=|!=|!~|>>|[-+*/%^!<>|?:~$=(){}\[\];,])""",
    re.X | re.S,
)
_REGEX = re.compile(r"/((?:[^/\\\n\[]|\\.|\[\^?\]?(?:\[:\w+:\]|\\.|[^\]\n])*\])*)/", re.S)
_OPERAND_ENDS = ("number", "string", "regex", "name")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "\n": ""}


def unescaped(text: str) -> str:
    """A string constant's inside, or the value of -v, with its escapes read."""

    def one(found: re.Match[str]) -> str:
        octal, letter = found.groups()
        if octal:
            return chr(int(octal, 8) & 255)
        return _ESCAPES.get(letter, letter if letter in '"\\/' else "\\" + letter)

    return re.sub(r"\\(?:([0-7]{1,3})|(.))", one, text, flags=re.S)


def _tokens(text: str) -> list[tuple[str, str, bool]]:
    """Kind, text, and whether blanks stand in front."""
    found: list[tuple[str, str, bool]] = []
    at, spaced = 0, False
    while at < len(text):
        kind, value = (found[-1][0], found[-1][1]) if found else ("newline", "")
        operand = (kind in _OPERAND_ENDS and value not in _KEYWORDS) or value in (")", "]", "$", "++", "--")
        matched = _REGEX.match(text, at) if text[at] == "/" and not operand else None
        if matched:
            found.append(("regex", matched[1], spaced))
        else:
            matched = _TOKEN.match(text, at)
            if matched is None:
                raise SyntaxFault(text[at : at + 10])
            if matched.lastgroup != "space":
                found.append((str(matched.lastgroup), matched[0], spaced))
        spaced = matched.lastgroup == "space"
        at = matched.end()
    found.append(("end", "", False))
    return found


def parse(text: str) -> Program:
    """Reads a program; raises SyntaxFault."""
    try:
        return _Parser(_tokens(text)).program()
    except (IndexError, RecursionError, ValueError, OverflowError) as error:
        raise SyntaxFault(str(error)) from None


class _Parser:
    def __init__(self, tokens: list[tuple[str, str, bool]]) -> None:
        self.tokens = tokens
        self.at = 0
        self.in_print = 0  # inside print's list ">" redirects
        self.no_in = 0

    @property
    def kind(self) -> str:
        return self.tokens[self.at][0]

    @property
    def value(self) -> str:
        kind, value, _ = self.tokens[self.at]
        return value if kind in ("sign", "newline") or (kind == "name" and value in _KEYWORDS) else ""

    def next(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1][1]

    def take(self, *values: str) -> bool:
        if self.value and self.value in values:
            self.at += 1
            return True
        return False

    def need(self, value: str) -> None:
        if not self.take(value):
            raise SyntaxFault(f"expected {value}")

    def lines(self) -> None:
        while self.take("\n"):
            pass

    def ends(self) -> None:
        while self.take("\n", ";"):
            pass

    def program(self) -> Program:
        rules: list[Rule] = []
        functions: dict[str, tuple[tuple[str, ...], tuple[Node, ...]]] = {}
        self.ends()
        while self.kind != "end":
            if self.take("function", "func"):
                name = self.next()
                functions[name] = self.function()
            else:
                rules.append(self.rule())
            self.ends()
        return Program(tuple(rules), functions)

    def function(self) -> tuple[tuple[str, ...], tuple[Node, ...]]:
        self.need("(")
        names: list[str] = []
        while not self.take(")"):
            names.append(self.next())
            self.take(",")
            self.lines()
        self.lines()
        return tuple(names), self.block()

    def rule(self) -> Rule:
        if self.take("BEGIN"):
            return Rule(("BEGIN",), self.block())
        if self.take("END"):
            return Rule(("END",), self.block())
        if self.value == "{":
            return Rule(("always",), self.block())
        when: Node = ("if", self.expression())
        if self.take(","):
            self.lines()
            when = ("range", when[1], self.expression())
        return Rule(when, self.block() if self.value == "{" else None)

    def block(self) -> tuple[Node, ...]:
        self.need("{")
        found: list[Node] = []
        self.ends()
        while not self.take("}"):
            found.append(self.statement())
            self.ends()
        return tuple(found)

    def body(self) -> tuple[Node, ...]:
        """The statement that if, while or for governs."""
        self.lines()
        if self.take(";"):
            return ()
        return self.block() if self.value == "{" else (self.statement(),)

    def statement(self) -> Node:
        if self.value == "{":
            return ("block", self.block())
        if self.take("if"):
            return self.conditional()
        if self.take("while"):
            self.need("(")
            test = self.inner(")")
            return ("while", test, self.body())
        if self.take("do"):
            body = self.body()
            self.ends()
            self.need("while")
            self.need("(")
            return ("do", body, self.inner(")"))
        if self.take("for"):
            return self.loop()
        for word in ("break", "continue", "next", "nextfile"):
            if self.take(word):
                return (word,)
        for word in ("exit", "return"):
            if self.take(word):
                return (word, None if self.value in (";", "\n", "}") or self.kind == "end" else self.expression())
        return self.simple()

    def conditional(self) -> Node:
        self.need("(")
        test = self.inner(")")
        then = self.body()
        before = self.at
        self.ends()
        if self.take("else"):
            return ("if", test, then, self.body())
        self.at = before
        return ("if", test, then, ())

    def loop(self) -> Node:
        self.need("(")
        ahead = self.tokens[self.at : self.at + 4]
        if [a[1] for a in ahead[1:4:2]] == ["in", ")"] and ahead[0][0] == "name":
            variable, _, array, _ = (self.next() for _ in range(4))
            return ("for in", variable, array, self.body())
        first = None if self.value == ";" else self.simple()
        self.need(";")
        self.lines()
        test = None if self.value == ";" else self.expression()
        self.need(";")
        self.lines()
        step = None if self.value == ")" else self.simple()
        self.need(")")
        return ("for", first, test, step, self.body())

    def simple(self) -> Node:
        if self.take("delete"):
            name = self.next()
            return ("delete", name, self.list("]") if self.take("[") else None)
        if self.value in ("print", "printf"):
            return self.output(self.next())
        return ("expression", self.expression())

    def output(self, word: str) -> Node:
        values: tuple[Node, ...] = ()
        self.in_print += 1
        if self.kind != "end" and self.value not in (";", "\n", "}", ">", ">>", "|"):
            values = self.values()
        self.in_print -= 1
        sign = self.value if self.value in (">", ">>", "|") else ""
        target = None
        if sign:
            self.next()
            self.in_print += 1
            target = self.concatenation()
            self.in_print -= 1
        return (word, values, sign, target)

    def values(self) -> tuple[Node, ...]:
        """What print prints: a list, perhaps in parentheses."""
        found = [self.expression()]
        if found[0][0] == "group" and len(found[0]) > 2:
            return tuple(found[0][1:])
        while self.take(","):
            self.lines()
            found.append(self.expression())
        return tuple(found)

    def inner(self, closing: str) -> Node:
        """An expression up to a closing sign, where ">" compares again."""
        was, self.in_print = self.in_print, 0
        node = self.expression()
        self.in_print = was
        self.need(closing)
        return node

    def list(self, closing: str) -> tuple[Node, ...]:
        was, self.in_print = self.in_print, 0
        found: list[Node] = []
        self.lines()
        while not self.take(closing):
            found.append(self.expression())
            self.lines()
            if self.value != closing:
                self.need(",")
            self.lines()
        self.in_print = was
        return tuple(found)

    def expression(self) -> Node:
        left = self.ternary()
        if self.value in ("=", "+=", "-=", "*=", "/=", "%=", "^=", "**="):
            sign = self.next()
            self.lines()
            target = left[1] if left[0] == "group" and len(left) == 2 else left
            if target[0] not in ("name", "field", "item"):
                raise SyntaxFault("assignment")
            return ("assign", sign[:-1].replace("**", "^"), target, self.expression())
        return left

    def ternary(self) -> Node:
        test = self.binary(0)
        if not self.take("?"):
            return test
        self.lines()
        yes = self.expression()
        self.lines()
        self.need(":")
        self.lines()
        return ("choose", test, yes, self.expression())

    def binary(self, level: int) -> Node:
        if level == 5:
            return self.concatenation()
        signs = (("||",), ("&&",), ("in",), ("~", "!~"), ("<", "<=", "!=", "==", ">", ">=", "|"))[level]
        left = self.binary(level + 1)
        while self.value in signs and not (self.in_print and self.value in (">", "|")):
            if self.value == "|" and self.tokens[self.at + 1][1] != "getline":
                break
            sign = self.next()
            if sign == "|":
                self.next()
                left = ("getline", "command", left, self.target())
                continue
            self.lines() if sign in ("||", "&&") else None
            if sign == "in":
                left = ("in", left, self.next())
                continue
            left = (sign, left, self.binary(level + 1))
        return left

    def concatenation(self) -> Node:
        left = self.sum()
        while self.operand_follows():
            left = ("concatenate", left, self.sum())
        return left

    def operand_follows(self) -> bool:
        if self.kind in ("number", "string", "regex"):
            return True
        if self.kind == "name":
            return self.value != "in" and (self.value == "" or self.value == "getline")
        return self.value in ("$", "!", "(", "-", "+", "++", "--") and not (self.value == "!" and self.in_print == -1)

    def sum(self) -> Node:
        left = self.product()
        while self.value in ("+", "-"):
            left = (self.next(), left, self.product())
        return left

    def product(self) -> Node:
        left = self.unary()
        while self.value in ("*", "/", "%"):
            left = (self.next(), left, self.unary())
        return left

    def unary(self) -> Node:
        if self.value in ("!", "-", "+"):
            sign = self.next()
            return ("not" if sign == "!" else "negative" if sign == "-" else "number of", self.unary())
        return self.power()

    def power(self) -> Node:
        base = self.postfix()
        if self.take("^", "**"):
            return ("^", base, self.unary())
        return base

    def postfix(self) -> Node:
        node = self.primary()
        if node[0] in ("name", "field", "item") and self.value in ("++", "--"):
            return ("after", self.next()[0], node)
        return node

    def primary(self) -> Node:
        kind = self.kind
        if kind == "number":
            text = self.next()
            return ("constant", float(int(text, 16)) if text[:2] in ("0x", "0X") else float(text))
        if kind == "string":
            return ("constant", unescaped(self.next()[1:-1]))
        if kind == "regex":
            return ("regex", self.next().replace("\\/", "/"))
        if self.take("$"):
            if self.value in ("++", "--"):
                return ("field", ("before", self.next()[0], self.primary()))
            return ("field", self.unary() if self.value == "-" else self.primary())
        if self.value in ("++", "--"):
            return ("before", self.next()[0], self.primary())
        if self.take("("):
            return self.group()
        if self.take("getline"):
            target = self.target()
            if self.take("<"):
                return ("getline", "file", self.primary(), target)
            return ("getline", "main", None, target)
        if kind == "name" and not self.value:
            return self.named(self.next())
        raise SyntaxFault(self.tokens[self.at][1])

    def group(self) -> Node:
        found = self.list(")")
        if len(found) > 1 and self.take("in"):
            return ("in", ("group", *found), self.next())
        return ("group", *found)

    def target(self) -> Node | None:
        """The variable that getline fills, if any."""
        if self.value == "$" or (self.kind == "name" and not self.value):
            return self.primary()
        return None

    def named(self, name: str) -> Node:
        spaced = self.tokens[self.at][2]
        if self.value == "(" and (name in BUILTINS or not spaced):
            self.next()
            return ("call", name, self.list(")"))
        if name == "length":
            return ("call", name, ())
        if self.take("["):
            return ("item", name, self.list("]"))
        return ("name", name)
