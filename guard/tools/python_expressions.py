"""What the expressions of a Python program give."""

from __future__ import annotations

from guard.effects import Pattern
from guard.tools.python_program import LIVELY, Args, Break, Continue, Doubtful, Program, Return, truth
from guard.tools.python_values import (
    SIZE,
    Bound,
    Choice,
    Class,
    File,
    Followed,
    Function,
    Instance,
    Moment,
    Named,
    Opaque,
    Path,
    Raised,
    Scope,
    choice,
    joined,
    known,
    origins,
    shown,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

ROUNDS = 2_000  # of a loop over something known
DULL_ROUNDS = 48  # of one in which nothing can happen to a file


def evaluate(program: Program, node: Any) -> Any:
    """The value of an expression."""
    program.tick()
    run = EXPRESSIONS.get(type(node).__name__)
    return run(program, node) if run is not None else Opaque(source_of(node))


def source_of(node: Any) -> str:
    """A short form of what the program writes, for messages."""
    kind = type(node).__name__
    if kind == "Name":
        return str(node.id)
    if kind == "Attribute":
        return f"{source_of(node.value)}.{node.attr}"
    if kind == "Call":
        return f"{source_of(node.func)}()"
    if kind == "Subscript":
        return f"{source_of(node.value)}[]"
    return "a value"


def children(node: Any) -> Iterator[Any]:
    """The nodes directly below a node."""
    for field in node._fields:
        value = getattr(node, field, None)
        for item in value if isinstance(value, list) else [value]:
            if hasattr(item, "_fields"):
                yield item


def nodes(top: list[Any]) -> Iterator[Any]:
    """Every node at and below the given ones."""
    todo = list(top)
    while todo:
        node = todo.pop()
        yield node
        todo += children(node)


def names_in(body: list[Any]) -> set[str]:
    """The names that statements bind."""
    return {node.id for node in nodes(body) if type(node).__name__ == "Name" and type(node.ctx).__name__ == "Store"}


def lively(program: Program, node: Any) -> bool:
    """True when something in the node could do anything to a file."""
    found = program.lively.get(id(node))
    if found is None:
        words = (getattr(each, "id", None) or getattr(each, "attr", None) for each in nodes([node]))
        found = any(isinstance(word, str) and (word in program.names or LIVELY.search(word)) for word in words)
        program.lively[id(node)] = found
    return found


def iterate(program: Program, items: Any, node: Any) -> tuple[list[Any], bool]:
    """The values that a loop goes through, and whether these are all."""
    values = listed(items)
    if values is None:
        return [], False
    limit = 0 if program.busy and len(values) > 4 else ROUNDS if lively(program, node) else DULL_ROUNDS
    if len(values) <= limit:
        return values, True
    return (values[:limit], False) if limit == ROUNDS else ([], False)


def listed(items: Any) -> list[Any] | None:
    """The items of a value, None where they are not known."""
    if isinstance(items, Pattern):
        return None
    if isinstance(items, range):
        return list(items[: ROUNDS + 1])
    if isinstance(items, (list, tuple, set, frozenset, dict, str, bytes)):
        return list(items)
    if isinstance(items, File) and items.content is not None:
        lines = items.content.splitlines(keepends=True)
        return [line.decode("utf-8", "surrogateescape") for line in lines] if items.encoded else list(lines)
    return None


def assign(program: Program, target: Any, value: Any) -> None:
    """Binds what an assignment's left side names."""
    kind = type(target).__name__
    if kind == "Name":
        program.scope.put(target.id, value)
    elif kind in ("Tuple", "List"):
        _unpack(program, target.elts, value)
    elif kind == "Starred":
        assign(program, target.value, value)
    elif kind == "Attribute":
        holder = evaluate(program, target.value)
        if isinstance(holder, (Instance, Class)):
            (holder.attributes if isinstance(holder, Instance) else holder.names)[target.attr] = value
    elif kind == "Subscript":
        _put_item(program, evaluate(program, target.value), evaluate(program, target.slice), value)


def _put_item(program: Program, holder: Any, key: Any, value: Any) -> None:
    if isinstance(holder, Named) and holder.name == "os.environ":
        if isinstance(key, str):
            program.process.env[key] = shown(value)
    elif isinstance(holder, File):
        _put_bytes(holder, key, value)
    elif isinstance(holder, (list, dict)):
        try:
            holder[key] = value
        except (LookupError, TypeError, ValueError):
            program.doubt += 1


def _put_bytes(file: File, key: Any, value: Any) -> None:
    """m[a:b] = bytes, where m is a file in memory."""
    file.written, file.fixed = True, False
    old = file.content
    plain = old is not None and isinstance(value, (bytes, bytearray, int)) and isinstance(key, (slice, int))
    content = bytearray(old or b"")
    try:
        content[key] = value
    except (LookupError, TypeError, ValueError):
        plain = False
    file.content = bytes(content) if plain and len(content) == len(old or b"") else None


def _unpack(program: Program, targets: list[Any], value: Any) -> None:
    values = listed(value)
    star = next((i for i, each in enumerate(targets) if type(each).__name__ == "Starred"), None)
    if values is None or (star is None and len(values) != len(targets)) or len(values) < len(targets) - 1:
        for each in targets:
            assign(program, each, Opaque(source_of(each), origins(value)))
        return
    if star is not None:
        tail = len(targets) - star - 1
        values = [*values[:star], values[star : len(values) - tail], *values[len(values) - tail :]]
    for each, item in zip(targets, values, strict=False):
        assign(program, each, item)


def call(program: Program, callee: Any, values: list[Any], named: dict[str, Any] | None = None, source: str = "") -> Any:
    """What calling a value gives; its effects are recorded."""
    from guard.tools.python_library import invoke

    args = Args(values, named, source)
    if isinstance(callee, Function):
        return _inline(program, callee, args)
    if isinstance(callee, Class):
        return _construct(program, callee, args)
    if isinstance(callee, Bound):
        return method(program, callee.value, callee.name, args)
    if isinstance(callee, Choice):
        return program.spread(lambda each: call(program, each, values, named, source), callee)
    if isinstance(callee, Named):
        return invoke(program, callee.name, args)
    return unfollowed(program, args)


def unfollowed(program: Program, args: Args) -> Any:
    """A call of something that guard cannot look into: functions that it gets may be called, files may be written."""
    for value in args.all:
        if isinstance(value, File) and value.writes:
            value.content, value.written, value.fixed = None, True, False
            value.derived = bool(origins(*args.all) & _sources(program, value))
        elif isinstance(value, Function) and program.depth < 3:
            with Doubtful(program):
                _tolerate(program, value)
    program.silent = False
    return program.opaque(args)


def _sources(program: Program, file: File) -> frozenset[Any]:
    old = program.process.here.read(file.path)
    where = program.process.here.where(file.path)
    return frozenset([where, None if old is None else old.decode("utf-8", "surrogateescape")])


def _tolerate(program: Program, function: Function) -> None:
    try:
        call(program, function, [])
    except Raised:
        return


def _inline(program: Program, function: Function, args: Args) -> Any:
    from guard.tools.python_statements import execute

    if program.depth >= (3 if program.busy else 12):
        return program.opaque(args)
    scope = Scope(function.scope)
    scope.names = _bound(function, args)
    outer, program.scope = program.scope, scope
    program.depth += 1
    program.returns.append([])
    program.yields.append([])
    value: Any = None
    try:
        if type(function.node).__name__ == "Lambda":
            value = evaluate(program, function.node.body)
        else:
            execute(program, function.node.body)
    except Return as end:
        value = end.value
    except (Break, Continue):
        pass
    finally:
        program.scope = outer
        program.depth -= 1
        returns, yields = program.returns.pop(), program.yields.pop()
    if yields:
        return yields
    return choice([*returns, value]) if returns else value


def _bound(function: Function, args: Args) -> dict[str, Any]:
    arguments = function.node.args
    places = [each.arg for each in [*getattr(arguments, "posonlyargs", []), *arguments.args]]
    values = args.values if function.owner is None else [function.owner, *args.values]
    names: dict[str, Any] = {name: Opaque(name) for name in [*places, *(each.arg for each in arguments.kwonlyargs)]}
    names.update(function.defaults)
    names.update(zip(places, values, strict=False))
    extra: dict[str, Any] = {}
    for name, value in args.named.items():
        (names if name in names else extra)[name] = value
    if arguments.vararg is not None:
        names[arguments.vararg.arg] = tuple(values[len(places) :])
    if arguments.kwarg is not None:
        names[arguments.kwarg.arg] = extra
    return names


def _construct(program: Program, kind: Class, args: Args) -> Instance:
    instance = Instance(kind, {})
    start = kind.find("__init__")
    if isinstance(start, Function):
        _inline(program, _owned(start, instance), args)
    else:
        fields = [name for name, value in kind.names.items() if not isinstance(value, Function)]
        instance.attributes.update(zip(fields, args.values, strict=False))
        instance.attributes.update(args.named)
    return instance


def _owned(function: Function, owner: Any) -> Function:
    return Function(function.node, function.scope, function.defaults, owner)


def _decorations(function: Function) -> set[str]:
    return {source_of(each).rpartition(".")[2] for each in getattr(function.node, "decorator_list", [])}


def attribute(program: Program, value: Any, name: str) -> Any:
    """An attribute of a value."""
    from guard.tools.python_modules import constant
    from guard.tools.python_paths import PROPERTIES

    if isinstance(value, Named):
        return constant(program, f"{value.name}.{name}")
    if isinstance(value, Instance) and name in value.attributes:
        return value.attributes[name]
    if isinstance(value, (Instance, Class)):
        return _member(program, value, name)
    if isinstance(value, Path):
        return PROPERTIES[name](program, value) if name in PROPERTIES else Bound(value, name)
    if isinstance(value, File) and name == "name":
        return value.path
    if isinstance(value, Opaque):
        return Opaque(f"{value.source}.{name}", value.origins)
    return Bound(value, name)


def _member(program: Program, value: Instance | Class, name: str) -> Any:
    kind = value if isinstance(value, Class) else value.kind
    found = kind.find(name) if kind is not None else None
    if isinstance(found, Function) and isinstance(value, Instance):
        marks = _decorations(found)
        if "staticmethod" in marks:
            return found
        owned = _owned(found, value)
        return call(program, owned, []) if marks & {"property", "cached_property"} else owned
    if isinstance(found, Function) and "classmethod" in _decorations(found):
        return _owned(found, value)
    return found if found is not None else Opaque(name)


def method(program: Program, value: Any, name: str, args: Args) -> Any:
    """What a method of a value gives."""
    from guard.tools.python_library import method_of

    if isinstance(value, (Instance, Class, Named)):
        return call(program, attribute(program, value, name), args.values, args.named, args.source)
    return method_of(program, value, name, args)


def _call(program: Program, node: Any) -> Any:
    source = source_of(node)
    is_method = type(node.func).__name__ == "Attribute"
    holder = evaluate(program, node.func.value if is_method else node.func)
    values: list[Any] = []
    for each in node.args:
        if type(each).__name__ == "Starred":
            spread = evaluate(program, each.value)
            items = listed(spread)
            values += [Opaque(source_of(each.value), origins(spread))] if items is None else items
        else:
            values.append(evaluate(program, each))
    named: dict[str, Any] = {}
    for each in node.keywords:
        value = evaluate(program, each.value)
        if each.arg is not None:
            named[each.arg] = value
        elif isinstance(value, dict):
            named.update({key: item for key, item in value.items() if isinstance(key, str)})

    def invoke(holder: Any, *given: Any) -> Any:
        positional, rest = list(given[: len(values)]), given[len(values) :]
        keywords = dict(zip(named, rest, strict=True))
        if is_method:
            return method(program, holder, node.func.attr, Args(positional, keywords, source))
        return call(program, holder, positional, keywords, source)

    return program.spread(invoke, holder, *values, *named.values())


def _constant(program: Program, node: Any) -> Any:
    value = node.value
    if isinstance(value, str) and program.holes:
        pieces: list[Any] = [""]
        pieces += [program.holes.get(letter, letter) for letter in value]
        return joined(*pieces)
    return value


def _name(program: Program, node: Any) -> Any:
    from guard.tools.python_modules import builtin

    scope = program.scope.shared.get(node.id) or program.scope.find(node.id)
    if scope is not None and node.id in scope.names:
        return scope.names[node.id]
    return builtin(program, node.id)


def _attribute(program: Program, node: Any) -> Any:
    return program.spread(lambda value: attribute(program, value, node.attr), evaluate(program, node.value))


def _joined(program: Program, node: Any) -> Any:
    return program.spread(joined, *(evaluate(program, each) for each in node.values))


def _formatted(program: Program, node: Any) -> Any:
    value = evaluate(program, node.value)
    layout = evaluate(program, node.format_spec) if node.format_spec is not None else ""
    return program.spread(lambda each: _format(each, node.conversion, layout), value)


def _format(value: Any, conversion: int, layout: Any) -> Any:
    if known(value) and not isinstance(value, range):
        if conversion in (ord("r"), ord("a")):
            value = repr(value)
        if layout == "":
            return shown(value)
        if isinstance(layout, str) and not any(len(digits) > 3 for digits in _digits(layout)):
            try:
                return format(value, layout)
            except (ValueError, TypeError) as error:
                raise Raised(type(error).__name__) from None
    return shown(value)


def _digits(text: str) -> list[str]:
    return "".join(letter if letter.isdigit() else " " for letter in text).split()


def binary(operator: str, left: Any, right: Any) -> Any:
    """What an arithmetic operator gives."""
    from guard.tools.python_paths import join_paths

    if operator == "Div" and (isinstance(left, Path) or isinstance(right, Path)):
        return join_paths(left, right)
    if Moment in (type(left), type(right)):
        numbers = operator in ("Add", "Sub") and isinstance(left, (int, float)) and isinstance(right, (int, float))
        return Moment(OPERATORS[operator](float(left), float(right))) if numbers else Opaque()
    if operator == "Add" and any(isinstance(each, (str, Pattern)) for each in (left, right)):
        return joined(left, right) if known(left) == known(right) or not known((left, right)) else Opaque()
    if operator == "Mod" and isinstance(left, (str, Pattern)):
        return _percent(left, right)
    if operator == "Add" and isinstance(left, (list, tuple)) and type(left) is type(right) and not isinstance(left, Pattern):
        return [*left, *right] if isinstance(left, list) else (*left, *right)
    if not known(left) or not known(right) or not _modest(operator, left, right):
        return Opaque("", origins(left, right))
    try:
        return OPERATORS[operator](left, right)
    except Exception as error:
        if isinstance(error, (RecursionError, KeyError)):
            return Opaque()
        raise Raised(type(error).__name__) from None


def _modest(operator: str, left: Any, right: Any) -> bool:
    """False where the result could be huge."""
    if operator in ("Pow", "LShift"):
        numbers = isinstance(left, (int, float)) and isinstance(right, (int, float))
        return numbers and abs(left) < 1 << 64 and abs(right) <= 64
    if operator == "Mult":
        long = max((len(each) for each in (left, right) if hasattr(each, "__len__")), default=1)
        times = max((abs(each) for each in (left, right) if isinstance(each, int)), default=1)
        return bool(times < 1 << 4000) if long == 1 and not hasattr(left, "__len__") else bool(long * times <= SIZE)
    sizes = [len(each) for each in (left, right) if hasattr(each, "__len__")]
    return sum(sizes) <= SIZE


def _percent(left: Any, right: Any) -> Any:
    if isinstance(left, str) and known(right) and not any(len(digits) > 3 for digits in _digits(left)) and "*" not in left:
        try:
            return left % (right if not isinstance(right, list) else (right,))
        except (TypeError, ValueError, KeyError) as error:
            raise Raised(type(error).__name__) from None
    pieces = left.split("%s") if isinstance(left, str) else []
    values = list(right) if isinstance(right, tuple) and not isinstance(right, Pattern) else [right]
    if len(pieces) != len(values) + 1 or any("%" in piece for piece in pieces):
        return Opaque("", origins(left, right))
    parts: list[Any] = [pieces[0]]
    for value, piece in zip(values, pieces[1:], strict=True):
        parts += [value, piece]
    return joined(*parts)


def _binary(program: Program, node: Any) -> Any:
    operator = type(node.op).__name__
    left, right = evaluate(program, node.left), evaluate(program, node.right)
    return program.spread(lambda a, b: binary(operator, a, b), left, right)


def _unary(program: Program, node: Any) -> Any:
    value = evaluate(program, node.operand)
    kind = type(node.op).__name__
    if kind == "Not":
        found = truth(value)
        return Opaque("not") if found is None else not found
    if not isinstance(value, (int, float)):
        return Opaque("", origins(value))
    if kind == "Invert":
        return ~value if isinstance(value, int) else Opaque()
    return -value if kind == "USub" else value


def _either(program: Program, node: Any) -> Any:
    stop = type(node.op).__name__ == "Or"
    found: list[Any] = []
    doubtful = None
    try:
        for each in node.values:
            value = evaluate(program, each)
            test = truth(value)
            if test is stop:
                found.append(value)
                break
            if test is None:
                found.append(value)
                if doubtful is None:
                    doubtful = Doubtful(program)
                    doubtful.__enter__()
            elif each is node.values[-1]:
                found.append(value)
    finally:
        if doubtful is not None:
            doubtful.__exit__()
    return choice(found)


def _conditional(program: Program, node: Any) -> Any:
    test = truth(evaluate(program, node.test))
    if test is not None:
        return evaluate(program, node.body if test else node.orelse)
    with Doubtful(program):
        return choice([evaluate(program, node.body), evaluate(program, node.orelse)])


def _compare(program: Program, node: Any) -> Any:
    left = evaluate(program, node.left)
    result: Any = True
    for operator, each in zip(node.ops, node.comparators, strict=True):
        right = evaluate(program, each)
        result = program.spread(_comparison(program, type(operator).__name__), left, right)
        if truth(result) is not True:
            return result
        left = right
    return result


def _comparison(program: Program, operator: str) -> Callable[[Any, Any], Any]:
    return lambda left, right: compare(program, operator, left, right)


def compare(program: Program, operator: str, left: Any, right: Any) -> Any:
    """What a comparison gives."""
    if isinstance(right, Named) and right.name == "os.environ" and isinstance(left, str) and operator in ("In", "NotIn"):
        return (left in program.process.env) is (operator == "In")
    left, right = (each.text if isinstance(each, Path) else each for each in (left, right))
    if operator in ("Is", "IsNot") and None in [each if known(each) else 0 for each in (left, right)]:
        other = right if left is None else left
        if isinstance(other, (Opaque, Choice)):
            return Opaque()
        return (other is None) is (operator == "Is")
    if isinstance(right, (list, tuple)) and not isinstance(right, Pattern) and any(isinstance(each, Path) for each in right):
        right = [each.text if isinstance(each, Path) else each for each in right]
    if Moment in (type(left), type(right)):
        apart = isinstance(left, (int, float)) and isinstance(right, (int, float)) and abs(left - right) > Moment.UNSURE
        return COMPARISONS[operator](float(left), float(right)) if apart and operator in COMPARISONS else Opaque()
    if not known(left) or not known(right):
        return Opaque()
    try:
        return COMPARISONS[operator](left, right)
    except TypeError:
        raise Raised("TypeError") from None


def _comprehension(program: Program, node: Any) -> Any:
    found: list[Any] = []
    complete = [True]
    outer, program.scope = program.scope, Scope(program.scope)
    try:
        _generate(program, node, list(node.generators), found, complete)
    finally:
        program.scope = outer
    if not complete[0]:
        return Opaque(source_of(node), origins(found))
    kind = type(node).__name__
    if kind == "DictComp":
        return {key: value for key, value in found if isinstance(key, (str, int, bytes))}
    return found if kind != "SetComp" or not known(found) else set(map(_hashable, found))


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _generate(program: Program, node: Any, generators: list[Any], found: list[Any], complete: list[bool]) -> None:
    if not generators:
        if type(node).__name__ == "DictComp":
            found.append((evaluate(program, node.key), evaluate(program, node.value)))
        else:
            found.append(evaluate(program, node.elt))
        return
    first, *rest = generators
    items = evaluate(program, first.iter)
    values, whole = iterate(program, items, node)
    follows = items if isinstance(items, Followed) else Followed()
    for at, value in enumerate(values):
        if follows.enter(program, at):
            _one(program, node, first, rest, value, found, complete)
            follows.leave(program, at)
    follows.end(program)
    if not whole:
        complete[0] = False
        with Doubtful(program):
            _one(program, node, first, rest, Opaque(source_of(first.target), origins(items)), found, complete)


def _one(program: Program, node: Any, first: Any, rest: list[Any], value: Any, found: list[Any], complete: list[bool]) -> None:
    assign(program, first.target, value)
    tests = [truth(evaluate(program, test)) for test in first.ifs]
    if False in tests:
        return
    if None in tests:
        complete[0] = False
        with Doubtful(program):
            _generate(program, node, rest, found, complete)
    else:
        _generate(program, node, rest, found, complete)


def _subscript(program: Program, node: Any) -> Any:
    return program.spread(
        lambda value, key: item(program, value, key), evaluate(program, node.value), evaluate(program, node.slice)
    )


def item(program: Program, value: Any, key: Any) -> Any:
    """value[key]"""
    if isinstance(value, Named) and value.name == "os.environ" and isinstance(key, str):
        if key not in program.process.env:
            raise Raised("KeyError")
        return program.process.env[key]
    if (
        isinstance(value, (str, bytes, list, tuple, dict, range))
        and not isinstance(value, Pattern)
        and (known(key) or isinstance(key, slice))
    ):
        try:
            return value[key]
        except (LookupError, TypeError) as error:
            if program.doubt:
                return Opaque("", origins(value))
            raise Raised(type(error).__name__) from None
    if isinstance(value, (list, tuple)) and not isinstance(value, Pattern):
        return choice(value) if 0 < len(value) <= 16 else Opaque("", origins(value))
    return Opaque(value.source if isinstance(value, Opaque) else "", origins(value))


def _slice(program: Program, node: Any) -> Any:
    ends = [evaluate(program, each) if each is not None else None for each in (node.lower, node.upper, node.step)]
    return slice(*ends) if all(each is None or isinstance(each, int) for each in ends) else Opaque()


def _list(program: Program, node: Any) -> Any:
    found: list[Any] = []
    for each in node.elts:
        value = evaluate(program, each)
        if type(each).__name__ != "Starred":
            found.append(value)
            continue
        items = listed(value)
        found += [Opaque(source_of(each.value))] if items is None else items
    kind = type(node).__name__
    if kind == "Set":
        return set(map(_hashable, found)) if known(found) else found
    return tuple(found) if kind == "Tuple" else found


def _dict(program: Program, node: Any) -> Any:
    found: dict[Any, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        each = evaluate(program, value)
        if key is None:
            if isinstance(each, dict):
                found.update(each)
            elif isinstance(each, Named) and each.name == "os.environ":
                found.update(program.process.env)
            continue
        name = evaluate(program, key)
        if isinstance(name, (str, int, bytes)):
            found[name] = each
    return found


def _lambda(program: Program, node: Any) -> Any:
    return Function(node, program.scope, {})


def _starred(program: Program, node: Any) -> Any:
    return evaluate(program, node.value)


def _walrus(program: Program, node: Any) -> Any:
    value = evaluate(program, node.value)
    assign(program, node.target, value)
    return value


def _yield(program: Program, node: Any) -> Any:
    value = evaluate(program, node.value) if node.value is not None else None
    if program.yields:
        items = listed(value) if type(node).__name__ == "YieldFrom" else [value]
        program.yields[-1] += [Opaque("", origins(value))] if items is None else items
    return None


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mult": lambda a, b: a * b,
    "Div": lambda a, b: a / b,
    "FloorDiv": lambda a, b: a // b,
    "Mod": lambda a, b: a % b,
    "Pow": lambda a, b: a**b,
    "LShift": lambda a, b: a << b,
    "RShift": lambda a, b: a >> b,
    "BitOr": lambda a, b: a | b,
    "BitAnd": lambda a, b: a & b,
    "BitXor": lambda a, b: a ^ b,
}

COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "Eq": lambda a, b: a == b,
    "NotEq": lambda a, b: a != b,
    "Lt": lambda a, b: a < b,
    "LtE": lambda a, b: a <= b,
    "Gt": lambda a, b: a > b,
    "GtE": lambda a, b: a >= b,
    "Is": lambda a, b: a is b or a == b,
    "IsNot": lambda a, b: a is not b and a != b,
    "In": lambda a, b: a in b,
    "NotIn": lambda a, b: a not in b,
}

EXPRESSIONS: dict[str, Callable[[Program, Any], Any]] = {
    "Constant": _constant,
    "Name": _name,
    "Attribute": _attribute,
    "Call": _call,
    "JoinedStr": _joined,
    "FormattedValue": _formatted,
    "BinOp": _binary,
    "UnaryOp": _unary,
    "BoolOp": _either,
    "IfExp": _conditional,
    "Compare": _compare,
    "ListComp": _comprehension,
    "GeneratorExp": _comprehension,
    "SetComp": _comprehension,
    "DictComp": _comprehension,
    "Subscript": _subscript,
    "Slice": _slice,
    "List": _list,
    "Tuple": _list,
    "Set": _list,
    "Dict": _dict,
    "Lambda": _lambda,
    "Starred": _starred,
    "NamedExpr": _walrus,
    "Await": _starred,
    "Yield": _yield,
    "YieldFrom": _yield,
}
