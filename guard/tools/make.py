"""make: which recipes run, in which order. The makefile is read (makefile.py); make itself never runs."""

from __future__ import annotations

from guard.effects import Analysis, Pattern, Text, join, unknown
from guard.tools.call import Call
from guard.tools.makefile import Makefile, Rule, fits
from guard.tools.options import Options, Table, parse
from guard.tools.process import Process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

DEPTH = 60  # targets that need targets
RECIPES = 2_000
NAMES = ("GNUmakefile", "makefile", "Makefile")

TABLE = Table(
    flags="bmBeiknpqrRsStvwhd",
    values="CfIoWE",
    optional="jlO",
    long={
        "directory": "=", "file": "=", "makefile": "=", "include-dir": "=", "old-file": "=", "assume-old": "=", "what-if": "=",
        "new-file": "=", "assume-new": "=", "eval": "=", "always-make": "", "debug": "?", "environment-overrides": "", "help": "",
        "ignore-errors": "", "jobs": "?", "keep-going": "", "load-average": "?", "max-load": "?", "dry-run": "", "just-print": "",
        "recon": "", "output-sync": "?", "print-data-base": "", "question": "", "quiet": "", "silent": "", "no-builtin-rules": "",
        "no-builtin-variables": "", "no-print-directory": "", "stop": "", "no-keep-going": "", "touch": "",
        "trace": "", "version": "",
        "print-directory": "", "warn-undefined-variables": "", "shuffle": "?", "no-silent": "",
    },
    same={
        "directory": "C", "file": "f", "makefile": "f", "always-make": "B", "ignore-errors": "i", "keep-going": "k",
        "dry-run": "n",
        "just-print": "n", "recon": "n", "question": "q", "touch": "t", "eval": "E", "help": "h",
        "version": "v", "include-dir": "I",
        "environment-overrides": "e",
    },
)  # fmt: skip


def make(call: Call) -> Analysis:
    """make and gmake"""
    options = parse((*_flags(call.env.get("MAKEFLAGS", "")), *call.argv[1:]), TABLE)
    if options.has("h", "v"):
        return Analysis(status=0)
    process = Process(call, inline=True)
    for directory in options.values("C"):
        if process.chdir(directory) is False:
            return Analysis(status=2)
    run = Run(process, options)
    if not run.load(options):
        return Analysis(status=2)
    run.everything()
    return process.result(run.status)._replace(output=_output(run))


def _flags(given: Text) -> list[Text]:
    """The options and variables of MAKEFLAGS; the first word may be letters without a dash."""
    words: list[Text] = list(given.split()) if isinstance(given, str) else []
    lettered = isinstance(given, str) and not given.startswith(" ")
    if lettered and words and isinstance(words[0], str) and "=" not in words[0] and not words[0].startswith("-"):
        words[0] = "-" + words[0]
    return [word for word in words if word != "--"]


def _output(run: Run) -> Text:
    return unknown("unknown-output", "make")


class Run:
    """One run of make: what has been made, and whether something failed."""

    def __init__(self, process: Process, options: Options) -> None:
        self.process = process
        self.options = options
        self.status: int | None = 0
        self.made: dict[str, bool] = {}  # target -> it has been made anew
        self.recipes = 0
        self.stopped = False
        given: dict[str, Text] = {}
        self.goals: list[str] = []
        for word in options.operands:
            start = word if isinstance(word, str) else word.prefix
            name, equals, _ = start.partition("=")
            if equals:
                given[name.rstrip(":+?!")] = _behind(word, len(name) + 1)
            elif isinstance(word, str):
                self.goals.append(word)
        self.given = given
        environ = {**process.env, "CURDIR": process.here.cwd, "MAKECMDGOALS": " ".join(self.goals)}
        self.makefile = Makefile(self._read, self._ask, self._find, given, environ, options.has("e"))

    def load(self, options: Options) -> bool:
        """Reads the makefiles; False when there is none."""
        for text in options.values("E"):
            self.makefile.lines(str(text).splitlines())
        files = options.values("f") or tuple(name for name in NAMES if self.process.here.exists(name))[:1]
        found = False
        for file in files:
            if file == "-" and isinstance(self.process.here.stdin, str):
                self.makefile.lines(self.process.here.stdin.split("\n"))
                found = True
            elif isinstance(file, str):
                self.makefile.variables["MAKEFILE_LIST"] = (file, True)
                found = self.makefile.include(file) or found
        self.makefile.end()
        return found or bool(options.values("E"))

    def everything(self) -> None:
        """Makes the goals."""
        rules = self.makefile.rules
        chosen = self.makefile.variables.get(".DEFAULT_GOAL", ("", True))[0]
        named = [
            target for rule in rules for target in rule.targets
            if not (target.startswith(".") and "/" not in target) and "%" not in target and not rule.variables
        ]  # fmt: skip
        goals = self.goals or str(self.makefile.expand(chosen)).split() or named[:1]
        for goal in goals:
            if not self.stopped:
                self.target(goal, 0)

    def target(self, name: str, depth: int) -> bool:
        """Makes a target after all that it needs; True when it is new."""
        if name in self.made:
            return self.made[name]
        self.made[name] = False
        rules = [rule for rule in self.makefile.rules if name in rule.targets]
        variables = [rule for rule in rules if rule.variables]
        rules = [rule for rule in rules if not rule.variables]
        if depth > DEPTH or (not rules and not self._by_pattern(name)):
            return False
        kept = dict(self.makefile.variables)
        for rule in variables:
            self.makefile.bind(rule.variables)
        self._make(name, rules, depth)
        self.makefile.variables = kept
        return self.made[name]

    def _make(self, name: str, rules: list[Rule], depth: int) -> None:
        if not any(rule.recipe for rule in rules):
            rules = [*rules, *self._by_pattern(name)[:1]]
        needs = list(dict.fromkeys(need for rule in rules for need in _needs(rule, name)))
        fresh = [self.target(need, depth + 1) for need in needs]
        if self.stopped and not self.options.has("k"):
            return
        if not self._due(name, needs, any(fresh)):
            return
        self.made[name] = True
        for rule in [rule for rule in rules if rule.recipe][-1:]:
            self._recipe(rule, name, needs)

    def _by_pattern(self, name: str) -> list[Rule]:
        """The pattern rules for a target whose needs exist or can be made."""
        found = []
        for rule in self.makefile.rules:
            for pattern in rule.targets:
                stem = fits(pattern, name) if "%" in pattern else None
                if stem is not None and rule.recipe:
                    needs = tuple(need.replace("%", stem, 1) for need in rule.needs)
                    if all(self.process.here.exists(n) or any(n in r.targets for r in self.makefile.rules) for n in needs):
                        found.append(rule._replace(needs=needs, stem=stem))
        return found

    def _due(self, name: str, needs: list[str], fresh: bool) -> bool:
        """True unless the target surely is up to date."""
        phony = any(name in rule.needs for rule in self.makefile.rules if ".PHONY" in rule.targets)
        if phony or fresh or self.options.has("B") or not self.process.here.exists(name):
            return True
        own = self._time(name)
        times = [self._time(need) for need in needs]
        return own is None or any(time is None or time > own for time in times)

    def _time(self, name: str) -> int | None:
        where = self.process.here.where(name)
        found = None if where is None else self.process.here.view.lstat(where)
        return None if found is None else found.st_mtime_ns

    def _recipe(self, rule: Rule, name: str, needs: list[str]) -> None:
        """Runs the lines of a recipe, each with a shell of its own."""
        stem = rule.stem if "%" not in rule.stem else fits(rule.stem, name) or ""
        local: dict[str, Text] = {
            "@": name,
            "<": needs[0] if needs else "",
            "^": " ".join(needs),
            "+": " ".join(needs),
            "?": " ".join(needs),
        }
        local.update({"*": stem, "@D": name.rpartition("/")[0] or ".", "@F": name.rpartition("/")[2], "|": ""})
        local.update({"<D": str(local["<"]).rpartition("/")[0] or ".", "<F": str(local["<"]).rpartition("/")[2]})
        lines = list(rule.recipe)
        if any(".ONESHELL" in each.targets for each in self.makefile.rules):
            lines = ["\n".join(lines)]
        for line in lines:
            text = self.makefile.expand(line, local)
            for each in text.split("\n") if isinstance(text, str) and "$(" in line and "\n" not in line else [text]:
                if not self._line(each, line):
                    return

    def _line(self, text: Text, raw: str) -> bool:
        """Runs one line; False when make stops there."""
        start = text if isinstance(text, str) else text.prefix
        plain = start.lstrip(" \t@+-")
        marks = start[: len(start) - len(plain)]
        command = _behind(text, len(marks))
        anyway = "+" in marks or "$(MAKE)" in raw or "${MAKE}" in raw
        self.recipes += 1
        if command == "" or self.recipes > RECIPES or (self.options.has("n", "q", "t") and not anyway):
            return True
        result = self._shell(command)
        if result.status is None:
            self.status = None if self.status == 0 else self.status
        elif result.status and "-" not in marks and not self.options.has("i"):
            self.status, self.stopped = 2, True
            return False
        return True

    def _shell(self, command: Text) -> Analysis:
        """Runs a text with the shell that SHELL names; a plain command needs none."""
        shell, flags = self.makefile.value("SHELL"), self.makefile.value(".SHELLFLAGS")
        if shell in ("/bin/sh", "sh", "") and flags in ("-c", "-ec", ""):
            return self.process.shell(command, env=self._environment())
        words: list[Text] = [shell, *(flags.split() if isinstance(flags, str) else [flags]), command]
        return self.process.run(tuple(words), env=self._environment())

    def _environment(self) -> Mapping[str, Text]:
        names = (
            self.makefile.exported
            if ".EXPORT_ALL_VARIABLES" not in {t for r in self.makefile.rules for t in r.targets}
            else set(self.makefile.variables)
        )
        own = {
            name: self.makefile.expand(self.makefile.variables[name][0])
            for name in names
            if name in self.makefile.variables and name.isidentifier()
        }
        letters = "".join(letter for letter in "Beiknqt" if self.options.has(letter))
        given = [
            f"{name}={value}" for name, value in self.given.items() if isinstance(value, str) and not set(value) & set(" \t\\$")
        ]
        flags = " ".join([letters, *(["--", *given] if given else [])])
        return {
            **self.process.env,
            **own,
            "MAKEFLAGS": flags.strip() if letters else " " + flags.strip() if flags.strip() else "",
        }

    def _read(self, path: str) -> bytes | None:
        return self.process.here.read(path)

    def _ask(self, text: Text) -> Text:
        """What $(shell ...) gives: lines become words."""
        output = self._shell(text).output if hasattr(self, "makefile") else self.process.shell(text).output
        return output.rstrip("\n").replace("\n", " ") if isinstance(output, str) else _lined(output)

    def _find(self, pattern: str) -> list[str]:
        from guard.tools.pathnames import matches

        if set(pattern) & set("*?["):
            return [str(path) for path in matches(self.process, pattern)]
        return [pattern] if self.process.here.exists(pattern) else []


def _lined(output: Pattern) -> Text:
    return join(*(piece.replace("\n", " ") if isinstance(piece, str) else Pattern((piece,)) for piece in output.pieces))


def _needs(rule: Rule, name: str) -> list[str]:
    """What a target of the rule needs; a static pattern puts its stem in."""
    if "%" not in rule.stem:
        return list(rule.needs)
    stem = fits(rule.stem, name)
    return [need.replace("%", stem, 1) if stem is not None else need for need in rule.needs]


def _behind(word: Text, at: int) -> Text:
    if isinstance(word, str):
        return word[at:]
    kept = (word.prefix[at:], *word.pieces[1:])
    return Pattern(tuple(piece for piece in kept if piece != ""))
