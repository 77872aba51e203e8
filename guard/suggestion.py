"""A safe alternative to a refused command, one that guard itself would allow."""

from __future__ import annotations

import os

from guard import expressions as re
from guard.paths import below

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


def suggestion(verdict: Verdict, request: Request, allows: Callable[[str], bool]) -> str | None:
    """What to run instead, as a command that `allows` has said yes to; None where nothing fits."""
    victims = [victim for victim in verdict.victims if victim.decision == verdict.decision]
    if not victims or (verdict.total > len(victims) and not (victims[0].cause and victims[0].cause.unset)):
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
    if not (cwd + request.cwd).isprintable():
        return
    if cause is not None and cause.unset:
        yield _insisting(request.command, cause.unset)
    yield from _appending(victims, request)
    if simple(request.command) and cwd == request.cwd:
        part = request.command
    if not simple(part) or request.command.count(part) != 1 or any(victim.cause != cause for victim in victims):
        return
    words = _split(part)
    paths = [victim.path for victim in victims]
    for changed in _changed(words, paths, os.path.realpath(cwd)):
        yield request.command.replace(part, " ".join(changed))


def _insisting(command: str, unset: tuple[str, ...]) -> str:
    """The command with its empty variables as ${NAME:?}, so that it ends where one has no value."""
    for name in unset:
        command = "".join(
            f"${{{name}:?}}" if at % 2 else piece for at, piece in enumerate(re.split(rf"(\$(?:{name}\b|\{{{name}\}}))", command))
        )
    return command


def _split(command: str) -> list[str]:
    """The words as written, quotes included; none where the quotes do not close."""
    import shlex

    lexer = shlex.shlex(command, posix=False, punctuation_chars=False)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        return list(lexer)
    except ValueError:
        return []


def _changed(words: list[str], paths: list[str], cwd: str) -> Iterator[list[str]]:
    """The simple command made harmless, by what each tool offers for that."""
    name = words[0].rpartition("/")[2] if words else ""
    verb = words[1] if len(words) > 1 else ""
    if name in ("rm", "unlink", "rmdir", "shred", "truncate") or (name == "git" and verb == "rm"):
        yield from _without(words, paths, cwd)
    elif name == "git" and verb == "clean":
        yield [*words[:2], *(word for top in _tops(paths, cwd) for word in ("-e", _quote(top))), *words[2:]]
    elif name == "git" and verb in ("checkout", "restore"):
        for names in (_near(paths, cwd), _tops(paths, cwd)):
            yield [*words, *(_quote(f":(exclude){name}") for name in names)] if names else []
    elif name == "git" and verb == "reset" and "--hard" in words:
        yield ["git", "stash", "push"]
    elif name == "find":
        yield from _pruned(words, paths, cwd)
    elif name == "mv":
        yield ["cp", "-a", *words[1:]]
    elif name == "tee":
        yield ["tee", "-a", *words[1:]]
    elif name == "rsync":
        yield [*words, *(f"--exclude={_quote('/' + top)}" for top in _tops(paths, _physical(words[-1], cwd)))]


def _without(words: list[str], paths: list[str], cwd: str) -> Iterator[list[str]]:
    """The command without the operands that do harm; a glob becomes the names it stands for that do none."""
    kept: list[str] = []
    operands = 0
    for at, word in enumerate(words):
        if at == 0 or word.startswith("-") or (at == 1 and words[0] == "git"):
            kept.append(word)
            continue
        names = _harmless(word, paths, cwd)
        operands += len(names)
        kept += names
    if operands:
        yield kept


def _harmless(word: str, paths: list[str], cwd: str) -> list[str]:
    """What is left of an operand."""
    plain = "".join(_unquoted(word))
    if not set(word) & set("*?["):
        return [] if _harms(_physical(plain, cwd), paths) else [word]
    from fnmatch import fnmatchcase

    head, slash, glob = word.rpartition("/")
    directory = _physical(head, cwd) if slash else cwd
    try:
        names = sorted(n for n in os.listdir(directory) if fnmatchcase(n, glob) and n.startswith(".") == glob.startswith("."))
    except (OSError, ValueError):
        return []
    found = [head + slash + name for name in names if not _harms(f"{directory}/{name}", paths)]
    if len(found) == len(names):
        return [word]
    return [_quote(f"./{name}" if name.startswith("-") else name) for name in found] if len(found) <= _NAMES else []


def _harms(path: str, paths: list[str]) -> bool:
    return any(below(victim, path) for victim in paths)


def _pruned(words: list[str], paths: list[str], cwd: str) -> Iterator[list[str]]:
    """find with a test, in front of its first action, that leaves the protected paths out."""
    action = next((at for at, word in enumerate(words) if word in _ACTIONS), None)
    start = words[1] if len(words) > 1 and not words[1].startswith(("-", "!")) else "."
    tops = _tops(paths, _physical(start, cwd))
    if action is not None and tops:
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


def _physical(word: str, cwd: str) -> str:
    """Where an operand stands, its own link not followed."""
    path = os.path.join(cwd, os.path.expanduser("".join(_unquoted(word))))
    head, tail = os.path.split(path.rstrip("/") or "/")
    return os.path.realpath(path) if tail in ("", ".", "..") else os.path.join(os.path.realpath(head), tail)


def _unquoted(word: str) -> list[str]:
    import shlex

    try:
        return shlex.split(word)
    except ValueError:
        return [word]


def _quote(text: str) -> str:
    import shlex

    return shlex.quote(text)
