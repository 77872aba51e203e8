"""Text filters: tools that only read, with what they write where that is a plain function of what they read."""

from __future__ import annotations

from guard import expressions as re
from guard.effects import Analysis, Effect, Pattern, Text, Unknown, join, unknown
from guard.tools.call import analysis
from guard.tools.changes import Changes, encoded
from guard.tools.options import Options, Table, parse
from guard.tools.reading import UnknownOutputError, filtered, joined, lines, passed_through, shrug, texts
from guard.tools.sorting import sort_key
from guard.tools.transliteration import transliterated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from guard.tools.call import Call

_UNITS = {"b": 512, "k": 1 << 10, "K": 1 << 10, "kB": 1000, "KB": 1000, "M": 1 << 20, "MB": 10**6, "G": 1 << 30, "": 1}


def cat(call: Call) -> Analysis:
    """The inputs one behind the other; -n and -E are understood, -u changes nothing."""
    options = parse(call.argv[1:], Table(flags="AbeEnstTuv", long={"number": "", "show-ends": ""}, same={"number": "n"}))
    if options.strange or options.has("A", "b", "e", "E", "s", "t", "T", "v", "show-ends"):
        return shrug(call, 0)
    whole = passed_through(call, options.operands)
    if not options.has("n"):
        return whole
    if not isinstance(whole.output, str):
        return shrug(call)
    numbered = [f"{number:6}\t{line}" for number, line in enumerate(_ended(whole.output, "\n"), 1)]
    return whole._replace(output="".join(numbered))


def tac(call: Call) -> Analysis:
    """The lines of each input backwards."""
    return filtered(call, Table(flags="br", values="s"), lambda options, found: "".join(map(_backwards, found)))


def _backwards(text: str) -> str:
    parts = text.split("\n")
    last = parts.pop()
    return last + joined(parts[::-1])


def head(call: Call) -> Analysis:
    """The beginning of each input."""
    table = Table(
        flags="qvz",
        values="nc",
        long={"lines": "=", "bytes": "=", "quiet": "", "silent": "", "verbose": "", "zero-terminated": ""},
        same={"lines": "n", "bytes": "c", "quiet": "q", "silent": "q", "verbose": "v", "zero-terminated": "z"},
    )
    return filtered(_begun(_modern(call), table), table, _head, "n c q v z")


def _begun(call: Call, table: Table) -> Call:
    """Standard input cut behind the lines that head shows, where so much of it is known."""
    stdin = call.stdin
    options = parse(call.argv[1:], table)
    if not isinstance(stdin, Pattern) or options.operands not in ((), ("-",)) or not {name for name, _ in options.given} <= {"n"}:
        return call
    count = str(options.value("n") or "10")
    if not count.isdecimal() or len(count) > 6 or stdin.prefix.count("\n") < int(count):
        return call
    return call._replace(stdin=joined(stdin.prefix.split("\n")[: int(count)]))


def tail(call: Call) -> Analysis:
    """The end of each input; what -f would still bring is unknown."""
    table = Table(
        flags="qvzfFr",
        values="ncs",
        long={"lines": "=", "bytes": "=", "quiet": "", "silent": "", "verbose": "", "zero-terminated": "", "follow": "?"},
        same={"lines": "n", "bytes": "c", "quiet": "q", "silent": "q", "verbose": "v", "zero-terminated": "z", "follow": "f"},
    )
    return filtered(_modern(call), table, _tail, "n c q v z")


def _modern(call: Call) -> Call:
    """The old form of the first argument, -5 or +5, in the new one."""
    first = call.argv[1] if len(call.argv) > 1 else ""
    if isinstance(first, str) and (found := re.fullmatch(r"([-+]?)(\d+)([lc]?)", first)) and found[1]:
        sign = "+" if found[1] == "+" else ""
        return call._replace(argv=(call.argv[0], "-c" if found[3] == "c" else "-n", sign + found[2], *call.argv[2:]))
    return call


def _headed(options: Options, found: list[str], cut: list[str]) -> str:
    """With several inputs, each below its name."""
    if (len(found) > 1 and not options.has("q")) or options.has("v"):
        names = options.operands or ("standard input",)
        if len(names) != len(cut):
            raise UnknownOutputError
        return "\n".join(f"==> {name} <==\n{text}" for name, text in zip(names, cut, strict=True))
    return "".join(cut)


def _count(options: Options) -> tuple[str, str, int]:
    """The unit (n or c), the sign and the number."""
    unit = options.last("n", "c") or "n"
    value = options.value(unit)
    matched = re.fullmatch(r"([-+]?)(\d+)([bkKMG]?B?)", str(value or "10"))
    if matched is None:
        raise UnknownOutputError
    return unit, matched[1], int(matched[2]) * _UNITS[matched[3]]


def _head(options: Options, found: list[str]) -> str:
    unit, sign, count = _count(options)
    end = "\0" if options.has("z") else "\n"

    def cut(text: str) -> str:
        if unit == "c":
            data = encoded(text)
            return (data[:count] if sign != "-" else data[: max(len(data) - count, 0)]).decode("utf-8", "surrogateescape")
        parts = _ended(text, end)
        return "".join(parts[:count] if sign != "-" else parts[: max(len(parts) - count, 0)])

    return _headed(options, found, [cut(text) for text in found])


def _tail(options: Options, found: list[str]) -> str:
    unit, sign, count = _count(options)
    end = "\0" if options.has("z") else "\n"

    def cut(text: str) -> str:
        if unit == "c":
            data = encoded(text)
            rest = data[max(count - 1, 0) :] if sign == "+" else data[max(len(data) - count, 0) :]
            return rest.decode("utf-8", "surrogateescape")
        parts = _ended(text, end)
        return "".join(parts[max(count - 1, 0) :] if sign == "+" else parts[max(len(parts) - count, 0) :])

    return _headed(options, found, [cut(text) for text in found])


def _ended(text: str, end: str) -> list[str]:
    """The lines with their ends."""
    parts = text.split(end)
    return [part + end for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


SORT = Table(
    flags="bdfgiMhnRrVcCmsuz",
    values="koStT",
    long={
        "ignore-leading-blanks": "", "dictionary-order": "", "ignore-case": "", "general-numeric-sort": "", "month-sort": "",
        "human-numeric-sort": "", "numeric-sort": "", "random-sort": "", "reverse": "", "sort": "=", "version-sort": "",
        "check": "?",
        "key": "=", "merge": "", "output": "=", "stable": "", "buffer-size": "=", "field-separator": "=", "unique": "",
        "zero-terminated": "", "parallel": "=", "temporary-directory": "=", "files0-from": "=", "debug": "", "batch-size": "=",
        "compress-program": "=", "random-source": "=",
    },
    same={
        "ignore-leading-blanks": "b", "dictionary-order": "d", "ignore-case": "f", "general-numeric-sort": "g", "month-sort": "M",
        "human-numeric-sort": "h", "numeric-sort": "n", "random-sort": "R", "reverse": "r", "version-sort": "V", "check": "c",
        "key": "k", "merge": "m", "output": "o", "stable": "s", "field-separator": "t", "unique": "u", "zero-terminated": "z",
    },
)  # fmt: skip


def sort(call: Call) -> Analysis:
    """The lines in order (as bytes, whatever the locale); -o overwrites its file, which may be one of the inputs."""
    options = parse(call.argv[1:], SORT)
    output: Text
    try:
        output, status = _sorted(call, options)
    except (UnknownOutputError, ValueError, OverflowError):
        output, status = unknown("unknown-output", "sort"), None
    runs = options.value("compress-program")
    if runs is not None:
        call.run((runs,), stdin=None)
    file = options.value("o")
    if options.strange or file is None or options.has("c", "C") or status == 2:
        return analysis(output=output if not options.has("c", "C") else "", status=status)
    return analysis(_written(call, file, output), status=status)


def _written(call: Call, file: Text, output: Text) -> list[Effect | Unknown]:
    changes = Changes(call)
    changes.write(changes.opened(file), encoded(output) if isinstance(output, str) else None)
    return changes.found


def _sorted(call: Call, options: Options) -> tuple[str, int]:
    if options.has("R", "M", "m", "c", "C", "sort", "files0-from", "d", "i") or options.strange:
        raise UnknownOutputError
    found, missing = texts(call, options.operands)
    if missing:
        return "", 2
    end = "\0" if options.has("z") else "\n"
    rows = [row for text in found for row in text.removesuffix(end).split(end) if text]
    key = sort_key(options)
    rows.sort(key=lambda row: (key(row), b"" if options.has("s", "u") else encoded(row)))
    if options.has("r") and not options.has("k"):
        rows.reverse()
    if options.has("u"):
        rows = [row for at, row in enumerate(rows) if at == 0 or key(row) != key(rows[at - 1])]
    return joined(rows, end), 0


def uniq(call: Call) -> Analysis:
    """Neighbours that are equal become one; a second operand is a file that is overwritten."""
    table = Table(
        flags="cdDuiz",
        values="fsw",
        long={"count": "", "repeated": "", "unique": "", "ignore-case": "", "skip-fields": "=", "skip-chars": "="},
        same={"count": "c", "repeated": "d", "unique": "u", "ignore-case": "i", "skip-fields": "f", "skip-chars": "s"},
    )
    options = parse(call.argv[1:], table)
    output: Text
    status: int | None
    try:
        if options.has("D", "z", "f", "s", "w") or options.strange:
            raise UnknownOutputError
        found, missing = texts(call, options.operands[:1])
        output, status = joined(_runs(options, lines("".join(found)))), int(missing)
    except UnknownOutputError:
        output, status = unknown("unknown-output", "uniq"), None
    if len(options.operands) == 2 and options.operands[1] != "-" and status != 1:
        return analysis(_written(call, options.operands[1], output), status=status)
    return analysis(output=output, status=status)


def _runs(options: Options, rows: list[str]) -> list[str]:
    runs: list[tuple[str, int]] = []
    for row in rows:
        if runs and (row == runs[-1][0] or (options.has("i") and row.lower() == runs[-1][0].lower())):
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((row, 1))
    kept = [(row, n) for row, n in runs if not (options.has("d") and n == 1) and not (options.has("u") and n > 1)]
    return [f"{n:7} {row}" if options.has("c") else row for row, n in kept]


def cut(call: Call) -> Analysis:
    """Fields or characters of each line."""
    table = Table(
        flags="nsz",
        values="bcdf",
        long={
            "bytes": "=", "characters": "=", "delimiter": "=", "fields": "=", "complement": "", "only-delimited": "",
            "output-delimiter": "=",
        },
        same={"bytes": "b", "characters": "c", "delimiter": "d", "fields": "f", "only-delimited": "s"},
    )  # fmt: skip
    return filtered(call, table, _cut, "c d f s complement output-delimiter")


def _cut(options: Options, found: list[str]) -> str:
    wanted = _ranges(str(options.value("f", "c") or ""))
    delimiter = str(options.value("d") or "\t")
    out: list[str] = []
    for row in (row for text in found for row in lines(text)):
        parts = row.split(delimiter) if options.has("f") else list(row)
        if options.has("f") and delimiter not in row:
            if not options.has("s"):
                out.append(row)
            continue
        kept = [part for at, part in enumerate(parts, 1) if wanted(at) != options.has("complement")]
        out.append(str(options.value("output-delimiter") or delimiter).join(kept) if options.has("f") else "".join(kept))
    return joined(out)


def _ranges(text: str) -> Callable[[int], bool]:
    spans = []
    for part in text.split(","):
        matched = re.fullmatch(r"(\d*)(-?)(\d*)", part)
        if matched is None or part in ("", "-"):
            raise UnknownOutputError
        low, dash, high = matched.groups()
        spans.append((int(low or 1), int(high) if high else 1 << 60 if dash else int(low)))
    return lambda at: any(low <= at <= high for low, high in spans)


def tr(call: Call) -> Analysis:
    """Characters replaced, deleted or squeezed."""
    table = Table(
        flags="cCdst",
        long={"complement": "", "delete": "", "squeeze-repeats": "", "truncate-set1": ""},
        same={"complement": "c", "C": "c", "delete": "d", "squeeze-repeats": "s", "truncate-set1": "t"},
        permute=False,
    )
    options = parse(call.argv[1:], table)
    sets = options.operands
    if not isinstance(call.stdin, str) or options.strange or not all(isinstance(each, str) for each in sets):
        return shrug(call, 0)
    complement = options.has("c", "C")
    changed = transliterated(call.stdin, [str(each) for each in sets], complement, options.has("d"), options.has("s"))
    return shrug(call, 0) if changed is None else analysis(output=changed, status=0)


def wc(call: Call) -> Analysis:
    """Counts, where only one is asked for."""
    table = Table(
        flags="clmwL",
        long={"bytes": "", "lines": "", "chars": "", "words": "", "max-line-length": "", "files0-from": "=", "total": "="},
        same={"bytes": "c", "lines": "l", "chars": "m", "words": "w", "max-line-length": "L"},
    )
    return filtered(call, table, _wc, "l c w")


def _wc(options: Options, found: list[str]) -> str:
    if len(options.given) != 1 or len(found) != 1 or len(options.operands) > 1:
        raise UnknownOutputError
    letter = options.given[0][0]
    text = found[0]
    count = text.count("\n") if letter == "l" else len(encoded(text)) if letter == "c" else len(text.split())
    return f"{count}{''.join(f' {name}' for name in options.operands)}\n"


def nl(call: Call) -> Analysis:
    """Lines with numbers, in the default form or with -ba."""
    return filtered(call, Table(flags="p", values="bdfhilnsvw"), _nl, "b")


def _nl(options: Options, found: list[str]) -> str:
    style = options.value("b") or "t"
    rows, number = [], 0
    for row in lines("".join(found)):
        if row in ("\\:", "\\:\\:", "\\:\\:\\:") or style not in ("a", "t"):
            raise UnknownOutputError
        counted = style == "a" or row != ""
        number += counted
        rows.append(f"{number:6}\t{row}" if counted else "       " + row)
    return joined(rows)


def rev(call: Call) -> Analysis:
    """Each line backwards."""
    return filtered(call, Table(), lambda options, found: "\n".join(row[::-1] for row in "".join(found).split("\n")))


def seq(call: Call) -> Analysis:
    """Whole numbers in a row."""
    options = parse(call.argv[1:], Table(flags="w", values="fs", long={"separator": "=", "equal-width": ""}, permute=False))
    numbers = [str(each) for each in options.operands]
    if len(numbers) in (1, 2, 3) and all(re.fullmatch(r"-?\d{1,9}", each) for each in numbers) and not options.has("f"):
        values = [int(each) for each in numbers]
        first, step, last = [1, 1, *values] if len(values) == 1 else [values[0], 1, values[1]] if len(values) == 2 else values
        if step and (last - first) // step < 10_000:
            shown = [str(each) for each in range(first, last + (1 if step > 0 else -1), step)]
            width = max(map(len, numbers)) if options.has("w", "equal-width") else 0
            between = options.value("s", "separator") or "\n"
            if isinstance(between, str):
                return analysis(output=between.join(each.zfill(width) for each in shown) + "\n" if shown else "", status=0)
    return shrug(call)


def comm(call: Call) -> Analysis:
    """Lines of two sorted files side by side."""
    return filtered(call, Table(flags="123z", long={"nocheck-order": "", "check-order": ""}), _comm, "1 2 3 nocheck-order")


def _comm(options: Options, found: list[str]) -> str:
    if len(found) != 2:
        raise UnknownOutputError
    left, right = (lines(text)[::-1] for text in found)
    out = []
    while left or right:
        if not right or (left and encoded(left[-1]) < encoded(right[-1])):
            row, column = left.pop(), 1
        elif not left or encoded(right[-1]) < encoded(left[-1]):
            row, column = right.pop(), 2
        else:
            row, column = left.pop(), 3
            right.pop()
        if not options.has(str(column)):
            out.append("\t" * sum(not options.has(str(before)) for before in range(1, column)) + row)
    return joined(out)


def paste(call: Call) -> Analysis:
    """Lines of the inputs side by side, with -s one input a line."""
    table = Table(flags="sz", values="d", long={"serial": "", "delimiters": "="}, same={"serial": "s", "delimiters": "d"})
    return filtered(call, table, lambda options, found: _paste(options, found), "s d")


def _paste(options: Options, found: list[str]) -> str:
    signs = re.sub(r"\\([nt0\\])", lambda m: {"n": "\n", "t": "\t", "0": "", "\\": "\\"}[m[1]], str(options.value("d") or "\t"))
    if len(signs) > 1 or any(name == "-" for name in options.operands[1:]):
        raise UnknownOutputError
    if options.has("s"):
        return joined([signs.join(lines(text)) for text in found])
    columns = [lines(text) for text in found]
    height = max(map(len, columns), default=0)
    return joined([signs.join(column[at] if at < len(column) else "" for column in columns) for at in range(height)])


def reads(call: Call) -> Analysis:
    """A tool that only looks, at something or at the system; what it writes is not modelled."""
    return shrug(call)


def shuf(call: Call) -> Analysis:
    """Lines in some order; -o overwrites its file."""
    table = Table(
        flags="ezr", values="inoR", long={"echo": "", "input-range": "=", "head-count": "=", "output": "="}, same={"output": "o"}
    )
    file = parse(call.argv[1:], table).value("o")
    return shrug(call) if file is None else analysis(_written(call, file, unknown("unknown-output", "shuf")))


_ENCODINGS = {
    "utf8": "utf-8", "ascii": "ascii", "usascii": "ascii", "ansix341968": "ascii", "latin1": "latin-1", "iso88591": "latin-1",
    "utf16le": "utf-16-le", "utf16be": "utf-16-be", "iso885915": "iso8859-15", "cp1252": "cp1252", "windows1252": "cp1252",
}  # fmt: skip


def iconv(call: Call) -> Analysis:
    """Another encoding; -o overwrites its file."""
    table = Table(
        flags="cls",
        values="fto",
        long={"output": "=", "from-code": "=", "to-code": "="},
        same={"output": "o", "from-code": "f", "to-code": "t"},
    )
    options = parse(call.argv[1:], table)
    file = options.value("o")
    output: Text
    status: int | None
    try:
        found, missing = texts(call, options.operands)
        old, new = (_encoding(options.value(letter)) for letter in "ft")
        output, status = encoded("".join(found)).decode(old).encode(new).decode("utf-8", "surrogateescape"), int(missing)
    except (UnknownOutputError, ValueError, LookupError):
        output, status = unknown("unknown-output", "iconv"), None
    if file is None:
        return analysis(output=output, status=status)
    return analysis(_written(call, file, output))


def _encoding(name: Text | None) -> str:
    """Python's name of an encoding; UTF-8 without one."""
    bare = re.sub(r"(?i)//(translit|ignore)$|[-_.\s]", "", str(name or "utf-8")).lower()
    if bare not in _ENCODINGS:
        raise UnknownOutputError
    return _ENCODINGS[bare]


_REPEATED = 100  # lines of yes that are told


def yes(call: Call) -> Analysis:
    """The same line for ever."""
    words = call.argv[1:] if call.argv[1:2] != ("--",) else call.argv[2:]
    if any(isinstance(word, Pattern) for word in words):
        return shrug(call)
    line = " ".join(str(word) for word in words) or "y"
    return analysis(output=join((line + "\n") * _REPEATED, unknown("unknown-output", "yes")))


def yq(call: Call) -> Analysis:
    """-i edits the files in place."""
    words = [word for word in call.argv[1:] if isinstance(word, str)]
    if not any(re.fullmatch(r"-[a-zA-Z]*i[a-zA-Z]*|--in-?place", word) for word in words):
        return shrug(call)
    changes = Changes(call)
    for word in call.argv[1:]:
        if isinstance(word, Pattern) or (not word.startswith("-") and call.exists(word) and not call.is_dir(word)):
            changes.write(changes.opened(word), action="edit")
    return changes.result(status=None)


def report(call: Call) -> Analysis:
    """A tool that only looks, but writes what it finds to the file behind -o."""
    words = call.argv[1:]
    named = [words[at + 1] for at, word in enumerate(words[:-1]) if word == "-o"]
    named += [word[2:] for word in words if isinstance(word, str) and word.startswith("-o") and len(word) > 2]
    if not named:
        return shrug(call)
    return analysis(_written(call, named[-1], unknown("unknown-output", str(call.argv[0]))))
