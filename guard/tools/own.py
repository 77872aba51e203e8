"""guard itself: which of its commands weaken the protection, and what it runs."""

from __future__ import annotations

from guard.effects import LIFT, Analysis, At, Effect, Text, unknown
from guard.paths import child, parent
from guard.tools.call import Call
from guard.tools.process import passed

# commands that weaken the protection: a person may give them, an agent not; the others look, keep or add
LIFTING = frozenset(["allow", "protect", "unprotect", "suspend", "uninstall"])
# commands with verbs or flags of which some do
PARTS = {
    "hooks": frozenset(["uninstall", "remove", "disable"]),
    "git-hook": frozenset(["uninstall", "remove", "disable"]),
    "shims": frozenset(["uninstall", "remove", "disable"]),
    "service": frozenset(["uninstall", "remove", "disable", "stop"]),
    "init": frozenset(["--observe", "--unwire", "--remove"]),
    "loop": frozenset(["reset"]),
    "run": frozenset(["reset"]),
    "install": frozenset(["--uninstall", "--remove"]),
}
RUNNING = frozenset(["exec", "run", "loop", "supervise"])
# Modules of guard's that lift its protection, for whoever imports them instead of calling a command.
MODULES = frozenset(["cli", "main", "__main__", "granting", "acceptance", "policy_file", "hot.start"])
COMMANDS = frozenset(["allow", "always", "accept", "suspend", "protect", "standing", "uninstall"])
SCRIPTS = ("guard/hot/start.py", "guard/main.py", "guard/__main__.py")  # files that are the command line
# Variables by which a command would choose where guard's own files are: what is there then was put there by whoever chose.
PLACES = ("GUARD_STATE_DIR", "XDG_STATE_HOME", "HOME")
BELIEVING = frozenset(["restore"])  # commands that write to the tree what they find there
LOOP_VERBS = frozenset(["status", "log", "pause", "resume", "mode", "stop", "steer", "report", "eval", "tail", "list", "show"])
GENTLE_FLAGS = frozenset(["--help", "-h", "--dry-run", "--print", "--version"])
ENDING = ("suspend", "--end")  # protects again
VALUES = frozenset(
    """--cwd --config -C --reason --for --agent --allowed-tools --calls -c --idle-timeout --level --max-cost --max-iterations -n
    --max-restarts --max-runtime --name --on-limit --plan --profile --promise --prompt -p --restart-delay --timeout -t
    --tokens-per-hour --verify --verify-timeout""".split()
)


def guard(call: Call) -> Analysis:
    """guard, pathguard and python -m guard"""
    words = list(call.argv[1:])
    while words and str(words[0]).startswith("-"):
        option = words.pop(0)
        if option in ("--version", "--help", "-h", "-V"):
            return _quiet()
        if option in VALUES and words:
            words.pop(0)
    if not words:
        return _quiet()
    verb, *rest = words
    if verb in RUNNING and not (verb != "exec" and rest[:1] == ["reset"]):
        return _run(call, str(verb), rest)
    if not isinstance(verb, str):
        return Analysis((lifted(call),))
    believing = verb in BELIEVING and any(call.env.get(name) != call.view.world.environ.get(name) for name in PLACES)
    return Analysis((lifted(call),)) if believing or _lifts(verb, rest) else _quiet()


def weakens(module: str) -> bool:
    """Is it a module of guard's by which its protection can be lifted?"""
    package, _, rest = module.partition(".")
    return package == "guard" and (rest in MODULES or rest.partition(".")[::2] in {("commands", name) for name in COMMANDS})


def is_script(path: str, content: bytes) -> bool:
    """Is a script guard's command line: its own file, or what an installation has made of it?"""
    called = path.rpartition("/")[2] in ("guard", "pathguard") and b"guard.main" in content
    return called or any(path == name or path.endswith("/" + name) for name in SCRIPTS)


def _lifts(verb: str, rest: list[Text]) -> bool:
    """True when the command weakens the protection; what is no command of guard's weakens nothing."""
    before = rest[: rest.index("--")] if "--" in rest else rest
    if any(word in GENTLE_FLAGS for word in before) or (verb, *before) == ENDING:
        return False
    return verb in LIFTING or bool(PARTS.get(verb, frozenset()) & set(map(str, before)))


def _run(call: Call, verb: str, rest: list[Text]) -> Analysis:
    """guard exec, run and loop: the command behind the options is judged as itself."""
    if verb != "exec" and rest and rest[0] in LOOP_VERBS:
        return _quiet()
    words = list(rest)
    while words and str(words[0]).startswith("-"):
        option = words.pop(0)
        if option == "--":
            break
        if option in GENTLE_FLAGS:
            return _quiet()
        if option in VALUES and words:
            words.pop(0)
    if not words:
        return Analysis()
    return passed(call.run(tuple(words), cwd=call.cwd, env=call.env, stdin=call.stdin))


def _quiet() -> Analysis:
    return Analysis(output=unknown("unknown-output", "guard"))


def lifted(call: Call) -> Effect:
    """The protection of this project is weakened: of the nearest directory upwards with a configuration or a .git."""
    if not isinstance(call.cwd, str):
        return Effect(LIFT, At("/guard.toml"))
    here = at = call.view.through(call.cwd)
    while True:
        if any(call.view.kind(child(at, name)) is not None for name in ("guard.toml", ".git")):
            return Effect(LIFT, At(child(at, "guard.toml")))
        if at == "/":
            return Effect(LIFT, At(child(here, "guard.toml")))
        at = parent(at)
