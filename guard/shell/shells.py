"""Shell programs: bash -c TEXT, sh FILE, a script on standard input."""

from __future__ import annotations

from guard.effects import Pattern, Text
from guard.shell.text import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from guard.shell.state import State
    from guard.shell.walk import Walker

SCRIPT_LIMIT = 100_000  # bytes of a script file that is read
_LONG_VALUES = frozenset(("--rcfile", "--init-file"))


def run_shell(walker: Walker, state: State, argv: tuple[Text, ...], env: Mapping[str, Text]) -> list[State]:
    """Runs a shell by its arguments."""
    options: set[str] = set()
    shell = str(argv[0]).rpartition("/")[2]
    rest = list(argv[1:])
    while rest and isinstance(rest[0], str) and rest[0][:1] in ("-", "+") and len(rest[0]) > 1:
        word = str(rest.pop(0))
        if word == "--":
            break
        if word.startswith("--"):
            if word in _LONG_VALUES and rest:
                rest.pop(0)
            options |= {word}
            continue
        options |= set(word[1:]) if word[0] == "-" else set()
        if word[-1] in "oO" and rest:
            options.add(str(rest.pop(0)))
    if rest and rest[0] == "-":
        rest.pop(0)
    if options & {"n", "noexec", "--version", "--help"}:
        state.status = 0
        return [state]
    shell_options = frozenset(o for o in options if o in ("e", "u", "f", "C", "x", "pipefail", "globstar", "extglob", "nullglob"))
    if "c" in options:
        text = rest.pop(0) if rest else ""
        zero, positional = (rest[0], tuple(rest[1:])) if rest else (argv[0], ())
    elif rest and "s" not in options:
        return _from_file(walker, state, argv, tuple(rest), env, shell_options, shell)
    else:
        text = state.input.take() or ""
        zero, positional = argv[0], tuple(rest)
    return _run(walker, state, text, zero, positional, env, shell_options, shell)


def has_braces(state: State, shell: str) -> bool:
    """False for the plain POSIX shells; `sh` is what its link says."""
    if shell == "sh":
        shell = state.view.through("/bin/sh").rpartition("/")[2]
    return shell not in ("dash", "ash", "busybox")


def _run(
    walker: Walker,
    state: State,
    text: Text,
    zero: Text,
    positional: tuple[Text, ...],
    env: Mapping[str, Text],
    options: frozenset[str] = frozenset(),
    shell: str = "bash",
    source: Text = "",
) -> list[State]:
    if isinstance(text, Pattern) and not any(isinstance(p, str) and p.strip() for p in text.pieces):
        state.status = None  # a script of which nothing can be read
        return [state]
    child = state.process(zero, positional, env)
    child.options, child.source = options, source
    child.braces = has_braces(state, shell)
    child.functions = dict(state.exported_functions)
    return walker.after_subshells(state, walker.run_process(child, text))


def _from_file(
    walker: Walker,
    state: State,
    argv: tuple[Text, ...],
    rest: tuple[Text, ...],
    env: Mapping[str, Text],
    options: frozenset[str],
    shell: str,
) -> list[State]:
    content = walker.read(state, rest[0])
    if rest[0] in ("/dev/stdin", "/proc/self/fd/0", "/dev/fd/0"):
        return _run(walker, state, state.input.take() or "", argv[0], rest[1:], env, options, shell)
    if content is None:
        state.status = None if isinstance(rest[0], Pattern) or _there(state, rest[0]) else 127
        return [state]
    path = str(rest[0])
    if path.startswith("/dev/.guard-"):
        return _run(walker, state, decode(content), rest[0], rest[1:], env, options, shell)
    whole = state.view.through(path if path.startswith("/") else f"{state.cwd}/{path}")
    return run_script(walker, state, whole, rest, env, options, shell)


def _there(state: State, path: Text) -> bool:
    whole = path if isinstance(path, str) and path.startswith("/") else f"{state.cwd}/{path}"
    return state.view.exists(whole)


def run_script(
    walker: Walker,
    state: State,
    path: str,
    argv: tuple[Text, ...],
    env: Mapping[str, Text],
    options: frozenset[str] = frozenset(),
    shell: str = "bash",
) -> list[State]:
    """Runs a shell script of the tree; argv[0] is how it was named. One that cannot be read does nothing that text could tell."""
    content = state.view.read(path)
    if content is None or len(content) > SCRIPT_LIMIT or b"\0" in content[:512]:
        state.status = None
        return [state]
    text = decode(content)
    return walker.script(state, path, argv, lambda: _run(walker, state, text, argv[0], argv[1:], env, options, shell, argv[0]))
