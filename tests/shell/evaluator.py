"""A little of what a shell does with words, and bash doing all of it: both together tell whether a word's parts are right."""

from __future__ import annotations

import random
import re
import subprocess

from guard.shell import nodes, syntax, words

VARIABLES = {"y": "a b/c.d/e", "e": "", "n": "3", "s": "*", "p": "aXbXc", "q": "y"}
HOME = "/home/somebody"


class CannotSayError(Exception):
    """The evaluator does not know how this goes on."""


def text_of(word: nodes.Word) -> str:
    return "".join(_part(part) for part in word.parts)


def _part(part: nodes.Part) -> str:
    match part:
        case nodes.Literal():
            return part.text
        case nodes.Tilde():
            if part.user:
                raise CannotSayError
            return HOME
        case nodes.Substitution():
            return "\n".join(_echoed(part.text)).rstrip("\n")
        case nodes.Arithmetic():
            return str(_number(part.expression))
        case nodes.Parameter():
            return _parameter(part)
    raise CannotSayError


def _number(word: nodes.Word) -> int:
    expression = text_of(word).strip()
    if not re.fullmatch(r"[0-9+*() n-]+", expression):
        raise CannotSayError
    return int(eval(expression, {"n": 3}))


def _echoed(text: str) -> list[str]:
    parsed = syntax.parse(text)
    if parsed.error:
        raise CannotSayError
    lines = []
    for command, _ in parsed.body.items:
        if not isinstance(command, nodes.Simple) or command.redirects or command.words[0].raw != "echo":
            raise CannotSayError
        fields = [text_of(word) for argument in command.words[1:] for word in map(words.word, words.braces(argument.raw))]
        lines.append(" ".join(fields))
    return lines


def _parameter(part: nodes.Parameter) -> str:
    value = VARIABLES.get(part.name)
    if part.subscript or not re.fullmatch(r"[a-z]", part.name):
        raise CannotSayError
    if part.op == "indirect":
        return VARIABLES.get(value or "", "")
    if part.op == "length":
        return str(len(value or ""))
    if part.op.lstrip(":") in ("-", "=", "+") and part.op != "":
        absent = value is None or (part.op[0] == ":" and not value)
        if part.op[-1] == "+":
            return "" if absent else text_of(part.args[0])
        return text_of(part.args[0]) if absent else value or ""
    return _changed(part, value or "")


def _changed(part: nodes.Parameter, value: str) -> str:
    operation, arguments = part.op, part.args
    if operation == "":
        return value
    if operation in ("^^", ",,") and not text_of(arguments[0]):
        return value.upper() if operation == "^^" else value.lower()
    if operation == ":":
        numbers = [_number(argument) for argument in arguments]
        if numbers[0] < 0 or (len(numbers) > 1 and numbers[1] < 0):
            raise CannotSayError
        return value[numbers[0] :][: numbers[1] if len(numbers) > 1 else None]
    pattern = "".join(_pattern(argument) for argument in arguments[0].parts) if arguments else ""
    if operation in ("#", "##", "%", "%%"):
        return _cut(operation, pattern, value)
    if operation[0] == "/" and pattern:
        replacement = text_of(arguments[1]) if len(arguments) > 1 else ""
        if "&" in replacement:
            raise CannotSayError
        anchored = {"/#": rf"\A(?:{pattern})", "/%": rf"(?:{pattern})\Z"}.get(operation, pattern)
        return re.sub(anchored, lambda match: replacement, value, count=0 if operation == "//" else 1, flags=re.DOTALL)
    raise CannotSayError


def _pattern(part: nodes.Part) -> str:
    if isinstance(part, nodes.Literal):
        if part.quoted:
            return re.escape(part.text)
        if re.search(r"[\[\]()|]", part.text):
            raise CannotSayError
        return "".join({"*": ".*", "?": "."}.get(character, re.escape(character)) for character in part.text)
    if isinstance(part, nodes.Parameter) and not part.quoted:
        raise CannotSayError
    return re.escape(_part(part))


def _cut(operation: str, pattern: str, value: str) -> str:
    sizes = range(len(value) + 1) if len(operation) == 1 else range(len(value), -1, -1)
    for size in sizes:
        piece = value[:size] if operation[0] == "#" else value[len(value) - size :]
        if re.fullmatch(pattern, piece, re.DOTALL):
            return value[size:] if operation[0] == "#" else value[: len(value) - size]
    return value


_BASH = r"""
r() { printf '%s' "$@"; }
while IFS= read -r -d '' word; do
    ( IFS=; eval "r $word" ) 2>/dev/null || printf '\2'
    printf '\0'
done
"""


def bash(texts: list[str]) -> list[str | None]:
    """What bash makes of each text as arguments, one behind the other; None where it rejects it."""
    settings = "".join(f"{name}='{value}'\n" for name, value in VARIABLES.items())
    done = subprocess.run(
        ["bash", "--norc", "-c", "set -f\n" + settings + _BASH],
        input=b"".join(text.encode("utf-8", "surrogateescape") + b"\0" for text in texts),
        stdout=subprocess.PIPE,
        env={"PATH": "/usr/bin:/bin", "HOME": HOME, "LC_ALL": "C.UTF-8"},
        check=True,
        timeout=120,
    )
    found = done.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]
    return [None if "\2" in text else text for text in found]


PIECES = (
    *("a", "b.c", "é", "/", "*", "?", "=", ":", ",", "~", "{", "}", "a~b", "#", "!", "%", "^", "[x]", "]", "@", "+", "-", "\\a"),
    *("\\\\", "\\'", '\\"', "\\$", "\\ ", "\\`", "\\{", "\\,", "\\\n", "$", "$y", "$x", "$e", "${n}", "$n$", "$q1", "''", '""'),
    *(
        "'a b'",
        "'$y'",
        "'\"'",
        "'\\'",
        "'a\\b'",
        "'\n'",
        '"a b"',
        '"a\\b"',
        '"\\$y"',
        '"\\\\"',
        '"\\""',
        '"\'"',
        '"$y"',
        '"a\\\nb"',
    ),
    *('"`echo a`"', '"$(echo "q  r")"', '"~"', '"{a,b}"', '"$"', '"\\`"', '"a$"', "$'a\\tb'", "$'\\''", "$'\\x41\\101\\u00e9'"),
    *(
        "$'\\e[0m'",
        "$'\\ca'",
        "$'\\q\\\\'",
        "$'a\\0b'",
        "$'\\xc3\\xa9'",
        '$"a b"',
        "`echo a`",
        "`echo \\`echo b\\``",
        "`echo '$y'`",
    ),
    *(
        "`echo \\$y`",
        "`echo \\\\\\\\`",
        '"`echo \\"a b\\"`"',
        "$(echo a b)",
        "$(echo ')')",
        "$(echo $(echo c))",
        "$(echo {a,b}c)",
    ),
    *(
        "$(echo a # )\n)",
        "$((1+2))",
        "$(( n * (2+1) ))",
        "$[1+1]",
        '"$((1+1))"',
        "{a,b}",
        "{1..3}",
        "{a,{b,c}}",
        "{,x}",
        "{a..c}",
    ),
    *(
        "{01..3}",
        "{3..1}",
        "{a}",
        "{}",
        "{a,b",
        "a}",
        "{1..7..3}",
        "{'a,b',c}",
        "{\\,,a}",
        "${x:-{a,b}}",
        "{$n,$e}",
        "{a..}",
        "{-1..1}",
    ),
    *("${x-a b}", "${x:-'a b'}", '${x:-"a  b"}', "${x:-$y}", "${y:-b}", "${e:-c}", "${e-c}", "${y:+d e}", "${x:+d}", "${e+f}"),
    *(
        "${x:-~}",
        "${x:-a\\}b}",
        "${x:-'}'}",
        '"${x:-}}"',
        '"${x:-a b}"',
        "\"${x:-'a'}\"",
        '"${x:-"a b"}"',
        '"${x:-\\}}"',
        '"${x:-\\a}"',
    ),
    *(
        "${x:-${e:-z}}",
        "${x:-$(echo w)}",
        "${x:-`echo w`}",
        '"${x:-$(echo "w v")}"',
        "${#y}",
        "${#x}",
        "${!q}",
        "${y#*/}",
        "${y##*/}",
    ),
    *(
        "${y%/*}",
        "${y%%/*}",
        "${y%'/e'}",
        '"${y%"/e"}"',
        "\"${y%'/e'}\"",
        "${s#\\*}",
        '${y#"*"}',
        "${y/b/Z}",
        "${y//\\//_}",
        "${y////_}",
    ),
    *(
        "${y/%e/Z}",
        "${y/#a/Z}",
        "${y/b}",
        "${y//'/'/'q}'}",
        '"${y//"/"/-}"',
        "${p^^}",
        "${p,,}",
        "${y:2}",
        "${y:1:3}",
        "${y: -0:1}",
    ),
    *(
        "${y:n}",
        "${y:1+1:n-1}",
        "${w=k}",
        "${y/\\//\\\\}",
        "${y/c/$n}",
        '"${y/c/"$n"}"',
        "${y#${e}a}",
        "\"${x:-$'a\\tb'}\"",
        "${x:-$'a}b'}",
    ),
)


def arguments(count: int, seed: int) -> list[str]:
    """Random words, of one to five pieces each."""
    chance = random.Random(seed)
    return ["".join(chance.choice(PIECES) for _ in range(chance.randint(1, 5))) for _ in range(count)]


def ours(text: str) -> str | None:
    """What our parts make of the same; None for a syntax error."""
    parsed = syntax.parse("r " + text)
    if parsed.error:
        return None
    (command, _), *more = parsed.body.items or ((None, ""),)
    if more or not isinstance(command, nodes.Simple) or command.redirects:
        raise CannotSayError
    expanded = [raw for argument in command.words[1:] for raw in words.braces(argument.raw)]
    return "".join(text_of(words.word(raw)) for raw in expanded)
