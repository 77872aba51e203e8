"""What the statements of a Python program do."""

from __future__ import annotations

from guard.effects import Pattern
from guard.tools.python_expressions import assign, call, evaluate, iterate, names_in, source_of
from guard.tools.python_program import Break, Continue, Program, Return, truth
from guard.tools.python_values import Class, Exit, File, Followed, Function, Instance, Named, Opaque, Raised, origins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

ROUNDS = 64  # of a while loop


def execute(program: Program, body: list[Any]) -> None:
    """Follows statements in order."""
    for node in body:
        program.tick()
        run = STATEMENTS.get(type(node).__name__)
        if run is not None:
            run(program, node)


def _expression(program: Program, node: Any) -> None:
    if _idle(program, node.value):
        return
    opened = len(program.files)
    evaluate(program, node.value)
    for file in program.files[opened:]:
        program.close(file)


def _idle(program: Program, node: Any) -> bool:
    """True for what would only do something once its items are asked for, which nobody does: map(f, items), (f(x) for x in y)."""
    if type(node).__name__ == "GeneratorExp":
        evaluate(program, node.generators[0].iter)
        return True
    if type(node).__name__ != "Call" or type(node.func).__name__ != "Name" or node.func.id not in ("map", "filter"):
        return False
    callee = evaluate(program, node.func)
    if not isinstance(callee, Named) or callee.name != f"builtins.{node.func.id}":
        return False
    for each in node.args:
        evaluate(program, each)
    return True


def _assign(program: Program, node: Any) -> None:
    value = evaluate(program, node.value)
    for target in node.targets:
        assign(program, target, value)


def _annotated(program: Program, node: Any) -> None:
    if node.value is not None:
        assign(program, node.target, evaluate(program, node.value))


def _augmented(program: Program, node: Any) -> None:
    from guard.tools.python_expressions import binary

    old = evaluate(program, node.target)
    value = evaluate(program, node.value)
    if isinstance(old, list) and isinstance(value, (list, tuple)) and not isinstance(value, Pattern):
        old += value
        return
    assign(program, node.target, program.spread(lambda a, b: binary(type(node.op).__name__, a, b), old, value))


def _delete(program: Program, node: Any) -> None:
    for target in node.targets:
        if type(target).__name__ == "Subscript":
            holder, key = evaluate(program, target.value), evaluate(program, target.slice)
            if isinstance(holder, Named) and holder.name == "os.environ" and isinstance(key, str):
                program.process.env.pop(key, None)
            elif isinstance(holder, (list, dict)):
                try:
                    del holder[key]
                except (LookupError, TypeError):
                    program.doubt += 1


def _if(program: Program, node: Any) -> None:
    test = truth(evaluate(program, node.test))
    if test is None:
        program.either(lambda: execute(program, node.body), lambda: execute(program, node.orelse))
    else:
        execute(program, node.body if test else node.orelse)


def _for(program: Program, node: Any) -> None:
    items = evaluate(program, node.iter)
    values, complete = iterate(program, items, node)
    follows = items if isinstance(items, Followed) else None
    done = False
    try:
        for at, value in enumerate(values):
            if follows is not None and not follows.enter(program, at):
                continue
            assign(program, node.target, value)
            try:
                execute(program, node.body)
            except Continue:
                continue
            finally:
                if follows is not None:
                    follows.leave(program, at)
        done = True
    except Break:
        pass
    finally:
        if follows is not None:
            follows.end(program)
    if not complete:
        _some_rounds(program, node, Opaque(source_of(node.target), origins(items)))
    if done:
        execute(program, node.orelse)


def _some_rounds(program: Program, node: Any, item: Any) -> None:
    """The body for a value, or a number of rounds, that is not known."""
    names = names_in(node.body)

    def once() -> None:
        if item is not None:
            assign(program, node.target, item)
        try:
            execute(program, node.body)
        except (Break, Continue):
            return

    program.either(once, lambda: None)
    if program.busy:
        for name in names:
            program.scope.put(name, Opaque(name))


def _while(program: Program, node: Any) -> None:
    for _ in range(ROUNDS):
        test = truth(evaluate(program, node.test))
        if test is False:
            execute(program, node.orelse)
            return
        if test is None or program.busy:
            break
        try:
            execute(program, node.body)
        except Break:
            return
        except Continue:
            continue
    _some_rounds(program, node, None)


def _with(program: Program, node: Any) -> None:
    _within(program, list(node.items), node.body)


def _within(program: Program, items: list[Any], body: list[Any]) -> None:
    if not items:
        execute(program, body)
        return
    item, *rest = items
    value = evaluate(program, item.context_expr)
    suppressed = value.attributes.get("suppresses") if isinstance(value, Instance) else None
    back = value.attributes.get("back") if isinstance(value, Instance) else None
    if item.optional_vars is not None:
        assign(program, item.optional_vars, _entered(program, value))
    elif isinstance(value, Instance) and value.kind is not None:
        _entered(program, value)
    try:
        _within(program, rest, body)
    except Raised as raised:
        if suppressed is None or not any(catches(kind, raised.kind) for kind in suppressed):
            raise
    finally:
        if isinstance(value, File):
            program.close(value)
        if back is not None:
            program.process.here = program.process.here._replace(cwd=back)


def _entered(program: Program, value: Any) -> Any:
    if isinstance(value, Instance) and value.kind is not None and value.kind.find("__enter__") is not None:
        return call(program, value.kind.find("__enter__"), [value])
    if isinstance(value, Instance) and "entered" in value.attributes:
        return value.attributes["entered"]
    return value


def _try(program: Program, node: Any) -> None:
    doubt = program.doubt
    try:
        try:
            execute(program, node.body)
        except Raised as raised:
            handler = _handler(program, node.handlers, raised.kind)
            if handler is None:
                raise
            _handle(program, handler)
            return
        if program.doubt != doubt and node.handlers:
            program.either(lambda: None, *[_later(program, handler) for handler in node.handlers])
        execute(program, node.orelse)
    finally:
        _finally(program, node.finalbody)


def _finally(program: Program, body: list[Any]) -> None:
    if body:
        execute(program, body)


def _later(program: Program, handler: Any) -> Callable[[], None]:
    return lambda: _handle(program, handler)


def _handler(program: Program, handlers: list[Any], kind: str) -> Any:
    for handler in handlers:
        if handler.type is None:
            return handler
        value = evaluate(program, handler.type)
        kinds = value if isinstance(value, (tuple, list)) else [value]
        if any(catches(each, kind) for each in kinds):
            return handler
    return None


def _handle(program: Program, handler: Any) -> None:
    if handler.name:
        program.scope.put(handler.name, Opaque(handler.name))
    execute(program, handler.body)


def catches(handler: Any, kind: str) -> bool:
    """True when a handler for that exception class takes an exception of that kind, or it is not known."""
    import builtins

    name = handler.name.rpartition(".")[2] if isinstance(handler, Named) else ""
    wanted, raised = getattr(builtins, name, None), getattr(builtins, kind, None)
    if isinstance(wanted, type) and isinstance(raised, type):
        return issubclass(raised, wanted)
    return not name or name in (kind, "Exception", "BaseException") or wanted is None


def _raise(program: Program, node: Any) -> None:
    value = evaluate(program, node.exc) if node.exc is not None else None
    if isinstance(value, Instance) and "raises" in value.attributes:
        kind = str(value.attributes["raises"])
    else:
        kind = value.name.rpartition(".")[2] if isinstance(value, Named) else "Exception"
    if kind in ("SystemExit", "KeyboardInterrupt"):
        raise Exit(None)
    raise Raised(kind)


def _assert(program: Program, node: Any) -> None:
    if truth(evaluate(program, node.test)) is False:
        raise Raised("AssertionError")


def _return(program: Program, node: Any) -> None:
    raise Return(evaluate(program, node.value) if node.value is not None else None)


def _break(program: Program, node: Any) -> None:
    raise Break


def _continue(program: Program, node: Any) -> None:
    raise Continue


def _function(program: Program, node: Any) -> None:
    arguments = node.args
    places = [*getattr(arguments, "posonlyargs", []), *arguments.args]
    defaults = {}
    for place, default in zip(places[::-1], arguments.defaults[::-1], strict=False):
        defaults[place.arg] = evaluate(program, default)
    for place, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=False):
        if default is not None:
            defaults[place.arg] = evaluate(program, default)
    program.scope.put(node.name, Function(node, program.scope, defaults))


def _class(program: Program, node: Any) -> None:
    from guard.tools.python_values import Scope

    outer = program.scope
    bases = [base for base in (evaluate(program, each) for each in node.bases) if isinstance(base, Class)]
    program.scope = Scope(outer)
    try:
        execute(program, node.body)
        names = program.scope.names
    finally:
        program.scope = outer
    outer.put(node.name, Class(names, bases))


def _shared(program: Program, node: Any) -> None:
    nonlocal_ = type(node).__name__ == "Nonlocal"
    for name in node.names:
        outer = program.scope.outer.find(name) if nonlocal_ and program.scope.outer is not None else None
        program.scope.shared[name] = outer or program.module
        program.scope.names.pop(name, None)


def _import(program: Program, node: Any) -> None:
    from guard.tools.python_modules import load

    for alias in node.names:
        value = load(program, alias.name)
        top = alias.name.partition(".")[0]
        if alias.asname:
            program.scope.put(alias.asname, value)
        else:
            program.scope.put(top, value if top == alias.name else load(program, top))


def _import_from(program: Program, node: Any) -> None:
    from guard.tools.python_modules import load, members, told

    module = load(program, node.module or "", node.level)
    for alias in node.names:
        if not node.level:
            told(program, f"{node.module}.{alias.name}")
        if alias.name == "*":
            program.scope.names.update(members(module))
        elif isinstance(module, Instance):
            program.scope.put(alias.asname or alias.name, module.attributes.get(alias.name, Opaque(alias.name)))
        elif isinstance(module, Named):
            program.scope.put(alias.asname or alias.name, Named(f"{module.name}.{alias.name}"))


def _match(program: Program, node: Any) -> None:
    from guard.tools.python_match import fits

    subject = evaluate(program, node.subject)
    possible: list[Any] = []
    for case in node.cases:
        found = fits(program, case.pattern, subject)
        if found is not False and case.guard is not None:
            guard = truth(evaluate(program, case.guard))
            found = False if guard is False else None if None in (guard, found) else True
        if found is True and not possible:
            execute(program, case.body)
            return
        if found is not False:
            possible.append(case)
        if found is True:
            program.either(*[_body(program, each.body) for each in possible])
            return
    if possible:
        program.either(*[_body(program, each.body) for each in possible], lambda: None)


def _body(program: Program, body: list[Any]) -> Callable[[], None]:
    return lambda: execute(program, body)


STATEMENTS: dict[str, Callable[[Program, Any], None]] = {
    "Expr": _expression,
    "Assign": _assign,
    "AnnAssign": _annotated,
    "AugAssign": _augmented,
    "Delete": _delete,
    "If": _if,
    "For": _for,
    "AsyncFor": _for,
    "While": _while,
    "With": _with,
    "AsyncWith": _with,
    "Try": _try,
    "TryStar": _try,
    "Raise": _raise,
    "Assert": _assert,
    "Return": _return,
    "Break": _break,
    "Continue": _continue,
    "FunctionDef": _function,
    "AsyncFunctionDef": _function,
    "ClassDef": _class,
    "Global": _shared,
    "Nonlocal": _shared,
    "Import": _import,
    "ImportFrom": _import_from,
    "Match": _match,
}
