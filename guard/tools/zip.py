"""zip and unzip."""

from __future__ import annotations

from guard import expressions as re
from guard.effects import DELETE, EDIT, Analysis, At, Below, Pattern, Text, unknown
from guard.overlay import DIRECTORY, FILE
from guard.tools.call import analysis
from guard.tools.changes import Changes
from guard.tools.extraction import Extraction, Member, archive_bytes, members, safe_name
from guard.tools.patterns import glob

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    from guard.tools.call import Call
else:
    from guard.record import NamedTuple


class _Unzip(NamedTuple):
    """unzip's command line."""

    letters: str
    archive: Text | None
    wanted: tuple[Text, ...]
    excluded: tuple[Text, ...]
    directory: Text


def _unzip_words(call: Call) -> _Unzip:
    letters = ""
    directory: Text = "."
    names: list[Text] = []
    excluded: list[Text] = []
    into = names
    words = list(call.argv[1:])[::-1]
    while words:
        word = words.pop()
        if not isinstance(word, str) or not word.startswith("-") or word == "-":
            into.append(word)
        elif word.startswith("-x") and names:
            into = excluded
            excluded += [word[2:]] if word[2:] else []
        elif word.startswith("-d") and word[2:]:
            directory, into = word[2:], names
        elif word.endswith("d"):
            letters += word[1:-1]
            directory, into = (words.pop() if words else "."), names
        elif word == "-P" and words:
            words.pop()
        else:
            letters += word[1:]
    return _Unzip(letters, names[0] if names else None, tuple(names[1:]), tuple(excluded), directory)


def unzip(call: Call) -> Analysis:
    """What unzip would overwrite: existing files only with -o, or as the answers on standard input say."""
    given = _unzip_words(call)
    if given.archive is None or set(given.letters) & set("ltvpczZT"):
        return analysis(output=unknown("unknown-output", "unzip"), status=None)
    changes = Changes(call)
    extraction = Extraction(changes, given.directory)
    archive = next((name for name in (given.archive, f"{given.archive}.zip", f"{given.archive}.ZIP") if call.exists(name)), None)
    if archive is None and isinstance(given.archive, str) and not set(given.archive) & set("*?["):
        return analysis(status=9)
    found = members(archive_bytes(call, archive)) if archive is not None else None
    names = (*given.wanted, *given.excluded, given.directory)
    if found is None or any(isinstance(name, Pattern) for name in names):
        if set(given.letters) & set("ouf") or isinstance(call.stdin, Pattern) or call.stdin:
            extraction.unknown()
        return changes.result(unknown("unknown-output", "unzip"))._replace(status=None)
    answers = _Answers(given.letters, call.stdin)
    for member in found:
        if _chosen(member.name, given):
            _unpack(extraction, member, given.letters, answers)
    return changes.result("" if "q" in given.letters else unknown("unknown-output", "unzip"))._replace(status=None)


def _chosen(name: str, given: _Unzip) -> bool:
    if any(glob(str(pattern)).fullmatch(name) for pattern in given.excluded):
        return False
    return not given.wanted or any(glob(str(pattern)).fullmatch(name) for pattern in given.wanted)


class _Answers:
    """What unzip hears when it asks whether to replace a file; the end of the input is a no to all."""

    def __init__(self, letters: str, stdin: Text | None) -> None:
        self.certain = not isinstance(stdin, Pattern)
        text = stdin if isinstance(stdin, str) else "A" if isinstance(stdin, Pattern) else ""
        self._lines = text.split("\n")[::-1] if text else []
        self._all: bool | None = True if "o" in letters else False if "n" in letters else None

    def replace(self) -> bool:
        """True when the existing file is to be replaced."""
        while self._all is None:
            answer = self._lines.pop()[:1] if self._lines else "N"
            if answer in ("y", "n"):
                return answer == "y"
            if answer in ("A", "N"):
                self._all = answer == "A"
        return self._all


def _unpack(extraction: Extraction, member: Member, letters: str, answers: _Answers) -> None:
    name = safe_name("/".join(part for part in member.name.split("/") if part != ".."))
    if name and "j" in letters:
        name = name.rpartition("/")[2] if member.kind != "directory" else ""
    if name and "L" in letters:
        name = name.lower() if "LL" in letters or member.name.isupper() else name
    if not name:
        return
    exists = extraction.existing(name)
    if "f" in letters and not exists:
        return
    if exists and member.kind != "directory":
        place = extraction.place(name)
        found = extraction.changes.view.lstat(place.path) if place else None
        if set(letters) & set("uf") and found is not None and int(found.st_mtime) >= member.time:
            return
        if not answers.replace():
            return
        extraction.certain = answers.certain or "o" in letters
    if not (exists and member.kind == "directory"):
        extraction.put(member, name)


_VALUES = (
    "-b",
    "-O",
    "-P",
    "-n",
    "-t",
    "-tt",
    "-s",
    "-sp",
    "-TT",
    "-ws",
    "-Z",
    "--out",
    "--password",
    "--suffixes",
    "--unzip-command",
)
_LONG_LETTERS = {
    "--move": "m", "--recurse-paths": "r", "--recurse-patterns": "R", "--delete": "d", "--test": "T", "--freshen": "f",
    "--update": "u", "--names-stdin": "@", "--no-dir-entries": "D", "--quiet": "q",
}  # fmt: skip


def zip(call: Call) -> Analysis:
    """The archive that zip writes, and with -m the sources that go."""
    letters, names, lists, values = _zip_words(call.argv[1:])
    if not names or (set(letters) & set("hLv") and len(names) == 0):
        return analysis(output=unknown("unknown-output", "zip"), status=None)
    changes = Changes(call)
    archive, sources = names[0], names[1:]
    if "@" in letters:
        sources += call.stdin.split("\n") if isinstance(call.stdin, str) else [unknown("unknown-output", "zip -@")]
    if "--unzip-command" in values and "T" in letters:
        call.shell(values["--unzip-command"], stdin=None)
    has_sources = sources or "d" in letters or bool(set(letters) & set("uf"))
    packed = _packed(changes, archive, sources, letters, lists) if not values else None
    if archive != "-" and not _write_archive(changes, values.get("--out", archive), has_sources, packed):
        return changes.result(status=3)
    if "m" in letters and "d" not in letters:
        for source in sources:
            _move_in(changes, source, "r" in letters, lists)
    return changes.result("" if "q" in letters else unknown("unknown-output", "zip"))._replace(status=None)


def _zip_words(words: tuple[Text, ...]) -> tuple[str, list[Text], dict[str, list[str]], dict[str, Text]]:
    """The letters, the names, the patterns of -x and -i, and the values of the other options."""
    letters = ""
    names: list[Text] = []
    lists: dict[str, list[str]] = {"x": [], "i": []}
    values: dict[str, Text] = {}
    rest = list(words)[::-1]
    into: list[str] | None = None
    while rest:
        word = rest.pop()
        if not isinstance(word, str) or word == "-" or not word.startswith("-"):
            if into is not None and isinstance(word, str) and word != "@":
                into.append(word)
            elif word == "@":
                into = None
            else:
                names.append(word)
            continue
        into = None
        if word in _VALUES and rest:
            values[{"-O": "--out", "-TT": "--unzip-command"}.get(word, word)] = rest.pop()
        elif word.startswith("--"):
            letters += _LONG_LETTERS.get(word, "")
            into = lists["x"] if word == "--exclude" else lists["i"] if word == "--include" else None
        elif re.search(r"[xi]$", word) and not word.startswith(("-sf", "-fd")):
            letters += word[1:-1]
            into = lists[word[-1]]
        elif found := re.fullmatch(r"-([a-zA-Z0-9]*)([xi])(.+)", word):
            letters += found[1]
            lists[found[2]].append(found[3])
        else:
            letters += "" if word in ("-FS", "-sf", "-df", "-la", "-ll", "-nw", "-db", "-dc", "-dd", "-ds") else word[1:]
    return letters, names, lists, values


def _packed(changes: Changes, archive: Text, sources: list[Text], letters: str, lists: dict[str, list[str]]) -> bytes | None:
    """The archive itself, where it is new and small, and all that goes in is known."""
    from guard.tools.packing import Packer, TooMuchError, zip_bytes

    call = changes.call
    if set(letters) - set("rqmjyDvoX@0123456789") or not isinstance(archive, str) or ("j" in letters and "r" in letters):
        return None
    if call.exists(archive) or call.exists(archive + ".zip"):
        return None
    packer = Packer(changes.view, lambda name: True, "y" in letters)
    try:
        for source in sources:
            if not isinstance(source, str):
                return None
            place = call.at(source)
            shown = source.rstrip("/").rpartition("/")[2] if "j" in letters else source.removeprefix("./").lstrip("/")
            if source and isinstance(place, At):
                packer.add(place.path, shown or ".", "r" in letters)
        kept = [e._replace(name=e.name.removeprefix("./")) for e in packer.entries]
        kept = [e for e in kept if e.name not in ("", "./") and (e.kind == DIRECTORY or _included(e.name, lists))]
        return zip_bytes([e for e in kept if e.kind != DIRECTORY or not (set("jD") & set(letters) or any(lists.values()))])
    except (TooMuchError, RecursionError, UnicodeEncodeError):
        return None


def _write_archive(changes: Changes, archive: Text, has_sources: object, content: bytes | None = None) -> bool:
    """The archive is created or changed; False where zip refuses, as over a file that is no archive."""
    if isinstance(archive, str) and "." not in archive.rpartition("/")[2] and not changes.call.exists(archive):
        archive += ".zip"
    target = changes.opened(archive)
    if isinstance(target, At) and changes.kind(target) == FILE:
        data = archive_bytes(changes.call, archive)
        if data is not None and not data.rstrip(b"\0").startswith((b"PK", b"MZ", b"#!")):
            return False
    if has_sources:
        changes.write(target, content, action=EDIT)
    return True


def _move_in(changes: Changes, source: Text, recursive: bool, lists: dict[str, list[str]]) -> None:
    target = changes.call.at(source)
    if not isinstance(target, At):
        changes.add(DELETE, target, certain=False)
        return
    kind = changes.view.kind(target.path)
    if kind is None:
        return
    if kind != DIRECTORY:
        if _included(str(source), lists):
            changes.add(DELETE, target)
    elif recursive:
        for path, inner in list(changes.view.walk(target.path)):
            shown = str(source).rstrip("/") + path[len(target.path) :]
            if inner != DIRECTORY and _included(shown, lists):
                changes.add(DELETE, At(path))
        if not any(lists.values()):
            changes.add(DELETE, target if source not in (".", "./") else Below(target.path))


def _included(name: str, lists: dict[str, list[str]]) -> bool:
    name = name.removeprefix("./")
    if any(glob(pattern).fullmatch(name) for pattern in lists["x"]):
        return False
    return not lists["i"] or any(glob(pattern).fullmatch(name) for pattern in lists["i"])
