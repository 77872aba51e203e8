"""The filters of jq: a small part of its language, parsed and worked out. What is beyond it raises FilterFault."""

from __future__ import annotations

from guard import expressions as re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from guard.world import Budget

    Tree = tuple[Any, ...]

_TOKEN = re.compile(
    r"""\s*(?:"(?:[^"\\]|\\.)*"|\d{1,15}(?![\d.eE])|\$?[A-Za-z_]\w*|\.[A-Za-z_]\w*|//|\|=|\+=|==|!=|<=|>=|[][.|,(){}?:=+<>-])"""
)
_OPERATORS = (("or",), ("and",), ("==", "!=", "<", ">", "<=", ">="), ("+", "-"))
_PLAIN = ("empty", "keys", "keys_unsorted", "length", "not", "type", "tostring", "first", "last", "add", "to_entries", "values",
          "reverse", "sort", "unique", "ascii_downcase", "ascii_upcase")  # fmt: skip
_WITH_ARGUMENT = ("map", "select", "del", "join", "has", "startswith", "endswith", "split", "ltrimstr", "rtrimstr")
_TYPES = {dict: "object", list: "array", str: "string", bool: "boolean", int: "number", type(None): "null"}


class FilterFault(Exception):
    """A filter that is not understood, or fails."""


def parse_filter(text: str) -> Tree:
    """The tree of a filter."""
    parser = _Parser(text)
    tree = parser.pipe() if parser.tokens else ("identity",)
    if parser.tokens:
        raise FilterFault(text)
    return tree


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        at = 0
        while at < len(text.rstrip()):
            found = _TOKEN.match(text, at)
            if found is None or len(self.tokens) > 500:
                raise FilterFault(text)
            self.tokens.append(found[0].strip())
            at = found.end()
        self.tokens.reverse()

    def takes(self, *wanted: str) -> str | None:
        """The next token where it is one of those wanted."""
        return self.tokens.pop() if self.tokens and self.tokens[-1] in wanted else None

    def needs(self, wanted: str) -> None:
        if not self.takes(wanted):
            raise FilterFault(wanted)

    def pipe(self) -> Tree:
        left = self.comma()
        return ("pipe", left, self.pipe()) if self.takes("|") else left

    def comma(self) -> Tree:
        left = self.alternative()
        while self.takes(","):
            left = ("comma", left, self.alternative())
        return left

    def alternative(self) -> Tree:
        left = self.assignment()
        return ("//", left, self.alternative()) if self.takes("//") else left

    def assignment(self) -> Tree:
        left = self.binary(0)
        operator = self.takes("=", "|=", "+=")
        return (operator, left, self.binary(0)) if operator else left

    def binary(self, level: int) -> Tree:
        if level == len(_OPERATORS):
            return self.postfix()
        left = self.binary(level + 1)
        while operator := self.takes(*_OPERATORS[level]):
            left = (operator, left, self.binary(level + 1))
        return left

    def postfix(self) -> Tree:
        tree = self.term()
        while self.tokens:
            token = self.tokens[-1]
            if token[0] == "." and len(token) > 1:
                tree = ("index", tree, ("value", self.tokens.pop()[1:]))
            elif token == "." and len(self.tokens) > 1 and self.tokens[-2][0] in '"[':
                self.tokens.pop()
                tree = ("index", tree, ("value", _string(self.tokens.pop()))) if self.tokens[-1] != "[" else self.bracket(tree)
            elif token == "[":
                tree = self.bracket(tree)
            elif token == "?":
                self.tokens.pop()
                tree = ("try", tree)
            else:
                break
        return tree

    def bracket(self, tree: Tree) -> Tree:
        self.needs("[")
        if self.takes("]"):
            return ("each", tree)
        inner = self.pipe()
        self.needs("]")
        return ("index", tree, inner)

    def term(self) -> Tree:
        if not self.tokens:
            raise FilterFault("end")
        token = self.tokens.pop()
        if token == ".":
            if self.tokens and self.tokens[-1][0] == '"':
                return ("index", ("identity",), ("value", _string(self.tokens.pop())))
            return ("identity",)
        if token[0] == ".":
            return ("index", ("identity",), ("value", token[1:]))
        if token[0] == '"':
            return ("value", _string(token))
        if token.isdecimal():
            return ("value", int(token))
        if token == "-" and self.tokens and self.tokens[-1].isdecimal():
            return ("value", -int(self.tokens.pop()))
        if token in ("true", "false", "null"):
            return ("value", {"true": True, "false": False, "null": None}[token])
        if token == "(":
            inner = self.pipe()
            self.needs(")")
            return inner
        if token == "[":
            if self.takes("]"):
                return ("value", [])
            inner = self.pipe()
            self.needs("]")
            return ("array", inner)
        if token == "{":
            return self.object()
        return self.named(token)

    def named(self, token: str) -> Tree:
        if token[0] == "$":
            return ("variable", token[1:])
        if token in _WITH_ARGUMENT:
            self.needs("(")
            inner = self.pipe()
            self.needs(")")
            return ("call", token, inner)
        if token in _PLAIN and (not self.tokens or self.tokens[-1] != "("):
            return ("call", token)
        raise FilterFault(token)

    def object(self) -> Tree:
        pairs: list[tuple[Tree, Tree]] = []
        while not self.takes("}"):
            if pairs:
                self.needs(",")
            token = self.tokens.pop() if self.tokens else "}"
            if token[0] == '"':
                key: Tree = ("value", _string(token))
            elif token[0].isalpha() or token[0] == "_":
                key = ("value", token)
            else:
                raise FilterFault(token)
            value = self.postfix() if self.takes(":") else ("index", ("identity",), key)
            pairs.append((key, value))
        return ("object", tuple(pairs))


def _string(token: str) -> str:
    import json

    if token[:1] != '"' or "\\(" in token:
        raise FilterFault(token)
    try:
        return str(json.loads(token))
    except ValueError:
        raise FilterFault(token) from None


def values_of(tree: Tree, value: Any, variables: dict[str, Any], budget: Budget) -> list[Any]:
    """All that a filter gives for a value; raises FilterFault where it fails, and where it is not sure."""
    return list(_Evaluation(variables, budget).run(tree, value))


class _Evaluation:
    """One run of a filter."""

    def __init__(self, variables: dict[str, Any], budget: Budget) -> None:
        self.variables = variables
        self.budget = budget

    def one(self, tree: Tree, value: Any) -> Any:
        """The only value of a filter."""
        found = list(self.run(tree, value))
        if len(found) != 1:
            raise FilterFault("not one value")
        return found[0]

    def run(self, tree: Tree, value: Any) -> Iterator[Any]:
        """The values of a filter for one value."""
        self.budget.spend()
        kind = tree[0]
        if kind == "identity":
            yield value
        elif kind == "value":
            yield tree[1]
        elif kind == "variable":
            if tree[1] not in self.variables:
                raise FilterFault(tree[1])
            yield self.variables[tree[1]]
        elif kind == "pipe":
            for middle in self.run(tree[1], value):
                yield from self.run(tree[2], middle)
        elif kind == "comma":
            yield from self.run(tree[1], value)
            yield from self.run(tree[2], value)
        elif kind == "try":
            yield from self.tried(tree[1], value)
        elif kind == "//":
            found = [each for each in self.tried(tree[1], value) if each is not None and each is not False]
            yield from found or self.run(tree[2], value)
        elif kind == "index":
            for container in self.run(tree[1], value):
                yield _at(container, self.one(tree[2], value))
        elif kind == "each":
            for container in self.run(tree[1], value):
                yield from _inner(container)
        elif kind == "array":
            yield list(self.run(tree[1], value))
        elif kind == "object":
            yield {self.one(key, value): self.one(item, value) for key, item in tree[1]}
        elif kind == "call":
            yield from self.called(tree[1], tree[2] if len(tree) > 2 else None, value)
        elif kind in ("=", "|=", "+="):
            yield self.assigned(kind, tree[1], tree[2], value)
        else:
            yield _combined(kind, self.one(tree[1], value), self.one(tree[2], value))

    def tried(self, tree: Tree, value: Any) -> list[Any]:
        """The values up to an error."""
        found: list[Any] = []
        try:
            found.extend(self.run(tree, value))
        except _JsonError:
            pass
        return found

    def called(self, name: str, argument: Tree | None, value: Any) -> Iterator[Any]:
        if argument is None:
            if name != "empty" and (name != "values" or value is not None):
                yield value if name == "values" else _function(name, value)
        elif name == "map":
            yield [result for item in _inner(value) for result in self.run(argument, item)]
        elif name == "select":
            for holds in self.run(argument, value):
                if holds is not None and holds is not False:
                    yield value
        elif name == "del":
            yield self.without(value, argument)
        else:
            yield _function_of(name, value, self.one(argument, value))

    def assigned(self, kind: str, target: Tree, source: Tree, value: Any) -> Any:
        new = None if kind == "|=" else self.one(source, value)
        for path in self.paths(target, value):
            old = _follow(value, path)
            value = _put(value, path, self.one(source, old) if kind == "|=" else new if kind == "=" else _combined("+", old, new))
        return value

    def paths(self, tree: Tree, value: Any) -> list[tuple[Any, ...]]:
        """The places that a filter names."""
        if tree[0] == "identity":
            return [()]
        if tree[0] == "comma":
            return self.paths(tree[1], value) + self.paths(tree[2], value)
        if tree[0] == "index":
            return [(*path, self.one(tree[2], value)) for path in self.paths(tree[1], value)]
        if tree[0] == "each":
            found = []
            for path in self.paths(tree[1], value):
                inner = _follow(value, path)
                _inner(inner)
                found += [(*path, key) for key in (inner if isinstance(inner, dict) else range(len(inner)))]
            return found
        raise FilterFault("no path")

    def without(self, value: Any, target: Tree) -> Any:
        """del: the places of the filter go, from the last to the first."""
        for path in reversed(self.paths(target, value)):
            if not path:
                return None
            container, key = _follow(value, path[:-1]), path[-1]
            if isinstance(container, dict) and isinstance(key, str):
                value = _put(value, path[:-1], {name: item for name, item in container.items() if name != key})
            elif isinstance(container, list) and isinstance(key, int) and key >= 0:
                value = _put(value, path[:-1], [item for at, item in enumerate(container) if at != key])
            elif container is not None:
                raise FilterFault("del")
        return value


class _JsonError(FilterFault):
    """An error that jq reports, too."""


def _at(container: Any, key: Any) -> Any:
    if isinstance(key, str) and isinstance(container, dict | None):
        return (container or {}).get(key)
    if type(key) is int and isinstance(container, list | None):
        return container[key] if container and -len(container) <= key < len(container) else None
    raise _JsonError("index")


def _inner(container: Any) -> list[Any]:
    if isinstance(container, dict):
        return list(container.values())
    if isinstance(container, list):
        return container
    raise _JsonError("iterate")


def _follow(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = _at(value, key)
    return value


def _put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """The value with another one at a place."""
    if not path:
        return new
    key = path[0]
    inner = _put(_at(value, key), path[1:], new)
    if isinstance(key, str):
        return {**(value or {}), key: inner}
    if not 0 <= key <= len(value or ()):
        raise FilterFault("set")
    return [*(value or ())[:key], inner, *(value or ())[key + 1 :]]


def _combined(operator: str, left: Any, right: Any) -> Any:
    if operator in ("and", "or"):
        truths = [each is not None and each is not False for each in (left, right)]
        return all(truths) if operator == "and" else any(truths)
    if operator in ("==", "!="):
        return (_typed(left) == _typed(right)) == (operator == "==")
    if operator == "+":
        if left is None or right is None:
            return right if left is None else left
        if type(left) is type(right) and type(left) in (str, list, int):
            return left + right
        if isinstance(left, dict) and isinstance(right, dict):
            return {**left, **right}
        raise _JsonError("+")
    if operator == "-" and isinstance(left, list) and isinstance(right, list):
        return [item for item in left if _typed(item) not in [_typed(other) for other in right]]
    if type(left) is not int or type(right) is not int:
        raise FilterFault(operator)
    return {"-": left - right, "<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right}[operator]


def _typed(value: Any) -> Any:
    """The value so that 1 and true differ."""
    if isinstance(value, list):
        return [_typed(item) for item in value]
    if isinstance(value, dict):
        return {key: _typed(item) for key, item in value.items()}
    return (type(value), value)


def _function(name: str, value: Any) -> Any:
    if name == "not":
        return value is None or value is False
    if name == "type":
        return _TYPES[type(value)]
    if name == "length" and (value is None or isinstance(value, str | list | dict)):
        return len(value or ())
    if name in ("keys", "keys_unsorted") and isinstance(value, dict | list):
        return list(range(len(value))) if isinstance(value, list) else sorted(value) if name == "keys" else list(value)
    if name == "tostring" and (isinstance(value, str) or type(value) is int):
        return str(value)
    if name == "to_entries" and isinstance(value, dict):
        return [{"key": key, "value": item} for key, item in value.items()]
    if name in ("first", "last") and isinstance(value, list):
        return _at(value, 0 if name == "first" else -1)
    if name == "add" and isinstance(value, list):
        total = None
        for item in value:
            total = _combined("+", total, item)
        return total
    if name == "reverse" and isinstance(value, list):
        return value[::-1]
    if name in ("sort", "unique") and isinstance(value, list) and all(isinstance(item, str) for item in value):
        return sorted(value) if name == "sort" else sorted(set(value))
    if name in ("ascii_downcase", "ascii_upcase") and isinstance(value, str) and value.isascii():
        return value.lower() if name == "ascii_downcase" else value.upper()
    raise FilterFault(name)


def _function_of(name: str, value: Any, argument: Any) -> Any:
    if name == "has" and isinstance(value, dict) and isinstance(argument, str):
        return argument in value
    if name == "join" and isinstance(value, list) and all(isinstance(item, str) for item in value) and isinstance(argument, str):
        return argument.join(value)
    if not isinstance(value, str) or not isinstance(argument, str):
        raise FilterFault(name)
    if name in ("startswith", "endswith"):
        return value.startswith(argument) if name == "startswith" else value.endswith(argument)
    if name in ("ltrimstr", "rtrimstr"):
        return value.removeprefix(argument) if name == "ltrimstr" else value.removesuffix(argument)
    if name == "split" and argument:
        return value.split(argument) if value else []
    raise FilterFault(name)
