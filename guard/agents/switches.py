"""The wiring of clients by meaning: does a command, or a tool, turn guard's hooks off in a client's settings?

A file of settings weakens the protection when it gets an off switch, whether or not it was there before, loses an entry that
calls guard, or sets a variable that leads guard elsewhere (variables.py). Anything else in it is the user's.
"""

from __future__ import annotations

from guard.agents import variables
from guard.effects import CREATE, DELETE, EDIT, LEAVE, LIFT, LINK, MOVE, OVERWRITE, REVERT, TRUNCATE, At, Below, Effect
from guard.paths import below, child, name, parent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from guard.effects import Analysis
    from guard.world import World

# Where clients look for settings, relative to a project or to the home directory.
SETTINGS = (
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex/config.toml",
    ".codex/hooks.json",
    ".gemini/settings.json",
    ".qwen/settings.json",
    ".github/copilot/settings.json",
    ".github/copilot/settings.local.json",
    ".copilot/settings.json",
    ".copilot/config.json",
    ".cursor/hooks.json",
    ".opencode/opencode.json",
    ".config/opencode/opencode.json",
    "opencode/config.json",
    "opencode.json",
    "opencode.jsonc",
    variables.DOTENV,
)
# Variables that name a client's directory, with the settings in it.
VARIABLES = {
    "CLAUDE_CONFIG_DIR": ("settings.json",),
    "CODEX_HOME": ("config.toml", "hooks.json"),
    "QWEN_HOME": ("settings.json",),
    "GEMINI_CLI_SYSTEM_SETTINGS_PATH": ("",),
    "OPENCODE_CONFIG": ("",),
}
# Directories in which every file with this ending counts.
HOLDING = {
    ".github/hooks": ".json",
    ".copilot/hooks": ".json",
    ".opencode/plugin": ".js",
    ".opencode/plugins": ".js",
    "opencode/plugin": ".js",
    "opencode/plugins": ".js",
    "claude-code/managed-settings.d": ".json",
    ".git/hooks": "",
}
# A setting is off when its value is that, or for a list when it names guard.
OFF: dict[tuple[str, ...], object] = {
    ("disableAllHooks",): True,
    ("hooksConfig", "enabled"): False,
    ("hooksConfig", "disabled"): list,
    ("hooks", "enabled"): False,
    ("hooks", "disabled"): list,
    ("tools", "enableHooks"): False,
    ("features", "hooks"): False,
    ("features", "codex_hooks"): False,
}
# In a command that writes settings by means of its own, these say what it is about.
WORDS = ("disableAllHooks", "hooksConfig", "enableHooks", "features.hooks", "codex_hooks", "hooks=false", "hooks = false")
# A text that calls guard holds one of these.
OURS = ("guard doctor", "pathguard", "guard hook", "guard/bin/hook")
GIT_HOOKS = "/.git/hooks/"  # a hook of git's in there that calls guard is guard's as a whole


def weighed(analysis: Analysis, world: World, command: str) -> Analysis:
    """The analysis with an effect LIFT for everything that turns guard's hooks off."""
    written: dict[str, bytes | None] = {}
    lifting: list[Effect] = []
    for effect in analysis.effects:
        world.budget.spend()
        off = any(_turns_off(effect, path, written, world, command) for path in _reached(effect, world))
        if off or (not is_settings(effect.target.path, world) and _on_its_way(effect, command)):
            lifting.append(Effect(LIFT, effect.target, cause=effect.cause))
        _remember(effect, written, world)
    return analysis._replace(effects=(*analysis.effects, *lifting)) if lifting else analysis


def is_settings(path: str, world: World) -> bool:
    """Is this a file that a client reads its settings or hooks from?"""
    if path.endswith(SETTINGS) and any(path.endswith("/" + each) for each in SETTINGS):
        return True
    if path in _moved(world):
        return True
    directory = parent(path)
    return any(directory.endswith("/" + each) and path.endswith(ending) for each, ending in HOLDING.items())


def switched_off(content: bytes, path: str) -> bool:
    """Does the content, as a client's settings at this path, turn hooks off that are guard's?

    What is not understood here may be by the client, which may forgive more: then the words decide.
    """
    values = _values(content, path)
    if values is None and path.endswith((".json", ".jsonc", ".toml")):
        text = content.decode("utf-8", "replace")
        return any(word in text for word in WORDS) or ("hooks" in text.lower() and "\\u" in text)
    return values is not None and (any(_is_off(values, keys, off) for keys, off in OFF.items()) or _distrusted(values))


def entries(content: bytes, path: str) -> frozenset[str]:
    """What calls guard in the settings: the keys that lead to each call, with its matchers."""
    text = content.decode("utf-8", "replace")
    if not any(ours in text for ours in OURS):
        return frozenset()
    if path.endswith((".js", ".ts")) or GIT_HOOKS in path:
        return frozenset((text,))
    values = _values(content, path)
    return frozenset(("text",)) if values is None and path.endswith(".jsonc") else frozenset(_calls(values, ()))


def _moved(world: World) -> list[str]:
    """The settings of clients whose directory a variable names."""
    named = {variable: world.environ.get(variable, "") for variable in VARIABLES}
    found = [f"{top.rstrip('/')}/{each}" for variable, top in named.items() if top[:1] == "/" for each in VARIABLES[variable]]
    return [path.rstrip("/") for path in found]


def _turns_off(effect: Effect, path: str, written: dict[str, bytes | None], world: World, command: str) -> bool:
    old = written[path] if path in written else world.read(path)
    before = entries(old, path) if old is not None else frozenset()
    arriving = effect.action in (CREATE, OVERWRITE, EDIT) or (effect.action == MOVE and path != effect.target.path)
    if not arriving:
        return bool(before) and effect.action in (DELETE, MOVE, TRUNCATE, LINK, REVERT)
    new = _arriving(effect, written, world)
    if new is None:
        said = effect.cause.command + command if effect.cause is not None else command
        return bool(before) or any(word in said for word in WORDS)
    if switched_off(new, path) and not (old is not None and switched_off(old, path)):
        return True
    return bool(before - entries(new, path)) or variables.weakened(_variables(old or b"", path), _variables(new, path))


def _on_its_way(effect: Effect, command: str) -> bool:
    """Is it a file with an off switch that the same command could move to where a client reads it?"""
    content = effect.content
    if effect.action not in (CREATE, OVERWRITE) or not content or not any(name(f"/{each}") in command for each in SETTINGS):
        return False
    forms = ("x.json", "x.toml") if b"hooks" in content or b"shell_environment_policy" in content else ("x.json",)
    known = [form for form in forms if _values(content, form) is not None]
    led = variables.DOTENV in command and bool(_variables(content, "/" + variables.DOTENV))
    return led or any(switched_off(content, form) or _variables(content, form) for form in known)


def _arriving(effect: Effect, written: dict[str, bytes | None], world: World) -> bytes | None:
    source = effect.target.path if effect.action == MOVE else effect.source
    if effect.content is not None or source is None:
        return effect.content
    return written[source] if source in written else world.read(source)


def _remember(effect: Effect, written: dict[str, bytes | None], world: World) -> None:
    path = effect.to if effect.action == MOVE else effect.target.path
    if path is not None and effect.action in (CREATE, OVERWRITE, EDIT, MOVE):
        written[path] = _arriving(effect, written, world)


def _reached(effect: Effect, world: World) -> Iterator[str]:
    """The settings that an effect reaches: the very file, or those in a client's own directory that goes as a whole."""
    target = effect.target
    if not isinstance(target, At | Below) or not effect.certain or effect.action == LEAVE:
        return
    if is_settings(target.path, world):
        yield target.path
    elif effect.action in (DELETE, MOVE, LINK):
        yield from _inside(target.path, world)
    if effect.action == MOVE and effect.to is not None and is_settings(effect.to, world):
        yield effect.to


def _inside(directory: str, world: World) -> Iterator[str]:
    """The settings in a directory that goes: a client's own one, or one on the way to those of this user."""
    last, above = name(directory), parent(directory).rstrip("/")
    if last in _TOPS:
        yield from (f"{above}/{each}" for each in SETTINGS if each.startswith(last + "/"))
    home = world.environ.get("HOME", "").rstrip("/")
    if home.startswith("/") and (below(home, directory) or directory.startswith(home + "/.")):
        yield from (place for each in SETTINGS if below(place := f"{home}/{each}", directory))
    yield from (place for place in _moved(world) if below(place, directory))
    for each, ending in HOLDING.items() if last in _TOPS or last in _ENDS else ():
        if directory.endswith("/" + each) or last == each.partition("/")[0]:
            place = directory if directory.endswith("/" + each) else f"{above}/{each}"
            yield from (child(place, entry) for entry in world.listdir(place) or () if entry.endswith(ending))


_TOPS = frozenset(each.partition("/")[0] for each in (*SETTINGS, *HOLDING) if "/" in each)
_ENDS = frozenset(each.rpartition("/")[2] for each in HOLDING)


def _values(content: bytes, path: str) -> dict[str, Any] | None:
    """The settings as values; None where they do not parse, so that a client reads none of them."""
    try:
        if path.endswith(".toml"):
            import tomllib

            return tomllib.loads(content.decode())
        from guard.agents.read import Malformed, payload

        try:
            return payload(content)
        except Malformed:
            return None
    except (ValueError, RecursionError):
        return None


def _variables(content: bytes, path: str) -> dict[str, str]:
    return variables.found(content, path, None if path.endswith("/" + variables.DOTENV) else _values(content, path))


def _is_off(values: Any, keys: tuple[str, ...], off: object) -> bool:
    for key in keys:
        values = values.get(key) if isinstance(values, dict) else None
    if off is list:
        return isinstance(values, list) and any("guard" in str(item) or "bin/hook" in str(item) for item in values)
    return values is False if off is False else values not in (None, False)


def _distrusted(values: dict[str, Any]) -> bool:
    """Is one hook of several turned off by name?"""
    hooks = values.get("hooks")
    state = hooks.get("state") if isinstance(hooks, dict) else None
    return isinstance(state, dict) and any(isinstance(each, dict) and each.get("enabled") is False for each in state.values())


def _calls(values: Any, keys: tuple[str, ...]) -> Iterator[str]:
    if isinstance(values, str):
        if any(ours in values for ours in OURS):
            yield "\0".join(keys)
    elif isinstance(values, list):
        for item in values:
            yield from _calls(item, keys)
    elif isinstance(values, dict):
        matcher = values.get("matcher")
        below_it = (*keys, f"matcher={matcher}") if isinstance(matcher, str) else keys
        for key, item in values.items():
            yield from _calls(item, (*below_it, key))
