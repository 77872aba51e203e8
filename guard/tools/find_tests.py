"""The tests of find: what each says of an entry, True, False, or None where it cannot be told."""

from __future__ import annotations

import os
import stat
import time

from guard import expressions as re
from guard.effects import Text
from guard.overlay import DIRECTORY, FILE, OTHER, SYMLINK, View
from guard.tools.patterns import PatternError, glob, posix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from guard.tools.call import Call

    Test = Callable[["Entry"], bool | None]

DAY = 86400
_LETTERS = {FILE: "f", DIRECTORY: "d", SYMLINK: "l", OTHER: "o"}
_BLOCKS = {"c": 1, "w": 2, "b": 512, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class UsageError(Exception):
    """find would refuse to start."""


class Entry:
    """A file that find looks at: its name as find prints it, where it is, how deep, and what find takes it for."""

    __slots__ = ("certain", "depth", "entry", "kind", "path", "shown", "start", "view")

    def __init__(self, view: View, shown: str, path: str, depth: int, kind: str, start: str, entry: str) -> None:
        self.view = view
        self.shown = shown
        self.path = path
        self.depth = depth
        self.kind = kind
        self.start = start
        self.entry = entry  # where unlink works: the link, where `path` is what it leads to
        self.certain = True  # False while an action runs behind a test that could not be told

    @property
    def name(self) -> str:
        """The last component, as -name sees it."""
        return self.shown.rstrip("/").rpartition("/")[2] or "/"

    def stat(self) -> os.stat_result | None:
        """The status that tests look at; None where the command itself made or will make the entry."""
        return self.view.lstat(self.path)

    def letter(self) -> str:
        """The type as -type spells it; "o" for what is no file, directory or link and cannot be told."""
        if self.kind != OTHER:
            return _LETTERS[self.kind]
        found = self.stat()
        return {"p": "p", "s": "s", "c": "c", "b": "b"}.get(stat.filemode(found.st_mode)[0], "o") if found else "o"


def constant(value: bool | None) -> Test:
    """A test that always says the same."""
    return lambda entry: value


def number(text: str) -> tuple[str, float]:
    """The sign and the value of a numeric argument: ("+", 3.0) for "+3"; raises UsageError."""
    matched = re.fullmatch(r"([+-]?)(\d+\.?\d*|\.\d+)", text)
    if matched is None:
        raise UsageError(text)
    return matched[1], float(matched[2])


def _compare(sign: str, wanted: float, value: float) -> bool:
    return value > wanted if sign == "+" else value < wanted if sign == "-" else value == wanted


def _name(pattern: str, fold: bool = False) -> Test:
    matches = glob(pattern, fold).fullmatch
    return lambda entry: matches(entry.name) is not None


def _path(pattern: str, fold: bool = False) -> Test:
    matches = glob(pattern, fold).fullmatch
    return lambda entry: matches(entry.shown) is not None


def _link_name(pattern: str, fold: bool = False) -> Test:
    matches = glob(pattern, fold).fullmatch

    def test(entry: Entry) -> bool | None:
        to = entry.view.readlink(entry.path)
        return to is not None and matches(to) is not None

    return test


def regex(pattern: str, kind: str, fold: bool = False) -> Test:
    """-regex: the whole path must match."""
    extended = kind in ("posix-extended", "posix-egrep", "egrep", "gnu-awk", "posix-awk", "awk")
    if not extended and kind not in ("posix-basic", "ed", "sed", "grep", "posix-minimal-basic"):
        pattern = re.sub(r"(\\.)|([+?])", lambda found: found[1] or "\\" + found[2], pattern)  # emacs: + and ? repeat
    try:
        found = posix(pattern, extended, fold)
    except PatternError:
        return constant(None)
    return lambda entry: found.search.fullmatch(entry.shown) is not None if found.affordable(len(entry.shown)) else None


def _type(letters: str) -> Test:
    wanted = letters.split(",")
    if any(letter not in ("f", "d", "l", "p", "s", "c", "b", "D") for letter in wanted):
        raise UsageError(letters)
    return lambda entry: entry.letter() in wanted


def _other_type(letters: str) -> Test:
    wanted = letters.split(",")

    def test(entry: Entry) -> bool | None:
        kind = entry.view.kind(entry.view.through(entry.path)) if entry.kind == SYMLINK else entry.kind
        return None if kind == OTHER else _LETTERS[kind or SYMLINK] in wanted

    return test


def _empty(entry: Entry) -> bool | None:
    if entry.kind == DIRECTORY:
        return entry.view.listdir(entry.path) == []
    if entry.kind != FILE:
        return False
    return _size_of(entry) == 0


def _size_of(entry: Entry) -> int | None:
    node = entry.view.lookup(entry.path)
    if node.kind == FILE and node.base is None:
        return None if node.content is None else len(node.content)
    found = entry.stat()
    return found.st_size if found else None


def _size(text: str) -> Test:
    unit = _BLOCKS.get(text[-1:], 0)
    sign, wanted = number(text[:-1] if unit else text)
    blocks = unit or 512

    def test(entry: Entry) -> bool | None:
        size = _size_of(entry)
        return None if size is None else _compare(sign, wanted, -(-size // blocks))

    return test


def _age(field: str, unit: int) -> Callable[[str], Test]:
    """-mtime and its kin count whole days since; -mmin and its kin compare minutes, with a window of one for equality."""

    def build(text: str) -> Test:
        sign, wanted = number(text)
        now = time.time()

        def test(entry: Entry) -> bool | None:
            found = entry.stat()
            if found is None:
                return None
            age: float = (now - getattr(found, field)) / unit
            if unit == DAY:
                return _compare(sign, wanted, age // 1)
            return age > wanted if sign == "+" else age < wanted if sign == "-" else wanted - 1 < age <= wanted

        return test

    return build


def _newer(field: str, other: str) -> Callable[[os.stat_result], Test]:
    def build(reference: os.stat_result) -> Test:
        against: float = getattr(reference, other)
        return _status(lambda found: bool(getattr(found, field) > against))

    return build


def _newer_than(field: str) -> Callable[[str], Test]:
    """-newerXt: later than a date, of which only the simple forms are read."""

    def build(date: str) -> Test:
        against = _moment(date)
        return constant(None) if against is None else _status(lambda found: bool(getattr(found, field) > against))

    return build


def _moment(date: str) -> float | None:
    if re.fullmatch(r"@\d+(\.\d+)?", date):
        return float(date[1:])
    for form in ("%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S"):
        try:
            return time.mktime(time.strptime(date, form))
        except (ValueError, OverflowError):
            continue
    return None


def _permissions(text: str) -> Test:
    sign = text[:1] if text[:1] in ("-", "/", "+") else ""
    bits = _mode(text[len(sign) :])
    if bits is None:
        return constant(None)

    def test(entry: Entry) -> bool | None:
        found = entry.stat()
        if found is None:
            return None
        mode = stat.S_IMODE(found.st_mode)
        return mode == bits if not sign else mode & bits == bits if sign == "-" else bits == 0 or mode & bits != 0

    return test


def _mode(text: str) -> int | None:
    """An octal mode, or a symbolic one of the simple kind (u=rw,g+x)."""
    if re.fullmatch(r"[0-7]{1,5}", text):
        return int(text, 8)
    bits = 0
    for part in text.split(","):
        matched = re.fullmatch(r"([ugoa]*)[=+]([rwx]*)", part)
        if matched is None:
            return None
        one = sum({"r": 4, "w": 2, "x": 1}[letter] for letter in set(matched[2]))
        whom = matched[1] if "a" not in matched[1] and matched[1] else "ugo"
        bits |= sum(one << {"u": 6, "g": 3, "o": 0}[letter] for letter in set(whom))
    return bits


def _access(bit: int) -> Test:
    """-readable, -writable, -executable: from the mode, as the kernel decides without access control lists."""

    def test(entry: Entry) -> bool | None:
        path = entry.view.through(entry.path)
        found = entry.view.lstat(path)
        if found is None:
            return None
        user = os.geteuid()
        if user == 0:
            return bit != 1 or found.st_mode & 0o111 != 0 or stat.S_ISDIR(found.st_mode)
        if user == found.st_uid:
            return found.st_mode & bit << 6 != 0
        member = found.st_gid in (os.getegid(), *os.getgroups())
        return found.st_mode & (bit << 3 if member else bit) != 0

    return test


def _owner(field: str) -> Callable[[str], Test]:
    def build(who: str) -> Test:
        wanted = int(who) if who.isdecimal() else _identity(field, who)
        if wanted is None:
            raise UsageError(who)
        return _status(lambda found: getattr(found, field) == wanted)

    return build


def _identity(field: str, who: str) -> int | None:
    """The number of a user's or group's name."""
    try:
        if field == "st_uid":
            import pwd

            return pwd.getpwnam(who).pw_uid
        import grp

        return grp.getgrnam(who).gr_gid
    except (KeyError, ValueError, ImportError):
        return None


def _status(test: Callable[[os.stat_result], bool]) -> Test:
    """A test of the status alone."""

    def on_entry(entry: Entry) -> bool | None:
        found = entry.stat()
        return None if found is None else test(found)

    return on_entry


def _count(field: str) -> Callable[[str], Test]:
    def build(text: str) -> Test:
        sign, wanted = number(text)
        return _status(lambda found: _compare(sign, wanted, getattr(found, field)))

    return build


def _same_file(reference: os.stat_result) -> Test:
    return _status(lambda found: (found.st_dev, found.st_ino) == (reference.st_dev, reference.st_ino))


FLAGS: dict[str, Test] = {
    "-true": constant(True),
    "-false": constant(False),
    "-empty": _empty,
    "-readable": _access(4),
    "-writable": _access(2),
    "-executable": _access(1),
    "-nouser": constant(None),
    "-nogroup": constant(None),
    "-acl": constant(None),
}

# tests with one argument
VALUES: dict[str, Callable[[str], Test]] = {
    "-name": _name,
    "-iname": lambda pattern: _name(pattern, True),
    "-path": _path,
    "-wholename": _path,
    "-ipath": lambda pattern: _path(pattern, True),
    "-iwholename": lambda pattern: _path(pattern, True),
    "-lname": _link_name,
    "-ilname": lambda pattern: _link_name(pattern, True),
    "-type": _type,
    "-xtype": _other_type,
    "-size": _size,
    "-perm": _permissions,
    "-user": _owner("st_uid"),
    "-group": _owner("st_gid"),
    "-uid": _count("st_uid"),
    "-gid": _count("st_gid"),
    "-links": _count("st_nlink"),
    "-inum": _count("st_ino"),
    **{f"-{x}time": _age(f"st_{x}time", DAY) for x in "amc"},
    **{f"-{x}min": _age(f"st_{x}time", 60) for x in "amc"},
    **{f"-newer{x}t": _newer_than(f"st_{x}time") for x in "amc"},
}

# tests with a file as argument, which find looks at before it starts
REFERENCES: dict[str, Callable[[os.stat_result], Test]] = {
    "-samefile": _same_file,
    "-newer": _newer("st_mtime", "st_mtime"),
    "-anewer": _newer("st_atime", "st_mtime"),
    "-cnewer": _newer("st_ctime", "st_mtime"),
    **{f"-newer{x}{y}": _newer(f"st_{x}time", f"st_{y}time") for x in "amc" for y in "amc"},
}

# tests that exist, with one argument or none, of which nothing can be told
STRANGE_VALUES = {"-fstype", "-context", "-used", "-flags", "-Bmin", "-Btime", "-Bnewer", "-mnewer", "-xattrname", "-depth"}
STRANGE_VALUES |= {f"-newer{x}{y}" for x in "Bamc" for y in "Bamct"} - {*VALUES, *REFERENCES}
STRANGE_FLAGS = {"-xattr", "-sparse"}


def build(test: str, argument: Text, call: Call, follow: bool) -> Test:
    """A test with its argument; one whose argument is not known says None. Raises UsageError."""
    if not isinstance(argument, str) or test in STRANGE_VALUES:
        return constant(None)
    if test in VALUES:
        return VALUES[test](argument)
    path = call.path(argument)
    if not isinstance(path, str):
        return constant(None)
    place = call.view.through(path) if follow and call.view.exists(path) else call.view.at(path)
    if call.view.kind(place) is None:
        raise UsageError(argument)
    found = call.view.lstat(place)
    return constant(None) if found is None else REFERENCES[test](found)
