"""Where each client's hooks are wired, as data: files by scope, the shape of an entry, what switches hooks off.

docs/agents.md says where each row comes from. Titles, measured versions and tools stand in table.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ME, TEAM, SYSTEM = "me", "team", "system"
SCOPES = (ME, TEAM, SYSTEM)

# The shapes of an entry.
NESTED = "nested"  # hooks.EVENT[] = {matcher, hooks: [{type, command, timeout}]}
FLAT = "flat"  # hooks.EVENT[] = {command, timeout}
PLUGIN = "plugin"  # plugin[] = the URL of a file

JSON, JSONC, TOML = "json", "jsonc", "toml"

SECONDS = 60  # for a hook; guard's own judgement ends long before, but copies of many files may have to be taken first


@dataclass(frozen=True)
class Place:
    """A settings file of a client: `path` relative to the base of its scope, and its format. A file that is there already goes
    before the others of its scope; where none is, the first one is made."""

    path: str
    format: str = JSON


@dataclass(frozen=True)
class Off:
    """A switch: hooks are off where the value that the keys lead to is this one, or (`holding`) a list that holds their name."""

    keys: tuple[str, ...]
    value: Any = True
    holding: bool = False


@dataclass(frozen=True)
class Wiring:
    """How one client is wired.

    `home` is the directory of the user's settings below HOME, `variable` what names that directory instead; `team` lies below
    the root of a project, `system` below /.

    `events` maps each event to its matcher, None for none; those of `blocking` must not fail open; at those of `ending` a turn or
    a session is over, and who refuses there would keep the client from ending. `named` says that the command has to name the
    event, because the payload does not. `key` is the entry's key for the command, `limit` that for its time-out, in units of
    which `second` make a second; `extra` belongs to entries of blocking events, `label` to all of them, `top` to the document,
    `pinned` are tables of TOML with it, `managed` is what settings of the system say besides, so that a project's do not count.
    `secret` is the key of the label whose value gets an ending that nobody can guess, where settings are not shared: a project
    can turn off a hook that it can name.

    `read` are more files of the scopes that the client reads, where a switch may stand; `switches` are those. `dotenv` are files
    of a project that it takes variables from. `trust` says what a person has to do once before the client loads hooks of a
    scope. `missing` is the status by which a hook says that it could not look, without refusing. `stamps` are keys that the
    client writes into a file by itself, `copies` the endings of copies that it makes of one then.
    """

    home: str
    me: tuple[Place, ...]
    team: tuple[Place, ...] = ()
    system: tuple[Place, ...] = ()
    variable: str = ""
    shape: str = NESTED
    events: Mapping[str, str | None] = field(default_factory=dict)
    blocking: tuple[str, ...] = ()
    ending: tuple[str, ...] = ()
    named: bool = False
    key: str = "command"
    limit: str = "timeout"
    second: int = 1
    label: Mapping[str, Any] = field(default_factory=lambda: {"type": "command"})
    secret: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    top: Mapping[str, Any] = field(default_factory=dict)
    pinned: Mapping[str, Any] = field(default_factory=dict)
    managed: Mapping[str, Any] = field(default_factory=dict)
    read: Mapping[str, tuple[Place, ...]] = field(default_factory=dict)
    switches: tuple[Off, ...] = ()
    trust: Mapping[str, str] = field(default_factory=dict)
    dotenv: tuple[str, ...] = ()
    missing: int = 1
    stamps: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()


_SESSION = dict.fromkeys(("SessionStart", "Stop", "SessionEnd"))

WIRINGS: dict[str, Wiring] = {
    "claude": Wiring(
        home=".claude",
        variable="CLAUDE_CONFIG_DIR",
        me=(Place("settings.json"),),
        team=(Place(".claude/settings.json"),),
        system=(Place("etc/claude-code/managed-settings.d/50-guard.json"),),
        events={"PreToolUse": "*", "PostToolUse": "*", "PostToolUseFailure": "*", **_SESSION},
        blocking=("PreToolUse",),
        ending=("Stop", "SessionEnd"),
        extra={"onFailure": "block"},
        read={TEAM: (Place(".claude/settings.local.json"),), SYSTEM: (Place("etc/claude-code/managed-settings.json"),)},
        switches=(Off(("disableAllHooks",)), Off(("allowManagedHooksOnly",))),
    ),
    "codex": Wiring(
        home=".codex",
        variable="CODEX_HOME",
        me=(Place("config.toml", TOML), Place("hooks.json")),
        team=(Place(".codex/config.toml", TOML), Place(".codex/hooks.json")),
        system=(Place("etc/codex/requirements.toml", TOML),),
        events={"PreToolUse": ".*", "PostToolUse": ".*", **_SESSION},
        blocking=("PreToolUse",),
        ending=("Stop", "SessionEnd"),
        pinned={"features": {"hooks": True}},
        read={SYSTEM: (Place("etc/codex/config.toml", TOML), Place("etc/codex/managed_config.toml", TOML))},
        switches=(
            Off(("features", "hooks"), False),
            Off(("features", "codex_hooks"), False),
            Off(("allow_managed_hooks_only",)),
        ),
        trust={
            ME: "start codex, type /hooks, look at guard's hooks and trust them; until then it leaves them out without a word",
            TEAM: "every member has to trust the project and review guard's hooks once with /hooks in codex",
        },
    ),
    "gemini": Wiring(
        home=".gemini",
        variable="GEMINI_CLI_HOME/.gemini",
        me=(Place("settings.json", JSONC),),
        team=(Place(".gemini/settings.json", JSONC),),
        system=(Place("etc/gemini-cli/settings.json", JSONC),),
        events={"BeforeTool": ".*", "AfterTool": ".*", "SessionStart": None, "AfterAgent": None, "SessionEnd": None},
        blocking=("BeforeTool",),
        ending=("AfterAgent", "SessionEnd"),
        second=1000,
        label={"name": "guard", "type": "command"},
        secret="name",
        read={SYSTEM: (Place("etc/gemini-cli/system-defaults.json", JSONC),)},
        switches=(Off(("hooksConfig", "enabled"), False), Off(("hooksConfig", "disabled"), holding=True)),
        trust={TEAM: "every member has to trust the folder in gemini; --skip-trust leaves the project's hooks out"},
        managed={"hooksConfig": {"enabled": True}},
        dotenv=(".gemini/.env", ".env"),
        copies=(".orig",),
    ),
    "qwen": Wiring(
        home=".qwen",
        variable="QWEN_HOME",
        me=(Place("settings.json", JSONC),),
        team=(Place(".qwen/settings.json", JSONC),),
        system=(Place("etc/qwen-code/settings.json", JSONC),),
        events={"PreToolUse": "*", "PostToolUse": "*", "PostToolUseFailure": "*", **_SESSION},
        blocking=("PreToolUse",),
        ending=("Stop", "SessionEnd"),
        second=1000,
        switches=(Off(("disableAllHooks",)), Off(("hooksConfig", "enabled"), False)),
        managed={"disableAllHooks": False},
        dotenv=(".qwen/.env", ".env"),
        stamps=("$version",),
        copies=(".orig",),
    ),
    "copilot": Wiring(
        home=".copilot",
        me=(Place("hooks/guard.json"),),
        team=(Place(".github/hooks/guard.json"),),
        shape=FLAT,
        events=dict.fromkeys(("preToolUse", "postToolUse", "sessionStart", "agentStop", "sessionEnd")),
        blocking=("preToolUse",),
        ending=("agentStop", "sessionEnd"),
        named=True,
        key="bash",
        limit="timeoutSec",
        top={"version": 1},
        read={ME: (Place("config.json", JSONC), Place("settings.json", JSONC)), TEAM: (Place(".github/copilot/settings.json"),)},
        switches=(Off(("disableAllHooks",)),),
        trust={TEAM: "every member has to trust the folder in copilot; the project's hooks are left out until then"},
        missing=0,
    ),
    "cursor": Wiring(
        home=".cursor",
        me=(Place("hooks.json"),),
        team=(Place(".cursor/hooks.json"),),
        system=(Place("etc/cursor/hooks.json"),),
        shape=FLAT,
        events=dict.fromkeys(
            ("beforeShellExecution", "preToolUse", "postToolUse", "postToolUseFailure", "sessionStart", "stop", "sessionEnd")
        ),
        blocking=("beforeShellExecution", "preToolUse"),
        ending=("stop", "sessionEnd"),
        label={},
        extra={"failClosed": True},
        top={"version": 1},
        missing=0,
    ),
    "opencode": Wiring(
        home=".config/opencode",
        variable="XDG_CONFIG_HOME/opencode",
        me=(Place("opencode.json", JSONC), Place("opencode.jsonc", JSONC), Place("config.json", JSONC)),
        system=(Place("etc/opencode/opencode.json", JSONC), Place("etc/opencode/opencode.jsonc", JSONC)),
        shape=PLUGIN,
        stamps=("$schema",),
    ),
}
