"""Clients of agents that a command starts: one that leaves out the settings which call guard's hook is one that nobody guards."""

from __future__ import annotations

from guard.effects import Analysis, Effect, unknown
from guard.json_text import loads
from guard.paths import child, parent
from guard.tools.own import lifted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import NamedTuple

    from guard.effects import Text
    from guard.tools.call import Call
else:
    from guard.record import NamedTuple


class Row(NamedTuple):
    """Where a client's settings are and what leaves them out.

    `variable` names the directory of the user's `files`, or, with a rest behind "/", the one above it; without it that is `home`
    below HOME. `project` are the files of a project. `flags` leave all of them out; of `values` an option with such a value does.
    `variables` do so when they are set.
    """

    variable: str
    home: str
    files: tuple[str, ...]
    project: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    values: Mapping[str, tuple[str, ...]] = {}
    variables: tuple[str, ...] = ()


_DISABLED = ("hooks", "codex_hooks")
_SET = ("features.hooks=false", "features.codex_hooks=false", "hooks.state", "hooks=")
ROWS: dict[str, Row] = {
    "claude": Row(
        "CLAUDE_CONFIG_DIR",
        ".claude",
        ("settings.json",),
        (".claude/settings.json", ".claude/settings.local.json"),
        ("--bare", "--safe-mode"),
        {"--settings": ("disableAllHooks",), "--setting-sources": ("local", "project")},
        ("CLAUDE_CODE_SIMPLE",),
    ),
    "codex": Row(
        "CODEX_HOME",
        ".codex",
        ("config.toml", "hooks.json"),
        (".codex/config.toml", ".codex/hooks.json"),
        ("--ignore-user-config",),
        {"-c": _SET, "--config": _SET, "--disable": _DISABLED},
    ),
    "gemini": Row("GEMINI_CLI_HOME/.gemini", ".gemini", ("settings.json",), (".gemini/settings.json",)),
    "qwen": Row("QWEN_HOME", ".qwen", ("settings.json",), (".qwen/settings.json",), ("--bare",), variables=("QWEN_CODE_SIMPLE",)),
    "copilot": Row("", ".copilot", ("hooks/guard.json",), (".github/hooks/guard.json",)),
    "cursor-agent": Row("", ".cursor", ("hooks.json",), (".cursor/hooks.json",)),
    "opencode": Row(
        "XDG_CONFIG_HOME/opencode",
        ".config/opencode",
        ("opencode.json", "opencode.jsonc", "config.json"),
        flags=("--pure",),
        variables=("OPENCODE_PURE",),
    ),
}
# The same programs, by the names of their packages.
NAMES = {"claude-code": "claude", "gemini-cli": "gemini", "qwen-code": "qwen", "opencode-ai": "opencode"}
OURS = (b"/guard/bin/", b"pathguard", b"guard hook")  # a text that calls guard holds one of these


def client(call: Call) -> Analysis:
    """claude, codex and kin: what they do is judged by their own hooks, unless they are told to leave those out."""
    name = str(call.argv[0]).rpartition("/")[2].partition("@")[0]
    row = ROWS[NAMES.get(name, name)]
    effects: tuple[Effect, ...] = (lifted(call),) if _unguarded(row, call) else ()
    return Analysis(effects, output=unknown("unknown-output", name), status=None)


def _unguarded(row: Row, call: Call) -> bool:
    """Does a client that calls guard otherwise not call it in this call?"""
    usual, now = _directory(row, call.view.world.environ), _directory(row, call.env)
    elsewhere = now is not None and now != usual
    if not elsewhere and not _left_out(row, call):
        return False
    users = [child(usual, each) for each in row.files] if usual else []
    if elsewhere and not _left_out(row, call):
        return _calls(users, call) and not _calls([child(str(now), each) for each in row.files], call)
    return _calls([*users, *_projects(row, call)], call)


def _directory(row: Row, env: Mapping[str, Text]) -> str | None:
    """The directory of the user's settings; None where it cannot be told, or where it is the account's."""
    variable, _, rest = row.variable.partition("/")
    for top, below in ((env.get(variable) if variable else None, rest), (env.get("HOME"), row.home)):
        if top is not None and not isinstance(top, str):
            return "/"  # somewhere
        if top:
            return child(top.rstrip("/") or "/", below) if below else top.rstrip("/")
    return None


def _left_out(row: Row, call: Call) -> bool:
    """Is one of the options, or of the variables, given that leave settings out?"""
    if any(call.env.get(name) not in (None, "", "0", "false") for name in row.variables):
        return True
    words = list(call.argv[1:])
    for at, word in enumerate(words):
        if word == "--":
            return False
        if not isinstance(word, str):
            continue
        option, equals, value = word.partition("=")
        if word in row.flags or (option in row.flags and value != "false"):
            return True
        following = value if equals else words[at + 1] if at + 1 < len(words) else ""
        if option in row.values and isinstance(following, str) and _turns_off(option, following, row.values[option], call):
            return True
    return False


def _turns_off(option: str, value: str, off: tuple[str, ...], call: Call) -> bool:
    if option == "--settings":
        return _disables(value, call)
    if option == "--setting-sources":
        return "user" not in value.split(",")
    return value.replace(" ", "").startswith(off) if "=" in value or "." in value else value in off


def _disables(value: str, call: Call) -> bool:
    """Do the settings, given as JSON or by the name of a file, turn hooks off?"""
    text: str | None = value
    if not value.lstrip().startswith("{"):
        path = call.path(value)
        content = call.view.read(path) if isinstance(path, str) else None
        text = content.decode("utf-8", "replace") if content is not None else None
    try:
        found = loads(text or "{}")
    except (ValueError, RecursionError):
        return "disableAllHooks" in (text or "")
    return isinstance(found, dict) and found.get("disableAllHooks", False) is not False


def _projects(row: Row, call: Call) -> Iterator[str]:
    """The settings of the projects around the directory of the call."""
    at = call.cwd if isinstance(call.cwd, str) else "/"
    while at != "/":
        yield from (child(at, each) for each in row.project)
        at = parent(at)


def _calls(paths: list[str], call: Call) -> bool:
    """Does one of the files call guard?"""
    return any(ours in content for path in paths if (content := call.view.read(path)) is not None for ours in OURS)
