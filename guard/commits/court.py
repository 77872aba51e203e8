"""The decision on a change of trees: what it would take, what trailers and a person allow of that, and what is left."""

from __future__ import annotations

import os
import time

from guard import project
from guard.commits.analysis import Bench
from guard.commits.attempt import attempt, vouched
from guard.commits.difference import DELETED
from guard.commits.git import Failed, Git, fault
from guard.commits.trailers import KEY, Trailer, allowing, of_commits
from guard.paths import child
from guard.policy import Policy
from guard.world import Budget, World

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, NamedTuple

    from guard.commits.analysis import Judged
    from guard.commits.changes import Change
    from guard.commits.difference import Difference
    from guard.decision import Decision
    from guard.verdict import Reason
else:
    from guard.record import NamedTuple

LAYER = "git-hook"
FRAMED = "PRE_COMMIT"  # what pre-commit sets; it runs an older hook before its own, which may be guard's, too
CHAIN = 5.0  # seconds within which the hooks of one commit come after each other


class Finding(NamedTuple):
    """What came of one change: the decision (None where there is nothing to decide), the victims' differences, and the trailers
    that let something through."""

    decision: Decision | None = None
    lost: tuple[Difference, ...] = ()
    honoured: tuple[Trailer, ...] = ()

    @property
    def refused(self) -> bool:
        """May it not go on?"""
        return self.decision is not None and self.decision.verdict.decision != "allow"


class Court:
    """Decides on the changes of one repository. Decisions that refuse, or let something through, stand in the log."""

    def __init__(self, git: Git, environ: Mapping[str, str]) -> None:
        self.git = git
        self.top = git.top()
        self._environ = environ
        self._vouched = vouched(environ)
        self._given: tuple[set[tuple[str, str]], tuple[Reason, ...]] | None = None  # let pass by a person, for this call
        self.bench = Bench(git, self.top, policy_of(self.top, environ), environ)

    def decide(
        self,
        change: Change,
        trailers: Iterable[Trailer] = (),
        granted: Callable[[], bool] = lambda: False,
        record: bool = True,
    ) -> Finding:
        """The decision on a change.

        `trailers` count besides those of the change's own commits; with `granted` what a person let pass (guard allow) counts,
        too, and is used up. Without `record` recorded() has to write it to the log. Raises GuardError where git cannot tell.
        """
        trailers = list(trailers)
        finding = self._found(change, trailers, granted)
        elsewhere = self._elsewhere() if change.found and not finding.refused else None
        if elsewhere is not None and (stricter := elsewhere._found(change, trailers, granted)).refused:
            finding = stricter
        return self.recorded(finding) if record else finding

    def recorded(self, finding: Finding) -> Finding:
        """The finding with its decision in the log; without an id where that cannot be written."""
        if finding.decision is None:
            return finding
        from guard import log

        state = project.state_dir(self._environ)
        request, event = finding.decision.request, log.encode(finding.decision)
        known = log.newest(state) if finding.refused and FRAMED in self._environ else None
        if known is not None and _repeated(known, event):
            request = request._replace(id=known["id"])
        elif not log.append(event, state):
            request = request._replace(id="")
        return finding._replace(decision=finding.decision._replace(request=request))

    def protects_anything(self) -> bool:
        """Could anything here be protected?"""
        elsewhere = self._elsewhere()
        return self.bench.protects_anything() or (elsewhere is not None and elsewhere.bench.protects_anything())

    def _elsewhere(self) -> Court | None:
        """The court by the user's configuration as no command could choose it, where it is not the one in force anyway.

        Whoever starts git says in variables where that stands; so the stricter of the two counts.
        """
        return None if self._vouched is None else Court(self.git, self._vouched)

    def _found(self, change: Change, trailers: list[Trailer], granted: Callable[[], bool]) -> Finding:
        concerned = self.bench.concerned(change.found)
        if not concerned:
            return Finding()
        try:
            return self._decided(change._replace(found=concerned), [*trailers], granted)
        except (Failed, ValueError) as error:
            raise fault(Failed(str(error)), f"what {change.command} would take away") from error

    def _decided(self, change: Change, trailers: list[Trailer], granted: Callable[[], bool]) -> Finding:
        found = change.found
        judged = self._judged(change, found)
        if _allowed(judged):
            return Finding()
        trailers += of_commits(self.git, *change.allowed) if change.allowed else []
        evolved = self._evolved(change, judged)
        lost = [each for each in self._victims(judged, found) if each.path not in evolved]
        given = {each.path: trailer for each in lost if (trailer := allowing(trailers, each.path)) is not None}
        rest = [each for each in found if each.path not in evolved and each.path not in given]
        judged = self._judged(change, rest) if len(rest) < len(found) else judged
        honoured = tuple(dict.fromkeys(given.values()))
        if _allowed(judged) and not honoured:
            return Finding()
        return Finding(self._concluded(change, judged, honoured, granted), tuple(self._victims(judged, rest)), honoured)

    def _concluded(self, change: Change, judged: Judged, honoured: tuple[Trailer, ...], granted: Callable[[], bool]) -> Decision:
        """The decision with what a person has a say in."""
        from guard import actor
        from guard.decision import Decision, Request, new_id
        from guard.observing import observed
        from guard.verdict import VICTIM_LIMIT

        place = child(self.top, self._environ.get("GIT_PREFIX", "")).rstrip("/") or "/"
        request = Request(change.command, place, new_id(), LAYER, actor.mark(self._environ))
        decision = Decision(request, *judged, time.time())
        verdict = judged.verdict
        if _allowed(judged):
            decision = decision._replace(verdict=verdict._replace(reasons=reasons(honoured)))
        else:
            broken = f"{verdict.broken} ({self.bench.policy.standing} is in force)" if verdict.broken else None
            decision = decision._replace(verdict=observed(verdict._replace(broken=broken), self.bench.policy, self._environ))
            decision = self._permitted(decision, change) if granted() else decision
        verdict = decision.verdict
        return decision._replace(verdict=verdict._replace(victims=verdict.victims[:VICTIM_LIMIT]))

    def may_be_granted(self, finding: Finding) -> bool:
        """Is there something that a person let pass and that covers what was refused? Uses nothing up."""
        state = project.state_dir(self._environ)
        decision = finding.decision
        if decision is None or not state or not os.path.isdir(f"{state}/grants"):
            return False
        from guard import grants

        victims = decision.verdict.victims
        standing = grants.standing(state, grants.needs_root(self.bench.policy, self.top))
        named = decision.verdict.total <= len(victims)
        return named and any(all(grant.covers(victim.path, victim.code) for victim in victims) for grant in standing)

    def _permitted(self, decision: Decision, change: Change) -> Decision:
        """The decision, or consent where a person let pass what is lost: for one call, however many branches it is about."""
        from guard.hot.judgement import permitted

        victims = {(victim.path, victim.code) for victim in decision.verdict.victims}
        if self._given is not None and decision.verdict.total <= len(victims) and victims <= self._given[0]:
            return decision._replace(verdict=decision.verdict._replace(decision="allow", reasons=self._given[1]))
        state = project.state_dir(self._environ)
        world = World(self._environ, Budget())
        found = permitted(decision, [self.bench.policy], world, state, attempt(self.git, self.top, change, state))
        if found.verdict.decision == "allow":
            self._given = victims, found.verdict.reasons
        return found

    def _judged(self, change: Change, found: list[Difference]) -> Judged:
        """The verdict on the change, or consent where an [[except]] rule lets the command pass that makes it."""
        judged = self.bench.judge(found, change.command, change.added)
        commands = {item.command for item in self.bench.policy.excepts}
        if _allowed(judged) or not commands:
            return judged
        from guard import grants

        for command in grants.callers():
            ruled = self.bench.judge(found, command, change.added) if command in commands else judged
            if _allowed(ruled):
                return ruled
        return judged

    def _victims(self, judged: Judged, found: Iterable[Difference]) -> list[Difference]:
        paths = {victim.path for victim in judged.verdict.victims}
        return [each for each in found if self._at(each.path) in paths]

    def _evolved(self, change: Change, judged: Judged) -> set[str]:
        """What is lost only at first sight: each commit on the way kept it, so that it has changed step by step.

        Where a step loses something that was not there at the start, what is gone may have been moved there before.
        """
        steps = change.steps()
        if steps is None:
            return set()
        lost: set[str] = set()
        for step in steps:
            lost |= {victim.path for victim in self._judged(step, step.found).verdict.victims}
        victims = self._victims(judged, change.found)
        moved_on = lost - {self._at(each.path) for each in change.found}
        return {each.path for each in victims if self._at(each.path) not in lost and not (moved_on and each.status == DELETED)}

    def _at(self, path: str) -> str:
        return child(self.top, path)


def policy_of(top: str, environ: Mapping[str, str]) -> Policy:
    """The policy of the work tree; for a repository without one the built-in list."""
    tree = World(environ, Budget(60.0, 50_000_000))
    found = project.load(top, environ, tree)
    if tree.lstat(child(top, ".git")) is None and tree.lstat(child(top, "HEAD")) is not None:
        return Policy([project.builtin(top)])
    return found


def _repeated(known: Mapping[str, Any], event: Mapping[str, Any]) -> bool:
    """Has another hook of the same commit recorded this refusal?"""
    same = all(known.get(key) == event[key] for key in ("layer", "command", "cwd", "decision", "code", "total", "victims"))
    return same and 0 <= event["time"] - known.get("time", 0) < CHAIN


def _allowed(judged: Judged) -> bool:
    return judged.verdict.decision == "allow"


def reasons(honoured: Iterable[Trailer]) -> tuple[Reason, ...]:
    """Why a change is allowed that trailers let pass."""
    from guard.verdict import ALLOW, Reason

    return tuple(
        Reason("excepted", ALLOW, f"{KEY}: {each.path}" + (f" ({each.commit[:12]})" if each.commit else "")) for each in honoured
    )
