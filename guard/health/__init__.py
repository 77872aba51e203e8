"""Health: how each layer stands here, as findings. Nothing is changed, and nothing that is broken keeps it from looking."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from guard.findings import ABSENT, FINE, NOTE, OFF, Finding
from guard.health import agents, git, policy, runtime, sandbox, shims, state, vault
from guard.health.place import Place, place

__all__ = ["LAYERS", "Place", "Row", "holds", "look", "place", "standing"]

# The layers in the order in which they are told.
LAYERS: dict[str, Callable[[Place], Iterator[Finding]]] = {
    "policy": policy.findings,
    "state": state.findings,
    "runtime": runtime.findings,
    "agents": agents.findings,
    "shims": shims.findings,
    "git": git.findings,
    "vault": vault.findings,
    "sandbox": sandbox.findings,
}


@dataclass(frozen=True)
class Row:
    """One finding and the layer that it is about."""

    layer: str
    finding: Finding


def look(at: Place, layers: tuple[str, ...] = tuple(LAYERS)) -> Iterator[Row]:
    """The findings of the layers. One that cannot be looked at is told as such, whatever went wrong in there."""
    for layer in layers:
        try:
            for finding in LAYERS[layer](at):
                yield Row(layer, finding)
        except Exception as error:
            what = f"it could not be looked at: {error or type(error).__name__}"
            yield Row(layer, Finding("not-looked-at", what, "so nothing can be said about it", severity=OFF))


def standing(rows: list[Row], layer: str) -> str:
    """The severity that a layer comes to: OFF where something is, else FINE or NOTE where something is there, else ABSENT."""
    found = {row.finding.severity for row in rows if row.layer == layer}
    return next((severity for severity in (OFF, FINE, ABSENT, NOTE) if severity in found), ABSENT)


def holds(rows: list[Row], required: tuple[str, ...] = ()) -> bool:
    """Does all that is installed work, and is all that is required installed?"""
    return not any(row.finding.severity == OFF for row in rows) and not any(standing(rows, layer) == ABSENT for layer in required)
