"""`guard explain`: how guard sees a command, which rule protects a path, or how a recorded decision came about."""

from __future__ import annotations

import json
import os
import re
import shutil
import time

from guard import log, person, project
from guard.actor import PERSON
from guard.commands import place
from guard.commands.list import MEANING, place_of, protected
from guard.commands.output import say
from guard.decision import Decision
from guard.effects import At, Below, Effect, Matching, Target
from guard.errors import GuardError
from guard.hot import judgement
from guard.paths import physical_parent
from guard.policy import Policy, Rule
from guard.shown import visible
from guard.verdict import ALLOW
from guard.world import World

IDENTITY = re.compile(r"[a-z][2-9][a-z2-9]{2}")  # decision.new_id makes them
# Words of four letters that a shell knows itself.
BUILTINS = frozenset({"bind", "echo", "eval", "exec", "exit", "hash", "help", "jobs", "kill", "popd", "read", "test", "time",
                      "trap", "true", "type", "wait"})  # fmt: skip
# What a person can do about a refusal; agents are not told.
FURTHER = (
    "guard allow {id}  lets the agent do it once",
    'guard allow --always {id} --reason "..."  writes a rule for this very command',
    "guard wrong {id}  marks it as a false alarm",
)
NAMED = re.compile(r"[a-z][a-z2-9]{3}")  # what may be an id that was mistyped
SHOWN = 40  # lines of one kind; --json has them all


def run(subject: str, cwd: str | None, as_json: bool) -> int:
    """Explains a decision by its id, a path, or else a command; exit status 0 whatever the verdict is."""
    here = place.directory(cwd)
    recorded = log.find(project.state_dir(os.environ), subject) if IDENTITY.fullmatch(subject) else None
    if recorded is not None:
        return _decision(log.decode(recorded), as_json, recorded=True)
    tree = place.world()
    policy = place.policy(here, tree)
    if _names_path(subject, here, policy, tree):
        return _path(os.path.join(here, subject), here, as_json, policy, tree)
    if NAMED.fullmatch(subject) and not shutil.which(subject) and subject not in BUILTINS:
        what = f"there is no decision with the id {subject}, and no path or command of this name"
        raise GuardError(what, todo="recorded ids stand at the end of a refusal")
    return _decision(judgement.decide(subject, here, os.environ, record=False), as_json, recorded=False)


def _names_path(subject: str, here: str, policy: Policy, tree: World) -> bool:
    """Is it the name of something that is there or protected, or spelled like a path?"""
    if not subject.strip() or "\0" in subject:
        return False
    path = os.path.join(here, subject)
    if os.path.lexists(path):
        return True
    if re.search(r"[\s;|&<>$`]", subject):
        return False
    return "/" in subject or _rule(policy, physical_parent(tree, path)) is not None


def _rule(policy: Policy, path: str) -> Rule | None:
    """The rule that protects a path; one that is not there yet may become a file or a directory."""
    directory = os.path.isdir(path) and not os.path.islink(path)
    return policy.rule(path, directory) or (None if os.path.lexists(path) else policy.rule(path, True))


def _path(path: str, here: str, as_json: bool, policy: Policy, tree: World) -> int:
    """Says which rule protects a path, itself and what is below it."""
    real = physical_parent(tree, path)
    directory = os.path.isdir(real) and not os.path.islink(real)
    rule = _rule(policy, real)
    broken = f"{policy.broken} ({policy.standing} is in force)" if policy.broken else None
    inside = [row for row in protected(policy, real, tree) if row[0] != real] if directory else []
    if as_json:
        answer = {"level": rule.level, "glob": rule.glob, "source": rule.source, "line": rule.line} if rule else {"level": None}
        print(
            json.dumps({"v": 1, "path": real, "exists": os.path.lexists(real), **answer, "below": len(inside), "broken": broken})
        )
        return 0
    shown = visible(os.path.relpath(real, here))
    if rule is None:
        say((shown, "bold"), " is not protected: no rule matches it.")
    else:
        say((shown, "bold"), " is protected as ", (rule.level, rule.level), f" by {visible(rule.glob)} ({place_of(rule, here)}).")
        say(f"  {rule.level}: {MEANING[rule.level]}.", wrap=True)
    if not os.path.lexists(real):
        say("  It does not exist now.")
    elif os.path.islink(real):
        say(f"  It is a link to {visible(os.readlink(real))}; the rule is about the link itself.")
    if inside:
        say(f"  {len(inside)} protected {'paths are' if len(inside) > 1 else 'path is'} below it.")
    if broken:
        say(f"  The configuration is broken: {visible(broken)}.", wrap=True)
    return 0


def _decision(decision: Decision, as_json: bool, recorded: bool) -> int:
    if as_json:
        trace = [{"cwd": step.cwd, "command": step.command, "note": step.note} for step in decision.analysis.trace]
        print(json.dumps({**judgement.fields(decision), "recorded": recorded, "trace": trace, "broken": decision.verdict.broken}))
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
    if verdict.broken:
        say(("broken    ", "dim"), visible(verdict.broken))
    if decision.suggestion:
        say(("instead   ", "dim"), visible(decision.suggestion))
    if recorded and verdict.decision != ALLOW and verdict.code != "lift-guard" and person.present().kind == PERSON:
        _section("further", [line.format(id=request.id) for line in FURTHER])


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
