"""The rules of a root, from what its configuration files say.

What a project's lists replace: each list that a project gives (keep, lock, present, rewrite) takes the place of the
built-in list of that name; lists it does not give stay built-in. `builtin = true` puts the built-in globs first and the
project's own behind them; `builtin = false` leaves the built-in lists out altogether. The user's and the system's lists are
added; nothing in a project takes a path off them. guard.toml itself is always locked. A pyproject.toml is not: until a person
has accepted a changed [tool.guard] table (acceptance.py) it only adds protection to what was in force before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from guard import builtin_rules, globs, roots, typed
from guard.builtin_rules import HOLD
from guard.config import LISTS, PERSONAL, Config, parse
from guard.errors import GuardError
from guard.matching import REWRITE, Matcher, Rule, RuleList
from guard.paths import name, physical
from guard.policy import DEFAULTS, Except, Root
from guard.root import PENDING, TOOL
from guard.world import World


class Accepted:
    """What was accepted of the [tool.guard] tables, according to a state directory."""

    def __init__(self, state: str | None) -> None:
        self._state = state

    def text(self, path: str, sudo: bool) -> bytes | None:
        """The pyproject.toml at a path as it was accepted last."""
        from guard import acceptance

        return acceptance.accepted(path, self._state, sudo)

    def same(self, one: bytes | None, other: bytes | None) -> bool:
        """Do two texts have the same table, or none?"""
        from guard import acceptance

        return bool(acceptance.table(one) == acceptance.table(other))


def compile_root(
    root: str,
    files: Iterable[tuple[str, str]],
    tree: World,
    fold: bool = False,
    main: str = "",
    accepted: Accepted | None = None,
) -> Root:
    """The policy of one root from its files (origin, path), absent ones among them. Raises GuardError for a broken one.

    Without `accepted` every table counts as accepted.
    """
    files = list(files)
    found: dict[str, Config] = {}
    for origin, path in files:
        config = _from_file(path, origin, tree)
        if config is not None and origin not in found:
            found[origin] = config
    proposed = _proposed(found, files, tree, accepted) if accepted is not None else {}
    lists = [*_project_lists(found.get("project"), "project")]
    if "worktree" in found:
        lists += _project_lists(found["worktree"], "worktree")
    for config in proposed.values():
        lists += _project_lists(config, "proposed")
    for origin in PERSONAL:
        lists += _personal_lists(found.get(origin), origin)
    return Root(
        path=root,
        lists=(*(rules for rules in lists if rules.matchers), HOLD),
        settings=(
            *(setting for origin, config in found.items() for setting in _settings(config, origin)),
            *(setting for path, config in proposed.items() for setting in _proposed_settings(path, config, found)),
        ),
        fold=fold,
        excepts=tuple(item for origin, config in found.items() for item in _excepts(config, origin)),
        main=main,
    )


def _proposed(
    found: dict[str, Config], files: Iterable[tuple[str, str]], tree: World, accepted: Accepted
) -> dict[str, Config | None]:
    """Puts what was accepted before in the place of tables that no person has accepted; gives the latter by their file."""
    sudo = any(config.override == "sudo" for config in found.values())
    proposed: dict[str, Config | None] = {}
    for origin, path in files:
        if origin in PERSONAL or name(path) != roots.PROJECT:
            continue
        now = found.get(origin)
        text = tree.read(path) if tree.lstat(path) is not None else None
        before = accepted.text(physical(tree, path), sudo)
        if accepted.same(text, before):
            continue
        proposed[path] = now
        last = parse(path, before, origin) if before is not None else None
        if last is None:
            found.pop(origin, None)
        else:
            found[origin] = last
    return proposed


def _proposed_settings(path: str, config: Config | None, found: Mapping[str, Config]) -> Iterable[tuple[str, str]]:
    """The settings of a table that was not accepted, with what holds without it, so that only a stricter one tells."""
    yield PENDING, path
    for key, value in config.answer.items() if config is not None else ():
        yield key, value
        if not any(key in other.answer for other in found.values()):
            yield key, DEFAULTS[key]


def _from_file(path: str, origin: str, tree: World) -> Config | None:
    if tree.lstat(path) is None:
        return None
    data = tree.read(path)
    if name(path) == roots.PROJECT and not roots.may_have_table(data):
        return None
    if data is None:
        raise GuardError("cannot be read", path, "make it a readable file of less than 1 MiB")
    return parse(path, data, origin)


def _project_lists(config: Config | None, origin: str) -> Iterable[RuleList]:
    if config is None:
        return builtin_rules.lists(origin)
    return [RuleList(key, origin, _project_matchers(config, key)) for key in LISTS]


def _project_matchers(config: Config, key: str) -> tuple[Matcher, ...]:
    given = config.protect.get(key)
    if given is None:
        return builtin_rules.matchers(key) if config.builtin is not False else ()
    return (*(builtin_rules.matchers(key) if config.builtin else ()), *_matchers(config, key, given))


def _personal_lists(config: Config | None, origin: str) -> Iterable[RuleList]:
    if config is None:
        return
    for key in LISTS:
        first = config.builtin or (key == REWRITE and key not in config.protect)
        own = _matchers(config, key, config.protect.get(key, ()))
        yield RuleList(key, origin, (*(builtin_rules.matchers(key) if first else ()), *own))


def _matchers(config: Config, key: str, items: tuple[typed.Glob, ...]) -> tuple[Matcher, ...]:
    return tuple(globs.matcher(Rule(key, item.text, config.path, item.line)) for item in items)


def _settings(config: Config, origin: str) -> Iterable[tuple[str, str]]:
    yield from config.answer.items()
    for tool in config.tools:
        yield TOOL, f"{origin} {tool}"
    if config.override is not None:
        yield "override", config.override


def _excepts(config: Config, origin: str) -> Iterable[Except]:
    for item in config.excepts:
        matchers = _matchers(config, "except", item.paths)
        yield Except(item.command, matchers, item.reason, item.expires, origin, config.path, item.line)
