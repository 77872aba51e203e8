"""find's command line: options, starting points, and the expression as one function of search and entry."""

from __future__ import annotations

import sys

from guard import expressions as re
from guard.effects import Pattern, Text, join, unknown
from guard.tools.find_tests import FLAGS, REFERENCES, STRANGE_FLAGS, STRANGE_VALUES, VALUES, Entry, UsageError, build, regex
from guard.tools.patterns import literal_end

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NamedTuple

    from guard.tools.call import Call
    from guard.tools.find import Search
    from guard.tools.find_tests import Test

    Node = Callable[[Search, Entry], bool | None]
else:
    from guard.record import NamedTuple

_NOT, _AND, _OR = ("!", "-not"), ("-a", "-and"), ("-o", "-or")
_OPTIONS = ("-daystart", "-noleaf", "-warn", "-nowarn", "-ignore_readdir_race", "-noignore_readdir_race")
_EXECS = ("-exec", "-execdir", "-ok", "-okdir")
_ENDLESS = 1 << 30


class Command(NamedTuple):
    """The command of an -exec: `batch` for the form with +, `in_directory` for -execdir, `asks` for -ok."""

    argv: tuple[Text, ...]
    batch: bool
    in_directory: bool
    asks: bool

    def filled(self, names: tuple[Text, ...]) -> tuple[Text, ...]:
        """The command with the names in the places of {}."""
        if self.batch:
            return (*self.argv[:-1], *names)
        words: list[Text] = []
        for word in self.argv:
            words += names if word == "{}" else [_filled(word, names[0])]
        return tuple(words)

    def can_batch(self, shells: set[str]) -> bool:
        """True when running it once with many names does the same as many runs."""
        name = self.argv[0]
        plain = all(word == "{}" or "{}" not in str(word) for word in self.argv)
        return plain and self.argv[-1] == "{}" and isinstance(name, str) and name.rpartition("/")[2] not in shells


class Expression:
    """What a command line of find means."""

    def __init__(self) -> None:
        self.starts: tuple[Text, ...] = ()
        self.starts_file: Text | None = None
        self.follow = "P"
        self.depth_first = self.one_device = self.deletes = False
        self.least, self.deepest = 0, _ENDLESS
        self.commands: list[Command] = []
        self.files: list[Text] = []
        self.ending = ""  # what every path that reaches an action ends with, as far as that is plain
        self.separator: str | None = "\n"  # what follows each path that is printed, None where more than paths is
        self.regextype = "emacs"
        self.acts = False
        self.root: Node = _print


def parse(call: Call) -> Expression:
    """Reads find's arguments; raises UsageError where find would refuse them."""
    found = Expression()
    rest = list(call.argv[1:])
    while rest and isinstance(rest[0], str) and re.fullmatch(r"-[HLP]|-O\d?|-D", rest[0]):
        option = str(rest.pop(0))
        if option in ("-H", "-L", "-P"):
            found.follow = option[1]
        elif option == "-D" and rest:
            rest.pop(0)
    if rest and rest[0] == "--":
        rest.pop(0)
    count = next((at for at, word in enumerate(rest) if _begins(word)), len(rest))
    found.starts, words = tuple(rest[:count]), rest[count:]
    if "-delete" in words and "-prune" in words and "-depth" not in words and sys.platform == "linux":
        raise UsageError("-prune does nothing, as -delete turns on -depth")
    if words:
        reader = _Reader(found, words, call)
        root = reader.commas()
        if reader.words:
            raise UsageError(str(reader.words[0]))
        found.root = root if found.acts else _both(root, _print)
        found.ending = _ending(words)
    return found


def _begins(word: Text) -> bool:
    """True for the word that ends the starting points."""
    start = word if isinstance(word, str) else word.prefix
    return (start.startswith("-") and word != "-") or word in ("(", ")", ",", "!")


def _ending(words: list[Text]) -> str:
    """How the paths end that reach the actions, where the expression is a plain chain with a -name or -path."""
    if any(word in (*_NOT, *_OR, "(", ",") for word in words):
        return ""
    for at, word in enumerate(words[:-1]):
        if word in _EXECS or word == "-delete":
            break
        pattern = words[at + 1]
        if word in ("-name", "-path", "-wholename") and isinstance(pattern, str):
            return literal_end(pattern)
    return ""


def _filled(word: Text, name: Text) -> Text:
    pieces: list[Text] = []
    for piece in (word,) if isinstance(word, str) else word.pieces:
        if not isinstance(piece, str):
            pieces.append(Pattern((piece,)))
            continue
        first, *others = piece.split("{}")
        pieces.append(first)
        for other in others:
            pieces += [name, other]
    return join(*pieces)


def _print(search: Search, entry: Entry) -> bool:
    return search.put(entry, entry.shown + "\n")


def _both(first: Node, second: Node) -> Node:
    def node(search: Search, entry: Entry) -> bool | None:
        left = first(search, entry)
        if left is not None:
            return left and second(search, entry)
        was, entry.certain = entry.certain, False
        right = second(search, entry)
        entry.certain = was
        return False if right is False else None

    return node


def _either(first: Node, second: Node) -> Node:
    def node(search: Search, entry: Entry) -> bool | None:
        left = first(search, entry)
        if left is not None:
            return left or second(search, entry)
        was, entry.certain = entry.certain, False
        right = second(search, entry)
        entry.certain = was
        return True if right else None

    return node


def _sequence(first: Node, second: Node) -> Node:
    def node(search: Search, entry: Entry) -> bool | None:
        first(search, entry)
        return second(search, entry)

    return node


def _negated(inner: Node) -> Node:
    def node(search: Search, entry: Entry) -> bool | None:
        value = inner(search, entry)
        return None if value is None else not value

    return node


def _tested(test: Test) -> Node:
    return lambda search, entry: test(entry)


class _Reader:
    """Reads the words of an expression by its grammar, the weakest operator first."""

    def __init__(self, found: Expression, words: list[Text], call: Call) -> None:
        self.found = found
        self.words = words[:]
        self.call = call

    def take(self, *names: str) -> bool:
        if self.words and self.words[0] in names:
            self.words.pop(0)
            return True
        return False

    def value(self, name: str) -> Text:
        if not self.words:
            raise UsageError(name)
        return self.words.pop(0)

    def commas(self) -> Node:
        node = self.alternatives()
        while self.take(","):
            node = _sequence(node, self.alternatives())
        return node

    def alternatives(self) -> Node:
        node = self.chain()
        while self.take(*_OR):
            node = _either(node, self.chain())
        return node

    def chain(self) -> Node:
        node = self.factor()
        while self.words and self.words[0] not in (*_OR, ",", ")"):
            self.take(*_AND)
            node = _both(node, self.factor())
        return node

    def factor(self) -> Node:
        if self.take(*_NOT):
            return _negated(self.factor())
        if self.take("("):
            node = self.commas()
            if not self.take(")"):
                raise UsageError("(")
            return node
        return self.primary(self.value("expression"))

    def primary(self, word: Text) -> Node:
        if not isinstance(word, str):
            return _tested(lambda entry: None)
        if word in FLAGS:
            return _tested(FLAGS[word])
        if word in VALUES or word in REFERENCES:
            return _tested(build(word, self.value(word), self.call, self.found.follow != "P"))
        if word in _EXECS:
            return self.execution(word)
        if word in STRANGE_FLAGS:
            return _tested(lambda entry: None)
        if word in ("-regex", "-iregex"):
            pattern = self.value(word)
            test = regex(pattern, self.found.regextype, word == "-iregex") if isinstance(pattern, str) else _unsure
            return _tested(test)
        return self.option(word) or self.action(word)

    def option(self, word: str) -> Node | None:
        """The words that set something for the whole search and are true."""
        found = self.found
        if word in ("-depth", "-d"):
            found.depth_first = True
        elif word in ("-xdev", "-mount", "-x"):
            found.one_device = True
        elif word == "-follow":
            found.follow = "L"
        elif word in ("-maxdepth", "-mindepth"):
            self.limit(word, self.value(word))
        elif word == "-regextype":
            found.regextype = str(self.value(word))
        elif word == "-files0-from":
            found.starts_file = self.value(word)
        elif word in STRANGE_VALUES:
            self.value(word)
            return _tested(_unsure)
        elif word not in _OPTIONS:
            return None
        return _tested(lambda entry: True)

    def limit(self, word: str, value: Text) -> None:
        if not isinstance(value, str):
            return
        if not value.isdecimal():
            raise UsageError(value)
        if word == "-maxdepth":
            self.found.deepest = min(int(value), _ENDLESS)
        else:
            self.found.least = min(int(value), _ENDLESS)

    def action(self, word: str) -> Node:
        found = self.found
        if word == "-prune":
            return lambda search, entry: search.prune(entry)
        if word == "-quit":
            return lambda search, entry: search.quit(entry)
        found.acts = True
        if word == "-delete":
            found.deletes = found.depth_first = True
            return lambda search, entry: search.delete(entry)
        if word in ("-print", "-print0"):
            end = "\n" if word == "-print" else "\0"
            found.separator = end
            return lambda search, entry: search.put(entry, entry.shown + end)
        if word == "-ls":
            found.separator = None
            return lambda search, entry: search.put(entry, unknown("unknown-output", "find -ls"))
        if word == "-printf":
            form = self.value(word)
            found.separator = None
            return lambda search, entry: search.put(entry, formatted(form, entry))
        if word in ("-fprint", "-fprint0", "-fls", "-fprintf"):
            return self.file_action(word)
        raise UsageError(word)

    def file_action(self, word: str) -> Node:
        file = self.value(word)
        form = self.value(word) if word == "-fprintf" else ""
        if file not in self.found.files:
            self.found.files.append(file)
        if word == "-fprintf":
            return lambda search, entry: search.put(entry, formatted(form, entry), file)
        if word == "-fls":
            return lambda search, entry: search.put(entry, unknown("unknown-output", word), file)
        end = "\n" if word == "-fprint" else "\0"
        return lambda search, entry: search.put(entry, entry.shown + end, file)

    def execution(self, word: str) -> Node:
        argv: list[Text] = []
        asks = word.startswith("-ok")
        while True:
            following = self.value(word)
            if following == ";" or (following == "+" and argv and argv[-1] == "{}" and not asks):
                break
            argv.append(following)
        if not argv:
            raise UsageError(word)
        self.found.acts = True
        self.found.commands.append(Command(tuple(argv), following == "+", word.endswith("dir"), asks))
        number = len(self.found.commands) - 1
        return lambda search, entry: search.execute(number, entry)


def _unsure(entry: Entry) -> None:
    return None


_ESCAPES = {"n": "\n", "t": "\t", "0": "\0", "\\": "\\", "a": "\a", "b": "\b", "f": "\f", "r": "\r", "v": "\v"}


def formatted(form: Text, entry: Entry) -> Text:
    """What -printf writes for an entry; unknown where a directive is not one of the plain ones."""
    if not isinstance(form, str):
        return unknown("unknown-output", "find -printf")
    pieces: list[Text] = []
    for plain, escape, directive in re.findall(r"([^%\\]+)|\\(.?)|%(.?)", form, re.S):
        if escape == "c":
            break
        pieces.append(_directive(directive, entry) if directive else _ESCAPES.get(escape, "\\" + escape) if escape else plain)
    return join(*pieces)


def _directive(letter: str, entry: Entry) -> Text:
    found = entry.stat()
    below = entry.shown[len(entry.start) :].lstrip("/")
    directory, slash, _ = entry.shown.rstrip("/").rpartition("/")
    values: dict[str, Text] = {
        "%": "%",
        "p": entry.shown,
        "f": entry.name,
        "P": below,
        "H": entry.start,
        "h": directory if slash else ".",
        "d": str(entry.depth),
        "y": entry.letter(),
        "l": entry.view.readlink(entry.path) or "",
    }
    if found is not None:
        values |= {"s": str(found.st_size), "i": str(found.st_ino), "n": str(found.st_nlink), "m": f"{found.st_mode & 0o7777:o}"}
        values |= {"U": str(found.st_uid), "G": str(found.st_gid), "D": str(found.st_dev)}
    return values.get(letter) or ("" if letter in values else unknown("unknown-output", "find -printf"))
