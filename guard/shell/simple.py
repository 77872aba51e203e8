"""A simple command: its words, its assignments, and who runs it."""

from __future__ import annotations

from guard import expressions as re
from guard.effects import OPEN_SHELL, Analysis, At, Cause, Effect, Pattern, Somewhere, Text, Unknown, join, unknown
from guard.shell import words
from guard.shell.expand import Failed
from guard.shell.names import BUILTINS, PROGRAMS, SHELLS, WRAPPERS
from guard.shell.nodes import Literal, Word
from guard.shell.state import Stream
from guard.shell.text import command_line
from guard.world import OutOfBudget

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from guard.shell.expand import Expander
    from guard.shell.nodes import Assignment, Simple
    from guard.shell.state import State, Value
    from guard.shell.walk import Walker
    from guard.tools.call import Run, Shell

DECLARING = frozenset(("declare", "export", "local", "readonly", "typeset", "alias"))
SYSTEM = ("/bin/", "/sbin/", "/usr/", "/opt/", "/lib/", "/snap/", "/nix/", "/Library/", "/System/")
_ASSIGNMENT = r"[A-Za-z_]\w*(\[[^]]*\])?\+?="


def simple(walker: Walker, node: Simple, state: State) -> list[State]:
    """Runs a simple command."""
    aliased = _aliased(node, state)
    if aliased is not None:
        return walker.deeper(lambda: walker.run_text(state, aliased))
    expander = walker.expander(state)
    walker.substituted = 0
    before = node.assignments[: len(node.assignments) - node.declared]
    try:
        argv = _argv(node, expander)
        if not argv:
            for assignment in before:
                if "r" in state.attributes.get(assignment.name, ""):
                    raise Failed
                assign(state, expander, assignment)
            state.status = walker.substituted
            return walker.redirected(node.redirects, state, lambda inner: [inner])
        given = {a.name: expander.text(a.value) if a.value is not None else "" for a in before}
        if argv == ("exec",):
            from guard.shell.redirect import opened

            opened_files = opened(walker, node.redirects, state, keep=True)
            if opened_files.input is not None:
                state.input = opened_files.input
            if opened_files.sink is not None:
                state.captured = False
            return [state]
    except Failed as failed:
        state.status = 1
        state.flow = "exit" if failed.fatal else ""
        return [state]
    name = argv[0]
    state.last, state.unset = argv[-1], tuple(expander.unset)

    def run(inner: State) -> list[State]:
        if isinstance(name, str) and name in inner.functions:
            return _with_variables(inner, given, lambda s: function(walker, s, argv))
        if isinstance(name, str) and name in BUILTINS:
            for assignment in node.assignments[len(before) :]:
                assign(inner, expander, assignment)
            return _with_variables(inner, given, lambda s: builtin(walker, s, argv))
        return external(walker, inner, argv, {**inner.exports(), **given})

    return walker.redirected(node.redirects, state, run)


def _argv(node: Simple, expander: Expander) -> tuple[Text, ...]:
    first = node.words[0].parts if node.words else ()
    declares = len(first) == 1 and isinstance(first[0], Literal) and first[0].text in DECLARING
    found: list[Text] = []
    for word in node.words:
        if declares and re.match(_ASSIGNMENT, word.raw):
            if not (node.declared and re.match(r"[A-Za-z_]\w*\+?=\(", word.raw)):
                name, _, value = word.raw.partition("=")
                found.append(join(name, "=", expander.text(words.word(value, assignment=True))))
            continue
        found += expander.fields(word)
    return tuple(found)


def _aliased(node: Simple, state: State) -> str | None:
    """The command's text with its alias replaced, None where the first word is none."""
    if not state.aliases or "expand_aliases" not in state.options or not node.words or node.assignments:
        return None
    raw = node.words[0].raw
    if raw not in state.aliases or not node.source.startswith(raw):
        return None
    text = state.aliases[raw]
    return None if text.split(None, 1)[:1] == [raw] else text + node.source[len(raw) :]


def assign(state: State, expander: Expander, assignment: Assignment) -> None:
    """Carries out name=value and its kin."""
    name = assignment.name
    if assignment.items is not None:
        _assign_items(state, expander, assignment)
        return
    value = expander.text(assignment.value) if assignment.value is not None else ""
    if assignment.subscript is not None:
        old = state.get(name)
        array: dict[str, Text] = dict(old) if isinstance(old, dict) else {"0": old} if old is not None else {}
        key = expander.subscript(assignment.subscript, array)
        if key is None:
            state.put(name, unknown("unknown-variable", f"${{{name}[@]}}"))
            return
        array[key] = join(array.get(key, ""), value) if assignment.append else value
        state.put(name, array)
        return
    old = state.get(name) if assignment.append else None
    state.put(name, join(old.get("0", "") if isinstance(old, dict) else old, value) if old is not None else value)


def _assign_items(state: State, expander: Expander, assignment: Assignment) -> None:
    old = state.get(assignment.name) if assignment.append else None
    array: dict[str, Text] = dict(old) if isinstance(old, dict) else {"0": old} if old is not None else {}
    for item in assignment.items or ():
        if isinstance(item, Word):
            for field in expander.fields(item):
                array[str(len(array))] = field
            continue
        key = expander.subscript(item[0], array)
        array[key if key is not None else "?"] = expander.text(item[1])
    state.put(assignment.name, array)


def _with_variables(state: State, given: Mapping[str, Text], run: Callable[[State], list[State]]) -> list[State]:
    """Runs a builtin or function with the assignments in front of it, which end with it."""
    saved: dict[str, Value | None] = {name: state.get(name) for name in given}
    for name, value in given.items():
        state.put(name, value)
    states = run(state)
    for current in states:
        for name, old in saved.items():
            current.variables[name] = old
    return states


def function(walker: Walker, state: State, argv: tuple[Text, ...]) -> list[State]:
    """Calls a function of the shell."""
    from guard.shell.state import Locals

    body = state.functions[str(argv[0])]
    walker.note(state, argv, "function")
    positional, scopes, loops = state.positional, state.scopes, state.loops
    state.positional, state.scopes, state.loops = argv[1:], (*scopes, Locals(str(argv[0]))), 0
    states = walker.deeper(lambda: walker.command(body, state))
    for current in states:
        for name, value in current.scopes[-1].saved.items():
            current.variables[name] = value
        current.positional, current.scopes, current.loops = positional, scopes, loops
        if current.flow == "return":
            current.flow = ""
    return states


def builtin(walker: Walker, state: State, argv: tuple[Text, ...]) -> list[State]:
    """Runs a builtin of the shell."""
    walker.note(state, argv)
    return _built_in(walker, state, argv)


def _built_in(walker: Walker, state: State, argv: tuple[Text, ...]) -> list[State]:
    from guard.shell.builtins import BUILTINS

    states: list[State] | None = BUILTINS[str(argv[0])](walker, state, argv)
    return [state] if states is None else states


def external(walker: Walker, state: State, argv: tuple[Text, ...], env: Mapping[str, Text]) -> list[State]:
    """Runs a program: a wrapper, a shell, a tool with a model, a script of the tree, or one of which nothing is known."""
    from guard.tools import model_of

    name = argv[0]
    if walker.typing:
        _opening(walker, state, argv)
    if isinstance(name, Pattern):
        return _unknown_command(walker, state, argv)
    if name in state.hashed:
        name = state.hashed[name]
        argv = (name, *argv[1:])
    base = name.rpartition("/")[2]
    if base.startswith(("ld-linux", "ld-musl")):
        base = "ld.so"
    if "/" not in name and env.get("PATH") != walker.world.environ.get("PATH"):
        if not _installed(state, name, env):
            walker.note(state, argv, "not found on PATH")
            state.status = 127
            return [state]
        path = _on_path(state, name, env)
        states = _file(walker, state, (path, *argv[1:]), env) if path is not None else None
        if states is not None:
            return states
    if "/" in name:
        states = _file(walker, state, argv, env)
        if states is not None:
            return states
    if base in WRAPPERS:
        from guard.shell import wrap

        walker.note(state, argv)
        return walker.deeper(lambda: wrap.WRAPPERS[base](walker, state, argv, env))
    if base in SHELLS:
        from guard.shell.shells import run_shell

        walker.note(state, argv)
        return walker.deeper(lambda: run_shell(walker, state, argv, env))
    if base in PROGRAMS:
        return _built_in(walker, state, (base, *argv[1:]))
    model = model_of(base)
    if model is None:
        path = _on_path(state, base, env) if "/" not in name else None
        if path is not None:
            states = _file(walker, state, (path, *argv[1:]), env)
            if states is not None:
                return states
        if "/" not in name and not _installed(state, base, env):
            walker.note(state, argv, "not found on PATH")
            state.status = 127
            return [state]
        walker.note(state, argv, "no model")
        state.write(unknown("unknown-output", command_line(argv, 60)))
        state.status = None
        return [state]
    return tool(walker, state, argv, env)


def tool(walker: Walker, state: State, argv: tuple[Text, ...], env: Mapping[str, Text]) -> list[State]:
    """Asks a tool's model."""
    from guard.shell.walk import Limit
    from guard.tools import model_of
    from guard.tools.call import Call

    cause = walker.note(state, argv)
    model = model_of(str(argv[0]).rpartition("/")[2])
    assert model is not None

    def emit(item: Effect | Unknown) -> None:
        if isinstance(item, Effect):
            walker.record(item, state, cause)
        else:
            walker.doubt(item, state, cause)

    run, shell = runner(walker, state, env), shell_runner(walker, state, env)
    call = Call(argv, state.cwd, env, state.input.text, state.view, run, shell, emit)
    try:
        result = model(call)
    except (OutOfBudget, Limit, words.TooMany, RecursionError, MemoryError):
        raise
    except Exception as error:  # a model that fails must not look harmless
        if "GUARD_DEBUG" in walker.world.environ:
            raise
        result = Analysis(unknowns=(Unknown("model-failed", f"{argv[0]}: {type(error).__name__}"),), status=None)
    walker.finish(result, state, cause)
    return [state]


def runner(walker: Walker, state: State, env: Mapping[str, Text]) -> Run:
    """What a model uses to run another program as a child of its call."""

    def run(
        argv: tuple[Text, ...],
        *,
        cwd: Text | None = None,
        env: Mapping[str, Text] | None = env,
        stdin: Text | None = None,
    ) -> Analysis:
        child = _child(state, cwd, env, stdin)
        return _told(walker, state, walker.deeper(lambda: external(walker, child, argv, child.environ)))

    return run


def shell_runner(walker: Walker, state: State, env: Mapping[str, Text]) -> Shell:
    """What a model uses to run a text with a shell as a child of its call."""

    def shell(
        text: Text,
        args: tuple[Text, ...] = (),
        *,
        cwd: Text | None = None,
        env: Mapping[str, Text] | None = env,
        stdin: Text | None = None,
    ) -> Analysis:
        from guard.shell.shells import has_braces

        child = _child(state, cwd, env, stdin)
        child.zero, child.positional = args[0] if args else "sh", args[1:]
        child.braces = has_braces(state, "sh")
        return _told(walker, state, walker.deeper(lambda: walker.run_process(child, text)))

    return shell


def _child(state: State, cwd: Text | None, env: Mapping[str, Text] | None, stdin: Text | None) -> State:
    child = state.process("sh", (), env if env is not None else state.exports())
    if cwd is not None:
        child.cwd = state.view.through(cwd) if isinstance(cwd, str) else cwd
        child.variables["PWD"] = cwd
    child.input = Stream(stdin)
    child.captured = True
    return child


def _told(walker: Walker, state: State, results: list[State]) -> Analysis:
    """What a model learns of a child: the tree as it left it, its output and status."""
    if not results:
        return Analysis()
    walker.dropped |= len(results) > 1
    state.view.become(results[-1].view)
    outputs = [join(*r.output) for r in results]
    statuses = {r.status for r in results}
    same = all(output == outputs[0] for output in outputs)
    return Analysis(
        output=outputs[0] if same else unknown("unknown-output", "output"), status=statuses.pop() if len(statuses) == 1 else None
    )


def _opening(walker: Walker, state: State, argv: tuple[Text, ...]) -> None:
    """Notes that somebody may type commands, where the program takes them from the terminal, or is named there."""
    from guard.shell import interactive

    named = isinstance(argv[0], Pattern) and interactive.typed(argv[0])
    if named or (interactive.typed(state.input.text) and interactive.waits(argv)):
        cause = Cause(command_line(argv), str(state.cwd))
        walker.record(Effect(OPEN_SHELL, Somewhere("/")), state, cause)


def _unknown_command(walker: Walker, state: State, argv: tuple[Text, ...]) -> list[State]:
    """The command's own name is not known: what it may do, it may do to its operands."""
    cause = walker.note(state, argv, "the command is not known")
    for operand in argv[1:]:
        if isinstance(operand, str) and isinstance(state.cwd, str) and not operand.startswith("-"):
            path = state.view.at(operand if operand.startswith("/") else f"{state.cwd}/{operand}")
            if state.view.kind(path) is not None:
                for original in state.view.originals(path):
                    walker.doubt(Unknown("unknown-command", str(argv[0]), At(original)), state, cause)
    state.write(unknown("unknown-output", command_line(argv, 60)))
    state.status = None
    return [state]


def _on_path(state: State, name: str, env: Mapping[str, Text]) -> str | None:
    """Where PATH finds a program outside the system's own directories."""
    path = env.get("PATH")
    if not isinstance(path, str):
        return None
    for directory in path.split(":"):
        found = f"{directory if directory.startswith('/') else f'{state.cwd}/{directory}'}/{name}"
        if state.view.kind(state.view.through(found)) == "file":
            return None if found.startswith(SYSTEM) else found
    return None


def _installed(state: State, name: str, env: Mapping[str, Text]) -> bool:
    """False where PATH surely leads to no program of this name."""
    path = env.get("PATH")
    if not isinstance(path, str) or isinstance(state.cwd, Pattern):
        return True
    return any(state.view.exists(f"{d if d.startswith('/') else state.cwd + '/' + d}/{name}") for d in path.split(":"))


def _file(walker: Walker, state: State, argv: tuple[Text, ...], env: Mapping[str, Text]) -> list[State] | None:
    """Runs a program named by a path; None where it is no script that can be read, so that its name must tell."""
    from guard.shell.shells import SCRIPT_LIMIT, run_script
    from guard.tools import model_of

    name = str(argv[0])
    if not name.startswith("/"):
        if isinstance(state.cwd, Pattern):
            return None
        name = f"{state.cwd}/{name}"
    path = state.view.through(name)
    program = state.view.lookup(path).base or path
    if program.startswith(SYSTEM) and program.rpartition("/")[2] != name.rpartition("/")[2]:
        return external(walker, state, (program, *argv[1:]), env)  # a link to a program, or a copy of one
    if path.startswith(SYSTEM) or state.view.kind(path) != "file":
        return None
    content = state.view.read(path)
    if content is None or b"\0" in content[:512] or len(content) > SCRIPT_LIMIT:
        return None
    first = content[2:].split(b"\n", 1)[0].decode("utf-8", "replace").split() if content.startswith(b"#!") else ["sh"]
    interpreter = first[0].rpartition("/")[2] if first else "sh"
    if interpreter == "env":
        rest = [w for w in first[1:] if not w.startswith("-") and "=" not in w]
        first = rest or ["sh"]
        interpreter = first[0].rpartition("/")[2]
    walker.note(state, argv, f"script for {interpreter}")
    if interpreter in SHELLS:
        return run_script(walker, state, path, argv, env, frozenset("".join(w.lstrip("-") for w in first[1:])), interpreter)
    if model_of(interpreter) is not None:
        return walker.script(state, path, argv, lambda: tool(walker, state, (interpreter, *first[1:], path, *argv[1:]), env))
    state.write(unknown("unknown-output", command_line(argv, 60)))
    state.status = None
    return [state]
