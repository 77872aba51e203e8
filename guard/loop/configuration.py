"""Configuration of a run: command line, environment, guard.toml, .ralphrc, defaults, in this order of precedence."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from guard import project, roots
from guard.errors import GuardError
from guard.loop import durations, ralphrc
from guard.loop.reading import allow_list
from guard.loop.record import replace
from guard.loop.settings import Config, settle
from guard.loop.tasks import OPTIONAL
from guard.loop.tree import TESTS
from guard.paths import name, physical
from guard.vault.content import Unreadable
from guard.vault.content import read as pieces
from guard.world import World

# Keys of guard.toml's tables -> settings. Those that end in _s are durations there.
TABLES: dict[str, dict[str, str]] = {
    "": {"max_iterations": "iterations", "profile": "profile"},
    "limits": {
        "calls_per_hour": "calls_per_hour",
        "tokens_per_hour": "tokens_per_hour",
        "iterations": "iterations",
        "runtime": "runtime_s",
        "cost": "cost_usd",
        "timeout": "timeout_s",
        "idle_timeout": "idle_timeout_s",
    },
    "breaker": {
        **{key: key for key in "no_progress same_error failures permission refusals questions test_loops".split()},
        **{key: key for key in "messages renewals output_decline".split()},
        "cooldown": "cooldown_s",
    },
    "budget": {"day_tokens": "day_tokens", "day_cost": "day_cost", "role": "role"},
    "fleet": {"calls_per_hour": "fleet_calls"},
}
BUDGETS = ("day_tokens", "day_cost")  # of all loops: the smallest that any file gives holds


@dataclass(frozen=True)
class Fleet:
    """With whom calls are shared: a Redis server, "" for the loops of this state directory.

    `name` is that of the ledger there; `loops`: how many are expected, 0 for unknown.
    """

    url: str = field(default="", repr=False)
    name: str = "guard"
    loops: int = 0


@dataclass(frozen=True)
class Settings:
    """What a run goes by. `warnings` are to be shown, `loosened` recorded."""

    config: Config
    warnings: tuple[str, ...] = ()
    loosened: tuple[str, ...] = ()
    plan: str | None = None
    verify: tuple[str, ...] = ()
    optional_sections: tuple[str, ...] = OPTIONAL
    ignore: tuple[str, ...] = ()
    tests: tuple[str, ...] = TESTS
    allowed_tools: tuple[str, ...] = ()
    economy: tuple[str, ...] = ()  # the agent's words at level 1
    fleet: Fleet | None = None


@dataclass
class _Layers:
    """What was said so far, later layers over earlier ones."""

    values: dict[str, Any] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def add(self, values: Mapping[str, Any], places: Mapping[str, str]) -> None:
        """Puts a layer over those before it."""
        self.values |= values
        self.places = {key: place for key, place in self.places.items() if key not in values}
        self.places |= {key: places[key] for key in values if key in places}


def settings(top: str, given: Mapping[str, Any], environ: Mapping[str, str], tree: World, unsafe: bool) -> Settings:
    """The settings of a run in a tree. `given` are those of the command line. Raises GuardError for what makes no sense."""
    layers = _Layers()
    _add_ralphrc(layers, top, unsafe)
    for path, found in tables(top, environ, tree):
        layers.add(*_tightened(layers, *_of_table(found, path)))
    layers.add(*ralphrc.settings(ralphrc.from_environment(environ), unsafe))
    layers.add(given, dict.fromkeys(given, "the command line"))
    values = dict(layers.values)
    verify, plan = tuple(values.pop("verify", ())), values.pop("plan", None)
    optional = values.pop("optional_sections", OPTIONAL)
    ignore, tests = values.pop("ignore", ()), values.pop("tests", TESTS)
    allowed = values.pop("allowed_tools", "")
    economy, fleet = values.pop("economy", ()), values.pop("fleet", None)
    settled = settle(values | {"verify": bool(verify)}, unsafe, layers.places)
    config = settled.config
    if fleet is not None and not config.fleet_calls:
        config = replace(config, fleet_calls=config.calls_per_hour)
    return Settings(
        config=config,
        warnings=(*layers.warnings, *settled.warnings),
        loosened=settled.loosened,
        plan=plan,
        verify=verify,
        optional_sections=_sections(optional),
        ignore=tuple(ignore),
        tests=tuple(tests),
        allowed_tools=allow_list(allowed),
        economy=tuple(economy),
        fleet=fleet,
    )


def _tightened(layers: _Layers, values: dict[str, Any], places: dict[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """A layer whose budgets are no larger than those of the layers before it."""
    for key in BUDGETS:
        if key in values and values[key] > (limit := layers.values.get(key, values[key])):
            layers.warnings.append(f"{places[key]}: {key} = {values[key]} is looser than allowed: it is {limit}")
            values = {name: value for name, value in values.items() if name != key}
    return values, places


def _sections(given: str | Iterable[str]) -> tuple[str, ...]:
    """The names of sections, from a list or a text with commas."""
    return tuple(filter(None, map(str.strip, given.split(",")))) if isinstance(given, str) else tuple(given)


def _add_ralphrc(layers: _Layers, top: str, unsafe: bool) -> None:
    path = f"{top}/{ralphrc.FILE}"
    if not os.path.lexists(path):
        return
    data = b""
    try:
        for piece in pieces(os.path.realpath(path)):
            data += piece
            if len(data) > ralphrc.LARGEST:
                raise GuardError("it is larger than 1 MiB", path, "remove it, or what does not belong there")
    except Unreadable as error:
        raise GuardError(f"it cannot be read ({error})", path, "repair it, or remove it") from None
    found = ralphrc.read(data, ralphrc.FILE)
    layers.warnings += found.notes
    layers.add(*ralphrc.settings(found, unsafe))


def tables(top: str, environ: Mapping[str, str], tree: World) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """File and [loop] table of each configuration file, the ones that weigh less first.

    Of a pyproject.toml whose [tool.guard] table no person has accepted, the one that was accepted counts, or none.
    """
    from guard import acceptance, config

    main = roots.main_worktree(top, tree) or ""
    found: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for origin, path in project.files(top, main, environ, tree):
        if origin in found or tree.lstat(path) is None:
            continue
        data = tree.read(path)
        if name(path) == roots.PROJECT:
            if not roots.may_have_table(data):
                continue
            accepted = acceptance.accepted(physical(tree, path), project.state_dir(environ), False)
            data = data if acceptance.table(data) == acceptance.table(accepted) else accepted
            if data is None:
                continue
        if data is None:
            raise GuardError("cannot be read", path, "make it a readable file of less than 1 MiB")
        read = config.parse(path, data, origin)
        if read is not None:
            shared = {} if read.fleet is None else {"fleet": read.fleet}
            found[origin] = (path, {**read.loop, **shared})
    return [found[origin] for origin in ("system", "user", "worktree", "project") if origin in found]


def _of_table(found: Mapping[str, Any], path: str) -> tuple[dict[str, Any], dict[str, str]]:
    values: dict[str, Any] = {}
    for table, keys in TABLES.items():
        inner = found.get(table, {}) if table else found
        for key, setting in keys.items():
            if key in inner:
                where = f"{path}: {table + '.' if table else ''}{key}"
                values[setting] = durations.seconds(inner[key], where) if setting.endswith("_s") else inner[key]
    for key in ("plan", "optional_sections"):
        if key in found:
            values[key] = found[key]
    if "verify" in found:
        values["verify"] = (found["verify"],) if isinstance(found["verify"], str) else tuple(found["verify"])
    values |= {key: found["progress"][key] for key in ("ignore", "tests") if key in found.get("progress", {})}
    if "economy" in found.get("budget", {}):
        values["economy"] = found["budget"]["economy"]
    if "fleet" in found:
        known = {key: value for key, value in found["fleet"].items() if key in ("url", "name", "loops")}
        values["fleet"] = Fleet(**known)
    return values, dict.fromkeys(values, path)
