"""A judgement: from a command's text to a recorded decision. Every layer that sees commands as text asks here."""

from __future__ import annotations

import os
import time

from guard import actor, log, project
from guard.decision import Decision, Request, new_id
from guard.effects import Analysis, Unknown
from guard.shell.analyse import analyse
from guard.verdict import ALLOW, DENY, Reason, Verdict, headless, judge
from guard.world import Budget, OutOfBudget, World

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from guard.policy import Policy

# What running into a limit is called, when it has not been noticed where it was met.
LIMITS = {RecursionError: "too-deep", MemoryError: "too-long", OutOfBudget: "out-of-time"}
SECOND_THOUGHTS = 0.15  # seconds for finding a suggestion


def decide(command: str, cwd: str, environ: Mapping[str, str], attended: bool = True, record: bool = True) -> Decision:
    """The decision on a command that would run in `cwd` (absolute), written to the log unless `record` is False.

    Where nobody is attending, "ask" becomes "deny".
    """
    real = os.path.realpath(cwd)
    world = World(environ if cwd == real else {**environ, "PWD": cwd}, Budget())
    request = Request(command, real, new_id(), actor=actor.mark(environ))
    try:
        decision = _decide(request, project.load(real, environ, world), world, attended)
    except tuple(LIMITS) as limit:
        code = LIMITS[type(limit)]
        unread = Analysis(unknowns=(Unknown(code, command),))
        decision = Decision(request, unread, Verdict(DENY, (Reason(code, DENY),)), time.time())
    if record:
        log.append(log.encode(decision), project.state_dir(environ))
    return decision


def text(decision: Decision, environ: Mapping[str, str], terminal: bool = False) -> str:
    """The message of a decision for whoever is asking, "" for allow; `terminal` says that it will be shown on one."""
    if decision.verdict.decision == ALLOW:
        return ""
    from guard import message

    audience = actor.audience(environ, terminal)
    colour = terminal and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
    return message.render(decision.verdict, decision.request, audience, colour, decision.suggestion)


def fields(decision: Decision) -> dict[str, Any]:
    """The answer of a decision as JSON values."""
    from guard import message

    return message.to_json(decision.verdict, decision.request, decision.suggestion)


def _decide(request: Request, policy: Policy, world: World, attended: bool) -> Decision:
    analysis = analyse(request.command, request.cwd, world)
    verdict = judge(analysis, policy, world, request.command)
    if not attended:
        verdict = headless(verdict)
    instead = None if verdict.decision == ALLOW else _suggestion(verdict, request, policy, world)
    return Decision(request, analysis, verdict, time.time(), instead)


def _suggestion(verdict: Verdict, request: Request, policy: Policy, world: World) -> str | None:
    """What could be run instead: only what would be allowed, judged like any other command."""
    from guard.suggestion import suggestion

    again = World(world.environ, Budget(min(SECOND_THOUGHTS, world.budget.left)))

    def allows(command: str) -> bool:
        return judge(analyse(command, request.cwd, again), policy, again, command).decision == ALLOW

    try:
        return suggestion(verdict, request, allows)
    except (OutOfBudget, RecursionError, MemoryError, OSError, ValueError):
        return None
