"""Variables that settings of clients give to what they start: those by which guard would be led elsewhere, or left out.

Claude Code has an `env` block, Codex `shell_environment_policy.set`; Gemini CLI and Qwen Code read `.env` files.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# Where guard's configuration and state are, whether it loads at all, and where clients find the settings that call it.
PREFIX = "GUARD_"
LEADING = frozenset(
    """XDG_STATE_HOME XDG_CONFIG_HOME XDG_DATA_HOME CLAUDE_CONFIG_DIR CLAUDE_CODE_SIMPLE CODEX_HOME GEMINI_CLI_HOME
    GEMINI_CLI_SYSTEM_SETTINGS_PATH GEMINI_CLI_SYSTEM_DEFAULTS_PATH QWEN_HOME QWEN_CODE_SIMPLE QWEN_CODE_SYSTEM_SETTINGS_PATH
    OPENCODE_CONFIG OPENCODE_CONFIG_DIR OPENCODE_CONFIG_CONTENT""".split()
)
# What every process has already, so that a .env file does not change it: which programs run, and what is loaded into them.
RUNNING = frozenset("HOME PATH BASH_ENV ENV LD_PRELOAD LD_AUDIT LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES".split())
# Where the variables stand in settings.
TABLES = (("env",), ("shell_environment_policy", "set"))
DOTENV = ".env"
OURS = "guard"  # a value with that in it (a directory of shims on PATH) is guard's own


def led(name: str) -> bool:
    """Is it a variable by which guard or its wiring would be looked for elsewhere?"""
    return name.startswith(PREFIX) or name in LEADING


def found(content: bytes, path: str, values: dict[str, Any] | None) -> dict[str, str]:
    """The variables that matter, of a client's settings or of a .env file; `values` are the settings as they parse."""
    if path.endswith("/" + DOTENV):
        return {name: value for name, value in _lines(content) if led(name)}
    pairs = ((str(key), value) for keys in TABLES for key, value in _table(values, keys).items())
    return {name: str(value) for name, value in pairs if led(name) or name in RUNNING}


def weakened(old: dict[str, str], new: dict[str, str]) -> bool:
    """Has a change brought or changed one of them, or taken one away that is guard's own?"""
    changed = any(old.get(name) != value for name, value in new.items())
    return changed or any(OURS in value for name, value in old.items() if name not in new)


def _table(values: Any, keys: tuple[str, ...]) -> dict[str, Any]:
    for key in keys:
        values = values.get(key) if isinstance(values, dict) else None
    return values if isinstance(values, dict) else {}


def _lines(content: bytes) -> Iterator[tuple[str, str]]:
    """Names and values of a .env file; the first of a name is as good as any other here."""
    for line in content.decode("utf-8", "replace").replace("\r", "\n").split("\n"):
        name, equals, value = line.strip().removeprefix("export ").partition("=" if "=" in line else ":")
        if equals and name.strip():
            yield name.strip(), value.strip().strip("'\"`")
