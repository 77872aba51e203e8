"""Protection of a run: the policy that it started with, copies before each call, and what became of the files after it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from guard import log
from guard.change import REPLACED, REVERTED
from guard.effects import CREATE, EDIT, OVERWRITE
from guard.errors import GuardError
from guard.excuses import Leave
from guard.loop.facts import Protected, Refusal, Violation
from guard.matching import LOCK, PATH, Matcher, Rule, RuleList
from guard.paths import below
from guard.policy import Policy, Root
from guard.shown import visible
from guard.vault.report import record
from guard.vault.snapshot import world
from guard.vault.verify import Change
from guard.vault.watch import Aftermath, Watch, begin, over, release
from guard.world import World

LAYER = "loop"  # of the decisions in the log
AFTER = "after"  # the layer of what was brought back after a tool, while the call went on
INTEGRITY = ("exec", AFTER, LAYER, "verify")  # layers that tell what was lost, not what would be
RALPHRC = ".ralphrc"
UNCHECKED = "unchecked"  # the kind of a violation that says that nothing can be told
Event = dict[str, Any]
_SHOWN = 200  # violations that are recorded
_NAMED = 5  # that are named to people


def standing(policy: Policy, root: str, tree: World) -> Policy:
    """The policy as it is now, for the whole run: whatever is written into configuration files later, it stays.

    Branches are pinned, and .ralphrc may not change while a loop runs.
    """
    for _ in policy.protected(root, tree):  # finds the roots that lie inside
        pass
    folded = any(each.fold for each in policy.roots if each.path == root)
    held = RuleList(LOCK, "guard", (Matcher(Rule(LOCK, f"/{RALPHRC}"), True, PATH, RALPHRC, 1, ""),))
    return Policy((*policy.roots, Root(root, (held,), (("branches", "pin"),), fold=folded)))


@dataclass(frozen=True)
class Found:
    """What is known of the protected files after a call; `note` is for people. `unchecked`: of some nothing can be told."""

    protected: Protected
    note: str = ""
    unchecked: bool = False


def untold(why: str) -> Found:
    """What is known where nothing could be looked at: that counts as harm."""
    return Found(Protected((Violation(".", UNCHECKED, False),)), f"the protected files could not be checked: {why}", True)


class Guardian:
    """Looks after the protected files of one run. `roots` are those around the tree, nearest first."""

    def __init__(self, top: str, roots: Iterable[str], policy: Policy, state: str, environ: Mapping[str, str]) -> None:
        self._top, self.roots, self._state, self._environ = top, tuple(roots), state, environ
        self.policy = standing(policy, self.roots[0] if self.roots else top, world())
        self._watches: list[Watch] = []
        self._since = time.time()

    @property
    def files(self) -> int:
        """How many paths are under watch."""
        return sum(bool(entry.level) for watch in self._watches for entry in watch.manifest)

    def protects(self, path: str) -> bool:
        """Is a path, relative to the tree, protected?"""
        return self.policy.level(os.path.join(self._top, path)) is not None

    def copy(self) -> None:
        """Makes sure that the vault has what is protected. Raises GuardError; then no call may start."""
        fresh = begin(self.roots, self.policy, self._state, LAYER)
        release(self._watches)
        self._watches = fresh
        self._since = time.time()

    def events(self) -> list[Event]:
        """What the log has of this tree since the last copy."""
        log.collect(self._state)
        return list(self._events())

    @staticmethod
    def refused(events: Iterable[Event]) -> frozenset[str]:
        """The commands that guard refused."""
        return frozenset(str(event.get("command", "")) for event in events if refuses(event))

    def look(self, command: str, events: list[Event]) -> Found:
        """Says what was lost since the last copy and brings it back; `events` are those of a call, none between two."""
        found: list[Aftermath] = []
        violations: list[Violation] = []
        approved: set[str] = set()
        notes = []
        for watch in self._watches:
            try:
                found.append(self._looked(watch, events, approved))
            except (GuardError, OSError) as error:
                violations.append(Violation(self._relative(watch.root) or ".", UNCHECKED, False))
                notes.append(f"the protected files of {watch.root} could not be checked: {error}")
        violations += [one for each in found for one in self._violations(each)]
        violations += self._brought_back(events, {one.path for one in violations})
        name = record(found, command, self._top, LAYER, self._environ, self._state)
        if violations:
            back = sum(one.restored for one in violations)
            which = ", ".join(visible(one.path) for one in violations[:_NAMED]) + (", ..." if len(violations) > _NAMED else "")
            what = f"{len(violations)} protected paths were harmed, {back} brought back: {which}"
            notes.append(what + (f" [{name}]" if name else ""))
        refused = [event for event in events if refuses(event)]
        return Found(
            Protected(
                tuple(violations[:_SHOWN]),
                tuple(self._refusals(refused)),
                tuple(sorted(map(self._relative, approved))),
                self.files,
            ),
            "; ".join(notes),
            any(one.kind == UNCHECKED for one in violations),
        )

    def end(self) -> None:
        """Ends the watch."""
        release(self._watches)
        self._watches = []

    def _looked(self, watch: Watch, events: list[Event], approved: set[str]) -> Aftermath:
        leave = Leave(self._since, watch.root, watch.policy, self._state)
        written = set(_written(events))

        def excused(change: Change) -> bool:
            if change.level != LOCK and change.kind in (REPLACED, REVERTED) and change.path in written:
                approved.add(change.path)
                return True
            return leave(change)

        found = over(watch, excused)
        leave.settle()
        return found

    def _violations(self, found: Aftermath) -> Iterator[Violation]:
        for each in found.done:
            yield Violation(self._relative(each.path), each.change.kind, Aftermath.well(each), each.aside)
        for change in found.left:
            yield Violation(self._relative(change.path), change.kind, False)

    def _brought_back(self, events: list[Event], known: set[str]) -> Iterator[Violation]:
        """What a tool of the agent lost, and the hook brought back at once."""
        for event in events:
            if event.get("layer") == AFTER:
                for row in _victims(event):
                    path = self._relative(str(row[0]))
                    if path not in known:
                        known.add(path)
                        yield Violation(path, str(row[2]) if len(row) > 2 else "", True)

    def _refusals(self, events: Iterable[Event]) -> Iterator[Refusal]:
        counts: dict[tuple[str, str], int] = {}
        for event in events:
            layer = str(event.get("layer", "")).partition(":")[0]
            for row in _victims(event):
                key = (self._relative(str(row[0])), layer)
                counts[key] = counts.get(key, 0) + 1
        for (path, layer), count in list(counts.items())[:_SHOWN]:
            yield Refusal(path, layer, count)

    def _events(self) -> Iterator[Event]:
        for event in log.read(self._state):
            moment = event.get("time")
            if isinstance(moment, int | float) and moment >= self._since and self._is_here(event):
                yield event

    def _is_here(self, event: Event) -> bool:
        paths = [str(event.get("cwd", "")), *(str(row[0]) for row in _victims(event))]
        return any(below(path, root) for path in paths for root in self.roots or (self._top,))

    def _relative(self, path: str) -> str:
        return path[len(self._top) + 1 :] if below(path, self._top) and path != self._top else path


def refuses(event: Event) -> bool:
    """Is it something that guard refused, so that it was not run?"""
    return event.get("decision") == "deny" and event.get("layer") not in (*INTEGRITY, "override")


def _victims(event: Event) -> list[list[Any]]:
    found = event.get("victims")
    return [row for row in found if isinstance(row, list) and row] if isinstance(found, list) else []


def _written(events: Iterable[Event]) -> Iterator[str]:
    """The paths that tools of the agent were approved to write."""
    for event in events:
        if event.get("decision") == "allow" and str(event.get("layer", "")).startswith("hook:") and not event.get("untrusted"):
            for effect in event.get("effects") or ():
                path = _path(effect)
                if path:
                    yield path


def _path(effect: Any) -> str:
    """The path of an effect as the log has it, "" for one that is no edit or overwriting of a known path."""
    if not isinstance(effect, list) or len(effect) < 2 or effect[0] not in (EDIT, OVERWRITE, CREATE):
        return ""
    target = effect[1]
    return target[1] if isinstance(target, list) and len(target) > 1 and target[0] == "at" else ""
