"""`guard explain`: how guard sees a command, which rule protects a path, or how a recorded decision came about."""

from __future__ import annotations

import json
import os
import re
import time

from guard import log, project
from guard.commands import place
from guard.commands.list import MEANING, place_of, protected
from guard.commands.output import say
from guard.decision import Decision
from guard.effects import At, Below, Effect, Matching, Target
from guard.errors import GuardError
from guard.hot import judgement
from guard.paths import physical_parent
from guard.shown import visible

IDENTITY = re.compile(r"[a-z][2-9][a-z2-9]{2}")  # decision.new_id makes them
SHOWN = 40  # lines of one kind; --json has them all


def run(subject: str, cwd: str | None, as_json: bool) -> int:
    """Explains a decision by its id, a path, or else a command; exit status 0 whatever the verdict is."""
    here = place.directory(cwd)
    recorded = log.find(project.state_dir(os.environ), subject) if IDENTITY.fullmatch(subject) else None
    if recorded is not None:
        return _decision(log.decode(recorded), as_json, recorded=True)
    if _names_path(subject, here):
        return _path(os.path.join(here, subject), here, as_json)
    if IDENTITY.fullmatch(subject):
        raise GuardError(f"no decision {subject} in the log, and no such path", todo="recorded ids stand at the end of a refusal")
    place.policy(here, place.world())
    return _decision(judgement.decide(subject, here, os.environ, record=False), as_json, recorded=False)


def _names_path(subject: str, here: str) -> bool:
    return os.path.lexists(os.path.join(here, subject)) or ("/" in subject and not re.search(r"[\s;|&<>$`]", subject))


def _path(path: str, here: str, as_json: bool) -> int:
    """Says which rule protects a path, itself and what is below it."""
    tree = place.world()
    policy = place.policy(here, tree)
    real = physical_parent(tree, path)
    directory = os.path.isdir(real) and not os.path.islink(real)
    rule = policy.rule(real, directory)
    inside = [row for row in protected(policy, real, tree) if row[0] != real] if directory else []
    if as_json:
        answer = {"level": rule.level, "glob": rule.glob, "source": rule.source, "line": rule.line} if rule else {"level": None}
        print(json.dumps({"v": 1, "path": real, "exists": os.path.lexists(real), **answer, "below": len(inside)}))
        return 0
    shown = visible(os.path.relpath(real, here))
    if rule is None:
        say((shown, "bold"), " is not protected: no rule matches it.")
    else:
        say((shown, "bold"), " is protected as ", (rule.level, rule.level), f" by {visible(rule.glob)} ({place_of(rule, here)}).")
        say(f"  {rule.level}: {MEANING[rule.level]}.")
    if not os.path.lexists(real):
        say("  It does not exist now.")
    elif os.path.islink(real):
        say(f"  It is a link to {visible(os.readlink(real))}; the rule is about the link itself.")
    if inside:
        say(f"  {len(inside)} protected paths are below it.")
    return 0


def _decision(decision: Decision, as_json: bool, recorded: bool) -> int:
    if as_json:
        trace = [{"cwd": step.cwd, "command": step.command, "note": step.note} for step in decision.analysis.trace]
        print(json.dumps({**judgement.fields(decision), "recorded": recorded, "trace": trace}))
        return 0
    show(decision, recorded)
    return 0


def show(decision: Decision, recorded: bool = False) -> None:
    """Prints directory, expansions, effects, rules, victims and verdict."""
    request, analysis = decision.request, decision.analysis
    say(("command   ", "dim"), (visible(request.command), "bold"))
    say(("in        ", "dim"), visible(request.cwd))
    if recorded:
        say(("judged    ", "dim"), time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(decision.time)), f" as {request.id}")
    _section("runs", [_step(step.cwd, step.command, step.note, request.cwd) for step in analysis.trace])
    _section("effects", [_effect(effect, request.cwd) for effect in analysis.effects])
    _section("unknown", [f"{unknown.code}  {visible(unknown.what)}" for unknown in analysis.unknowns])
    _section("victims", [_victim(decision, at) for at in range(len(decision.verdict.victims))])
    verdict = decision.verdict
    say(("verdict   ", "dim"), (verdict.decision, verdict.decision), f"  {verdict.code}")
    if decision.suggestion:
        say(("instead   ", "dim"), visible(decision.suggestion))


def _section(title: str, lines: list[str]) -> None:
    for number, line in enumerate(lines[:SHOWN]):
        say((f"{'' if number else title:10s}", "dim"), line)
    if len(lines) > SHOWN:
        say(f"{'':10s}... and {len(lines) - SHOWN} more")


def _step(cwd: str, command: str, note: str, start: str) -> str:
    where = "" if cwd == start else f"  (in {_near(cwd, start)})"
    return visible(command) + where + (f"  - {visible(note)}" if note else "")


def _effect(effect: Effect, cwd: str) -> str:
    to = f" -> {_near(effect.to, cwd)}" if effect.to is not None else ""
    doubt = "" if effect.certain else "  (perhaps)"
    return f"{effect.action:9s} {_target(effect.target, cwd)}{to}{doubt}"


def _target(target: Target, cwd: str) -> str:
    if isinstance(target, Matching):
        return visible(str(target.pattern))
    near = _near(target.path, cwd)
    return (
        near if isinstance(target, At) else f"everything below {near}" if isinstance(target, Below) else f"something below {near}"
    )


def _victim(decision: Decision, at: int) -> str:
    victim = decision.verdict.victims[at]
    rule = f"  {visible(victim.rule.glob)} ({place_of(victim.rule, decision.request.cwd)})" if victim.rule else ""
    return f"{_near(victim.path, decision.request.cwd)}  {victim.code}{rule}"


def _near(path: str, cwd: str) -> str:
    """The path as seen from the directory, or whole where that is shorter."""
    relative = os.path.relpath(path, cwd)
    return visible(path if relative.startswith("../..") else relative)
