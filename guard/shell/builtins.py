"""The shell's builtins: `def NAME(walker, state, argv) -> list[State] | None`; None means this state goes on."""

from __future__ import annotations

from guard import expressions as re
from guard.effects import Hole, Pattern, Text, join, unknown
from guard.shell.expand import home_of
from guard.shell.state import Stream
from guard.shell.text import decode, split

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from guard.shell.state import State
    from guard.shell.walk import Walker

    Argv = tuple[Text, ...]
    Builtin = Callable[[Walker, State, Argv], list[State] | None]

LONG_OPTIONS = {"errexit": "e", "nounset": "u", "noglob": "f", "noclobber": "C", "allexport": "a", "noexec": "n"}
NAME = r"[A-Za-z_]\w*\Z"


def _status(value: int | None) -> Builtin:
    def run(walker: Walker, state: State, argv: Argv) -> None:
        state.status = value

    return run


def _test(walker: Walker, state: State, argv: Argv) -> None:
    from guard.shell import conditions

    words = list(argv[1:])
    if argv[0] == "[" and (not words or words.pop() != "]"):
        state.status = 2
        return
    state.status = conditions.test(state, words)


# --- output


def _echo(walker: Walker, state: State, argv: Argv) -> None:
    words = list(argv[1:])
    newline, escapes = True, False
    while words and isinstance(words[0], str) and re.fullmatch(r"-[neE]+", words[0]):
        option = str(words.pop(0))
        newline = newline and "n" not in option
        escapes = "e" in option or (escapes and "E" not in option)
    out: Text = ""
    for at, word in enumerate(words):
        out = join(out, " " if at else "", _unescaped(word) if escapes else word)
    state.write(join(out, "\n" if newline else ""))
    state.status = 0


def _unescaped(word: Text) -> Text:
    from guard.shell.printing import unescaped

    return unescaped(word)


def _printf(walker: Walker, state: State, argv: Argv) -> None:
    words = list(argv[1:])
    variable: Text | None = None
    if words and words[0] == "-v" and len(words) > 1:
        variable = words[1]
        words = words[2:]
    if words and words[0] == "--":
        words = words[1:]
    from guard.shell.printing import printf_text

    out = printf_text(words[0], words[1:]) if words else ""
    if variable is None:
        state.write(out)
    elif isinstance(variable, str):
        state.put(variable, out)
    state.status = 0 if words else 2


# --- directories


def _directory(walker: Walker, state: State, to: Text) -> list[State]:
    """Changes to a directory, as far as it can be told that this succeeds."""
    if isinstance(to, Pattern):
        return _somewhere(state, to)
    if to == "":
        state.status = 0
        return [state]
    logical = state.get("PWD")
    if to.startswith("/"):
        target = to
    elif isinstance(logical, str):
        target = f"{logical}/{to}"
    else:
        return _somewhere(state, to)
    target = _logical(target)
    path = state.view.through(target)
    if state.view.kind(path) != "directory":
        state.status = 1
        return [state]
    found = state.view.lstat(path)
    state.put("OLDPWD", logical)
    state.put("PWD", target)
    state.cwd = path
    state.status = 0 if found is None or found.st_mode & 0o111 else None
    return [state]


def _logical(path: str) -> str:
    done: list[str] = []
    for part in path.split("/"):
        if part == ".." and done:
            done.pop()
        elif part not in ("", ".", ".."):
            done.append(part)
    return "/" + "/".join(done)


def _somewhere(state: State, to: Text) -> list[State]:
    """A directory that is not known: it may be changed to, or not be there. One that mktemp has just made is there."""
    failed = state.fork()
    failed.status = 1
    holes = to.holes if isinstance(to, Pattern) else ()
    state.put("OLDPWD", state.get("PWD"))
    absolute = isinstance(to, Pattern) and (to.prefix.startswith("/") or not to.prefix)
    state.cwd = to if absolute else join(state.cwd, "/", to)
    state.put("PWD", state.cwd)
    state.status = 0
    return [state] if holes and all(hole.what == "mktemp" for hole in holes) else [state, failed]


def _cd(walker: Walker, state: State, argv: Argv) -> list[State]:
    words = [w for w in argv[1:] if not (isinstance(w, str) and re.fullmatch(r"-[LPe@]+|--", w))]
    if len(words) > 1:
        state.status = 1
        return [state]
    if not words:
        home = state.get("HOME")
        return _directory(walker, state, home if isinstance(home, (str, Pattern)) else home_of(state, "") or "")
    if words[0] == "-":
        old = state.get("OLDPWD")
        if not isinstance(old, (str, Pattern)):
            state.status = 1
            return [state]
        states = _directory(walker, state, old)
        for current in states:
            current.write(join(old, "\n"))
        return states
    found = state.get("CDPATH")
    if isinstance(found, str) and isinstance(words[0], str) and not words[0].startswith((".", "/")):
        for directory in found.split(":"):
            tried = f"{directory or '.'}/{words[0]}"
            whole = tried if tried.startswith("/") else f"{state.cwd}/{tried}"
            if state.view.is_dir(whole):
                return _directory(walker, state, tried)
    return _directory(walker, state, words[0])


def _pushd(walker: Walker, state: State, argv: Argv) -> list[State]:
    words = [w for w in argv[1:] if w not in ("-n", "--")]
    here = state.get("PWD")
    below: Text = here if isinstance(here, (str, Pattern)) else state.cwd
    rest = state.directories
    to = words[0] if words else rest[0] if rest else None
    if to is None or (isinstance(to, str) and re.fullmatch(r"[-+]\d+", to)):
        state.status = 1 if to is None else None
        return [state]
    states = _directory(walker, state, to)
    for current in states:
        if current.status != 1:
            current.directories = (below, *(rest if words else rest[1:]))
    return states


def _popd(walker: Walker, state: State, argv: Argv) -> list[State]:
    if not state.directories:
        state.status = 1
        return [state]
    to, state.directories = state.directories[0], state.directories[1:]
    return _directory(walker, state, to)


def _pwd(walker: Walker, state: State, argv: Argv) -> None:
    logical = state.get("PWD")
    state.write(join(state.cwd if "-P" in argv or not isinstance(logical, (str, Pattern)) else logical, "\n"))
    state.status = 0


# --- variables


def _declare(walker: Walker, state: State, argv: Argv) -> None:
    kind = str(argv[0])
    options, words = _options(argv[1:])
    state.status = 0
    if "f" in options or "F" in options or "p" in options:
        if kind == "export" and "f" in options:
            named = {str(w): state.functions[str(w)] for w in words if w in state.functions}
            state.exported_functions = {**state.exported_functions, **named}
        return
    if kind == "local" and not state.scopes:
        state.status = 1
        return
    attributes = "r" if kind == "readonly" else "" if kind == "export" else "".join(o for o in options if o in "nrlu")
    local = kind == "local" or (kind in ("declare", "typeset") and state.scopes and "g" not in options)
    for word in words:
        start = word if isinstance(word, str) else word.prefix
        name, equals, _ = start.partition("=")
        append = name.endswith("+")
        name = name.rstrip("+")
        if not re.match(NAME, name):
            continue
        if local and state.scopes:
            state.scopes[-1].saved.setdefault(name, state.get(name))
        if equals:
            value = _behind(word, start.index("=") + 1)
            state.attributes[name] = state.attributes.get(name, "") + attributes.replace("n", "").replace("r", "")
            old = state.get(name)
            if "n" in attributes:
                state.variables[name] = value
            else:
                state.put(name, join(old, value) if append and isinstance(old, (str, Pattern)) else value)
        elif local and kind != "export":
            state.put(name, {} if "a" in options or "A" in options else None)
        if attributes:
            state.attributes[name] = state.attributes.get(name, "") + attributes
        if kind == "export" or "x" in options:
            state.exported = state.exported - {name} if kind == "export" and "n" in options else state.exported | {name}


def _behind(word: Text, at: int) -> Text:
    """The text from a position within its known beginning."""
    return word[at:] if isinstance(word, str) else join(word.prefix[at:], Pattern(word.pieces[1:]))


def _options(words: Argv) -> tuple[str, list[Text]]:
    letters = ""
    rest = list(words)
    while rest and isinstance(rest[0], str) and rest[0][:1] in ("-", "+") and len(rest[0]) > 1:
        word = str(rest.pop(0))
        if word == "--":
            break
        letters += word[1:]
    return letters, rest


def _unset(walker: Walker, state: State, argv: Argv) -> None:
    options, names = _options(argv[1:])
    for name in names:
        if not isinstance(name, str):
            continue
        array, _, key = name.partition("[")
        value = state.get(array)
        if key and isinstance(value, dict):
            state.put(array, {k: v for k, v in value.items() if k != key.rstrip("]")})
        elif "f" in options or (state.get(name) is None and name in state.functions):
            state.functions.pop(name, None)
        else:
            state.put(name, None)
    state.status = 0


def _set(walker: Walker, state: State, argv: Argv) -> None:
    words = list(argv[1:])
    state.status = 0
    while words and isinstance(words[0], str) and words[0][:1] in ("-", "+") and len(words[0]) > 1:
        word = str(words.pop(0))
        if word == "--":
            state.positional = tuple(words)
            return
        names = set(word[1:]) - {"o"}
        if word[1:].endswith("o") and words:
            name = str(words.pop(0))
            names.add(LONG_OPTIONS.get(name, name))
        traced = state.get("PS4")
        if "x" in names and word[0] == "-" and isinstance(traced, str) and ("$(" in traced or "`" in traced):
            walker.substitute(state, f'printf %s "{traced}"')
        if "n" in names and word[0] == "-":
            state.flow = "exit"  # what follows is read, not run
        state.options = state.options | names if word[0] == "-" else state.options - names
    if words and words[0] == "-":
        words.pop(0)
    if words:
        state.positional = tuple(words)


def _shopt(walker: Walker, state: State, argv: Argv) -> None:
    options, names = _options(argv[1:])
    known = {str(name) for name in names}
    if "s" in options:
        state.options |= known
    elif "u" in options:
        state.options -= known
    state.status = 0 if "s" in options or "u" in options else int(not known <= state.options)


def _shift(walker: Walker, state: State, argv: Argv) -> None:
    count = int(argv[1]) if len(argv) > 1 and isinstance(argv[1], str) and argv[1].isdigit() else 1
    state.status = 0 if count <= len(state.positional) else 1
    if not state.status:
        state.positional = state.positional[count:]


def _let(walker: Walker, state: State, argv: Argv) -> None:
    from guard.shell.arithmetic import evaluate

    expander = walker.expander(state)
    value: int | None = 0
    for word in argv[1:]:
        value = None if isinstance(word, Pattern) else evaluate(word, expander._number, expander._store_number)
    state.status = None if value is None else int(value == 0)


def _read(walker: Walker, state: State, argv: Argv) -> None:
    raw, array, names, delimiter = False, None, [], "\n"
    stream = state.input
    words = list(argv[1:])
    while words and isinstance(words[0], str) and words[0].startswith("-") and len(words[0]) > 1:
        word = str(words.pop(0))
        if word == "--":
            break
        for at, letter in enumerate(word[1:], 1):
            if letter == "r":
                raw = True
            if letter in "adinNptu":
                value = word[at + 1 :] or (words.pop(0) if words else "")
                array = str(value) if letter == "a" else array
                stream = state.inputs.get(str(value), Stream(None)) if letter == "u" and value != "0" else stream
                delimiter = (str(value)[:1] or "\0") if letter == "d" else delimiter
                break
    names = [str(name) for name in words if isinstance(name, str)] or ["REPLY"]
    line, ended = take_line(stream, delimiter, raw)
    state.status = 1 if line is None or ended else None if isinstance(line, Pattern) and len(line.pieces) == 1 else 0
    _assign_fields(walker, state, line if line is not None else "", names, array)


def take_line(stream: Stream, delimiter: str = "\n", raw: bool = False) -> tuple[Text | None, bool]:
    """The next line of an input, None at its end; True when the input ended within the line."""
    text = stream.text
    if text is None:
        return unknown("unknown-input", "standard input"), False
    if text == "":
        return None, True
    if isinstance(text, Pattern) and len(text.pieces) == 1:
        stream.text = ""
        return text, False
    parts = split(text, delimiter, keep_empty=True)
    ended = len(parts) == 1
    line = parts[0]
    taken = 1
    while not raw and taken < len(parts) and isinstance(line, str) and (len(line) - len(line.rstrip("\\"))) % 2:
        line = join(line[:-1], parts[taken])
        taken += 1
    rest: Text = ""
    for at, part in enumerate(parts[taken:]):
        rest = join(rest, delimiter if at else "", part)
    stream.text = rest
    if not raw and isinstance(line, str):
        line = re.sub(r"\\(.)", r"\1", line, flags=re.S)
    return line, ended


def _assign_fields(walker: Walker, state: State, line: Text, names: list[str], array: str | None) -> None:
    separators = walker.expander(state).separators()
    if array is not None:
        state.put(array, {str(at): part for at, part in enumerate(split(line, separators))})
        return
    if len(names) == 1 and names[0] == "REPLY":
        state.put("REPLY", line)
        return
    rest: Text = _stripped(line, separators)
    for name in names[:-1]:
        parts = split(rest, separators)
        state.put(name, parts[0] if parts else "")
        rest = _after_first(rest, separators)
    state.put(names[-1], _stripped(rest, separators))


def _stripped(text: Text, separators: str) -> Text:
    blanks = "".join(c for c in separators if c in " \t\n")
    if isinstance(text, str):
        return text.strip(blanks) if blanks else text
    pieces = list(text.pieces)
    if isinstance(pieces[0], str):
        pieces[0] = pieces[0].lstrip(blanks)
    if isinstance(pieces[-1], str):
        pieces[-1] = pieces[-1].rstrip(blanks)
    return join(*(Pattern((p,)) if isinstance(p, Hole) else p for p in pieces))


def _after_first(text: Text, separators: str) -> Text:
    if isinstance(text, Pattern):
        parts = split(text, separators)
        rest: Text = ""
        for at, part in enumerate(parts[1:]):
            rest = join(rest, " " if at else "", part)
        return rest
    for at, character in enumerate(text):
        if character in separators:
            return text[at + 1 :].lstrip("".join(c for c in separators if c in " \t\n"))
    return ""


def _mapfile(walker: Walker, state: State, argv: Argv) -> list[State] | None:
    keep, name, delimiter, callback = True, "MAPFILE", "\n", ""
    stream = state.input
    words = list(argv[1:])
    while words and isinstance(words[0], str) and words[0].startswith("-"):
        word = str(words.pop(0))
        for at, letter in enumerate(word[1:], 1):
            if letter == "t":
                keep = False
            elif letter in "dnOsuCc":
                value = word[at + 1 :] or (str(words.pop(0)) if words else "")
                delimiter = (value[:1] or "\0") if letter == "d" else delimiter
                stream = state.inputs.get(value, Stream(None)) if letter == "u" and value != "0" else stream
                callback = value if letter == "C" else callback
                break
    if words and isinstance(words[-1], str):
        name = words[-1]
    text = stream.take()
    parts = split(text, delimiter, keep_empty=True) if text is not None else [unknown("unknown-input", "standard input")]
    if parts and parts[-1] == "":
        parts.pop()
    state.put(name, {str(at): join(part, delimiter) if keep else part for at, part in enumerate(parts)})
    state.status = 0
    return walker.run_text(state, callback) if callback and parts else None


# --- control


def _eval(walker: Walker, state: State, argv: Argv) -> list[State]:
    text: Text = ""
    for at, word in enumerate(argv[1:]):
        text = join(text, " " if at else "", word)
    if isinstance(text, Pattern) and isinstance(text.pieces[0], Hole) and text.pieces[0].code == "unknown-output":
        state.status = None  # eval "$(tool init)": a text of which nothing can be read, as with a script
        return [state]
    return walker.run_text(state, text)


def _source(walker: Walker, state: State, argv: Argv) -> list[State]:
    if len(argv) < 2:
        state.status = 2
        return [state]
    path = argv[1]
    if path in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
        return walker.run_text(state, state.input.take() or "")
    content = walker.read(state, path)
    if content is None or isinstance(path, Pattern):
        state.status = None
        return [state]
    whole = state.view.through(path if path.startswith("/") else f"{state.cwd}/{path}")
    positional, source = state.positional, state.source
    state.source = path
    if len(argv) > 2:
        state.positional = argv[2:]

    def run() -> list[State]:
        return walker.run_text(state, decode(content))

    from guard.shell.shells import SCRIPT_LIMIT

    if whole.startswith("/dev/.guard-"):
        states = run()
    elif len(content) > SCRIPT_LIMIT:
        states, state.status = [state], None
    else:
        states = walker.script(state, whole, argv[1:], run)
    for current in states:
        current.positional = positional if len(argv) > 2 else current.positional
        current.source = source
        current.flow = "" if current.flow == "return" else current.flow
    return states


def _leave(flow: str) -> Builtin:
    def run(walker: Walker, state: State, argv: Argv) -> None:
        if flow == "return" and not state.scopes and not walker.scripts:
            state.status = 1
            return
        if len(argv) > 1:
            state.status = int(argv[1]) & 255 if isinstance(argv[1], str) and argv[1].lstrip("-").isdigit() else None
        state.flow = flow

    return run


def _loop_control(flow: str) -> Builtin:
    def run(walker: Walker, state: State, argv: Argv) -> None:
        state.status = 0
        if not state.loops:
            return
        levels = int(argv[1]) if len(argv) > 1 and isinstance(argv[1], str) and argv[1].isdigit() else 1
        state.flow, state.levels = flow, min(max(levels, 1), state.loops)

    return run


def _exec(walker: Walker, state: State, argv: Argv) -> list[State]:
    from guard.shell.simple import external

    words = list(argv[1:])
    while words and isinstance(words[0], str) and words[0] in ("-c", "-l", "-cl", "-a", "--"):
        if words.pop(0) == "-a" and words:
            words.pop(0)
    if not words:
        return [state]
    states = external(walker, state, tuple(words), state.exports())
    for current in states:
        current.flow = "exit"
        current.traps = {}  # there is no shell left to run them
    return states


def _kill(walker: Walker, state: State, argv: Argv) -> list[State] | None:
    """A signal to the shell itself runs its trap, or ends it."""
    state.status = None
    options = [str(word).lstrip("-").upper().removeprefix("SIG") for word in argv[1:] if not isinstance(word, Pattern)]
    if "0" in options or not any(isinstance(word, Pattern) and str(word) == "$$" for word in argv[1:]):
        return None
    trapped = [text for signal, text in state.traps.items() if signal in options or (signal in ("TERM", "15") and not options)]
    if trapped:
        return walker.run_text(state, trapped[0])
    state.flow = "exit"
    return None


def _command(walker: Walker, state: State, argv: Argv) -> list[State] | None:
    from guard.shell.simple import builtin, external

    words = list(argv[1:])
    while words and isinstance(words[0], str) and re.fullmatch(r"-[pvV]+|--", words[0]):
        option = str(words.pop(0))
        if "v" in option or "V" in option:
            _which(walker, state, ("type", *words))
            return None
    if not words:
        state.status = 0
        return None
    if isinstance(words[0], str) and words[0] in BUILTINS:
        return builtin(walker, state, tuple(words))
    return external(walker, state, tuple(words), state.exports())


def _hash(walker: Walker, state: State, argv: Argv) -> None:
    """hash -p PATH NAME: the name means that program from now on."""
    state.status = 0
    if len(argv) == 4 and argv[1] == "-p" and isinstance(argv[2], str) and isinstance(argv[3], str):
        state.hashed = {**state.hashed, argv[3]: argv[2]}
    elif "-r" in argv:
        state.hashed = {}


_KEYWORDS = frozenset("if then else elif fi for in while until do done case esac select function time coproc { } [[ ]] !".split())


def _which(walker: Walker, state: State, argv: Argv) -> None:
    """type, hash, command -v: whether a name means something. The environment's PATH is searched."""
    names = [w for w in argv[1:] if not (isinstance(w, str) and w.startswith("-"))]
    state.status = 0
    for name in names:
        if isinstance(name, Pattern):
            state.write(unknown("unknown-output", str(name)))
            state.status = None
        elif name in state.functions or name in BUILTINS or name in state.aliases or name in _KEYWORDS:
            state.write(name + "\n")
        elif "/" in name:
            exists = state.view.exists(name) if name.startswith("/") else None
            state.write(unknown("unknown-output", name) if exists is None else f"{name}\n" if exists else "")
            state.status = None if exists is not False else 1  # it may be no program
        else:
            path = state.exports().get("PATH", "")
            found = [f"{d}/{name}" for d in str(path).split(":") if d.startswith("/") and state.view.exists(f"{d}/{name}")]
            state.write(found[0] + "\n" if found else "")
            state.status = state.status if found else 1


def _trap(walker: Walker, state: State, argv: Argv) -> None:
    words = [w for w in argv[1:] if w not in ("--", "-p", "-l")]
    state.status = 0
    if len(words) < 2:
        return
    for signal in words[1:]:
        name = str(signal).upper().removeprefix("SIG")
        name = "EXIT" if name == "0" else name
        if words[0] in ("", "-"):
            state.traps.pop(name, None)
        else:
            state.traps[name] = words[0]


def _alias(walker: Walker, state: State, argv: Argv) -> None:
    for word in argv[1:]:
        if isinstance(word, str) and "=" in word:
            name, _, text = word.partition("=")
            state.aliases = {**state.aliases, name: text}
    state.status = 0


def _unalias(walker: Walker, state: State, argv: Argv) -> None:
    state.aliases = {} if "-a" in argv else {k: v for k, v in state.aliases.items() if k not in argv}
    state.status = 0


def _getopts(walker: Walker, state: State, argv: Argv) -> None:
    """One option of the arguments, kept by OPTIND and the place in a cluster."""
    if len(argv) < 3 or not isinstance(argv[1], str) or not isinstance(argv[2], str):
        state.status = 2
        return
    letters, name = argv[1], argv[2]
    words = argv[3:] or state.positional
    at = state.get("OPTIND")
    index = int(at) if isinstance(at, str) and at.isdigit() else 1
    inside = state.get("_guard_optpos")
    place = int(inside) if isinstance(inside, str) and inside.isdigit() else 1
    word = words[index - 1] if index <= len(words) else None
    if isinstance(word, Pattern):
        state.put(name, unknown("unknown-argument", str(word)))
        state.put("OPTARG", unknown("unknown-argument", str(word)))
        state.put("OPTIND", str(index + 1))
        state.status = None
        return
    if word is None or word == "--" or len(word) < 2 or word[0] != "-":
        state.put("OPTIND", str(index + (word == "--")))
        state.put(name, "?")
        state.status = 1
        return
    letter = word[place]
    takes = f"{letter}:" in letters
    value: Text | None = None
    following = (index, place + 1) if place + 1 < len(word) else (index + 1, 1)
    if takes:
        value = word[place + 1 :] or (words[index] if index < len(words) else "")
        following = (index + (1 if word[place + 1 :] else 2), 1)
    state.put(name, letter if letter in letters.replace(":", "") else "?")
    state.put("OPTARG", value)
    state.put("OPTIND", str(following[0]))
    state.put("_guard_optpos", str(following[1]))
    state.status = 0


def _wait(walker: Walker, state: State, argv: Argv) -> None:
    state.status = 0 if len(argv) == 1 else None


def _builtin(walker: Walker, state: State, argv: Argv) -> list[State] | None:
    from guard.shell.simple import builtin

    if len(argv) > 1 and isinstance(argv[1], str) and argv[1] in BUILTINS:
        return builtin(walker, state, argv[1:])
    state.status = 1
    return None


BUILTINS: dict[str, Builtin] = {
    ":": _status(0),
    "true": _status(0),
    "false": _status(1),
    "test": _test,
    "[": _test,
    "echo": _echo,
    "printf": _printf,
    "cd": _cd,
    "chdir": _cd,
    "pushd": _pushd,
    "popd": _popd,
    "pwd": _pwd,
    "dirs": _pwd,
    "declare": _declare,
    "typeset": _declare,
    "local": _declare,
    "export": _declare,
    "readonly": _declare,
    "unset": _unset,
    "set": _set,
    "shopt": _shopt,
    "shift": _shift,
    "let": _let,
    "read": _read,
    "mapfile": _mapfile,
    "readarray": _mapfile,
    "getopts": _getopts,
    "eval": _eval,
    "source": _source,
    ".": _source,
    "exec": _exec,
    "exit": _leave("exit"),
    "logout": _leave("exit"),
    "return": _leave("return"),
    "break": _loop_control("break"),
    "continue": _loop_control("continue"),
    "command": _command,
    "builtin": _builtin,
    "type": _which,
    "hash": _hash,
    "trap": _trap,
    "alias": _alias,
    "unalias": _unalias,
    "wait": _wait,
    "kill": _kill,
    "jobs": _status(0),
    "bg": _status(None),
    "fg": _status(None),
    "disown": _status(0),
    "umask": _status(0),
    "ulimit": _status(0),
    "times": _status(0),
    "bind": _status(0),
    "complete": _status(0),
    "compgen": _status(None),
    "compopt": _status(0),
    "history": _status(0),
    "fc": _status(None),
    "enable": _status(0),
    "help": _status(0),
    "caller": _status(0),
    "suspend": _status(0),
    "setopt": _status(0),
    "unsetopt": _status(0),
    "autoload": _status(0),
    "noglob": _status(None),
}
