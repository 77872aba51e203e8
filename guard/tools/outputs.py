"""Tools that write one file which an option or an operand names: compilers, converters, recorders, generators."""

from __future__ import annotations

from guard.effects import EDIT, OVERWRITE, At, Pattern, Text, join, unknown
from guard.overlay import FILE
from guard.tools.answers import NO, YES, Answers
from guard.tools.call import analysis
from guard.tools.changes import Changes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    from guard.effects import Analysis
    from guard.tools.call import Call
else:
    from guard.record import NamedTuple


class Row(NamedTuple):
    """Where a tool's output is named: options with the name behind them, beginnings with the name attached, how many operands
    come before the output's own (None: no operand is an output; -1: the last one is), the options whose value is no operand, and
    the first words under which this holds (none: always)."""

    options: tuple[str, ...] = ()
    attached: tuple[str, ...] = ()
    before: int | None = None
    values: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    default: str = ""
    action: str = OVERWRITE


O = Row(("-o", "--output"), ("-o", "--output="))  # noqa: E741
COMPILER = Row(
    ("-o", "-MF", "-MJ", "-aux-info"), ("-o", "--output="), default="a.out",
    values=("-x", "-I", "-L", "-D", "-U", "-include", "-isystem", "-MT", "-MQ", "-Xlinker", "-framework", "-arch", "-T", "-u"),
)  # fmt: skip
LAST = Row(before=-1)
SECOND = Row(before=1)

TABLE: dict[str, Row] = {
    "age": O, "age-keygen": O, "as": O._replace(default="a.out"), "bison": O, "c++": COMPILER, "cc": COMPILER,
    "clang": COMPILER,
    "clang++": COMPILER, "cobc": O, "convert": LAST, "cwebp": O, "dot": O, "dwebp": O, "enscript": Row(("-o", "-p"), ("-p",)),
    "esbuild": Row((), ("--outfile=", "--metafile=")), "f77": COMPILER, "flex": O, "g++": COMPILER, "gcc": COMPILER,
    "gfortran": COMPILER, "genisoimage": O, "ghc": O,
    "go": Row(("-o", "-coverprofile", "-cpuprofile"), ("-o=", "-coverprofile="),
    verbs=("build", "test")), "gpg": O, "gpg2": O, "gs": Row((), ("-sOutputFile=", "-o")), "indent": Row(("-o",)),
    "inkscape": Row(("-o", "--export-filename"), ("--export-filename=", "-o")), "ld": O._replace(default="a.out"),
    "ltrace": O, "magick": LAST, "mkisofs": O, "mksquashfs": LAST,
    "mysqldump": Row(("-r", "--result-file"), ("-r", "--result-file=")),
    "nasm": O, "nmap": Row(("-oN", "-oX", "-oG", "-oA")), "openssl": Row(("-out", "-keyout", "-writerand", "-sigfile")),
    "objcopy": Row(before=1, values=("-I", "-O", "-B", "-j", "-R", "-K", "-N")),
    "pandoc": O, "pdftk": Row(("output",)), "pdftotext": Row(before=1, values=("-f", "-l", "-r", "-enc")), "perf": O,
    "pg_dump": Row(("-f", "--file"), ("-f", "--file=")), "pip-compile": O, "pylint": Row((), ("--output=",)),
    "pytest": Row(("--junitxml", "--junit-xml"), ("--junitxml=", "--junit-xml=", "--cov-report=xml:", "--resultlog=")),
    "qpdf": LAST, "rsvg-convert": O, "rustc": O, "strace": O, "swig": Row(("-o", "-oh")), "tcpdump": Row(("-w",), ("-w",)),
    "terraform": Row((), ("-out=",), verbs=("plan",)), "terser": O, "tshark": Row(("-w",), ("-w",)),
    "tsc": Row(("--outFile", "--outfile", "--tsBuildInfoFile")), "uglifyjs": O,
    "valgrind": Row((), ("--log-file=", "--xml-file=")), "wkhtmltopdf": LAST, "wkhtmltoimage": LAST, "xmllint": O,
    "xorrisofs": O, "yasm": O,
    "conda": Row(("-f", "--file"), ("--file=",), verbs=("env",)), "poetry": O._replace(verbs=("export",)),
    "uv": O._replace(verbs=("pip", "export")), "sass": SECOND, "lessc": SECOND,
    "mkswap": Row(before=0, values=("-L", "-p", "-U")), "mkfs": LAST, "mkfs.ext2": LAST, "mkfs.ext3": LAST, "mkfs.ext4": LAST,
    "mkfs.xfs": LAST, "mkfs.btrfs": LAST, "mkfs.vfat": LAST, "mke2fs": LAST, "wipefs": LAST, "blkdiscard": LAST,
    "asciinema": Row(before=1, verbs=("rec",)),
    "qemu-img": Row(before=-1, verbs=("convert",)), "cjpeg": Row(("-outfile",)), "djpeg": Row(("-outfile",)), "sox": LAST,
    "lame": SECOND, "oggenc": O, "opusenc": SECOND, "flac": O, "uudecode": O,
}  # fmt: skip
STOPS = frozenset(("--help", "--version", "-V", "--dry-run"))


def output(call: Call) -> Analysis:
    """The effects of a tool of the table, by its name."""
    changes = Changes(call)
    name = str(call.argv[0]).rpartition("/")[2]
    row = TABLE.get(name) or (COMPILER if name.endswith(("-gcc", "-g++", "-cc")) else None)
    words = call.argv[1:]
    if row is None or STOPS & {word for word in words if isinstance(word, str)}:
        return changes.result(unknown("unknown-output", name))._replace(status=None)
    if row.verbs and (not words or words[0] not in row.verbs):
        return changes.result(unknown("unknown-output", name))._replace(status=None)
    named, operands = _named(words[1:] if row.verbs else words, row)
    if row.before is not None and len(operands) > (1 if row.before == -1 else row.before):
        named.append(operands[row.before])
    elif row.before == -1 and len(operands) == 1 and name.startswith(("mk", "wipe", "blk")):
        named.append(operands[0])
    if not named and row.default and operands and "-c" not in words:
        named.append(row.default)
    for place in named:
        if place not in ("-", ""):
            changes.write(changes.opened(_bare(place)), action=row.action)
    return changes.result(unknown("unknown-output", name))._replace(status=None)


def _bare(place: Text) -> Text:
    """The name without a format in front ("png:out", as ImageMagick has it)."""
    if isinstance(place, str):
        before, colon, rest = place.partition(":")
        return rest if colon and before.isalnum() and before.islower() and len(before) > 1 and rest else place
    return place


def _named(words: tuple[Text, ...], row: Row) -> tuple[list[Text], list[Text]]:
    """The outputs that options name, and the operands."""
    rest = list(words)[::-1]
    named: list[Text] = []
    operands: list[Text] = []
    while rest:
        word = rest.pop()
        start = word if isinstance(word, str) else word.prefix
        if word in row.options:
            named += [rest.pop()] if rest else []
        elif word in row.values:
            rest = rest[:-1]
        elif word == "--":
            operands += rest[::-1]
            break
        elif found := next((a for a in row.attached if start.startswith(a) and (start != a or isinstance(word, Pattern))), None):
            named.append(_after(word, len(found)))
        elif not start.startswith("-") or word == "-":
            operands.append(word)
    return named, operands


def _after(word: Text, at: int) -> Text:
    if isinstance(word, str):
        return word[at:]
    return join(word.prefix[at:], Pattern(word.pieces[1:]))


def script(call: Call) -> Analysis:
    """script: a record of a session over FILE, and with -c a command."""
    changes = Changes(call)
    clusters = tuple(
        w for w in call.argv[1:] if isinstance(w, str) and w[:1] == "-" and w.endswith("c") and not set(w[1:-1]) - set("aefqr")
    )
    row = Row(
        ("-O", "--log-out", "-B", "--log-io", "-I", "--log-in", "-T", "--log-timing"),
        ("--log-out=", "--log-io=", "--log-in=", "--log-timing="),
        values=("--command", "-o", "--output-limit", "-E", "-m", *clusters),
    )  # fmt: skip
    named, operands = _named(call.argv[1:], row)
    words = call.argv[1:]
    appends = "--append" in words or any(
        isinstance(w, str) and w[:1] == "-" and w[1:2] != "-" and "a" in w.partition("c")[0] for w in words
    )
    command = _command(words)
    if not named:
        named = operands[:1] or ["typescript"]
    for place in named:
        changes.write(changes.opened(place), action=EDIT if appends else OVERWRITE)
    if command is not None:
        call.shell(command)
    return changes.result(unknown("unknown-output", "script"))._replace(status=None)


def _command(words: tuple[Text, ...]) -> Text | None:
    """The command behind -c, also at the end of a cluster, or attached."""
    for i, word in enumerate(words):
        start = word if isinstance(word, str) else word.prefix
        if word == "--":
            return None
        if start.startswith("--command="):
            return _after(word, len("--command="))
        if word == "--command" or (
            start[:1] == "-" and start[1:2] != "-" and "c" in start and not set(start[1 : start.index("c")]) - set("aefqr")
        ):
            attached = _after(word, start.index("c") + 1) if word != "--command" else ""
            return attached or (words[i + 1] if i + 1 < len(words) else None)
    return None


def ssh_keygen(call: Call) -> Analysis:
    """ssh-keygen: a new key asks before it takes the place of one."""
    changes = Changes(call)
    row = Row(("-f",), ("-f",), values=("-t", "-b", "-C", "-N", "-P", "-m", "-O", "-a", "-Z", "-V", "-I", "-n", "-z", "-D"))
    named, _ = _named(call.argv[1:], row)
    flags = "".join(w[1:2] for w in call.argv[1:] if isinstance(w, str) and w.startswith("-"))
    if set(flags) & set("lyBFHieDLQYGMsUkr") or not named:
        return changes.result(unknown("unknown-output", "ssh-keygen"))._replace(status=None)
    if set(flags) & set("pRc"):
        changes.write(changes.opened(named[-1]), action=EDIT)
        return changes.result()
    target = changes.opened(named[-1])
    there = isinstance(target, Pattern) or changes.kind(target) is not None
    answer = Answers(call.stdin).next() if there else YES
    if answer != NO:
        changes.write(target, certain=answer == YES)
        changes.write(changes.opened(join(named[-1], ".pub")), certain=answer == YES)
    return changes.result(unknown("unknown-output", "ssh-keygen"))._replace(status=None)


def ffmpeg(call: Call) -> Analysis:
    """ffmpeg: outputs that are there already are overwritten with -y, else it asks."""
    changes = Changes(call)
    words = call.argv[1:]
    _, operands = _named(words, Row(values=()))
    if not operands or "-n" in words or "-i" not in words:
        return analysis(output="")
    place = operands[-1]
    if words[-1] != place or (len(words) > 1 and words[-2] == "-i"):
        return analysis(output="")
    answer = YES if "-y" in words or not changes.call.exists(place) else Answers(call.stdin).next()
    if answer != NO and place != "-":
        changes.write(changes.opened(place), certain=answer == YES)
    return changes.result()._replace(status=None)


def in_place(call: Call) -> Analysis:
    """mogrify, strip, jpegoptim, optipng ...: every operand's content is replaced by another of the same kind."""
    changes = Changes(call)
    row = Row(values=("-o", "--output", "-resize", "-format", "-quality", "-path", "-m", "-d", "-S"))
    _, operands = _named(call.argv[1:], row)
    words = call.argv[1:]
    if "-o" in words and words.index("-o") + 1 < len(words):
        changes.write(changes.opened(words[words.index("-o") + 1]))
        return changes.result()._replace(status=None)
    for operand in operands:
        target = changes.opened(operand)
        if not isinstance(target, At) or changes.kind(target) == FILE:
            changes.write(target)
    return changes.result()._replace(status=None)


def dos2unix(call: Call) -> Analysis:
    """dos2unix and kin: line ends change in place; -n writes every second operand."""
    changes = Changes(call)
    words = [word for word in call.argv[1:] if word not in ("-o", "-k", "-f", "-q", "-ascii", "-iso", "-7")]
    if set(words) & {"-i", "--info", "-O", "--to-stdout", "--help", "-h", "-V", "--version"}:
        return changes.result(unknown("unknown-output", "dos2unix"))
    at = next((i for i, word in enumerate(words) if word in ("-n", "--newfile")), len(words))
    for word in words[:at]:
        target = changes.opened(word)
        if not (isinstance(word, str) and word.startswith("-")) and (not isinstance(target, At) or changes.kind(target) == FILE):
            changes.write(target, action=EDIT)
    for word in words[at + 2 :: 2]:
        changes.write(changes.opened(word))
    return changes.result()
