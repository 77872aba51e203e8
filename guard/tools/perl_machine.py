"""Machine: what a small Perl program makes of the lines of its input, worked out on the known text of the files."""

from __future__ import annotations

from guard.tools.patterns import PatternError, perl
from guard.tools.perl_syntax import Parser, Unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from guard.effects import Text
    from guard.tools.patterns import Regex
    from guard.world import Budget

STEPS = 400_000  # of evaluation; a program that takes more is not worked out
SIZE = 1 << 20  # letters of a text


class _Next(Exception):
    pass


class _Last(Exception):
    pass


class _Ended(Exception):
    pass


class Machine:
    """One run. Texts are bytes as letters (Latin-1), as Perl has them without `use utf8`.

    `files` are the contents that <> goes through; with `in_place`, `written[i]` is what file i then holds (None: never opened).
    """

    def __init__(self, files: list[str], in_place: bool, argv: list[Text], env: Mapping[str, Text], budget: Budget) -> None:
        self.files = files
        self.in_place = in_place
        self.argv = argv
        self.env = env
        self.budget = budget
        self.written: list[str | None] = [None] * len(files)
        self.output: list[str] = []
        self.scalars: dict[str, Any] = {"/": "\n", ".": 0}
        self.items: dict[tuple[str, str], Any] = {}
        self.fields: list[str] | None = None
        self.ranges: dict[int, int] = {}
        self.regexes: dict[tuple[str, str], Regex] = {}
        self.file = -1
        self.rest = ""
        self.parts: list[str] = self.output
        self.steps = 0

    def run(self, source: str, loops: bool, prints: bool, chomps: bool, splits: bool) -> None:
        """Runs a program; with `loops` on every record, which it then prints when `prints` is True. Raises Unread."""
        body = Parser(source).program()
        for node in body:
            if node[0] == "BEGIN":
                self.block(node[1])
        body, ends = tuple(node for node in body if node[0] not in ("BEGIN", "END")), [n for n in body if n[0] == "END"]
        try:
            if loops:
                self.loop(body, prints, chomps, splits)
            else:
                self.block(body)
        except _Ended:
            pass
        except (_Next, _Last):
            raise Unread from None
        self.put_away()
        for node in ends:
            self.block(node[1])

    def loop(self, body: tuple[Any, ...], prints: bool, chomps: bool, splits: bool) -> None:
        """The loop of -n and -p."""
        while (record := self.record()) is not None:
            end = self.scalars["/"]
            self.scalars["_"] = record.removesuffix(end) if chomps and end else record
            self.fields = record.split() if splits else None
            try:
                self.block(body)
            except _Next:
                pass
            except _Last:
                return
            if prints:
                self.put(text(self.scalars.get("_")) + text(self.scalars.get("\\")))

    # --- input and output

    def record(self) -> str | None:
        """The next record of the input, None at its end."""
        self.tick()
        while not self.rest:
            self.put_away()
            if self.file + 1 >= len(self.files):
                return None
            self.file += 1
            self.rest = self.files[self.file]
            if self.in_place:
                self.parts = []
                self.written[self.file] = ""
        end = self.scalars["/"]
        if end == "":
            raise Unread
        at = len(self.rest) if end is None else self.rest.find(end)
        at = len(self.rest) if at < 0 or end is None else at + len(end)
        record, self.rest = self.rest[:at], self.rest[at:]
        self.scalars["."] = number(self.scalars["."]) + 1
        return record

    def put(self, shown: str) -> None:
        """Prints to the file that is being written anew, or to standard output."""
        self.parts.append(shown)
        self.tick(len(shown) // 256)

    def put_away(self) -> None:
        """Ends the writing of the file."""
        if self.in_place and self.file >= 0 and self.parts is not self.output:
            self.written[self.file] = "".join(self.parts)
            self.parts = self.output

    def tick(self, count: int = 0) -> None:
        """Counts work done."""
        self.steps += 1 + count
        if self.steps > STEPS:
            raise Unread
        if self.steps % 256 == 0:
            self.budget.spend(16)

    # --- statements

    def block(self, body: tuple[Any, ...]) -> None:
        """Statements in order."""
        for node in body:
            self.statement(node)

    def statement(self, node: Any) -> None:
        """One statement."""
        self.tick()
        if node[0] == "when":
            self.block(node[2] if truth(self.value(node[1])) else node[3])
        elif node[0] == "loop":
            self.repeat(node[1], node[2])
        elif node[0] in ("BEGIN", "END"):
            raise Unread
        else:
            self.value(node)

    def repeat(self, test: Any, body: tuple[Any, ...]) -> None:
        """while; a bare <> in its test goes to $_, and is tested for being there."""
        while True:
            if test[0] == "readline" or (test[0] == "assign" and test[3] == ("readline",)):
                record = self.record()
                if test[0] == "readline":
                    self.scalars["_"] = record
                else:
                    self.store(test[2], record)
                if record is None:
                    return
            elif not truth(self.value(test)):
                return
            try:
                self.block(body)
            except _Next:
                continue
            except _Last:
                return

    # --- expressions

    def value(self, node: Any) -> Any:
        """The value of an expression."""
        self.tick()
        run = KINDS.get(node[0])
        if run is None:
            raise Unread
        found = run(self, node)
        if isinstance(found, str) and len(found) > SIZE:
            raise Unread
        return found

    def store(self, node: Any, value: Any) -> None:
        """Assigns."""
        if node[0] == "scalar":
            if not (node[1][0].isalpha() or node[1] in ("_", "/", "\\", ",", ".")):
                raise Unread
            self.scalars[node[1]] = value
        elif node[0] == "item" and node[1] != "ENV":
            self.items[node[1], text(self.value(node[2]))] = value
        else:
            raise Unread

    def regex(self, pattern: str, flags: str, longest: int) -> Any:
        """The compiled expression, where it cannot take long."""
        kept = "".join(sorted(set(flags) & set("imsx")))
        found = self.regexes.get((pattern, kept))
        if found is None:
            try:
                found = self.regexes[pattern, kept] = perl(f"(?a{kept})" + pattern)
            except PatternError:
                raise Unread from None
        if not found.affordable(longest):
            raise Unread
        self.tick(longest // 64 + (longest**2 // 4096 if found.stars > 1 else 0))
        return found.search

    def capture(self, found: Any) -> None:
        """$1, $2 and $& after a match."""
        for name in [name for name in self.scalars if name.isdigit() or name == "&"]:
            del self.scalars[name]
        self.scalars["&"] = found[0]
        for at, each in enumerate(found.groups(), 1):
            self.scalars[str(at)] = each

    def inserted(self, parts: tuple[Any, ...]) -> str:
        """A text with its variables put in."""
        out: list[str] = []
        case = once = ""
        for part in parts:
            if isinstance(part, tuple) and part[0] == "case":
                case, once = ("" if part[1] == "E" else part[1], "") if part[1] in "ULE" else (case, part[1])
                continue
            shown = part if isinstance(part, str) else text(self.value(part))
            shown = shown.upper() if case == "U" else shown.lower() if case == "L" else shown
            if once and shown:
                shown = (shown[0].upper() if once == "u" else shown[0].lower()) + shown[1:]
                once = ""
            out.append(shown)
        return "".join(out)


def text(value: Any) -> str:
    """A value as a text."""
    if value is None:
        return ""
    if isinstance(value, float):
        if value != value or abs(value) >= 1e15:
            raise Unread
        return f"{value:.15g}"
    return str(value)


def number(value: Any) -> Any:
    """A value as a number: the one that a text begins with."""
    if isinstance(value, (int, float)):
        return value
    shown = text(value).strip()
    end = 0
    while end < len(shown) and (shown[end].isdigit() or (end == 0 and shown[end] in "+-")):
        end += 1
    if shown[end : end + 1] in (".", "e", "E") and shown[:1].isdigit():
        raise Unread
    digits = shown[:end]
    return int(digits) if digits.lstrip("+-") and len(digits) < 16 else 0


def truth(value: Any) -> bool:
    """What counts as true."""
    return value is not None and text(value) not in ("", "0")


def _scalar(machine: Machine, node: Any) -> Any:
    name = node[1]
    if name == "0":
        raise Unread
    return machine.scalars.get(name)


def _item(machine: Machine, node: Any) -> Any:
    key = text(machine.value(node[2]))
    if node[1] != "ENV":
        return machine.items.get((node[1], key))
    return _known(machine.env.get(key, ""))


def _element(machine: Machine, node: Any) -> Any:
    at = machine.value(node[2])
    values = machine.argv if node[1] == "ARGV" else machine.fields if node[1] == "F" else None
    if values is None or not isinstance(at, int):
        raise Unread
    return _known(values[at]) if -len(values) <= at < len(values) else None


def _known(value: Text) -> str:
    if not isinstance(value, str):
        raise Unread
    return value.encode("utf-8", "surrogateescape").decode("latin-1")


def _match(machine: Machine, node: Any) -> Any:
    subject = text(machine.value(node[1]))
    if "g" in node[3]:
        raise Unread
    found = machine.regex(node[2], node[3], len(subject)).search(subject)
    if found is None:
        return ""
    machine.capture(found)
    return 1


def _substitute(machine: Machine, node: Any) -> Any:
    _, target, pattern, replacement, flags = node
    subject = text(machine.value(target))
    count = 0
    pieces: list[str] = []
    at = 0
    for found in machine.regex(pattern, flags, len(subject)).finditer(subject):
        machine.capture(found)
        machine.tick()
        pieces += [subject[at : found.start()], machine.inserted(replacement)]
        at = found.end()
        count += 1
        if "g" not in flags:
            break
    result = "".join(pieces) + subject[at:]
    if "r" in flags:
        return result
    if count:
        machine.store(target, result)
    return count or ""


def _translate(machine: Machine, node: Any) -> Any:
    _, target, old, new, flags = node
    subject = text(machine.value(target))
    new = new or ("" if "d" in flags else old)
    table: dict[str, str] = {}
    for at, letter in enumerate(old):
        table.setdefault(letter, new[at] if at < len(new) else "" if "d" in flags else new[-1:])
    out: list[str] = []
    previous = ""
    for letter in subject:
        to = table.get(letter, letter)
        if not ("s" in flags and letter in table and to == previous):
            out.append(to)
        previous = to if letter in table else ""
    if "r" in flags:
        return "".join(out)
    if (changed := "".join(out)) != subject:
        machine.store(target, changed)
    return sum(letter in table for letter in subject)


def _assign(machine: Machine, node: Any) -> Any:
    _, operator, target, source = node
    if operator == "=":
        value = machine.value(source)
    else:
        old = machine.value(target)
        if operator in ("||=", "//=", "&&="):
            keeps = truth(old) if operator == "||=" else old is not None if operator == "//=" else not truth(old)
            value = old if keeps else machine.value(source)
        else:
            value = OPERATORS[operator[:-1]](old, machine.value(source))
    if isinstance(value, tuple):
        raise Unread
    machine.store(target, value)
    return value


def _step(machine: Machine, node: Any) -> Any:
    _, by, before, target = node
    old = machine.value(target)
    if isinstance(old, str) and not old.lstrip("-").isdigit():
        raise Unread
    new = number(old) + by
    machine.store(target, new)
    return new if before else number(old)


def _binary(machine: Machine, node: Any) -> Any:
    _, operator, left, right = node
    value = machine.value(left)
    if operator in ("&&", "and", "||", "or", "//"):
        stops = value is not None if operator == "//" else truth(value) is (operator in ("||", "or"))
        return value if stops else machine.value(right)
    return OPERATORS[operator](value, machine.value(right))


def _range(machine: Machine, node: Any) -> Any:
    """The flip-flop: true from where the first test holds to where the second one does; plain numbers are compared with $."""
    _, place, operator, first, last = node

    def holds(test: Any) -> bool:
        value = machine.value(test)
        return bool(number(machine.scalars["."]) == value) if test[0] == "number" else truth(value)

    state = machine.ranges.get(place, 0)
    if state == 0:
        if not holds(first):
            return ""
        state = 1
        if operator == ".." and holds(last):
            return "1E0"
    else:
        state += 1
        if holds(last):
            machine.ranges[place] = 0
            return f"{state}E0"
    machine.ranges[place] = state
    return state


def _list(machine: Machine, node: Any) -> Any:
    return tuple(machine.value(each) for each in node[1:])


def _bare(machine: Machine, node: Any) -> Any:
    name, whole = node[1], node[2]
    if name == "next":
        raise _Next
    if name == "last":
        raise _Last
    if name == "exit":
        raise _Ended
    if name == "eof":
        return 1 if not machine.rest and (not whole or machine.file + 1 >= len(machine.files)) else ""
    raise Unread


def _call(machine: Machine, node: Any) -> Any:
    _, name, arguments, handle = node
    if handle in ("ARGV", "ARGVOUT") and name not in ("close", "print"):
        raise Unread
    if name in ("chomp", "chop", "undef"):
        return _changed(machine, name, arguments[0] if arguments else ("scalar", "_"), bool(arguments))
    if name in ("print", "say"):
        return _print(machine, name, arguments, handle)
    if name == "close":
        machine.scalars["."] = 0 if not machine.rest else number(machine.scalars["."])
        return 1
    values = _flat([machine.value(each) for each in arguments] or [machine.scalars.get("_")])
    function = FUNCTIONS.get(name)
    if function is None:
        raise Unread
    return function(values)


def _flat(values: list[Any]) -> list[Any]:
    return [each for value in values for each in (value if isinstance(value, tuple) else (value,))]


def _print(machine: Machine, name: str, arguments: tuple[Any, ...], handle: str) -> Any:
    values = _flat([machine.value(each) for each in arguments]) if arguments else [machine.scalars.get("_")]
    shown = (
        text(machine.scalars.get(",")).join(map(text, values)) + ("\n" if name == "say" else "") + text(machine.scalars.get("\\"))
    )
    if handle == "STDOUT":
        machine.output.append(shown)
    elif handle != "STDERR":
        machine.put(shown)
    return 1


def _changed(machine: Machine, name: str, target: Any, given: bool) -> Any:
    if name == "undef":
        if given:
            machine.store(target, None)
        return None
    old = text(machine.value(target))
    end = machine.scalars["/"] or ""
    new = old[:-1] if name == "chop" else old.removesuffix(end)
    if new != old:
        machine.store(target, new)
    return len(old) - len(new)


def _repeat(left: Any, right: Any) -> str:
    count = number(right)
    if not isinstance(count, int) or count * len(text(left)) > SIZE or isinstance(left, tuple):
        raise Unread
    return text(left) * max(0, count)


def _divide(left: Any, right: Any) -> Any:
    below = number(right)
    if not below:
        raise Unread
    found = number(left) / below
    return int(found) if found == int(found) else found


def _remainder(left: Any, right: Any) -> Any:
    one, other = number(left), number(right)
    if not other or not isinstance(one, int) or not isinstance(other, int):
        raise Unread
    return one % other


def _decoded(values: list[Any]) -> str:
    import binascii

    try:
        return binascii.a2b_base64(text(values[0]).encode("latin-1")).decode("latin-1")
    except (ValueError, IndexError):
        raise Unread from None


def _packed(values: list[Any]) -> str:
    if len(values) != 2 or values[0] != "H*":
        raise Unread
    try:
        return bytes.fromhex(text(values[1])).decode("latin-1")
    except ValueError:
        raise Unread from None


def _letter(values: list[Any]) -> str:
    code = number(values[0])
    if not isinstance(code, int) or not 0 <= code < 256:
        raise Unread
    return chr(code)


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: number(a) + number(b),
    "-": lambda a, b: number(a) - number(b),
    "*": lambda a, b: number(a) * number(b),
    "/": _divide,
    "%": _remainder,
    ".": lambda a, b: text(a) + text(b),
    "x": _repeat,
    "==": lambda a, b: 1 if number(a) == number(b) else "",
    "!=": lambda a, b: 1 if number(a) != number(b) else "",
    "<": lambda a, b: 1 if number(a) < number(b) else "",
    ">": lambda a, b: 1 if number(a) > number(b) else "",
    "<=": lambda a, b: 1 if number(a) <= number(b) else "",
    ">=": lambda a, b: 1 if number(a) >= number(b) else "",
    "eq": lambda a, b: 1 if text(a) == text(b) else "",
    "ne": lambda a, b: 1 if text(a) != text(b) else "",
    "lt": lambda a, b: 1 if text(a) < text(b) else "",
    "gt": lambda a, b: 1 if text(a) > text(b) else "",
    "le": lambda a, b: 1 if text(a) <= text(b) else "",
    "ge": lambda a, b: 1 if text(a) >= text(b) else "",
}

FUNCTIONS: dict[str, Callable[[list[Any]], Any]] = {
    "length": lambda values: None if values[0] is None else len(text(values[0])),
    "uc": lambda values: _ascii(text(values[0])).upper(),
    "lc": lambda values: _ascii(text(values[0])).lower(),
    "ucfirst": lambda values: _ascii(text(values[0]))[:1].upper() + text(values[0])[1:],
    "lcfirst": lambda values: _ascii(text(values[0]))[:1].lower() + text(values[0])[1:],
    "defined": lambda values: "" if values[0] is None else 1,
    "ord": lambda values: ord(text(values[0])[0]) if text(values[0]) else 0,
    "chr": _letter,
    "join": lambda values: text(values[0]).join(map(text, values[1:])),
    "decode_base64": _decoded,
    "pack": _packed,
}


def _ascii(shown: str) -> str:
    if not shown.isascii():
        raise Unread
    return shown


KINDS: dict[str, Callable[[Machine, Any], Any]] = {
    "text": lambda machine, node: machine.inserted(node[1]),
    "number": lambda machine, node: node[1],
    "scalar": _scalar,
    "item": _item,
    "element": _element,
    "match": _match,
    "substitute": _substitute,
    "translate": _translate,
    "assign": _assign,
    "step": _step,
    "binary": _binary,
    "range": _range,
    "not": lambda machine, node: "" if truth(machine.value(node[1])) else 1,
    "minus": lambda machine, node: -number(machine.value(node[1])),
    "choose": lambda machine, node: machine.value(node[2] if truth(machine.value(node[1])) else node[3]),
    "call": _call,
    "bare": _bare,
    "list": _list,
    "readline": lambda machine, node: machine.record(),
}
