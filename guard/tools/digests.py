"""Digests: md5sum, sha256sum and kin, which tell a file's content by a number, or check that it is what a list says."""

from __future__ import annotations

from guard import expressions as re
from guard.tools.call import analysis
from guard.tools.changes import encoded
from guard.tools.options import Options, Table, parse
from guard.tools.reading import FILES, UnknownOutputError, lines, one, shrug

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.effects import Analysis, Text
    from guard.tools.call import Call

TABLE = Table(
    flags="bctwz",
    values="l",
    long={"binary": "", "check": "", "tag": "", "text": "", "zero": "", "ignore-missing": "", "quiet": "", "status": "",
          "strict": "", "warn": "", "length": "="},
    same={"binary": "b", "check": "c", "text": "t", "zero": "z", "warn": "w", "length": "l"},
)  # fmt: skip
NAMES = {"b2sum": "blake2b"}
_LINE = re.compile(r"([0-9a-fA-F]{8,128}) [ *](.+)")


def digest(call: Call) -> Analysis:
    """The sums of the operands, or with -c whether they are as listed."""
    options = parse(call.argv[1:], TABLE)
    if options.strange or options.has("tag", "l", "z", "ignore-missing", "strict") or len(options.operands) > FILES:
        return shrug(call)
    kind = str(call.argv[0]).rpartition("/")[2].removeprefix("g")
    kind = NAMES.get(kind, kind.removesuffix("sum"))
    try:
        return _checked(call, options, kind) if options.has("c") else _sums(call, options, kind)
    except UnknownOutputError:
        return shrug(call)


def _sum(call: Call, operand: Text, kind: str) -> str | None:
    """The sum of an operand's content, None where it cannot be opened."""
    from hashlib import new

    text = one(call, operand)
    return None if text is None else new(kind, encoded(text), usedforsecurity=False).hexdigest()


def _sums(call: Call, options: Options, kind: str) -> Analysis:
    shown, status = "", 0
    for operand in options.operands or ("-",):
        found = _sum(call, operand, kind)
        if found is None:
            status = 1
            continue
        if not isinstance(operand, str) or set(operand) & set("\\\n\r"):
            raise UnknownOutputError
        shown += f"{found} {'*' if options.has('b') else ' '}{operand}\n"
    return analysis(output=shown, status=status)


def _checked(call: Call, options: Options, kind: str) -> Analysis:
    shown, status, any_line = "", 0, False
    for operand in options.operands or ("-",):
        text = one(call, operand)
        for line in lines(text) if text else ():
            matched = _LINE.fullmatch(line)
            if matched is None:
                raise UnknownOutputError
            any_line = True
            found = _sum(call, matched[2], kind)
            good = found == matched[1].lower()
            status = status if good else 1
            if not good or not options.has("quiet"):
                shown += f"{matched[2]}: {'OK' if good else 'FAILED' if found is not None else 'FAILED open or read'}\n"
    return analysis(output="" if options.has("status") else shown, status=status if any_line else 1)
