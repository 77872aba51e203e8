"""Who is calling: an agent, or a person at a terminal. What is unclear is an agent."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import NamedTuple
else:
    from guard.record import NamedTuple

AGENT, PERSON = "agent", "person"
_ANCESTOR_LIMIT = 64


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
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CODEX_HOME",
    "COPILOT_MODEL",
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
_INTERPRETERS = ("node", "bun", "deno", "python", "ruby", "perl", "bash", "dash", "sh", "zsh")


def who(environ: Mapping[str, str], ancestors: Iterable[str], tty: bool) -> Actor:
    """The caller, from the environment, the names or script paths of the processes above, and whether it owns a terminal."""
    marked = mark(environ)
    if marked is not None:
        return marked
    for ancestor in ancestors:
        for part in ancestor.split("/"):
            name = PROGRAMS.get(part.partition(".")[0])
            if name is not None:
                return Actor(AGENT, name, part)
    return Actor(PERSON) if tty else Actor(AGENT)


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


def terminal() -> bool:
    """True when there is a controlling terminal and the calling process group is in its foreground."""
    try:
        fd = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(fd) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(fd)


def ancestors() -> list[str]:
    """The names of the processes above this one, nearest first, and the scripts that interpreters among them run.

    Empty where there is no /proc.
    """
    found: list[str] = []
    process = os.getppid()
    for _ in range(_ANCESTOR_LIMIT):
        if process <= 0:
            break
        above, names = _process(process)
        found += names
        process = above
    return found


def _process(process: int) -> tuple[int, list[str]]:
    """The parent's number (0: unknown) and the names of one process."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            status = file.read()
        with open(f"/proc/{process}/cmdline", "rb") as file:
            words = [os.fsdecode(word) for word in file.read(4096).split(b"\0")]
        name, _, rest = status.partition(b"(")[2].rpartition(b")")
        above = int(rest.split()[1])
    except (OSError, ValueError, IndexError):
        return 0, []
    names = [os.fsdecode(name), words[0].rpartition("/")[2]]
    if names[1].rstrip("0123456789.").lstrip("-") in _INTERPRETERS:
        names += [next((word for word in words[1:] if not word.startswith("-")), "")]
    return above, names
