"""Programs that take commands from a terminal when nobody gives them any: shells, interpreters, debuggers, editors.

Whoever types into them later is not seen by anyone who judges commands.
"""

from __future__ import annotations

from guard.effects import Pattern, unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from guard.effects import Text

TERMINAL = unknown("unknown-input", "the terminal")  # what somebody may type

# name -> letters of the short options that give it all it is to run, or that only print something
SHELLS = dict.fromkeys(("bash", "sh", "dash", "ash", "zsh", "ksh", "mksh", "fish", "tcsh", "csh", "busybox"), "cn")
INTERPRETERS = {
    **dict.fromkeys(("python", "python2", "python3", "pypy", "pypy3", "ipython", "bpython"), "cmhV"),
    **dict.fromkeys(("node", "nodejs", "bun", "deno"), "ephvc"),
    "ruby": "evhc",
    "irb": "vh",
    "pry": "evh",
    "perl": "eEvVhc",
    "php": "rvhilm",
    "lua": "ev",
    "luajit": "ev",
    "ghci": "e",
    "R": "efh",
    "julia": "eEvh",
    "scala": "e",
    "jshell": "",
    "erl": "",
    "iex": "e",
    "guile": "cevs",
    "tclsh": "",
}
# These take commands from the terminal whatever files they are given. An option of these letters gives a script.
ALWAYS = {
    **dict.fromkeys(("vi", "vim", "nvim", "view", "ex", "vimdiff"), "cSse+"),
    **dict.fromkeys(("emacs", "ed"), "bs"),
    **dict.fromkeys(("gdb", "lldb"), "bp"),
    **dict.fromkeys(("psql", "mysql", "mariadb"), "cfelV"),
    "sqlite3": "",
}
_VALUES = frozenset(("-o", "+o", "-O", "+O", "--rcfile", "--init-file", "-W", "-X", "-r", "--require", "-I"))
_GIVING = frozenset("--version --help --command --eval --execute --print --batch --check --test --init-command --file".split())


def typed(text: Text | None) -> bool:
    """True for an input, or a command, that comes from the terminal in part."""
    if text is None:
        return True
    return isinstance(text, Pattern) and any(hole == TERMINAL.pieces[0] or hole.what.endswith("/dev/tty") for hole in text.holes)


def waits(argv: tuple[Text, ...]) -> bool:
    """True when the program, with its standard input on a terminal, goes on with what is typed there."""
    name = str(argv[0]).rpartition("/")[2].lstrip("-")
    if name.startswith(("python3.", "python2.", "pypy3.")):
        name = "python"
    if name in LOGINS:
        return LOGINS[name](argv[1:])
    known = ALWAYS.get(name)
    if known is not None:
        few = sum(not str(word).startswith("-") for word in argv[1:]) <= 1
        return not _given(argv[1:], known) and (name != "sqlite3" or few)
    letters = SHELLS.get(name, INTERPRETERS.get(name))
    if letters is None or _given(argv[1:], letters):
        return False
    operands = _operands(argv[1:])
    before = argv[1 : argv.index(operands[0], 1)] if operands else argv[1:]
    if "-i" in before and name in ("python", "python3", "node"):
        return True  # goes on when the script is over
    return not operands or operands[0] in ("-", "/dev/stdin", "/dev/tty", "repl") or (name in SHELLS and "-s" in argv[1:])


# These start a shell of their own where no command is given.
LOGINS: dict[str, Callable[[tuple[Text, ...]], bool]] = {
    "su": lambda words: not any(str(word).startswith(("-c", "--command")) for word in words),
    "sudo": lambda words: bool(words) and all(word in ("-i", "-s", "-E", "-n", "--login", "--shell") for word in words),
    "screen": lambda words: not {"-d", "-dm", "-dmS", "-ls", "-list", "-X"} & set(words),
    "tmux": lambda words: (not words or words[0] in ("new", "new-session", "a", "attach")) and "-d" not in words,
    "script": lambda words: not any(str(word).startswith(("-c", "--command", "-qc")) for word in words),
    "login": lambda words: True,
    "newgrp": lambda words: True,
}


def _given(words: tuple[Text, ...], letters: str) -> bool:
    """Does an option give what is to be run? Behind the first operand they belong to a script."""
    for word in words:
        if isinstance(word, Pattern) or not word.startswith(("-", "+")) or word in ("-", "--"):
            if "+" in letters:
                continue
            return False
        if word.partition("=")[0] in _GIVING or (word.startswith("+") and "+" in letters):
            return True
        if not word.startswith("--") and any(letter in letters for letter in word[1:]):
            return True
    return False


def _operands(words: tuple[Text, ...]) -> list[Text]:
    found: list[Text] = []
    before: Text = ""
    ended = False
    for word in words:
        if ended or isinstance(word, Pattern) or word == "-" or not word.startswith(("-", "+")):
            found += [] if before in _VALUES and not ended else [word]
        ended = ended or word == "--"
        before = word
    return found
