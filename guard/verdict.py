"""The verdict on a command: its effects held against the policy, the victims among the files that exist, and the reasons."""

from __future__ import annotations

import time

from guard import effects
from guard.effects import CREATE, EDIT, LIFT, LINK, MOVE, OPEN_SHELL, OVERWRITE, TRUNCATE, At, Below, Effect, Hole, Matching
from guard.paths import below, lineage
from guard.policy import LOCK, PRESENT, RANK
from guard.survey import Survey
from guard.world import OutOfBudget

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NamedTuple

    from guard.effects import Analysis, Cause, Target, Unknown
    from guard.harm import Harm
    from guard.policy import Policy, Rule
    from guard.world import World
else:
    from guard.record import NamedTuple

ALLOW, ASK, DENY = "allow", "ask", "deny"
STRENGTH = {ALLOW: 0, ASK: 1, DENY: 2}
VICTIM_LIMIT = 200  # victims that a verdict names; it counts all
REASON_LIMIT = 50

# Every code that a reason or a victim may carry, with what it says of the decision: "loss" (what would happen to a victim),
# "limit" (not read to the end: refused), "unknown" (cannot be told: asked), "none" (allowed). Codes never change their meaning.
CODES = {
    "allowed": "none",
    "excepted": "none",
    "granted": "none",
    "suspended": "none",
    "delete-kept": "loss",
    "move-kept": "loss",
    "overwrite-kept": "loss",
    "truncate-kept": "loss",
    "empty-kept": "loss",
    "replace-kept": "loss",
    "revert-kept": "loss",
    "link-kept": "loss",
    "leave-kept": "loss",
    "commit-kept": "loss",
    "delete-present": "loss",
    "move-present": "loss",
    "replace-present": "loss",
    "change-locked": "loss",
    "create-locked": "loss",
    "lift-guard": "loss",
    "unknown-variable": "unknown",
    "unknown-output": "unknown",
    "unknown-input": "unknown",
    "unknown-argument": "unknown",
    "unknown-command": "unknown",
    "unknown-directory": "unknown",
    "unknown-name": "unknown",
    "unknown-test": "unknown",
    "too-deep": "limit",
    "too-long": "limit",
    "too-many-steps": "limit",
    "out-of-time": "limit",
    "syntax": "limit",
    "parser": "limit",
    "model-failed": "limit",
    "opens-shell": "limit",
    "stops-half-way": "limit",
    "stops-unforeseen": "limit",
}


class Victim(NamedTuple):
    """A protected file that the command would harm, or (decision "ask") could harm.

    `code` says what kind of loss it is, `cause` which simple command it comes from, `rule` what protects the file.
    """

    path: str
    level: str
    action: str
    code: str
    decision: str
    cause: Cause | None = None
    rule: Rule | None = None


class Reason(NamedTuple):
    """Why the verdict is what it is. `what` is the unknown as the user wrote it; `total` counts the files concerned."""

    code: str
    decision: str
    what: str = ""
    cause: Cause | None = None
    total: int = 0


class Verdict(NamedTuple):
    """The decision, the reasons (the weightiest first), at most VICTIM_LIMIT victims, and the true count of those that the
    decision is about.

    `broken` names what is wrong with the configuration, where the last good one or the built-in list has judged. `partial` is
    True where judging was cut short, so that all counts are the least that there is. `observed` is what the decision would have
    been where it is "allow" only because the user is observing (observing.py); reasons and victims are those of that.
    `pending` names a file that says less than it would if a person had accepted it.
    """

    decision: str
    reasons: tuple[Reason, ...] = ()
    victims: tuple[Victim, ...] = ()
    total: int = 0
    broken: str | None = None
    partial: bool = False
    observed: str = ""
    pending: str = ""

    @property
    def code(self) -> str:
        """The code of the weightiest reason; "allowed" without any."""
        return self.reasons[0].code if self.reasons else "allowed"


def judge(analysis: Analysis, policy: Policy, world: World, command: str = "", limit: int = VICTIM_LIMIT) -> Verdict:
    """What the policy says of the effects and unknowns of `command`. Running out of time or steps is a reason to deny.

    The verdict names at most `limit` victims.
    """
    court = _Court(policy, world, limit)
    try:
        for effect in analysis.effects:
            court.hear(effect)
        for unknown in analysis.unknowns:
            court.wonder(unknown)
        return court.excuse(command) or court.verdict()
    except OutOfBudget:
        court.add(Reason("out-of-time" if world.budget.left <= 0 else "too-many-steps", DENY), ())
        return court.verdict()._replace(partial=True)


def headless(verdict: Verdict) -> Verdict:
    """The same verdict where nobody can be asked: ask is deny."""
    if verdict.decision != ASK:
        return verdict
    return verdict._replace(
        decision=DENY,
        reasons=tuple(reason._replace(decision=DENY) for reason in verdict.reasons),
        victims=tuple(victim._replace(decision=DENY) for victim in verdict.victims),
    )


class _Court:
    """Collects victims and reasons while the effects pass by in their order."""

    def __init__(self, policy: Policy, world: World, limit: int) -> None:
        self._policy = policy
        self._world = world
        self._limit = limit
        self._survey = Survey(policy, world)
        self._harm: Harm | None = None
        self._seen: set[object] = set()
        self._written: set[str] = set()
        self._altered: set[str] = set()  # what is written, and all directories above
        self._victims: dict[str, Victim] = {}
        self._reasons: dict[tuple[str, str, str], tuple[Reason, set[str]]] = {}
        self._excusable = True

    def hear(self, effect: Effect) -> None:
        """Judges one effect. The same effect, met again in a loop, is judged once."""
        self._world.budget.spend()
        if effect.action == OPEN_SHELL or self._met(effect):
            return
        if effect.action == LIFT:
            self._excusable = False
            self.add(Reason("lift-guard", DENY, "", effect.cause), ())
            return
        if effect.action == effects.UNJUDGED:
            self._committed(effect)
            return
        self._appearing(effect)
        if effect.action != CREATE:
            self._losses(effect)
        self._remember(effect)

    def _committed(self, effect: Effect) -> None:
        """Judges a file that leaves the branch; it need not be on the disk any more. What arrives in its place may keep it."""
        path = effect.target.path
        level = self._policy.level(path)
        there = None if level == LOCK or effect.to is None else self._policy.level(effect.to)
        if level in (None, PRESENT) or (there is not None and RANK[there] >= RANK[level or ""]):
            return
        decision = DENY if _sure(effect) else self._asking(path)
        self._victims.setdefault(path, Victim(path, level or "", effect.action, "commit-kept", decision, effect.cause))
        self.add(Reason("commit-kept" if _sure(effect) else _hole(effect).code, decision, "", effect.cause), (path,))

    def _met(self, effect: Effect) -> bool:
        """True for an effect that has been judged before, as those of a loop are."""
        key = (type(effect.target), effect._replace(cause=None))
        if key in self._seen:
            return True
        self._seen.add(key)
        return False

    def wonder(self, unknown: Unknown) -> None:
        """Judges a part of the command that could not be analysed by the protected files within its reach."""
        self._world.budget.spend()
        limit = not unknown.code.startswith("unknown-")
        reach = unknown.reach
        found = self._survey.covered(At("/") if reach is None else reach)
        paths = [path for path, _, _ in found if limit or not self._beside(path, reach)]
        if paths or (limit and reach is None):
            self._excusable = False
            decision = DENY if limit else self._asking(paths[0])
            self.add(Reason(unknown.code, decision, unknown.what, unknown.cause), paths)

    def add(self, reason: Reason, paths: Iterable[str]) -> None:
        """Notes a reason, and the files it is about; reasons that differ in their files only become one."""
        key = (reason.code, reason.decision, reason.what)
        if key not in self._reasons:
            if len(self._reasons) >= REASON_LIMIT and any(r.decision == reason.decision for r, _ in self._reasons.values()):
                return
            self._reasons[key] = reason, set()
        self._reasons[key][1].update(paths)

    def excuse(self, command: str) -> Verdict | None:
        """The verdict that [[except]] rules give: they allow the exact command all that it would do, or nothing."""
        if not self._victims or not self._excusable or all(item.command != command for item in self._policy.excepts):
            return None
        today = time.strftime("%Y-%m-%d")
        found = [self._policy.excuse(command, v.path, today, v.level == PRESENT) for v in self._victims.values()]
        if any(item is None for item in found):
            return None
        reasons = {item.reason: Reason("excepted", ALLOW, item.reason) for item in found if item is not None}
        return Verdict(ALLOW, tuple(reasons.values()), broken=self._policy.broken)

    def verdict(self) -> Verdict:
        """What has come together so far."""
        reasons = [reason._replace(total=len(paths)) for reason, paths in self._reasons.values()]
        reasons.sort(key=lambda reason: -STRENGTH[reason.decision])
        victims = sorted(self._victims.values(), key=lambda victim: (-STRENGTH[victim.decision], victim.path))
        named = tuple(v._replace(rule=self._rule(v.path, v.level)) for v in self._worth_naming(victims)[: self._limit])
        decision = reasons[0].decision if reasons else ALLOW
        total = sum(victim.decision == decision for victim in victims)
        return Verdict(decision, tuple(reasons), named, total, self._policy.broken)

    def _worth_naming(self, victims: list[Victim]) -> list[Victim]:
        """The victims, with all of guard's own files of one decision as one, behind the others."""
        if not any(victim.level == LOCK for victim in victims):
            return victims
        own = [victim for victim in victims if victim.level == LOCK and self._policy.own(victim.path)]
        first = {victim.decision: victim for victim in own[::-1]}
        paths = {victim.path for victim in own}
        others = [victim for victim in victims if victim.path not in paths]
        return sorted([*others, *first.values()], key=lambda victim: -STRENGTH[victim.decision])

    def _losses(self, effect: Effect) -> None:
        content = self._arriving(effect)
        gone: set[str] = set()
        for path, level, now in self._survey.covered(effect.target):
            self._world.budget.spend()
            if level == PRESENT and any(below(path, above) for above in gone):
                continue
            code = self._code(effect, path, level, now, content)
            if code is not None and (_sure(effect) or not self._beside(path, effect.target)):
                gone.add(path) if level == PRESENT else None
                self._lose(effect, path, level, code)

    def _code(self, effect: Effect, path: str, level: str, now: str, content: bytes | None) -> str | None:
        if self._harm is None:
            from guard.harm import Harm

            self._harm = Harm(self._policy, self._world)
        return self._harm.of(effect, path, level, now, content)

    def _lose(self, effect: Effect, path: str, level: str, code: str) -> None:
        decision, doubt, what = DENY, code, ""
        if not _sure(effect):
            hole = _hole(effect)
            decision, doubt, what = self._asking(path), hole.code, hole.what
        victim = self._victims.get(path)
        if victim is None or STRENGTH[decision] > STRENGTH[victim.decision]:
            self._victims[path] = Victim(path, level, effect.action, code, decision, effect.cause)
        self.add(Reason(doubt, decision, what, effect.cause), (path,))

    def _appearing(self, effect: Effect) -> None:
        """What would newly appear at a locked path, though nothing is there yet."""
        paths = [effect.to] if effect.action == MOVE and effect.to is not None else []
        if effect.action in (CREATE, OVERWRITE, EDIT, TRUNCATE, LINK):
            paths.append(effect.target.path)
        for path in paths:
            if self._survey.spares(path):
                continue
            if LOCK not in (self._policy.level(path), self._policy.level(path, True)):
                continue
            exact = isinstance(effect.target, At) or effect.action == MOVE
            if exact and effect.action != CREATE and self._world.lstat(path) is not None:
                continue
            known = exact and effect.certain
            hole = Hole("create-locked", "") if known else _hole(effect)
            decision = DENY if known else self._asking(path)
            self._victims.setdefault(path, Victim(path, LOCK, CREATE, "create-locked", decision, effect.cause))
            self.add(Reason(hole.code, decision, hole.what, effect.cause), (path,))

    def _beside(self, path: str, target: Target | None) -> bool:
        """True for guard's own files, unless they are meant: that a command could hit anything says nothing of them.

        There is always one more of them once guard runs, and they hold nothing that work depends on.
        """
        return self._policy.own(path) and (target is None or not self._policy.own(target.path))

    def _asking(self, path: str) -> str:
        return DENY if self._policy.setting(path, "unknown") == DENY else ASK

    def _arriving(self, effect: Effect) -> bytes | None:
        """The content that an effect brings. A source counts as it is on disk, unless the command itself has changed it."""
        if effect.content is not None or effect.source is None:
            return effect.content
        if effect.source in self._altered or any(path in self._written for path in lineage(effect.source)):
            return None
        return None if self._world.readlink(effect.source) is not None else self._world.read(effect.source)

    def _remember(self, effect: Effect) -> None:
        """Notes where protected files have been moved to, and what no longer is what it was on disk."""
        self._survey.follow(effect)
        for path in (effect.target.path, effect.to if effect.action == MOVE else None):
            if path is not None and path not in self._written:
                self._written.add(path)
                self._altered.update(lineage(path))

    def _rule(self, path: str, level: str) -> Rule | None:
        return self._policy.rule(path, level == PRESENT) or self._policy.rule(path, level != PRESENT)


def _sure(effect: Effect) -> bool:
    """True for what surely happens to all that the target covers."""
    return effect.certain and isinstance(effect.target, At | Below)


def _hole(effect: Effect) -> Hole:
    """What is not known about an effect that may or may not hit."""
    target = effect.target
    if isinstance(target, Matching) and target.pattern.holes:
        return target.pattern.holes[0]
    written = effect.cause.command if effect.cause is not None else ""
    return Hole("unknown-argument" if effect.certain else "unknown-test", written)
