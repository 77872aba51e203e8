"""How a Python program starts others: os.system and its kin, subprocess, asyncio, and what it gets back from them."""

from __future__ import annotations

from guard.effects import Analysis, Pattern, Text, unknown
from guard.tools.process import encode
from guard.tools.python_expressions import listed
from guard.tools.python_program import Args, Program, truth
from guard.tools.python_values import Exit, File, Instance, Opaque, Raised, shown, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

PIPE = -1


def command(value: Any, source: str) -> tuple[Text, ...] | None:
    """An argument vector; None where not even its length is known."""
    if isinstance(value, (list, tuple)) and not isinstance(value, Pattern):
        return tuple(text(item, source) for item in value)
    return None


def environment(program: Program, value: Any) -> Mapping[str, Text] | None:
    """The variables that a child gets; None for the program's own."""
    if isinstance(value, dict):
        return {key: shown(item) for key, item in value.items() if isinstance(key, str)}
    return None


def start(program: Program, value: Any, args: Args, shell: bool) -> Analysis:
    """Runs a child as subprocess does: a string is one word without a shell, a list's first item is the text with one."""
    program.flush()
    cwd, env = args.named.get("cwd"), environment(program, args.named.get("env"))
    where = None if cwd is None else text(cwd)
    given = args.named.get("input")
    stdin: Text | None = None if given is None else text(given)
    source = args.named.get("stdin")
    if isinstance(source, File) and source.content is not None and not source.writes:
        stdin = source.content.decode("utf-8", "surrogateescape")
    vector = command(value, args.source)
    if vector is None and listed(value) is None and not isinstance(value, Pattern):
        program.doubt += 1
        whole = unknown("unknown-argument", f"{args.source}")
        return program.process.shell(whole, (), where, env, stdin) if program.process.inline and shell else Analysis()
    if shell:
        words = vector if vector is not None else (text(value),)
        return program.process.shell(words[0], words[1:], where, env, stdin) if words else Analysis()
    return program.process.run(vector if vector is not None else (text(value),), where, env, stdin)


def subprocess(program: Program, args: Args, shell: bool = False) -> Any:
    """subprocess.run and its kin; the result has what came out."""
    value = args.get(0, "args", args.named.get("cmd", args.named.get("command", "")))
    shell = shell or truth(args.named.get("shell", False)) is not False
    outgoing = args.named.get("stdout")
    captured = args.flag("capture_output") or outgoing is not None
    result = start(program, value, args, shell)
    program.child(result, captured)
    _redirected(program, outgoing, result.output)
    if args.flag("check") and result.status not in (0, None) and truth(args.named.get("check")):
        raise Raised("CalledProcessError")
    return _completed(program, result, args)


def _redirected(program: Program, outgoing: Any, output: Text) -> None:
    """Standard output goes to a file that the program opened."""
    if isinstance(outgoing, File):
        outgoing.written, outgoing.fixed = True, False
        outgoing.content = None if outgoing.content is None or not isinstance(output, str) else outgoing.content + encode(output)


def _completed(program: Program, result: Analysis, args: Args) -> Instance:
    encoded = any(args.flag(name) for name in ("text", "universal_newlines", "encoding"))
    output: Any = result.output
    if not encoded:
        output = encode(output) if isinstance(output, str) else Opaque("stdout")
    status: Any = Opaque("returncode") if result.status is None else result.status
    given = {"stdout": output, "stderr": Opaque("stderr"), "returncode": status, "output": output, "args": args.get(0)}
    return Instance(None, {**given, "pid": Opaque("pid"), "stdin": Opaque("stdin"), "child": result})


def checked(program: Program, args: Args) -> Any:
    """subprocess.check_call: the status 0, or an exception."""
    return subprocess(program, Args(args.values, {**args.named, "check": True}, args.source)).attributes["returncode"]


def checked_output(program: Program, args: Args) -> Any:
    """subprocess.check_output: what came out, or an exception."""
    named = {**args.named, "check": True, "stdout": PIPE}
    return subprocess(program, Args(args.values, named, args.source)).attributes["stdout"]


def called(program: Program, args: Args) -> Any:
    """subprocess.call: the status."""
    return subprocess(program, args).attributes["returncode"]


def output_of(program: Program, args: Args) -> Any:
    """subprocess.getoutput: what a shell's child wrote."""
    named = {"stdout": PIPE, "text": True}
    found = subprocess(program, Args(args.values, named, args.source), shell=True).attributes["stdout"]
    return found.rstrip("\n") if isinstance(found, str) else found


def system(program: Program, args: Args) -> Any:
    """os.system: the wait status."""
    result = start(program, args.get(0, "command", ""), Args([], {}, args.source), shell=True)
    program.child(result)
    return Opaque("system()") if result.status is None else result.status << 8


def popen(program: Program, args: Args) -> Any:
    """os.popen: a file with what came out."""
    result = start(program, args.get(0, "cmd", ""), Args([], {}, args.source), shell=True)
    program.child(result, captured=True)
    return File("/dev/fd/popen", "r", encode(result.output) if isinstance(result.output, str) else None)


def replaced(program: Program, name: str, args: Args) -> Any:
    """os.execvp and its kin: the program is no more. os.spawnvp and os.posix_spawn: a child."""
    values = list(args.values)
    short = name.rpartition(".")[2]
    if short.startswith("spawn"):
        values = values[1:]
    has_env = short.rstrip("p").endswith("e") if not short.startswith("posix") else True
    if short.startswith(("posix", "execv", "spawnv")):
        vector = command(values[1] if len(values) > 1 else None, args.source)
        env = environment(program, values[2]) if has_env and len(values) > 2 else None
    else:
        env = environment(program, values[-1]) if has_env and values else None
        vector = command(values[1:-1] if has_env else values[1:], args.source)
    program.flush()
    if vector and values:
        program.child(program.process.run((text(values[0]), *vector[1:]), env=env))
    if short.startswith("exec"):
        raise Exit(None)
    return Opaque(args.source)


def words(program: Program, args: Args) -> Any:
    """A child whose arguments are the call's own: asyncio.create_subprocess_exec."""
    return subprocess(program, Args([list(args.values)], args.named, args.source))


def shell_words(program: Program, args: Args) -> Any:
    """A child by a shell's text: asyncio.create_subprocess_shell, invoke.run."""
    return subprocess(program, args, shell=True)


def by_name(program: Program, name: str, args: Args) -> Any:
    """The `sh` library: sh.rm("-rf", "x")."""
    result = subprocess(program, Args([[name.replace("_", "-"), *args.values]], {"stdout": PIPE}, args.source))
    return result.attributes["stdout"]


def split_text(program: Program, args: Args) -> Any:
    """A child by a text that is split into words, without a shell: pexpect.run."""
    value = args.get(0, "command")
    if isinstance(value, str):
        import shlex

        try:
            value = shlex.split(value)
        except ValueError:
            value = [value]
    rest = listed(args.get(1, "args", [])) or []
    return subprocess(program, Args([[*value, *rest] if isinstance(value, list) else value], {}, args.source))


CHILDREN: dict[str, Callable[[Program, Args], Any]] = {
    "os.system": system,
    "os.popen": popen,
    "os.startfile": lambda program, args: program.opaque(args),
    "libc.system": system,
    "subprocess.run": subprocess,
    "subprocess.Popen": subprocess,
    "subprocess.call": called,
    "subprocess.check_call": checked,
    "subprocess.check_output": checked_output,
    "subprocess.getoutput": output_of,
    "subprocess.getstatusoutput": lambda program, args: (0, output_of(program, args)),
    "commands.getoutput": output_of,
    "asyncio.create_subprocess_exec": words,
    "asyncio.create_subprocess_shell": shell_words,
    "asyncio.subprocess.create_subprocess_exec": words,
    "asyncio.subprocess.create_subprocess_shell": shell_words,
    "invoke.run": shell_words,
    "pty.spawn": lambda program, args: split_text(program, args) if isinstance(args.get(0), str) else subprocess(program, args),
    "pexpect.run": split_text,
    "pexpect.spawn": split_text,
}
