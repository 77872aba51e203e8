"""Other task runners and build tools: composer, just, task, rake, and what their clean commands delete."""

from __future__ import annotations

from guard import expressions as re
from guard.effects import DELETE, Analysis, At, Effect, Text, join, unknown
from guard.overlay import DIRECTORY
from guard.paths import child, parent
from guard.tools.call import Call
from guard.tools.process import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEPTH = 8


def _upwards(call: Call, names: tuple[str, ...], given: Text | None = None) -> tuple[str, str] | None:
    """The directory and the text of the nearest file of these names."""
    if given is not None:
        where, data = call.where(given), call.read(given)
        return (parent(where), decode(data)) if where is not None and data is not None else None
    here = call.where(call.cwd)
    while here is not None:
        for name in names:
            data = call.view.read(child(here, name))
            if data is not None:
                return here, decode(data)
        here = None if here == "/" else parent(here)
    return None


def _value(call: Call, *names: str) -> Text | None:
    """The value of an option, attached by "=" or behind it."""
    for at, word in enumerate(call.argv[1:], 1):
        name, equals, value = str(word).partition("=")
        if name in names:
            return value if equals else call.argv[at + 1] if at + 1 < len(call.argv) else None
    return None


def composer(call: Call) -> Analysis:
    """composer run NAME, or NAME: scripts of composer.json."""
    import json

    found = _upwards(call, ("composer.json",))
    words = [str(word) for word in call.argv[1:] if not str(word).startswith("-")]
    words = words[1:] if words[:1] in (["run"], ["run-script"]) else words
    if found is None or not words:
        return Analysis()
    try:
        data: Any = json.loads(found[1])
    except (ValueError, RecursionError):
        return Analysis()
    scripts = data.get("scripts") if isinstance(data, dict) else None
    _composer(call, found[0], scripts if isinstance(scripts, dict) else {}, words[0], 0)
    return Analysis(output=unknown("unknown-output", "composer"))


def _composer(call: Call, directory: str, scripts: dict[str, Any], name: str, depth: int) -> None:
    lines = scripts.get(name, [])
    for line in [lines] if isinstance(lines, str) else lines if isinstance(lines, list) else []:
        if not isinstance(line, str) or depth > DEPTH:
            continue
        if line.startswith("@php "):
            call.shell(line[1:], cwd=directory, env=call.env)
        elif line.startswith("@"):
            _composer(call, directory, scripts, line[1:].split()[0] if line[1:].split() else "", depth + 1)
        elif "::" not in line:
            call.shell(line, cwd=directory, env=call.env)


# --- just


def just(call: Call) -> Analysis:
    """just RECIPE [ARGUMENTS]: the lines of a recipe of the justfile, after those that it needs."""
    if {"-n", "--dry-run", "-l", "--list", "--summary", "--show", "-s", "--evaluate", "--dump", "--fmt"} & set(
        map(str, call.argv[1:])
    ):
        return Analysis(status=0)
    found = _upwards(call, ("justfile", "Justfile", ".justfile"), _value(call, "-f", "--justfile"))
    if found is None:
        return Analysis()
    words = _without_options(call, ("-f", "--justfile", "-d", "--working-directory", "--set", "--shell"))
    recipes, variables, order = _justfile(found[1])
    for word in list(words):
        name, equals, value = str(word).partition("=")
        if equals and name in variables:
            variables[name] = value
            words.remove(word)
    name = str(words[0]) if words else order[0] if order else ""
    _recipe(call, found[0], recipes, variables, name, words[1:], 0)
    return Analysis(output=unknown("unknown-output", "just"))


def _without_options(call: Call, values: tuple[str, ...]) -> list[Text]:
    words: list[Text] = []
    rest = list(call.argv[1:])
    while rest:
        word = rest.pop(0)
        if word in values and rest:
            rest.pop(0)
        elif not str(word).startswith("-"):
            words.append(word)
    return words


def _justfile(text: str) -> tuple[dict[str, tuple[list[str], list[str], list[str]]], dict[str, Text], list[str]]:
    """The recipes (parameters, needs, lines), the variables, and the recipes' names in order."""
    recipes: dict[str, tuple[list[str], list[str], list[str]]] = {}
    variables: dict[str, Text] = {}
    lines: list[str] | None = None
    for line in text.splitlines():
        head = re.match(r"^@?([A-Za-z_][\w-]*)((?:\s+[+*$]?[A-Za-z_][\w-]*(?:=\S+)?)*)\s*:(?!=)\s*(.*)$", line)
        value = re.match(r"^(?:export\s+)?([A-Za-z_][\w-]*)\s*:=\s*[\"']?(.*?)[\"']?\s*$", line)
        if line[:1] in (" ", "\t") and lines is not None:
            lines.append(line.strip())
        elif value is not None:
            variables[value[1]] = value[2]
        elif head is not None:
            lines = []
            recipes[head[1]] = (head[2].split(), re.findall(r"[A-Za-z_][\w-]*", head[3].partition("#")[0]), lines)
    return recipes, variables, list(recipes)


def _recipe(
    call: Call, directory: str, recipes: dict[str, Any], variables: dict[str, Text], name: str, words: list[Text], depth: int
) -> None:
    if name not in recipes or depth > DEPTH:
        return
    parameters, needs, lines = recipes[name]
    for need in needs:
        _recipe(call, directory, recipes, variables, need, [], depth + 1)
    local = dict(variables)
    for at, parameter in enumerate(parameters):
        plain, _, default = parameter.lstrip("+*$").partition("=")
        local[plain] = words[at] if at < len(words) else default.strip("\"'")
    if lines and lines[0].startswith("#!"):
        call.shell(_filled("\n".join(lines), local), cwd=directory, env=call.env)
        return
    for line in lines:
        result = call.shell(_filled(line.lstrip("@-"), local), cwd=directory, env=call.env)
        if result.status not in (0, None) and not line.startswith(("-", "@-")):
            return


def _filled(text: str, values: dict[str, Text]) -> Text:
    """The text with {{name}} replaced."""
    parts: list[Text] = []
    at = 0
    for match in re.finditer(r"\{\{\s*\.?([\w-]+)\s*\}\}", text):
        parts += [text[at : match.start()], values.get(match[1], unknown("unknown-variable", match[0]))]
        at = match.end()
    return join(*parts, text[at:])


# --- task, rake


def task(call: Call) -> Analysis:
    """task NAME: the commands of a task of Taskfile.yml, as far as its layout is the usual one."""
    if {"-l", "--list", "-a", "--list-all", "-n", "--dry", "--summary"} & set(map(str, call.argv[1:])):
        return Analysis(status=0)
    found = _upwards(call, ("Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml"), _value(call, "-t", "--taskfile"))
    words = _without_options(call, ("-t", "--taskfile", "-d", "--dir"))
    if found is None:
        return Analysis()
    tasks = _taskfile(found[1])
    for word in words or ["default"]:
        _task(call, found[0], tasks, str(word), 0)
    return Analysis(output=unknown("unknown-output", "task"))


def _taskfile(text: str) -> dict[str, list[str]]:
    """The lines of each task: commands, and "task: NAME" for what it needs."""
    tasks: dict[str, list[str]] = {}
    inside, name, indent = False, "", 0
    for line in text.splitlines():
        if re.match(r"^tasks:\s*$", line):
            inside = True
            continue
        head = re.match(r"^(\s+)([\w:.-]+):\s*(.*)$", line)
        if not inside or not line.strip() or (not line[0].isspace() and inside):
            inside = inside and bool(line[:1].isspace() or not line.strip())
            continue
        if head is not None and (not indent or len(head[1]) == indent):
            indent, name = len(head[1]), head[2]
            tasks[name] = [_plain(head[3])] if head[3] else []
            continue
        command = re.match(r"^\s+(?:-\s*)?(?:cmds?:|cmd:|-)\s*(.*)$", line)
        if command is not None and name and command[1] and not command[1].startswith(("[", "|")):
            tasks[name].append(_plain(command[1].removeprefix("cmd:").strip()))
        elif command is not None and name and command[1].startswith("["):
            tasks[name] += [_plain(each) for each in command[1].strip("[]").split(",")]
    return tasks


def _plain(text: str) -> str:
    """A scalar without its quotes."""
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _task(call: Call, directory: str, tasks: dict[str, list[str]], name: str, depth: int) -> None:
    for line in tasks.get(name, ()) if depth <= DEPTH else ():
        if line.startswith("task:"):
            _task(call, directory, tasks, _plain(line[5:]), depth + 1)
        elif line in tasks and " " not in line:
            _task(call, directory, tasks, line, depth + 1)
        else:
            call.shell(_filled(line, {}), cwd=directory, env=call.env)


def rake(call: Call) -> Analysis:
    """rake NAME: the block of a task of the Rakefile, read as Ruby."""
    from guard.tools.ruby import RUBY_DEEDS
    from guard.tools.script_deeds import follow
    from guard.tools.script_tokens import RUBY

    found = _upwards(call, ("Rakefile", "rakefile", "Rakefile.rb"), _value(call, "-f", "--rakefile"))
    words = _without_options(call, ("-f", "--rakefile"))
    if found is None or {"-T", "-n", "--dry-run", "--tasks", "-P"} & set(map(str, call.argv[1:])):
        return Analysis()
    lines = found[1].splitlines()
    plain = [line for line in lines if re.match(r"^[A-Z_a-z]\w*\s*=[^=]", line)]
    bodies: list[str] = []
    for word in words or ["default"]:
        bodies += _rake_body(lines, str(word).partition("[")[0].rpartition(":")[2], 0)
    return follow(call._replace(cwd=found[0]), RUBY, "\n".join([*plain, *bodies]), RUBY_DEEDS, [], child(found[0], "Rakefile"))


def _rake_body(lines: list[str], name: str, depth: int) -> list[str]:
    """The lines of a task, after those of the tasks that it needs."""
    found: list[str] = []
    for at, line in enumerate(lines):
        head = re.match(rf"^(\s*)task\s*\(?\s*[:\"']?{re.escape(name)}[\"']?\b(.*)$", line)
        if head is None or depth > DEPTH:
            continue
        for need in re.findall(r"[:\"'](\w+)", head[2].partition("=>")[2] or head[2].partition(":")[2]):
            found += _rake_body(lines, need, depth + 1)
        inline = re.search(r"(?:\bdo\b|\{)(.*?)(?:\bend\b|\})?\s*$", head[2])
        found.append(inline[1] if inline else "")
        for inner in lines[at + 1 :] if re.search(r"\bdo\b", head[2]) and not head[2].rstrip().endswith("end") else ():
            if re.match(rf"^{head[1]}end\b", inner):
                break
            found.append(inner)
    return found


# --- commands that clean


def _cleaned(call: Call, *directories: Text) -> Analysis:
    found = []
    for directory in directories:
        target = call.at(directory)
        if isinstance(target, At) and call.view.kind(target.path) == DIRECTORY:
            found.append(Effect(DELETE, target))
    return Analysis(tuple(found), output=unknown("unknown-output", "clean"))


def cargo(call: Call) -> Analysis:
    """cargo clean: the target directory goes. The other commands build."""
    words = [str(word) for word in call.argv[1:] if not str(word).startswith(("-", "+"))]
    if words[:1] != ["clean"] or "--dry-run" in call.argv or "-n" in call.argv:
        return Analysis()
    given = _value(call, "--target-dir") or call.env.get("CARGO_TARGET_DIR") or _cargo_target(call)
    found = _upwards(call, ("Cargo.toml",), _value(call, "--manifest-path"))
    return _cleaned(call, given if given is not None else join(found[0] if found else call.cwd, "/target"))


def _cargo_target(call: Call) -> Text | None:
    found = _upwards(call, (".cargo/config.toml", ".cargo/config"))
    match = re.search(r"^\s*target-dir\s*=\s*[\"'](.+?)[\"']", found[1], re.M) if found else None
    return join(found[0], "/", match[1]) if found and match else None


def maven(call: Call) -> Analysis:
    """mvn clean: the build directory, `target` unless pom.xml names another one."""
    if "clean" not in call.argv and "clean:clean" not in call.argv:
        return Analysis()
    given = _value(call, "-f", "--file")
    found = _upwards(call, ("pom.xml",), given)
    match = re.search(r"<build>.*?<directory>([^<${}]+)</directory>", found[1], re.S) if found else None
    return _cleaned(call, join(found[0] if found else call.cwd, "/", match[1].strip() if match else "target"))


def gradle(call: Call) -> Analysis:
    """gradle clean: the build directory."""
    words = [str(word) for word in call.argv[1:]]
    if not any(word == "clean" or word.endswith(":clean") for word in words) or {"-m", "--dry-run"} & set(words):
        return Analysis()
    root = _value(call, "-p", "--project-dir") or call.cwd
    return _cleaned(
        call,
        join(root, "/build"),
        *(join(root, "/", word[:-6].strip(":").replace(":", "/"), "/build") for word in words if word.endswith(":clean")),
    )
