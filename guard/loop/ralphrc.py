"""The settings of .ralphrc, read as data: NAME=value, NAME="value", NAME="${NAME:-value}". Nothing of it is ever run.

Every other line is told and passed over, as is a name that guard does not use.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from guard.errors import GuardError

FILE = ".ralphrc"
LARGEST = 1 << 20  # bytes
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_LINE = re.compile(rf"\s*({_NAME})=(.*?)\s*")
_QUOTED = re.compile(r"\"([^\"]*)\"(?:\s+#.*)?|'([^']*)'(?:\s+#.*)?")
_DEFAULT = re.compile(rf"\$\{{({_NAME}):-([^${{}}`\\]*)\}}")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_COMMENT = re.compile(r"\s+#.*")
_UNQUOTED = re.compile(r"[^\s'\"`$\\;&|<>()]*")

# Variable -> the setting that it is, and by how much its number is multiplied.
NUMBERS: dict[str, tuple[str, int]] = {
    "MAX_CALLS_PER_HOUR": ("calls_per_hour", 1),
    "MAX_TOKENS_PER_HOUR": ("tokens_per_hour", 1),
    "CLAUDE_TIMEOUT_MINUTES": ("timeout_s", 60),
    "CB_NO_PROGRESS_THRESHOLD": ("no_progress", 1),
    "CB_SAME_ERROR_THRESHOLD": ("same_error", 1),
    "CB_OUTPUT_DECLINE_THRESHOLD": ("output_decline", 1),
    "CB_PERMISSION_DENIAL_THRESHOLD": ("permission", 1),
    "CB_COOLDOWN_MINUTES": ("cooldown_s", 60),
    "MAX_CONSECUTIVE_TEST_LOOPS": ("test_loops", 1),
    "MAX_CONSECUTIVE_DONE_SIGNALS": ("done", 1),
    "TEST_PERCENTAGE_THRESHOLD": ("test_share", 1),
}
TEXTS = {"CLAUDE_ALLOWED_TOOLS": "allowed_tools", "ALLOWED_TOOLS": "allowed_tools", "OPTIONAL_SECTIONS": "optional_sections"}
# Names that Ralph knows and guard says otherwise. What is written for Ralph's setup alone is passed over in silence.
ELSEWHERE = {
    **dict.fromkeys(("CLAUDE_USE_CONTINUE", "SESSION_CONTINUITY"), "guard loop --continue"),
    "CLAUDE_CODE_CMD": "--agent claude, or the command after --",
    "CLAUDE_MODEL": "after --agent claude: -- --model NAME",
    "CLAUDE_OUTPUT_FORMAT": "guard reads what the agent puts out by itself",
    **dict.fromkeys(("VERBOSE_PROGRESS", "RALPH_VERBOSE", "LIVE_SHOW_TOOL_ARGS"), "guard loop --live"),
    "SANDBOX_PROVIDER": "guard loop --sandbox",
    "PROMPT_FILE": "guard loop --prompt FILE",
    "FIX_PLAN_FILE": "guard loop --plan FILE",
    "ENABLE_BACKUP": "protected files are always copied: guard restore",
}
SILENT = ("PROJECT_NAME", "PROJECT_TYPE", "TASK_SOURCES", "AGENT_FILE", "BEADS_FILTER", "GITHUB_TASK_LABEL", "CLAUDE_MIN_VERSION")
AUTO_RESET = "CB_AUTO_RESET"
_KNOWN = (*NUMBERS, *TEXTS, AUTO_RESET)
_TRUE = ("true", "1", "yes", "on")


@dataclass(frozen=True)
class Read:
    """What a file or an environment says: the values with the place of each, and what is to be told of the other lines."""

    values: Mapping[str, tuple[str, str]]
    notes: tuple[str, ...] = ()


def read(data: bytes, path: str = FILE) -> Read:
    """What a file says."""
    values: dict[str, tuple[str, str]] = {}
    notes = []
    text = data[:LARGEST].decode("utf-8", "replace").removeprefix("\ufeff")
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        place = f"{path}:{number}"
        found = _LINE.fullmatch(line)
        value = _value(found[2], found[1]) if found else None
        if found is None or value is None:
            notes.append(f"{place}: passed over, it is no plain NAME=value")
        elif found[1] in _KNOWN:
            values[found[1]] = (value, place)
        elif found[1] not in SILENT:
            instead = ELSEWHERE.get(found[1])
            notes.append(f"{place}: passed over, {found[1]} is no setting here" + (f" ({instead})" if instead else ""))
    return Read(values, tuple(notes))


def _value(text: str, name: str) -> str | None:
    """The value that is written; None for what only a shell could make of it."""
    quoted = _QUOTED.fullmatch(text)
    if _CONTROL.search(text):
        return None
    if quoted is None:
        plain = _COMMENT.sub("", text)
        return plain if _UNQUOTED.fullmatch(plain) else None
    if quoted[2] is not None:
        return quoted[2]
    default = _DEFAULT.fullmatch(quoted[1])
    if default is not None:
        return default[2] if default[1] == name else None
    return quoted[1] if not set("$`\\") & set(quoted[1]) else None


def from_environment(environ: Mapping[str, str]) -> Read:
    """What the same variables say in an environment."""
    return Read({name: (environ[name], f"the variable {name}") for name in _KNOWN if environ.get(name)})


def settings(found: Read, unsafe: bool) -> tuple[dict[str, int | str], dict[str, str]]:
    """The settings and the place of each. Raises GuardError for a value that makes no sense."""
    values: dict[str, int | str] = {}
    places: dict[str, str] = {}
    for name, (text, place) in found.values.items():
        if name == AUTO_RESET and text.strip().lower() in _TRUE and not unsafe:
            todo = "remove it: an open breaker lets one call through when its cooldown is over"
            raise GuardError(f"{AUTO_RESET} would close an open breaker by itself", place, todo)
        if name in TEXTS:
            values[TEXTS[name]], places[TEXTS[name]] = text, place
        elif name in NUMBERS:
            key, factor = NUMBERS[name]
            if not re.fullmatch(r"\d{1,9}", text.strip()):
                raise GuardError(f"{name} is {text!r}", place, "use a whole number")
            values[key], places[key] = int(text) * factor, place
    return values, places
