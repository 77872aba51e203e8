"""Tools of coreutils and kin that write files named by operands or options: dd, tee, truncate, touch, mkdir, mktemp, split ..."""

from __future__ import annotations

from guard.effects import CREATE, EDIT, OVERWRITE, TRUNCATE, At, Text
from guard.overlay import FILE
from guard.paths import parent
from guard.tools.call import analysis
from guard.tools.changes import Changes, incoming, said
from guard.tools.options import Options, Table, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.effects import Analysis
    from guard.tools.call import Call

HELP = {"help": "", "version": ""}
TEE = Table(
    flags="aip",
    long={"append": "", "ignore-interrupts": "", "output-error": "?", **HELP},
    same={"append": "a", "ignore-interrupts": "i"},
)
TRUNCATE_OPTIONS = Table(
    flags="co",
    values="rs",
    long={"no-create": "", "io-blocks": "", "reference": "=", "size": "=", **HELP},
    same={"no-create": "c", "io-blocks": "o", "reference": "r", "size": "s"},
)
TOUCH = Table(
    flags="acfhm",
    values="drt",
    long={"no-create": "", "date": "=", "no-dereference": "", "reference": "=", "time": "=", **HELP},
    same={"no-create": "c", "date": "d", "no-dereference": "h", "reference": "r"},
)


FALLOCATE = Table(
    flags="cdinpvxzw",
    values="lo",
    long={
        "collapse-range": "", "dig-holes": "", "insert-range": "", "length": "=", "keep-size": "", "offset": "=",
        "punch-hole": "",
        "verbose": "", "posix": "", "zero-range": "", "write-zeroes": "", **HELP,
    },
    same={
        "collapse-range": "c", "dig-holes": "d", "insert-range": "i", "length": "l", "keep-size": "n", "offset": "o",
        "punch-hole": "p",
        "zero-range": "z", "write-zeroes": "w",
    },
)  # fmt: skip
SUFFIXES = {"": 1, "b": 512, "c": 1, "w": 2, "k": 1 << 10, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
SUFFIXES |= {letter + "iB": SUFFIXES[letter] for letter in "KMGT"} | {letter + "B": 1000**i for i, letter in enumerate("KMGT", 1)}


def number(text: Text | None) -> int | None:
    """A size as coreutils write it ("4", "2k", "1MiB", "512x2"), None where it is not known."""
    if not isinstance(text, str):
        return None
    product = 1
    for factor in text.split("x") if not text.startswith("0x") else [text]:
        digits = factor.rstrip("bcwkKMGTiB")
        scale = SUFFIXES.get(factor[len(digits) :])
        if scale is None or not digits.isascii() or not digits.isdigit() or len(digits) > 18:
            return None
        product *= int(digits) * scale
    return product


def tee(call: Call) -> Analysis:
    """tee: standard input into every operand. https://www.gnu.org/software/coreutils/tee"""
    changes = Changes(call)
    options = parse(call.argv[1:], TEE)
    if options.has("help", "version") or changes.refuses(options):
        return changes.result(status=int(not options.has("help", "version")))
    text = incoming(call)
    for operand in options.operands:
        if options.has("a"):
            append(changes, operand, text)
        elif not changes.write(changes.opened(operand), text):
            changes.fail()
    return changes.result(call.stdin if call.stdin is not None else said("tee", True))


def emptied(argv: list[Text]) -> list[Text]:
    """The files that tee or dd empties when it starts, also behind sudo and its like, before anything comes in."""
    names = [word for word in argv if word in ("tee", "gtee", "dd", "gdd")]
    if not names:
        return []
    words = argv[argv.index(names[0]) + 1 :]
    if names[0] in ("tee", "gtee"):
        options = parse(words, TEE)
        return [] if options.has("a") or options.strange else list(options.operands)
    if any(isinstance(word, str) and ("notrunc" in word or word.startswith(("seek=", "oseek="))) for word in words):
        return []
    return [word[3:] for word in words if isinstance(word, str) and word.startswith("of=")]


def append(changes: Changes, operand: Text, text: bytes | None) -> None:
    """Text behind what a file holds already."""
    target = changes.opened(operand)
    old = changes.view.read(target.path) if isinstance(target, At) and changes.kind(target) == FILE else b""
    if text == b"" and old is not None and isinstance(target, At) and changes.kind(target) == FILE:
        return
    new = old + text if old is not None and text is not None and isinstance(target, At) else None
    if not changes.write(target, new, action=EDIT):
        changes.fail()


def sponge(call: Call) -> Analysis:
    """sponge (moreutils): all of standard input, then into the file."""
    changes = Changes(call)
    options = parse(call.argv[1:], Table(flags="ah"))
    for operand in options.operands[:1]:
        if options.has("a"):
            append(changes, operand, incoming(call))
        elif not changes.write(changes.opened(operand), incoming(call)):
            changes.fail()
    return changes.result(call.stdin if not options.operands and call.stdin is not None else "")


def truncate(call: Call) -> Analysis:
    """truncate: a size, absolute or relative. https://www.gnu.org/software/coreutils/truncate"""
    changes = Changes(call)
    options = parse(call.argv[1:], TRUNCATE_OPTIONS)
    if options.has("help", "version"):
        return changes.result()
    if changes.refuses(options) or not options.has("s", "r") or not options.operands:
        return changes.result(status=1)
    if _wrong_size(changes, options):
        return changes.result(status=1)
    for operand in options.operands:
        target = changes.opened(operand)
        if not isinstance(target, At) or changes.kind(target) is None:
            if not options.has("c") and target is not None and not changes.write(target, b"", action=TRUNCATE):
                changes.fail()
            continue
        if changes.kind(target) != FILE:
            changes.fail()
            continue
        _resize(changes, target, options)
    return changes.result()


def _wrong_size(changes: Changes, options: Options) -> bool:
    """True for a size or a reference that truncate refuses before it touches anything."""
    size, reference = options.value("s"), options.value("r")
    if isinstance(reference, str) and not changes.call.exists(reference):
        return True
    return isinstance(size, str) and number(size.strip().lstrip("+-<>/%")) is None


def _resize(changes: Changes, target: At, options: Options) -> None:
    found = changes.view.lstat(target.path)
    old = changes.view.read(target.path)
    size = len(old) if old is not None else found.st_size if found is not None else None
    new = _new_size(changes, options, size)
    if new is None:
        changes.add(TRUNCATE, target, certain=False)
    elif new == 0:
        if size:
            changes.add(TRUNCATE, target, content=b"")
    elif old is None:
        changes.add(EDIT if size is not None and new >= size else OVERWRITE, target)
    elif new != size:
        grown = old[:new] + (bytes(new - len(old)) if len(old) < new <= len(old) + (1 << 20) else b"")
        changes.add(EDIT if new > len(old) else OVERWRITE, target, content=grown)


def _new_size(changes: Changes, options: Options, size: int | None) -> int | None:
    """The size after truncate, None where it cannot be told."""
    base = size
    if options.has("r"):
        reference = changes.call.where(options.value("r") or "")
        found = changes.view.lstat(reference) if reference is not None else None
        base = found.st_size if found is not None else None
    text = options.value("s")
    if text is None:
        return base
    text = text.strip() if isinstance(text, str) else text
    sign = text[:1] if isinstance(text, str) and text[:1] in ("+", "-", "<", ">", "/", "%") else ""
    count = number(text[len(sign) :] if isinstance(text, str) else text)
    if count is None or (sign and base is None):
        return None
    if not sign or base is None:
        return count
    if sign in ("+", "-"):
        return max(0, base + count if sign == "+" else base - count)
    if sign in ("<", ">"):
        return min(base, count) if sign == "<" else max(base, count)
    return None if not count else base // count * count if sign == "/" else -(-base // count) * count


def touch(call: Call) -> Analysis:
    """touch: a missing file appears. https://www.gnu.org/software/coreutils/touch"""
    changes = Changes(call)
    options = parse(call.argv[1:], TOUCH)
    if changes.refuses(options) or options.has("help", "version"):
        return changes.result(status=int(not options.has("help", "version")))
    for operand in options.operands:
        target = changes.opened(operand)
        if isinstance(target, At) and changes.kind(target) is None and not options.has("c", "h"):
            if changes.view.is_dir(parent(target.path)) and not (isinstance(operand, str) and operand.endswith("/")):
                changes.add(CREATE, target, content=b"")
            else:
                changes.fail()
    return changes.result()


def fallocate(call: Call) -> Analysis:
    """fallocate: space is reserved; a punched, zeroed or collapsed range goes."""
    changes = Changes(call)
    options = parse(call.argv[1:], FALLOCATE)
    if options.has("help", "version"):
        return changes.result()
    loses = options.has("c", "p", "z", "w", "i")
    for operand in options.operands:
        target = changes.opened(operand)
        grows = options.has("l") and not options.has("n", "d") and changes.kind(target) == FILE
        if grows and not loses:
            changes.write(target, action=EDIT)
        elif loses or (isinstance(target, At) and changes.kind(target) is None and not options.has("d")):
            changes.write(target)
    return changes.result()._replace(status=None)


def harmless(call: Call) -> Analysis:
    """chmod, chown, chattr and kin: what a file holds stays."""
    del call
    return analysis()
