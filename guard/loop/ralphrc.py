"""The settings of .ralphrc, read as data: NAME=value, NAME="value", NAME="${NAME:-value}". Nothing of it is ever run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from guard.errors import GuardError

FILE = ".ralphrc"
LARGEST = 1 << 20  # bytes
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_LINE = re.compile(rf"\s*(?:export\s+)?({_NAME})=(.*?)\s*")
_DEFAULT = re.compile(rf"\$\{{({_NAME}):?-([^${{}}`\\]*)\}}")
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
TEXTS = {"ALLOWED_TOOLS": "allowed_tools", "OPTIONAL_SECTIONS": "optional_sections"}
AUTO_RESET = "CB_AUTO_RESET"
_TRUE = ("true", "1", "yes", "on")


@dataclass(frozen=True)
class Read:
    """What a file or an environment says: the values with the place of each, and the lines that were passed over."""

    values: Mapping[str, tuple[str, str]]
    passed_over: tuple[str, ...] = ()


def read(data: bytes, path: str = FILE) -> Read:
    """What a file says."""
    values: dict[str, tuple[str, str]] = {}
    passed_over = []
    text = data[:LARGEST].decode("utf-8", "replace").removeprefix("\ufeff")
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _LINE.fullmatch(line)
        value = _value(found[2], found[1]) if found else None
        if found is None or value is None:
            passed_over.append(f"{path}:{number}")
        else:
            values[found[1]] = (value, f"{path}:{number}")
    return Read(values, tuple(passed_over))


def _value(text: str, name: str) -> str | None:
    """The value that is written; None for what only a shell could make of it."""
    quoted = re.fullmatch(r"(['\"])(.*?)\1(?:\s+#.*)?", text)
    inner = quoted[2] if quoted else _COMMENT.sub("", text)
    if quoted and quoted[1] == "'":
        return inner
    default = _DEFAULT.fullmatch(inner)
    if default is not None:
        return default[2] if default[1] == name else None
    if quoted:
        return inner if not set("$`\\") & set(inner) else None
    return inner if _UNQUOTED.fullmatch(inner) else None


def from_environment(environ: Mapping[str, str]) -> Read:
    """What the same variables say in an environment."""
    names = (*NUMBERS, *TEXTS, AUTO_RESET)
    return Read({name: (environ[name], f"the variable {name}") for name in names if environ.get(name)})


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
