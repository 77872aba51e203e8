"""Refusals on record: what a person may let pass of them, whom it concerns, and in which project."""

from __future__ import annotations

import os
from collections.abc import Sequence

from guard import grants, log, project
from guard.agents.table import CLIENTS, SHELL, TYPE
from guard.commands import standing
from guard.commands.explain import IDENTITY
from guard.commands.standing import Standing
from guard.decision import Decision
from guard.errors import GuardError
from guard.grants import CHECK, HOOK
from guard.hot.judgement import GRANT_STEPS, GRANT_VICTIMS
from guard.paths import parent
from guard.policy import Policy
from guard.shell.analyse import analyse
from guard.shown import visible
from guard.verdict import ALLOW, Victim, judge
from guard.world import Budget, World


def refused(name: str) -> Decision:
    """The refusal that is on record under an id. Raises GuardError where there is none, or nobody can grant it."""
    event = log.find(project.state_dir(os.environ), name) if IDENTITY.fullmatch(name) else None
    if event is None or event.get("layer") == standing.LAYER:
        raise GuardError(f"there is no refusal with the id {visible(name)}", todo="see guard log")
    try:
        decision = log.decode(event)
    except ValueError:
        raise GuardError("the record of it was cut, or cannot be read", name, "name the files: guard allow --path") from None
    if event.get("untrusted"):
        raise GuardError("it was recorded inside a sandbox, where anything may have been written", name, "see guard explain")
    if decision.verdict.decision == ALLOW:
        raise GuardError("it was no refusal", name, "see guard explain")
    if any(reason.code == "lift-guard" for reason in decision.verdict.reasons):
        raise GuardError("it weakens guard itself, which no grant lets an agent do", name, "do it yourself, at this terminal")
    return decision


def around(decision: Decision) -> Standing:
    """The project of the first victim, else of the directory that the command was given in."""
    place = parent(decision.verdict.victims[0].path) if decision.verdict.victims else decision.request.cwd
    while not os.path.isdir(place):
        place = parent(place)
    return standing.here(place)


def concerned(decision: Decision, policy: Policy) -> dict[str, str]:
    """Every victim with the code of its loss. Raises GuardError where they are not all known, or are guard's own."""
    verdict = decision.verdict
    victims: Sequence[Victim] = verdict.victims
    if sum(victim.decision == verdict.decision for victim in victims) < verdict.total:
        victims = _all_victims(decision, policy)
    for victim in victims:
        if grants.out_of_bounds(victim.path, [policy]):
            raise GuardError("it is guard's own, which only people change", visible(victim.path), "change it yourself")
    return {victim.path: victim.code for victim in victims}


def _all_victims(decision: Decision, policy: Policy) -> Sequence[Victim]:
    """What the command would harm now, where the record does not name everything."""
    request = decision.request
    known = {victim.path for victim in decision.verdict.victims}
    if textual(request.layer) and os.path.isdir(request.cwd):
        tree = World(os.environ, Budget(30.0, GRANT_STEPS))
        verdict = judge(analyse(request.command, request.cwd, tree), policy, tree, request.command, GRANT_VICTIMS)
        if not verdict.partial and len(verdict.victims) >= verdict.total and known <= {v.path for v in verdict.victims}:
            return verdict.victims
    total = decision.verdict.total
    raise GuardError(
        f"it concerns {total:,} files, which are not all on record", request.id, "name the directory: guard allow --path DIR"
    )


def textual(layer: str) -> bool:
    """Is what a decision of this layer is about the text of a command, and not a call of another tool?"""
    first, _, rest = layer.partition(":")
    client, _, tool = rest.partition(":")
    if first != HOOK:
        return first == CHECK
    return not rest or (client in CLIENTS and CLIENTS[client].tools.get(tool) in (SHELL, TYPE))
