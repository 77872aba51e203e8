"""What a checkout, a merge or a rewrite took away is told, with the way back; nothing is ever blocked."""

from __future__ import annotations

import sys

import pytest

from guard import git_hooks
from tests.git_hooks.conftest import Repository

ZERO = "0" * 40


@pytest.fixture
def lesser(repository: Repository) -> Repository:
    """With another branch, `lesser`, that lacks one protected file and one that is not."""
    repository.git("checkout", "-q", "-b", "lesser")
    repository.git("rm", "-q", "specs/a.md", "src/util.py")
    repository.commit("less")
    repository.git("checkout", "-q", "main")
    return repository


def test_a_branch_without_the_file_is_told_and_the_way_back_works(lesser: Repository) -> None:
    old = lesser.git("rev-parse", "HEAD")
    lesser.git("checkout", "-q", "lesser")
    status, said = lesser.hook("post-checkout", old, lesser.git("rev-parse", "HEAD"), "1")
    assert status == 0
    assert "this branch lacks a protected file: specs/a.md" in said
    assert "util.py" not in said
    back = said.partition("To have it back: ")[2].partition("\n")[0]
    assert lesser.run("sh", "-c", back).returncode == 0
    assert (lesser.top / "specs/a.md").exists()


def test_a_branch_that_means_it_and_the_way_back_to_the_fuller_one_are_no_matter(lesser: Repository) -> None:
    old = lesser.git("rev-parse", "HEAD")
    lesser.git("checkout", "-q", "lesser")
    new = lesser.commit("it is meant\n\nGuard-Allow: specs/a.md")
    assert lesser.hook("post-checkout", old, new, "1") == (0, "")
    lesser.git("checkout", "-q", "main")
    assert lesser.hook("post-checkout", new, old, "1") == (0, "")


def test_a_merge_that_took_it_away_is_told(lesser: Repository) -> None:
    lesser.git("merge", "-q", "--no-verify", "lesser")
    status, said = lesser.hook("post-merge", "0")
    assert (status, "git merge took away or overwrote a protected file: specs/a.md" in said) == (0, True)


def test_an_amend_and_a_rebase_that_took_it_away_are_told(repository: Repository) -> None:
    repository.write("specs/new.md")
    old = repository.commit("new")
    repository.git("rm", "-q", "specs/new.md")
    repository.git("commit", "-q", "--no-verify", "--amend", "--allow-empty", "-m", "amended")
    new = repository.git("rev-parse", "HEAD")
    status, said = repository.hook("post-rewrite", "amend", stdin=f"{old} {new}\n".encode())
    assert (status, "specs/new.md" in said) == (0, True)
    repository.git("update-ref", "ORIG_HEAD", old)
    status, said = repository.hook("post-rewrite", "rebase", stdin=f"{old} {new}\n".encode())
    assert (status, "git rebase took away or overwrote" in said) == (0, True)


def test_pre_commits_environment_tells_which_it_is(lesser: Repository) -> None:
    old = lesser.git("rev-parse", "HEAD")
    lesser.git("checkout", "-q", "lesser")
    new = lesser.git("rev-parse", "HEAD")
    names = {"PRE_COMMIT_FROM_REF": old, "PRE_COMMIT_TO_REF": new, "PRE_COMMIT_CHECKOUT_TYPE": "1"}
    assert "this branch lacks" in lesser.hook("verify", **names)[1]
    lesser.git("update-ref", "ORIG_HEAD", old)
    assert "git merge took away" in lesser.hook("verify", PRE_COMMIT_IS_SQUASH_MERGE="0")[1]
    assert "git rebase took away" in lesser.hook("verify", PRE_COMMIT_REWRITE_COMMAND="rebase")[1]


def test_what_the_last_snapshot_has_is_told_even_where_git_does_not_know_it(repository: Repository) -> None:
    repository.write(".gitignore", "specs/draft.md\n")
    repository.write("specs/draft.md", "never committed\n" * 5)
    taken = repository.run(sys.executable, "-m", "guard", "snapshot")
    assert taken.returncode == 0, taken.stderr
    (repository.top / "specs/draft.md").unlink()
    status, said = repository.hook("verify")
    assert (status, "specs/draft.md" in said, "restore" in said) == (0, True, True)


def test_nothing_lost_is_nothing_said(repository: Repository) -> None:
    head = repository.git("rev-parse", "HEAD")
    for words in (("post-checkout", head, head, "1"), ("post-checkout", ZERO, head, "1"), ("post-merge", "0"), ("verify",)):
        assert repository.hook(*words) == (0, "")


@pytest.mark.parametrize(
    "words", [("post-checkout",), ("post-checkout", "x", "y", "1"), ("post-merge",), ("post-rewrite",), ("post-rewrite", "amend")]
)
def test_it_never_blocks_whatever_comes(repository: Repository, words: tuple[str, ...]) -> None:
    assert repository.hook(*words, stdin=b"\xff\n")[0] == 0
    (repository.top / ".git/HEAD").write_text("broken")
    assert repository.hook(*words)[0] == 0


def test_a_rebase_on_its_way_says_nothing_and_git_ends_as_ever(lesser: Repository) -> None:
    """A rebase checks out where it starts from; what is not there yet comes with the commits."""
    git_hooks.install(str(lesser.top), {"HOME": str(lesser.home), "PATH": "/usr/bin:/bin"})
    lesser.git("checkout", "-q", "-b", "topic")
    lesser.write("specs/topic.md")
    lesser.git("add", ".")
    lesser.git("commit", "-q", "-m", "topic")
    lesser.git("checkout", "-q", "main")
    lesser.write("src/main.py", "main\n")
    lesser.git("commit", "-qam", "main")
    lesser.git("checkout", "-q", "topic")
    done = lesser.run("git", "rebase", "-q", "main")
    assert (done.returncode, b"guard" in done.stderr) == (0, False), done.stderr
