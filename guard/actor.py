"""Who is calling: an agent, or a person at a terminal. What is unclear is an agent."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import NamedTuple
else:
    from guard.record import NamedTuple

AGENT, PERSON = "agent", "person"


class Actor(NamedTuple):
    """`kind` is AGENT or PERSON; `name` the client where it is known; `mark` what gave it away."""

    kind: str
    name: str = ""
    mark: str = ""


# What clients set in the shells of their tools: the variable's name, or its beginning where it ends in "_".
MARKS = {
    "CLAUDECODE": "claude",
    "CLAUDE_CODE_": "claude",
    "CODEX_": "codex",
    "GEMINI_CLI": "gemini",
    "QWEN_CODE": "qwen",
    "COPILOT_": "copilot",
    "CURSOR_": "cursor",
    "OPENCODE": "opencode",
    "OPENCODE_": "opencode",
    "AI_AGENT": "agent",
    "AGENT": "agent",
    "GUARD_LOOP": "guard",
    "GUARD_EXEC": "guard",
    "CI": "ci",
    "GITHUB_ACTIONS": "ci",
}
# What people set in their own profiles to configure a client: no mark, though the beginning is the same.
SETTINGS = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
    "CLAUDE_CODE_MAX_RETRIES",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CODEX_API_KEY",
    "CODEX_HOME",
    "COPILOT_MODEL",
    "COPILOT_OFFLINE",
    "CURSOR_API_KEY",
    "OPENCODE_CONFIG",
    "OPENCODE_CONFIG_CONTENT",
}
# Programs whose descendants act for an agent, by the name of the process, its script or the script's package.
PROGRAMS = {
    "claude": "claude",
    "claude-code": "claude",
    "codex": "codex",
    "gemini": "gemini",
    "gemini-cli": "gemini",
    "qwen": "qwen",
    "qwen-code": "qwen",
    "copilot": "copilot",
    "cursor-agent": "cursor",
    "opencode": "opencode",
    "aider": "aider",
    "goose": "goose",
    "ralph": "ralph",
    "guard": "guard",
    "pathguard": "guard",
}
# Programs that give a person a terminal, by the name of the process (of which systems keep 15 characters). Whoever holds the
# other end of a terminal can type into it; what is not named here may be a script.
TERMINALS = frozenset(
    """login sshd sshd-session mosh-server getty agetty xterm uxterm rxvt urxvt urxvtd st alacritty kitty foot footserver ghostty
    gnome-terminal-server kgx gnome-console ptyxis ptyxis-agent konsole yakuake xfce4-terminal lxterminal mate-terminal qterminal
    terminology terminator tilix guake sakura termite wezterm-gui wezterm-mux-server contour rio blackbox cosmic-term
    deepin-terminal io.elementary.terminal Terminal iTerm2 iTermServer conmon containerd-shim""".split()
)
# Programs that run something in a terminal of its own for whoever has called them: that terminal counts.
PASSING = frozenset(["sudo", "su", "doas", "run0"])
MULTIPLEXER = "tmux"
# Programs that type into terminals, or run what somebody has left for later.
UNCLEAR = frozenset(
    """script expect unbuffer socat screen SCREEN dtach abduco zellij at atd batch cron crond anacron code cursor windsurf zed
    idea pycharm webstorm goland electron""".split()
)
OWN, START = "guard", "guard/hot/start.py"
_COMMAND_LENGTH = 15  # characters of a process's name that Linux keeps
INTERPRETERS = ("node", "bun", "deno", "python", "ruby", "perl", "bash", "dash", "sh", "zsh", "fish", "ksh", "busybox")


class Process(NamedTuple):
    """One process: its number, its names (what the system calls it, its program's, its script's), the file name of its program
    and its environment where they can be read, and its session."""

    number: int
    names: tuple[str, ...]
    program: str = ""
    environ: Mapping[str, str] | None = None
    session: int = 0


class Surroundings(NamedTuple):
    """Where a process runs.

    `line` is the process itself and those above it, nearest first; `whole` says that the line was followed to its end;
    `foreground` that there is a terminal and the process is in its foreground; `terminal` names that. `watching` are the
    surroundings of the clients that show the window, where the terminal is one of a multiplexer's, `keyed` when a key was last
    pressed in such a client (whole seconds since 1970).
    """

    line: tuple[Process, ...] = ()
    whole: bool = False
    foreground: bool = False
    terminal: str = ""
    watching: tuple[Surroundings, ...] = ()
    keyed: int = 0


def who(environ: Mapping[str, str], where: Surroundings) -> Actor:
    """The caller. Where it is an agent without a name, `mark` says why it cannot be told to be a person."""
    marked = mark(environ) or _agent_above(where.line[1:])
    if marked is not None:
        return marked
    if not where.foreground:
        return Actor(AGENT, "", "no terminal in whose foreground it runs")
    return _held(environ, where)


def typed(where: Surroundings, since: float) -> bool:
    """May what came in since then (seconds since 1970) have been typed by a person?

    Anybody can have tmux put text into a window; a key that is pressed in a client which shows it is what that does not fake.
    """
    if not any(process.names and process.names[0].startswith(MULTIPLEXER) for process in where.line):
        return True
    return any(each.keyed >= int(since) and who({}, each).kind == PERSON for each in where.watching)


def _agent_above(line: Iterable[Process]) -> Actor | None:
    """The agent among processes, told by a name or by a mark in an environment. That of the first process of all is a setting."""
    for process in line:
        found = agent(process.names)
        if found:
            return Actor(AGENT, found, process.names[0])
        marked = mark(process.environ or {}) if process.number != 1 else None
        if marked is not None:
            return marked
    return None


def agent(names: Iterable[str]) -> str:
    """The client, or guard, that a process of these names is; "" for none.

    A client is told by any directory on the way to its script, guard by its own name alone: its shims stand below one.
    """
    for name in names:
        parts = name.split("/")
        for at, part in enumerate(parts, 1):
            found = PROGRAMS.get(part.partition(".")[0], "")
            if found and (found != OWN or at == len(parts) or name.endswith(f"/{START}")):
                return found
    return ""


def called(name: str, words: Sequence[str]) -> tuple[str, ...]:
    """What a process is called: by the system, by its caller, and the script that it runs."""
    first = words[0].rpartition("/")[2].lstrip("-").partition(":")[0] if words else ""
    names = [name, first]
    if interprets(first) or interprets(name):
        options = [word for word in words[1:2] if word.startswith("-") and not word.startswith("--") and "c" in word]
        names += [next((word for word in words[1:] if not word.startswith("-")), "")] if not options else []
    return tuple(names)


def _held(environ: Mapping[str, str], where: Surroundings) -> Actor:
    """PERSON where the other end of the terminal is held by something that shows it to one."""
    if not where.whole or not where.line:
        return Actor(AGENT, "", "the processes above it cannot be followed")
    session, at = where.line[0].session, 0
    while True:
        leader = next((n for n in range(at, len(where.line)) if where.line[n].number == session), None)
        if leader is None:
            return Actor(AGENT, "", "the session that it belongs to was left")
        if leader + 1 == len(where.line):
            return Actor(PERSON)  # whoever holds it is outside of what can be seen here, as for a container
        holder = where.line[leader + 1]
        if not _is(holder, PASSING):
            break
        session, at = holder.session, leader + 1
    doubt = _doubt(holder, environ, where)
    return Actor(AGENT, "", doubt) if doubt else Actor(PERSON)


def _doubt(holder: Process, environ: Mapping[str, str], where: Surroundings) -> str:
    """Why the process that holds the terminal does not show it to a person; "" where it does."""
    shown = holder.names[0] if holder.names else "?"
    if unclear := next((p.names[0] for p in where.line if p.names and p.names[0] in UNCLEAR), ""):
        return f"it runs below {unclear}"
    if shown.startswith(MULTIPLEXER):
        return "" if any(who({}, each).kind == PERSON for each in where.watching) else "nobody is looking at its tmux window"
    if holder.number == 1 and not where.terminal.startswith("/dev/pts/"):
        return ""
    if not (_is(holder, TERMINALS) or shown.startswith("Relay(")):
        return f"its terminal is held by {shown}, which is none of the programs that show one"
    places = [at for at in (environ, *(p.environ or {} for p in where.line)) if "SSH_CONNECTION" in at]
    return "it comes over the network from this very machine" if any(map(_from_here, places)) else ""


def _is(process: Process, names: frozenset[str]) -> bool:
    """Is it one of these, by its name and, where that can be read, by the file that it runs?"""
    short = {name[:_COMMAND_LENGTH] for name in names}
    if not process.names or process.names[0][:_COMMAND_LENGTH] not in short:
        return False
    program = process.program
    return not program or program[:_COMMAND_LENGTH] in short or _script(process) in names


def _script(process: Process) -> str:
    """The name of the script that an interpreter runs, "" for none."""
    return process.names[2].rpartition("/")[2] if interprets(process.program) and len(process.names) > 2 else ""


def _from_here(environ: Mapping[str, str]) -> bool:
    words = environ["SSH_CONNECTION"].split()
    return len(words) == 4 and (words[0] == words[2] or words[0].startswith("127.") or words[0] == "::1")


def interprets(program: str) -> bool:
    """Is it, by its name, a program that runs scripts?"""
    return program.rstrip("0123456789.").lstrip("-") in INTERPRETERS


def mark(environ: Mapping[str, str]) -> Actor | None:
    """The agent whose mark is in the environment, None without any."""
    for variable, value in environ.items():
        name = _client(variable)
        if name is not None and value not in ("", "0", "false"):
            return Actor(AGENT, name, variable)
    return None


def _client(variable: str) -> str | None:
    if variable in SETTINGS:
        return None
    words = variable.split("_")
    return MARKS.get(variable) or MARKS.get(f"{words[0]}_") or MARKS.get("_".join(words[:2]) + "_")


def audience(environ: Mapping[str, str], stderr_is_tty: bool) -> str:
    """For whom a message is: PERSON only without any agent's mark and with a terminal to read it on."""
    return PERSON if stderr_is_tty and mark(environ) is None else AGENT
