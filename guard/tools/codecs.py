"""base64, base32, openssl base64 and xxd -r: encodings whose output can be told when their input is known."""

from __future__ import annotations

from guard.effects import Pattern, Text, unknown
from guard.tools.call import analysis
from guard.tools.options import Table, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.effects import Analysis
    from guard.tools.call import Call

BASE = Table(
    "di",
    "w",
    long={"decode": "", "ignore-garbage": "", "wrap": "="},
    same={"decode": "d", "ignore-garbage": "i", "wrap": "w"},
)
XXD = Table("abeEipruCv", "cgloRsn", permute=True)


def base(call: Call) -> Analysis:
    """base64 and base32, both ways."""
    import binascii
    from base64 import b32decode, b32encode

    found = parse(call.argv[1:], BASE)
    data = _input(call, found.operands)
    name = str(call.argv[0]).rpartition("/")[2]
    if data is None or found.strange:
        return analysis(output=unknown("unknown-output", name), status=None)
    try:
        if found.has("d"):
            bare = b"".join(data.split())
            return _told(b32decode(bare) if name == "base32" else binascii.a2b_base64(bare))
        text = b32encode(data).decode() if name == "base32" else binascii.b2a_base64(data, newline=False).decode()
    except (ValueError, binascii.Error):
        return analysis(status=1)
    width = found.value("w")
    columns = int(width) if isinstance(width, str) and width.isdigit() else 76
    lines = [text[at : at + columns] for at in range(0, len(text), columns)] if columns else [text]
    return analysis(output="\n".join(lines) + ("\n" if columns and text else ""), status=0)


def openssl(call: Call) -> Analysis:
    """openssl: its base64, both ways, from standard input or -in; else the files that it writes."""
    words = call.argv[1:]
    named = words[:1] if words[:1] == ("base64",) else ("-base64", "-a") if words[:1] == ("enc",) else ()
    ours = {"base64", "enc", "-base64", "-a", "-d", "-e", "-A", "-in"}
    at = words.index("-in") if "-in" in words[:-1] else -1
    rest = [word for i, word in enumerate(words) if at < 0 or i != at + 1]
    if set(named) & set(words) and all(word in ours for word in rest):
        data = _input(call, words[at + 1 : at + 2] if at >= 0 else ())
        arguments = ("-d",) if "-d" in words else ("-w", "0" if "-A" in words else "64")
        if data is not None:
            text = data.decode("utf-8", "surrogateescape")
            return base(call._replace(argv=("base64", *arguments), stdin=text))
    from guard.tools.outputs import output

    return output(call)


def xxd(call: Call) -> Analysis:
    """xxd: with -r -p plain hexadecimal back to bytes. A second operand is written."""
    from guard.effects import CREATE, EDIT, OVERWRITE, Effect

    words = tuple({"-revert": "-r", "-plain": "-p", "-postscript": "-p", "-ps": "-p"}.get(str(w), w) for w in call.argv[1:])
    found = parse(words, XXD)
    data = _input(call, found.operands[:1])
    output = None
    if data is not None and found.has("r") and found.has("p"):
        digits = "".join(c for c in data.decode("latin-1") if c in "0123456789abcdefABCDEF")
        output = bytes.fromhex(digits[: len(digits) // 2 * 2])
    if len(found.operands) < 2:
        return _told(output) if output is not None else analysis(output=unknown("unknown-output", "xxd"), status=None)
    target = found.operands[1]
    action = CREATE if not call.exists(target) else EDIT if found.has("r") else OVERWRITE
    return analysis([Effect(action, call.through(target), content=output)], status=0)


def _input(call: Call, operands: tuple[Text, ...]) -> bytes | None:
    """The bytes of the one file, or of standard input."""
    if operands and operands[0] != "-":
        return call.read(operands[0])
    if call.stdin is None or isinstance(call.stdin, Pattern):
        return None
    return call.stdin.encode("utf-8", "surrogateescape")


def _told(data: bytes) -> Analysis:
    return analysis(output=data.replace(b"\0", b"").decode("utf-8", "surrogateescape"), status=0)
