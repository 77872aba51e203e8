"""Programs that are told in a language of their own what to run: expect, socat, crontab; and which, whose answer is run."""

from __future__ import annotations

from guard import expressions as re
from guard.effects import Analysis, Hole, Pattern, Text, join, unknown
from guard.tools.call import Call
from guard.tools.options import Table, parse
from guard.tools.process import decode

# A command of Tcl, as far as it starts with what runs or types something: words up to the end of the command.
_TCL = re.compile(
    r"(?:^|[;\n{\[])[ \t]*(spawn|exec|system|send|exp_send)[ \t]+((?:\{[^}]*\}|\"(?:\\.|[^\"\\])*\"|\\.|[^;\n\]}])*)", re.S
)
_TCL_WORD = re.compile(r"\{([^}]*)\}|\"((?:\\.|[^\"\\])*)\"|((?:\\.|[^\s\\])+)", re.S)
_RETURNS = re.compile(r"\\[rn]|\r|\n")
_FIELDS = re.compile(r"\s*(?:@\w+|(?:[\w*/,?#L~-]+\s+){4}[\w*/,?#L~-]+)\s+(\S.*)")
_VARIABLE = re.compile(r"\s*[A-Za-z_]\w*\s*=")
_RUNNING = {"exec": False, "system": True, "shell": True}  # addresses of socat: True where a shell reads the text


def expect(call: Call) -> Analysis:
    """expect [-c TEXT] [FILE [ARGUMENT...]]: what it spawns, and what it types into that as if a shell read it."""
    found = parse(call.argv[1:], Table("diDnNv", "cf", permute=False))
    texts = [text for text in found.values("c") if isinstance(text, str)]
    file = found.value("f") or next(iter(found.operands), None)
    content = call.read(file) if file not in (None, "-") else None
    if content is not None:
        texts.append(decode(content))
    elif isinstance(call.stdin, str) and not texts:
        texts.append(call.stdin)
    for verb, rest in _TCL.findall("\n".join(texts)):
        words = [_unquoted(*word) for word in _TCL_WORD.findall(rest)]
        while words and words[0].startswith("-"):
            words.pop(0)
        if verb in ("spawn", "exec") and words:
            call.run(tuple(words), cwd=call.cwd, env=call.env)
        elif words:
            call.shell(_RETURNS.sub("\n", " ".join(words)), cwd=call.cwd, env=call.env)
    return Analysis(output=unknown("unknown-output", "expect"))


def _unquoted(braced: str, quoted: str, bare: str) -> str:
    return braced or re.sub(r"\\([^rn])", r"\1", quoted or bare)


def socat(call: Call) -> Analysis:
    """socat ADDRESS ADDRESS: EXEC and SYSTEM run a program, OPEN and its kin write a file."""
    for word in call.argv[1:]:
        kind, colon, rest = str(word).partition(":") if isinstance(word, str) else ("", "", "")
        if colon and kind.lower() in _RUNNING:
            call.shell(re.split(r"(?<!\\),", rest)[0], cwd=call.cwd, env=call.env)
    return Analysis(output=unknown("unknown-output", "socat"))


def crontab(call: Call) -> Analysis:
    """crontab [-u USER] FILE|-: what its lines run, some time later."""
    found = parse(call.argv[1:], Table("lreiTn", "us"))
    if found.has("l") or found.has("r") or found.has("e"):
        return Analysis(output=unknown("unknown-output", "crontab"))
    file = found.operands[0] if found.operands else "-"
    content = None if file == "-" else call.read(file)
    text: Text | None = call.stdin if file == "-" else None if content is None else decode(content)
    for line in _known(text).split("\n"):
        entry = _FIELDS.fullmatch(line.rstrip())
        if entry is not None and not line.lstrip().startswith("#") and _VARIABLE.match(line) is None:
            command, _, given = entry[1].replace("\\%", "\0").partition("%")
            stdin = given.replace("%", "\n").replace("\0", "%")
            call.shell(command.replace("\0", "%"), cwd=call.env.get("HOME", call.cwd), env=call.env, stdin=stdin)
    return Analysis(status=0)


def _known(text: Text | None) -> str:
    """The lines of a text that are known: what is not, as a line of its own that says nothing."""
    if text is None or isinstance(text, str):
        return text or ""
    return "".join("\n#\n" if isinstance(piece, Hole) else str(piece) for piece in text.pieces)


def which(call: Call) -> Analysis:
    """which [-a] NAME...: where the programs are, by the PATH of the call."""
    path = call.env.get("PATH", "")
    found: list[Text] = []
    missing = False
    for name in call.argv[1:]:
        if isinstance(name, Pattern) or isinstance(path, Pattern):
            return Analysis(output=unknown("unknown-output", "which"))
        if name.startswith("-"):
            continue
        places = [name] if "/" in name else [f"{place}/{name}" for place in path.split(":") if place.startswith("/")]
        at = next((place for place in places if call.exists(place)), None)
        missing |= at is None
        found += [f"{at}\n"] if at is not None else []
    return Analysis(output=join(*found) if found else "", status=int(missing))
