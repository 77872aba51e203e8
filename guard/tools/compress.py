"""Compressors: gzip, bzip2, xz, zstd, lz4 and kin put FILE.gz in FILE's place, and back."""

from __future__ import annotations

from guard.effects import CREATE, DELETE, OVERWRITE, At, Pattern, Text, unknown
from guard.overlay import DIRECTORY, FILE, SYMLINK
from guard.paths import child, parent
from guard.tools.answers import NO, YES, Answers
from guard.tools.call import analysis
from guard.tools.changes import Changes, encoded
from guard.tools.options import Options, Table, parse
from guard.tools.reading import UnknownOutputError, decoded, one

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    from guard.effects import Analysis
    from guard.tools.call import Call
else:
    from guard.record import NamedTuple

LONG = {
    "stdout": "", "to-stdout": "", "decompress": "", "uncompress": "", "force": "", "keep": "", "list": "",
    "no-name": "", "name": "",
    "quiet": "", "recursive": "", "suffix": "=", "test": "", "verbose": "", "fast": "", "best": "", "rm": "", "help": "",
    "version": "",
    "compress": "", "output": "=", "threads": "=", "format": "=", "small": "", "extreme": "", "rsyncable": "",
    "synchronous": "",
    "ultra": "", "long": "?", "adaptive": "?", "no-progress": "", "progress": "", "check": "?", "no-check": "", "memory": "=",
    "block-size": "=", "files": "?", "files0": "?", "single-stream": "", "no-sparse": "", "memlimit": "=",
    "memlimit-compress": "=",
    "memlimit-decompress": "=", "no-adjust": "", "robot": "", "ignore-check": "", "output-dir-flat": "=",
    "output-dir-mirror": "=",
    "filelist": "=", "delete": "", "path": "=", "unlink": "", "license": "", "repetitive-fast": "", "repetitive-best": "",
    "single-thread": "", "processes": "=", "independent": "", "recompress": "", "zlib": "", "zip": "", "quality": "=",
    "lgwin": "=",
    "multiple": "", "content-size": "", "favor-decSpeed": "", "patch-from": "=", "train": "", "maxdict": "=", "dictID": "=",
    "stream-size": "=", "size-hint": "=", "target-compressed-block-size": "=", "exclude-compressed": "", "info": "",
    "block-list": "=", "flush-timeout": "=", "lzma1": "?", "lzma2": "?", "x86": "?", "delta": "?", "asm": "=", "trace": "=",
    "row-match-finder": "", "no-row-match-finder": "", "sparse": "", "auto-threads": "=", "qq": "", "no-dictID": "",
    "dict": "=",
}  # fmt: skip
SAME = {
    "stdout": "c", "to-stdout": "c", "decompress": "d", "uncompress": "d", "force": "f", "keep": "k", "list": "l",
    "recursive": "r",
    "suffix": "S", "test": "t", "compress": "z", "delete": "U", "unlink": "U", "rm": "U", "info": "l",
}  # fmt: skip


class Kind(NamedTuple):
    """A compressor: the suffix that it adds, the other suffixes that it can take off (with what takes their place), the options
    beside the common ones, whether it keeps its input unless told otherwise, the letter that names the output, and
    how its files begin."""

    suffix: str
    others: dict[str, str]
    flags: str = ""
    values: str = ""
    keeps: bool = False
    output: str = ""
    magic: tuple[bytes, ...] = ()


PACKED = 20  # files of one call whose new content is worked out
COMMON = "cdfhklqrtvLVz0123456789"
KINDS = {
    "gzip": Kind(".gz", {".tgz": ".tar", ".z": "", "-gz": "", "-z": "", "_z": "", ".taz": ".tar", ".Z": ""}, "anNRi", "bSpI",
                 magic=(b"\x1f\x8b", b"\x1f\x9d", b"\x1f\xa0", b"PK", b"\x1f\x1e")),
    "bzip2": Kind(".bz2", {".bz": "", ".tbz2": ".tar", ".tbz": ".tar"}, "s", "bmpS", magic=(b"BZh",)),
    "xz": Kind(".xz", {".txz": ".tar", ".lzma": "", ".tlz": ".tar", ".lz": ""}, "eQHa", "CFMTS",
               magic=(b"\xfd7zXZ\0", b"\x5d\0", b"LZIP")),
    "lzma": Kind(".lzma", {".tlz": ".tar", ".xz": "", ".txz": ".tar"}, "eQHa", "CFMTS", magic=(b"\xfd7zXZ\0", b"\x5d\0")),
    "zstd": Kind(".zst", {".tzst": ".tar", ".gz": "", ".xz": "", ".lz4": "", ".lzma": "", ".zstd": ""}, "CH", "DMTBbeio", True,
                 "o",
                 (b"\x28\xb5\x2f\xfd", b"\x1f\x8b", b"\xfd7zXZ\0", b"\x04\x22\x4d\x18", b"\x5d\0", b"\x50\x2a\x4d\x18")),
    "lz4": Kind(".lz4", {}, "mHi", "BDbeT", True, "", (b"\x04\x22\x4d\x18", b"\x02\x21\x4c\x18", b"\x50\x2a\x4d\x18")),
    "lzop": Kind(".lzo", {".tzo": ".tar"}, "UnNPCFiIxX", "SopT", True, "o", (b"\x89LZO",)),
    "lzip": Kind(".lz", {".tlz": ".tar"}, "aFmse", "bBSnoM", magic=(b"LZIP",), output="o"),
    "brotli": Kind(".br", {}, "jns", "qwoSD", True, "o"),
    "compress": Kind(".Z", {}, "C", "b", magic=(b"\x1f\x9d",)),
}  # fmt: skip
# command -> (compressor, options that its name implies)
NAMES = {
    "gunzip": ("gzip", "-d"), "zcat": ("gzip", "-cd"), "pigz": ("gzip", ""), "unpigz": ("gzip", "-d"),
    "bunzip2": ("bzip2", "-d"),
    "bzcat": ("bzip2", "-cd"), "pbzip2": ("bzip2", ""), "lbzip2": ("bzip2", ""), "unxz": ("xz", "-d"), "xzcat": ("xz", "-cd"),
    "pxz": ("xz", ""), "pixz": ("xz", ""), "unlzma": ("lzma", "-d"), "lzcat": ("lzma", "-cd"), "unzstd": ("zstd", "-d"),
    "zstdcat": ("zstd", "-cd"), "zstdmt": ("zstd", ""), "pzstd": ("zstd", ""), "unlz4": ("lz4", "-d"),
    "lz4cat": ("lz4", "-cd"),
    "plzip": ("lzip", ""), "unlzop": ("lzop", "-d"), "uncompress": ("compress", "-d"),
}  # fmt: skip
VARIABLES = {"gzip": ("GZIP",), "xz": ("XZ_DEFAULTS", "XZ_OPT"), "lzma": ("XZ_DEFAULTS", "XZ_OPT"), "bzip2": ("BZIP2", "BZIP")}


def compress(call: Call) -> Analysis:
    """Any of the compressors, by its name."""
    name = str(call.argv[0]).rpartition("/")[2]
    name, implied = NAMES.get(name, (name, ""))
    kind = KINDS.get(name)
    if kind is None:
        return analysis()
    words = [word for variable in VARIABLES.get(name, ()) for word in _words(call.env.get(variable))]
    table = Table(
        flags=COMMON + kind.flags + "U", values=kind.values, long=LONG, same={**SAME, **({"output": "o"} if kind.output else {})}
    )
    arguments: list[Text] = [*words, *_plain(call.argv[1:])]
    options = parse([implied, *arguments] if implied else arguments, table)
    return _run(call, kind, options, name)


def _plain(words: tuple[Text, ...]) -> list[Text]:
    """Arguments without zstd's and lz4's attached numbers ("-T0", "--long=27" are as elsewhere; "-19" is a level)."""
    return [
        word for word in words if not (isinstance(word, str) and word[:1] == "-" and word[1:].isascii() and word[1:].isdigit())
    ]


def _words(text: Text | None) -> list[str]:
    return text.split() if isinstance(text, str) else []


def _run(call: Call, kind: Kind, options: Options, name: str) -> Analysis:
    changes = Changes(call)
    if options.has("t", "l", "help", "version", "h", "V", "L") or (name == "xz" and options.has("H")):
        return changes.result(unknown("unknown-output", name))
    operands = list(options.operands)
    to_stdout = options.has("c") or operands in ([], ["-"])
    place = options.value("o") if kind.output else None
    if name == "lz4" and len(operands) == 2 and not options.has("m", "multiple", "c"):
        operands, place = operands[:1], operands[1]
    elif place is None and to_stdout:
        return _filtered(changes, tuple(operands), name, options)
    # Most ask only at a terminal, or never; zstd and lz4 read the answer from wherever standard input comes from.
    asks = name in ("zstd", "lz4", "brotli") or (name in ("gzip", "compress", "lzop", "lzip") and call.stdin is None)
    answers = Answers(call.stdin if asks else "")
    for operand in operands or ["-"]:
        _file(changes, operand, place, kind, options, answers, name)
    return changes.result()


def _filtered(changes: Changes, operands: tuple[Text, ...], name: str, options: Options) -> Analysis:
    """What goes to standard output."""
    from guard.tools.compression import packed, unpacked

    pieces, status = [], 0
    try:
        for operand in operands or ("-",):
            text = one(changes.call, operand)
            if text is None and options.has("d") and isinstance(operand, str):
                text = one(changes.call, operand + KINDS[name].suffix)  # zcat FILE means FILE.gz
            if text is None:
                status = 1
                continue
            data = encoded(text)
            known = unpacked(data, options.has("f")) if options.has("d") else packed(data, KINDS[name].suffix)
            if known is None:
                raise UnknownOutputError
            pieces.append(known)
    except UnknownOutputError:
        return changes.result(unknown("unknown-output", name))._replace(status=None)
    return changes.result(decoded(b"".join(pieces)), status=status)


def _file(changes: Changes, operand: Text, place: Text | None, kind: Kind, options: Options, answers: Answers, name: str) -> None:
    if isinstance(operand, Pattern):
        target = changes.entry(operand)
        changes.status = None
        if target is not None and not _keeps(kind, options):
            changes.add(DELETE, target)
        return None
    if place is not None:
        return _to_place(changes, operand, place, kind, options, answers)
    entry = changes.entry(operand)
    if (
        isinstance(entry, At)
        and options.has("d")
        and changes.kind(entry) is None
        and changes.entry(operand + kind.suffix) is not None
    ):
        entry = changes.entry(operand + kind.suffix)  # gunzip FILE means FILE.gz
    found = changes.kind(entry)
    if not isinstance(entry, At) or found is None:
        return changes.fail()
    if found == DIRECTORY or (found == SYMLINK and changes.view.is_dir(entry.path)):
        return _tree(changes, changes.view.through(entry.path), kind, options, answers, name)
    return _replace(changes, entry.path, kind, options, answers, name)


def _to_place(changes: Changes, operand: str, place: Text, kind: Kind, options: Options, answers: Answers) -> None:
    """One input into a named output."""
    source = changes.opened(operand)
    if place == "-" or (operand != "-" and isinstance(source, At) and changes.view.kind(source.path) in (None, DIRECTORY)):
        return
    target = changes.opened(place)
    there = changes.kind(target)
    answer = YES if options.has("f") or there is None or not isinstance(target, At) else answers.next() if operand != "-" else NO
    if answer != NO and not changes.write(target, certain=answer == YES):
        changes.fail()
    entry = changes.entry(operand) if operand != "-" else None
    if entry is not None and answer != NO and not _keeps(kind, options):
        changes.delete(entry, answer == YES)
    return


def _keeps(kind: Kind, options: Options) -> bool:
    """True when the input stays."""
    if kind.keeps:
        return not options.has("U", "j")
    return options.has("k") or options.has("c")


def _tree(changes: Changes, top: str, kind: Kind, options: Options, answers: Answers, name: str) -> None:
    if not options.has("r") or name not in ("gzip", "zstd", "lz4", "compress"):
        return changes.fail()
    for entry, found in changes.view.scan(top) or ():
        if changes.widens(OVERWRITE if _keeps(kind, options) else DELETE, top):
            return None
        path = child(top, entry)
        if found == DIRECTORY:
            _tree(changes, path, kind, options, answers, name)
        elif found == FILE:
            _replace(changes, path, kind, options, answers, name)
    return None


def _replace(changes: Changes, path: str, kind: Kind, options: Options, answers: Answers, name: str) -> None:
    """FILE becomes FILE.suffix, or the other way round."""
    view = changes.view
    if not options.has("f") and _unfit(changes, path, name):
        return changes.fail()
    output = _unpacked(path, kind) if options.has("d") else _packed(path, kind, options)
    if output is None or (options.has("d") and not _fits(changes, path, kind)):
        return changes.fail()
    there = view.kind(view.through(output))
    if there == DIRECTORY or (there is None and not view.is_dir(parent(output))):
        return changes.fail()
    answer = YES if there is None or options.has("f") else answers.next()
    if answer == NO:
        return changes.fail()
    content = _content(view.read(path), output, options) if len(changes.found) < PACKED else None
    changes.add(CREATE if there is None and view.kind(output) is None else OVERWRITE, At(output), answer == YES, None, content)
    if not _keeps(kind, options):
        changes.delete(At(path), answer == YES)
    return None


def _content(data: bytes | None, output: str, options: Options) -> bytes | None:
    """What is written in a file's place, as far as it can be told."""
    from guard.tools.compression import packed, unpacked

    if data is None:
        return None
    return unpacked(data) if options.has("d") else packed(data, output[output.rfind(".") :])


def _unfit(changes: Changes, path: str, name: str) -> bool:
    """Links, and files with several names, are left alone without -f."""
    if changes.view.kind(path) != FILE:
        return not (
            name in ("zstd", "lz4", "brotli") and changes.view.kind(changes.view.through(path)) == FILE and name != "zstd"
        )
    found = changes.view.lstat(path)
    return found is not None and found.st_nlink > 1 and name in ("gzip", "bzip2", "xz", "lzma", "compress")


def _packed(path: str, kind: Kind, options: Options) -> str | None:
    given = options.value("S")
    suffix = kind.suffix
    if isinstance(given, str) and given and kind.suffix in (".gz", ".xz", ".lzma"):
        suffix = given if given.startswith(".") or kind.suffix != ".gz" else "." + given
    known = (suffix, *(end for end in kind.others if kind.suffix in (".gz", ".bz2", ".xz", ".lzma")))
    if (
        kind.suffix != ".zst"
        and path.endswith(known)
        and not (kind.suffix == ".bz2" and options.has("f") and not path.endswith(".bz2"))
    ):
        return None
    return path + suffix


def _unpacked(path: str, kind: Kind) -> str | None:
    for suffix, instead in {kind.suffix: "", **kind.others}.items():
        if path.endswith(suffix) and not path.endswith("/" + suffix):
            return path[: -len(suffix)] + instead
    return path + ".out" if kind.suffix == ".bz2" else None


def _fits(changes: Changes, path: str, kind: Kind) -> bool:
    """False where the input is known not to be compressed."""
    data = changes.view.read(path)
    return data is None or not kind.magic or data.startswith(kind.magic)
