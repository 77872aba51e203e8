"""Thresholds of linked actions, as a tree's configuration has them."""

from __future__ import annotations

from collections.abc import Mapping

from guard.evaluate.linked import Thresholds, strictest
from guard.loop import configuration
from guard.world import World


def thresholds(top: str, environ: Mapping[str, str], tree: World) -> Thresholds:
    """Those in force in a tree: of each the strictest that any of its files has. Raises GuardError for what makes no sense."""
    found = (table.get("linked") for _, table in configuration.tables(top, environ, tree))
    return strictest([Thresholds(**each) for each in found if each])
