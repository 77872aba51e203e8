"""The built-in list: what is protected where no file says otherwise. Anchored at the root; later entries win.

MATCHERS is generated from the lists above it by `python -m guard.globs`, so that nothing has to be compiled when they are used.
"""

from __future__ import annotations

from guard.matching import BUILT_IN, KEEP, LOCK, PATH, PRESENT, REWRITE, Matcher, Rule, RuleList
from guard.roots import CONFIG

LISTS: dict[str, tuple[str, ...]] = {
    KEEP: (
        "/CLAUDE.md",
        "/AGENTS.md",
        "/AGENT.md",
        "/IMPLEMENTATION_PLAN.md",
        "/@fix_plan.md",
        "/PROMPT.md",
        "/specs/",
        "/memory/",
        "/.claude/",
        "/.ralph/",
        "/.ralphrc",
        # What clients and loop runners make and clean up there themselves.
        "!/.claude/worktrees/",
        "!/.claude/*.lock",
        "!/.claude/projects/",
        "!/.claude/sessions/",
        "!/.claude/session-env/",
        "!/.claude/shell-snapshots/",
        "!/.claude/backups/",
        "!/.claude/todos/",
        "!/.claude/plugins/",
        "!/.claude/file-history/",
        "!/.claude/statsig/",
        "!/.claude/debug/",
        "!/.claude/cache/",
        "!/.ralph/.[!.]*",
        "!/.ralph/logs/",
        "!/.ralph/diagnostics/",
        "!/.ralph/tmp/",
        "!/.ralph/status.json",
        "!/.ralph/progress.json",
        "!/.ralph/queue.json",
        "!/.ralph/live.log",
        "!/.ralph/*.lock",
    ),
    # A linked worktree's .git is a file; the rest is what makes a directory a repository.
    PRESENT: ("/.git", "/.git/HEAD", "/.git/objects/", "/.git/refs/", "/.git/config"),
    REWRITE: ("/PROMPT.md", "/IMPLEMENTATION_PLAN.md", "/@fix_plan.md", "/.ralph/PROMPT.md", "/.ralph/fix_plan.md"),
}

# level -> (how, literal, depth, regex) of each glob
MATCHERS: dict[str, tuple[tuple[str, str, int, str], ...]] = {
    "keep": (
        ("path", "CLAUDE.md", 1, ""),
        ("path", "AGENTS.md", 1, ""),
        ("path", "AGENT.md", 1, ""),
        ("path", "IMPLEMENTATION_PLAN.md", 1, ""),
        ("path", "@fix_plan.md", 1, ""),
        ("path", "PROMPT.md", 1, ""),
        ("directory", "specs", 1, ""),
        ("directory", "memory", 1, ""),
        ("directory", ".claude", 1, ""),
        ("directory", ".ralph", 1, ""),
        ("path", ".ralphrc", 1, ""),
        ("directory", ".claude/worktrees", 2, ""),
        ("regex", ".claude", 2, "^\\.claude/[^/]*\\.lock(?:(?P<ps_d>/)|\\Z)"),
        ("directory", ".claude/projects", 2, ""),
        ("directory", ".claude/sessions", 2, ""),
        ("directory", ".claude/session-env", 2, ""),
        ("directory", ".claude/shell-snapshots", 2, ""),
        ("directory", ".claude/backups", 2, ""),
        ("directory", ".claude/todos", 2, ""),
        ("directory", ".claude/plugins", 2, ""),
        ("directory", ".claude/file-history", 2, ""),
        ("directory", ".claude/statsig", 2, ""),
        ("directory", ".claude/debug", 2, ""),
        ("directory", ".claude/cache", 2, ""),
        ("regex", ".ralph", 2, "^\\.ralph/\\.[^.][^/]*(?:(?P<ps_d>/)|\\Z)"),
        ("directory", ".ralph/logs", 2, ""),
        ("directory", ".ralph/diagnostics", 2, ""),
        ("directory", ".ralph/tmp", 2, ""),
        ("path", ".ralph/status.json", 2, ""),
        ("path", ".ralph/progress.json", 2, ""),
        ("path", ".ralph/queue.json", 2, ""),
        ("path", ".ralph/live.log", 2, ""),
        ("regex", ".ralph", 2, "^\\.ralph/[^/]*\\.lock(?:(?P<ps_d>/)|\\Z)"),
    ),
    "present": (
        ("path", ".git", 1, ""),
        ("path", ".git/HEAD", 2, ""),
        ("directory", ".git/objects", 2, ""),
        ("directory", ".git/refs", 2, ""),
        ("path", ".git/config", 2, ""),
    ),
    "rewrite": (
        ("path", "PROMPT.md", 1, ""),
        ("path", "IMPLEMENTATION_PLAN.md", 1, ""),
        ("path", "@fix_plan.md", 1, ""),
        ("path", ".ralph/PROMPT.md", 2, ""),
        ("path", ".ralph/fix_plan.md", 2, ""),
    ),
}

# guard.toml is locked in every root, there or not, and no file takes that away.
HOLD = RuleList(LOCK, "guard", (Matcher(Rule(LOCK, "/" + CONFIG), True, PATH, CONFIG, 1, ""),))


def lists(origin: str = "project") -> tuple[RuleList, ...]:
    """The built-in lists, ready for matching."""
    return tuple(RuleList(name, origin, matchers(name)) for name in LISTS)


def matchers(name: str) -> tuple[Matcher, ...]:
    """One of the built-in lists, empty where there is none of that name."""
    return tuple(
        Matcher(Rule(name, glob, BUILT_IN), not glob.startswith("!"), *row)
        for glob, row in zip(LISTS.get(name, ()), MATCHERS.get(name, ()), strict=True)
    )
