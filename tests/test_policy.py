"""Policy: what is protected where, found without looking where nothing can be."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guard import globs, project
from guard.matching import KEEP, LOCK, PRESENT, REWRITE, Rule, RuleList
from guard.policy import RANK, Policy, Root
from guard.world import Budget, OutOfBudget, World
from tests.policy_strategies import glob, path


def rules(name: str, *lines: str, origin: str = "project") -> RuleList:
    return RuleList(name, origin, tuple(globs.matcher(Rule(name, line)) for line in lines))


def builtin(top: Path | str = "/r") -> Policy:
    return Policy([project.builtin(str(top))])


class Counting(World):
    """A world that notes what it has been asked to list."""

    def __init__(self) -> None:
        super().__init__()
        self.listed: list[str] = []

    def listdir(self, path: str) -> list[str] | None:
        self.listed.append(path)
        return super().listdir(path)


def tree(top: Path, *names: str) -> None:
    for item in names:
        where = top / item
        if item.endswith("/"):
            where.mkdir(parents=True, exist_ok=True)
        else:
            where.parent.mkdir(parents=True, exist_ok=True)
            where.write_text("x")


@pytest.fixture
def real(tmp_path: Path) -> Path:
    return Path(os.path.realpath(tmp_path))


BUILT_IN = {
    "CLAUDE.md": KEEP, "AGENTS.md": KEEP, "AGENT.md": KEEP, "IMPLEMENTATION_PLAN.md": KEEP,
    "@fix_plan.md": KEEP, "PROMPT.md": KEEP,
    "specs/a": KEEP, "specs/deep/b.md": KEEP, "memory/x": KEEP, ".ralphrc": KEEP, ".ralph/PROMPT.md": KEEP,
    ".ralph/specs/a": KEEP,
    ".claude/settings.json": KEEP, ".claude/commands/x.md": KEEP, "guard.toml": LOCK,
    ".ralph/status.json": None, ".ralph/logs/a": None, ".ralph/.call_count": None, ".ralph/x.lock": None, ".ralph/live.log": None,
    ".claude/worktrees/a/specs/b": None, ".claude/todos/1": None, ".claude/a.lock": None,
    "src/main.py": None, "sub/CLAUDE.md": None, "sub/specs/a": None, "CLAUDE.md.bak": None, "specs2/a": None, "README.md": None,
    ".git": PRESENT, ".git/HEAD": PRESENT, ".git/config": PRESENT, ".git/index.lock": None, ".git/refs/heads/main": None,
    ".gitignore": None, ".github/x": None,
}  # fmt: skip


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_built_in_list_protects_what_the_design_says(name: str) -> None:
    assert builtin().level(f"/r/{name}") == BUILT_IN[name]


def test_a_directory_is_asked_for_as_one() -> None:
    policy = builtin()
    assert policy.level("/r/specs", directory=True) == KEEP
    assert policy.level("/r/specs") is None
    assert policy.level("/r/.git/objects", directory=True) == PRESENT
    assert policy.level("/r") is None
    assert policy.level("/r", directory=True) is None


def test_prompts_and_plans_may_be_rewritten() -> None:
    policy = builtin()
    assert policy.rewrites("/r/PROMPT.md")
    assert policy.rewrites("/r/.ralph/fix_plan.md")
    assert not policy.rewrites("/r/CLAUDE.md")
    assert not policy.rewrites("/r/src/PROMPT.md")
    assert not policy.rewrites("/elsewhere")


def test_the_strongest_of_all_enclosing_roots_counts() -> None:
    outer = Root("/r", (rules(KEEP, "/sub/"),), (("branches", "pin"),))
    inner = Root("/r/sub", (rules(LOCK, "/a"),), (("branches", "follow"),))
    policy = Policy([outer, inner])
    assert policy.level("/r/sub/a") == LOCK
    assert policy.level("/r/sub/b") == KEEP
    assert policy.setting("/r/sub/b", "branches") == "pin"
    assert policy.setting("/r/sub/b", "certain") == "deny"
    assert policy.setting("/q", "unknown") == "ask"
    assert (RANK[PRESENT], RANK[KEEP], RANK[LOCK]) == (1, 2, 3)


@pytest.mark.parametrize("strange", ["", "relative", "/", "//", "/r/", "/r/\0", "/r/\udcff", "/r/" + "a/" * 3000, "/r/../x", "~"])
def test_no_path_makes_it_fail(strange: str) -> None:
    policy = builtin()
    policy.level(strange)
    policy.rule(strange, directory=True)
    policy.rewrites(strange)
    policy.setting(strange, "unknown")
    policy.reach(strange)
    list(policy.protected(strange, World(budget=Budget(steps=100))) if strange not in ("/", "//") else ())


def test_reach_is_about_what_lies_below() -> None:
    policy = builtin()
    assert policy.reach("/")
    assert policy.reach("/r")
    assert policy.reach("/r/specs/deep")
    assert policy.reach("/r/.git")
    assert policy.reach("/r/.claude")
    assert not policy.reach("/r/node_modules")
    assert not policy.reach("/r/.git/hooks")
    assert not policy.reach("/r/.claude/worktrees/x")
    assert not policy.reach("/rr")
    assert Policy([Root("/r", (rules(KEEP, "*.spec.md"),))]).reach("/r/node_modules")
    assert Policy([Root("/r", (rules(KEEP, "/a/*/b.md"),))]).reach("/r/a/x")
    assert not Policy([Root("/r", (rules(KEEP, "/a/*/b.md"),))]).reach("/r/a/x/y")


def test_protected_files_are_found_below_above_and_beside_the_root(real: Path) -> None:
    tree(
        real,
        "app/specs/a.md",
        "app/specs/deep/b.md",
        "app/CLAUDE.md",
        "app/src/x",
        "app/.git/HEAD",
        "app/.git/objects/ab/cd",
        "app/.git/x",
    )
    tree(real, "app/.claude/todos/1", "app/.claude/settings.json", "app/sub/specs/no", "other/specs/no", "app/.ralph/logs/1")
    (real / "app/specs/link").symlink_to("/nowhere")
    policy = builtin(real / "app")
    found = [(item[len(str(real)) :], level) for item, level in policy.protected(str(real), World())]
    assert found == [
        ("/app/.claude/settings.json", KEEP),
        ("/app/.git", PRESENT),
        ("/app/.git/HEAD", PRESENT),
        ("/app/.git/objects", PRESENT),
        ("/app/CLAUDE.md", KEEP),
        ("/app/specs/a.md", KEEP),
        ("/app/specs/deep/b.md", KEEP),
        ("/app/specs/link", KEEP),
    ]
    assert list(policy.protected("/", World())) == [(str(real) + item, level) for item, level in found]
    assert list(policy.protected(str(real / "app/specs/deep"), World())) == [(f"{real}/app/specs/deep/b.md", KEEP)]
    assert list(policy.protected(str(real / "app/specs/a.md"), World())) == [(f"{real}/app/specs/a.md", KEEP)]
    assert list(policy.protected(str(real / "app/src"), World())) == []
    assert list(policy.protected(str(real / "other"), World())) == []
    assert list(policy.protected(str(real / "nope"), World())) == []


def test_a_link_in_the_place_of_a_protected_directory_is_protected_itself(real: Path) -> None:
    tree(real, "elsewhere/a")
    (real / "app").mkdir()
    (real / "app/specs").symlink_to("../elsewhere")
    assert (f"{real}/app/specs", KEEP) in list(builtin(real / "app").protected(str(real / "app"), World()))


def test_trees_where_nothing_can_match_are_not_walked(real: Path) -> None:
    tree(
        real,
        "specs/a",
        "node_modules/x/y",
        ".claude/worktrees/w/node_modules/z",
        ".claude/x",
        ".git/objects/ab/c",
        "packages/p/q/r/s",
    )
    tree(real, "packages/p/CLAUDE.md")
    world = Counting()
    list(builtin(real).protected(str(real), world))
    assert {Path(item).name for item in world.listed} == {"specs", ".git", ".claude"}
    world = Counting()
    policy = Policy([Root(str(real), (rules(KEEP, "/packages/*/CLAUDE.md"),))])
    assert list(policy.protected(str(real), world)) == [(f"{real}/packages/p/CLAUDE.md", KEEP)]
    assert [Path(item).name for item in world.listed] == ["packages", "p"]


def test_floating_globs_walk_within_the_budget(real: Path) -> None:
    tree(real, *(f"d{i}/x.spec.md" for i in range(50)))
    policy = Policy([Root(str(real), (rules(KEEP, "*.spec.md"),))])
    assert len(list(policy.protected(str(real), World()))) == 50
    with pytest.raises(OutOfBudget):
        list(policy.protected(str(real), World(budget=Budget(steps=20))))


def test_a_deep_tree_needs_no_recursion(real: Path) -> None:
    (real / "specs").mkdir()
    here = os.open(real / "specs", os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    top = real / "specs"
    try:
        assert list(builtin(real).protected(str(real), World())) == []
    finally:
        flatten(top, real / "next")


def flatten(top: Path, spare: Path) -> None:
    """Takes a chain of directories apart from above: the whole is too deep for tools that recurse."""
    while (top / "d").is_dir():
        (top / "d").rename(spare)
        top.rmdir()
        spare.rename(top)


def test_a_protected_directory_that_cannot_be_read_is_named_itself(real: Path) -> None:
    class Closed(World):
        def listdir(self, path: str) -> list[str] | None:
            return None if path.endswith("specs") else super().listdir(path)

    tree(real, "specs/a")
    assert list(builtin(real).protected(str(real), Closed())) == [(f"{real}/specs", KEEP)]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(glob, min_size=1, max_size=4),
    st.lists(path, min_size=1, max_size=6),
    st.sampled_from([KEEP, LOCK]),
    st.integers(0, 3),
)
def test_what_is_found_is_what_looking_at_every_file_finds(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], paths: list[str], name: str, depth: int
) -> None:
    top = Path(os.path.realpath(tmp_path_factory.mktemp("walk")))
    for item in paths:
        try:
            tree(top, item)
        except OSError:
            continue  # a file stands where a directory is wanted
    policy = Policy([Root(str(top), (rules(name, *lines), rules(PRESENT, "/.a")))])
    start = os.path.join(top, *paths[0].split("/")[:depth])
    every = [os.path.join(d, f) for d, _, files in os.walk(start) for f in files] if os.path.isdir(start) else [start]
    expected = {(item, level) for item in every if (level := policy.level(item))}
    assert {found for found in policy.protected(start, World()) if found[1] != PRESENT} == {
        e for e in expected if e[1] != PRESENT
    }
    assert not expected or policy.reach(start)


@pytest.mark.parametrize("spelled", ["/VOL/App/SPECS/a", "/vol/app/specs/A"])
def test_where_case_is_ignored_every_spelling_is_protected(spelled: str) -> None:
    policy = Policy([Root("/vol/App", (rules(KEEP, "/Specs/").folded(), rules(REWRITE, "/Specs/").folded()), fold=True)])
    assert policy.level(spelled) == KEEP
    assert policy.rewrites(spelled)
    assert policy.reach("/VOL")
    assert policy.level("/vol/App2/specs/a") is None


class Folding(World):
    """A file system that ignores case, over a real one whose names are all in lower case, but shows them as `shown` says."""

    def __init__(self, shown: Callable[[str], str]) -> None:
        super().__init__()
        self._shown = shown

    def lstat(self, path: str) -> os.stat_result | None:
        return super().lstat(path.lower())

    def listdir(self, path: str) -> list[str] | None:
        names = super().listdir(path.lower())
        return None if names is None else [self._shown(item) for item in names]


def test_where_case_is_ignored_files_are_found_as_they_are_spelled(tmp_path: Path) -> None:
    top = Path(os.path.realpath(tmp_path)).parent / "folded"
    if str(top) != str(top).lower():
        pytest.skip("the temporary directory has capitals in its name")
    tree(top, "specs/a.md", "claude.md", "src/x")
    policy = Policy([project.builtin(str(top), fold=True)])
    found = [item[len(str(top)) :] for item, _ in policy.protected(str(top), Folding(str.upper))]
    assert found == ["/CLAUDE.MD", "/SPECS/A.MD"]
