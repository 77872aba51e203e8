"""perl: -e programs, scripts, and the -n, -p and -i loops over files."""

from __future__ import annotations

from guard.effects import EDIT, TRUNCATE, Analysis, At, Effect, Pattern, Text, join
from guard.overlay import FILE
from guard.tools import script_deeds as deeds
from guard.tools.call import Call
from guard.tools.process import decode
from guard.tools.script_reader import Args, Reader, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    from guard.tools.script_tokens import Language
else:
    from guard.record import NamedTuple


class CommandLine(NamedTuple):
    """The -e programs, the modules of -M, the backup suffix of -i (None without -i), whether a loop prints, and the operands."""

    programs: tuple[Text, ...]
    modules: tuple[str, ...]
    backup: Text | None
    prints: bool
    loops: bool
    operands: tuple[Text, ...]
    harmless: bool = False


def read(argv: tuple[Text, ...]) -> CommandLine:
    """Reads perl's command line; the first operand ends the options."""
    programs: list[Text] = []
    modules: list[str] = []
    found: dict[str, Text] = {}
    words = list(argv[1:])
    while words and str(words[0]).startswith("-") and words[0] != "-":
        word = words.pop(0)
        if word == "--":
            break
        _cluster(word, words, programs, modules, found)
    loops = "n" in found or "p" in found
    return CommandLine(
        tuple(programs), tuple(modules), found.get("i"), "p" in found, loops, tuple(words), bool(set("cvVh") & set(found))
    )


def _cluster(word: Text, words: list[Text], programs: list[Text], modules: list[str], found: dict[str, Text]) -> None:
    start = word if isinstance(word, str) else word.prefix
    at = 1
    while at < len(start):
        letter = start[at]
        at += 1
        rest = start[at:]
        if letter in "eE":
            tail = _tail(word, at)
            programs.append(tail if tail != "" else words.pop(0) if words else "")
            return
        if letter in "Mm":
            modules.append(rest or str(words.pop(0) if words else ""))
            return
        if letter in "IxCDVdt":
            if letter == "I" and not rest and words:
                words.pop(0)
            if letter == "V":
                found["V"] = ""
            return
        if letter == "i":
            found["i"] = _tail(word, at)
            return
        if letter in "0lF":
            while at < len(start) and (
                start[at].isalnum()
                and letter != "F"
                and (start[at].isdigit() or (letter == "0" and start[at] in "xabcdefABCDEF"))
            ):
                at += 1
            if letter == "F":
                return
            continue
        found[letter] = ""


def _tail(word: Text, at: int) -> Text:
    if isinstance(word, str):
        return word[at:]
    kept = (word.prefix[at:], *word.pieces[1:])
    return Pattern(tuple(piece for piece in kept if piece != ""))


def perl(call: Call) -> Analysis:
    """perl"""
    line = read(call.argv)
    if line.harmless:
        return Analysis(status=0)
    if not line.programs:
        return _script(call, line)
    program = line.programs[0]
    for each in line.programs[1:]:
        program = join(program, "\n", each)
    result = deeds.follow(
        call, deeds_language(), program, DEEDS, list(line.operands) if not line.loops else _lines(call, line), None
    )
    if line.backup is None or not line.loops:
        return result
    return result._replace(effects=(*result.effects, *_in_place(call, line, program)))


def deeds_language() -> Language:
    """Perl, as the reader knows it."""
    from guard.tools.script_tokens import PERL

    return PERL


def _lines(call: Call, line: CommandLine) -> list[Text]:
    """What $_ goes through in a -n loop: the lines of the input, where they are known."""
    texts = [call.read(operand) for operand in line.operands] if line.operands else []
    known = [decode(text) for text in texts if text is not None]
    if not line.operands and isinstance(call.stdin, str):
        known = [call.stdin]
    found: list[Text] = [each for text in known for each in text.splitlines()]
    return found[:512]


def _in_place(call: Call, line: CommandLine, program: Text) -> list[Effect]:
    """The files that a -i loop writes anew: without printing, they are emptied."""
    prints = (
        line.prints
        or not isinstance(program, str)
        or any(word in program for word in ("print", "say", "printf", "write", "syswrite"))
    )
    found: list[Effect] = []
    for operand in line.operands:
        target = call.through(operand)
        if not isinstance(target, At):
            found.append(Effect(EDIT if prints else TRUNCATE, target, certain=False))
        elif call.view.kind(target.path) == FILE:
            found.append(Effect(EDIT if prints else TRUNCATE, target))
    return found


def _script(call: Call, line: CommandLine) -> Analysis:
    """A program from a file or from standard input."""
    if not line.operands or line.operands[0] == "-":
        return (
            Analysis()
            if call.stdin is None
            else deeds.follow(call, deeds_language(), call.stdin, DEEDS, list(line.operands[1:]), None)
        )
    path, *rest = line.operands
    source = call.read(path)
    if source is None or b"\0" in source or not isinstance(path, str):
        return Analysis()
    return deeds.follow(call, deeds_language(), decode(source), DEEDS, rest, path)


def _open(reader: Reader, args: Args) -> None:
    """open HANDLE, MODE, PATH; or HANDLE, "MODE PATH"; or a pipe to or from a command."""
    texts = [value.texts for value in args.values[1:]]
    if len(texts) == 1:
        for text in texts[0]:
            if isinstance(text, str):
                stripped = text.strip()
                mode = stripped[: len(stripped) - len(stripped.lstrip("+<>|"))]
                _opened(reader, "|" if stripped.endswith("|") else mode, stripped.strip("+<>| "))
    elif len(texts) > 1:
        mode = str(texts[0][0]) if texts[0] else "<"
        if "|" in mode:
            reader.process.run(tuple(text for each in texts[1:] for text in each)) if len(texts) > 2 else reader.shell(texts[1])
            return
        for path in texts[1]:
            _opened(reader, mode, path)


def _opened(reader: Reader, mode: str, path: Text) -> None:
    if "|" in mode:
        reader.shell([path])
    elif mode.startswith(">>"):
        reader.process.append(path, None)
    elif ">" in mode and "+<" not in mode:
        reader.process.write(path, None, reader.process.here.where(path) in reader.read)
    elif "+<" in mode:
        reader.process.edit(path, None)
    else:
        deeds.content(reader, Args([Value([path])]))


def _unlink(reader: Reader, args: Args) -> None:
    for path in args.all if args.values else reader.variable("$_").texts:
        reader.process.unlink(path)


def _remove_tree(reader: Reader, args: Args) -> None:
    keeps_root = args.option("keep_root")
    for value in args.values:
        for path in value.texts if not value.options else ():
            (reader.process.empty if keeps_root else reader.process.remove)(path)


def _truncate(reader: Reader, args: Args) -> None:
    size = args.texts(1)
    for path in args.texts(0):
        reader.process.truncate(path, int(size[0]) if size and isinstance(size[0], str) and size[0].isdigit() else None)


def _path(reader: Reader, args: Args) -> Value:
    """Path::Tiny and IO::File: a path stands for itself."""
    return Value(args.texts(0))


def _environment(reader: Reader, args: Args) -> Value:
    return Value([])


DEEDS = deeds.table(
    ("unlink File::Remove::remove", _unlink),
    ("rmdir", deeds.each("rmdir")),
    ("rmtree remove_tree File::Path::rmtree File::Path::remove_tree", _remove_tree),
    ("rename", deeds.pairs("rename")),
    ("move mv File::Copy::move File::Copy::mv fmove rmove", deeds.pairs("move")),
    ("copy cp File::Copy::copy File::Copy::cp fcopy", deeds.pairs("copy")),
    ("truncate", _truncate),
    ("symlink", deeds.linked),
    ("link", deeds.pairs("link")),
    ("mkdir make_path mkpath", deeds.made),
    ("open sysopen", _open),
    ("system exec", deeds.shelled),
    ("readpipe capture", deeds.shelled),
    ("chdir", deeds.changed),
    ("getcwd cwd Cwd::getcwd Cwd::cwd", deeds.directory),
    ("glob bsd_glob File::Glob::bsd_glob", deeds.globbed),
    ("catfile catdir File::Spec.catfile File::Spec.catdir", deeds.joined),
    ("write_file File::Slurp::write_file spew", deeds.written),
    ("append_file", deeds.appended),
    ("read_file slurp", deeds.content),
    ("find finddepth File::Find::find File::Find::finddepth", deeds.visited),
    ("basename", deeds.last_part),
    ("dirname", deeds.first_part),
    ("shift pop", lambda reader, args: Value(args.all or reader.variable("_").texts or reader.variable("ARGV").texts)),
    ("print say printf die warn exit chomp chmod utime sprintf lc uc reverse sort keys values", deeds.nothing),
    ("path Path::Tiny::path", _path),
    (".remove .unlink", lambda reader, args: deeds.each("unlink", 0)(reader, args)),
    (".remove_tree", lambda reader, args: _remove_tree(reader, Args(args.values[:1]))),
    (".spew .spew_utf8 .spew_raw", deeds.written),
    (".append .append_utf8", deeds.appended),
    (".slurp .slurp_utf8", deeds.content),
    (".children", deeds.listed_whole),
    ("opendir closedir close binmode", deeds.nothing),
)
