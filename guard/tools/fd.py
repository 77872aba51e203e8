"""fd (fdfind): names by pattern, with -x and -X to run a command on them."""

from __future__ import annotations

from guard import expressions as re
from guard.effects import Analysis, Hole, Pattern, Text, join, unknown
from guard.overlay import DIRECTORY, FILE, SYMLINK
from guard.paths import child
from guard.tools.call import analysis
from guard.tools.options import Options, Table, parse
from guard.tools.patterns import PatternError, glob, perl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from guard.tools.call import Call

TABLE = Table(
    flags="HIusiFapgLlq01hV",
    values="dteESojc",
    long={
        "hidden": "", "no-ignore": "", "no-ignore-vcs": "", "no-ignore-parent": "", "no-global-ignore-file": "",
        "unrestricted": "",
        "case-sensitive": "", "ignore-case": "", "glob": "", "regex": "", "fixed-strings": "", "absolute-path": "",
        "full-path": "",
        "follow": "", "list-details": "", "print0": "", "quiet": "", "show-errors": "", "one-file-system": "", "prune": "",
        "max-depth": "=", "min-depth": "=", "exact-depth": "=", "type": "=", "extension": "=", "exclude": "=", "size": "=",
        "owner": "=", "color": "=", "threads": "=", "max-results": "=", "changed-within": "=", "changed-before": "=",
        "change-newer-than": "=", "newer": "=", "base-directory": "=", "search-path": "=", "path-separator": "=", "and": "=",
        "ignore-file": "=", "strip-cwd-prefix": "?", "batch-size": "=", "help": "", "version": "",
    },
    same={
        "hidden": "H", "no-ignore": "I", "unrestricted": "u", "case-sensitive": "s", "ignore-case": "i", "glob": "g",
        "fixed-strings": "F", "absolute-path": "a", "full-path": "p", "follow": "L", "list-details": "l", "print0": "0",
        "max-depth": "d", "type": "t", "extension": "e", "exclude": "E", "size": "S", "quiet": "q",
    },
)  # fmt: skip
_EXECS = ("-x", "--exec", "-X", "--exec-batch")
_TYPES = {"f": FILE, "file": FILE, "d": DIRECTORY, "directory": DIRECTORY, "dir": DIRECTORY, "l": SYMLINK, "symlink": SYMLINK}
_UNSURE = (
    "S",
    "owner",
    "changed-within",
    "changed-before",
    "change-newer-than",
    "newer",
    "one-file-system",
    "ignore-file",
    "and",
)


def fd(call: Call) -> Analysis:
    """What fd would run; without a command it only prints."""
    words = call.argv[1:]
    at = next((i for i, word in enumerate(words) if word in _EXECS), len(words))
    command = words[at + 1 :]
    if command and command[-1] == ";":
        command = command[:-1]
    options = parse(words[:at], TABLE)
    if options.has("help", "version", "h", "V"):
        return analysis(output=unknown("unknown-output", "fd"), status=0)
    names = list(_names(call, options))
    if not command:
        end = "\0" if options.has("0") else "\n"
        return analysis(output=join(*(join(name, end) for name in names)))
    where = call.path(options.value("base-directory") or ".")
    groups = [names] if names and words[at] in ("-X", "--exec-batch") else [[name] for name in names]
    runs = [_filled(command, group) for group in groups]
    outputs = [call.run(argv, cwd=where, stdin="").output for argv in runs]
    return analysis(output=join(*outputs))


def _names(call: Call, options: Options) -> Iterator[Text]:
    """The paths that match, as fd prints them."""
    base = options.value("base-directory")
    tops = (*options.values("search-path"), *options.operands[1:])
    for top in tops or ("",):
        place = call.where(join(base or ".", "/", top) if not str(top).startswith("/") else top)
        if not isinstance(top, str) or place is None:
            yield join(top, Pattern((Hole("unknown-directory", "fd"),)))
            continue
        matches = _matcher(options)
        prefix = top and top.rstrip("/") + "/"
        for path, kind in _walk(call, place, options, 1):
            shown = prefix + path[len(place) :].lstrip("/")
            if matches(path if options.has("p") else path.rpartition("/")[2], kind):
                yield path if options.has("a") else "./" + shown if not top and shown.startswith("-") else shown


def _walk(call: Call, directory: str, options: Options, depth: int) -> Iterator[tuple[str, str]]:
    deepest = options.value("d", "exact-depth")
    if isinstance(deepest, str) and deepest.isdecimal() and depth > int(deepest):
        return
    least = options.value("min-depth", "exact-depth")
    excluded = [glob(pattern) for pattern in options.values("E") if isinstance(pattern, str)]
    for name, kind in call.view.scan(directory) or ():
        if (name.startswith(".") and not options.has("H", "u")) or any(pattern.fullmatch(name) for pattern in excluded):
            continue
        path = child(directory, name)
        if not (isinstance(least, str) and least.isdecimal() and depth < int(least)):
            yield path, kind
        if kind == DIRECTORY or (kind == SYMLINK and options.has("L") and depth < 40 and call.view.is_dir(path)):
            yield from _walk(call, path, options, depth + 1)


def _matcher(options: Options) -> Callable[[str, str], bool]:
    pattern = options.operands[0] if options.operands else ""
    kinds = {_TYPES.get(str(value), "") for value in options.values("t")}
    endings = tuple("." + str(value).lstrip(".").lower() for value in options.values("e"))
    search = _search(pattern, options) if isinstance(pattern, str) else None

    def matches(text: str, kind: str) -> bool:
        if kinds and "" not in kinds and kind not in kinds:
            return False
        if endings and not text.lower().endswith(endings):
            return False
        return search is None or search(text)

    return matches


def _search(pattern: str, options: Options) -> Callable[[str], bool] | None:
    """The pattern as a test of a name; None, which matches all, where it cannot be told."""
    fold = options.has("i") or (pattern == pattern.lower() and not options.has("s"))
    if options.has("g", "glob"):
        matches = glob(pattern, fold).fullmatch
        return lambda text: matches(text) is not None
    if options.has("F"):
        return lambda text: (pattern.lower() in text.lower()) if fold else (pattern in text)
    try:
        found = perl(pattern, fold).search.search
    except PatternError:
        return None
    return lambda text: found(text) is not None


def _filled(command: tuple[Text, ...], names: list[Text]) -> tuple[Text, ...]:
    """The command with names in the places of {} and its kin, behind it where there is none."""
    placeholders = re.compile(r"\{(|/|//|\.|/\.)\}")
    if not any(placeholders.search(word) for word in command if isinstance(word, str)):
        command = (*command, "{}")
    words: list[Text] = []
    for word in command:
        if not isinstance(word, str) or not placeholders.search(word):
            words.append(word)
        else:
            words += [_placed(word, name, placeholders) for name in names]
    return tuple(words)


def _placed(word: str, name: Text, placeholders: re.Pattern[str]) -> Text:
    if not isinstance(name, str):
        return name if word == "{}" else join(*(name if part in ("", "/") else part for part in placeholders.split(word)))
    directory, slash, last = name.rstrip("/").rpartition("/")
    stem = re.sub(r"(?<=.)\.[^./]*$", "", name)
    values = {"": name, "/": last, "//": directory if slash else ".", ".": stem, "/.": stem.rpartition("/")[2]}
    return placeholders.sub(lambda found: values[found[1]], word)
