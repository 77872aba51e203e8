"""Makes expressions.bin: python -m guard.build_expressions

The patterns are read from the source: what the calls of guard.expressions name, and where they name a variable, the constants
of the module that the same function uses.
"""

from __future__ import annotations

import ast
import importlib
import marshal
from collections.abc import Iterator
from pathlib import Path
from re import _compiler, _constants, _parser, error  # type: ignore[attr-defined]
from typing import Any

from guard import expressions
from guard.builtin_rules import MATCHERS
from guard.plain_expressions import INSTRUCTIONS, POSITIONS

ROOT = Path(__file__).parent
# The engines of CPython 3.11, 3.12 and 3.13, which make the same code of all that is shipped. A test says so under each.
ENGINES = tuple((version, 4, 0xFFFFFFFF, "little") for version in (20220615, 20221023, 20230612))
FLAGS_AT = {"compile": 1, "match": 2, "search": 2, "fullmatch": 2, "findall": 2, "finditer": 2, "split": 3, "sub": 4}


def patterns() -> set[tuple[str | bytes, int]]:
    """Every pattern that the hot modules are known to use, with its flags."""
    found: set[tuple[str | bytes, int]] = {(row[3], expressions.S) for rows in MATCHERS.values() for row in rows if row[3]}
    for path in sorted(ROOT.rglob("*.py")):
        text = path.read_text()
        if "from guard import expressions as re\n" in text:
            name = ".".join(("guard", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
            found.update(_of_module(ast.parse(text), vars(importlib.import_module(name))))
    return found


def compiled(pattern: str | bytes, flags: int) -> expressions.Compiled | None:
    """An expression as it is shipped; None where the pattern is none."""
    try:
        parsed = _parser.parse(pattern, flags)
    except error:
        return None
    code = memoryview(b"".join(word.to_bytes(4, expressions.engine()[3]) for word in _compiler._code(parsed, flags)))
    return flags | parsed.state.flags, parsed.state.groups - 1, dict(parsed.state.groupdict), bytes(code)


def table() -> dict[tuple[str | bytes, int], expressions.Compiled]:
    """All that is shipped."""
    return {key: made for key in sorted(patterns(), key=repr) if (made := compiled(*key)) is not None}


def pack() -> bytes:
    """The content of the file."""
    names = (*INSTRUCTIONS, *POSITIONS.values())
    return marshal.dumps((ENGINES, table(), {name: int(getattr(_constants, name)) for name in names}), 2)


def _of_module(tree: ast.Module, names: dict[str, Any]) -> Iterator[tuple[str | bytes, int]]:
    for statement in tree.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "re":
                flags_at = FLAGS_AT.get(node.func.attr)
                if flags_at is not None:
                    for flags in _flags(node, flags_at, names):
                        yield from ((pattern, flags) for pattern in _texts(node.args[0], statement, names))


def _flags(call: ast.Call, at: int, names: dict[str, Any]) -> list[int]:
    """The flags of a call, with each value that a condition among them may have."""
    node = next((keyword.value for keyword in call.keywords if keyword.arg == "flags"), None)
    node = call.args[at] if node is None and len(call.args) > at else node
    if node is None:
        return [0]
    conditions = [part for part in ast.walk(node) if isinstance(part, ast.IfExp)]
    values = [_value(node, names)] if not conditions else []
    for condition in conditions[:1]:
        for choice in (condition.body, condition.orelse):
            text = ast.unparse(node).replace(ast.unparse(condition), ast.unparse(choice))
            values.append(_value(ast.parse(text, mode="eval").body, names))
    return [value for value in values if isinstance(value, int)]


def _texts(pattern: ast.expr, statement: ast.stmt, names: dict[str, Any]) -> Iterator[str | bytes]:
    """The texts that a pattern may be."""
    value = _value(pattern, names)
    if isinstance(value, str | bytes):
        yield value
    elif not isinstance(statement, ast.Assign):
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and node.id.isupper():
                yield from _leaves(names.get(node.id))


def _leaves(value: Any) -> Iterator[str | bytes]:
    if isinstance(value, str | bytes):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _leaves(each)
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _leaves(each)


def _value(node: ast.expr, names: dict[str, Any]) -> Any:
    """The value of an expression of constants, None for any other."""
    if any(isinstance(part, ast.Call | ast.NamedExpr | ast.Lambda) for part in ast.walk(node)):
        return None
    try:
        return eval(compile(ast.Expression(node), "constant", "eval"), names)
    except (NameError, TypeError, AttributeError, LookupError):
        return None


def main() -> None:
    """Writes the file."""
    if expressions.engine() not in ENGINES:
        raise SystemExit(f"this Python's engine is not among those that the file is for: {expressions.engine()}")
    Path(expressions.FILE).write_bytes(pack())


if __name__ == "__main__":
    main()
