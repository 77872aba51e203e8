"""A judgement: from a command's text to a recorded decision. Every layer that sees commands as text asks here."""

from __future__ import annotations

import os
import time

from guard import actor, log, project
from guard.decision import Decision, Request, new_id
from guard.effects import Analysis, Unknown
from guard.shell.analyse import analyse
from guard.verdict import ALLOW, DENY, STRENGTH, Reason, Verdict, headless, judge
from guard.world import Budget, OutOfBudget, World

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from guard.policy import Policy

# What running into a limit is called, when it has not been noticed where it was met.
LIMITS = {RecursionError: "too-deep", MemoryError: "too-long", OutOfBudget: "out-of-time"}
SECOND_THOUGHTS = 0.15  # seconds for finding a suggestion


def decide(command: str, cwd: str, environ: Mapping[str, str], attended: bool = True, record: bool = True) -> Decision:
    """The decision on a command that would run in `cwd` (absolute), written to the log unless `record` is False.

    It has an id where it stands in the log. Where nobody is attending, "ask" becomes "deny".
    """
    real = os.path.realpath(cwd)
    world = World(environ if cwd == real else {**environ, "PWD": cwd}, Budget())
    request = Request(command, real, new_id(), actor=actor.mark(environ))
    decision = limited(
        request, lambda: concluded(request, analyse(command, real, world), [project.load(real, environ, world)], world, attended)
    )
    return kept(decision, project.state_dir(environ) if record else None)


def kept(decision: Decision, state_dir: str | None) -> Decision:
    """The decision, written to the log; without its id where it could not be, so that nothing names what cannot be found."""
    if log.append(log.encode(decision), state_dir):
        return decision
    return decision._replace(request=decision.request._replace(id=""))


def limited(request: Request, think: Callable[[], Decision]) -> Decision:
    """What thinking comes to; a refusal where it runs into a limit."""
    try:
        return think()
    except tuple(LIMITS) as limit:
        code = LIMITS[type(limit)]
        unread = Analysis(unknowns=(Unknown(code, request.command),))
        return Decision(request, unread, Verdict(DENY, (Reason(code, DENY),)), time.time())


def concluded(request: Request, analysis: Analysis, policies: Sequence[Policy], world: World, attended: bool = True) -> Decision:
    """The decision on what the command would do: the strictest that one of the policies asks for."""
    verdicts = [judge(analysis, policy, world, request.command) for policy in policies]
    verdict = max(verdicts, key=lambda verdict: STRENGTH[verdict.decision])
    policy = policies[verdicts.index(verdict)]
    if verdict.broken:
        verdict = verdict._replace(broken=f"{verdict.broken} ({policy.standing} is in force)")
    if not attended:
        verdict = headless(verdict)
    instead = None if verdict.decision == ALLOW else _suggestion(verdict, request, policy, world)
    return Decision(request, analysis, verdict, time.time(), instead)


def text(decision: Decision, environ: Mapping[str, str], terminal: bool = False) -> str:
    """The message of a decision for whoever is asking, "" for allow; `terminal` says that it will be shown on one."""
    if decision.verdict.decision == ALLOW:
        return ""
    from guard import message

    audience = actor.audience(environ, terminal)
    colour = terminal and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
    return message.render(decision.verdict, decision.request, audience, colour, decision.suggestion, _width() if terminal else 0)


def fields(decision: Decision) -> dict[str, Any]:
    """The answer of a decision as JSON values."""
    from guard import message

    return message.to_json(decision.verdict, decision.request, decision.suggestion)


def _width() -> int:
    """The width of the terminal that the message goes to; 0 where that does not tell."""
    try:
        return os.get_terminal_size(2).columns
    except (OSError, ValueError):
        return 0


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
