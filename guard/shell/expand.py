"""Words to the strings that the shell would pass."""

from __future__ import annotations

import os

from guard import expressions as re
from guard.effects import Hole, Pattern, Text, join, unknown
from guard.shell import words
from guard.shell.nodes import Arithmetic, Literal, Parameter, Process, Substitution, Tilde, Word
from guard.shell.state import UNFORESEEN, State
from guard.shell.text import split

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import NamedTuple

    from guard.shell.nodes import Part
    from guard.shell.state import Value
else:
    from guard.record import NamedTuple

WORD_LIMIT = 20_000  # fields of one command
LENGTH_LIMIT = 1 << 20  # characters of one expanded word
BLANKS = " \t\n"


# Variables that bash gives a value of its own.
OF_BASH: dict[str, Callable[[], str]] = {
    "IFS": lambda: BLANKS,
    "UID": lambda: str(os.getuid()),
    "EUID": lambda: str(os.geteuid()),
    "OSTYPE": lambda: {"linux": "linux-gnu", "darwin": "darwin"}.get(os.uname().sysname.lower(), os.uname().sysname.lower()),
    "HOSTTYPE": lambda: os.uname().machine,
    "HOSTNAME": lambda: os.uname().nodename,
    "BASH_VERSION": lambda: "5.2.15(1)-release",
    "BASH": lambda: "/bin/bash",
    "SHLVL": lambda: "1",
    "OPTIND": lambda: "1",
}


class Failed(Exception):
    """An expansion error: the command does not run; `fatal` where a non-interactive shell ends."""

    def __init__(self, fatal: bool = True) -> None:
        super().__init__()
        self.fatal = fatal


class Fragment(NamedTuple):
    """A piece of a word after expansion. `quoted`: neither split nor globbed. `split`: came from an unquoted expansion.
    `ends`: a field ends behind this fragment ("$@")."""

    text: Text
    quoted: bool
    split: bool = False
    ends: bool = False


class Expander:
    """Expands words in a state. `substitute` runs a command text in a subshell of the state and gives its output as it is
    between the parentheses; `process` gives the path that stands for <(..) or >(..)."""

    def __init__(
        self, state: State, substitute: Callable[[State, str], Text], process: Callable[[State, str, str], Text]
    ) -> None:
        self.state = state
        self.unset: dict[str, None] = {}  # names that had no value where one was wanted
        self._substitute = substitute
        self._process = process

    # --- whole words

    def fields(self, word: Word) -> list[Text]:
        """All expansions of a command's word: braces, parameters and the like, splitting, globs, quotes."""
        if self.state.braces and "{" in word.raw and ("," in word.raw or ".." in word.raw):
            try:
                raws = words.braces(word.raw)
            except words.TooMany:
                return [unknown("unknown-name", word.raw[:80])]
            if raws != [word.raw]:
                return [field for raw in raws for field in self._fields(words.word(raw))]
        return self._fields(word)

    def text(self, word: Word) -> Text:
        """The word as one string: no splitting, no globs (assignments, here-documents, case subjects)."""
        return join(*(fragment.text for fragment in self._joined(word)))

    def pattern(self, word: Word) -> str | None:
        """The word as a pattern for matching, with quoted parts literal; None where it is not known."""
        from guard.shell import globs

        out = ""
        for fragment in self._joined(word):
            if not isinstance(fragment.text, str):
                return None
            out += globs.escape(fragment.text) if fragment.quoted else fragment.text
        return out

    def target(self, word: Word) -> Text:
        """The word behind a redirection: one field, or the command fails."""
        found = self.fields(word)
        if len(found) != 1:
            raise Failed(fatal=False)
        return found[0]

    def _joined(self, word: Word) -> Iterator[Fragment]:
        for fragment in self._fragments(word):
            yield fragment
            if fragment.ends:
                yield Fragment(" ", True)

    def _fields(self, word: Word) -> list[Text]:
        parts = word.parts
        if len(parts) == 1 and isinstance(parts[0], Literal) and (parts[0].quoted or not _may_glob(parts[0].text)):
            return [parts[0].text]
        found: list[Text] = []
        for field in self._split(self._fragments(word)):
            found += self._glob(field)
            if len(found) > WORD_LIMIT:
                raise words.TooMany
        return found

    def _split(self, fragments: Iterator[Fragment]) -> Iterator[list[Fragment]]:
        separators = self.separators()
        field: list[Fragment] = []
        for fragment in fragments:
            if fragment.split and not fragment.quoted and separators:
                pieces = split(fragment.text, separators, keep_empty=True)
                for at, piece in enumerate(pieces):
                    if at:
                        if any(f.text != "" or f.quoted for f in field):
                            yield field
                        field = []
                    if piece != "":
                        field.append(Fragment(piece, False, True))
            else:
                field.append(fragment)
            if fragment.ends:
                yield field
                field = []
        if any(f.text != "" or f.quoted for f in field):
            yield field

    def separators(self) -> str:
        """The characters that split unquoted expansions."""
        value = self.value("IFS")
        return value if isinstance(value, str) else BLANKS

    def _glob(self, field: list[Fragment]) -> list[Text]:
        whole = join(*(fragment.text for fragment in field))
        if "f" in self.state.options or not any(
            not f.quoted and isinstance(piece, str) and _may_glob(piece) for f in field for piece in _pieces(f.text)
        ):
            return [whole]
        cwd = self.state.cwd
        if isinstance(whole, Pattern) or (isinstance(cwd, Pattern) and not whole.startswith("/")):
            return [self._loose(field)]
        from guard.shell import globs

        pattern = "".join(globs.escape(str(f.text)) if f.quoted else str(f.text) for f in field)
        if not globs.is_glob(pattern):
            return [whole]
        found = globs.expand(pattern, cwd if isinstance(cwd, str) else "/", self.state.view, self.state.options)
        ignored = self.state.get("GLOBIGNORE")
        if isinstance(ignored, str) and ignored:
            tests = [globs.compiled(each, slash=False) for each in ignored.split(":") if each]
            found = [path for path in found if not (isinstance(path, str) and any(test.match(path) for test in tests))]
        if found:
            return found
        if "failglob" in self.state.options:
            raise Failed(fatal=False)
        return [] if "nullglob" in self.state.options else [whole]

    def _loose(self, field: list[Fragment]) -> Text:
        """A glob in a place that is not known: what it matches is a hole."""
        pieces: list[Text] = []
        for fragment in field:
            for piece in _pieces(fragment.text):
                if fragment.quoted or isinstance(piece, Hole):
                    pieces.append(Pattern((piece,)) if isinstance(piece, Hole) else piece)
                    continue
                for at, plain in enumerate(re.split(r"(\*+|\?|\[[^]]*\])", piece)):
                    pieces.append(unknown("unknown-name", plain) if at % 2 else plain)
        loose = join(*pieces)
        first = field[0].text if field else ""
        if isinstance(first, str) and not first.startswith("/"):
            return join(self.state.cwd, "/", loose)  # a glob never makes a path absolute
        return loose

    # --- parts

    def _fragments(self, word: Word) -> Iterator[Fragment]:
        for part in word.parts:
            yield from self._part(part)

    def _part(self, part: Part) -> Iterator[Fragment]:
        if isinstance(part, Literal):
            yield Fragment(part.text, part.quoted)
        elif isinstance(part, Parameter):
            yield from self._parameter(part)
        elif isinstance(part, Substitution):
            text = self._substitute(self.state, part.text)
            yield Fragment(text, part.quoted, not part.quoted)
        elif isinstance(part, Arithmetic):
            value = self.arithmetic(part.expression)
            yield Fragment(
                unknown("unknown-variable", f"$(({part.expression.raw}))") if value is None else str(value), part.quoted, True
            )
        elif isinstance(part, Process):
            yield Fragment(self._process(self.state, part.direction, part.text), True)
        elif isinstance(part, Tilde):
            yield Fragment(self._tilde(part.user), True)

    def _tilde(self, user: str) -> Text:
        if user in ("+", "-"):
            value = self.state.get("PWD" if user == "+" else "OLDPWD")
            return value if isinstance(value, (str, Pattern)) else f"~{user}"
        if not user:
            home = self.state.get("HOME")
            if isinstance(home, (str, Pattern)):
                return home
        found = home_of(self.state, user)
        return found if found is not None else f"~{user}"

    def arithmetic(self, expression: Word) -> int | None:
        """The value of an arithmetic expression, None where it cannot be told."""
        text = self.text(expression)
        if isinstance(text, Pattern):
            return None
        from guard.shell.arithmetic import evaluate

        return evaluate(text, self._number, self._store_number)

    def _number(self, name: str) -> str | None:
        value = self.value(name)
        if value is None:
            return ""
        if isinstance(value, dict):
            value = value.get("0", "")
        return value if isinstance(value, str) else None

    def _store_number(self, name: str, value: str | None) -> None:
        self.state.put(name, value if value is not None else unknown("unknown-variable", f"${name}"))

    # --- parameters

    def value(self, name: str) -> Value | None:
        """A parameter's value, None where it is unset. `@` and `*` are not asked here."""
        state = self.state
        if name.isdigit():
            at = int(name)
            return state.zero if at == 0 else state.positional[at - 1] if at <= len(state.positional) else None
        if name == "#":
            return str(len(state.positional))
        if name == "?":
            return unknown("unknown-variable", "$?") if state.status is None else str(state.status)
        if name == "_":
            return state.last
        if name == "BASH_SOURCE":
            return {"0": state.source} if state.source != "" else None
        if name == "FUNCNAME":
            return {str(at): scope.function for at, scope in enumerate(reversed(state.scopes))}
        if name == "-":
            return "".join(sorted(o for o in state.options if len(o) == 1))
        if name in ("$", "!") or (name in UNFORESEEN and name not in state.variables):
            return unknown("unknown-variable", f"${name}")
        value = state.get(name)
        if value is None and name in OF_BASH and name not in state.variables:
            return OF_BASH[name]()
        return value

    def _list(self, part: Parameter) -> list[Text] | None:
        """The values of "$@", "${a[@]}" and their kin, None for a plain parameter."""
        if part.name in ("@", "*"):
            return list(self.state.positional)
        if part.subscript not in ("@", "*"):
            return None
        value = self.value(part.name)
        if value is None:
            return []
        return list(value.values()) if isinstance(value, dict) else [value]

    def _scalar(self, part: Parameter) -> Text | None:
        value = self.value(part.name)
        if part.subscript is None:
            return value.get("0") if isinstance(value, dict) else value
        if value is None:
            return None
        if not isinstance(value, dict):
            return value if part.subscript == "0" else None if isinstance(value, str) else value
        key = self.subscript(part.subscript, value)
        if key is None:
            return unknown("unknown-variable", f"${{{part.name}[{part.subscript}]}}")
        return value.get(key)

    def subscript(self, raw: str, array: dict[str, Text]) -> str | None:
        """The key that a subscript's text names, None where it is not known."""
        text = self.text(words.word(raw) if raw.strip() else Word("", (Literal("0"),)))
        if isinstance(text, Pattern):
            return None
        if text in array and not text.lstrip("-").isdigit():
            return text
        from guard.shell.arithmetic import evaluate

        number = evaluate(text, self._number, self._store_number)
        if number is None:
            return None
        if number < 0:
            keys = list(array)
            return keys[number] if -number <= len(keys) else "none"
        return str(number) if str(number) in array or not re.fullmatch(r"[A-Za-z_]\w*", text) else text

    def _parameter(self, part: Parameter) -> Iterator[Fragment]:
        what = f"${{{part.name}}}" if part.op or part.subscript else f"${part.name}"
        if part.op == "names":
            found = sorted(n for n in {*self.state.variables, *self.state.environ} if n.startswith(part.name.rstrip("*@")))
            yield from self._listed(list(found), part)
            return
        if part.op == "keys":
            value = self.value(part.name)
            yield from self._listed(list(value) if isinstance(value, dict) else [] if value is None else ["0"], part)
            return
        if part.op == "indirect":
            yield from self._indirect(part, what)
            return
        values = self._list(part)
        if values is not None:
            yield from self._list_operation(part, values)
            return
        value = self._scalar(part)
        if part.op == "length":
            known = value if value is not None else ""
            yield Fragment(str(len(known)) if isinstance(known, str) else unknown("unknown-variable", what), part.quoted, True)
            return
        if part.op in _CONDITIONAL:
            yield from self._conditional(part, value)
            return
        if value is None:
            if "u" in self.state.options and part.name not in ("@", "*", "!"):
                raise Failed
            self.unset[part.name] = None
            value = ""
        yield Fragment(self._operate(part, value, what), part.quoted, not part.quoted)

    def _listed(self, values: list[Text], part: Parameter) -> Iterator[Fragment]:
        star = (
            part.subscript == "*"
            or (part.subscript is None and part.name == "*")
            or (part.op == "names" and part.name.endswith("*"))
        )
        if star and part.quoted:
            separator = (self.separators() or "")[:1]
            joined: Text = ""
            for at, value in enumerate(values):
                joined = join(joined, separator if at else "", value)
            yield Fragment(joined, True)
            return
        for at, value in enumerate(values):
            yield Fragment(value, part.quoted, not part.quoted, ends=at + 1 < len(values))

    def _list_operation(self, part: Parameter, values: list[Text]) -> Iterator[Fragment]:
        if part.op == "length":
            yield Fragment(str(len(values)), part.quoted)
        elif part.op in _CONDITIONAL:
            empty = not values or (part.op.startswith(":") and values == [""])
            if (part.op.lstrip(":") == "+") != empty:
                yield from self._listed(values, part) if part.op.lstrip(":") != "+" else self._argument(part)
            elif part.op.lstrip(":") == "?":
                raise Failed
            elif part.op.lstrip(":") != "+":
                yield from self._argument(part)
        elif part.op == ":":
            yield from self._listed(self._slice(part, values), part)
        else:
            yield from self._listed([self._operate(part, value, f"${part.name}") for value in values], part)

    def _slice(self, part: Parameter, values: list[Text]) -> list[Text]:
        numbers = [self.arithmetic(argument) for argument in part.args]
        if None in numbers:
            return values
        start = numbers[0] or 0
        if part.name in ("@", "*"):
            values = [self.state.zero, *values]
        if start < 0:
            start += len(values)
        return values[start:] if len(numbers) < 2 else values[start : start + max(0, numbers[1] or 0)]

    def _indirect(self, part: Parameter, what: str) -> Iterator[Fragment]:
        name = self._scalar(part._replace(op=""))
        if isinstance(name, Pattern):
            yield Fragment(unknown("unknown-variable", what), part.quoted, True)
            return
        found = re.fullmatch(r"([A-Za-z_]\w*|[@*#?$!0-9-]+)(?:\[(.*)\])?", name or "")
        if found is None:
            yield Fragment("", part.quoted, True)
            return
        yield from self._parameter(Parameter(found[1], "", (), found[2], part.quoted))

    def _argument(self, part: Parameter) -> Iterator[Fragment]:
        """The word of ${x:-word}: quoted as the whole is, else expanded by its own quotes."""
        if not part.args:
            return
        for fragment in self._fragments(part.args[0]):
            yield fragment._replace(quoted=fragment.quoted or part.quoted, split=not (fragment.quoted or part.quoted))

    def _conditional(self, part: Parameter, value: Text | None) -> Iterator[Fragment]:
        kind = part.op.lstrip(":")
        absent = value is None or (part.op.startswith(":") and value == "")
        if kind == "+":
            if not absent:
                yield from self._argument(part)
            return
        if not absent:
            yield Fragment(value if value is not None else "", part.quoted, not part.quoted)
        elif kind == "?":
            raise Failed
        elif kind == "=":
            new = self.text(part.args[0]) if part.args else ""
            self.state.put(part.name, new)
            yield Fragment(new, part.quoted, not part.quoted)
        else:
            yield from self._argument(part)

    def _operate(self, part: Parameter, value: Text, what: str) -> Text:
        if not part.op:
            return value
        if isinstance(value, Pattern):
            return unknown("unknown-variable", what)
        if part.op == "@Q":
            return "'" + value.replace("'", "'\\''") + "'"
        operation = _OPERATIONS.get(part.op)
        if part.op == ":":
            return self._substring(part, value, what)
        if operation is None:
            return value if part.op.startswith("@") and part.op != "@A" else unknown("unknown-variable", what)
        arguments = [self.pattern(part.args[0]) if part.args else "", self._replacement(part)]
        if None in arguments:
            return unknown("unknown-variable", what)
        result = operation(value, str(arguments[0]), str(arguments[1]))
        if len(result) > LENGTH_LIMIT:
            raise words.TooMany
        return result

    def _replacement(self, part: Parameter) -> str | None:
        if len(part.args) < 2:
            return ""
        text = self.text(part.args[1])
        return text if isinstance(text, str) else None

    def _substring(self, part: Parameter, value: str, what: str) -> Text:
        numbers = [self.arithmetic(argument) for argument in part.args]
        if None in numbers:
            return unknown("unknown-variable", what)
        start = numbers[0] or 0
        start = max(0, start + len(value)) if start < 0 else start
        if len(numbers) < 2:
            return value[start:]
        length = numbers[1] or 0
        return value[start : start + length] if length >= 0 else value[start:length]


_CONDITIONAL = frozenset(("-", ":-", "=", ":=", "?", ":?", "+", ":+"))


def _remove_prefix(value: str, pattern: str, longest: bool) -> str:
    from guard.shell import globs

    ends = range(len(value), -1, -1) if longest else range(len(value) + 1)
    test = globs.compiled(pattern)
    return next((value[end:] for end in ends if test.match(value[:end])), value)


def _remove_suffix(value: str, pattern: str, longest: bool) -> str:
    from guard.shell import globs

    starts = range(len(value) + 1) if longest else range(len(value), -1, -1)
    test = globs.compiled(pattern)
    return next((value[:start] for start in starts if test.match(value[start:])), value)


def _replace(value: str, pattern: str, new: str, count: int, anchor: str = "") -> str:
    if not pattern and not anchor:
        return value
    from guard.shell import globs

    body = globs.expression(pattern)
    try:
        test = re.compile({"#": f"\\A(?:{body})", "%": f"(?:{body})\\Z"}.get(anchor, body), re.S)
    except re.error:
        return value
    return test.sub(lambda _: new, value, count=count)


def _case(value: str, pattern: str, change: Callable[[str], str], first: bool) -> str:
    from guard.shell import globs

    test = globs.compiled(pattern or "?")
    if first:
        return (change(value[0]) if test.match(value[:1]) else value[0]) + value[1:] if value else value
    return "".join(change(c) if test.match(c) else c for c in value)


def _lower(text: str) -> str:
    return text.lower()


def _upper(text: str) -> str:
    return text.upper()


_OPERATIONS: dict[str, Callable[[str, str, str], str]] = {
    "#": lambda v, p, _: _remove_prefix(v, p, False),
    "##": lambda v, p, _: _remove_prefix(v, p, True),
    "%": lambda v, p, _: _remove_suffix(v, p, False),
    "%%": lambda v, p, _: _remove_suffix(v, p, True),
    "/": lambda v, p, new: _replace(v, p, new, 1),
    "//": lambda v, p, new: _replace(v, p, new, 0),
    "/#": lambda v, p, new: _replace(v, p, new, 1, "#"),
    "/%": lambda v, p, new: _replace(v, p, new, 1, "%"),
    "^": lambda v, p, _: _case(v, p, _upper, True),
    "^^": lambda v, p, _: _case(v, p, _upper, False),
    ",": lambda v, p, _: _case(v, p, _lower, True),
    ",,": lambda v, p, _: _case(v, p, _lower, False),
    "@U": lambda v, _p, _n: v.upper(),
    "@u": lambda v, _p, _n: v[:1].upper() + v[1:],
    "@L": lambda v, _p, _n: v.lower(),
}


def _pieces(text: Text) -> tuple[str | Hole, ...]:
    return (text,) if isinstance(text, str) else text.pieces


def _may_glob(text: str) -> bool:
    return "*" in text or "?" in text or "[" in text or "(" in text or "\\" in text


def home_of(state: State, user: str) -> str | None:
    """A user's home directory as /etc/passwd has it; of the user who runs guard for ""."""
    data = state.view.world.read("/etc/passwd")
    if data is None:
        return None
    for line in data.decode("utf-8", "surrogateescape").splitlines():
        entry = line.split(":")
        if len(entry) > 5 and (entry[0] == user if user else entry[2] == str(os.getuid())):
            return entry[5]
    return None
