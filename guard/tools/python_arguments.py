"""argparse: what a parser, built up by the program, makes of the arguments that it is given."""

from __future__ import annotations

from guard.effects import Text
from guard.tools.python_expressions import call, listed
from guard.tools.python_library import local
from guard.tools.python_program import Args, Program
from guard.tools.python_values import Exit, Instance, Named, Opaque, Path, Raised, known

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FIRST_MARK = 0xF000  # private letters that stand for arguments of which something is not known
PLAIN = {"builtins.int": int, "builtins.float": float, "builtins.str": str}
KEPT = frozenset(["action", "nargs", "const", "default", "choices", "required", "dest", "metavar", "help"])
PARSING = frozenset(["prefix_chars", "add_help", "allow_abbrev", "conflict_handler"])
ACTIONS = frozenset(
    ["store", "store_true", "store_false", "store_const", "append", "append_const", "count", "extend", "help", "version"]
)


class Parser:
    """A real parser, the conversions that its results still need, and whether all that the program told it was understood."""

    def __init__(self, real: Any) -> None:
        self.real = real
        self.types: dict[str, Any] = {}
        self.parts: list[Parser] = []
        self.known = True

    def understood(self) -> bool:
        """True when this parser and those of its commands are known."""
        return self.known and all(part.understood() for part in self.parts)

    def conversions(self) -> dict[str, Any]:
        """The functions to be called on the results."""
        found = dict(self.types)
        for part in self.parts:
            found.update(part.conversions())
        return found


def parser(program: Program, args: Args) -> Instance:
    """argparse.ArgumentParser"""
    import argparse

    given = {key: value for key, value in args.named.items() if key in PARSING and known(value)}
    made = Parser(_silent(argparse.ArgumentParser)(prog="program", **given))
    made.known = not any(key in args.named for key in ("parents", "fromfile_prefix_chars", "argument_default"))
    return _instance(program, made, made.real)


def _silent(kind: Any) -> Any:
    class Silent(kind):  # type: ignore[misc]
        def error(self, message: str) -> None:
            raise Exit(2)

        def exit(self, status: int = 0, message: str | None = None) -> None:
            raise Exit(status)

        def _print_message(self, message: str, file: Any = None) -> None:
            return None

    return Silent


def _instance(program: Program, made: Parser, holder: Any) -> Instance:
    """The parser, or a group of its arguments, as the program sees it."""

    def named(run: Any) -> Named:
        return Named(local(program, run))

    def group(program: Program, args: Args) -> Any:
        return _instance(program, made, holder)

    def exclusive(program: Program, args: Args) -> Any:
        return _instance(program, made, holder.add_mutually_exclusive_group(required=args.named.get("required") is True))

    def commands(program: Program, args: Args) -> Any:
        return _commands(program, made, args)

    def defaults(program: Program, args: Args) -> None:
        made.real.set_defaults(**args.named)

    def error(program: Program, args: Args) -> None:
        raise Exit(2)

    def add(program: Program, args: Args) -> Any:
        return _add(made, holder, args)

    def parse(program: Program, args: Args) -> Any:
        return _parse(program, made, args, made.real.parse_args)

    def parse_some(program: Program, args: Args) -> Any:
        found = _parse(program, made, args, lambda words: made.real.parse_known_args(words)[0])
        return (found, Opaque("the other arguments"))

    functions = {
        "add_argument": add,
        "add_argument_group": group,
        "add_mutually_exclusive_group": exclusive,
        "add_subparsers": commands,
        "set_defaults": defaults,
        "parse_args": parse,
        "parse_known_args": parse_some,
        "error": error,
        "exit": error,
        "print_help": lambda program, args: None,
        "print_usage": lambda program, args: None,
        "format_help": lambda program, args: Opaque("help"),
    }
    return Instance(None, {name: named(run) for name, run in functions.items()})


def _commands(program: Program, made: Parser, args: Args) -> Instance:
    given = {key: value for key, value in args.named.items() if key in ("dest", "required") and known(value)}
    real = made.real.add_subparsers(**given)

    def add(program: Program, args: Args) -> Any:
        name = args.get(0, "name")
        aliases = args.named.get("aliases", [])
        if not isinstance(name, str) or not known(aliases):
            made.known = False
            return _instance(program, Parser(made.real), made.real)
        part = Parser(real.add_parser(name, aliases=aliases))
        made.parts.append(part)
        return _instance(program, part, part.real)

    return Instance(None, {"add_parser": Named(local(program, add))})


def _add(made: Parser, holder: Any, args: Args) -> Any:
    given = {key: value for key, value in args.named.items() if key in KEPT and key not in ("help", "metavar")}
    kind = args.named.get("type")
    if isinstance(kind, Named) and kind.name in PLAIN:
        given["type"] = PLAIN[kind.name]
    if not all(isinstance(name, str) for name in args.values) or given.get("action", "store") not in ACTIONS:
        made.known = False
        return Opaque("an argument")
    try:
        action = holder.add_argument(*args.values, **given)
    except (ValueError, TypeError, AttributeError):
        made.known = False
        return Opaque("an argument")
    if kind is not None and "type" not in given:
        made.types[action.dest] = kind
    return Opaque("an argument")


def _parse(program: Program, made: Parser, args: Args, parse: Any) -> Any:
    words = args.get(0, "args")
    items = list(program.argv[1:]) if words is None else listed(words)
    if items is None or not made.understood():
        program.doubt += 1
        return Opaque("arguments")
    marks: dict[str, Text] = {}
    plain: list[str] = []
    for item in items:
        if not isinstance(item, str):
            mark = chr(FIRST_MARK + len(marks))
            marks[mark] = item
            item = mark
        plain.append(item)
    try:
        found = vars(parse(plain))
    except (TypeError, ValueError, AttributeError, KeyError, IndexError, RecursionError):
        program.doubt += 1
        return Opaque("arguments")
    types = made.conversions()
    return Instance(None, {name: _converted(program, types.get(name), value, marks) for name, value in found.items()})


def _converted(program: Program, kind: Any, value: Any, marks: dict[str, Text]) -> Any:
    if isinstance(value, list):
        return [_converted(program, kind, each, marks) for each in value]
    if not isinstance(value, str):
        return value
    text: Any = marks.get(value, value)
    if kind is None:
        return text
    try:
        made = call(program, kind, [text])
    except Raised:
        raise Exit(2) from None
    return made if not isinstance(made, Path) or known(made.text) else Path(text)
