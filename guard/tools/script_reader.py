"""Reads programs in Perl, JavaScript, Ruby, PHP and Lua for calls that delete, write or start something.

No interpreter: statements are gone through once, in order; a variable stands for all texts that it may have; conditions count as
met. What is not understood is stepped over.
"""

from __future__ import annotations

from guard.effects import Pattern, Text, join, unknown
from guard.tools.script_tokens import Cutter, Insert, Language, Token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from guard.tools.process import Process

    Deed = Callable[["Reader", "Args"], "Value | None"]

TEXTS = 512  # texts that a variable may stand for
PRODUCT = 64  # texts that a concatenation may give
DEPTH = 40  # expressions within expressions, functions within functions
SKIPPED = frozenset(
    ("new await async typeof void not defined yield return throw local our my const let var do then else begin try").split()
)
LISTING = frozenset(("forEach map each filter some every each_with_index find flatMap select reject each_entry sort_by").split())
SAME = frozenset(
    (
        "trim strip chomp toString to_s sort reverse uniq flatten compact slice values keys freeze dup to_a toArray "
        "expand_path lc uc"
    ).split()
)
KEEPING = frozenset("sort reverse uniq values freeze dup to_a toArray compact flatten".split())  # the texts themselves stay
FILTERS = {"filter": True, "select": True, "reject": False}
JUMPS = frozenset("next continue last break return redo exit die throw process".split())
UNCALLED = frozenset(["if", "elsif", "unless", "while", "until", "switch", "catch", "elseif", "when", "case"])


class Closure:
    """A function of the program: its parameters' names, and where its body stands."""

    __slots__ = ("end", "names", "start")

    def __init__(self, names: list[str], start: int, end: int) -> None:
        self.names = names
        self.start = start
        self.end = end


class Value:
    """What an expression may give: the texts, and a function or the name of a library's module or function.

    `whole` says that the texts are a list of all of them, not alternatives; `exact` that each stands as it is; `lossy` that
    items of a list may have been left out, nobody knows which; `regex` are an expression and its flags.
    """

    __slots__ = ("exact", "function", "lossy", "module", "options", "regex", "texts", "whole")

    def __init__(
        self,
        texts: list[Text] | None = None,
        module: str = "",
        options: dict[str, Value] | None = None,
        function: Closure | None = None,
        whole: bool = False,
        exact: bool = False,
    ) -> None:
        self.whole = whole
        self.exact = exact
        self.lossy = False
        self.regex: tuple[str, str] | None = None
        self.texts = (texts or [])[:TEXTS]
        self.module = module
        self.options = options or {}
        self.function = function


class Args:
    """The arguments of a call."""

    __slots__ = ("values",)

    def __init__(self, values: list[Value]) -> None:
        self.values = values

    def texts(self, at: int) -> list[Text]:
        """The texts that the argument at a position may be."""
        return self.values[at].texts if at < len(self.values) else []

    @property
    def all(self) -> list[Text]:
        """The texts of all arguments."""
        return [text for value in self.values for text in value.texts]

    def option(self, name: str) -> bool:
        """True when an argument is an object with that name, and what it gives is not false."""
        found = [value.options[name] for value in self.values if name in value.options]
        return bool(found) and "false" not in (found[-1].module, *map(str, found[-1].texts)) and found[-1].texts != ["0"]


class Reader:
    """Goes through the tokens of one program."""

    def __init__(
        self, process: Process, language: Language, source: str, deeds: Mapping[str, Deed], holes: Mapping[str, Pattern]
    ) -> None:
        self.process = process
        self.language = language
        self.deeds = deeds
        self.holes = holes
        cutter = Cutter(source, language)
        self.tokens = cutter.all()
        self.lines = cutter.lines
        self.at = 0
        self.end = len(self.tokens)
        self.variables: dict[str, Value] = {}
        self.functions: dict[str, Closure] = {}
        self.depth = 0
        self.read: set[str] = set()  # physical paths of the files that the program has read
        self.handles: dict[str, Text] = {}  # what file and directory handles were opened on
        self.shown: list[Text] = []  # what is printed,
        self.straight = True  # as far as that is known
        self.stable: dict[str, bool] = {}

    # --- tokens

    def peek(self, ahead: int = 0) -> Token:
        """The token here, or so many further on."""
        at = self.at + ahead
        return self.tokens[at] if at < self.end else Token("end", "")

    def next(self) -> Token:
        """The token here, stepped over."""
        token = self.peek()
        self.at += 1
        self.process.here.view.budget.spend()
        return token

    def mark(self, *marks: str) -> bool:
        """True, and one step further, when these marks stand here one behind the other."""
        if all(self.peek(i).kind == "mark" and self.peek(i).value == each for i, each in enumerate(marks)):
            self.at += len(marks)
            return True
        return False

    def word(self, *words: str) -> bool:
        """True, and one step further, when one of these names stands here."""
        if self.peek().kind == "name" and self.peek().value in words:
            self.at += 1
            return True
        return False

    def closing(self, at: int) -> int:
        """The place of the mark that closes the bracket at a place."""
        pairs = {"(": ")", "[": "]", "{": "}"}
        depth = 0
        for place in range(at, self.end):
            token = self.tokens[place]
            if token.kind == "mark":
                depth += (token.value in pairs) - (token.value in pairs.values())
                if depth == 0:
                    return place
        return self.end

    # --- statements

    def run(self) -> None:
        """Everything to the end."""
        self._define()
        while self.at < self.end:
            before = self.at
            self._statement()
            if self.at == before:
                self.next()

    def _within(self, start: int, end: int) -> None:
        """A part of the program, then back here."""
        kept = self.at, self.end
        self.at, self.end = start, min(end, self.end if end <= self.end else len(self.tokens))
        self.end = end
        try:
            if self.depth < DEPTH:
                self.depth += 1
                while self.at < self.end:
                    before = self.at
                    self._statement()
                    if self.at == before:
                        self.next()
                self.depth -= 1
        finally:
            self.at, self.end = kept

    def _define(self) -> None:
        """Notes the functions that the program defines by name, wherever they stand."""
        for at in range(self.end - 1):
            token, after = self.tokens[at], self.tokens[at + 1]
            if token.kind == "name" and token.value in ("function", "sub") and after.kind == "name":
                closure, _ = self._closure(at + 2)
                if closure is not None:
                    self.functions[after.value] = closure

    def _closure(self, at: int) -> tuple[Closure | None, int]:
        """The function whose parameters, or body, begin at a place, and the place behind it."""
        names: list[str] = []
        if at < self.end and self.tokens[at] == Token("mark", "("):
            close = self.closing(at)
            names = [token.value for token in self.tokens[at:close] if token.kind == "name"]
            at = close + 1
        while at < self.end and self.tokens[at].kind == "mark" and self.tokens[at].value in "=>:":
            at += 1
        if at < self.end and self.tokens[at] == Token("mark", "{"):
            close = self.closing(at)
            return Closure(names, at + 1, close), close + 1
        return None, at

    def _statement(self) -> None:
        token = self.peek()
        if token.kind == "mark" and token.value in "{};\n,:)]":
            self.next()
            return
        if token.kind == "name":
            if token.value in ("function", "sub") and self.peek(1).kind == "name":
                self.at = self._closure(self.at + 2)[1]
                return
            if self.language.name in ("perl", "ruby") and self._modifier():
                return
            if token.value in ("if", "unless", "elsif", "elseif") and self._braces():
                self._if()
                return
            if token.value in ("for", "foreach"):
                self._for()
                return
            if token.value in ("import", "use", "no", "package") and self.peek(1).value != "(":
                self._import()
                return
            if token.value in UNCALLED or token.value in SKIPPED:
                self.next()
        self.expression()

    def _modifier(self) -> bool:
        """`unlink $_ for LIST`: the list comes first. `unlink $f if COND`: the condition does; True when all has been done."""
        at, depth = self.at + 1, 0
        if self.peek().value in UNCALLED or self.peek().value in ("for", "foreach", "do", "def", "begin", "else"):
            return False
        while at < self.end and depth >= 0:
            token = self.tokens[at]
            if token.kind == "mark":
                if token.value in ";\n" and depth == 0:
                    return False
                depth += (token.value in "([{") - (token.value in ")]}")
            elif token.kind == "name" and token.value in ("for", "foreach") and depth == 0 and self.language.name == "perl":
                here, self.at = self.at, at + 1
                items = self.values(";", "}")
                self.at = here
                if _nothing(items):
                    self.at = self.statement_end(at + 1)
                    return True
                self.variables["_"] = Value(
                    [text for item in items for text in item.texts], exact=all(item.exact for item in items)
                )
                return False
            elif token.kind == "name" and token.value in ("if", "unless") and depth == 0:
                end = self.statement_end(at + 1)
                self._guarded(at + 1, end, token.value == "unless", (self.at, at), None)
                here, self.at = self.at, at + 1
                self._within(at + 1, end)
                self.at = max(here, end)
                return True
            at += 1
        return False

    def statement_end(self, at: int) -> int:
        """The place behind the statement that begins at a place; rather too early than too late."""
        token = self.tokens[at] if at < self.end else Token("end", "")
        if token == Token("mark", "{"):
            return self.closing(at) + 1
        if token.kind == "name" and token.value in ("if", "for", "while", "foreach", "unless") and at + 1 < self.end:
            if self.tokens[at + 1] != Token("mark", "("):
                return at
            end = self.statement_end(self.closing(at + 1) + 1)
            return self.statement_end(end + 1) if end < self.end and self.tokens[end] == Token("name", "else") else end
        begins = at
        while at < self.end:
            token = self.tokens[at]
            if token.kind == "mark" and (token.value in ";\n" or token.value in ")]}"):
                return at
            before = self.tokens[at - 1]
            if (
                at > begins
                and self.language.name == "node"
                and self.lines[at] > self.lines[at - 1]
                and self._breaks(before, token)
            ):
                return at
            at = self.closing(at) + 1 if token.kind == "mark" and token.value in "([{" else at + 1
        return min(at, self.end)

    def _breaks(self, before: Token, token: Token) -> bool:
        """True where the end of a line may end a statement."""
        ended = before.kind != "mark" or before.value in ")]}"
        return ended and (token.kind != "mark" or token.value in "{}!")

    def _braces(self) -> bool:
        """True when an if here has its condition in brackets, as languages with blocks in braces write it."""
        return self.peek(1) == Token("mark", "(") and self.language.name in ("node", "perl", "php")

    def _if(self) -> None:
        """if (COND) STATEMENT else STATEMENT: what surely is not carried out is stepped over."""
        negated = self.next().value == "unless"
        close = self.closing(self.at)
        start, first = self.at + 1, close + 1
        self._within(start, close)
        end = self.statement_end(first)
        other = None
        behind = end + 1 if end < self.end and self.tokens[end] == Token("mark", ";") else end
        if behind < self.end and self.tokens[behind].kind == "name" and self.tokens[behind].value in ("else", "elsif", "elseif"):
            begins = behind + 1 if self.tokens[behind].value == "else" else behind
            stop = self.statement_end(begins) if self.tokens[behind].value == "else" else self._chained(behind)
            other = (begins, stop)
        self.at = max(end, other[1]) if other is not None else end
        self._guarded(start, close, negated, (first, end), other)

    def _chained(self, at: int) -> int:
        """The place behind elsif (..) {..} elsif (..) {..} else {..}"""
        while at < self.end and self.tokens[at].kind == "name" and self.tokens[at].value in ("elsif", "elseif", "else"):
            brace = self.closing(at + 1) + 1 if self.tokens[at].value != "else" else at + 1
            at = self.closing(brace) + 1
        return at

    def _guarded(self, start: int, end: int, negated: bool, body: tuple[int, int], other: tuple[int, int] | None) -> None:
        """Carries out what depends on a condition, for those of the possible texts of a variable for which it may hold."""
        name, yes, no = self._tested(start, end, negated)
        behind = self.at
        for (first, last), texts in ((body, yes), (other or (0, 0), no)):
            if first < last and texts != []:
                self._with_texts(name, texts, first, last)
        self.at = max(self.at, behind)
        if other is None and self._jumps(*body):
            if no == []:
                self.at = self._block_end(self.at)
            elif name and no is not None:
                kept = self.variables[name]
                self.variables[name] = Value(no, exact=kept.exact)

    def _tested(self, start: int, end: int, negated: bool) -> tuple[str, list[Text] | None, list[Text] | None]:
        """The variable that a condition is about, if it is one; its texts for which it may hold, and those for which it may not.
        Without a variable, an empty list says that this surely is not so, None that it may be."""
        from guard.tools.script_conditions import Condition, stable

        used = {token.value.lstrip("$@%") for token in self.tokens[start:end] if token.kind == "name"}
        used |= (
            {"_"} if self.language.name == "perl" and any(token.kind == "regex" for token in self.tokens[start:end]) else set()
        )
        open_names = [
            name for name in sorted(used) if (value := self.variables.get(name)) and not value.whole and len(value.texts) > 1
        ]
        if not open_names:
            found = Condition(self, {}).holds(start, end)
            found = None if found is None else found is not negated
            return "", [] if found is False else None, [] if found is True else None
        name = open_names[0]
        value = self.variables[name]
        if len(open_names) > 1 or not value.exact or not stable(self, name):
            return "", None, None
        yes: list[Text] = []
        no: list[Text] = []
        for text in value.texts:
            found = Condition(self, {name: text}).holds(start, end) if isinstance(text, str) else None
            if found is None or found is not negated:
                yes.append(text)
            if found is None or found is negated:
                no.append(text)
        return name, yes, no

    def _with_texts(self, name: str, texts: list[Text] | None, first: int, last: int) -> None:
        kept = self.variables.get(name)
        narrowed = None
        if name and texts is not None and kept is not None:
            narrowed = self.variables[name] = Value(texts, exact=kept.exact)
        self._within(first, last)
        if kept is not None and narrowed is not None and self.variables.get(name) is narrowed:
            self.variables[name] = kept

    def _jumps(self, first: int, last: int) -> bool:
        """True when a statement does nothing but leave what it stands in."""
        tokens = self.tokens[first:last]
        inner = [token for token in tokens if not (token.kind == "mark" and token.value in "{};")]
        if not inner or inner[0].kind != "name" or inner[0].value not in JUMPS:
            return False
        ended = [at for at, token in enumerate(tokens) if token == Token("mark", ";")]
        if inner[0].value == "process":
            return len(inner) > 2 and inner[2].value == "exit" and len(inner) < 7
        return not ended or ended[0] >= len(tokens) - 2 or len(inner) == 1

    def _block_end(self, at: int) -> int:
        """The place of the mark that closes the block around a place."""
        depth = 0
        while at < self.end:
            token = self.tokens[at]
            if token.kind == "mark":
                depth += (token.value in "([{") - (token.value in ")]}")
                if depth < 0:
                    return at
            at += 1
        return self.end

    def _for(self) -> None:
        self.next()
        self.word("await", "my", "our")
        if self.language.name == "perl" and self.peek().kind == "name" and self.peek(1).value == "(":
            name = self.next().value
            self._each([name], self.expression(), self.at)
        elif self.language.name in ("ruby", "lua"):
            names = self._names_until("in")
            value = self.expression()
            for name in names:
                self._bind_one(name, value)
        elif self.peek().value == "(":
            self._for_in_brackets()

    def _names_until(self, word: str) -> list[str]:
        names = []
        while self.at < self.end and not self.word(word):
            token = self.next()
            if token.kind == "name":
                names.append(token.value)
        return names

    def _for_in_brackets(self) -> None:
        close = self.closing(self.at)
        inner = self.tokens[self.at + 1 : close]
        words = [token.value for token in inner if token.kind == "name"]
        if "of" in words or "in" in words or "as" in words:
            self.next()
            if "as" in words and self.language.name == "php":
                value = self.expression()
                names = [token.value for token in self.tokens[self.at : close] if token.kind == "name" and token.value != "as"]
            else:
                names = []
                while self.at < close and not self.word("of", "in"):
                    token = self.next()
                    if token.kind == "name" and token.value not in SKIPPED:
                        names.append(token.value)
                value = self.expression()
            self._each(names, value, close + 1)
        elif self.language.name == "perl":
            self._each(["_"], self.expression(), self.at)

    def _each(self, names: list[str], value: Value, behind: int) -> None:
        """Binds the names of a loop; steps over the body, which begins behind the place, when there is nothing to go through."""
        for name in names:
            self._bind_one(name, value)
        self.at = self.statement_end(behind) if _nothing([value]) else behind

    def _import(self) -> None:
        """import x, {y as z} from "m"; what else imports is stepped over."""
        start = self.at
        while self.at < self.end and self.peek().kind != "text" and self.peek().value not in ";\n":
            self.next()
        if self.peek().kind != "text":
            return
        module = str(self._text(self.next())[0])
        names = [token.value for token in self.tokens[start + 1 : self.at - 1] if token.kind == "name"]
        braces = [i for i in range(start, self.at) if self.tokens[i] == Token("mark", "{")]
        inside = {token.value for i in braces for token in self.tokens[i : self.closing(i)] if token.kind == "name"}
        last = ""
        for name in names:
            if name in ("from", "as", "type"):
                continue
            before = names[names.index(name) - 1] if names.index(name) else ""
            full = f"{module}.{last if before == 'as' else name}" if name in inside else module
            self.variables[name] = Value(module=full)
            last = name

    # --- expressions

    def expression(self) -> Value:
        """An expression, everything in it carried out; ends before what belongs to none."""
        if self.depth >= DEPTH:
            self.at = self.end
            return Value()
        self.depth += 1
        try:
            return self._binary()
        finally:
            self.depth -= 1

    def list_of(self, *ends: str) -> list[Text]:
        """The texts of expressions with commas between them."""
        return [text for value in self.values(*ends) for text in value.texts]

    def values(self, *ends: str) -> list[Value]:
        """Expressions with commas between them, up to a mark that ends them."""
        found: list[Value] = []
        while self.at < self.end and not (self.peek().kind == "mark" and self.peek().value in ends):
            before = self.at
            if self.mark(",") or (self.peek().value == "\n" and self.mark("\n")) or self.mark("=", ">"):
                continue
            if (
                self.peek(1).kind == "mark"
                and self.peek(1).value == ":"
                and self.peek().kind == "name"
                and self.language.name == "ruby"
            ):
                name = self.next().value
                self.next()
                found.append(Value(options={name: self.expression()}))
                continue
            found.append(self.expression())
            if self.at == before:
                if self.peek().kind == "mark" and self.peek().value in ";)}]":
                    break
                self.next()
        return found

    def _binary(self) -> Value:
        name = self._target()
        left = self._unary()
        while self.at < self.end:
            token = self.peek()
            if token.kind == "name" and token.value in ("or", "and", "xor", "x"):
                self.next()
                left = _either(left, self._unary())
            elif token.kind != "mark" or token.value not in "+.=|&?<>!*/%^-~" or not self._operator(left, name):
                break
            else:
                left = self.result
                name = None
        return left

    def _operator(self, left: Value, name: list[str] | None) -> bool:
        """Carries out the operator that stands here on what is left of it; `result` has what comes out."""
        concatenate = "." if self.language.name in ("perl", "php", "lua") else "+"
        if self.mark("=", ">"):
            self.at -= 2
            return False
        if self.mark(concatenate, "=") and name:
            self.result = concatenated(self.variable(name[0]), self.expression())
            self._bind(name[0], self.result)
        elif self.mark("|", "|") or self.mark("?", "?") or self.mark("/", "/"):
            self.result = _either(left, self._unary())
        elif self.mark("&", "&"):
            self.result = _either(Value(), self._unary())
        elif self.mark("?"):
            first = self.expression()
            self.mark(":")
            self.result = _either(first, self.expression())
        elif self.peek().value == "=" and self.peek(1).value not in ("=", "~") and name:
            self.next()
            self.result = self.expression()
            for each in name:
                self._bind_member(each, self.result, name)
        elif self.mark(concatenate):
            self.mark(concatenate)
            self.result = concatenated(left, self._unary())
        else:
            while self.peek().kind == "mark" and self.peek().value in "=<>!*/%^-~|&":
                self.next()
            self._unary()
            self.result = Value([unknown("unknown-argument", "a value")])
        return True

    def _bind_member(self, name: str, value: Value, names: list[str]) -> None:
        """A name on the left of an assignment; one of several takes its part of a module."""
        module = (
            f"{value.module}.{name.partition(':')[2] or name}"
            if value.module and len(names) > 0 and self.spread
            else value.module
        )
        bound = Value(value.texts, module, value.options, value.function, value.whole and not self.spread, value.exact)
        bound.lossy = value.lossy
        self._bind(name.partition(":")[0], bound)

    def _target(self) -> list[str] | None:
        """The names that an assignment beginning here would bind: x =, {a, b: c} =, (a, b) =."""
        self.spread = False
        at = self.at
        while at < self.end and self.tokens[at].kind == "name" and self.tokens[at].value in SKIPPED:
            at += 1
        if at >= self.end:
            return None
        first = self.tokens[at]
        if first.kind == "name":
            return [first.value]
        if first.kind == "mark" and first.value in "{[(" and self.tokens[min(self.closing(at) + 1, self.end - 1)].value == "=":
            close = self.closing(at)
            if close + 2 < self.end and self.tokens[close + 2].value in (">", "="):
                return None
            self.spread = first.value == "{"
            names: list[str] = []
            inner = self.tokens[at + 1 : close]
            for i, token in enumerate(inner):
                if token.kind == "name":
                    renamed = i > 1 and inner[i - 1] == Token("mark", ":") and inner[i - 2].kind == "name"
                    if renamed:
                        names[-1] = f"{token.value}:{names[-1]}"
                    else:
                        names.append(token.value)
            self.at = close + 1
            spread = self.spread
            if self.mark("="):
                value = self.expression()
                self.spread = spread
                for name in names:
                    self._bind_member(name, value, names)
            return None
        return None

    def _unary(self) -> Value:
        while True:
            token = self.peek()
            if token.kind == "name" and token.value in SKIPPED:
                self.next()
            elif token.kind == "mark" and token.value == "-" and len(self.peek(1).value) == 1 and self.peek(1).kind == "name":
                self.at += 2  # a file test
            elif token.kind == "mark" and token.value in "!-+\\&*~.@$":
                self.next()
            else:
                break
        return self._postfix(self._primary())

    def _primary(self) -> Value:
        token = self.peek()
        if token.kind == "text":
            self.next()
            return Value(self._text(token), exact=all(isinstance(piece, str) for piece in token.pieces))
        if token.kind == "words":
            self.next()
            return Value(list(token.value.split()), whole=True, exact=True)
        if token.kind == "command":
            self.next()
            return self.shell(self._text(token))
        if token.kind == "glob":
            self.next()
            return Value(self.glob(self._text(token)), whole=True, exact=True)
        if token.kind in ("number", "regex", "change"):
            self.next()
            value = Value([token.value if token.kind == "number" else "0"])
            value.regex = (token.value, str(token.pieces[0])) if token.kind == "regex" else None
            return value
        if token.kind == "name":
            return self._name()
        return self._bracket(token)

    def _bracket(self, token: Token) -> Value:
        if token.kind != "mark" or token.value not in "([{":
            return Value()
        close = self.closing(self.at)
        after = self.tokens[close + 1 : close + 3]
        if token.value == "(" and [each.value for each in after] == ["=", ">"]:
            return self._arrow([each.value for each in self.tokens[self.at : close] if each.kind == "name"], close + 3)
        self.next()
        if token.value == "{":
            return self._object(close)
        kept, self.end = self.end, close
        values = self.values()
        self.end, self.at = kept, close + 1
        last = values[-1] if values else Value()
        if len(values) == 1 and (last.module or last.function or last.options or token.value == "("):
            return last
        texts = [text for value in values for text in value.texts]
        alone = all(len(value.texts) == 1 or value.whole for value in values)
        lone = bool(texts) and (token.value == "[" or len(values) > 1)
        return Value(texts, whole=lone and alone and len(texts) <= TEXTS, exact=all(value.exact for value in values))

    def _object(self, close: int) -> Value:
        """An object or hash: its names with their values."""
        options: dict[str, Value] = {}
        kept, self.end = self.end, close
        items: list[Text] = []
        while self.at < close:
            key = self.next()
            if key.kind in ("name", "text") and (self.mark(":") or self.mark("=", ">") or self.mark("=")):
                options[key.value] = self.expression()
            elif key.kind == "text":
                self.at -= 1
                items += self.expression().texts
        self.end, self.at = kept, close + 1
        return Value([*items, *(text for value in options.values() for text in value.texts)], options=options)

    def _arrow(self, names: list[str], at: int) -> Value:
        """A function without a name; `at` is where its body begins."""
        if at < self.end and self.tokens[at] == Token("mark", "{"):
            close = self.closing(at)
            self.at = close + 1
            return Value(function=Closure(names, at + 1, close))
        end, depth = at, 0
        while end < self.end:
            token = self.tokens[end]
            if token.kind == "mark":
                depth += (token.value in "([{") - (token.value in ")]}")
                if depth < 0 or (depth == 0 and token.value in ",;"):
                    break
            end += 1
        self.at = end
        return Value(function=Closure(names, at, end))

    def _name(self) -> Value:
        token = self.next()
        name = token.value
        if name in ("function", "sub", "fn", "lambda"):
            closure, after = self._closure(self.at)
            self.at = after
            return Value(function=closure)
        if self.language.name == "node" and self.peek().value == "=" and self.peek(1).value == ">":
            return self._arrow([name], self.at + 2)
        if name in ("map", "grep", "sort") and self.language.name == "perl" and self.peek() != Token("mark", "="):
            return self._mapped(name)
        if self.peek().kind == "mark" and self.peek().value == "(":
            return self._call(name)
        if name in self.variables and self.language.name != "perl":
            return self.variables[name]
        return self._bare(name)

    def _bare(self, name: str) -> Value:
        """A name without brackets behind it: a variable, a module, or a call as Perl and Ruby write it."""
        plain = name.lstrip("$@%&")
        takes = self.language.name in ("perl", "ruby", "lua", "php") and not (
            self.peek().kind == "mark" and self.peek().value in ".=-"
        )
        if takes and name == plain and (name in self.deeds or name in self.functions):
            return self.named(name, Args(self._bare_arguments()))
        if name == "$ENV" and self.peek() == Token("mark", "{") and "ENV.[]" in self.deeds:
            return self._environment()
        if name != plain or plain in self.variables:
            return self.variable(name)
        return Value(module=name)

    def _environment(self) -> Value:
        """$ENV{NAME}, as Perl has it."""
        close = self.closing(self.at)
        key = self.tokens[self.at + 1] if close == self.at + 2 else Token("mark", "")
        self.at = close + 1
        return self.deeds["ENV.[]"](self, Args([Value([key.value])])) or Value([unknown("unknown-argument", "$ENV")])

    def _bare_arguments(self) -> list[Value]:
        found: list[Value] = []
        while self.at < self.end:
            token = self.peek()
            if token.kind == "mark" and token.value in ";)}]\n|{":
                break
            if token.kind == "name" and token.value in ("or", "and", "if", "unless", "for", "foreach", "while", "do", "until"):
                break
            if self.mark(","):
                self.mark("\n")
                continue
            before = self.at
            found.append(self._binary_without_words())
            if self.at == before:
                break
        return found

    def _binary_without_words(self) -> Value:
        left = self._unary()
        while self.peek().kind == "mark" and self.peek().value in ".+" and self.peek().value != "\n":
            if not (self.mark(".") if self.language.name in ("perl", "php", "lua") else self.mark("+")):
                break
            self.mark(".")
            left = concatenated(left, self._unary())
        if self.mark("=", ">"):
            return Value(options={str(left.module or "".join(map(str, left.texts))): self._unary()})
        return left

    def _mapped(self, name: str) -> Value:
        """map { BLOCK } LIST, map EXPRESSION, LIST: the list comes first."""
        stop = self.closing(self.at) if self.peek() == Token("mark", "(") else self.end
        if stop < self.end:
            self.next()
        if self.peek() == Token("mark", "{"):
            close = self.closing(self.at)
            start, self.at = self.at + 1, close + 1
        else:
            start, close = self.at, self._comma(self.at)
            self.at = close if name != "sort" else start
        self.mark(",")
        kept, self.end = self.end, min(stop, self.end)
        values = self._bare_arguments()
        self.end = kept
        self.at = max(self.at, stop + 1) if stop < self.end else self.at
        items = Value(
            [text for value in values for text in value.texts],
            whole=all(value.whole or len(value.texts) == 1 for value in values),
            exact=all(value.exact for value in values),
        )
        if name == "sort" or _nothing([items]):
            return items
        if name == "grep":
            items = self.filtered(items, "_", start, close)
        before, self.variables["_"] = self.variables.get("_"), Value(items.texts, exact=items.exact)
        here, self.at = self.at, start
        result = items
        if name == "map" and Token("mark", ";") not in self.tokens[start:close]:
            kept, self.end = self.end, close
            made = self.values()
            self.end = kept
            result = Value([text for value in made for text in value.texts], whole=items.whole)
        else:
            self._within(start, close)
        self.at = here
        if before is not None and name == "grep":
            self.variables["_"] = before
        return result

    def _comma(self, at: int) -> int:
        """The next comma, outside brackets."""
        while at < self.end and self.tokens[at] != Token("mark", ",") and self.tokens[at] != Token("mark", ";"):
            token = self.tokens[at]
            at = self.closing(at) + 1 if token.kind == "mark" and token.value in "([{" else at + 1
        return min(at, self.end)

    def filtered(self, items: Value, name: str, start: int, end: int, keep: bool = True) -> Value:
        """The items for which a condition on a name may hold."""
        from guard.tools.script_conditions import Condition

        kept: list[Text] = []
        sure = items.exact
        for text in items.texts:
            found = Condition(self, {name: text}).holds(start, end) if isinstance(text, str) and items.exact else None
            sure = sure and found is not None
            if found is None or found is keep:
                kept.append(text)
        result = Value(kept, whole=items.whole and (sure or bool(kept)), exact=items.exact)
        result.lossy = items.lossy or not sure
        return result

    def _postfix(self, value: Value) -> Value:
        while self.at < self.end:
            token = self.peek()
            if token.kind != "mark":
                break
            if (
                self.mark("?", ".")
                or (self.language.name not in ("perl", "php", "lua") and self.mark("."))
                or self.mark("-", ">")
            ):
                value = self._member(value)
            elif self.language.name == "lua" and token.value in ".:" and self.peek(1).kind == "name" and value.module:
                self.next()
                value = self._member(value)
            elif token.value == "(" and (value.function is not None or value.module):
                value = self._called(value)
            elif token.value == "[" and f"{value.module}.[]" in self.deeds:
                value = self.named(f"{value.module}.[]", Args(self._arguments()))
            elif token.value in "[{" and self._indexes(token.value, value):
                value = self._index(value)
            elif self.language.name == "ruby" and token.value == "{" and self.peek(1).value == "|":
                self._block(value)
            else:
                break
        if self.language.name == "ruby" and self.word("do"):
            self._block(value)
        return value

    def _indexes(self, bracket: str, value: Value) -> bool:
        if bracket == "[":
            return bool(value.texts)
        before = self.tokens[self.at - 1]
        return self.language.name == "perl" and before.kind == "name" and before.value[0] in "$@%" and bool(value.texts)

    def _index(self, value: Value) -> Value:
        close = self.closing(self.at)
        self.next()
        kept, self.end = self.end, close
        key = self.list_of()
        self.end, self.at = kept, close + 1
        if value.lossy:
            return Value(value.texts, exact=value.exact)
        if len(key) == 1 and isinstance(key[0], str) and key[0].isdigit() and int(key[0]) < len(value.texts):
            return Value([value.texts[int(key[0])]])
        return value

    def _block(self, value: Value) -> None:
        """{ |x| ... } or do |x| ... end behind a call: its names stand for what the call goes through."""
        self.mark("{")
        if self.mark("|"):
            while self.at < self.end and not self.mark("|"):
                token = self.next()
                if token.kind == "name":
                    self._bind_one(token.value, value)

    def _member(self, value: Value) -> Value:
        if self.peek().kind != "name":
            return value
        name = self.next().value
        if value.texts and self.peek().value == "=" and self.peek(1).value not in ("=", "~"):
            return value
        if value.module:
            full = f"{value.module}.{name}"
            if self.peek().value == "(" and self.peek().kind == "mark":
                return self._call(full)
            if (
                self.language.name in ("ruby", "lua")
                and (full in self.deeds)
                and self.peek().kind in ("text", "name", "words", "command")
            ):
                return self.named(full, Args(self._bare_arguments()))
            return self._constant(full)
        return self._method(value, name)

    def _constant(self, full: str) -> Value:
        deed = self.deeds.get(f"={full}")
        if deed is not None:
            return deed(self, Args([])) or Value()
        within, _, name = full.rpartition(".")
        deed = self.deeds.get(f"={within}.*")
        return (deed(self, Args([Value([name])])) if deed is not None else None) or Value(module=full)

    def _method(self, value: Value, name: str) -> Value:
        """A method of something that is no module: what it goes through, or a text made from it."""
        args = Args(self._arguments()) if self.peek() == Token("mark", "(") else Args([])
        deed = self.deeds.get(f".{name}")
        if deed is not None:
            return deed(self, Args([value, *args.values])) or Value()
        if name in FILTERS and args.values and (function := args.values[0].function) is not None and function.names:
            value = self._chosen(value, function, FILTERS[name])
        if name in LISTING:
            if _nothing([value]):
                return value
            for each in args.values:
                self.apply(each, value)
            return value if name not in ("map", "flatMap") else _either(value, Value())
        if name in SAME or name in ("then", "catch", "finally"):
            for each in args.values:
                self.apply(each, value)
            return (
                value if name in KEEPING or not value.exact else Value(value.texts, value.module, value.options, value.function)
            )
        if name == "name" and self.language.name == "node" and value.exact:
            return value
        if name == "join" and (value.lossy or (value.whole and not value.texts)):
            return Value([unknown("unknown-argument", ".filter()") if value.lossy else ""])
        if name == "join" and value.texts:
            separator = args.texts(0)[0] if args.texts(0) else ("," if self.language.name == "node" else "")
            return Value([join(*[part for text in value.texts for part in (separator, text)][1:])])
        if name in ("concat", "push", "unshift", "add") and value.texts is not None:
            value.texts += args.all
            value.lossy = value.lossy or not args.all
            value.exact = value.exact and all(each.exact for each in args.values)
            return value
        if name == "split" and len(value.texts) == 1 and isinstance(value.texts[0], str) and args.texts(0) and args.texts(0)[0]:
            parts = value.texts[0].split(str(args.texts(0)[0]))
            plain = args.values[0].regex is None and len(parts) <= TEXTS
            return Value(list(parts), whole=plain, exact=plain) if plain else Value([unknown("unknown-argument", ".split()")])
        if name in ("replace", "replaceAll") and args.values and args.values[0].regex is not None:
            return Value([_substituted(text, args) for text in value.texts])
        if name in ("replace", "replaceAll", "sub", "gsub", "substring", "slice", "toUpperCase", "toLowerCase"):
            return Value([_replaced(text, name, args) for text in value.texts])
        return Value([unknown("unknown-argument", f".{name}()")]) if value.texts else Value()

    def _chosen(self, value: Value, function: Closure, keep: bool) -> Value:
        """What a filter leaves, as far as its function can be read as one condition."""
        start, end = function.start, function.end
        while start < end and self.tokens[start].value in ("return", "{"):
            start += 1
        while start < end and self.tokens[end - 1] == Token("mark", ";"):
            end -= 1
        if Token("mark", ";") in self.tokens[start:end]:
            start = end  # several statements
        return self.filtered(value, function.names[0], start, end, keep)

    # --- calls

    def _arguments(self) -> list[Value]:
        """What stands between the brackets here."""
        close = self.closing(self.at)
        self.next()
        kept, self.end = self.end, close
        values = self.values()
        self.end, self.at = kept, close + 1
        return values

    def _call(self, name: str) -> Value:
        value = self.variables.get(name)
        if value is not None and value.module:
            name = value.module
        elif value is not None and value.function is not None:
            return self._called(value)
        return self.named(name, Args(self._arguments()))

    def _called(self, value: Value) -> Value:
        args = Args(self._arguments())
        if value.function is not None:
            return self.call(value.function, args.values)
        return self.named(value.module, args)

    def named(self, name: str, args: Args) -> Value:
        """A call of a library's function, or of the program's own, by its name."""
        deed = self.deeds.get(name) or self.deeds.get(
            name.replace("node:", "").replace(".promises.", ".").replace("/promises.", ".")
        )
        if deed is not None:
            return deed(self, args) or Value()
        if name in self.functions:
            return self.call(self.functions[name], args.values)
        for value in args.values:
            self.apply(value, Value())
        return Value([unknown("unknown-argument", f"{name}()")])

    def apply(self, value: Value, items: Value) -> None:
        """Calls a function that was handed over, on each of the items."""
        if value.function is not None:
            if _nothing([items]):
                return
            known = items if items.texts else Value([unknown("unknown-argument", "an argument")])
            known = Value(known.texts, known.module, known.options, known.function, exact=known.exact) if known.whole else known
            self.call(value.function, [known] * max(1, len(value.function.names)))
        elif value.module and items.texts:
            self.named(value.module, Args([items]))

    def call(self, function: Closure, values: list[Value]) -> Value:
        """Carries out a function of the program."""
        names = function.names
        kept = {name: self.variables.get(name.lstrip("$@%")) for name in names}
        for at, name in enumerate(names):
            self._bind(name, values[at] if at < len(values) else Value([unknown("unknown-argument", name)]))
        if self.language.name == "perl" and not names and values:
            self.variables["_"] = Value([text for value in values for text in value.texts])
        self._within(function.start, function.end)
        for name, value in kept.items():
            if value is not None:
                self.variables[name.lstrip("$@%")] = value
        return Value([unknown("unknown-argument", "a function's value")])

    # --- values

    def variable(self, name: str) -> Value:
        """What a variable may stand for."""
        plain = name.lstrip("$@%&#")
        if plain in self.variables:
            found = self.variables[plain]
            if name.startswith("@") and self.language.name == "perl" and not found.whole:
                listed = Value(exact=found.exact, whole=True)
                listed.texts = found.texts
                return listed
            return found
        deed = self.deeds.get(f"={name}") or self.deeds.get(f"={plain}")
        return (deed(self, Args([])) or Value()) if deed is not None else Value([unknown("unknown-argument", name)])

    def _bind(self, name: str, value: Value) -> None:
        self.variables[name.lstrip("$@%&")] = value

    def _bind_one(self, name: str, value: Value) -> None:
        """Binds a name to one item of a list, which may be any."""
        self._bind(
            name, Value(value.texts, value.module, value.options, value.function, exact=value.exact) if value.whole else value
        )

    def _text(self, token: Token) -> list[Text]:
        """What a string may be, with everything put in."""
        found = Value([""])
        for piece in token.pieces:
            if isinstance(piece, Insert):
                found = concatenated(found, self._insert(piece.source))
            else:
                found = concatenated(found, Value([self._marked(piece)]))
        return found.texts

    def _marked(self, text: str) -> Text:
        """The text with the holes that the shell left in it."""
        return join(*(self.holes.get(letter, letter) for letter in text)) if self.holes else text

    def _insert(self, source: str) -> Value:
        if source.lstrip("$@").isidentifier():
            return self.variable(source)
        inner = Reader(self.process, self.language, source, self.deeds, self.holes)
        inner.variables, inner.functions, inner.depth, inner.read = self.variables, self.functions, self.depth + 1, self.read
        value = inner.expression() if self.depth < DEPTH else Value()
        return value if value.texts else Value([unknown("unknown-argument", source)])

    def shell(self, texts: list[Text]) -> Value:
        """Runs each text with a shell; gives what comes out."""
        return Value([self.process.shell(text).output for text in texts])

    def glob(self, patterns: list[Text]) -> list[Text]:
        """The paths that shell patterns match; several may stand in one text."""
        from guard.tools.script_deeds import expanded

        return [path for pattern in patterns for path in expanded(self.process, pattern)]


def _nothing(values: list[Value]) -> bool:
    """True for lists that surely are empty."""
    return bool(values) and all(value.whole and not value.texts and not value.lossy for value in values)


def concatenated(left: Value, right: Value) -> Value:
    """Every text of one before every text of the other."""
    if not left.texts or not right.texts:
        return Value([unknown("unknown-argument", "a value")])
    if len(left.texts) * len(right.texts) > TEXTS and min(len(left.texts), len(right.texts)) > 1:
        return Value([unknown("unknown-argument", "a value")])
    exact = left.exact and right.exact
    return Value([join(one, other) for one in left.texts for other in right.texts], exact=exact)


def _either(left: Value, right: Value) -> Value:
    return Value(
        [*left.texts, *right.texts],
        left.module or right.module,
        {**left.options, **right.options},
        left.function or right.function,
    )


def _substituted(text: Text, args: Args) -> Text:
    """text.replace(/regex/flags, "replacement")"""
    from guard.tools.patterns import PatternError, perl

    regex, new = args.values[0].regex, args.texts(1)
    if isinstance(text, str) and regex is not None and len(new) == 1 and isinstance(new[0], str) and args.values[1].exact:
        pattern, flags = regex
        plain = "$" not in new[0] and not any(mark in pattern for mark in ("[^]", "[]", "\\p", "(?<", "[["))
        try:
            kept = "".join(sorted(set(flags) & set("ims")))
            found = perl(
                (f"(?{kept})" if kept else "") + pattern.replace("\\/", "/").replace("$", "(?!\n)$" if "m" not in flags else "$")
            )
        except PatternError:
            found = None
        if plain and found is not None and found.affordable(len(text)) and not set(flags) - set("gimsu"):
            replacement = new[0]
            return found.search.sub(lambda match: replacement, text, count=0 if "g" in flags else 1)
    return unknown("unknown-argument", ".replace()")


def _replaced(text: Text, name: str, args: Args) -> Text:
    old, new = args.texts(0), args.texts(1)
    plain = isinstance(text, str) and name in ("replace", "replaceAll", "sub", "gsub") and len(old) == len(new) == 1
    if plain and isinstance(text, str) and isinstance(old[0], str) and isinstance(new[0], str) and old[0] not in ("", "0"):
        return text.replace(old[0], new[0], 1 if name in ("replace", "sub") else -1)
    return unknown("unknown-argument", f".{name}()")
