"""The syntax tree of a shell command: what syntax.py gives and walk.py interprets."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from guard.record import NamedTuple


class TooMany(Exception):
    """An expansion gives more words than anyone would look at."""


# --- parts of a word. Quote removal is done; `quoted` means: inside "..", so neither split nor globbed.


class Literal(NamedTuple):
    """Text as the command will see it. Unquoted text may still hold glob characters."""

    text: str
    quoted: bool = False


class Parameter(NamedTuple):
    """$x, ${x}, ${x:-word}, ${a[i]}, ${#x}, ${!x} ...

    `name` is a variable's name or one of * @ # ? - $ ! 0 1 2 ...; `subscript` its raw text, None without.
    `op` is one of: "" (the value) - := :- = ? :? + :+ # ## % %% / // /# /% ^ ^^ , ,, : (substring) and
    "length" (${#x}), "indirect" (${!x}), "names" (${!x*} ${!x@}), "keys" (${!a[@]}), "@Q" and its kin.
    `args` are the operator's words: one, or two for / and for : with a length.
    """

    name: str
    op: str = ""
    args: tuple[Word, ...] = ()
    subscript: str | None = None
    quoted: bool = False


class Substitution(NamedTuple):
    """$(..) or `..`: the text of the inner command, backticks already un-escaped."""

    text: str
    quoted: bool = False


class Arithmetic(NamedTuple):
    """$((..)) or $[..]: the expression as a word (expansions inside it still to be done)."""

    expression: Word
    quoted: bool = False


class Process(NamedTuple):
    """<(..) or >(..): direction "<" or ">" and the text of the inner command."""

    direction: str
    text: str


class Tilde(NamedTuple):
    """An unquoted ~ at the start of a word or behind ":" or "=" in an assignment.

    The user "" means the home directory, + and - mean PWD and OLDPWD.
    """

    user: str


Part = Literal | Parameter | Substitution | Arithmetic | Process | Tilde


class Word(NamedTuple):
    """A word: the raw slice of the source and its parts. Adjacent literals of the same quoting are joined; "" gives one
    empty quoted Literal, so that a word without parts does not exist. Braces are not expanded (words.braces does that)."""

    raw: str
    parts: tuple[Part, ...]


# --- commands


class Redirect(NamedTuple):
    """`op` is one of > >> >| < <> << <<< &> &>> >& <&. `fd` is the number or {name} in front, "" without.

    `target` is the word behind it; for << it is the body: one Word whose literals are quoted (expansions are parts of it,
    none when the delimiter was quoted), tabs of <<- already stripped.
    """

    op: str
    fd: str
    target: Word


class Assignment(NamedTuple):
    """name=value, name+=value, name[subscript]=value, name=(..): `items` is None where it is no array.
    An array item is a word, or (subscript text, word) for [i]=word."""

    name: str
    value: Word | None
    append: bool = False
    subscript: str | None = None
    items: tuple[Word | tuple[str, Word], ...] | None = None


class Simple(NamedTuple):
    """A simple command.

    For declare, export, local, readonly and typeset, arguments like a=(..) stand in `words` as the words of their raw text, and
    as the last `declared` ones of `assignments`.
    """

    assignments: tuple[Assignment, ...]
    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]
    source: str
    declared: int = 0


class Pipeline(NamedTuple):
    """Commands joined by | (or |&); `negated` for a leading "!" (an even number of them cancels out)."""

    commands: tuple[Command, ...]
    negated: bool = False


class Sequence(NamedTuple):
    """Commands in order, each with the operator behind it: ";" (also newline and the end), "&", "&&" or "||"."""

    items: tuple[tuple[Command, str], ...]


class Group(NamedTuple):
    """{ ..; }"""

    body: Sequence
    redirects: tuple[Redirect, ...] = ()


class Subshell(NamedTuple):
    """( .. )"""

    body: Sequence
    redirects: tuple[Redirect, ...] = ()


class If(NamedTuple):
    """if, with its elif clauses as further (condition, body) pairs; `otherwise` is None without else."""

    clauses: tuple[tuple[Sequence, Sequence], ...]
    otherwise: Sequence | None
    redirects: tuple[Redirect, ...] = ()


class While(NamedTuple):
    """while, or until."""

    condition: Sequence
    body: Sequence
    until: bool = False
    redirects: tuple[Redirect, ...] = ()


class For(NamedTuple):
    """for name in words; `words` is None without "in" (the positional parameters). `select` for select."""

    name: str
    words: tuple[Word, ...] | None
    body: Sequence
    redirects: tuple[Redirect, ...] = ()
    select: bool = False


class ArithmeticFor(NamedTuple):
    """for ((a; b; c)): the three expressions as words."""

    start: Word
    condition: Word
    step: Word
    body: Sequence
    redirects: tuple[Redirect, ...] = ()


class Case(NamedTuple):
    """case: each clause has its patterns, its body and ";;", ";&" or ";;&"."""

    subject: Word
    clauses: tuple[tuple[tuple[Word, ...], Sequence, str], ...]
    redirects: tuple[Redirect, ...] = ()


class Function(NamedTuple):
    """A function's definition (nothing runs)."""

    name: str
    body: Command


class Condition(NamedTuple):
    """[[ .. ]]: its words in order, operators (&& || ! ( ) < > == =~ -f ...) as words of one unquoted literal."""

    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...] = ()


class ArithmeticCommand(NamedTuple):
    """(( .. ))"""

    expression: Word
    redirects: tuple[Redirect, ...] = ()


class Coprocess(NamedTuple):
    """coproc [NAME] command"""

    body: Command


Command = (
    Simple
    | Pipeline
    | Sequence
    | Group
    | Subshell
    | If
    | While
    | For
    | ArithmeticFor
    | Case
    | Function
    | Condition
    | ArithmeticCommand
    | Coprocess
)


class Parsed(NamedTuple):
    """What could be parsed: bash runs the lines before a syntax error, so they stand in `body` also when `error` is set."""

    body: Sequence
    error: str | None = None
