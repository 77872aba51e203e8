"""Functions and methods of Python that only compute: on known values they are simply called, within bounds."""

from __future__ import annotations

from guard.effects import Pattern, join
from guard.tools.python_expressions import call, listed
from guard.tools.python_program import Args, Program, truth
from guard.tools.python_values import (
    SIZE,
    File,
    Named,
    Opaque,
    Path,
    Raised,
    choice,
    joined,
    known,
    origins,
    shown,
    text,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# methods that cannot make anything much larger than what they are given
TEXT_METHODS = frozenset(
    (
        "capitalize casefold count decode encode endswith find format hex index isalnum isalpha isascii isdecimal "
        "isdigit isidentifier islower isnumeric isprintable isspace istitle isupper join lower lstrip partition "
        "removeprefix removesuffix replace rfind rindex rpartition rsplit rstrip split splitlines startswith strip "
        "swapcase title translate upper zfill ljust rjust center format_map"
    ).split()
)
WIDE = frozenset(["zfill", "ljust", "rjust", "center"])
LIST_METHODS = frozenset(["append", "extend", "insert", "pop", "remove", "clear", "index", "count", "sort", "reverse", "copy"])
DICT_METHODS = frozenset(["get", "keys", "values", "items", "pop", "update", "setdefault", "copy", "clear"])
SET_METHODS = frozenset(
    ["add", "update", "discard", "remove", "union", "difference", "intersection", "copy", "issubset", "issuperset"]
)
PURE = frozenset(
    (
        "abs ascii bin bool bytes bytearray chr complex dict divmod float frozenset hash hex int len list max min oct "
        "ord repr reversed round set slice sorted str sum tuple zip any all enumerate range isinstance"
    ).split()
)
SMALL_REPEATS = 3  # unbounded repeats that a regular expression may hold


def compute(program: Program, function: Callable[..., Any], args: Args) -> Any:
    """A pure function of known values; unknown when one of them is not known."""
    if not all(known(value) for value in args.all):
        return Opaque(args.source, origins(*args.all))
    try:
        result = function(*args.values, **args.named)
    except RecursionError:
        raise
    except Exception as error:
        raise Raised(type(error).__name__) from None
    return Opaque(args.source, origins(*args.all)) if hasattr(result, "__len__") and len(result) > SIZE else result


def text_method(program: Program, value: Any, name: str, args: Args) -> Any:
    """A method of a str or of bytes."""
    if name == "join":
        return _join(program, value, args)
    if name in ("format", "format_map") and not known(args.all):
        return _format(value, args)
    if name not in TEXT_METHODS or not _modest(value, name, args):
        return Opaque(args.source, origins(value, *args.all))
    if name == "replace" and len(args.values) >= 2 and isinstance(args.values[1], Pattern) and isinstance(value, str):
        pieces = value.split(text(args.values[0]))  # type: ignore[arg-type]
        parts: list[Any] = [pieces[0]]
        for piece in pieces[1:]:
            parts += [args.values[1], piece]
        return joined(*parts) if len(parts) < 200 else Opaque(args.source, origins(value))
    given = Args([each.text if isinstance(each, Path) else each for each in args.values], args.named, args.source)
    return compute(program, getattr(value, name), given)


def _modest(value: Any, name: str, args: Args) -> bool:
    if name in WIDE:
        return isinstance(args.get(0), int) and args.get(0) < SIZE
    if name == "replace" and len(args.values) >= 2 and all(isinstance(each, (str, bytes)) for each in args.values[:2]):
        return bool((value.count(args.values[0]) if args.values[0] else len(value)) * len(args.values[1]) <= SIZE)
    if name in ("format", "format_map"):
        return not any(len(run) > 3 for run in "".join(c if c.isdigit() else " " for c in value).split())
    return True


def _join(program: Program, value: Any, args: Args) -> Any:
    items = listed(args.get(0))
    if items is None:
        return Opaque(args.source, origins(args.get(0)))
    if isinstance(value, bytes):
        return compute(program, value.join, Args([items], {}, args.source))
    if any(not isinstance(item, (str, Pattern, Opaque)) for item in items):
        return Opaque(args.source, origins(*items))
    if len(items) > 5_000 and not known(items):
        return Opaque(args.source, origins(*items))
    if known(items):
        return compute(program, value.join, Args([items], {}, args.source))
    parts: list[Any] = []
    for item in items:
        parts += [value, item] if parts else [item]
    return joined(*parts)


def _format(value: Any, args: Args) -> Any:
    """str.format with values that are not all known."""
    import string

    parts: list[Any] = []
    count = 0
    try:
        for literal, field, layout, _ in string.Formatter().parse(value):
            parts.append(literal)
            if field is None:
                continue
            if layout or not (field == "" or field.isalnum()):
                return Opaque(args.source, origins(*args.all))
            parts.append(args.values[int(field or count)] if not field or field.isdigit() else args.named[field])
            count += 1
    except (ValueError, LookupError):
        return Opaque(args.source, origins(*args.all))
    return joined(*parts)


def pattern_method(value: Pattern, name: str, args: Args) -> Any:
    """A method of a str that is known in part."""
    given = args.values
    if name in ("strip", "rstrip", "lstrip", "lower", "upper", "encode", "decode", "expandtabs"):
        return value
    if name == "replace" and len(given) >= 2 and isinstance(given[0], str) and isinstance(given[1], (str, Pattern)):
        parts: list[Any] = []
        for piece in value.pieces:
            if isinstance(piece, str) and isinstance(given[1], str):
                parts.append(piece.replace(given[0], given[1])[:SIZE])
            else:
                parts.append(Pattern((piece,)))
        return join(*parts)
    return Opaque(args.source, origins(*(piece for piece in value.pieces if isinstance(piece, str))))


def container_method(program: Program, value: Any, name: str, args: Args) -> Any:
    """A method of a list, dict, set or tuple; what it holds need not be known."""
    allowed = LIST_METHODS if isinstance(value, (list, tuple)) else DICT_METHODS if isinstance(value, dict) else SET_METHODS
    if name not in allowed:
        return Opaque(args.source, origins(value, *args.all))
    if name == "sort":
        value[:] = ordered(program, value, args)
        return None
    given = [listed(each) if name == "extend" else each for each in args.values]
    if name in ("extend", "update") and any(each is None or isinstance(each, Opaque) for each in given):
        program.doubt += 1
        return None
    try:
        result = getattr(value, name)(*given, **(args.named if isinstance(value, dict) else {}))
    except RecursionError:
        raise
    except Exception as error:
        if program.doubt:
            return Opaque(args.source)
        raise Raised(type(error).__name__) from None
    return list(result) if name in ("keys", "values", "items") else result


def ordered(program: Program, values: list[Any], args: Args) -> list[Any]:
    """Values sorted as they would be; in the given order where that cannot be told."""
    key = args.named.get("key")
    keys = [call(program, key, [value]) if key is not None else value for value in values[:2_000]]
    plain = [each.text if isinstance(each, Path) else each for each in keys]
    if len(plain) < len(values) or not known(plain):
        return list(values)
    try:
        order = sorted(range(len(plain)), key=plain.__getitem__, reverse=args.flag("reverse"))
    except TypeError:
        raise Raised("TypeError") from None
    return [values[i] for i in order]


def builtin_call(program: Program, name: str, args: Args) -> Any:
    """A built-in function that only computes."""
    special = SPECIAL.get(name)
    if special is not None:
        return special(program, args)
    if name in ("list", "tuple", "set", "frozenset", "reversed") and args.values:
        items = listed(args.values[0])
        if items is None:
            return Opaque(args.source, origins(args.values[0]))
        return tuple(items) if name == "tuple" else items[::-1] if name == "reversed" else _unique(items, name)
    if name == "sorted":
        items = listed(args.get(0))
        return Opaque(args.source, origins(args.get(0))) if items is None else ordered(program, items, args)
    if name in ("bytes", "bytearray") and isinstance(args.get(0), int) and args.get(0) > SIZE:
        return Opaque(args.source)
    import builtins

    return compute(program, getattr(builtins, name), args)


def _unique(items: list[Any], name: str) -> Any:
    return items if name == "list" or not known(items) else list(dict.fromkeys(map(repr, items))) and _firsts(items)


def _firsts(items: list[Any]) -> list[Any]:
    seen: set[str] = set()
    return [item for item in items if not (repr(item) in seen or seen.add(repr(item)))]  # type: ignore[func-returns-value]


def _str(program: Program, args: Args) -> Any:
    value = args.get(0, "object", "")
    if isinstance(value, bytes) and len(args.values) > 1:
        return compute(program, bytes.decode, args)
    return shown(value)


def _len(program: Program, args: Args) -> Any:
    value = args.get(0)
    if isinstance(value, File) and value.content is not None:
        return len(value.content)  # of a file in memory
    plain = isinstance(value, (str, bytes, list, tuple, dict, set, frozenset, range)) and not isinstance(value, Pattern)
    return len(value) if plain else Opaque(args.source)


def _bool(program: Program, args: Args) -> Any:
    found = truth(args.get(0, "", False))
    return Opaque(args.source) if found is None else found


def _enumerate(program: Program, args: Args) -> Any:
    items = listed(args.get(0))
    start = args.get(1, "start", 0)
    if items is None or not isinstance(start, int):
        return Opaque(args.source, origins(args.get(0)))
    return list(enumerate(items, start))


def _zip(program: Program, args: Args) -> Any:
    columns = [listed(value) for value in args.values]
    if any(column is None for column in columns):
        return Opaque(args.source, origins(*args.values))
    return list(zip(*(column or [] for column in columns), strict=False))


def _map(program: Program, args: Args) -> Any:
    columns = [listed(value) for value in args.values[1:]]
    if any(column is None for column in columns) or not columns:
        item = Opaque(args.source, origins(*args.values[1:]))
        if args.values:
            program.spread(lambda each: call(program, args.values[0], [each]), choice([item, item]))
        return item
    rows = zip(*(column or [] for column in columns), strict=False)
    return [call(program, args.values[0], list(row), source=args.source) for row in rows]


def _filter(program: Program, args: Args) -> Any:
    items = listed(args.get(1))
    if items is None:
        return Opaque(args.source, origins(args.get(1)))
    tests = items if args.get(0) is None else [call(program, args.get(0), [item]) for item in items]
    return [item for item, test in zip(items, tests, strict=True) if truth(test) is not False]


def _any(program: Program, args: Args) -> Any:
    items = listed(args.get(0))
    tests = [] if items is None else [truth(item) for item in items]
    if True in tests:
        return True
    return Opaque(args.source) if items is None or None in tests else False


def _all(program: Program, args: Args) -> Any:
    items = listed(args.get(0))
    tests = [] if items is None else [truth(item) for item in items]
    if False in tests:
        return False
    return Opaque(args.source) if items is None or None in tests else True


def _next(program: Program, args: Args) -> Any:
    items = listed(args.get(0))
    if items:
        return items[0]
    return args.values[1] if items is not None and len(args.values) > 1 else Opaque(args.source, origins(args.get(0)))


def _isinstance(program: Program, args: Args) -> Any:
    return Opaque(args.source)


def _dict(program: Program, args: Args) -> Any:
    source = args.get(0)
    if isinstance(source, Named) and source.name == "os.environ":
        return {**program.process.env, **args.named}
    if source is None:
        return dict(args.named)
    return {**source, **args.named} if isinstance(source, dict) else compute(program, dict, args)


def _range(program: Program, args: Args) -> Any:
    return compute(program, range, args)


SPECIAL: dict[str, Callable[[Program, Args], Any]] = {
    "str": _str,
    "len": _len,
    "bool": _bool,
    "enumerate": _enumerate,
    "zip": _zip,
    "map": _map,
    "filter": _filter,
    "any": _any,
    "all": _all,
    "next": _next,
    "iter": lambda program, args: args.get(0),
    "isinstance": _isinstance,
    "dict": _dict,
    "range": _range,
}


def expression(program: Program, name: str, args: Args) -> Any:
    """A function of `re` on known text, where it surely is quick; an unknown value made from that text otherwise."""
    import re

    values = list(args.values)
    if not known(args.all) or not values or not isinstance(values[0], (str, bytes)) or not _quick(values):
        return Opaque(args.source, origins(*args.all))
    try:
        found = getattr(re, name)(*values, **args.named)
    except RecursionError:
        raise
    except Exception as error:
        raise Raised(type(error).__name__) from None
    if name == "subn":
        return found
    plain = isinstance(found, (str, bytes, list)) and not any(not isinstance(each, (str, bytes, tuple)) for each in found[:1])
    if plain or found is None:
        return found
    return Opaque(args.source, origins(*args.all))


def _quick(values: list[Any]) -> bool:
    """False where matching could take long: repeats within repeats, or several of them over a long text."""
    from re import _parser  # type: ignore[attr-defined]

    try:
        count, nested = _repeats(_parser.parse(values[0]), 0)
    except Exception:
        return True  # re raises the same, at once
    size = max((len(value) for value in values[1:] if isinstance(value, (str, bytes))), default=0)
    return not nested and count <= SMALL_REPEATS and size <= (1 << 16 if count <= 1 else 1 << 13 if count == 2 else 1 << 11)


def _repeats(items: Any, depth: int) -> tuple[int, bool]:
    count, nested = 0, False
    for item in items:
        kind = str(item[0]) if isinstance(item, tuple) else ""
        inner = [each for each in _flat(item[1] if isinstance(item, tuple) else item) if type(each).__name__ == "SubPattern"]
        repeat = kind.endswith("REPEAT") and int(item[1][1]) > 16
        count += repeat
        nested = nested or (repeat and depth > 0)
        for each in inner:
            more, deeper = _repeats(each, depth + repeat)
            count, nested = count + more, nested or deeper
    return count, nested


def _flat(value: Any) -> list[Any]:
    if type(value).__name__ == "SubPattern" or not isinstance(value, (list, tuple)):
        return [value]
    return [item for each in value for item in _flat(each)]


def constant_codec(name: str) -> Callable[..., Any] | None:
    """A pure function of the standard library by its full name, None for any other."""
    where = CODECS.get(name)
    if where is None:
        return None
    module, _, attribute = where.rpartition(".")
    found: Callable[..., Any] = getattr(__import__(module, fromlist=[attribute]), attribute)
    return found


CODECS = {
    name: name
    for name in (
        "base64.b64decode base64.b64encode base64.urlsafe_b64decode base64.b32decode base64.b16decode "
        "binascii.unhexlify binascii.hexlify binascii.a2b_base64 codecs.decode codecs.encode json.dumps json.loads "
        "shlex.split shlex.quote shlex.join textwrap.dedent textwrap.indent html.escape html.unescape "
        "urllib.parse.quote urllib.parse.unquote os.fsencode os.fsdecode re.escape string.capwords operator.add "
        "fnmatch.fnmatch fnmatch.fnmatchcase ast.literal_eval"
    ).split()
}
