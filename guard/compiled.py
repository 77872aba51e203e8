"""The compiled policy: one text file that Python and the shell shims read. Only this module knows its format.

Each line is a key and fields, parted by single blanks:

    guard-policy FORMAT VERSION
    root FOLD PATH MAIN
    source TIME SIZE PATH
    set KEY VALUE
    re LIST ORIGIN + or - HOW DEPTH LINE SOURCE LITERAL GLOB REGEX      in the order of the lists
    except ORIGIN EXPIRES LINE SOURCE COMMAND REASON                    its globs follow as `re except` lines
    name PATH            all that this root protects is at, below or above one of these paths
    case PATTERN         a pattern of the shell, for absolute paths; may match too much, never too little
    end

In a field a byte up to the blank, a delete and a backslash is \\0 and three octal digits, as `printf %b` has it; an empty
field is \\0 alone. Patterns hold no escape. A file without the last line, or of another version, is not there.
"""

from __future__ import annotations

import os
import time
import zlib

from guard import __version__
from guard import expressions as re
from guard.matching import PRESENT, RANK, Matcher, Rule, RuleList
from guard.policy import Except, Root, Source
from guard.roots import POLICIES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HEADER = f"guard-policy 1 {__version__}"
END = "end"
FINE_GRAIN, COARSE_GRAIN = 50_000_000, 2_000_000_000  # ns within which a changed file may keep its time

_ESCAPED = re.compile(r"\\0([0-7]{3})?")
_UNSAFE = re.compile("[\0-\x20\x7f\\\\]")


def dump(roots: Iterable[Root]) -> bytes:
    """The compiled form of roots."""
    lines = [HEADER]
    for root in roots:
        lines += _root_lines(root)
    return os.fsencode("\n".join([*lines, END, ""]))


def load(data: bytes | None) -> list[Root] | None:
    """The roots of a compiled policy; None when it is torn, of another version, or no policy at all."""
    lines = os.fsdecode(data).split("\n") if data else []
    if len(lines) < 3 or lines[0] != HEADER or lines[-2:] != [END, ""]:
        return None
    try:
        return [_root(part) for part in _parts(lines[1:-2])]
    except (ValueError, IndexError, KeyError):
        return None


def path_for(state: str, root: str) -> str:
    """Where the compiled policy of one root stands in the state directory."""
    raw = os.fsencode(root)
    return f"{state}/{POLICIES}/{zlib.crc32(raw):08x}{zlib.crc32(raw[::-1]):08x}"


def store(path: str, roots: Iterable[Root]) -> bool:
    """Writes a compiled policy whole or not at all; False where that cannot be done."""
    temporary = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            data = dump(roots)
            while data:
                data = data[os.write(fd, data) :]
            os.fsync(fd)
        finally:
            os.close(fd)
        os.rename(temporary, path)
    except (OSError, ValueError):
        return False
    return True


def settled(sources: Iterable[Source], now: int | None = None) -> bool:
    """True when a later change of these files is sure to show in their times."""
    now = time.time_ns() if now is None else now
    return all(now - source.time > (FINE_GRAIN if source.time % 1_000_000_000 else COARSE_GRAIN) for source in sources)


def case_patterns(root: Root) -> list[str]:
    """The shell patterns of a root: whatever path it protects, one of them matches."""
    prefix = "" if root.path == "/" else shell_pattern(root.path, root.fold, plain=True)
    found: dict[str, None] = {}
    for rules in root.lists:
        for matcher in rules.matchers if rules.name in RANK else ():
            if matcher.include:
                glob = matcher.rule.glob
                body = ("/" if "/" in glob[:-1] else "/*") + glob.strip("/")
                pattern = prefix + shell_pattern(body, root.fold)
                found |= {pattern: None} if rules.name == PRESENT else {pattern: None, pattern + "/*": None}
    for target, _ in root.aliases:
        pattern = shell_pattern(target, root.fold, plain=True)
        found |= {pattern: None, pattern + "/*": None}
    return list(found)


def names(root: Root) -> list[str]:
    """Paths so that all that a root protects is at, or below, one of them."""
    base = "" if root.path == "/" else root.path
    found = {
        f"{base}/{m.literal}" if m.literal else root.path: None
        for rules in root.lists
        if rules.name in RANK
        for m in rules.matchers
        if m.include
    }
    return [*found, *(target for target, _ in root.aliases)]


def shell_pattern(text: str, fold: bool, plain: bool = False) -> str:
    """A shell pattern, in ASCII and without any quoting, that matches at least what a glob (or a plain text) matches."""
    if not plain:
        text = re.sub(r"/\*\*(?=/|$)/?", "*", text)
        text = re.sub(r"\\(.)|\[[!^]?\]?[^\]]*\]|[*?]", lambda m: "?" if m[1] else "*", text, flags=re.DOTALL)
    allowed = "[^A-Za-z0-9@%_+=:,./-]" if plain else "[^A-Za-z0-9@%_+=:,./*?-]"
    text = re.sub(allowed, lambda m: "?" if m[0].isascii() else "*", text)
    text = re.sub(r"\*+", "*", text)
    return re.sub("[A-Za-z]", lambda m: f"[{m[0].lower()}{m[0].upper()}]", text) if fold else text


def _root_lines(root: Root) -> Iterator[str]:
    yield _row("root", str(int(root.fold)), root.path, root.main)
    for source in root.sources:
        yield _row("source", str(source.time), str(source.size), source.path)
    for key, value in root.settings:
        yield _row("set", key, value)
    for rules in root.lists:
        for matcher in rules.matchers:
            yield _matcher_row(rules.name, rules.origin, matcher)
    for item in root.excepts:
        yield _row("except", item.origin, item.expires, str(item.line), item.source, item.command, item.reason)
        for matcher in item.matchers:
            yield _matcher_row("except", item.origin, matcher)
    for path in names(root):
        yield _row("name", path)
    for pattern in case_patterns(root):
        yield f"case {pattern}"


def _matcher_row(name: str, origin: str, matcher: Matcher) -> str:
    rule, sign = matcher.rule, "+" if matcher.include else "-"
    fixed = (name, origin, sign, matcher.how, str(matcher.depth), str(rule.line))
    return _row("re", *fixed, rule.source, matcher.literal, rule.glob, matcher.regex)


def _row(*fields: str) -> str:
    return " ".join(_UNSAFE.sub(lambda m: f"\\0{ord(m[0]):03o}", field) or "\\0" for field in fields)


def _parts(lines: list[str]) -> Iterator[list[list[str]]]:
    """The rows of each root, unescaped."""
    part: list[list[str]] = []
    for line in lines:
        if line.startswith(("case ", "name ")):
            continue
        row = line.split(" ")
        if "\\" in line:
            row = [_ESCAPED.sub(lambda m: chr(int(m[1], 8)) if m[1] else "", field) for field in row]
        if row[0] == "root" and part:
            yield part
            part = []
        part.append(row)
    if part:
        yield part


def _root(rows: list[list[str]]) -> Root:
    word, fold, path, main = rows[0]
    if word != "root":
        raise ValueError(word)
    sources, settings, excepts = [], [], []
    lists: dict[tuple[str, str], list[Matcher]] = {}
    for key, *fields in rows[1:]:
        if key == "source":
            sources.append(Source(fields[2], int(fields[0]), int(fields[1])))
        elif key == "set":
            settings.append((fields[0], fields[1]))
        elif key == "except":
            origin, expires, line, source, command, reason = fields
            excepts.append(Except(command, (), reason, expires, origin, source, int(line)))
        elif key == "re" and fields[0] == "except":
            excepts[-1] = excepts[-1]._replace(matchers=(*excepts[-1].matchers, _matcher(fields)))
        elif key == "re":
            lists.setdefault((fields[0], fields[1]), []).append(_matcher(fields))
        else:
            raise ValueError(key)
    compiled = tuple(RuleList(name, origin, tuple(matchers)) for (name, origin), matchers in lists.items())
    return Root(path, compiled, tuple(settings), fold == "1", tuple(sources), tuple(excepts), main)


def _matcher(fields: list[str]) -> Matcher:
    name, _, sign, how, depth, line, source, literal, glob, regex = fields
    return Matcher(Rule(name, glob, source, int(line)), sign == "+", how, literal, int(depth), regex)
