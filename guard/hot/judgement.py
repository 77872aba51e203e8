"""A judgement: from a command's text to a recorded decision. Every layer that sees commands as text asks here."""

from __future__ import annotations

import os
import time

from guard import actor, log, project
from guard.decision import Decision, Request, new_id
from guard.effects import Analysis, Unknown
from guard.observing import observed
from guard.shell.analyse import analyse
from guard.verdict import ALLOW, ASK, DENY, STRENGTH, Reason, Verdict, headless, judge
from guard.world import Budget, OutOfBudget, World

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from guard.policy import Policy

# What running into a limit is called, when it has not been noticed where it was met.
LIMITS = {RecursionError: "too-deep", MemoryError: "too-long", OutOfBudget: "out-of-time"}
SECOND_THOUGHTS = 0.15  # seconds for finding a suggestion
GRANTS = "grants"  # as in grants.py, which need not be loaded where there are none
GRANT_VICTIMS, GRANT_STEPS = 100_000, 50_000_000  # how far is looked for all that a grant has to cover


def decide(command: str, cwd: str, environ: Mapping[str, str], attended: bool = True, record: bool = True) -> Decision:
    """The decision on a command that would run in `cwd` (absolute), written to the log unless `record` is False.

    It has an id where it stands in the log. Where nobody is attending, "ask" becomes "deny".
    """
    real = os.path.realpath(cwd)
    world = World(environ if cwd == real else {**environ, "PWD": cwd}, Budget())
    request = Request(command, real, new_id(), actor=actor.mark(environ))
    policies: list[Policy] = []

    def think() -> Decision:
        policies.append(project.load(real, environ, world))
        return concluded(request, analyse(command, real, world), policies, world, attended)

    state = project.state_dir(environ) if record else None
    return kept(permitted(limited(request, think), policies, world, state), state)


def permitted(decision: Decision, policies: Sequence[Policy], world: World, state_dir: str | None, deed: str = "") -> Decision:
    """The decision, or consent where a person has let pass what it refuses, which uses that up for its layer.

    Without a state directory nothing was let pass. What it was refused for stays in the record. `deed`: as for grants.take.
    """
    if decision.verdict.decision == ALLOW or not state_dir or not os.path.isdir(f"{state_dir}/{GRANTS}"):
        return decision
    from guard import grants

    grant = grants.take(_with_all_victims(decision, policies, world), policies, state_dir, deed)
    if grant is None:
        return decision
    verdict = decision.verdict
    victims = tuple(victim._replace(decision=ALLOW) for victim in verdict.victims)
    return decision._replace(verdict=verdict._replace(decision=ALLOW, reasons=(grants.reason(grant),), victims=victims))


def by_rule(decision: Decision, policies: Sequence[Policy], world: World) -> Decision:
    """The decision on a tool's call, or consent where an [[except]] rule lets the command pass that has called it."""
    commands = {item.command for policy in policies for item in policy.excepts}
    if decision.verdict.decision == ALLOW or not commands:
        return decision
    from guard import grants

    for command in grants.callers():
        if command in commands:
            verdicts = [judge(decision.analysis, policy, world, command) for policy in policies]
            if all(verdict.decision == ALLOW for verdict in verdicts):
                return decision._replace(verdict=max(verdicts, key=lambda verdict: len(verdict.reasons)))
    return decision


def _with_all_victims(decision: Decision, policies: Sequence[Policy], world: World) -> Decision:
    """The decision with every victim named, or as it is where there is no time to find them."""
    verdict = decision.verdict
    if verdict.total <= sum(victim.decision == verdict.decision for victim in verdict.victims):
        return decision
    again = World(world.environ, Budget(SECOND_THOUGHTS, GRANT_STEPS))
    found = [judge(decision.analysis, policy, again, decision.request.command, GRANT_VICTIMS) for policy in policies]
    whole = max(found, key=lambda each: STRENGTH[each.decision], default=verdict)
    return decision if whole.partial else decision._replace(verdict=whole)


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


def concluded(
    request: Request, analysis: Analysis, policies: Sequence[Policy], world: World, attended: bool = True, tool: str = ""
) -> Decision:
    """The decision on what the command would do: the strictest that one of the policies asks for.

    `tool` names the file tool of an agent where it is no command but a call of that one, with one policy.
    """
    analysis = _wired(analysis, world, request.command)
    for policy in policies if tool else ():
        analysis = _approved(analysis, policy, tool)
    verdicts = [judge(analysis, policy, world, request.command) for policy in policies]
    verdict = max(verdicts, key=lambda verdict: STRENGTH[verdict.decision])
    policy = policies[verdicts.index(verdict)]
    if verdict.broken:
        verdict = verdict._replace(broken=f"{verdict.broken} ({policy.standing} is in force)")
    if verdict.decision != ALLOW:
        verdict = verdict._replace(pending=next(iter(policy.pending), ""))
    if verdict.decision == DENY and attended:
        verdict = _softened(verdict, policy, world)
    if not attended:
        verdict = headless(verdict)
    verdict = observed(verdict, policy, world.environ)
    instead = None if verdict.decision == ALLOW or tool else _suggestion(verdict, request, policy, world)
    return Decision(request, analysis, verdict, time.time(), instead)


def _softened(verdict: Verdict, policy: Policy, world: World) -> Verdict:
    """The verdict; a question where a certain loss is to be one ([answer] certain = "ask") and the vault could make it good."""
    if any(policy.setting(victim.path, "certain") != ASK for victim in verdict.victims) or not verdict.victims:
        return verdict
    from guard import asking

    return asking.softened(verdict, policy, project.state_dir(world.environ))


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


def _wired(analysis: Analysis, world: World, command: str) -> Analysis:
    """The analysis with what it does to the wiring of agents' clients."""
    if not analysis.effects:
        return analysis
    from guard.agents import switches

    return switches.weighed(analysis, world, command)


def _approved(analysis: Analysis, policy: Policy, tool: str) -> Analysis:
    """The analysis of a call of an approved tool, as the policy has to see it."""
    from guard.agents import files

    return files.permitted(analysis, policy, tool)


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
