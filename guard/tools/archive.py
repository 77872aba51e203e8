"""The other archivers: 7z, cpio, ar, jar, rar, pax."""

from __future__ import annotations

from guard import expressions as re
from guard.effects import DELETE, EDIT, OVERWRITE, Analysis, At, Pattern, Text, unknown
from guard.overlay import DIRECTORY, FILE
from guard.tools.changes import Changes
from guard.tools.extraction import Extraction, Member, archive_bytes, members, safe_name
from guard.tools.options import Table, parse
from guard.tools.patterns import glob

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.tools.call import Call


def _unpack(extraction: Extraction, found: list[Member] | None, wanted: tuple[Text, ...] = (), flat: bool = False) -> None:
    """Every member that a pattern names (all without patterns), over what is there."""
    if found is None or any(isinstance(pattern, Pattern) for pattern in wanted):
        extraction.unknown()
        return
    patterns = [glob(str(pattern)) for pattern in wanted]
    for member in found:
        name = safe_name(member.name)
        if not name or (patterns and not any(p.fullmatch(name) or p.fullmatch(member.name) for p in patterns)):
            continue
        if flat:
            name = "" if member.kind == "directory" else name.rpartition("/")[2]
        if name and not (member.kind == "directory" and extraction.existing(name)):
            extraction.put(member, name)


def _delete_sources(changes: Changes, sources: tuple[Text, ...]) -> None:
    for source in sources:
        target = changes.entry(source)
        if target is not None and (not isinstance(target, At) or changes.kind(target) is not None):
            changes.add(DELETE, target, isinstance(target, At))


def _result(changes: Changes, name: str) -> Analysis:
    return changes.result(unknown("unknown-output", name))._replace(status=None)


def seven(call: Call) -> Analysis:
    """7z: x and e replace files with -y or -aoa, else it asks; a, u, d and rn change the archive; -sdel removes sources."""
    words = [word for word in call.argv[1:] if not (isinstance(word, str) and word.startswith("-"))]
    switches = [word for word in call.argv[1:] if isinstance(word, str) and word.startswith("-")]
    changes = Changes(call)
    if len(words) < 2:
        return _result(changes, "7z")
    command, archive, names = words[0], words[1], tuple(words[2:])
    if command in ("x", "e") and not {"-so", "-aos", "-aou", "-aot"} & set(switches):
        directory = next((word[2:] for word in switches if word.startswith("-o")), ".")
        answer = call.stdin if isinstance(call.stdin, str) else "a" if isinstance(call.stdin, Pattern) else ""
        if {"-y", "-aoa"} & set(switches) or answer[:1].lower() in ("y", "a"):
            _unpack(Extraction(changes, directory), _seven_members(call, archive), names, command == "e")
    elif command in ("a", "u", "d", "rn"):
        shown = archive if not isinstance(archive, str) or "." in archive.rpartition("/")[2] else archive + ".7z"
        changes.write(changes.opened(shown), action=EDIT)
        if "-sdel" in switches and command in ("a", "u"):
            _delete_sources(changes, names)
    return _result(changes, "7z")


def _seven_members(call: Call, archive: Text) -> list[Member] | None:
    if isinstance(archive, str) and not call.exists(archive):
        return []
    return members(archive_bytes(call, archive))


_CPIO = Table(
    flags="0aABcdfikLlmnopPrstuvVy",
    values="CDEFHIMOR",
    long={
        "extract": "", "create": "", "pass-through": "", "list": "", "unconditional": "", "make-directories": "", "null": "",
        "directory": "=", "file": "=", "format": "=", "pattern-file": "=", "verbose": "", "to-stdout": "", "append": "",
        "link": "",
        "preserve-modification-time": "", "no-absolute-filenames": "", "absolute-filenames": "", "quiet": "", "rename": "",
        "owner": "=",
    },
    same={
        "extract": "i", "create": "o", "pass-through": "p", "list": "t", "unconditional": "u", "null": "0", "directory": "D",
        "file": "F",
        "append": "A", "make-directories": "d", "rename": "r",
    },
)  # fmt: skip


def cpio(call: Call) -> Analysis:
    """cpio: -i unpacks, -p copies named files to a directory, -o writes an archive. Newer files stay without -u."""
    options = parse(call.argv[1:], _CPIO)
    changes = Changes(call)
    if options.has("p") and options.operands:
        _pass_through(changes, options.operands[0], "\0" if options.has("0") else "\n", options.has("u"))
    elif options.has("o"):
        file = options.value("F", "O")
        if file:
            changes.write(changes.opened(file), action=EDIT if options.has("A") else OVERWRITE)
    elif options.has("i") and not options.has("t", "to-stdout"):
        archive = options.value("F", "I")
        if archive is not None or call.stdin is not None:
            Extraction(changes, options.value("D") or ".").unknown()
    return _result(changes, "cpio")


def _pass_through(changes: Changes, directory: Text, end: str, always: bool) -> None:
    call = changes.call
    extraction = Extraction(changes, directory)
    if not isinstance(call.stdin, str):
        if call.stdin is not None:
            extraction.unknown()
        return
    for name in call.stdin.split(end):
        shown = safe_name(name)
        kind = call.kind(name) if shown else None
        if not shown or kind is None:
            continue
        if kind == DIRECTORY:
            extraction.put(Member(shown, "directory"), shown)
            continue
        place = extraction.place(shown)
        here, there = call.view.lstat(call.view.at(str(call.path(name)))), changes.view.lstat(place.path) if place else None
        if always or here is None or there is None or there.st_mtime < here.st_mtime:
            extraction.put(Member(shown, "file", content=lambda name=name: call.read(name)), shown)  # type: ignore[misc]


def ar(call: Call) -> Analysis:
    """ar: x unpacks members over files in the directory; r, q, d, m and s change the archive."""
    words = list(call.argv[1:])
    changes = Changes(call)
    while words and isinstance(words[0], str) and words[0] in ("--plugin", "--target", "--output", "-X32_64"):
        del words[: 1 if words[0] == "-X32_64" else 2]
    if len(words) < 2 or not isinstance(words[0], str):
        return _result(changes, "ar")
    letters, rest = words[0].lstrip("-"), words[1:]
    if set(letters) & set("abi") and set(letters) & set("rm"):
        rest = rest[1:]
    archive, names = (rest[0] if rest else ""), tuple(rest[1:])
    if "x" in letters:
        if not isinstance(archive, str) or call.exists(archive):
            _unpack(Extraction(changes, ".", through=True), members(archive_bytes(call, archive)), names, flat=True)
    elif set(letters) & set("rqdms"):
        target = changes.opened(archive)
        data = archive_bytes(call, archive) if isinstance(target, At) and changes.kind(target) == FILE else b"!<arch>\n"
        if data is None or not data or data.startswith((b"!<arch>\n", b"!<thin>\n")):
            changes.write(target, action=EDIT)
    return _result(changes, "ar")


def jar(call: Call) -> Analysis:
    """jar: xf unpacks over files in the directory, cf writes an archive, uf changes one."""
    words = list(call.argv[1:])
    letters, archive, rest = _jar_words(words)
    changes = Changes(call)
    if archive is None or not letters:
        return _result(changes, "jar")
    if "x" in letters:
        directory = next((rest[at + 1] for at, word in enumerate(rest[:-1]) if word in ("-C", "--dir")), ".")
        names = tuple(word for word in rest if word not in ("-C", "--dir", directory))
        if "k" not in letters and (not isinstance(archive, str) or call.exists(archive)):
            _unpack(Extraction(changes, directory), members(archive_bytes(call, archive)), names)
    elif set(letters) & set("cu"):
        changes.write(changes.opened(archive), action=EDIT if "u" in letters else OVERWRITE)
    return _result(changes, "jar")


def _jar_words(words: list[Text]) -> tuple[str, Text | None, list[Text]]:
    """The letters of the operation, the archive, and the rest."""
    long = {"--extract": "x", "--create": "c", "--update": "u", "--list": "t", "--keep-old-files": "k"}
    letters, archive = "", None
    rest: list[Text] = []
    words = words[::-1]
    if words and isinstance(words[-1], str) and re.fullmatch(r"-?[ctxuivmn0fekP]+", words[-1]):
        letters = str(words.pop()).lstrip("-")
        for letter in letters:
            if letter == "f" and words:
                archive = words.pop()
            elif letter in "me" and words:
                words.pop()
    while words:
        word = words.pop()
        if isinstance(word, str) and word in long:
            letters += long[word]
        elif isinstance(word, str) and word.startswith("--file"):
            archive = word.partition("=")[2] or (words.pop() if words else None)
        elif word == "-f" and words:
            archive = words.pop()
        else:
            rest.append(word)
    return letters, archive, rest


def unrar(call: Call) -> Analysis:
    """unrar x and e: what is in the archive cannot be read, so anything below the directory may be replaced."""
    return _rar(call, packs=False)


def rar(call: Call) -> Analysis:
    """rar: as unrar, and a, u, f, m and d change the archive; m, -df and -dw remove the sources."""
    return _rar(call, packs=True)


def _rar(call: Call, packs: bool) -> Analysis:
    words = [word for word in call.argv[1:] if not (isinstance(word, str) and word.startswith("-"))]
    switches = {word for word in call.argv[1:] if isinstance(word, str) and word.startswith("-")}
    changes = Changes(call)
    if len(words) < 2:
        return _result(changes, "rar")
    command, archive = words[0], words[1]
    if command in ("x", "e") and not switches & {"-o-", "-or"}:
        last = words[-1]
        directory = last if len(words) > 2 and (isinstance(last, Pattern) or last.endswith("/")) else "."
        if switches & {"-y", "-o+"} or call.stdin:
            Extraction(changes, directory).unknown()
    elif packs and command in ("a", "u", "f", "m", "mf", "d", "k", "s", "rn", "c"):
        shown = archive if not isinstance(archive, str) or "." in archive.rpartition("/")[2] else archive + ".rar"
        changes.write(changes.opened(shown), action=EDIT)
        if command in ("m", "mf") or switches & {"-df", "-dr", "-dw"}:
            _delete_sources(changes, tuple(words[2:]))
    return _result(changes, "rar")


def pax(call: Call) -> Analysis:
    """pax: -r unpacks, -w writes an archive, -rw copies to a directory."""
    options = parse(call.argv[1:], Table(flags="acdHiklLnOrtuvwXYZz0jJ", values="bBEfGoPpsTUx"))
    changes = Changes(call)
    if options.has("r") and options.has("w"):
        if options.operands and not options.has("k"):
            Extraction(changes, options.operands[-1]).unknown()
    elif options.has("w"):
        file = options.value("f")
        if file and options.operands:
            changes.write(changes.opened(file), action=EDIT if options.has("a") else OVERWRITE)
    elif options.has("r") and not options.has("k", "n", "u"):
        archive = options.value("f") or "-"
        if archive != "-" or call.stdin is not None:
            _unpack(Extraction(changes, "."), members(archive_bytes(call, archive)), options.operands)
    elif options.has("r") and not options.has("k"):
        Extraction(changes, ".").unknown()
    return _result(changes, "pax")
