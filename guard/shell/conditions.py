"""test, [ and [[: 0 true, 1 false, 2 an error, None where it cannot be told."""

from __future__ import annotations

from guard import expressions as re
from guard.effects import Pattern, Text, unknown
from guard.paths import physical
from guard.shell import globs
from guard.shell.nodes import Literal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from guard.shell.expand import Expander
    from guard.shell.nodes import Word
    from guard.shell.state import State

UNARY = frozenset("-e -a -f -d -L -h -s -r -w -x -p -S -b -c -g -u -k -O -G -N -t -z -n -v -o -R".split())
BINARY = frozenset("= == != =~ < > -eq -ne -lt -le -gt -ge -nt -ot -ef".split())
KINDS = {"-f": "file", "-d": "directory"}

Truth = bool | None


def test(state: State, words: list[Text]) -> int | None:
    """The status of `test WORDS`."""
    return _status(_Parser(words, lambda op, a: unary(state, op, a), lambda op, a, b: binary(state, op, a, b)).whole())


def double_bracket(words: tuple[Word, ...], expander: Expander) -> int | None:
    """The status of [[ WORDS ]]: operators are unquoted words, operands are expanded when they are reached."""
    tokens = [
        w.parts[0].text if len(w.parts) == 1 and isinstance(w.parts[0], Literal) and not w.parts[0].quoted else None
        for w in words
    ]
    state = expander.state

    def first(operator: str, at: Text) -> Truth:
        return unary(state, operator, expander.text(words[int(str(at))]))

    def second(operator: str, left: Text, right: Text) -> Truth:
        value, word = expander.text(words[int(str(left))]), words[int(str(right))]
        if operator in ("=", "==", "!="):
            pattern = expander.pattern(word)
            if pattern is None or isinstance(value, Pattern):
                return None
            return globs.matches(pattern, value) == (operator != "!=")
        if operator == "=~":
            return _regular(expander, value, expander.text(word))
        if operator.startswith("-") and operator not in ("-nt", "-ot", "-ef"):
            numbers = [expander.arithmetic(words[int(str(left))]), expander.arithmetic(word)]
            return _numbers(operator, numbers[0], numbers[1])
        return binary(state, operator, value, expander.text(word))

    # The parser works on positions, so that only the operands that are reached are expanded.
    return _status(_Parser(list(range_texts(len(words))), first, second, [t or "" for t in tokens]).whole())


def range_texts(count: int) -> list[str]:
    """The numbers below `count` as texts."""
    return [str(at) for at in range(count)]


def _status(truth: Truth | int) -> int | None:
    return None if truth is None else truth if isinstance(truth, int) and not isinstance(truth, bool) else int(not truth)


class _Parser:
    """The grammar that test and [[ share. `tokens` are what operators are recognised by, `words` what operands are."""

    def __init__(
        self,
        words: list[Text],
        unary: Callable[[str, Text], Truth],
        binary: Callable[[str, Text, Text], Truth],
        tokens: list[str] | None = None,
    ) -> None:
        self.words = words
        self.tokens = tokens if tokens is not None else [w if isinstance(w, str) else "" for w in words]
        self.unary, self.binary = unary, binary
        self.plain = tokens is None
        self.at = 0

    def peek(self, ahead: int = 0) -> str:
        at = self.at + ahead
        return self.tokens[at] if at < len(self.tokens) else ""

    def whole(self) -> Truth | int:
        if not self.words:
            return False
        try:
            value = self.either()
        except (IndexError, RecursionError):
            return 2
        return value if self.at >= len(self.words) else 2

    def either(self) -> Truth:
        value = self.both()
        while self.peek() in ("-o", "||"):
            self.at += 1
            right = self.both()
            value = True if True in (value, right) else None if None in (value, right) else False
        return value

    def both(self) -> Truth:
        value = self.negation()
        while self.peek() in ("-a", "&&"):
            self.at += 1
            right = self.negation()
            value = False if False in (value, right) else None if None in (value, right) else True
        return value

    def negation(self) -> Truth:
        if self.peek() == "!" and not (self.plain and self.peek(1) in BINARY):
            self.at += 1
            value = self.negation()
            return None if value is None else not value
        return self.primary()

    def primary(self) -> Truth:
        left = len(self.words) - self.at
        if self.peek() == "(" and not (self.plain and self.peek(1) in BINARY):
            self.at += 1
            value = self.either()
            if self.peek() != ")":
                raise IndexError
            self.at += 1
            return value
        if left >= 3 and self.peek(1) in BINARY:
            operator = self.peek(1)
            self.at += 3
            return self.binary(operator, self.words[self.at - 3], self.words[self.at - 1])
        if left >= 2 and self.peek() in UNARY:
            operator = self.peek()
            self.at += 2
            return self.unary(operator, self.words[self.at - 1])
        self.at += 1
        return self.unary("-n", self.words[self.at - 1])


def unary(state: State, operator: str, operand: Text) -> Truth:
    """A test of one operand."""
    if operator in ("-z", "-n"):
        if isinstance(operand, Pattern):
            return operator == "-n" if any(isinstance(p, str) and p for p in operand.pieces) else None
        return (operand == "") == (operator == "-z")
    if isinstance(operand, Pattern):
        return None
    if operator == "-v":
        name, _, key = operand.partition("[")
        value = state.get(name)
        return value is not None and (not key or (isinstance(value, dict) and key.rstrip("]") in value))
    if operator in ("-o", "-R", "-t", "-N", "-O", "-G"):
        return operand in state.options if operator == "-o" else None
    return _file(state, operator, operand)


def _file(state: State, operator: str, operand: str) -> Truth:
    if operand == "":
        return False
    if isinstance(state.cwd, Pattern) and not operand.startswith("/"):
        return None
    path = operand if operand.startswith("/") else f"{state.cwd}/{operand}"
    view = state.view
    if operator in ("-L", "-h"):
        return view.kind(view.at(path)) == "symlink"
    kind = view.kind(physical(view, path))
    if operator in ("-e", "-a") or kind is None:
        return kind is not None
    if operator in KINDS:
        return kind == KINDS[operator]
    if operator == "-s":
        content = view.read(path)
        found = view.lstat(physical(view, path))
        return len(content) > 0 if content is not None else found.st_size > 0 if found is not None else None
    if operator in ("-r", "-w", "-x"):
        return True if kind == "directory" or operator != "-x" else _executable(view.lstat(physical(view, path)))
    return False if kind in ("file", "directory") and operator in ("-p", "-S", "-b", "-c") else None


def _executable(found: object) -> Truth:
    mode = getattr(found, "st_mode", None)
    return None if mode is None else bool(mode & 0o111)


def binary(state: State, operator: str, left: Text, right: Text) -> Truth:
    """A test of two operands."""
    if operator in ("-nt", "-ot", "-ef"):
        return None
    if isinstance(left, Pattern) or isinstance(right, Pattern):
        return None
    if operator in ("=", "=="):
        return left == right
    if operator == "!=":
        return left != right
    if operator in ("<", ">"):
        return left < right if operator == "<" else left > right
    numbers = [int(t) if re.fullmatch(r"\s*[-+]?\d{1,18}\s*", t) else None for t in (left, right)]
    return False if None in numbers else _numbers(operator, numbers[0], numbers[1])


def _numbers(operator: str, left: int | None, right: int | None) -> Truth:
    if left is None or right is None:
        return None
    return {"-eq": left == right, "-ne": left != right, "-lt": left < right, "-le": left <= right, "-gt": left > right}.get(
        operator, left >= right
    )


def _regular(expander: Expander, value: Text, pattern: Text) -> Truth:
    """=~ for expressions that mean the same here as there: no classes of POSIX, no back-references, bounded size."""
    expander.state.put("BASH_REMATCH", unknown("unknown-variable", "${BASH_REMATCH[@]}"))
    if isinstance(value, Pattern) or isinstance(pattern, Pattern) or len(value) > 2000 or len(pattern) > 200:
        return None
    if "[:" in pattern or "[." in pattern or "\\" in pattern or re.search(r"[)*+?}][*+?{]|\(\?", pattern):
        return None
    if re.search(r"\([^)]*[*+{][^)]*\)[*+{]", pattern):
        return None
    try:
        found = re.search(pattern, value, re.S)
        if found is not None:
            groups = (found[0], *found.groups(""))
            expander.state.put("BASH_REMATCH", {str(at): text for at, text in enumerate(groups)})
        return found is not None
    except (re.error, OverflowError):
        return None
