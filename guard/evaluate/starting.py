"""Starting: what evaluations have to say to a run before it begins: a lower level, and that its settings were never tried out."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from guard.errors import GuardError
from guard.evaluate import book
from guard.evaluate.thresholds import thresholds
from guard.loop import store
from guard.loop.configuration import Settings
from guard.loop.record import replace
from guard.loop.settings import Config
from guard.loop.state import State
from guard.world import World

UNTRIED = "the configuration is not that of the last run, and nothing was replayed since: guard eval replay A B --cases FILE"


def settled(found: Settings, directory: str, top: str, environ: Mapping[str, str], tree: World, now: int) -> Settings:
    """The settings of a run that is about to start (`now`: UTC milliseconds), with what evaluations have to say as warnings."""
    warnings = [UNTRIED] if untried(directory, found.config) else []
    wanted = thresholds(top, environ, tree)
    config = found.config
    if wanted:
        from guard.evaluate import linking

        left, reasons = linking.level(wanted, linking.known(directory, top, now, config.level))
        if left < config.level:
            sources = config.sources | {"level": "[loop.linked]"}
            config = replace(config, level=left, sources=sources)
            warnings += [f"level {left}: {reason}" for reason in reasons]
    return dataclasses.replace(found, config=config, warnings=(*found.warnings, *warnings))


def untried(directory: str, config: Config) -> bool:
    """Is this another configuration than the last run had, and was nothing replayed since that one began?"""
    try:
        before = store.peek(directory)
    except GuardError:
        return False  # what is wrong with it is said when it is written to
    if before is None or before.run is None or _compared(before.config) == _compared(config):
        return False
    return not any(t > _began(before) for t, _ in book.read(directory, book.Replayed))


def _compared(config: Config) -> Config:
    """What of it makes a difference: not where its values come from, and not the level that evaluations left."""
    return replace(config, sources={}, level=0)


def _began(state: State) -> int:
    return state.run.started if state.run is not None else 0
