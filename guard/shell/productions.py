"""What each production of the grammar builds. The functions bear the names that bashlex's have, without the p_."""

from __future__ import annotations

from guard.shell import words
from guard.shell.assignments import array, assignment
from guard.shell.nodes import (
    ArithmeticCommand,
    ArithmeticFor,
    Case,
    Condition,
    Coprocess,
    For,
    Function,
    Group,
    If,
    Pipeline,
    Redirect,
    Sequence,
    Simple,
    Subshell,
    While,
)
from guard.shell.scanner import SYNTAX, Unparsable
from guard.shell.tokens import Token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NamedTuple
else:
    from guard.record import NamedTuple


class _Placed(NamedTuple):
    """A redirection, and where it stands."""

    node: Redirect
    start: int
    end: int


class Right(NamedTuple):
    """The values of a production's right side, and the text that its tokens stand in."""

    source: str
    values: list[Any]


def _same(right: Right) -> Any:
    return right.values[0] if right.values else None


def _nothing(right: Right) -> None:
    """Newlines and terminators."""


def _listed(right: Right) -> list[Any]:
    """A list that grows by its last value."""
    if len(right.values) == 1:
        return [right.values[0]]
    right.values[0].append(right.values[-1])
    grown: list[Any] = right.values[0]
    return grown


def _redirection(right: Right) -> _Placed:
    operator, target = right.values[-2:]
    first = right.values[0]
    fd = first.text if len(right.values) == 3 else ""
    return _Placed(Redirect(operator.text, fd, words.word(target.text)), first.start, target.end)


def _here_document(right: Right) -> _Placed:
    target = right.values[-1]
    first = right.values[0]
    fd = first.text if len(right.values) == 3 else ""
    body, quoted = target.body or ("", True)
    return _Placed(Redirect("<<", fd, words.here_document(body, quoted)), first.start, target.end)


def _nodes(placed: list[_Placed]) -> tuple[Redirect, ...]:
    return tuple(each.node for each in placed)


def _with_redirections(right: Right) -> Any:
    node = right.values[0]
    if len(right.values) == 2:
        return node._replace(redirects=_nodes(right.values[1]))
    return node


def _command(right: Right) -> Any:
    first = right.values[0]
    return _simple(right.source, first) if isinstance(first, list) else _with_redirections(right)


def _simple(source: str, elements: list[Token | _Placed]) -> Simple:
    redirects, assignments, arguments, declared = [], [], [], []
    for element in elements:
        if isinstance(element, _Placed):
            redirects.append(element.node)
        elif element.kind == "ASSIGNMENT_WORD":
            assignments.append(assignment(element.text))
        else:
            arguments.append(words.word(element.text))
            if element.text[-1] == ")" and (found := array(element.text)):
                declared.append(found)
    whole = source[elements[0].start : elements[-1].end]
    return Simple(tuple(assignments + declared), tuple(arguments), tuple(redirects), whole, len(declared))


def _shell_command(right: Right) -> Any:
    if len(right.values) == 1:
        return right.values[0]
    keyword, condition, _, body, _ = right.values
    return While(condition, body, keyword.text == "until")


def _for(right: Right) -> For:
    keyword, name, *rest = right.values
    given = None
    if any(isinstance(value, Token) and value.kind == "IN" for value in rest):
        given = next((value for value in rest if isinstance(value, list)), [])
    expanded = None if given is None else tuple(words.word(token.text) for token in given)
    return For(name.text, expanded, rest[-2], (), keyword.text == "select")


def _arithmetic_for(right: Right) -> ArithmeticFor:
    expressions = words.split(right.values[1].text[2:-2], ";")
    if len(expressions) != 3:
        raise Unparsable(SYNTAX)
    start, condition, step = (words.arithmetic(expression) for expression in expressions)
    return ArithmeticFor(start, condition, step, right.values[-2])


def _case(right: Right) -> Case:
    clauses = right.values[-2] or []
    if len(right.values) == 7:
        clauses = right.values[4]
    return Case(words.word(right.values[1].text), tuple((patterns, body, end.text) for patterns, body, end in clauses))


def _case_clause(right: Right) -> list[Any]:
    """Clauses, the last one not ended by an operator."""
    earlier = right.values[0] if len(right.values) == 2 else []
    return [*earlier, (*right.values[-1], Token("SEMI_SEMI", ";;", 0, 0))]


def _case_clause_sequence(right: Right) -> list[Any]:
    earlier = right.values[0] if len(right.values) == 3 else []
    earlier.append((*right.values[-2], right.values[-1]))
    sequence: list[Any] = earlier
    return sequence


def _pattern_list(right: Right) -> Any:
    patterns = next(value for value in right.values if isinstance(value, list))
    return tuple(words.word(token.text) for token in patterns), right.values[-1] or Sequence(())


def _function(right: Right) -> Function:
    name = next(value for value in right.values if value.kind == "WORD")
    return Function(name.text, right.values[-1])


def _coprocess(right: Right) -> Coprocess:
    first = right.values[1]
    if isinstance(first, list):
        return Coprocess(_simple(right.source, first))
    rest = right.values[2:] if isinstance(first, Token) else right.values[1:]
    return Coprocess(_with_redirections(right._replace(values=rest)))


def _if(right: Right) -> If:
    """if, or elif: the rest of the clauses comes as another If."""
    _, condition, _, body, *rest = right.values
    rest = [value for value in rest if not isinstance(value, Token)]
    clause = ((condition, body),)
    if not rest:
        return If(clause, None)
    if isinstance(rest[0], If):
        return If(clause + rest[0].clauses, rest[0].otherwise)
    return If(clause, rest[0])


def _condition(right: Right) -> Condition:
    return Condition(tuple(words.word(raw) for raw in right.values[1].body))


def _steps(right: Right) -> list[Any]:
    """Commands, each with the operator behind it: [[command, operator], ..]."""
    if len(right.values) == 1:
        return [[right.values[0], ";"]]
    steps: list[Any] = right.values[0]
    steps[-1][1] = _operator(right.values[1])
    if isinstance(right.values[-1], list):
        steps += right.values[-1]
    return steps


def _operator(token: Token) -> str:
    return token.text if token.kind != "NEWLINE" else ";"


def _sequence(right: Right) -> Sequence:
    """A list of commands; newlines before it do not count."""
    steps = right.values[0] if right.values[0] else right.values[-1]
    if isinstance(steps, Sequence):
        return steps
    return Sequence(tuple((command, operator) for command, operator in steps))


def _simple_list(right: Right) -> Sequence:
    return _sequence(right._replace(values=[_steps(right) if len(right.values) == 2 else right.values[0]]))


def _pipeline(right: Right) -> list[Any]:
    if len(right.values) == 1:
        return [right.values[0]]
    commands: list[Any] = right.values[0]
    commands += right.values[-1]
    return commands


def _pipeline_command(right: Right) -> Any:
    """A pipeline with its "!" and "time"; nothing may stand behind them, then nothing runs."""
    if len(right.values) == 1:
        commands = right.values[0]
        return commands[0] if len(commands) == 1 else Pipeline(tuple(commands))
    command = right.values[1] if _is_command(right.values[1]) else Simple((), (), (), "")
    if not isinstance(right.values[0], Token):
        return command
    if isinstance(command, Pipeline):
        return command._replace(negated=not command.negated)
    return Pipeline((command,), True)


def _is_command(value: Any) -> bool:
    return value is not None and not isinstance(value, Token)


FUNCTIONS: dict[str, Callable[[Right], Any]] = {
    "": _same,
    "arith_command": lambda right: ArithmeticCommand(words.arithmetic(right.values[0].text[2:-2])),
    "arith_for_command": _arithmetic_for,
    "case_clause": _case_clause,
    "case_clause_sequence": _case_clause_sequence,
    "case_command": _case,
    "command": _command,
    "compound_list": _sequence,
    "cond_command": _condition,
    "coproc": _coprocess,
    "elif_clause": _if,
    "empty": _nothing,
    "for_command": _for,
    "function_body": _with_redirections,
    "function_def": _function,
    "group_command": lambda right: Group(right.values[1]),
    "if_command": _if,
    "inputunit": _same,
    "list": lambda right: _sequence(right._replace(values=right.values[1:])),
    "list0": _steps,
    "list1": _steps,
    "list_terminator": _nothing,
    "newline_list": _nothing,
    "pattern": _listed,
    "pattern_list": _pattern_list,
    "pipeline": _pipeline,
    "pipeline_command": _pipeline_command,
    "redirection": _redirection,
    "redirection_heredoc": _here_document,
    "redirection_list": _listed,
    "select_command": _for,
    "shell_command": _shell_command,
    "simple_command": _listed,
    "simple_command_element": _same,
    "simple_list": _simple_list,
    "simple_list1": _steps,
    "simple_list_terminator": _nothing,
    "subshell": lambda right: Subshell(right.values[1]),
    "timespec": _nothing,
    "word_list": _listed,
}
