"""A safe alternative to a refused command, one that guard itself would allow."""

from __future__ import annotations

import os

from guard import expressions as re
from guard.effects import LEAVE
from guard.paths import below
from guard.segments import Segment, braced, plain, segments

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from guard.decision import Request
    from guard.verdict import Verdict, Victim

_TRIES = 3  # proposals that are judged, each as long as a command
_NAMES = 16  # names that a proposal may list
_LENGTH = 300
_SPECIAL = re.compile(r"[;&|<>()$`\\\n{}#]")
_ACTIONS = {"-delete", "-exec", "-execdir", "-ok", "-okdir"}
_REMOVERS = ("rm", "unlink", "rmdir", "shred", "truncate")
_FLOW = {"if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "{", "}", "!", "function"}
_IDLE = {"", "echo", "printf", "cd", "true", ":", "ls", "pwd", "exit", "set"}  # not worth running by themselves


def suggestion(verdict: Verdict, request: Request, allows: Callable[[str], bool]) -> str | None:
    """What to run instead, as a command that `allows` has said yes to; None where nothing fits."""
    victims = [victim for victim in verdict.victims if victim.decision == verdict.decision]
    if not victims or verdict.partial or (verdict.total > len(victims) and not (victims[0].cause and victims[0].cause.unset)):
        return None
    tried = 0
    for proposal in _proposals(victims, request):
        if tried == _TRIES:
            break
        if proposal != request.command and len(proposal) <= _LENGTH and proposal.isprintable():
            tried += 1
            if allows(proposal):
                return proposal
    return None


def simple(command: str) -> bool:
    """True for one simple command in which nothing but globs and quotes is to be expanded."""
    return command.isprintable() and not _SPECIAL.search(command)


def _proposals(victims: list[Victim], request: Request) -> Iterator[str]:
    cause = victims[0].cause
    part, cwd = (cause.command, cause.cwd) if cause is not None else (request.command, request.cwd)
    if not (cwd + request.cwd).isprintable() or any(victim.action == LEAVE for victim in victims):
        return
    if cause is not None and cause.unset:
        yield _insisting(request.command, cause.unset)
    yield from _appending(victims, request)
    if any(victim.cause != cause for victim in victims):
        return
    found = segments(request.command)
    at, first = _place(found, part)
    here = os.path.realpath(cwd)
    if at is None:
        yield from _inside_quotes(request.command, part, victims, here)
        return
    words = found[at].words
    start, end = words[first].start, words[-1].end
    for changed in _changed([word.text for word in words[first:]], victims, here):
        yield request.command[:start] + " ".join(changed) + request.command[end:]
    if plain(words[first].text).rpartition("/")[2] in _REMOVERS and _goes(found, at, part, victims, here):
        yield _rest(request.command, found, at)


def _place(found: list[Segment], part: str) -> tuple[int | None, int]:
    """Which segment the simple command `part` comes from, and at which of its words the tool stands behind sudo and others."""
    ran = _plain(part)
    tool = ran[0].rpartition("/")[2] if ran else ""
    places: list[tuple[int, int]] = []
    for at, segment in enumerate(found):
        names = [plain(word.text).rpartition("/")[2] for word in segment.words]
        if tool and tool in names:
            places.append((at, names.index(tool)))
    if len(places) > 1:
        places = [(at, first) for at, first in places if _spelled(found[at], first) == ran]
    return places[0] if len(places) == 1 else (None, 0)


def _plain(part: str) -> list[str]:
    """The words of a simple command, without quotes."""
    found = segments(part)
    return [plain(word.text) for word in found[0].words] if len(found) == 1 else []


def _spelled(segment: Segment, first: int) -> list[str]:
    return [plain(word) for written in segment.words[first:] for word in braced(written.text)]


def _inside_quotes(command: str, part: str, victims: list[Victim], here: str) -> Iterator[str]:
    """The command with the part changed where it stands in a text, as in sh -c 'rm -rf a b'."""
    found = segments(part)
    if command.count(part) != 1 or len(found) != 1 or not found[0].words or not simple(part):
        return
    for changed in _changed([word.text for word in found[0].words], victims, here):
        made = " ".join(changed)
        if "'" not in made and '"' not in made:
            yield command.replace(part, made)


def _goes(found: list[Segment], at: int, part: str, victims: list[Victim], here: str) -> bool:
    """True where a part of a plain chain has nothing left to do, and the rest is worth running without it."""
    ran = _plain(part)
    around = {found[at].before, found[at].after} - {""}
    chain = {segment.after for segment in found[:-1]} <= {"&&", ";"} and bool(around)
    if not chain or any(True for _ in _without(ran, victims, here)):
        return False
    firsts = [plain(segment.words[0].text) if segment.words else "" for segment in found]
    return (
        not set(firsts) & _FLOW and all(segment.words for segment in found) and not set(firsts[:at] + firsts[at + 1 :]) <= _IDLE
    )


def _rest(command: str, found: list[Segment], at: int) -> str:
    """The command without one of its segments."""
    if at + 1 < len(found):
        return command[: found[at].start] + command[found[at + 1].start :].lstrip(" " if not at else "")
    return command[: found[at - 1].end].rstrip()


def _insisting(command: str, unset: tuple[str, ...]) -> str:
    """The command with its empty variables as ${NAME:?}, so that it ends where one has no value."""
    for name in unset:
        command = "".join(
            f"${{{name}:?}}" if at % 2 else piece for at, piece in enumerate(re.split(rf"(\$(?:{name}\b|\{{{name}\}}))", command))
        )
    return command


def _changed(words: list[str], victims: list[Victim], cwd: str) -> Iterator[list[str]]:
    """The simple command made harmless, by what each tool offers for that."""
    name = plain(words[0]).rpartition("/")[2] if words else ""
    verb = words[1] if len(words) > 1 else ""
    paths = [victim.path for victim in victims]
    if name in _REMOVERS or (name == "git" and verb == "rm"):
        yield from _without(words, victims, cwd)
    elif name == "git" and verb == "clean":
        yield from _cleaning(words, paths, cwd)
    elif name == "git" and (verb == "restore" or (verb == "checkout" and {"--", "."} & set(words))):
        for names in (_near(paths, cwd), _tops(paths, cwd)):
            yield [*words, *(_quote(f":(exclude){name}") for name in names)] if names else []
    elif name == "git" and verb == "reset" and "--hard" in words:
        if set(words[2:]) <= {"--hard", "-q", "--quiet", "HEAD"}:
            yield ["git", "stash", "push"]
    elif name == "find":
        yield from _pruned(words, paths, cwd)
    elif name == "mv":
        yield [words[0].replace("mv", "cp"), "-a", *words[1:]]
    elif name == "tee":
        yield [words[0], "-a", *words[1:]]
    elif name == "rsync":
        tops = _tops(paths, _physical(plain(words[-1]), cwd))
        yield [*words, *(f"--exclude={_quote('/' + top)}" for top in tops)]


def _without(words: list[str], victims: list[Victim], cwd: str) -> Iterator[list[str]]:
    """The command without the operands that do harm; a glob becomes the names it stands for that do none.

    Nothing where no operand is left that is there and that the tool would take, or where one leads out of the directory.
    """
    paths = [victim.path for victim in victims]
    head = 2 if plain(words[0]).rpartition("/")[2] == "git" else 1
    options = [word for word in words[head:] if word.startswith("-")]
    directories = any(
        word in ("--recursive", "--dir") or (word[1] != "-" and set(word[1:]) & set("rRd")) for word in options if len(word) > 1
    )
    directories = directories or plain(words[0]).rpartition("/")[2] == "rmdir"
    kept: list[str] = []
    left = False
    for word in words[head:]:
        names = [word] if word.startswith("-") else [name for each in braced(word) for name in _harmless(each, paths, cwd)]
        for name in names:
            place = _physical(plain(name), cwd)
            if name.startswith("-"):
                kept.append(name)
            elif not below(place, cwd) or place == cwd or cwd == "/":
                return
            elif directories or not os.path.isdir(place) or os.path.islink(place):
                kept.append(name)
                left = left or bool(set(name) & set("*?[")) or os.path.lexists(place)
    if left:
        yield [*words[:head], *kept]


def _harmless(word: str, paths: list[str], cwd: str) -> list[str]:
    """What is left of an operand."""
    if not set(word) & set("*?["):
        return [] if _harms(_physical(plain(word), cwd), paths) else [word]
    from fnmatch import fnmatchcase

    head, slash, glob = word.rpartition("/")
    directory = _physical(plain(head) or "/", cwd) if slash else cwd
    try:
        names = sorted(n for n in os.listdir(directory) if fnmatchcase(n, glob) and n.startswith(".") == glob.startswith("."))
    except (OSError, ValueError):
        return []
    found = [name for name in names if not _harms(f"{directory.rstrip('/')}/{name}", paths)]
    if len(found) == len(names):
        return [word]
    quoted = [_quote(plain(head) + slash + name) for name in found]
    return [f"./{name}" if name.startswith("-") else name for name in quoted] if len(found) <= _NAMES else []


def _harms(path: str, paths: list[str]) -> bool:
    return any(below(victim, path) for victim in paths)


def _cleaning(words: list[str], paths: list[str], cwd: str) -> Iterator[list[str]]:
    """git clean with the protected names left out, and without operands that lie in them."""
    tops = _tops(paths, cwd)
    operands = [
        word for at, word in enumerate(words) if at > 1 and not word.startswith("-") and words[at - 1] not in ("-e", "--exclude")
    ]
    inside = [word for word in operands if any(below(_physical(plain(word), cwd), f"{cwd}/{top}") for top in tops)]
    if tops and (not operands or len(inside) < len(operands)):
        excluded = [word for top in tops for word in ("-e", _quote(top))]
        yield [*words[:2], *excluded, *(word for word in words[2:] if word not in inside)]


def _pruned(words: list[str], paths: list[str], cwd: str) -> Iterator[list[str]]:
    """find with a test, in front of its first action, that leaves the protected paths out."""
    action = next((at for at, word in enumerate(words) if word in _ACTIONS), None)
    start = words[1] if len(words) > 1 and not words[1].startswith(("-", "!")) else "."
    directory = _physical(plain(start), cwd)
    tops = _tops(paths, directory)
    if action is not None and tops and not _names(directory) <= set(tops):
        tests = [word for top in tops for word in ("-not", "-path", _quote(f"{start.rstrip('/')}/{top}*"))]
        yield [*words[:action], *tests, *words[action:]]


def _appending(victims: list[Victim], request: Request) -> Iterator[str]:
    """The command with `>>` for the `>` that would overwrite the only victim."""
    if len(victims) != 1 or ">" not in request.command:
        return
    for name in dict.fromkeys([*_near([victims[0].path], os.path.realpath(request.cwd)), victims[0].path]):
        if name not in request.command:
            continue
        found = re.compile(r"(?<![>&0-9])>\|?(\s*['\"]?(?:\./)?" + re.escape(name) + r"['\"]?)(?=[\s;&|)]|\Z)")
        if len(found.findall(request.command)) == 1:
            yield found.sub(lambda match: ">>" + match[1], request.command)


def _tops(paths: list[str], directory: str) -> list[str]:
    """The names in a directory that the paths begin with; none where a path lies elsewhere, or there are too many."""
    near = _near(paths, directory)
    tops = list(dict.fromkeys(path.partition("/")[0] for path in near))
    return tops if len(tops) <= _NAMES else []


def _near(paths: list[str], directory: str) -> list[str]:
    """The paths relative to a directory; none where one lies outside, or there are too many."""
    inside = directory.rstrip("/") + "/"
    if not all(path.startswith(inside) for path in paths):
        return []
    near = [path[len(inside) :] for path in paths]
    return near if len(near) <= _NAMES else _folders(near)


def _folders(near: list[str]) -> list[str]:
    tops = list(dict.fromkeys(path.partition("/")[0] for path in near))
    return tops if len(tops) <= _NAMES else []


def _names(directory: str) -> set[str]:
    try:
        return set(os.listdir(directory))
    except (OSError, ValueError):
        return set()


def _physical(operand: str, cwd: str) -> str:
    """Where an operand stands, its own link not followed."""
    path = os.path.join(cwd, os.path.expanduser(operand))
    head, tail = os.path.split(path.rstrip("/") or "/")
    return os.path.realpath(path) if tail in ("", ".", "..") else os.path.join(os.path.realpath(head), tail)


def _quote(text: str) -> str:
    import shlex

    return shlex.quote(text)
