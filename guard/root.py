"""Root: one directory with a policy of its own, and what its files say."""

from __future__ import annotations

from guard.matching import KEEP, LOCK, RANK, REWRITE, Matcher, Rule, RuleList, decide

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from guard.record import NamedTuple

# Where a list or an exception comes from, by authority: an exception lifts only what its own origin, or a lesser one, protects.
AUTHORITY = {"proposed": 0, "project": 0, "worktree": 0, "user": 1, "system": 2, "guard": 9}
PENDING = "pending"  # the setting that names a file whose changed table no person has accepted
TOOL = "tool"  # the setting "ORIGIN NAME": an agent's tool that may change what ORIGIN, or a lesser one, locks


class Source(NamedTuple):
    """A file that a policy was made from; `time` is the later of its times in nanoseconds, -1 where it was absent."""

    path: str
    time: int
    size: int


class Except(NamedTuple):
    """A task that may do what the lists forbid: a command spelled exactly, the paths, why, and until when.

    `expires` is the last day (YYYY-MM-DD) on which it holds, "" for no end.
    """

    command: str
    matchers: tuple[Matcher, ...]
    reason: str
    expires: str = ""
    origin: str = "project"
    source: str = ""
    line: int = 0

    @property
    def paths(self) -> tuple[str, ...]:
        """The globs, as written."""
        return tuple(matcher.rule.glob for matcher in self.matchers)

    def allows(self, command: str, today: str) -> bool:
        """True for this very command, up to the last day (`today` as YYYY-MM-DD)."""
        return command == self.command and (not self.expires or today <= self.expires)


class Root(NamedTuple):
    """One directory with a policy of its own.

    `path` is physical; `settings` holds what its files say of answers; `fold` is true where names ignore case; `main` is
    the main worktree of a linked one; `broken` says what is wrong with its configuration, and that it is not in force;
    `aliases` are the places outside of their names where protected symbolic links lead: (physical path, relative path).
    """

    path: str
    lists: tuple[RuleList, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    fold: bool = False
    sources: tuple[Source, ...] = ()
    excepts: tuple[Except, ...] = ()
    main: str = ""
    broken: str = ""
    aliases: tuple[tuple[str, str], ...] = ()

    def rule(self, path: str) -> Rule | None:
        """The strongest rule for a path relative to the root (folded where the root folds; a directory ends in "/")."""
        rules = [found for rules in self.lists if rules.name in RANK and (found := rules.rule(path, self.fold))]
        return max(rules, key=lambda rule: RANK[rule.level], default=None)

    def inside(self, directory: str) -> bool:
        """Could anything strictly below a relative directory ("" is the root itself) be protected?"""
        return any(rules.name in RANK and rules.inside(directory, self.fold) for rules in self.lists)

    def origins(self, path: str) -> set[str]:
        """Where the lists come from that protect a relative path."""
        return {rules.origin for rules in self.lists if rules.name in RANK and rules.rule(path, self.fold)}

    def rewrites(self, path: str) -> bool | None:
        """May a relative path be rewritten as a whole? Each origin speaks for what it keeps; None where none keeps it."""
        keeping = {rules.origin for rules in self.lists if rules.name == KEEP and rules.rule(path, self.fold)}
        allowing = {rules.origin for rules in self.lists if rules.name == REWRITE and rules.rule(path, self.fold)}
        return keeping <= allowing if keeping else None

    def trusts(self, path: str, tool: str) -> bool:
        """May an agent's tool of this name change what is locked at a relative path, on the authority of all who lock it?"""
        locking = {rules.origin for rules in self.lists if rules.name == LOCK and rules.rule(path, self.fold)}
        needed = max((AUTHORITY.get(origin, 9) for origin in locking), default=0)
        named = [value.partition(" ") for key, value in self.settings if key == TOOL]
        return any(name == tool and AUTHORITY.get(origin, 0) >= needed for origin, _, name in named)

    def excuse(self, command: str, path: str, today: str) -> Except | None:
        """The exception that lets the command harm a protected relative path, on the authority of all who protect it."""
        needed = max((AUTHORITY.get(origin, 9) for origin in self.origins(path)), default=0)
        for item in self.excepts:
            if AUTHORITY.get(item.origin, 0) >= needed and item.allows(command, today):
                found = decide(item.matchers, path, self.fold)
                if found is not None and found.include:
                    return item
        return None
