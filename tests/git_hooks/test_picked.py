"""What git commits by itself: cherry-pick, revert and am are stopped before, a rebase before it begins, the rest is told."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from guard import git_hooks
from tests import client, pseudo_terminal
from tests.git_hooks.conftest import LINES, Repository
from tests.git_hooks.test_person import guard, person


@pytest.fixture
def parted(repository: Repository) -> Repository:
    """With guard's hooks. The branch `less` has lost specs/a.md, `main` has gone on."""
    r = repository
    r.git("branch", "start")
    r.git("switch", "-q", "-c", "less")
    r.git("rm", "-q", "specs/a.md")
    r.commit("less")
    r.git("switch", "-q", "main")
    r.write("src/more.py")
    r.commit("more")
    git_hooks.install(str(r.top), r.environment())
    return r


def tried(r: Repository, *words: str, **more: str) -> tuple[int, str]:
    """Status and what was said of a git command below an agent's client."""
    environ = {**pseudo_terminal.environment(r.home), "GIT_CONFIG_NOSYSTEM": "1", "EDITOR": "true", **more}
    done = client.run(["git", *words], r.top, environ, r.home / "client")
    return done.returncode, done.stdout + done.stderr


def kept(r: Repository) -> bool:
    """Does the branch still have the file?"""
    return bool(r.git("ls-tree", "HEAD", "specs/a.md"))


PICKED = [
    "cherry-pick less",
    "cherry-pick -x less",
    "cherry-pick -e less",
    "-c alias.cp=cherry-pick cp less",
    "cherry-pick start..less",
]


@pytest.mark.parametrize("words", PICKED)
def test_a_commit_that_would_take_it_away_is_not_picked(words: str, parted: Repository) -> None:
    status, said = tried(parted, *words.split())
    assert status != 0, said
    assert "specs/a.md" in said
    assert "Nothing was committed" in said
    assert kept(parted)


def test_what_was_picked_goes_on_without_the_loss_or_not_at_all(parted: Repository) -> None:
    _, said = tried(parted, "cherry-pick", "less")
    assert "git restore --staged --worktree -- specs/a.md" in said
    assert tried(parted, "cherry-pick", "--abort")[0] == 0
    assert (parted.top / "specs/a.md").read_text().endswith(LINES)
    assert parted.git("status", "--porcelain") == ""


def test_a_commit_that_added_it_is_not_reverted(parted: Repository) -> None:
    parted.write("specs/new.md")
    parted.commit("new")
    for words in (["revert", "--no-edit", "HEAD"], ["revert", "HEAD"]):
        status, said = tried(parted, *words)
        assert (status != 0, "specs/new.md" in said) == (True, True), said
        parted.git("reset", "-q", "--hard")
    assert parted.git("ls-tree", "HEAD", "specs/new.md")


def test_other_commits_are_picked_reverted_and_made(parted: Repository) -> None:
    assert tried(parted, "revert", "--no-edit", "HEAD")[0] == 0
    parted.git("switch", "-q", "less")
    assert tried(parted, "cherry-pick", "main~1")[0] == 0
    parted.write("src/more.py", "changed\n")
    assert tried(parted, "commit", "-qam", "talk\n\nThis reverts commit 0123456.")[0] == 0


def test_a_patch_that_would_take_it_away_is_not_applied(parted: Repository) -> None:
    parted.git("format-patch", "-q", "-1", "less", "-o", str(parted.home))
    patch = next(parted.home.glob("*.patch"))
    status, said = tried(parted, "am", str(patch))
    assert (status != 0, "specs/a.md" in said) == (True, True), said
    assert kept(parted)
    assert tried(parted, "am", "--abort")[0] == 0
    assert (parted.top / "specs/a.md").exists()


@pytest.mark.parametrize("words", ["rebase less", "rebase --apply less", "pull -q --rebase . less", "rebase less main"])
def test_a_rebase_upon_a_branch_that_has_lost_it_does_not_begin(words: str, parted: Repository) -> None:
    before = parted.git("rev-parse", "HEAD")
    status, said = tried(parted, *words.split())
    assert (status != 0, "specs/a.md" in said) == (True, True), said
    assert parted.git("rev-parse", "HEAD") == before
    assert not os.path.exists(parted.top / ".git/rebase-merge")


def test_a_person_lets_a_patch_and_a_rebase_pass(parted: Repository) -> None:
    parted.git("format-patch", "-q", "-1", "less", "-o", str(parted.home))
    seen = person(parted, "git", "am", str(next(parted.home.glob("*.patch"))))
    assert seen.status == 1
    found = re.search(r"If it is meant: pathguard allow (\w{4}), then (git am --continue)", seen.shown)
    assert found, seen
    assert guard(parted, "allow", found[1]).status == 0
    assert tried(parted, *found[2].split()[1:])[0] == 0
    assert not kept(parted)
    parted.git("reset", "-q", "--hard", "HEAD~1")
    seen = person(parted, "git", "rebase", "less")
    found = re.search(r"If it is meant: git (rebase --no-verify less)\n", seen.shown)
    assert found, seen
    assert person(parted, "git", *found[1].split()).status == 0


def test_what_stands_instead_of_a_rebase_takes_the_rest_and_keeps_the_file(parted: Repository) -> None:
    said = tried(parted, "rebase", "less")[1]
    assert "Nothing was changed" in said
    instead = said.partition("Instead: ")[2].partition("\n")[0]
    done = parted.run("sh", "-c", instead)
    assert done.returncode == 0, done
    assert kept(parted)
    assert parted.git("merge-base", "HEAD", "less") == parted.git("rev-parse", "less")


@pytest.mark.parametrize("way", [[], ["--apply"]])
def test_a_branch_that_has_lost_it_by_itself_is_rebased(way: list[str], parted: Repository) -> None:
    parted.git("switch", "-q", "less")
    status, said = tried(parted, "rebase", *way, "main")
    assert status == 0, said
    assert not kept(parted)


def test_a_rebase_upon_a_loss_that_a_trailer_names_goes_on(parted: Repository) -> None:
    parted.git("switch", "-q", "less")
    parted.git("commit", "-q", "--no-verify", "--amend", "-m", "less\n\nGuard-Allow: specs/a.md")
    parted.git("switch", "-q", "main")
    status, said = tried(parted, "rebase", "less")
    assert (status, "may lose what Guard-Allow names" in said) == (0, True), said


def test_a_merge_that_only_moves_the_branch_on_is_told_and_not_pushed(parted: Repository) -> None:
    bare = parted.home / "remote.git"
    parted.git("init", "-q", "--bare", str(bare))
    parted.git("remote", "add", "origin", str(bare))
    parted.git("switch", "-q", "start")
    parted.git("push", "-q", "--no-verify", "origin", "start")
    old = parted.git("rev-parse", "HEAD")
    status, said = tried(parted, "merge", "less")
    assert status == 0
    assert f"To have it back: git restore --source={old[:12]} -- specs/a.md" in said
    status, said = tried(parted, "push", "-q", "origin", "start")
    assert (status, "Nothing was pushed" in said) == (1, True), said


def test_in_a_linked_worktree_and_where_nothing_tells_the_command(parted: Repository, tmp_path: Path) -> None:
    parted.git("worktree", "add", "-q", str(tmp_path / "tree"), "main~1")
    there = Repository(tmp_path / "tree", parted.home)
    status, said = tried(there, "cherry-pick", "less")
    assert (status != 0, "specs/a.md" in said) == (True, True), said
    parted.git("rm", "-q", "specs/a.md")
    message = parted.write("../message", 'Revert "x"\n\nThis reverts commit 0123456.\n')
    assert parted.hook("prepare-commit-msg", str(message), "message")[0] == 1
    assert parted.hook("prepare-commit-msg", str(parted.write("../plain", "x\n")), "message")[0] == 0
    assert parted.hook("prepare-commit-msg")[0] == 64
