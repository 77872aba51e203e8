"""What stands between the braces of ${..}."""

from __future__ import annotations

from guard import expressions as re
from guard.shell import words
from guard.shell.nodes import Parameter, Substitution, Word
from guard.shell.scanner import Scanner, Unparsable

_NAME = r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+"
_HEAD = re.compile(rf"{_NAME}|[@*#?$!-]")
_INDIRECT = re.compile(rf"!({_NAME}|[@*#?$!-]\Z)")
_LENGTH = re.compile(rf"#({_NAME}|[@*#?$!-]\Z)")
_OPERATOR = re.compile(r":[-=?+]|[-=?+]|##?|%%?|/[/#%]?|\^\^?|,,?|@(?=[QEPAKakuUL]\Z)|:")

_TO_PATTERNS = frozenset(("#", "##", "%", "%%", "^", "^^", ",", ",,"))


def braced(inner: str, quoted: bool) -> Parameter | Substitution:
    """The expansion ${inner}. Behind "indirect" and "bad" other ops may stand than nodes.py lists: "indirect:-" is ${!x:-word},
    and "bad" is what bash rejects when it comes to it."""
    if inner[:1] in (" ", "\t", "\n", "|"):
        return Substitution(inner[1:], quoted)  # ${ command; } of bash 5.3
    bad = Parameter(inner, "bad", quoted=quoted)
    prefix, match = "", _HEAD.match(inner)
    start = 0
    for found, op in ((_INDIRECT.match(inner), "indirect"), (_LENGTH.match(inner), "length")):
        if found and not (op == "length" and inner == "#"):
            prefix, match, start = op, _HEAD.match(inner, 1), 1
    if match is None:
        return bad
    name, end = match.group(), match.end()
    subscript = None
    if inner.startswith("[", end) and (name[0].isalpha() or name[0] == "_"):
        try:
            closing = Scanner(inner).bracket(end + 1)
        except Unparsable:
            return bad
        subscript, end = inner[end + 1 : closing - 1], closing
    rest = inner[end:]
    if prefix == "indirect" and (listed := _listed(name, subscript, rest, quoted)):
        return listed
    if not rest:
        return Parameter(name, prefix, (), subscript, quoted)
    if prefix == "length":
        return bad if start and name != "#" else _with_operator("#", "", inner[1:], None, quoted) or bad
    return _with_operator(name, prefix, rest, subscript, quoted) or bad


def _listed(name: str, subscript: str | None, rest: str, quoted: bool) -> Parameter | None:
    """${!name*} and ${!name@} (the sign stays with the name), ${!name[@]} and ${!name[*]}."""
    if rest in ("*", "@") and subscript is None:
        return Parameter(name + rest, "names", quoted=quoted)
    if not rest and subscript in ("*", "@"):
        return Parameter(name, "keys", (), subscript, quoted)
    return None


def _with_operator(name: str, prefix: str, rest: str, subscript: str | None, quoted: bool) -> Parameter | None:
    match = _OPERATOR.match(rest)
    if match is None:
        return None
    operator, argument = match.group(), rest[match.end() :]
    if operator == "@":
        return Parameter(name, prefix + operator + argument, (), subscript, quoted)
    return Parameter(name, prefix + operator, _arguments(operator, argument, quoted), subscript, quoted)


def _arguments(operator: str, argument: str, quoted: bool) -> tuple[Word, ...]:
    if operator == ":":
        return tuple(words.arithmetic(piece) for piece in _offsets(argument))
    if operator in _TO_PATTERNS:
        return (words.word(argument),)
    if operator[0] == "/":
        return tuple(words.word(piece) for piece in _replaced(argument, operator))
    return (words.argument(argument) if quoted else words.word(argument),)


def _offsets(argument: str) -> list[str]:
    """Offset and length: the colon of a ?: between them does not part them."""
    pieces = words.split(argument, ":")
    offset = pieces.pop(0)
    while pieces and offset.count("?") > offset.count(":"):
        offset += ":" + pieces.pop(0)
    return [offset, ":".join(pieces)] if pieces else [offset]


def _replaced(argument: str, operator: str) -> list[str]:
    """Pattern and replacement. A slash that the pattern begins with belongs to it."""
    first = argument[:1] if operator == "//" and argument[:1] == "/" else ""
    pattern, *replacement = _at_slash(argument[len(first) :])
    return [first + pattern, *replacement]


def _at_slash(text: str) -> list[str]:
    scanner = Scanner(text)
    i = 0
    try:
        while i < len(scanner.text):
            if scanner.text[i] == "/":
                return [scanner.text[:i], scanner.text[i + 1 :]]
            i = scanner.piece(i, quoted=False)
    except Unparsable:
        pass
    return [scanner.text]
