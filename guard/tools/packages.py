"""npm, yarn, pnpm and bun: scripts of package.json, programs of packages, and what these programs do."""

from __future__ import annotations

from guard.effects import DELETE, Analysis, At, Effect, Pattern, Text, join, unknown
from guard.overlay import DIRECTORY
from guard.paths import child, parent
from guard.tools.call import Call
from guard.tools.process import passed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# options in front of or behind the command that have a value
VALUES = frozenset(
    (
        "-C --prefix --cwd --dir --filter -F -w --workspace --loglevel --registry --userconfig --cache --tag --access "
        "--otp -p --package --node-options --script-shell --omit --include --reporter --workspace-concurrency "
        "--test-pattern --mode"
    ).split()
)
DIRECTORIES = frozenset(["-C", "--prefix", "--cwd", "--dir"])
RUN = frozenset(["run", "run-script", "rum", "urn"])
EXECUTE = frozenset(["exec", "x", "dlx", "execute"])
SHORT = {
    "t": "test",
    "tst": "test",
    "i": "install",
    "it": "install",
    "add": "install",
    "cit": "ci",
    "clean-install": "ci",
    "install-clean": "ci",
}
# the scripts that a command runs besides, in order
LIFECYCLE = {
    "install": ("preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare"),
    "ci": ("preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare"),
    "pack": ("prepack", "prepare", "postpack"),
    "publish": ("prepublishOnly", "prepack", "prepare", "postpack", "publish", "postpublish"),
    "version": ("preversion", "version", "postversion"),
    "rebuild": ("preinstall", "install", "postinstall"),
}
# commands of yarn, pnpm and bun that are no scripts
OWN = frozenset(
    (
        "install add remove upgrade up update why info list ls outdated audit init create link unlink pack publish "
        "login logout config cache set plugin workspaces dedupe import licenses bin help version versions global patch "
        "rebuild store fetch deploy prune root env"
    ).split()
)
SKIP_SCRIPTS = "--ignore-scripts"


class Package:
    """The nearest package.json upwards."""

    def __init__(self, call: Call, start: Text) -> None:
        self.directory: str | None = None
        self.scripts: dict[str, str] = {}
        self.variables: dict[str, Text] = {}
        here = call.where(start)
        while here is not None and self.directory is None:
            data = call.view.read(child(here, "package.json"))
            if data is not None:
                self.directory = here
                self.scripts = _scripts(data)
                self.variables = _variables(data)
            here = None if here == "/" else parent(here)


def _scripts(data: bytes) -> dict[str, str]:
    import json

    try:
        found: Any = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    scripts = found.get("scripts") if isinstance(found, dict) else None
    return {str(k): v for k, v in scripts.items() if isinstance(v, str)} if isinstance(scripts, dict) else {}


def _variables(data: bytes) -> dict[str, Text]:
    """What npm exports of a package.json: its name, version, config and such, as npm_package_*."""
    import json

    try:
        found: Any = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    given: dict[str, Text] = {}
    for key in ("name", "version", "description", "main", "config", "bin", "engines", "directories", "scripts"):
        _export(f"npm_package_{key}", found.get(key), given)
    return given


def _export(name: str, value: Any, given: dict[str, Text], depth: int = 0) -> None:
    if isinstance(value, dict) and depth < 8:
        for key, inner in value.items():
            _export(f"{name}_{key}", inner, given, depth + 1)
    elif isinstance(value, list) and depth < 8:
        for at, inner in enumerate(value):
            _export(f"{name}_{at}", inner, given, depth + 1)
    elif isinstance(value, (str, int, float)):
        plain = "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in name)
        given[plain] = value if isinstance(value, str) else str(value).lower()


class Words:
    """A command line: its directory, its words without options, what stands behind "--", and the options."""

    def __init__(self, call: Call, start: int = 1) -> None:
        self.directory: Text = call.cwd
        self.words: list[Text] = []
        self.rest: list[Text] = []
        self.options: list[str] = []
        self.packages: list[Text] = []
        words = list(call.argv[start:])
        while words:
            word = words.pop(0)
            name, equals, value = str(word).partition("=")
            if word == "--":
                self.rest = words
                break
            if not str(word).startswith("-"):
                self.words.append(word)
            elif name in VALUES and (equals or words):
                given: Text = value if equals else words.pop(0)
                if name in DIRECTORIES or (name in ("-w", "--workspace") and call.is_dir(given)):
                    self.directory = call.path(given)
            else:
                self.options.append(str(word))

    def has(self, name: str) -> bool:
        """True when the option was given."""
        return name in self.options


def npm(call: Call) -> Analysis:
    """npm"""
    words = Words(call)
    if not words.words:
        return Analysis()
    verb = SHORT.get(str(words.words[0]), str(words.words[0]))
    if verb in RUN:
        return _run(call, words, words.words[1:], forwards=False)
    if verb in EXECUTE:
        return npx(call)
    if verb in ("test", "start", "stop"):
        return _script(call, Package(call, words.directory), verb, [*words.words[1:], *words.rest], words)
    if verb == "restart":
        package = Package(call, words.directory)
        for each in ("restart",) if "restart" in package.scripts else ("stop", "start"):
            _script(call, package, each, words.rest, words)
        return Analysis()
    return _lifecycle(call, words, verb)


def yarn(call: Call) -> Analysis:
    """yarn and pnpm: what is no command of theirs is a script, or a program of a package."""
    words = Words(call)
    verb = SHORT.get(str(words.words[0]), str(words.words[0])) if words.words else "install"
    if verb in RUN:
        return _run(call, words, words.words[1:], forwards=True)
    if verb in EXECUTE:
        return npx(call)
    package = Package(call, words.directory)
    if verb in ("workspace", "node") and len(words.words) > 1:
        return passed(call.run(("node", *words.words[1:]), cwd=words.directory)) if verb == "node" else Analysis()
    if verb in package.scripts and verb not in OWN:
        return _run(call, words, words.words, forwards=True)
    if verb in OWN or verb == "ci":
        return _lifecycle(call, words, verb)
    return passed(call.run(_after(call, words.words[0]), cwd=words.directory, env=call.env))


def bun(call: Call) -> Analysis:
    """bun: a runtime, a runner of scripts, and npm."""
    from guard.tools.node import node

    words = Words(call)
    first = str(call.argv[1]) if len(call.argv) > 1 else ""
    if first in ("-e", "--eval", "-p", "--print"):
        return node(call)
    verb = str(words.words[0]) if words.words else ""
    if verb in ("run", "x", "install", "add", "i", "ci", "test") or verb in Package(call, words.directory).scripts:
        if verb == "run" and len(words.words) > 1 and call.read(words.words[1]) is not None:
            return passed(call.run(("node", *words.words[1:], *words.rest), cwd=words.directory))
        return Analysis() if verb == "test" else yarn(call)
    if verb and call.read(verb) is not None:
        return passed(call.run(("node", *words.words, *words.rest), cwd=words.directory))
    return Analysis()


def _after(call: Call, first: Text) -> tuple[Text, ...]:
    """The words of the command from one on, options included."""
    at = next((i for i, word in enumerate(call.argv) if i and word == first), len(call.argv))
    return tuple(word for word in call.argv[at:] if word != "--")


def _run(call: Call, words: Words, names: list[Text], forwards: bool) -> Analysis:
    """run NAME: npm hands over only what stands behind "--", the others all that follows."""
    if not names:
        return Analysis(status=0)
    name = names[0]
    package = Package(call, words.directory)
    if not isinstance(name, str):
        return Analysis()
    extra: list[Text] = [*names[1:], *words.rest]
    if forwards:
        behind = _after(call, name)[1:]
        extra = list(behind)
    if name not in package.scripts:
        missing = Analysis(status=0 if words.has("--if-present") else 1)
        return missing if not forwards else passed(call.run((name, *extra), cwd=words.directory, env=call.env))
    return _script(call, package, name, extra, words)


def _script(call: Call, package: Package, name: str, extra: list[Text], words: Words) -> Analysis:
    """A script with the ones before and after it; the first that fails ends it."""
    lone = words.has(SKIP_SCRIPTS)
    for each in (name,) if lone else (f"pre{name}", name, f"post{name}"):
        text: Text | None = package.scripts.get(each)
        if text is None or package.directory is None:
            continue
        if each == name:
            text = join(text, *(part for word in extra for part in (" ", quoted(word))))
        result = call.shell(text, cwd=package.directory, env=_environment(call, package, each))
        if result.status not in (0, None):
            return Analysis(status=1, output=unknown("unknown-output", "npm"))
    return Analysis(output=unknown("unknown-output", "npm"))


def _environment(call: Call, package: Package, name: str) -> dict[str, Text]:
    path = call.env.get("PATH", "/usr/local/bin:/usr/bin:/bin")
    given: dict[str, Text] = {
        "npm_lifecycle_event": name,
        "npm_lifecycle_script": package.scripts.get(name, ""),
        "npm_package_json": f"{package.directory}/package.json",
        "INIT_CWD": call.cwd,
        "PATH": join(f"{package.directory}/node_modules/.bin:", path),
    }
    return {**call.env, **package.variables, **given}


def quoted(word: Text) -> Text:
    """A word as a shell's text."""
    if isinstance(word, Pattern):
        return join('"', *(piece if isinstance(piece, str) else Pattern((piece,)) for piece in word.pieces), '"')
    return "'" + word.replace("'", "'\\''") + "'"


def _lifecycle(call: Call, words: Words, verb: str) -> Analysis:
    """install and its kin: the package's own scripts around them; ci begins with emptying node_modules."""
    package = Package(call, words.directory)
    found = []
    if package.directory is not None and verb == "ci":
        modules = child(package.directory, "node_modules")
        if call.view.kind(modules) == DIRECTORY:
            found.append(Effect(DELETE, At(modules)))
    named = verb in ("install",) and len(words.words) > 1
    if package.directory is not None and not words.has(SKIP_SCRIPTS) and not named and not words.has("--dry-run"):
        for each in LIFECYCLE.get(verb, ()):
            if each in package.scripts:
                call.shell(package.scripts[each], cwd=package.directory, env=_environment(call, package, each))
    return Analysis(tuple(found), output=unknown("unknown-output", "npm"))


def npx(call: Call) -> Analysis:
    """npx, bunx, npm exec, yarn dlx: a program of a package, or with -c a text for the shell."""
    words = list(call.argv[1:])
    if str(call.argv[0]).rpartition("/")[2] not in ("npx", "bunx", "pnpx", "uvx", "pipx"):
        at = next((i for i, word in enumerate(words) if word in EXECUTE), 0)
        words = words[at + 1 :]
    while words and str(words[0]).startswith("-"):
        option = words.pop(0)
        name, equals, value = str(option).partition("=")
        if option == "--":
            break
        if name in ("-c", "--call"):
            text: Text = value if equals else words.pop(0) if words else ""
            return passed(call.shell(text, cwd=call.cwd, env=call.env))
        if name in VALUES and not equals and words:
            words.pop(0)
    if words and words[0] == "--":
        words.pop(0)
    if not words:
        return Analysis()
    program = words[0]
    if isinstance(program, str) and "@" in program[1:]:
        program = program[: program.rindex("@")]
    return passed(call.run((program, *words[1:]), cwd=call.cwd, env=call.env, stdin=call.stdin))


# --- programs of packages


def rimraf(call: Call) -> Analysis:
    """rimraf, del-cli and their kin: whatever the operands, or patterns, name goes."""
    from guard.tools.process import Process
    from guard.tools.script_deeds import expanded

    process = Process(call)
    harmless = {"--dry-run", "-d", "--help", "-h", "--version", "-v"} & set(map(str, call.argv[1:]))
    keeps: set[str] = set()
    operands = [word for word in call.argv[1:] if not str(word).startswith("-")]
    for word in operands:
        if isinstance(word, str) and word.startswith("!"):
            keeps |= {str(path) for path in expanded(process, word[1:])}
    for word in () if harmless else operands:
        paths = expanded(process, word) if isinstance(word, str) and set(word) & set("*?[{") else [word]
        for path in paths:
            if path not in keeps and not str(path).startswith("!"):
                process.remove(path)
    return process.result(0)


def shx(call: Call) -> Analysis:
    """shx CMD: the shell's commands for every system; patterns are its own matter."""
    from guard.tools.process import Process
    from guard.tools.script_deeds import expanded

    words = list(call.argv[1:])
    process = Process(call)
    spread = [found for word in words[1:] for found in (expanded(process, word) if _globs(word) else [word])]
    return passed(call.run((*words[:1], *spread), cwd=call.cwd, env=call.env, stdin=call.stdin)) if words else Analysis()


def _globs(word: Text) -> bool:
    return isinstance(word, str) and bool(set(word) & set("*?["))


def cross_env(call: Call) -> Analysis:
    """cross-env A=1 CMD, dotenv CMD, env-cmd CMD: a command with variables."""
    words = list(call.argv[1:])
    env = dict(call.env)
    while words:
        name, equals, value = str(words[0]).partition("=")
        if words[0] in ("-f", "-e", "-p") and len(words) > 1:
            words.pop(0)
        elif equals and name.isidentifier():
            env[name] = value
        elif not str(words[0]).startswith("-"):
            break
        words.pop(0)
    if str(call.argv[0]).endswith("-shell"):
        return (
            passed(call.shell(join(*(part for word in words for part in (" ", word))), cwd=call.cwd, env=env))
            if words
            else Analysis()
        )
    return passed(call.run(tuple(words), cwd=call.cwd, env=env, stdin=call.stdin)) if words else Analysis()


def run_all(call: Call) -> Analysis:
    """npm-run-all, run-s and run-p: scripts by their names, or by patterns of them."""
    package = Package(call, call.cwd)
    for word in call.argv[1:]:
        if isinstance(word, str) and not word.startswith("-"):
            for name in _named(package, word):
                call.run(("npm", "run", name), cwd=call.cwd, env=call.env)
    return Analysis(output=unknown("unknown-output", "npm-run-all"))


def _named(package: Package, pattern: str) -> list[str]:
    from fnmatch import fnmatchcase

    words = pattern.split()
    return [name for name in package.scripts if words and fnmatchcase(name, words[0].replace("**", "*"))]
