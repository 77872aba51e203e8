"""Shell arithmetic over variables that may be unknown: a value is an int, or None where it cannot be told."""

from __future__ import annotations

from guard import expressions as re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_TOKEN = (
    r"\s*(0[xX][0-9a-fA-F]+|\d+#\w+|\d+|[A-Za-z_]\w*|\*\*|<<=|>>=|[-+*/%&|^<>=!]=|<<|>>|&&|\|\||\+\+|--|[-+*/%&|^<>=!~?:,()\[\]])"
)
_LEVELS = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", "<=", ">", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
_ASSIGN = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "|=", "^="))
_DEPTH = 60


class _Bad(Exception):
    pass


def evaluate(text: str, get: Callable[[str], str | None], put: Callable[[str, str | None], None]) -> int | None:
    """The value of an expression; `get` gives a variable's text (None: unknown), `put` stores one (None: no longer known)."""
    try:
        return _Parser(text, get, put).whole()
    except (_Bad, RecursionError, ValueError, OverflowError):
        for name in re.findall(
            r"([A-Za-z_]\w*)\s*(?:\[[^]]*\]\s*)?(?:\+\+|--|[-+*/%&|^]?=(?!=))|(?:\+\+|--)\s*([A-Za-z_]\w*)", text
        ):
            put(name[0] or name[1], None)
        return None


class _Parser:
    def __init__(
        self, text: str, get: Callable[[str], str | None], put: Callable[[str, str | None], None], depth: int = 0
    ) -> None:
        self.get, self.put, self.depth = get, put, depth
        self.tokens: list[str] = []
        at = 0
        token = re.compile(_TOKEN)
        text = text.strip()
        while at < len(text):
            found = token.match(text, at)
            if not found:
                raise _Bad
            self.tokens.append(found.group(1))
            at = found.end()
        self.at = 0
        self.live = True  # False in the branch of ?: && || that is not taken: nothing is stored there

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def whole(self) -> int | None:
        if not self.tokens:
            return 0
        value = self.comma()
        if self.peek():
            raise _Bad
        return value

    def comma(self) -> int | None:
        value = self.assignment()
        while self.peek() == ",":
            self.take()
            value = self.assignment()
        return value

    def assignment(self) -> int | None:
        token = self.peek()
        following = self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else ""
        if token.isidentifier() and following in _ASSIGN:
            self.at += 2
            value = self.assignment()
            if following != "=":
                value = _apply(following[:-1], self.variable(token), value)
            self.store(token, value)
            return value
        return self.choice()

    def choice(self) -> int | None:
        condition = self.binary(0)
        if self.peek() != "?":
            return condition
        self.take()
        yes = self.alive(self.comma, condition != 0)
        if self.take() != ":":
            raise _Bad
        no = self.alive(self.choice, condition in (0, None))
        if condition is None:
            return yes if yes == no else None
        return yes if condition else no

    def alive(self, parse: Callable[[], int | None], live: bool) -> int | None:
        before, self.live = self.live, self.live and live
        value = parse()
        self.live = before
        return value

    def binary(self, level: int) -> int | None:
        if level == len(_LEVELS):
            return self.power()
        value = self.binary(level + 1)
        while self.peek() in _LEVELS[level]:
            operator = self.take()
            left = value
            live = left in (0, None) if operator == "||" else left != 0 if operator == "&&" else True
            value = _apply(operator, left, self.alive(lambda: self.binary(level + 1), live))
        return value

    def power(self) -> int | None:
        base = self.unary()
        if self.peek() == "**":
            self.take()
            return _apply("**", base, self.power())
        return base

    def unary(self) -> int | None:
        self.depth += 1
        if self.depth > _DEPTH:
            raise _Bad
        try:
            token = self.take()
            if token in ("++", "--") and self.peek().isidentifier():
                name = self.take()
                value = _apply(token[0], self.variable(name), 1)
                self.store(name, value)
                return value
            if token in ("+", "-", "!", "~"):
                value = self.unary()
                if value is None:
                    return None
                return {"+": value, "-": -value, "!": int(not value), "~": ~value}[token]
            return self.primary(token)
        finally:
            self.depth -= 1

    def primary(self, token: str) -> int | None:
        if token == "(":
            value = self.comma()
            if self.take() != ")":
                raise _Bad
            return value
        if token[:1].isdigit():
            return _number(token)
        if not token.isidentifier():
            raise _Bad
        if self.peek() == "[":
            raise _Bad
        value = self.variable(token)
        if self.peek() in ("++", "--"):
            self.store(token, _apply(self.take()[0], value, 1))
        return value

    def variable(self, name: str) -> int | None:
        text = self.get(name)
        if text is None:
            return None
        text = text.strip()
        if not text:
            return 0
        if re.fullmatch(r"-?\d+", text):
            return _number(text.lstrip("-")) * (-1 if text.startswith("-") else 1)
        if self.depth > 8:
            raise _Bad
        return _Parser(text, self.get, self.put, self.depth + 8).whole()

    def store(self, name: str, value: int | None) -> None:
        if self.live:
            self.put(name, None if value is None else str(value))


def _number(token: str) -> int:
    if "#" in token:
        base, _, digits = token.partition("#")
        return int(digits, int(base))
    if token[:2] in ("0x", "0X"):
        return int(token, 16)
    return int(token, 8) if len(token) > 1 and token[0] == "0" else int(token)


def _apply(operator: str, left: int | None, right: int | None) -> int | None:
    if left is None or right is None:
        if operator == "&&" and 0 in (left, right):
            return 0
        if operator == "||" and (left or right):
            return 1
        return None
    if operator in ("/", "%"):
        if not right:
            raise _Bad
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return _wrap(quotient if operator == "/" else left - right * quotient)
    if operator == "**":
        if right < 0:
            raise _Bad
        return _wrap(pow(left, right, 1 << 64))
    if operator in ("<<", ">>"):
        return _wrap(left << (right & 63) if operator == "<<" else left >> (right & 63))
    return _wrap(_PLAIN[operator](left, right))


_PLAIN: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "<": lambda a, b: int(a < b),
    "<=": lambda a, b: int(a <= b),
    ">": lambda a, b: int(a > b),
    ">=": lambda a, b: int(a >= b),
    "&&": lambda a, b: int(bool(a) and bool(b)),
    "||": lambda a, b: int(bool(a) or bool(b)),
}


def _wrap(value: int) -> int:
    """Two's complement of 64 bits, as the shell computes."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)
