"""Runs awk programs on texts that are known."""

from __future__ import annotations

import math

from guard import expressions as re
from guard.tools.awk_syntax import Program
from guard.tools.patterns import PatternError, Regex, posix
from guard.tools.reading import UnknownOutputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from guard.tools.awk_syntax import Node

    Value = str | float | None

STEPS = 40_000  # expressions and statements that one run may take
_LONGEST = 1 << 20
_NUMBER = re.compile(r"\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


class Input(str):
    """A text from outside: it counts as a number where it looks like one."""

    __slots__ = ()


class _JumpError(Exception):
    """next, break, exit and their kin."""

    def __init__(self, word: str, value: Any = None) -> None:
        self.word = word
        self.value = value


class Outside:
    """What a program reaches: files to read, commands to run. Each raises UnknownOutputError where it cannot tell."""

    def __init__(self, read: Callable[[str], str | None], execute: Callable[[str, str], tuple[str, int]]) -> None:
        self.read = read
        self.execute = execute


class Machine:
    """One run. `files` holds what print has written: name -> (appending, pieces)."""

    def __init__(self, program: Program, outside: Outside) -> None:
        self.program = program
        self.outside = outside
        self.out: list[str] = []
        self.files: dict[str, tuple[bool, list[str]]] = {}
        self.pipes: dict[str, list[str]] = {}
        self.globals: dict[str, Any] = {"FS": " ", "OFS": " ", "RS": "\n", "ORS": "\n", "SUBSEP": "\x1c"}
        self.globals |= {"OFMT": "%.6g", "CONVFMT": "%.6g", "NR": 0.0, "FNR": 0.0, "RSTART": 0.0, "RLENGTH": -1.0, "FILENAME": ""}
        self.locals: list[dict[str, Any]] = []
        self.fields: list[str] = []
        self.record = ""
        self.split_done = True
        self.ranges: set[int] = set()
        self.reading: dict[str, list[str]] = {}
        self.regexes: dict[str, Regex] = {}
        self.status = 0
        self._steps = STEPS
        self._rows: list[str] = []
        self._input: list[tuple[str, str | None]] = []

    def begin(self) -> bool:
        """Runs BEGIN; True when there is input to read."""
        kinds = {rule.when[0] for rule in self.program.rules}
        return self._guarded("BEGIN") and kinds != {"BEGIN"}

    def main(self, name: str, text: str) -> bool:
        """Runs the rules over one input; False when the program exits."""
        self.globals["FILENAME"] = Input(name)
        self.globals["FNR"] = 0.0
        self._rows = self.records(text)[::-1]
        try:
            while self._rows:
                self._record(self._rows.pop())
                self._rules()
        except _JumpError as jump:
            if jump.word == "nextfile":
                return True
            if jump.word != "exit":
                raise UnknownOutputError from None
            self._exit(jump)
            return False
        return True

    def end(self) -> None:
        """Runs END and closes the pipes."""
        self._guarded("END")
        for command in list(self.pipes):
            self._close(command)

    def _guarded(self, when: str) -> bool:
        try:
            for rule in self.program.rules:
                if rule.when[0] == when:
                    self._block(rule.body or ())
        except _JumpError as jump:
            if jump.word != "exit":
                raise UnknownOutputError from None
            self._exit(jump)
            return False
        return True

    def _exit(self, jump: _JumpError) -> None:
        if jump.value is not None:
            self.status = int(jump.value) & 255

    def _step(self) -> None:
        self._steps -= 1
        if self._steps < 0:
            raise UnknownOutputError

    def records(self, text: str) -> list[str]:
        """A text cut at RS."""
        separator = self.string(self.globals["RS"])
        if separator == "":
            return [part for part in re.split(r"\n\n+", text.strip("\n")) if part]
        if len(separator) > 1:
            regex = self._regex(separator, len(text))
            parts = regex.split(text) if not regex.groups else self._unknown()
        else:
            parts = text.split(separator)
        if parts and parts[-1] == "":
            parts.pop()
        return list(parts)

    @staticmethod
    def _unknown() -> Any:
        raise UnknownOutputError

    def _record(self, text: str) -> None:
        self.record = text
        self.split_done = False
        self.globals["NR"] = self.number(self.globals["NR"]) + 1
        self.globals["FNR"] = self.number(self.globals["FNR"]) + 1

    def _split_fields(self) -> None:
        if not self.split_done:
            self.fields = self._cut(self.record, self.string(self.globals["FS"]))
            self.split_done = True

    def _cut(self, text: str, separator: str) -> list[str]:
        if self.globals["RS"] == "" and separator != " ":
            text = text.replace("\n", separator) if len(separator) == 1 else self._unknown()
        if separator == " ":
            return re.findall(r"[^ \t\n]+", text)
        if text == "":
            return []
        if separator == "":
            return list(text)
        if len(separator) == 1 and separator != "\\":
            return text.split(separator)
        found, position = [], 0
        for match in self._regex(separator, len(text)).finditer(text):
            if match.end() > match.start():
                found.append(text[position : match.start()])
                position = match.end()
        return [*found, text[position:]]

    def _rules(self) -> None:
        for at, rule in enumerate(self.program.rules):
            if not self._selected(at, rule.when):
                continue
            try:
                if rule.body is None:
                    self.out.append(self.record + self.string(self.globals["ORS"]))
                else:
                    self._block(rule.body)
            except _JumpError as jump:
                if jump.word == "next":
                    return
                raise

    def _selected(self, at: int, when: Node) -> bool:
        if when[0] in ("BEGIN", "END"):
            return False
        if when[0] == "always":
            return True
        if when[0] == "if":
            return self.truth(self.value(when[1]))
        if at not in self.ranges:
            if not self.truth(self.value(when[1])):
                return False
            self.ranges.add(at)
        if self.truth(self.value(when[2])):
            self.ranges.discard(at)
        return True

    # statements

    def _block(self, body: tuple[Node, ...]) -> None:
        for statement in body:
            self._step()
            getattr(self, "_do_" + statement[0].replace(" ", "_"))(*statement[1:])

    def _do_block(self, body: tuple[Node, ...]) -> None:
        self._block(body)

    def _do_expression(self, node: Node) -> None:
        self.value(node)

    def _do_if(self, test: Node, then: tuple[Node, ...], otherwise: tuple[Node, ...]) -> None:
        self._block(then if self.truth(self.value(test)) else otherwise)

    def _do_while(self, test: Node, body: tuple[Node, ...]) -> None:
        while self.truth(self.value(test)) and self._turn(body):
            pass

    def _do_do(self, body: tuple[Node, ...], test: Node) -> None:
        while self._turn(body) and self.truth(self.value(test)):
            pass

    def _do_for(self, first: Node | None, test: Node | None, step: Node | None, body: tuple[Node, ...]) -> None:
        if first:
            self._block((first,))
        while (test is None or self.truth(self.value(test))) and self._turn(body):
            if step:
                self._block((step,))

    def _do_for_in(self, variable: str, array: str, body: tuple[Node, ...]) -> None:
        for key in list(self._array(array)):
            self._store(("name", variable), Input(key))
            if not self._turn(body):
                break

    def _turn(self, body: tuple[Node, ...]) -> bool:
        """One pass of a loop; False after break."""
        self._step()
        try:
            self._block(body)
        except _JumpError as jump:
            if jump.word in ("break", "continue"):
                return jump.word == "continue"
            raise
        return True

    def _do_break(self) -> None:
        raise _JumpError("break")

    def _do_continue(self) -> None:
        raise _JumpError("continue")

    def _do_next(self) -> None:
        raise _JumpError("next")

    def _do_nextfile(self) -> None:
        raise _JumpError("nextfile")

    def _do_exit(self, value: Node | None) -> None:
        raise _JumpError("exit", None if value is None else self.number(self.value(value)))

    def _do_return(self, value: Node | None) -> None:
        raise _JumpError("return", None if value is None else self.value(value))

    def _do_delete(self, name: str, subscript: tuple[Node, ...] | None) -> None:
        if subscript is None:
            self._array(name).clear()
        else:
            self._array(name).pop(self._key(subscript), None)

    def _do_print(self, values: tuple[Node, ...], sign: str, target: Node | None) -> None:
        parts = [self._printed(self.value(each)) for each in values] if values else [self.record]
        self._put(self.string(self.globals["OFS"]).join(parts) + self.string(self.globals["ORS"]), sign, target)

    def _printed(self, value: Value) -> str:
        return self.string(value, "OFMT")

    def _do_printf(self, values: tuple[Node, ...], sign: str, target: Node | None) -> None:
        self._put(self._formatted([self.value(each) for each in values]), sign, target)

    def _put(self, text: str, sign: str, target: Node | None) -> None:
        if target is None:
            self.out.append(text)
            return
        name = self.string(self.value(target))
        if sign == "|":
            self.pipes.setdefault(name, []).append(text)
        elif name in ("/dev/stdout", "-"):
            self.out.append(text)
        elif name != "/dev/stderr":
            self.files.setdefault(name, (sign == ">>", []))[1].append(text)

    def _close(self, command: str) -> None:
        text = self.pipes.pop(command, None)
        if text is not None:
            self.out.append(self.outside.execute(command, "".join(text))[0])
        self.reading.pop(command, None)

    # values

    def number(self, value: Value) -> float:
        """A value as a number: the number that a text begins with."""
        if isinstance(value, float):
            return value
        found = _NUMBER.match(value) if value else None
        return float(found[0]) if found else 0.0

    def string(self, value: Value, form: str = "CONVFMT") -> str:
        """A value as a text."""
        if isinstance(value, str):
            return value
        if value is None:
            return ""
        if math.isfinite(value) and value == int(value) and abs(value) < 1e16:
            return str(int(value))
        return self._percent(self.globals[form], value)

    @staticmethod
    def _percent(form: str, value: Any) -> str:
        try:
            return str(form % value)
        except (TypeError, ValueError, OverflowError):
            raise UnknownOutputError from None

    def truth(self, value: Value) -> bool:
        """A value as a condition."""
        if isinstance(value, Input) and _numeric(value):
            return self.number(value) != 0
        return value != 0 if isinstance(value, float) else bool(value)

    def _regex(self, pattern: str, longest: int) -> re.Pattern[str]:
        if pattern not in self.regexes:
            try:
                self.regexes[pattern] = posix(pattern, extended=True, escapes=True)
            except PatternError:
                raise UnknownOutputError from None
        found = self.regexes[pattern]
        if not found.affordable(longest):
            raise UnknownOutputError
        return found.search

    def _expression(self, node: Node) -> str:
        """A node where an expression is wanted: a regex constant, or a text that is one."""
        return str(node[1]) if node[0] == "regex" else self.string(self.value(node))

    def value(self, node: Node) -> Value:
        """Evaluates an expression."""
        self._step()
        kind = node[0]
        if kind == "constant":
            return node[1]  # type: ignore[no-any-return]
        if kind == "regex":
            return float(self._regex(node[1], len(self.record)).search(self.record) is not None)
        if kind == "group":
            return self.value(node[1]) if len(node) == 2 else self._unknown()
        if kind == "name":
            return self._name(node[1])
        if kind == "field":
            return self._field(int(self.number(self.value(node[1]))))
        if kind == "item":
            return self._array(node[1]).setdefault(self._key(node[2]), None)
        if kind == "concatenate":
            text = self.string(self.value(node[1])) + self.string(self.value(node[2]))
            return text if len(text) < _LONGEST else self._unknown()
        if kind == "assign":
            return self._assign(*node[1:])
        if kind in ("before", "after"):
            return self._count(*node)
        if kind == "call":
            return self._call(node[1], node[2])
        if kind == "getline":
            return self._getline(*node[1:])
        return self._operator(node)

    def _operator(self, node: Node) -> Value:
        kind = node[0]
        if kind == "choose":
            return self.value(node[2] if self.truth(self.value(node[1])) else node[3])
        if kind == "not":
            return float(not self.truth(self.value(node[1])))
        if kind in ("negative", "number of"):
            value = self.number(self.value(node[1]))
            return -value if kind == "negative" else value
        if kind == "&&":
            return float(self.truth(self.value(node[1])) and self.truth(self.value(node[2])))
        if kind == "||":
            return float(self.truth(self.value(node[1])) or self.truth(self.value(node[2])))
        if kind == "in":
            keys = node[1][1:] if node[1][0] == "group" else (node[1],)
            return float(self._key(keys) in self._array(node[2]))
        if kind in ("~", "!~"):
            text = self.string(self.value(node[1]))
            found = self._regex(self._expression(node[2]), len(text)).search(text) is not None
            return float(found == (kind == "~"))
        left, right = self.value(node[1]), self.value(node[2])
        if kind in ("<", "<=", "==", "!=", ">", ">="):
            return float(self._compare(kind, left, right))
        return self._arithmetic(kind, self.number(left), self.number(right))

    def _compare(self, sign: str, left: Value, right: Value) -> bool:
        numbers = all(
            each is None or isinstance(each, float) or (isinstance(each, Input) and _numeric(each)) for each in (left, right)
        )
        a: Any = self.number(left) if numbers else self.string(left)
        b: Any = self.number(right) if numbers else self.string(right)
        order = (a > b) - (a < b)
        holds = {"<": order < 0, "<=": order <= 0, "==": order == 0, "!=": order != 0, ">": order > 0, ">=": order >= 0}
        return bool(holds[sign])

    def _arithmetic(self, sign: str, left: float, right: float) -> float:
        try:
            if sign == "+":
                return left + right
            if sign == "-":
                return left - right
            if sign == "*":
                return left * right
            if sign == "/":
                return left / right
            return math.fmod(left, right) if sign == "%" else float(left**right)
        except (ArithmeticError, ValueError, TypeError):
            raise UnknownOutputError from None

    def _name(self, name: str) -> Value:
        if name == "NF":
            self._split_fields()
            return float(len(self.fields))
        scope = self._scope(name)
        value = scope.get(name)
        if isinstance(value, dict):
            raise UnknownOutputError
        return value

    def _scope(self, name: str) -> dict[str, Any]:
        return self.locals[-1] if self.locals and name in self.locals[-1] else self.globals

    def _array(self, name: str) -> dict[str, Any]:
        scope = self._scope(name)
        if scope.get(name) is None:
            scope[name] = {}
        if not isinstance(scope[name], dict):
            raise UnknownOutputError
        return scope[name]  # type: ignore[no-any-return]

    def _key(self, nodes: tuple[Node, ...]) -> str:
        return self.string(self.globals["SUBSEP"]).join(self.string(self.value(node)) for node in nodes)

    def _field(self, number: int) -> Value:
        if number == 0:
            return Input(self.record)
        self._split_fields()
        if number < 0:
            raise UnknownOutputError
        return Input(self.fields[number - 1]) if number <= len(self.fields) else None

    def _store(self, target: Node, value: Value) -> Value:
        kind = target[0]
        if kind == "field":
            self._store_field(int(self.number(self.value(target[1]))), self.string(value))
        elif kind == "item":
            self._array(target[1])[self._key(target[2])] = value
        elif target[1] == "NF":
            self._resize(int(self.number(value)))
        else:
            self._split_fields() if target[1] == "FS" else None
            self._scope(target[1])[target[1]] = value
        return value

    def _store_field(self, number: int, text: str) -> None:
        if number == 0:
            self.record = text
            self.split_done = False
            return
        self._split_fields()
        if not 0 < number < 10_000:
            raise UnknownOutputError
        self.fields += [""] * (number - len(self.fields))
        self.fields[number - 1] = text
        self.record = self.string(self.globals["OFS"]).join(self.fields)

    def _resize(self, count: int) -> None:
        self._split_fields()
        if not 0 <= count < 10_000:
            raise UnknownOutputError
        self.fields = (self.fields + [""] * count)[:count]
        self.record = self.string(self.globals["OFS"]).join(self.fields)

    def _assign(self, sign: str, target: Node, node: Node) -> Value:
        value = self.value(node)
        if sign:
            value = self._arithmetic(sign, self.number(self.value(target)), self.number(value))
        return self._store(target, value)

    def _count(self, when: str, sign: str, target: Node) -> Value:
        old = self.number(self.value(target))
        new = old + (1 if sign == "+" else -1)
        self._store(target, new)
        return old if when == "after" else new

    def _getline(self, kind: str, source: Node | None, target: Node | None) -> Value:
        if kind == "main" or source is None:
            if not self._rows:
                raise UnknownOutputError
            row = self._rows.pop()
            self.globals["NR"] += 1
            self.globals["FNR"] += 1
        else:
            name = self.string(self.value(source))
            if name not in self.reading:
                text = self.outside.read(name) if kind == "file" else self.outside.execute(name, "")[0]
                if text is None:
                    return -1.0
                self.reading[name] = self.records(text)[::-1]
            if not self.reading[name]:
                return 0.0
            row = self.reading[name].pop()
        self._store(target or ("field", ("constant", 0.0)), Input(row))
        return 1.0

    # functions

    def _call(self, name: str, nodes: tuple[Node, ...]) -> Value:
        if name in self.program.functions:
            return self._function(name, nodes)
        if name in ("sub", "gsub"):
            return self._substitute(name == "gsub", *nodes)
        if name == "split":
            return self._split(*nodes)
        if name == "match":
            return self._match(*nodes)
        if name == "length" and nodes and nodes[0][0] == "name" and isinstance(self._scope(nodes[0][1]).get(nodes[0][1]), dict):
            return float(len(self._array(nodes[0][1])))
        return self._builtin(name, [self.value(node) for node in nodes])

    def _function(self, name: str, nodes: tuple[Node, ...]) -> Value:
        parameters, body = self.program.functions[name]
        values: dict[str, Any] = dict.fromkeys(parameters)
        for parameter, node in zip(parameters, nodes, strict=False):
            whole = self._scope(node[1]).get(node[1]) if node[0] == "name" and node[1] != "NF" else None
            values[parameter] = whole if isinstance(whole, dict) else self.value(node)
        if len(self.locals) > 50:
            raise UnknownOutputError
        self.locals.append(values)
        try:
            self._block(body)
        except _JumpError as jump:
            if jump.word != "return":
                raise
            return jump.value  # type: ignore[no-any-return]
        finally:
            self.locals.pop()
            for parameter, node in zip(parameters, nodes, strict=False):
                if isinstance(values[parameter], dict) and node[0] == "name" and self._scope(node[1]).get(node[1]) is None:
                    self._scope(node[1])[node[1]] = values[parameter]  # a name that became an array inside
        return None

    def _builtin(self, name: str, values: list[Value]) -> Value:
        text = self.string(values[0]) if values else self.record
        if name == "length":
            return float(len(text))
        if name == "substr":
            return self._substr(text, *(self.number(value) for value in values[1:]))
        if name == "index":
            return float(text.find(self.string(values[1])) + 1)
        if name in ("tolower", "toupper"):
            return text.lower() if name == "tolower" else text.upper()
        if name == "sprintf":
            return self._formatted(values)
        if name == "int":
            return float(math.trunc(self.number(values[0])))
        if name == "system":
            output, status = self.outside.execute(text, "")
            self.out.append(output)
            return float(status)
        if name in ("close", "fflush"):
            self._close(text) if name == "close" else None
            return 0.0
        if name in ("sqrt", "exp", "log", "sin", "cos"):
            try:
                return float(getattr(math, name)(self.number(values[0])))
            except (ValueError, OverflowError):
                raise UnknownOutputError from None
        raise UnknownOutputError

    def _substr(self, text: str, start: float, length: float = math.inf) -> str:
        begin = round(start)
        end = len(text) + 1 if math.isinf(length) else begin + round(length)
        return text[max(begin, 1) - 1 : max(end - 1, 0)]

    def _split(self, node: Node, array: Node, separator: Node | None = None) -> Value:
        text = self.string(self.value(node))
        parts = self._cut(text, self._expression(separator) if separator else self.string(self.globals["FS"]))
        found = self._array(array[1])
        found.clear()
        found.update({str(at): Input(part) for at, part in enumerate(parts, 1)})
        return float(len(parts))

    def _match(self, node: Node, pattern: Node, array: Node | None = None) -> Value:
        text = self.string(self.value(node))
        found = self._regex(self._expression(pattern), len(text)).search(text)
        self.globals["RSTART"] = float(found.start() + 1) if found else 0.0
        self.globals["RLENGTH"] = float(found.end() - found.start()) if found else -1.0
        if array is not None:
            groups = self._array(array[1])
            groups.clear()
            if found:
                groups.update({str(at): Input(found[at] or "") for at in range((found.re.groups or 0) + 1)})
        return self.globals["RSTART"]  # type: ignore[no-any-return]

    def _substitute(self, every: bool, pattern: Node, replacement: Node, target: Node | None = None) -> Value:
        where = target or ("field", ("constant", 0.0))
        text = self.string(self.value(where))
        form = self.string(self.value(replacement))
        pieces: list[str] = []
        position, count, ended = 0, 0, -1
        for found in self._regex(self._expression(pattern), len(text)).finditer(text):
            if found.start() == found.end() == ended:
                continue
            ended = found.end()
            count += 1
            whole = found[0]
            shown = re.sub(r"\\(\\|&)|(&)", lambda m, whole=whole: whole if m[2] else m[1], form)  # type: ignore[misc]
            pieces += (text[position : found.start()], shown)
            position = found.end()
            if not every:
                break
        if count:
            self._store(where, "".join(pieces) + text[position:])
        return float(count)

    def _formatted(self, values: list[Value]) -> str:
        rest = values[:0:-1]

        def one(found: re.Match[str]) -> str:
            flags, letter = found[1], found[2]
            if letter == "%":
                return "%"
            for _ in range(flags.count("*")):
                flags = flags.replace("*", str(int(self.number(rest.pop() if rest else None))), 1)
            if sum(map(int, re.findall(r"\d{1,9}", flags))) > 10_000:
                raise UnknownOutputError
            value = rest.pop() if rest else None
            if letter == "s":
                return self._percent(f"%{flags}s", self.string(value))
            if letter == "c":
                return self._percent(f"%{flags}s", chr(int(value)) if isinstance(value, float) else self.string(value)[:1])
            number = self.number(value)
            return self._percent(f"%{flags}{'d' if letter in 'iu' else letter}", int(number) if letter in "diuoxX" else number)

        return re.sub(r"%([-+ #0-9.*]*)([diuoxXcsfFeEgG%])", one, self.string(values[0] if values else None))


def _numeric(text: str) -> bool:
    found = _NUMBER.match(text)
    return found is not None and text[found.end() :].strip() == ""
