"""docker, podman, kubectl, ssh and others that run a command elsewhere: this tree is out of reach, unless a mount shows it."""

from __future__ import annotations

from guard import expressions as re
from guard.effects import Analysis, Pattern, Text, join
from guard.overlay import FILE
from guard.tools.call import Call
from guard.tools.process import Process, decode, passed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from guard.record import NamedTuple

# options of docker run, exec and compose run that have a value
LONG_VALUES = frozenset(
    (
        "add-host annotation attach blkio-weight cap-add cap-drop cgroup-parent cgroupns cidfile cpu-period cpu-quota "
        "cpu- shares cpus cpuset-cpus cpuset-mems detach-keys device dns dns-option dns-search domainname entrypoint "
        "env env-file expose gpus group-add health-cmd health-interval hostname ip ipc isolation label label-file link "
        "log-driver log-opt mac-address memory memory-swap mount name network network-alias oom-score-adj pid "
        "pids-limit platform publish pull restart runtime security-opt shm- size stop-signal stop-timeout storage-opt "
        "sysctl tmpfs ulimit user userns uts volume volume-driver volumes-from workdir"
    ).split()
)
SHORT_VALUES = "aceulmpvwh"
GLOBAL_VALUES = frozenset(
    ["-H", "--host", "--context", "-c", "--config", "-l", "--log-level", "-f", "--file", "-p", "--project-name", "--profile"]
)
ELSEWHERE = "/proc/elsewhere"  # where the paths of another machine lead: nothing is there


class Mount(NamedTuple):
    """A directory of this machine and where the container sees it."""

    source: Text
    target: str


class Container(NamedTuple):
    """How a container is run."""

    mounts: tuple[Mount, ...]
    directory: str | None
    entrypoint: Text | None
    command: tuple[Text, ...]


def docker(call: Call) -> Analysis:
    """docker, podman and nerdctl"""
    words = list(call.argv[1:])
    compose = str(call.argv[0]).endswith("-compose")
    files: list[Text] = []
    while words and str(words[0]).startswith("-"):
        option = words.pop(0)
        if option in GLOBAL_VALUES and words:
            files += [words.pop(0)] if option in ("-f", "--file") else words.pop(0)[0:0] and []
    if words and words[0] == "container":
        words.pop(0)
    if words and words[0] == "compose":
        return docker(call._replace(argv=("docker-compose", *words[1:])))
    verb = words.pop(0) if words else ""
    if compose and verb == "run":
        return _inside(call, _compose(call, words, files))
    if not compose and verb in ("run", "create"):
        return _inside(call, _container(call, words)) if verb == "run" else Analysis()
    if verb == "cp":
        return _copied(call, words)
    return Analysis()


def _options(words: list[Text]) -> tuple[dict[str, list[Text]], list[Text]]:
    """The options with their values by their long names, and what follows them."""
    same = {"v": "volume", "w": "workdir", "e": "env", "u": "user"}
    found: dict[str, list[Text]] = {}
    rest = list(words)
    while rest and str(rest[0]).startswith("-") and rest[0] != "-":
        word = rest.pop(0)
        if word == "--":
            break
        start = word if isinstance(word, str) else word.prefix
        if start.startswith("--"):
            name, equals, value = start[2:].partition("=")
            if equals:
                found.setdefault(name, []).append(_tail(word, len(start) - len(value)))
            elif name in LONG_VALUES and rest:
                found.setdefault(name, []).append(rest.pop(0))
            continue
        for at, letter in enumerate(start[1:], 1):
            if letter in SHORT_VALUES:
                attached = _tail(word, at + 1)
                value_given: Text = attached if attached != "" else rest.pop(0) if rest else ""
                found.setdefault(same.get(letter, letter), []).append(value_given)
                break
    return found, rest


def _tail(word: Text, at: int) -> Text:
    if isinstance(word, str):
        return word[at:].removeprefix("=") if at < len(word) and word[:2] != "--" else word[at:]
    kept = (word.prefix[at:], *word.pieces[1:])
    return Pattern(tuple(piece for piece in kept if piece != ""))


def _container(call: Call, words: list[Text]) -> Container:
    """docker run [OPTIONS] IMAGE [COMMAND]"""
    options, rest = _options(words)
    mounts = [mount for value in options.get("volume", []) if (mount := _volume(call, value)) is not None]
    mounts += [mount for value in options.get("mount", []) if (mount := _mount(call, value)) is not None]
    directory = options.get("workdir", [None])[-1]
    entrypoint = options.get("entrypoint", [None])[-1]
    return Container(tuple(mounts), str(directory) if directory is not None else None, entrypoint, tuple(rest[1:]))


def _volume(call: Call, value: Text, base: Text | None = None) -> Mount | None:
    """HOST:TARGET[:OPTIONS]; a bare name is a volume of docker's own, and what is read only loses nothing."""
    if isinstance(value, Pattern):
        source, found, rest = value.suffix.rpartition(":")
        return (
            Mount(Pattern((*value.pieces[:-1], source) if source else value.pieces[:-1]), rest)
            if found and not value.suffix.endswith("ro")
            else None
        )
    parts = value.split(":")
    if len(parts) < 2 or not parts[0].startswith(("/", ".", "~")) or (len(parts) > 2 and "ro" in parts[2].split(",")):
        return None
    source = parts[0]
    if source.startswith("~"):
        home = call.env.get("HOME")
        source = str(home) + source[1:] if isinstance(home, str) else source
    return Mount(
        call.path(source) if base is None or source.startswith("/") else join(base, "/", source), parts[1].rstrip("/") or "/"
    )


def _mount(call: Call, value: Text) -> Mount | None:
    """--mount type=bind,source=HOST,target=TARGET[,readonly]"""
    if not isinstance(value, str):
        return None
    given = {name: rest for name, _, rest in (part.partition("=") for part in value.split(","))}
    source = given.get("source") or given.get("src")
    target = given.get("target") or given.get("destination") or given.get("dst")
    read_only = any(name in given and given[name] not in ("false", "0") for name in ("readonly", "ro"))
    if given.get("type", "volume") != "bind" or source is None or target is None or read_only:
        return None
    return Mount(call.path(source), target.rstrip("/") or "/")


def _compose(call: Call, words: list[Text], files: list[Text]) -> Container:
    """compose run [OPTIONS] SERVICE [COMMAND]: mounts and directory as the compose file has them, whichever service."""
    options, rest = _options(words)
    names: list[Text] = files or ["compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"]
    mounts = [mount for value in options.get("volume", []) if (mount := _volume(call, value)) is not None]
    directory = options.get("workdir", [None])[-1]
    for name in names:
        data = call.read(name)
        if data is None:
            continue
        text = decode(data)
        for match in re.finditer(r"^\s*-\s*[\"']?((?:[./~])[^:\s\"']*:/[^\s\"']*)[\"']?\s*$", text, re.M):
            mount = _volume(call, match[1])
            mounts += [mount] if mount is not None else []
        found = re.search(r"^\s*working_dir:\s*[\"']?([^\s\"']+)", text, re.M)
        directory = directory if directory is not None else found[1] if found else mounts[0].target if mounts else None
        break
    return Container(
        tuple(mounts), str(directory) if directory is not None else None, options.get("entrypoint", [None])[-1], tuple(rest[1:])
    )


def _inside(call: Call, container: Container) -> Analysis:
    """The container's command, with its paths as this machine has them."""
    if not container.mounts:
        return Analysis()
    argv = ((container.entrypoint,) if container.entrypoint else ()) + container.command
    if not argv:
        return Analysis()
    name = argv[0].rpartition("/")[2] if isinstance(argv[0], str) else argv[0]
    directory = container.directory or "/"
    where = _outside(directory, container.mounts)
    words = tuple(_translated(word, container.mounts) for word in argv[1:])
    env: dict[str, Text] = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": ELSEWHERE}
    result = call.run((name, *words), cwd=where, env=env, stdin=call.stdin)
    return Analysis(output=result.output, status=None)


def _outside(path: str, mounts: tuple[Mount, ...]) -> Text:
    """A path of the container as this machine has it."""
    for mount in sorted(mounts, key=lambda mount: -len(mount.target)):
        if mount.target == "/" or path == mount.target or path.startswith(mount.target + "/"):
            return join(mount.source, path if mount.target == "/" else path[len(mount.target) :])
    return ELSEWHERE + path


def _translated(word: Text, mounts: tuple[Mount, ...]) -> Text:
    """A word, or a text for a shell, with every absolute path in it as this machine has it."""
    if not isinstance(word, str):
        return word
    parts: list[Text] = []
    at = 0
    for match in re.finditer(r"(?<![\w.$})~*/-])/[\w.@%+/-]*", word):
        parts += [word[at : match.start()], _outside(match[0], mounts)]
        at = match.end()
    return join(*parts, word[at:])


def _copied(call: Call, words: list[Text]) -> Analysis:
    """docker cp and kubectl cp: what comes out of a container is written over what is here."""
    operands = [word for word in words if not str(word).startswith("-")]
    if len(operands) != 2 or ":" not in str(operands[0]) or operands[1] == "-":
        return Analysis()
    process = Process(call)
    source, goal = str(operands[0]), operands[1]
    place = process.into(goal, source)
    if process.here.kind(place) == FILE:
        process.write(place, None)
    return process.result()


def kubectl(call: Call) -> Analysis:
    """kubectl and oc: only cp reaches this tree."""
    words = [word for word in call.argv[1:] if not str(word).startswith("-")]
    return _copied(call, words[1:]) if words[:1] == ["cp"] else Analysis()


SSH_VALUES = frozenset(
    ["-B", "-b", "-c", "-D", "-E", "-e", "-F", "-I", "-i", "-J", "-L", "-l", "-m", "-O", "-o", "-p", "-Q", "-R", "-S", "-W", "-w"]
)


def ssh(call: Call) -> Analysis:
    """ssh HOST COMMAND: another machine, unless the host is this one."""
    words = list(call.argv[1:])
    while words and str(words[0]).startswith("-"):
        if words.pop(0) in SSH_VALUES and words:
            words.pop(0)
    host = str(words.pop(0)).rpartition("@")[2] if words else ""
    if host not in ("localhost", "127.0.0.1", "::1", "[::1]") or not words:
        return Analysis()
    home = call.env.get("HOME", "/")
    return passed(call.shell(join(*[part for word in words for part in (" ", word)][1:]), cwd=home, env=call.env))


def machine(call: Call) -> Analysis:
    """vagrant, multipass, lima and kin: a command for another machine."""
    return Analysis()


def same_tree(call: Call) -> Analysis:
    """wsl CMD, distrobox enter NAME -- CMD, toolbox run CMD, flatpak-spawn --host CMD: another system over the same files."""
    words = list(call.argv[1:])
    if "--" in words:
        words = words[words.index("--") + 1 :]
    else:
        while words and (str(words[0]).startswith("-") or words[0] in ("run", "enter", "exec")):
            option = words.pop(0)
            if option in ("-d", "-u", "-e", "-c", "--cd", "--distribution", "--user", "--container") and words:
                words.pop(0)
    return passed(call.run(tuple(words), cwd=call.cwd, env=call.env, stdin=call.stdin)) if words else Analysis()
