"""Reads a Python program and follows it without running it."""

from __future__ import annotations

from guard.effects import Analysis, Hole, Pattern, Text, Unknown
from guard.tools.process import Process, encode
from guard.tools.python_program import LIVELY, Break, Continue, Program, Return
from guard.tools.python_values import Exit, Raised, TooMuch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from guard.tools.call import Call

ONLY_AST = 0x400  # ast.PyCF_ONLY_AST, without importing ast
FIRST_MARK = 0xE000  # private letters that stand for the unknown parts of a program while it is parsed
MARKS = 0x1000
SMALL = 4_000  # letters; a longer program is followed only when it holds a word that matters
SOURCE_LIMIT = 400_000


def follow(call: Call, source: Text, argv: list[Text], path: str | None, stdin: Text | None) -> Analysis:
    """What a program does. What cannot be read as Python does nothing: Python itself refuses it."""
    text, holes = _marked(source)
    if len(text) > SOURCE_LIMIT or (len(text) > SMALL and not LIVELY.search(text)):
        return Analysis()
    tree = parse(encode(text))
    if tree is None:
        return Analysis()
    program = Program(Process(call, inline=path is None), argv, path, stdin)
    program.holes = holes
    program.names = _lively_functions(tree)
    status = _follow(program, tree)
    result = program.process.result(status)
    return result if program.silent else result._replace(output=_unknown_output())


def parse(source: bytes) -> Any:
    """The syntax tree; None for what is no Python."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compile(source, "<program>", "exec", ONLY_AST, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return None


def _marked(source: Text) -> tuple[str, dict[str, Any]]:
    """The text with a private letter for every hole, and what the letters stand for."""
    if isinstance(source, str):
        return source, {}
    holes: dict[str, Any] = {}
    parts: list[str] = []
    for piece in source.pieces:
        if isinstance(piece, Hole):
            mark = chr(FIRST_MARK + len(holes) % MARKS)
            holes[mark] = Pattern((piece,))
            parts.append(mark)
        else:
            parts.append(piece)
    return "".join(parts), holes


def _lively_functions(tree: Any) -> set[str]:
    """The names of the program's functions in which something could happen to a file."""
    from guard.tools.python_expressions import nodes

    bodies: dict[str, set[str]] = {}
    for node in nodes([tree]):
        if type(node).__name__ in ("FunctionDef", "AsyncFunctionDef"):
            words = (getattr(each, "id", None) or getattr(each, "attr", None) for each in nodes(node.body))
            bodies[node.name] = {word for word in words if isinstance(word, str)}
    found = {name for name, words in bodies.items() if any(map(LIVELY.search, words))}
    for _ in range(4):
        found |= {name for name, words in bodies.items() if words & found}
    return found


def _follow(program: Program, tree: Any) -> int | None:
    """Follows to the end and gives the exit status, None where it is not known."""
    from guard.tools.python_statements import execute

    status: int | None = None
    try:
        execute(program, tree.body)
        status = 0
    except Exit as end:
        status = end.status
    except Raised:
        status = 1
    except (Return, Break, Continue):
        pass
    except (TooMuch, RecursionError, MemoryError):
        program.process.emit(Unknown("too-deep", "this Python program"))
        program.silent = False
    try:
        program.flush()
    except Raised:
        status = 1
    for lines in program.rewritten:
        lines.give_up(program)
    return None if program.doubt or program.foreign else status


def _unknown_output() -> Text:
    return Pattern((Hole("unknown-output", "python"),))
