"""Programs that run another command: `def NAME(walker, state, argv, env) -> list[State]`."""

from __future__ import annotations

import itertools

from guard import expressions as re
from guard.effects import OVERWRITE, Effect, Pattern, Text, join, unknown
from guard.shell.simple import external, runner, shell_runner
from guard.shell.text import command_line, lines, quote, split
from guard.tools.call import Call
from guard.tools.options import Table, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import NamedTuple

    from guard.shell.state import State
    from guard.shell.walk import Walker

    Argv = tuple[Text, ...]
    Env = Mapping[str, Text]
    Wrapper = Callable[[Walker, State, Argv, Env], list[State]]
else:
    from guard.record import NamedTuple


class Plain(NamedTuple):
    """A wrapper that runs the command behind its own options and operands: short options with a value, long options with a
    separate value, how many operands come before the command, and the word (a subcommand) that must come first."""

    values: str = ""
    long: str = ""
    skip: int = 0
    word: str = ""


PLAIN: dict[str, Plain] = {
    "nohup": Plain(),
    "setsid": Plain(),
    "chronic": Plain(),
    "unbuffer": Plain(),
    "eatmydata": Plain(),
    "fakeroot": Plain("lifsb"),
    "nice": Plain("n", "adjustment"),
    "ionice": Plain("cnpPu", "class classdata"),
    "stdbuf": Plain("ioe", "input output error"),
    "timeout": Plain("ks", "kill-after signal", 1),
    "gtimeout": Plain("ks", "kill-after signal", 1),
    "taskset": Plain("", "", 1),
    "chrt": Plain("TPD", "", 1),
    "numactl": Plain("iNCmplS", "interleave membind cpunodebind physcpubind preferred"),
    "prlimit": Plain("o"),
    "setpriv": Plain("", "reuid regid groups"),
    "doas": Plain("aCu"),
    "pkexec": Plain("u", "user"),
    "gosu": Plain(skip=1),
    "su-exec": Plain(skip=1),
    "setuidgid": Plain(skip=1),
    "tini": Plain("pe"),
    "dumb-init": Plain("r"),
    "catchsegv": Plain(),
    "strace": Plain("abeEIopPsSuUX"),
    "ltrace": Plain("aAeEFnopsSuwx"),
    "valgrind": Plain(),
    "xvfb-run": Plain("aefnspw"),
    "dbus-run-session": Plain("", "config-file"),
    "firejail": Plain(),
    "systemd-run": Plain("pEHMt", "unit property setenv slice"),
    "systemd-inhibit": Plain("", "what who why mode"),
    "caffeinate": Plain("tw"),
    "rlwrap": Plain("bcCDfFHilmMOpPqRsStwz"),
    "unshare": Plain("RSGw"),
    "nsenter": Plain("tGSrw"),
    "cgexec": Plain("g"),
    "faketime": Plain("", "", 1),
    "proxychains": Plain("f"),
    "proxychains4": Plain("f"),
    "torify": Plain(),
    "torsocks": Plain(),
    "ssh-agent": Plain("aEOt"),
    "arch": Plain("de"),
    "poetry": Plain("CP", "directory project", word="run"),
    "pipenv": Plain(word="run"),
    "uv": Plain("p", "python project with with-requirements with-editable directory index-url extra group env-file", word="run"),
    "uvx": Plain("pwci", "python from with with-requirements with-editable directory index-url env-file constraints"),
    "pipx": Plain("", "spec python index-url pip-args", word="run"),
    "dtach": Plain("aAcnNper"),
    "abduco": Plain("e", skip=1),
    "zellij": Plain("nd", "name cwd direction height width x y", word="run"),
    "hatch": Plain("e", "env", word="run"),
    "pdm": Plain("p", "project", word="run"),
    "rye": Plain(word="run"),
    "pixi": Plain("e", word="run"),
    "conda": Plain("np", "name prefix cwd", word="run"),
    "mamba": Plain("np", "name prefix", word="run"),
    "bundle": Plain(word="exec"),
    "mise": Plain("C", "cd", word="exec"),
    "asdf": Plain(word="exec"),
    "rbenv": Plain(word="exec"),
    "pyenv": Plain(word="exec"),
    "dotenv": Plain("f", "file", word="run"),
    "doppler": Plain("pc", "project config", word="run"),
    "op": Plain(word="run"),
    "direnv": Plain("", "", 1, "exec"),
    "aws-vault": Plain("", "", 1, "exec"),
    "devbox": Plain(word="run"),
    "heroku": Plain(word="local:run"),
    "coverage": Plain(),
    "rtk": Plain(),
    "noglob": Plain(),
    "nocorrect": Plain(),
    "perf": Plain("eopF", word="stat"),
    "setarch": Plain(skip=1),
    "linux32": Plain(),
    "linux64": Plain(),
    "choom": Plain("np", "adjust"),
    "ld.so": Plain("", "library-path preload audit argv0"),
    "retry": Plain("tdm"),
    "daemonize": Plain("acelopuE"),
    "start-stop-daemon": Plain(),
}


def _plain(walker: Walker, state: State, argv: Argv, env: Env) -> list[State]:
    base = str(argv[0]).rpartition("/")[2]
    rest = list(argv[1:])
    if base == "uv" and rest[:2] == ["tool", "run"]:
        base, rest = "uvx", rest[2:]
    row = PLAIN["ld.so" if base.startswith("ld-") else base]
    long = row.long.split()
    if row.word:
        while rest and rest[0] != row.word and isinstance(rest[0], str) and rest[0].startswith("-"):
            _option(rest, row.values, long)
        if not rest or rest.pop(0) != row.word:
            return _nothing(state, argv)
    while rest and isinstance(rest[0], str) and rest[0].startswith("-") and len(rest[0]) > 1:
        if rest[0] == "--":
            rest.pop(0)
            break
        _option(rest, row.values, long)
    rest = rest[row.skip :]
    if rest and rest[0] == "--":
        rest.pop(0)
    while rest and isinstance(rest[0], str) and re.match(r"[A-Za-z_]\w*=[^=]", rest[0]):
        rest.pop(0)
    if base in ("uvx", "pipx") and rest and isinstance(rest[0], str):
        rest[0] = re.split(r"[@\[=<>~!]", rest[0])[0] or rest[0]  # a package may name its version
    return external(walker, state, tuple(rest), env) if rest else _nothing(state, argv)


def _option(rest: list[Text], values: str, long: list[str]) -> None:
    """Takes one option, with its value, from the front."""
    word = str(rest.pop(0))
    if word.startswith("--"):
        if "=" not in word and word[2:] in long and rest:
            rest.pop(0)
    elif word[-1] in values and not any(letter in values for letter in word[1:-1]) and rest:
        rest.pop(0)


def _nothing(state: State, argv: Argv) -> list[State]:
    state.write(unknown("unknown-output", command_line(argv, 60)))
    state.status = None
    return [state]


_ENV = Table(
    "i0v",
    "uCS",
    long={"ignore-environment": "", "unset": "=", "chdir": "=", "split-string": "=", "null": "", "debug": ""},
    same={"ignore-environment": "i", "unset": "u", "chdir": "C", "split-string": "S", "null": "0"},
    permute=False,
)


def _env(walker: Walker, state: State, argv: Argv, env: Env) -> list[State]:
    found = parse(argv[1:], _ENV)
    words: list[Text] = []
    for text in found.values("S"):
        words += split(text, " \t\n")
    words += [w for w in found.operands if w != "-"]
    inner: dict[str, Text] = {} if found.has("i") or "-" in found.operands[:1] else dict(env)
    for name in found.values("u"):
        inner.pop(str(name), None)
    while words:
        start = words[0] if isinstance(words[0], str) else words[0].prefix
        name, equals, value = start.partition("=")
        if not equals:
            break
        rest = words.pop(0)
        inner[name] = value if isinstance(rest, str) else join(value, Pattern(rest.pieces[1:]))
    directory = found.value("C")
    if not words:
        state.write(unknown("unknown-output", "env"))
        state.status = 0
        return [state]
    if directory is None:
        return external(walker, state, tuple(words), inner)
    outer_cwd, outer_pwd = state.cwd, state.get("PWD")
    from guard.shell.builtins import _directory

    following = []
    for current in _directory(walker, state, directory):
        states = external(walker, current, tuple(words), inner) if current.status != 1 else [current]
        for after in states:
            after.cwd = outer_cwd
            after.put("PWD", outer_pwd)
        following += states
    return following


_SUDO = Table(
    "AbEeHiKklnPSsVv",
    "CcDghpRrtTUu",
    long={
        "user": "=",
        "group": "=",
        "chdir": "=",
        "preserve-env": "?",
        "login": "",
        "shell": "",
        "non-interactive": "",
        "stdin": "",
        "set-home": "",
    },
    same={"user": "u", "group": "g", "chdir": "D", "login": "i", "shell": "s"},
    permute=False,
)


def _sudo(walker: Walker, state: State, argv: Argv, env: Env) -> list[State]:
    found = parse(argv[1:], _SUDO)
    words = list(found.operands)
    inner = dict(env)
    while words and isinstance(words[0], str) and re.match(r"[A-Za-z_]\w*=", words[0]):
        name, _, value = str(words.pop(0)).partition("=")
        inner[name] = value
    if not words or found.has("l", "V", "v", "K", "k"):
        return _nothing(state, argv)
    if found.has("e"):
        return _nothing(state, argv)
    states = external(walker, state, tuple(words), inner)
    for current in states:
        current.status = None if current.status == 0 else current.status
    return states


def _su(walker: Walker, state: State, argv: Argv, env: Env) -> list[State]:
    """su, runuser: -c TEXT through the user's shell; runuser -u USER CMD."""
    table = Table(
        "lmpfP", "cgGsuT", long={"command": "=", "login": "", "shell": "=", "user": "="}, same={"command": "c", "user": "u"}
    )
    if "-u" in argv or "--user" in argv:
        found = parse(argv[1:], table._replace(permute=False))
        return external(walker, state, found.operands, env) if found.operands else _nothing(state, argv)
    text = parse(argv[1:], table).value("c")
    return _by_shell(walker, state, text, env) if text is not None else _nothing(state, argv)


def _by_shell(walker: Walker, state: State, text: Text, env: Env, args: Argv = ()) -> list[State]:
    result = shell_runner(walker, state, env)(text, args, stdin=state.input.text)
    state.write(result.output)
    state.status = result.status
    return [state]


def _words_by_shell(walker: Walker, state: State, words: Argv, env: Env) -> list[State]:
    text: Text = ""
    for at, word in enumerate(words):
        text = join(text, " " if at else "", word)
    return _by_shell(walker, state, text, env)


def _script(walker: Walker, state: State, argv: Argv, env: Env) -> list[State]:
    """script -c TEXT [FILE]: the typescript is overwritten, or appended to with -a."""
    table = Table(
        "aefqt",
        "cEIBoOmT",
        long={"command": "=", "append": "", "quiet": "", "return": "", "flush": ""},
        same={"command": "c", "append": "a"},
    )
    found = parse(argv[1:], table)
    call = _call(walker, state, argv, env)
    file = found.operands[0] if found.operands else "typescript"
    cause = walker.note(state, argv)
    if not found.has("a") and file != "/dev/null" and call.exists(file):
        walker.record(Effect(OVERWRITE, call.through(file)), state, cause)
    text = found.value("c")
    if text is None and len(found.operands) > 1:  # as BSD and macOS have it: script FILE COMMAND...
        return external(walker, state, found.operands[1:], env)
    return _by_shell(walker, state, text, env) if text is not None else _nothing(state, argv)


def _call(walker: Walker, state: State, argv: Argv, env: Env) -> Call:
    return Call(argv, state.cwd, env, state.input.text, state.view, runner(walker, state, env), shell_runner(walker, state, env))


def _flock(walker: Walker, state: State, argv: Argv, env: Env) -> list[State]:
    rest = list(argv[1:])
    while rest and isinstance(rest[0], str) and rest[0].startswith("-") and rest[0] != "-c":
        _option(rest, "wE", ["timeout", "wait", "conflict-exit-code"])
    rest = rest[1:]
    if rest and rest[0] in ("-c", "--command") and len(rest) > 1:
        return _by_shell(walker, state, rest[1], env)
    return external(walker, state, tuple(rest), env) if rest else _nothing(state, argv)


def _watch(walker: Walker, state: State, argv: Argv, env: Env) -> list[State]:
    rest = list(argv[1:])
    direct = False
    while rest and isinstance(rest[0], str) and rest[0].startswith("-"):
        direct = direct or rest[0] in ("-x", "--exec")
        _option(rest, "nqs", ["interval", "equexit", "shotsdir"])
    if direct:
        return external(walker, state, tuple(rest), env) if rest else _nothing(state, argv)
    return _words_by_shell(walker, state, tuple(rest), env)


def _time(walker: Walker, state: State, argv: Argv, env: Env) -> list[State]:
    """The program time: -o FILE is overwritten unless -a."""
    table = Table(
        "apqvVh", "fo", long={"output": "=", "append": "", "format": "="}, same={"output": "o", "append": "a"}, permute=False
    )
    found = parse(argv[1:], table)
    file = found.value("o")
    call = _call(walker, state, argv, env)
    if file is not None and not found.has("a") and call.exists(file):
        walker.record(Effect(OVERWRITE, call.through(file)), state, walker.note(state, argv))
    return external(walker, state, found.operands, env) if found.operands else _nothing(state, argv)


def _multicall(walker: Walker, state: State, argv: Argv, env: Env) -> list[State]:
    """busybox, toybox: the applet is the next word."""
    if len(argv) < 2 or (isinstance(argv[1], str) and argv[1].startswith("-")):
        return _nothing(state, argv)
    return external(walker, state, argv[1:], env)


def _chroot(walker: Walker, state: State, argv: Argv, env: Env) -> list[State]:
    """Another root is another tree, unless it is this one."""
    found = parse(argv[1:], Table("", "", long={"userspec": "=", "groups": "=", "skip-chdir": ""}, permute=False))
    if len(found.operands) > 1 and found.operands[0] == "/":
        return external(walker, state, found.operands[1:], env)
    return _nothing(state, argv)


def _from_input(walker: Walker, state: State, argv: Argv, env: Env) -> list[State]:
    """at, batch: commands on standard input, run later."""
    if any(isinstance(w, str) and re.match(r"-[a-zA-Z]*[lcrd]", w) for w in argv[1:]):
        return _nothing(state, argv)
    text = state.input.take() or ""
    return _by_shell(walker, state, text, env)


_KEYS = {"Enter": "\n", "C-m": "\n", "C-j": "\n", "KPEnter": "\n", "Space": " ", "Tab": " "}


def _tmux(walker: Walker, state: State, argv: Argv, env: Env) -> list[State]:
    """tmux and screen: a command to run in a window, or keys that type one."""
    table = Table("2CDdAPXEuvVNlJk", "cfLSTnstxyeF", permute=False)
    rest = list(parse(argv[1:], table).operands)
    verb = str(rest.pop(0)) if rest else ""
    found = parse(rest, table)
    words = found.operands
    if verb.startswith("send"):
        words = tuple(_KEYS.get(str(w), w) for w in words)
        named = any(word in _KEYS.values() for word in words)
        words = (join(*words),) if named and " " in words else tuple(word for word in words if word != "\n")
    if verb.startswith("send") and words:
        # Who reads the keys is not known: what a shell makes of them counts, what it cannot read does not.
        outer, state.script = state.script, True
        states = _words_by_shell(walker, state, words, env)
        for current in states:
            current.script = outer
        return states
    if verb.startswith(("new", "split", "respawn", "run")) and words:
        return _words_by_shell(walker, state, words, env)
    return _nothing(state, argv)


def _screen(walker: Walker, state: State, argv: Argv, env: Env) -> list[State]:
    found = parse(argv[1:], Table("aAdDmiqRrUwxX", "cehLpsStT", permute=False))
    if found.has("X"):
        words = tuple(w for w in found.operands if w != "stuff")
        return _words_by_shell(walker, state, words, env) if words else _nothing(state, argv)
    return external(walker, state, found.operands, env) if found.operands else _nothing(state, argv)


def _texts(walker: Walker, state: State, argv: Argv, env: Env) -> list[State]:
    """hyperfine, concurrently, npm-run-all-like: each operand is a command for a shell."""
    table = Table(
        "iNqk",
        "wmMrpPcCSsnu",
        long={"warmup": "=", "runs": "=", "prepare": "=", "cleanup": "=", "setup": "=", "names": "=", "shell": "="},
    )
    found = parse(argv[1:], table)
    for text in (*found.values("prepare", "p"), *found.values("cleanup", "c"), *found.operands):
        shell_runner(walker, state, env)(text)
    return _nothing(state, argv)


def _nix(walker: Walker, state: State, argv: Argv, env: Env) -> list[State]:
    for at, (option, text) in enumerate(itertools.pairwise(argv), 2):
        if option in ("--command", "-c") and argv[1] in ("shell", "develop", "run"):
            return external(walker, state, argv[at - 1 :], env)
        if option in ("--run", "--command", "-c"):
            return _by_shell(walker, state, text, env)
    if argv[1:2] == ("run",) and "--" in argv[2:]:
        named = next((str(word) for word in argv[2:] if "#" in str(word)), "")
        return external(walker, state, (named.rpartition("#")[2] or "nix", *argv[argv.index("--") + 1 :]), env)
    return _nothing(state, argv)


_XARGS = Table(
    "0rtpxo",
    "adEILnPs",
    "eil",
    long={
        "null": "",
        "no-run-if-empty": "",
        "arg-file": "=",
        "delimiter": "=",
        "eof": "?",
        "replace": "?",
        "max-lines": "?",
        "max-args": "=",
        "max-procs": "=",
        "max-chars": "=",
        "verbose": "",
        "interactive": "",
        "exit": "",
        "show-limits": "",
        "open-tty": "",
    },
    same={
        "null": "0",
        "no-run-if-empty": "r",
        "arg-file": "a",
        "delimiter": "d",
        "replace": "i",
        "max-lines": "l",
        "max-args": "n",
        "max-procs": "P",
        "max-chars": "s",
    },
    permute=False,
)
RUNS = 200  # runs of xargs that are told apart; beyond that all arguments go to one


def _xargs(walker: Walker, state: State, argv: Argv, env: Env) -> list[State]:
    found = parse(argv[1:], _XARGS)
    command = found.operands or ("echo",)
    file = found.value("a")
    if file is not None:
        content = walker.read(state, file)
        text: Text = unknown("unknown-input", str(file)) if content is None else content.decode("utf-8", "surrogateescape")
    else:
        text = state.input.take() or ""
    replace = found.value("I") if found.has("I") else found.value("i")
    if replace == "":
        replace = "{}"
    items = _items(text, found.has("0"), found.value("d"), replace is not None)
    end = found.value("E", "e", "eof")
    if end and not found.has("0", "d") and end in items:
        items = items[: items.index(end)]
    size = found.value("n") or found.value("L", "l")
    per = int(size) if isinstance(size, str) and size.isdigit() and int(size) else 0
    if not items and (found.has("r") or replace is not None):
        state.status = 0
        return [state]
    run = runner(walker, state, env)
    statuses: set[int | None] = set()
    for argv_of_run in _runs(command, items, per, replace):
        result = run(argv_of_run, stdin="")
        state.write(result.output)
        statuses.add(result.status)
    state.status = None if None in statuses else 0 if statuses <= {0} else 123
    return [state]


def _runs(command: Argv, items: list[Text], per: int, replace: Text | None) -> list[Argv]:
    if isinstance(replace, str):
        chosen = items if len(items) <= RUNS else [*items[:RUNS], unknown("unknown-input", replace)]
        return [tuple(_replaced(word, replace, item) for word in command) for item in chosen]
    if not per or len(items) / per > RUNS:
        return [(*command, *items)]
    return [(*command, *items[at : at + per]) for at in range(0, len(items), per)] or [command]


def _replaced(word: Text, mark: str, item: Text) -> Text:
    if isinstance(word, Pattern) or mark not in word:
        return word
    out: Text = ""
    for at, piece in enumerate(word.split(mark)):
        out = join(out, item if at else "", piece)
    return out


def _items(text: Text, null: bool, delimiter: Text | None, by_line: bool) -> list[Text]:
    """The arguments that xargs makes of its input."""
    if null or delimiter is not None:
        from guard.shell.printing import unescaped

        mark = "\0" if null else str(unescaped(delimiter or "\n"))[:1]
        parts = split(text, mark, keep_empty=True)
        return parts[:-1] if parts and parts[-1] == "" else parts
    if isinstance(text, Pattern):
        return [part for line in lines(text) for part in ([line] if by_line else split(line, " \t"))]
    if by_line:
        return [_unquoted(line.lstrip(" \t")) for line in text.split("\n") if line.strip(" \t")]
    return [_unquoted(w) for w in re.findall(r"(?:\\.|\"[^\"\n]*\"|'[^'\n]*'|[^\s\\\"'])+", text, re.S)]


def _unquoted(word: str) -> str:
    return re.sub(r"\\(.)|\"([^\"\n]*)\"|'([^'\n]*)'", lambda m: m.group(1) or m.group(2) or m.group(3) or "", word, flags=re.S)


def _parallel(walker: Walker, state: State, argv: Argv, env: Env) -> list[State]:
    """GNU parallel: a command line for a shell, its arguments behind ::: or on standard input."""
    table = Table(
        "0kqtvXm",
        "adIjLNnSCP",
        long={"jobs": "=", "colsep": "=", "arg-file": "=", "delimiter": "=", "null": "", "keep-order": ""},
        permute=False,
    )
    found = parse(argv[1:], table)
    words = list(found.operands)
    items: list[Text]
    if ":::" in words:
        at = words.index(":::")
        words, items = words[:at], [w for w in words[at + 1 :] if w != ":::"]
    elif "::::" in words:
        at = words.index("::::")
        content = walker.read(state, words[at + 1]) if at + 1 < len(words) else None
        items = [unknown("unknown-input", "parallel")] if content is None else lines(content.decode("utf-8", "surrogateescape"))
        words = words[:at]
    else:
        items = lines(state.input.take() or "")
    shell = shell_runner(walker, state, env)
    if not words:
        for item in items[:RUNS]:
            shell(item)
        return _nothing(state, argv)
    for item in items[:RUNS] if len(items) <= RUNS else [*items[:RUNS], unknown("unknown-input", "parallel")]:
        shown = quote(item) if isinstance(item, str) else item
        text: Text = ""
        marked = any(isinstance(w, str) and "{" in w for w in words)
        for at, word in enumerate(words):
            text = join(text, " " if at else "", _replaced(word, "{}", shown))
        shell(text if marked else join(text, " ", shown))
    return _nothing(state, argv)


def _entr(walker: Walker, state: State, argv: Argv, env: Env) -> list[State]:
    found = parse(argv[1:], Table("acdnprsxz", "", permute=False))
    if not found.operands:
        return _nothing(state, argv)
    return _by_shell(walker, state, found.operands[0], env) if found.has("s") else external(walker, state, found.operands, env)


def _gdb(walker: Walker, state: State, argv: Argv, env: Env) -> list[State]:
    rest = list(argv[1:])
    if "--args" in rest:
        return external(walker, state, tuple(rest[rest.index("--args") + 1 :]) or ("true",), env)
    return _nothing(state, argv)


WRAPPERS: dict[str, Wrapper] = {
    **dict.fromkeys(PLAIN, _plain),
    "env": _env,
    "genv": _env,
    "sudo": _sudo,
    "su": _su,
    "runuser": _su,
    "script": _script,
    "flock": _flock,
    "watch": _watch,
    "time": _time,
    "gtime": _time,
    "busybox": _multicall,
    "toybox": _multicall,
    "chroot": _chroot,
    "at": _from_input,
    "batch": _from_input,
    "tmux": _tmux,
    "screen": _screen,
    "hyperfine": _texts,
    "concurrently": _texts,
    "nix-shell": _nix,
    "nix": _nix,
    "xargs": _xargs,
    "gxargs": _xargs,
    "parallel": _parallel,
    "entr": _entr,
    "gdb": _gdb,
}
