"""python: -c, scripts from files and standard input, and the modules that -m runs."""

from __future__ import annotations

from guard.effects import Analysis, Hole, Pattern, Text, join
from guard.tools.call import Call
from guard.tools.process import decode, passed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from guard.record import NamedTuple

VALUES = "WX"  # letters with a value; -c and -m end the options besides
LONG_VALUES = ("--check-hash-based-pycs",)


class CommandLine(NamedTuple):
    """What is to run: `kind` is one of code, module, file, input and nothing; `rest` are the program's own arguments."""

    kind: str
    what: Text
    rest: tuple[Text, ...]
    interactive: bool = False


def read(argv: tuple[Text, ...]) -> CommandLine:
    """Reads an interpreter's command line."""
    interactive = False
    words = list(argv[1:])
    while words:
        word = words.pop(0)
        if word == "-" or not str(word).startswith("-"):
            return CommandLine("input" if word == "-" else "file", word, tuple(words), interactive)
        if word == "--":
            break
        if isinstance(word, str) and word.startswith("--"):
            if word in LONG_VALUES and words:
                words.pop(0)
            elif word in ("--version", "--help", "--help-env", "--help-all", "--help-xoptions"):
                return CommandLine("nothing", "", ())
            continue
        found = _cluster(word, words)
        if isinstance(found, CommandLine):
            return found
        interactive = interactive or found
    if words:
        return CommandLine("file", words[0], tuple(words[1:]), interactive)
    return CommandLine("input", "", (), interactive)


def _cluster(word: Text, words: list[Text]) -> CommandLine | bool:
    """A word of letters: the program when -c or -m is among them, else whether -i is."""
    start = word if isinstance(word, str) else word.prefix
    interactive = False
    for at, letter in enumerate(start[1:], 1):
        if letter in "cm":
            attached = _tail(word, at + 1)
            if attached == "" and not words:
                return CommandLine("nothing", "", ())
            what = attached if attached != "" else words.pop(0)
            return CommandLine("code" if letter == "c" else "module", what, tuple(words), interactive)
        if letter in "Vh?":
            return CommandLine("nothing", "", ())
        if letter in VALUES:
            if _tail(word, at + 1) == "" and words:
                words.pop(0)
            break
        interactive = interactive or letter == "i"
    return interactive


def _tail(word: Text, at: int) -> Text:
    if isinstance(word, str):
        return word[at:]
    kept = (word.prefix[at:], *word.pieces[1:])
    return Pattern(tuple(piece for piece in kept if piece != ""))


def python(call: Call) -> Analysis:
    """python3, and what else is one."""
    from guard.tools.python_ast import follow

    line = read(call.argv)
    if line.kind == "nothing":
        return Analysis(output=_version(), status=0)
    if line.kind == "module":
        return _module(call, line)
    if line.kind == "code":
        return follow(call, line.what, ["-c", *line.rest], None, call.stdin)
    if line.kind == "input":
        return Analysis() if call.stdin is None else follow(call, call.stdin, [line.what, *line.rest], None, None)
    return _script(call, line.what, line.rest)


def _version() -> Text:
    return Pattern((Hole("unknown-output", "python --version"),))


def _script(call: Call, path: Text, rest: tuple[Text, ...]) -> Analysis:
    """A file, or a directory with a __main__.py."""
    from guard.tools import own
    from guard.tools.python_ast import follow

    if call.is_dir(path) and isinstance(path, str):
        path = path.rstrip("/") + "/__main__.py"
    source = call.read(path)
    if isinstance(path, str) and own.is_script(path, source or b""):
        return passed(call.run(("guard", *rest), cwd=call.cwd, env=call.env, stdin=call.stdin))
    if source is None or not isinstance(path, str):
        known = isinstance(path, str) and path.startswith(("/dev/", "/proc/")) and call.stdin is not None
        return follow(call, call.stdin or "", [path, *rest], None, None) if known else Analysis()
    return follow(call, decode(source), [path, *rest], path, call.stdin)


# --- python -m

# modules that are a command of their own under another name
COMMANDS = {
    "pytest": "pytest",
    "py.test": "pytest",
    "pip": "pip",
    "guard": "guard",
    "guard.main": "guard",
    "guard.__main__": "guard",
    "guard.hot.start": "guard",
    "pathguard": "guard",
    "pre_commit": "pre-commit",
    "invoke": "invoke",
    "nox": "nox",
    "tox": "tox",
    "black": "black",
    "ruff": "ruff",
    "isort": "isort",
    "autopep8": "autopep8",
    "coverage": "coverage",
}


def _module(call: Call, line: CommandLine) -> Analysis:
    """-m: some modules do what a tool does, one in the tree is a script, the others harm nothing that guard could tell."""
    name = line.what
    if not isinstance(name, str):
        return Analysis()
    if name in COMMANDS:
        result = passed(call.run((COMMANDS[name], *line.rest), cwd=call.cwd, env=call.env, stdin=call.stdin))
        return result._replace(status=None) if result.status == 127 else result  # a module needs no program of its name
    if name in ("zipfile", "tarfile"):
        return _archive(call, name, line.rest)
    if name == "json.tool":
        return _json_tool(call, line.rest)
    if name in ("venv", "virtualenv"):
        return _environment(call, line.rest)
    if name in ("timeit", "cProfile", "profile", "pdb", "trace", "runpy", "coverage.__main__"):
        return _runner(call, line.rest)
    for ending in (".py", "/__main__.py"):
        path = name.replace(".", "/") + ending
        if call.read(path) is not None:
            return _script(call, path, line.rest)
    return Analysis()


def _archive(call: Call, name: str, rest: tuple[Text, ...]) -> Analysis:
    """python -m zipfile -e FILE DIR, python -m tarfile -e FILE [DIR], and -c to make one."""
    words = [word for word in rest if not (isinstance(word, str) and word.startswith("--"))]
    if len(words) < 2:
        return Analysis()
    verb, archive, *more = words
    if verb in ("-e", "-x"):
        goal = more[0] if more else "."
        argv: tuple[Text, ...] = (
            ("unzip", "-oq", archive, "-d", goal) if name == "zipfile" else ("tar", "-xf", archive, "-C", goal)
        )
        return passed(call.run(argv, cwd=call.cwd, env=call.env))
    if verb == "-c":
        from guard.tools.process import Process

        process = Process(call)
        process.write(archive, None)
        return process.result()
    return Analysis()


def _json_tool(call: Call, rest: tuple[Text, ...]) -> Analysis:
    """python -m json.tool [OPTIONS] [IN [OUT]]"""
    import json

    from guard.tools.process import Process

    plain = not any(isinstance(word, str) and word.startswith("-") and len(word) > 1 for word in rest)
    words = list(rest)
    operands: list[Text] = []
    while words:
        word = words.pop(0)
        if word == "--indent" and words:
            words.pop(0)
        elif not (isinstance(word, str) and word.startswith("-") and len(word) > 1):
            operands.append(word)
    process = Process(call)
    if len(operands) < 2 or operands[1] == "-":
        return Analysis(output=Pattern((Hole("unknown-output", "json.tool"),)))
    source = call.read(operands[0])
    content = None
    if source is not None:
        try:
            value = json.loads(source)
            content = (json.dumps(value, indent=4) + "\n").encode() if plain else None
        except (ValueError, RecursionError):
            if not any(str(word).startswith("--json") for word in rest):
                return Analysis(status=1)
    elif isinstance(operands[0], str) and operands[0] != "-" and not call.exists(operands[0]):
        return Analysis(status=2)
    process.write(operands[1], content, call.where(operands[0]) == call.where(operands[1]))
    return process.result()


def _environment(call: Call, rest: tuple[Text, ...]) -> Analysis:
    """python -m venv [--clear] DIR...: with --clear, all that is in the directory goes first."""
    from guard.tools.process import Process

    process = Process(call)
    words = list(rest)
    while words:
        word = words.pop(0)
        if word in ("--prompt", "-p", "--python", "--app-data", "--seeder") and words:
            words.pop(0)
        elif not str(word).startswith("-"):
            if "--clear" in rest:
                process.empty(word)
            place = call.path(word)
            configuration = join(place, "/pyvenv.cfg")
            if call.exists(configuration):
                process.write(configuration, None)
    return process.result()


def _runner(call: Call, rest: tuple[Text, ...]) -> Analysis:
    """A module that runs a script, or for timeit statements, with options of its own in front."""
    for at, word in enumerate(rest):
        if not str(word).startswith("-"):
            if isinstance(word, str) and call.read(word) is not None:
                return _script(call, word, rest[at + 1 :])
            from guard.tools.python_ast import follow

            return follow(call, word, ["-m"], None, None)
    return Analysis()
