"""Renaming by rule: rename of perl and of util-linux, prename, mmv, mcp and zmv-like kin."""

from __future__ import annotations

from guard import expressions as re
from guard.effects import MOVE, OVERWRITE, At, Pattern, Text
from guard.overlay import DIRECTORY
from guard.paths import child, parent
from guard.tools.changes import Changes, said
from guard.tools.options import Table, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from guard.effects import Analysis
    from guard.tools.call import Call

PERL = Table(
    flags="0dfglnpuvVh",
    values="eESN",
    long={
        "verbose": "", "null": "", "nono": "", "just-print": "", "dry-run": "", "no-act": "", "force": "", "path": "",
        "fullpath": "",
        "filename": "", "nopath": "", "nofullpath": "", "unicode": "?", "expr": "=", "help": "", "man": "", "version": "",
    },
    same={"no-act": "n", "nono": "n", "just-print": "n", "dry-run": "n", "force": "f", "verbose": "v", "expr": "e",
          "filename": "d",
          "nopath": "d", "nofullpath": "d"},
)  # fmt: skip
UTIL_LINUX = Table(
    flags="aFilnosvhV",
    long={"all": "", "last": "", "symlink": "", "verbose": "", "no-act": "", "no-overwrite": "", "interactive": "", "help": "",
          "version": ""},
    same={"all": "a", "last": "l", "symlink": "s", "no-act": "n", "no-overwrite": "o", "interactive": "i", "verbose": "v"},
)  # fmt: skip
MMV = Table(flags="xrcosmahdptgvnDl", values="", permute=True)
CODE = re.compile(r"\$_|^(?:s|y|tr)\W|^\s*(?:s|y|tr)\s*[/{#|,!]|^(?:lc|uc|ucfirst|lcfirst)\b|;")


def rename(call: Call) -> Analysis:
    """rename: perl's where the first operand is code, else util-linux's."""
    options = parse(call.argv[1:], PERL)
    first = options.operands[0] if options.operands else ""
    if options.has("e") or (isinstance(first, str) and CODE.search(first)):
        return prename(call)
    return rename_ul(call)


def prename(call: Call) -> Analysis:
    """rename of perl (prename, file-rename): an expression changes each name. It overwrites only with -f."""
    changes = Changes(call)
    options = parse(call.argv[1:], PERL)
    operands = options.operands
    code = options.values("e")
    if not code and operands:
        code, operands = operands[:1], operands[1:]
    if options.has("n", "help", "man", "version", "h", "V"):
        return changes.result(said("rename", True))
    if not operands and isinstance(call.stdin, str):
        operands = tuple(line for line in call.stdin.split("\0" if options.has("0", "null") else "\n") if line)
    elif not operands and call.stdin is not None:
        operands = (call.stdin,)
    change = compiled(code)
    for operand in operands:
        _renamed(changes, operand, change, options.has("f"), options.has("d"))
    return changes.result(said("rename", options.has("v")))


def _renamed(changes: Changes, operand: Text, change: Callable[[str], str] | None, force: bool, name_only: bool) -> None:
    entry = changes.entry(operand)
    if entry is None or (isinstance(entry, At) and changes.kind(entry) is None):
        return changes.fail()
    if not isinstance(operand, str) or change is None:
        # What cannot be read may leave every name as it is.
        changes.status = None
        return changes.add(MOVE, entry, certain=isinstance(operand, Pattern))
    head, slash, tail = operand.rpartition("/") if name_only else ("", "", operand)
    try:
        new = head + slash + change(tail)
    except (ValueError, IndexError, re.error):
        return changes.add(MOVE, entry, certain=False)
    return None if new == operand else take_name(changes, operand, new, force)


def take_name(changes: Changes, old: str, new: str, force: bool) -> None:
    """rename(2) from one name to another; without `force` only where nothing stands."""
    source, target = changes.entry(old), changes.entry(new)
    if not isinstance(source, At) or not isinstance(target, At) or not changes.view.is_dir(parent(target.path)):
        return changes.fail()
    there = changes.kind(target)
    if source.path == target.path or (there is not None and not force):
        return changes.fail()
    if there is not None:
        if (there == DIRECTORY) != (changes.kind(source) == DIRECTORY) or (
            there == DIRECTORY and changes.view.listdir(target.path)
        ):
            return changes.fail()
        if there != DIRECTORY:
            content, origin = changes.arriving(source.path)
            changes.add(OVERWRITE, target, content=content, source=origin)
    return changes.move(source, target.path)


def compiled(code: tuple[Text, ...]) -> Callable[[str], str] | None:
    """The function of s///, y/// and tr/// expressions, None where they are anything else."""
    steps = []
    for text in code:
        for part in re.split(r";\s*", text) if isinstance(text, str) else [None]:
            if part == "":
                continue
            step = _step(part) if part is not None else None
            if step is None:
                return None
            steps.append(step)

    def change(name: str) -> str:
        for step in steps:
            name = step(name)
        return name

    return change


def _step(text: str) -> Callable[[str], str] | None:
    verb = re.match(r"\s*(s|y|tr)\s*([/|#,!:%@~])", text)
    if verb is None:
        return None
    mark = re.escape(verb[2])
    parts = re.fullmatch(rf"((?:[^\\{mark}]|\\.)*){mark}((?:[^\\{mark}]|\\.)*){mark}([a-z]*)\s*", text[verb.end() :], re.DOTALL)
    if parts is None:
        return None
    return _substitution(*parts.groups()) if verb[1] == "s" else _transliteration(*parts.groups())


def _substitution(pattern: str, replacement: str, flags: str) -> Callable[[str], str] | None:
    if set(flags) - set("gi") or re.search(r"[$@](?![|)]|$)|\\[QELUGzZpPhHvVRXK]|\(\?[^:=!<]|[*+?]\+", pattern):
        return None
    if re.search(r"[@]|\\[^0-9./\\$&-]|\$(?![0-9&])", replacement):
        return None
    try:
        expression = re.compile(pattern.replace("[:alnum:]", "a-zA-Z0-9"), re.IGNORECASE if "i" in flags else 0)
    except (re.error, OverflowError, RecursionError):
        return None
    template = re.sub(r"\$([0-9&])|\\([0-9])|\\(.)", _reference, replacement.replace("\\\\", "\\\0"))
    return lambda name: expression.sub(template, name, count=0 if "g" in flags else 1)


def _reference(found: re.Match[str]) -> str:
    group = found[1] or found[2]
    if group is not None:
        return r"\g<0>" if group == "&" else rf"\g<{group}>"
    return "\\\\" if found[3] in ("\0", "\\") else found[3]


def _transliteration(old: str, new: str, flags: str) -> Callable[[str], str] | None:
    if flags or "\\" in old + new:
        return None
    source, target = _characters(old), _characters(new) or _characters(old)
    if not source or not target:
        return None
    target += target[-1:] * (len(source) - len(target))
    table = {ord(a): b for a, b in reversed(list(zip(source, target, strict=False)))}
    return lambda name: name.translate(table)


def _characters(text: str) -> str:
    expand = lambda m: "".join(map(chr, range(ord(m[1]), min(ord(m[2]), ord(m[1]) + 512) + 1)))  # noqa: E731
    return re.sub(r"(.)-(.)", expand, text)


def rename_ul(call: Call) -> Analysis:
    """rename of util-linux: the first occurrence of a text in each name. It overwrites unless told not to."""
    changes = Changes(call)
    options = parse(call.argv[1:], UTIL_LINUX)
    if options.has("n", "help", "version", "h", "V") or len(options.operands) < 3:
        return changes.result(said("rename", True), None if len(options.operands) > 2 else 1)
    old, new, *operands = options.operands
    for operand in operands:
        entry = changes.entry(operand)
        if options.has("s") or entry is None:
            continue
        if not (isinstance(old, str) and isinstance(new, str) and isinstance(operand, str)):
            changes.add(MOVE, entry, certain=isinstance(operand, Pattern))
            continue
        head, slash, tail = ("", "", operand) if "/" in old or "/" in new else operand.rpartition("/")
        name = _replaced(tail, old, new, options.has("a"), options.has("l"))
        if name != tail and changes.kind(entry) is not None:
            take_name(changes, operand, head + slash + name, not options.has("o", "i"))
    return changes.result(said("rename", options.has("v")))


def _replaced(name: str, old: str, new: str, every: bool, last: bool) -> str:
    if every:
        return name.replace(old, new) if old else name
    if last:
        return new.join(name.rsplit(old, 1)) if old else name + new
    return name.replace(old, new, 1)


def mmv(call: Call) -> Analysis:
    """mmv, mcp and mln: wildcards in the old name, #1 #2 ... in the new one."""
    changes = Changes(call)
    options = parse(call.argv[1:], MMV)
    name = str(call.argv[0]).rpartition("/")[2]
    if options.has("n", "h") or len(options.operands) != 2:
        return changes.result(said("mmv", True))._replace(status=None)
    old, new = options.operands
    if not isinstance(old, str) or not isinstance(new, str) or ";" in old or re.search(r"[*?\[]", old.rpartition("/")[0]):
        changes.add(MOVE, changes.call.somewhere("."), certain=False)
        return changes.result()._replace(status=None)
    head, slash, tail = old.rpartition("/")
    expression = re.compile(_wildcards(tail), re.DOTALL)
    top = changes.call.where(head or ("/" if slash else "."))
    for entry in (changes.view.listdir(top) or ()) if top is not None else ():
        found = expression.fullmatch(entry)
        if found is None or (entry.startswith(".") and not tail.startswith(".")):
            continue
        target = re.sub(r"#([lu]?)([0-9])", lambda m, f=found: _group(m, f), new)  # type: ignore[misc]
        if target.endswith("/") or changes.call.is_dir(target):
            target = target.rstrip("/") + "/" + entry
        _wild(changes, child(str(top), entry), target, copies=name == "mcp" or options.has("c", "o"), careful=options.has("p"))
    return changes.result()._replace(status=None)


def _wild(changes: Changes, source: str, target: str, copies: bool, careful: bool) -> None:
    """One file of mmv. It asks before it overwrites, and deletes what is in the way where nobody answers with no."""
    if not copies:
        take_name(changes, source, target, not careful)
    elif not careful or not changes.call.exists(target):
        content, origin = changes.arriving(source)
        changes.write(changes.opened(target), content, origin)


def _group(number: re.Match[str], found: re.Match[str]) -> str:
    at = int(number[2])
    text = found[at] if 0 < at <= len(found.groups()) else ""
    return text.lower() if number[1] == "l" else text.upper() if number[1] == "u" else text


def _wildcards(text: str) -> str:
    parts = re.findall(r"\\.|\[[^\]]+\]|.", text, re.DOTALL)
    return "".join(
        "([^/]*)" if p == "*" else "([^/])" if p == "?" else f"({p})" if len(p) > 2 else re.escape(p[-1:]) for p in parts
    )
