"""grep and its kin (ripgrep too): which lines or files they name."""

from __future__ import annotations

from guard import expressions as re
from guard.effects import Analysis, Pattern, Text
from guard.overlay import DIRECTORY, FILE, SYMLINK
from guard.paths import child
from guard.tools.call import analysis
from guard.tools.options import Options, Table, parse
from guard.tools.patterns import PatternError, Regex, glob, perl, posix
from guard.tools.reading import CHARACTERS, FILES, UnknownOutputError, decoded, lines, one, shrug

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from guard.tools.call import Call

ENTRIES = 5000  # entries of directories that a recursive search looks at; past them its output is unknown
_LONG = {
    "extended-regexp": "E", "fixed-strings": "F", "basic-regexp": "G", "perl-regexp": "P", "regexp": "e", "file": "f",
    "ignore-case": "i", "no-ignore-case": "", "invert-match": "v", "word-regexp": "w", "line-regexp": "x", "count": "c",
    "color": "?", "colour": "?", "files-without-match": "L", "files-with-matches": "l", "max-count": "m", "only-matching": "o",
    "quiet": "q", "silent": "q", "no-messages": "s", "byte-offset": "b", "with-filename": "H", "no-filename": "h", "label": "=",
    "line-number": "n", "initial-tab": "T", "null": "Z", "after-context": "A", "before-context": "B", "context": "C", "text": "a",
    "binary-files": "=", "devices": "D", "directories": "d", "exclude": "=", "exclude-from": "=", "exclude-dir": "=",
    "include": "=",
    "recursive": "r", "dereference-recursive": "R", "line-buffered": "", "null-data": "z", "binary": "U", "version": "V",
    "help": "",
}  # fmt: skip
_FLAGS, _VALUES = "EFGPiyvwxcLlqsobHhnTZaIrRzUV", "efmABCDd"
GREP = Table(
    flags=_FLAGS,
    values=_VALUES,
    long={name: "=" if letter in _VALUES and letter else letter if letter in "=?" else "" for name, letter in _LONG.items()},
    same={name: letter for name, letter in _LONG.items() if letter not in ("", "=", "?")},
)
RIPGREP = Table(
    flags="aFhHiIlLnNopPqsSUuvwxz0.cV",
    values="ABCEefgjmMrtTd",
    long={
        "files": "", "files-with-matches": "", "files-without-match": "", "fixed-strings": "", "hidden": "", "ignore-case": "",
        "invert-match": "", "line-number": "", "no-line-number": "", "no-filename": "", "with-filename": "", "no-ignore": "",
        "only-matching": "", "pcre2": "", "quiet": "", "smart-case": "", "case-sensitive": "", "unrestricted": "",
        "word-regexp": "",
        "line-regexp": "", "null": "", "count": "", "count-matches": "", "no-heading": "", "heading": "", "json": "",
        "vimgrep": "",
        "text": "", "no-messages": "", "follow": "", "glob": "=", "iglob": "=", "type": "=", "type-not": "=", "regexp": "=",
        "file": "=", "max-depth": "=", "max-count": "=", "color": "=", "colors": "=", "sort": "=", "sortr": "=", "replace": "=",
        "after-context": "=", "before-context": "=", "context": "=", "pre": "=", "pre-glob": "=", "trim": "", "stats": "",
        "multiline": "", "no-ignore-vcs": "", "version": "", "help": "", "type-list": "", "column": "", "threads": "=",
    },
    same={
        "files-with-matches": "l", "fixed-strings": "F", "ignore-case": "i", "invert-match": "v", "line-number": "n",
        "no-filename": "I", "with-filename": "H", "only-matching": "o", "quiet": "q", "smart-case": "S", "unrestricted": "u",
        "word-regexp": "w", "line-regexp": "x", "null": "0", "count": "c", "glob": "g", "regexp": "e", "file": "f",
        "max-count": "m",
        "hidden": ".", "follow": "L", "after-context": "A", "before-context": "B", "context": "C", "no-line-number": "N",
    },
)  # fmt: skip


class Matcher:
    """The patterns of one call, asked about one line."""

    def __init__(self, found: list[Regex], inverted: bool, whole_line: bool, whole_word: bool) -> None:
        self._found = found
        self.inverted = inverted
        self._line = whole_line
        self._word = whole_word

    def selects(self, line: str) -> bool:
        """True when grep would print the line; raises UnknownOutputError where matching could take too long."""
        return self.inverted != any(True for _ in self.parts(line))

    def parts(self, line: str) -> Iterator[str]:
        """The parts of the line that match, none of which overlap those before."""
        for regex in self._found:
            if not regex.affordable(len(line)):
                raise UnknownOutputError
            if self._line:
                if found := regex.search.fullmatch(line):
                    yield found[0]
                continue
            for found in regex.search.finditer(line):
                if not self._word or self._alone(line, found.start(), found.end()):
                    yield found[0]

    @staticmethod
    def _alone(line: str, start: int, end: int) -> bool:
        return not re.match(r"\w", line[start - 1 : start]) and not re.match(r"\w", line[end : end + 1])


def grep(call: Call) -> Analysis:
    """The lines or names that grep, egrep, fgrep or rgrep prints."""
    name = str(call.argv[0]).rpartition("/")[2]
    options = parse(_numbers(call.argv[1:]), GREP)
    kind = {"egrep": "E", "fgrep": "F"}.get(name, options.last("E", "F", "G", "P") or "G")
    recursive = name == "rgrep" or options.has("r", "R") or options.value("d") == "recurse"
    return _answered(call, options, kind, recursive, "")


def ripgrep(call: Call) -> Analysis:
    """The lines or names that rg prints. What ignore files take out is left in."""
    options = parse(call.argv[1:], RIPGREP)
    program = options.value("pre")
    if program:
        call.run((program,), stdin=None)
    if options.has("type", "t", "T", "type-not", "r", "replace", "pre", "json", "stats", "files-without-match"):
        return shrug(call)
    if options.has("files"):
        options = options._replace(given=(*options.given, ("l", "")), operands=("", *options.operands))
    if options.has("g"):
        globs = tuple(("include", value) for name, value in options.given if name == "g" and not str(value).startswith("!"))
        barred = tuple(
            (part, str(value)[1:])
            for name, value in options.given
            if name == "g" and str(value).startswith("!")
            for part in ("exclude", "exclude-dir")
        )
        options = options._replace(given=(*options.given, *globs, *barred))
    fold = options.has("S") and str(options.operands[:1]).islower()
    if fold:
        options = options._replace(given=(*options.given, ("i", "")))
    return _answered(call, options, "F" if options.has("F") else "P", True, "" if options.has(".", "u") else ".*")


def _numbers(words: tuple[Text, ...]) -> tuple[Text, ...]:
    """The old form of context, -5, in the new one."""
    return tuple("-C" + word[1:] if isinstance(word, str) and re.fullmatch(r"-\d+", word) else word for word in words)


def _answered(call: Call, options: Options, kind: str, recursive: bool, hidden: str) -> Analysis:
    operands = options.operands
    try:
        if options.strange or options.has("V", "help", "version"):
            raise UnknownOutputError
        if not options.has("e", "f"):
            if not operands:
                return analysis(status=2)
            patterns, operands = [operands[0]], operands[1:]
        else:
            patterns = [*options.values("e"), *(_from_file(call, file) for file in options.values("f"))]
        matcher = _matcher(patterns, kind, options)
        files, missing = _files(call, options, operands, recursive, hidden)
        output, selected = _printed(call, options, matcher, files, named=recursive or len(operands) > 1)
    except (UnknownOutputError, PatternError, ValueError, OverflowError):
        return shrug(call)._replace(output="") if options.has("q") else shrug(call)
    if options.has("q"):
        output = ""
    return analysis(output=output, status=0 if selected else 2 if missing else 1)


def _from_file(call: Call, file: Text) -> str:
    text = one(call, file)
    if text is None:
        raise UnknownOutputError
    return text.removesuffix("\n")


def _matcher(patterns: list[Text], kind: str, options: Options) -> Matcher:
    found = []
    fold = options.has("i", "y")
    for pattern in patterns:
        if isinstance(pattern, Pattern):
            raise UnknownOutputError
        for line in pattern.split("\n"):
            if kind == "F":
                found.append(Regex(re.compile(re.escape(line), re.I if fold else 0), 0, 0))
            elif kind == "P":
                found.append(perl(line, fold))
            else:
                found.append(posix(line, kind == "E", fold))
    return Matcher(found, options.has("v"), options.has("x"), options.has("w"))


def _files(
    call: Call, options: Options, operands: tuple[Text, ...], recursive: bool, hidden: str
) -> tuple[list[tuple[str, str]], bool]:
    """The name and text of all that is searched, and whether an operand was missing."""
    if len(operands) > FILES:
        raise UnknownOutputError
    found: list[tuple[str, str]] = []
    missing = False
    names = operands or (("",) if recursive and (call.stdin is None or options.has("files") or not hidden) else ("-",))
    for operand in names:
        if isinstance(operand, Pattern):
            raise UnknownOutputError
        if recursive and call.is_dir(operand or "."):
            found += _below(call, options, operand, hidden)
            continue
        if not call.is_dir(operand):
            text = one(call, operand)
            missing |= text is None
            found += [("(standard input)" if operand == "-" else operand, text)] if text is not None else []
    return found, missing


def _below(call: Call, options: Options, top: str, hidden: str) -> list[tuple[str, str]]:
    """The texts below a directory."""
    found: list[tuple[str, str]] = []
    included = [glob(str(pattern)) for pattern in options.values("include")]
    excluded = [glob(str(pattern)) for pattern in options.values("exclude")] + ([glob(hidden)] if hidden else [])
    barred = [glob(str(pattern).rstrip("/")) for pattern in options.values("exclude-dir")] + ([glob(hidden)] if hidden else [])
    seen = size = 0
    todo = [(call.where(top or "."), top.rstrip("/") + "/" if top else "")]
    while todo:
        directory, shown = todo.pop()
        inner = []
        for name, kind in call.view.scan(directory or "/") or ():
            path = child(directory or "/", name)
            seen += 1
            if kind == SYMLINK and options.has("R"):
                path = call.view.through(path)
                kind = call.view.kind(path) or kind
            if kind == DIRECTORY and not any(each.fullmatch(name) for each in barred):
                inner.append((path, shown + name + "/"))
            if kind != FILE or any(each.fullmatch(name) for each in excluded):
                continue
            if included and not any(each.fullmatch(name) for each in included):
                continue
            data = call.view.read(path) if not options.has("files") else b""
            size += len(data or b"")
            if data is None or size > CHARACTERS or len(found) > FILES or seen > ENTRIES or call.view.budget.left < 0.3:
                raise UnknownOutputError
            found.append((shown + name, decoded(data)))
        todo += inner[::-1]
    return found


def _printed(call: Call, options: Options, matcher: Matcher, files: list[tuple[str, str]], named: bool) -> tuple[str, bool]:
    """What is written, and whether anything was selected."""
    out: list[str] = []
    selected = False
    prefixed = (named and not options.has("h", "I")) or options.has("H")
    for name, text in files:
        call.view.budget.spend(1 + len(text) // 1000)
        if options.has("files"):
            out.append(name + ("\0" if options.has("0") else "\n"))
            selected = True
            continue
        rows = _selected(options, matcher, text)
        selected |= bool(rows) != options.has("L")
        if options.has("l", "L"):
            end = "\0" if options.has("Z", "0") else "\n"
            out += [name + end] if bool(rows) != options.has("L") else []
        elif options.has("c"):
            out.append((name + ":" if prefixed else "") + f"{len(rows)}\n")
        elif rows:
            out.append(_shown(options, matcher, rows, name + ":" if prefixed else "", text))
    return "".join(out), selected


def _selected(options: Options, matcher: Matcher, text: str) -> list[tuple[int, str]]:
    limit = options.value("m")
    if limit is not None and not (isinstance(limit, str) and limit.isdecimal()):
        raise UnknownOutputError
    rows = text.removesuffix("\0").split("\0") if options.has("z") else lines(text)
    found = [(number, row) for number, row in enumerate(rows, 1) if matcher.selects(row)]
    return found[: int(limit)] if isinstance(limit, str) else found


def _shown(options: Options, matcher: Matcher, rows: list[tuple[int, str]], prefix: str, text: str) -> str:
    if options.has("A", "B", "C", "b", "T", "Z", "0") or ("\0" in text and not options.has("a", "z", "text")):
        raise UnknownOutputError
    end = "\0" if options.has("z") else "\n"
    out = []
    for number, row in rows:
        head = prefix + (f"{number}:" if options.has("n") else "")
        parts = [part for part in matcher.parts(row) if part] if options.has("o") else [row]
        out += [] if options.has("o") and matcher.inverted else [head + part + end for part in parts]
    return "".join(out)
