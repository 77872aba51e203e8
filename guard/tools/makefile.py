"""Makefile: the rules and variables of a makefile, read without running make."""

from __future__ import annotations

from guard import expressions as re
from guard.effects import Pattern, Text, join, unknown
from guard.tools.process import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import NamedTuple

    Ask = Callable[[Text], Text]  # what a command of the shell prints
    Read = Callable[[str], "bytes | None"]
    Find = Callable[[str], list[str]]  # the paths that a shell pattern matches
else:
    from guard.record import NamedTuple

DEPTH = 40  # expansions within expansions, includes within includes
_ASSIGNMENT = re.compile(r"^\s*((?:override\s+|export\s+|private\s+)*)([^\s:#=!?+]+)\s*(::?:?=|\?=|\+=|!=|=)\s*(.*)$", re.S)
_DEFINE = re.compile(r"^\s*(?:override\s+|export\s+)*define\s+(\S+)\s*(::?=|\?=|\+=|=)?\s*$")
_CONDITION = re.compile(r"^\s*(ifeq|ifneq|ifdef|ifndef|else|endif)\b\s*(.*)$")
_RULE = re.compile(r"^([^\s#:=][^:=]*?|\$[({][^:]*[)}][^:=]*?)\s*(&?::?)(?!=)\s*(.*)$")


class Rule(NamedTuple):
    """Targets, what they need, and the lines of the recipe, not expanded. `stem` is the pattern of a static pattern rule."""

    targets: tuple[str, ...]
    needs: tuple[str, ...]
    recipe: tuple[str, ...]
    variables: tuple[tuple[str, str, str], ...] = ()
    stem: str = ""


class Makefile:
    """What has been read so far. Variables are kept as they were written, with True where they are expanded already."""

    def __init__(
        self,
        read: Read,
        ask: Ask,
        find: Find,
        given: Mapping[str, Text],
        environ: Mapping[str, Text],
        environ_wins: bool = False,
    ) -> None:
        self.read = read
        self.ask = ask
        self.find = find
        self.given = given
        self.variables: dict[str, tuple[Text, bool]] = {name: (value, True) for name, value in environ.items()}
        self.fixed = (set(given) | (set(environ) - {"SHELL"})) if environ_wins else set(given)  # what the makefile cannot set
        own = {"RM": "rm -f", "AR": "ar", "CC": "cc", "CXX": "g++", "LN_S": "ln -s", ".SHELLFLAGS": "-c"}
        self.variables.update({name: (value, True) for name, value in own.items() if name not in environ})
        self.variables.update({"MAKE": ("make", True), "SHELL": ("/bin/sh", True)})
        self.variables.update({name: (value, False) for name, value in given.items()})
        self.exported: set[str] = set(given) | set(environ)
        self.rules: list[Rule] = []
        self.open: list[str] | None = None  # the recipe of the rule that is being read
        self.depth = 0

    # --- reading

    def include(self, path: str) -> bool:
        """Reads a file; False when there is none that can be read."""
        data = self.read(path)
        if data is None or self.depth > DEPTH:
            return False
        self.depth += 1
        self.lines(_logical(decode(data)))
        self.depth -= 1
        return True

    def lines(self, lines: list[str]) -> None:
        """Reads logical lines."""
        states: list[tuple[bool, bool]] = []  # of each conditional: what is being read counts; a branch has counted
        at = 0
        while at < len(lines):
            line = lines[at]
            at += 1
            condition = None if line.startswith("\t") and self.open is not None else _CONDITION.match(_uncommented(line))
            if condition is not None:
                self._condition(condition[1], condition[2], states)
            elif all(active for active, _ in states):
                at = self._line(line, lines, at)

    def _condition(self, word: str, rest: str, states: list[tuple[bool, bool]]) -> None:
        if word == "endif":
            if states:
                states.pop()
        elif word == "else":
            _, taken = states.pop() if states else (True, True)
            nested = _CONDITION.match(rest)
            now = not taken and (self._holds(nested[1], nested[2]) if nested else True)
            states.append((now, taken or now))
        else:
            now = all(active for active, _ in states) and self._holds(word, rest)
            states.append((now, now))

    def _holds(self, word: str, rest: str) -> bool:
        if word in ("ifdef", "ifndef"):
            value = self.variables.get(str(self.expand(rest.strip())), ("", True))[0]
            return (value != "") is (word == "ifdef")
        match = re.match(r"^\((.*),(.*)\)\s*$|^[\"'](.*?)[\"']\s*[\"'](.*?)[\"']\s*$", rest.strip())
        if match is None:
            return True
        one, other = (match[1], match[2]) if match[1] is not None else (match[3], match[4])
        return (self.expand(one.strip()) == self.expand(other.strip())) is (word == "ifeq")

    def _line(self, line: str, lines: list[str], at: int) -> int:
        """Takes in one logical line; gives where to go on."""
        if line.startswith("\t") and self.open is not None:
            self.open.append(line[1:])
            return at
        define = _DEFINE.match(line)
        if define is not None:
            end = next((i for i in range(at, len(lines)) if lines[i].strip() == "endef"), len(lines))
            self._assign(define[1], define[2] or "=", "\n".join(lines[at:end]))
            return end + 1
        plain = _uncommented(line)
        if not plain.strip():
            return at
        self._close()
        included = re.match(r"^\s*(?:-include|sinclude|include)\s+(.*)$", plain)
        if included is not None:
            for word in str(self.expand(included[1])).split():
                for path in self.find(word):
                    self.include(path)
            return at
        self._statement(plain, line)
        return at

    def _statement(self, plain: str, line: str) -> None:
        assignment = _ASSIGNMENT.match(plain)
        if assignment is not None and ":" not in assignment[2]:
            name = str(self.expand(assignment[2]))
            self._assign(name, assignment[3], assignment[4], "override" in assignment[1])
            if "export" in assignment[1]:
                self.exported.add(name)
            return
        export = re.match(r"^\s*export\s+(.*)$", plain)
        if export is not None:
            self.exported |= set(str(self.expand(export[1])).split())
            return
        rule = _RULE.match(plain)
        if rule is not None:
            self._rule(rule[1], rule[3], line)
        elif plain.strip().startswith("$"):
            self.expand(plain.strip())  # $(eval ...), $(info ...), $(shell ...)

    def _rule(self, targets: str, rest: str, line: str) -> None:
        names = tuple(str(self.expand(targets)).split())
        own = _ASSIGNMENT.match(rest)
        if own is not None and "%" not in own[2]:
            self.rules.append(Rule(names, (), (), ((own[2], own[3], own[4]),)))
            return
        needs, semicolon, command = rest.partition(";")
        stem = ""
        static = re.match(r"^\s*([^\s:]*%[^\s:]*)\s*:(?!=)\s*(.*)$", needs)
        if static is not None:
            stem, needs = static[1], static[2]
        needed = tuple(word for word in str(self.expand(needs)).split() if word != "|")
        self.open = [command.strip()] if semicolon else []
        self.rules.append(Rule(names, needed, (), (), stem))

    def _close(self) -> None:
        """Ends the recipe that is being read."""
        if self.open and self.rules:
            self.rules[-1] = self.rules[-1]._replace(recipe=tuple(self.open))
        self.open = None

    def end(self) -> None:
        """To be called when everything has been read."""
        self._close()

    def _assign(self, name: str, operator: str, value: str, override: bool = False) -> None:
        if name in self.fixed and not override:
            return
        if operator == "?=" and name in self.variables:
            return
        old = self.variables.get(name)
        if operator == "!=":
            self.variables[name] = (self.ask(self.expand(value)), True)
        elif operator == "+=" and old is not None:
            added = self.expand(value) if old[1] else value
            self.variables[name] = (join(old[0], " " if old[0] != "" else "", added), old[1])
        elif operator in (":=", "::=", ":::="):
            self.variables[name] = (self.expand(value), True)
        else:
            self.variables[name] = (value, False)

    def value(self, name: str) -> Text:
        """What a variable stands for."""
        return self.expand(f"$({name})")

    def bind(self, assignments: tuple[tuple[str, str, str], ...]) -> None:
        """Makes the assignments that belong to one target."""
        for name, operator, value in assignments:
            self._assign(name, operator, value)

    # --- expanding

    def expand(self, text: Text, local: Mapping[str, Text] | None = None) -> Text:
        """The text with its variables and functions replaced."""
        if not isinstance(text, str):
            return text
        self.depth += 1
        try:
            return self._expanded(text, local or {}) if self.depth < DEPTH else unknown("unknown-variable", text[:60])
        finally:
            self.depth -= 1

    def _expanded(self, text: str, local: Mapping[str, Text]) -> Text:
        parts: list[Text] = []
        at = 0
        while (dollar := text.find("$", at)) >= 0 and dollar + 1 < len(text):
            parts.append(text[at:dollar])
            letter = text[dollar + 1]
            if letter == "$":
                parts.append("$")
                at = dollar + 2
            elif letter in "({":
                end = _closing(text, dollar + 1)
                parts.append(self._reference(text[dollar + 2 : end], local))
                at = end + 1
            else:
                parts.append(self._variable(letter, local))
                at = dollar + 2
        parts.append(text[at:])
        return join(*parts)

    def _variable(self, name: str, local: Mapping[str, Text]) -> Text:
        if name in local:
            return local[name]
        value, done = self.variables.get(name, ("", True))
        return value if done else self.expand(value, local)

    def _reference(self, inner: str, local: Mapping[str, Text]) -> Text:
        function, _, rest = inner.partition(" ")
        if function in FUNCTIONS or function in ("shell", "wildcard", "foreach", "if", "or", "and", "call", "eval", "value"):
            return self._function(function, rest, local)
        substituted = re.match(r"^([\w.@<^*?+-]+):([^=]*)=(.*)$", inner)
        if substituted is not None:
            value = self._variable(substituted[1], local)
            old, new = substituted[2], substituted[3]
            old, new = (old, new) if "%" in old else (f"%{old}", f"%{new}")
            return _words(value, lambda words: [patsubst(old, str(self.expand(new, local)), word) for word in words])
        name = self.expand(inner, local)
        if not isinstance(name, str):
            return unknown("unknown-variable", f"$({inner})")
        return self._variable(name, local)

    def _function(self, function: str, rest: str, local: Mapping[str, Text]) -> Text:
        if function == "shell":
            return self.ask(self.expand(rest, local))
        if function == "wildcard":
            patterns = self.expand(rest, local)
            if not isinstance(patterns, str):
                return patterns
            return " ".join(path for word in patterns.split() for path in self.find(word))
        arguments = _split(rest)
        if function in ("if", "or", "and", "foreach", "call", "eval", "value"):
            return self._special(function, arguments, local)
        given = [self.expand(argument, local) for argument in arguments]
        if any(isinstance(each, Pattern) for each in given):
            return (
                given[-1]
                if function in ("strip", "sort", "abspath", "realpath")
                else unknown("unknown-variable", f"$({function} ...)")
            )
        try:
            return FUNCTIONS[function]([str(each) for each in given])
        except (IndexError, ValueError):
            return ""

    def _special(self, function: str, arguments: list[str], local: Mapping[str, Text]) -> Text:
        if function in ("or", "and"):
            value: Text = ""
            for argument in arguments:
                value = self.expand(argument, local)
                if (value != "") is (function == "or"):
                    break
            return value
        if function == "if":
            test = self.expand(arguments[0].strip(), local)
            branch = arguments[1:2] if test != "" else arguments[2:3]
            return self.expand(branch[0], local) if branch else ""
        if function == "foreach" and len(arguments) > 2:
            name, items = str(self.expand(arguments[0].strip(), local)), self.expand(arguments[1], local)
            words: list[Text] = list(items.split()[:500]) if isinstance(items, str) else [items]
            parts = [part for word in words for part in (" ", self.expand(",".join(arguments[2:]), {**local, name: word}))]
            return join(*parts[1:])
        if function == "call":
            values = {str(i): self.expand(each, local) for i, each in enumerate(arguments)}
            raw = self.variables.get(str(values["0"]).strip(), ("", True))[0]
            return self.expand(raw, {**local, **values})
        if function == "eval":
            text = self.expand(",".join(arguments), local)
            if isinstance(text, str):
                self.lines(_logical(text))
            return ""
        return self.variables.get(arguments[0].strip(), ("", True))[0]


def _logical(text: str) -> list[str]:
    """The lines with continued ones joined; a recipe keeps its backslashes for the shell."""
    found: list[str] = []
    whole = ""
    for line in text.replace("\r\n", "\n").split("\n"):
        recipe = (whole or line).startswith("\t")
        if line.endswith("\\") and (len(line) - len(line.rstrip("\\"))) % 2:
            whole += (line if recipe else line[:-1].rstrip()) + ("\n" if recipe else " ")
            continue
        found.append(whole + (line.removeprefix("\t") if recipe and whole else line.lstrip() if whole else line))
        whole = ""
    return [*found, whole] if whole else found


def _uncommented(line: str) -> str:
    match = re.search(r"(?<!\\)#", line)
    return line if match is None else line[: match.start()]


def _closing(text: str, at: int) -> int:
    opening = text[at]
    closing, depth = (")" if opening == "(" else "}"), 0
    for place in range(at, len(text)):
        depth += (text[place] == opening) - (text[place] == closing)
        if depth == 0:
            return place
    return len(text)


def _split(text: str) -> list[str]:
    """A function's arguments."""
    found, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "({") - (letter in ")}")
        if letter == "," and depth == 0:
            found.append(text[start:at])
            start = at + 1
    return [*found, text[start:]]


def _words(value: Text, change: Callable[[list[str]], list[str]]) -> Text:
    return " ".join(change(value.split())) if isinstance(value, str) else value


def fits(pattern: str, word: str) -> str | None:
    """What % stands for when the pattern matches; "" for equal texts, None without a match."""
    head, percent, tail = pattern.partition("%")
    if not percent:
        return "" if pattern == word else None
    if len(word) >= len(head) + len(tail) and word.startswith(head) and word.endswith(tail):
        return word[len(head) : len(word) - len(tail)]
    return None


def patsubst(old: str, new: str, word: str) -> str:
    """The word with the pattern replaced, when it matches."""
    stem = fits(old, word)
    return word if stem is None else new.replace("%", stem, 1)


def _directory(word: str) -> str:
    head, slash, _ = word.rpartition("/")
    return head + slash or "./"


def _ending(word: str) -> str:
    last = word.rpartition("/")[2]
    return "." + last.rpartition(".")[2] if "." in last else ""


FUNCTIONS: dict[str, Callable[[list[str]], str]] = {
    "subst": lambda a: a[2].replace(a[0], a[1]) if a[0] and a[2].count(a[0]) * len(a[1]) < 1 << 20 else a[2],
    "patsubst": lambda a: " ".join(patsubst(a[0].strip(), a[1].strip(), word) for word in a[2].split()),
    "strip": lambda a: " ".join(a[0].split()),
    "findstring": lambda a: a[0] if a[0] in a[1] else "",
    "filter": lambda a: " ".join(w for w in a[1].split() if any(fits(p, w) is not None for p in a[0].split())),
    "filter-out": lambda a: " ".join(w for w in a[1].split() if all(fits(p, w) is None for p in a[0].split())),
    "sort": lambda a: " ".join(sorted(set(a[0].split()))),
    "word": lambda a: a[1].split()[int(a[0]) - 1],
    "words": lambda a: str(len(a[0].split())),
    "wordlist": lambda a: " ".join(a[2].split()[int(a[0]) - 1 : int(a[1])]),
    "firstword": lambda a: a[0].split()[0],
    "lastword": lambda a: a[0].split()[-1],
    "dir": lambda a: " ".join(map(_directory, a[0].split())),
    "notdir": lambda a: " ".join(word.rpartition("/")[2] for word in a[0].split()),
    "suffix": lambda a: " ".join(filter(None, map(_ending, a[0].split()))),
    "basename": lambda a: " ".join(word.removesuffix(_ending(word)) for word in a[0].split()),
    "addprefix": lambda a: " ".join(a[0].strip() + word for word in a[1].split()),
    "addsuffix": lambda a: " ".join(word + a[0].strip() for word in a[1].split()),
    "join": lambda a: " ".join(one + other for one, other in zip(a[0].split(), a[1].split(), strict=False)),
    "abspath": lambda a: a[0],
    "realpath": lambda a: a[0],
    "info": lambda a: "",
    "warning": lambda a: "",
    "error": lambda a: "",
    "origin": lambda a: "file",
    "flavor": lambda a: "recursive",
}
