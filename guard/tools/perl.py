"""perl: -e programs, scripts, and the -n, -p and -i loops over files."""

from __future__ import annotations

from guard import expressions as re
from guard.effects import CREATE, EDIT, OVERWRITE, TRUNCATE, Analysis, At, Effect, Pattern, Text, join, unknown
from guard.overlay import DIRECTORY, FILE, SYMLINK
from guard.tools import script_deeds as deeds
from guard.tools.call import Call
from guard.tools.process import decode, encode
from guard.tools.script_reader import Args, Reader, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    from guard.tools.perl_machine import Machine
    from guard.tools.script_tokens import Language
else:
    from guard.record import NamedTuple

KNOWN_LIMIT = 256 * 1024  # bytes of input; what becomes of more is not worked out


class CommandLine(NamedTuple):
    """The -e programs, the modules of -M, the backup suffix of -i (None without -i), whether a loop prints, and the operands.
    `ends` is what -l puts behind everything printed, `separator` what -0 ends records with (None: nothing does).
    """

    programs: tuple[Text, ...]
    modules: tuple[str, ...]
    backup: Text | None
    prints: bool
    loops: bool
    operands: tuple[Text, ...]
    harmless: bool = False
    ends: str | None = None
    separator: str | None = "\n"
    splits: bool = False


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
    harmless = bool(set("cvVh") & set(found))
    line = CommandLine(tuple(programs), tuple(modules), found.get("i"), "p" in found, loops, tuple(words), harmless)
    return line._replace(
        ends=str(found["l"]) if "l" in found else None,
        separator=_separator(str(found["0"])) if "0" in found else "\n",
        splits="a" in found and "F" not in found,
    )


def _separator(digits: str) -> str | None:
    """What -0 with those digits ends records with: "" for paragraphs, None for whole files."""
    code = int(digits[1:] or "0", 16) if digits.startswith("x") else int(digits or "0", 8)
    return "" if digits in ("0", "00") else None if code > 255 else chr(code)


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
        if letter == "F":
            found["F"] = rest
            return
        if letter in "0l":
            digits = start[at:]
            code = re.compile(r"x[0-9A-Fa-f]*|[0-7]{0,4}" if letter == "0" else r"[0-7]{0,3}").match(digits)
            digits = code[0] if code is not None else ""
            at += len(digits)
            kept = found.get("0")
            found[letter] = digits if letter == "0" else chr(int(digits, 8) & 255) if digits else _printed(kept)
            continue
        found[letter] = ""


def _printed(separator: Text | None) -> str:
    """What -l without digits puts behind everything printed: what ends records, as far as -0 stood in front of it."""
    return "\n" if separator is None else _separator(str(separator)) or ""


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
    machine = _worked_out(call, line, program)
    if machine is not None:
        found = _in_place(call, line, program, machine) if line.backup is not None else []
        return Analysis(tuple(found), output="".join(machine.output).encode("latin-1").decode("utf-8", "surrogateescape"))
    result = deeds.follow(
        call, deeds_language(), program, DEEDS, list(line.operands) if not line.loops else _lines(call, line), None
    )
    if line.backup is None or not (line.loops or _reads(str(program))):
        return result
    return result._replace(effects=(*result.effects, *_in_place(call, line, program, None)))


def _worked_out(call: Call, line: CommandLine, program: Text) -> Machine | None:
    """The program after its run, where that can be worked out; such a program does nothing but print."""
    from guard.tools.perl_machine import Machine
    from guard.tools.perl_syntax import Unread

    texts = _inputs(call, line)
    if not isinstance(program, str) or line.separator == "" or (texts is None and (line.loops or _reads(program))):
        return None
    machine = Machine(
        texts or [], line.backup is not None and bool(line.operands), list(line.operands), call.env, call.view.budget
    )
    machine.scalars.update({"/": line.separator, "\\": line.ends})
    try:
        machine.run(encode(program).decode("latin-1"), line.loops, line.prints, line.ends is not None, line.splits)
    except (Unread, RecursionError):
        return None
    return machine


def _reads(program: str) -> bool:
    return any(mark in program for mark in ("<>", "<<>>", "<ARGV>"))


def _inputs(call: Call, line: CommandLine) -> list[str] | None:
    """The contents that <> goes through, one for each operand; None where one is not known or too long."""
    if not line.operands:
        return [encode(call.stdin).decode("latin-1")] if isinstance(call.stdin, str) and len(call.stdin) <= KNOWN_LIMIT else None
    found: list[str] = []
    for operand in line.operands:
        data = b"" if isinstance(operand, str) and _unopened(call, operand) else call.read(operand)
        if data is None or len(data) > KNOWN_LIMIT:
            return None
        found.append(data.decode("latin-1"))
    return found


def _unopened(call: Call, operand: str) -> bool:
    return not call.exists(operand) or call.is_dir(operand)


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


def _in_place(call: Call, line: CommandLine, program: Text, machine: Machine | None) -> list[Effect]:
    """The files that a -i loop writes anew: without printing, they are emptied."""
    prints = (
        line.prints
        or not isinstance(program, str)
        or any(word in program for word in ("print", "say", "printf", "write", "syswrite"))
    )
    found: list[Effect] = []
    for at, operand in enumerate(line.operands):
        target = call.at(operand)
        new = None if machine is None else machine.written[at]
        if not isinstance(target, At):
            found.append(Effect(EDIT if prints else TRUNCATE, call.through(operand), certain=False))
        elif isinstance(operand, str) and not _unopened(call, operand) and (machine is None or new is not None):
            found += _rewritten(call, line, operand, target, prints, None if new is None else new.encode("latin-1"))
    return found


def _rewritten(call: Call, line: CommandLine, operand: str, target: At, prints: bool, new: bytes | None) -> list[Effect]:
    """A file whose new content takes its place, after the old one has gone to its backup."""
    kind = call.view.kind(target.path)
    if kind not in (FILE, SYMLINK):
        return []
    found: list[Effect] = []
    if isinstance(line.backup, str) and line.backup:
        name = target.path.rpartition("/")[2]
        backup = line.backup.replace("*", name) if "*" in line.backup else name + line.backup
        place = call.at(backup if "/" in backup else f"{operand.rpartition('/')[0] or '.'}/{backup}")
        there = call.view.kind(place.path) if isinstance(place, At) else None
        if there == DIRECTORY or not isinstance(place, At):
            return []
        found.append(Effect(OVERWRITE if there else CREATE, place, content=call.read(operand)))
    empty = not prints if new is None else new == b""
    if kind == SYMLINK:
        return [*found, Effect(OVERWRITE, target, content=b"" if empty else new)]
    if new is not None and new == call.read(operand):
        return found
    return [*found, Effect(TRUNCATE if empty else EDIT, target, content=None if empty else new)]


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


def _pushed(reader: Reader, args: Args) -> None:
    """push @list, ITEMS"""
    if args.values:
        more = [text for value in args.values[1:] for text in value.texts]
        args.values[0].texts += more
        args.values[0].lossy = args.values[0].lossy or not more


def _decoded(reader: Reader, args: Args) -> Value:
    import binascii

    found: list[Text] = []
    for text in args.texts(0):
        try:
            found.append(decode(binascii.a2b_base64(encode(text))) if isinstance(text, str) else text)
        except ValueError:
            found.append(unknown("unknown-argument", "decode_base64()"))
    return Value(found)


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
        deeds.keep_handle(reader, args.values[0], texts[1])
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
    handle = reader.handles.get(deeds.handle_name(args.values[0])) if args.values else None
    for path in [handle] if handle is not None else args.texts(0):
        reader.process.truncate(path, int(size[0]) if size and isinstance(size[0], str) and size[0].isdigit() else None)


def _path(reader: Reader, args: Args) -> Value:
    """Path::Tiny and IO::File: a path stands for itself."""
    return Value(args.texts(0))


def _environment(reader: Reader, args: Args) -> Value:
    return Value([])


DEEDS = deeds.table(
    ("ENV.[]", deeds.environment),
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
    ("opendir", deeds.opened),
    ("readdir", deeds.entered),
    ("push unshift", _pushed),
    ("decode_base64 MIME::Base64::decode_base64", _decoded),
    ("closedir close binmode", deeds.nothing),
)
