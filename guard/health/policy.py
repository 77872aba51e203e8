"""The policy: is it in force, and does it say what it is meant to say?"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator

from guard import granting, grants, observing
from guard.findings import FINE, NOTE, Finding
from guard.health.place import Place
from guard.matching import BUILT_IN, REWRITE, Rule
from guard.policy import Policy, Root
from guard.shown import place, visible

SHOWN = 5  # patterns that are named


def findings(at: Place) -> Iterator[Finding]:
    """What can be said of the policy of the directory."""
    if at.policy is None:
        yield Finding("directory-gone", "the current directory is gone", "so no project can be looked at", "cd", NOTE)
        return
    yield from _resting(at, at.policy)
    if at.policy.broken:
        yield Finding("configuration-broken", visible(at.policy.broken), f"{at.policy.standing} is in force instead")
    if not at.roots:
        what = f"{visible(at.cwd)} lies in no project: there is no guard.toml, [tool.guard] or .git here or above"
        yield Finding("no-project", what, "so nothing is protected here but guard's own files", "guard init", NOTE)
        return
    yield from _lists(at, at.policy)


def _resting(at: Place, policy: Policy) -> Iterator[Finding]:
    """What keeps the policy from refusing, or from being what the files say."""
    last = observing.until([policy], at.environ)
    if last:
        what = f"guard only observes {'until further notice' if last == 'always' else f'until {last}'}"
        why = "what would be refused is only written to the log"
        yield Finding("observing", what, why, "guard log --kind observed, then take observe out of config.toml", NOTE)
    for root in at.roots:
        found = granting.suspended(root.path, at.state, grants.needs_root(policy, root.path))
        if found is not None:
            until = time.strftime("%H:%M", time.localtime(found.expires))
            what = f"protection of {visible(root.path)} is suspended until {until} ({visible(found.reason)})"
            yield Finding("suspended", what, "nothing is refused meanwhile", "guard suspend --end", NOTE)
    for path in policy.pending:
        what = f"the [tool.guard] table of {visible(path)} has changed, and no person has accepted it"
        yield Finding("table-pending", what, "until then it only adds protection", "guard allow --config", NOTE)


def _lists(at: Place, policy: Policy) -> Iterator[Finding]:
    """What the rules of the projects protect now."""
    counts: Counter[Rule | None] = Counter()
    for path, _ in policy.protected(at.roots[-1].path, at.world):
        counts[policy.rule(path, os.path.isdir(path) and not os.path.islink(path))] += 1
    for root in at.roots:
        idle = [rule for rule in _written(root) if not counts[rule]]
        if idle:
            named = ", ".join(f"{rule.glob} ({place(rule.source, at.cwd)}:{rule.line})" for rule in idle[:SHOWN])
            more = f" and {len(idle) - SHOWN} more" if len(idle) > SHOWN else ""
            what = f"{'a pattern matches' if len(idle) == 1 else 'patterns match'} nothing now: {visible(named)}{more}"
            yield Finding("pattern-idle", what, "it protects what will be there, unless it is misspelled", "guard list", NOTE)
    total = sum(counts.values())
    if not total:
        yield Finding("nothing-protected", "nothing that is protected exists here", "so nothing can be lost", "guard list", NOTE)
    else:
        files = "1 file or directory is" if total == 1 else f"{total:,} files and directories are"
        yield Finding("protecting", f"{files} protected in {visible(at.roots[0].path)}", severity=FINE)


def _written(root: Root) -> Iterator[Rule]:
    """The patterns that somebody wrote for this project, without those that take paths out and those for prompts and plans."""
    for rules in root.lists:
        for matcher in rules.matchers if rules.name != REWRITE else ():
            if matcher.include and matcher.rule.line and matcher.rule.source not in (BUILT_IN, ""):
                yield matcher.rule
